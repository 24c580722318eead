"""D-LinUCB, Russac, Vernade and Cappe (2019), Algorithm 1, in NumPy, with all sums computed anew in each round.

Rows are float[rounds, num_arms, dim]; with a model for each arm, that of arm a has x in its block and 0 elsewhere.
"""

import numpy as np


def blocks(contexts, num_arms):
    """The rows in R^(K d) of contexts that all arms share, float[rounds, K, K d]."""
    return np.einsum("ab,tj->tabj", np.eye(num_arms), contexts).reshape(len(contexts), num_arms, -1)


def play(rows, rewards, discount, width, regularization, available):
    """Actions; `width(round)` is beta of Algorithm 1 before the round, which counts from 0."""
    actions, dim = [], rows.shape[2]
    for t in range(len(rewards)):
        known, seen = rows[range(t), actions], rewards[range(t), actions]
        weights = discount ** np.arange(t - 1, -1, -1.0)
        v = np.linalg.inv((known.T * weights) @ known + regularization * np.eye(dim))
        tilde = (known.T * weights**2) @ known + regularization * np.eye(dim)
        theta = v @ (known.T @ (weights * seen))
        spread = np.sqrt(np.einsum("ai,ij,aj->a", rows[t], v @ tilde @ v, rows[t]))
        scores = rows[t] @ theta + width(t) * spread
        actions.append(int(np.argmax(np.where(available[t], scores, -np.inf))))
    return np.array(actions)


def theory(discount, regularization, sigma, theta_norm, delta, squared_norm, dim):
    """beta of Algorithm 1, with the sum of gamma^(2 s) term by term."""

    def width(t):
        kept = np.sum(discount ** (2 * np.arange(t)))
        grown = dim * np.log(1 + squared_norm * kept / (regularization * dim))
        return np.sqrt(regularization) * theta_norm + sigma * np.sqrt(2 * np.log(1 / delta) + grown)

    return width
