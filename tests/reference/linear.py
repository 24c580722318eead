"""What the references of linear policies share: least squares recomputed each round, initial pulls, and the rounds.

`sets` is a list of arrays [arms, dim], one per context, of different lengths without padding.
"""

import numpy as np

SLACK = 1e-9  # scores within this relative distance are tied, and the lowest-numbered arm wins


def lowest_best(scores):
    """The lowest-numbered arm whose score is within SLACK of the largest."""
    return int(np.flatnonzero(scores >= scores.max() - SLACK * abs(scores.max()))[0])


def start_arm(rows, pulled):
    """While the pulled rows do not span: the lowest arm outside their span, else the least pulled; else None."""
    dim = rows.shape[1]
    rank = np.linalg.matrix_rank(np.array(pulled)) if pulled else 0
    if rank == dim:
        return None
    for arm, x in enumerate(rows):
        if np.linalg.matrix_rank(np.array([*pulled, x])) > rank:
            return arm
    return int(np.argmin([sum(np.array_equal(x, y) for y in pulled) for x in rows]))


def play(sets, contexts, rewards, score, prior, starts):
    """Actions of the policy with `score(t, rows, theta_hat, matrix, pulled)`; rewards[t](x) is that of x."""
    dim = sets[0].shape[1]
    matrix, moment, pulled, actions = prior * np.eye(dim), np.zeros(dim), [], []
    spanned = not starts
    for t, context in enumerate(contexts):
        rows = sets[context]
        arm = None if spanned else start_arm(rows, pulled)
        if arm is None:
            spanned = True
            theta_hat = np.linalg.solve(matrix, moment)
            arm = lowest_best(score(t + 1, rows, theta_hat, matrix, pulled))
        x = rows[arm]
        pulled.append(x)
        matrix, moment = matrix + np.outer(x, x), moment + x * rewards[t](x)
        actions.append(arm)
    return np.array(actions)
