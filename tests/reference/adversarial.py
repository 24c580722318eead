"""EXP3, EXP3-IX, EXP3.S and Tsallis-INF in NumPy and SciPy, as in their papers.

They use plain sums of losses, weights that are not divided by their sum, and a bracketing root finder instead of
Newton's method.
"""

import numpy as np
from scipy.optimize import brentq

CLOSE = 1e-9  # a uniform number this close to the edge of an arm's interval may fall on either side


def drawn(p, u, tie):
    """The arm at level u of the cumulative distribution, with the most likely arm moved to the end."""
    leader = int(np.argmax(p))
    order = [*(a for a in range(len(p)) if a != leader), leader]
    edges = np.concatenate([[0.0], np.cumsum(p[order])])
    place = min(np.searchsorted(edges[1:], u, side="right"), len(p) - 1)
    own = order.index(tie)
    return tie if edges[own] - CLOSE <= u <= edges[own + 1] + CLOSE else order[place]


def exponential(sums, eta):
    weights = np.exp(-eta * (sums - sums.min()))
    return weights / weights.sum()


def tsallis(sums, eta):
    """P_i = 4 / (eta (L_i - x))^2 with sum 1; min L - x is between 2 / eta and sqrt(K) times that."""

    def excess(x):
        return (4 / (eta * (sums - x)) ** 2).sum() - 1

    far, near = sums.min() - 2 * np.sqrt(len(sums)) / eta - 1e-9, sums.min() - 2 / eta + 1e-12
    p = 4 / (eta * (sums - brentq(excess, far, near, xtol=1e-14))) ** 2
    return p / p.sum()


def follow_the_leader(losses, uniforms, ties, distribution, eta_at, *, implicit=False, reduced=False):
    sums, actions = np.zeros(losses.shape[1]), []
    for t, row in enumerate(losses, 1):
        eta = eta_at(t)
        p = distribution(sums, eta)
        arm = drawn(p, uniforms[t - 1], int(ties[t - 1]))
        baseline = np.where(p >= eta**2, 0.5, 0.0) if reduced else np.zeros(len(p))
        sums = sums + baseline
        sums[arm] += (row[arm] - baseline[arm]) / (p[arm] + (eta / 2 if implicit else 0.0))
        actions.append(arm)
    return np.array(actions)


def exp3_s(losses, uniforms, ties, alpha, gamma):
    (rounds, num_arms), actions = losses.shape, []
    w = np.ones(num_arms)
    for t in range(rounds):
        p = (1 - gamma) * w / w.sum() + gamma / num_arms
        arm = drawn(p, uniforms[t], int(ties[t]))
        estimates = np.zeros(num_arms)
        estimates[arm] = (1 - losses[t, arm]) / p[arm]
        w = w * np.exp(gamma * estimates / num_arms) + np.e * alpha / num_arms * w.sum()
        actions.append(arm)
    return np.array(actions)
