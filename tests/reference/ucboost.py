"""UCBoost in NumPy by its definitions: minima over D, and scans over all k."""

import numpy as np
from reference.ucb import DISTANCES, d_kl, play_index, solve, xlogy


def upper_eps(p, delta, eps):
    bounds = np.min([solve(DISTANCES[d], p, delta) for d in ("sq", "lb")], axis=0)
    return np.vectorize(lambda p, delta, bound: scanned(p, delta, bound, eps))(p, delta, bounds)


def scanned(p, delta, bound, eps):
    """The bound, or what steps of relative size eps give that is less."""
    if p == 1:
        return 1.0
    tau1 = np.ceil(-np.log1p(-p) / np.log1p(eps))
    tau2 = 0 if p == 0 else np.ceil(-np.log(-np.expm1(-eps / p)) / np.log1p(eps))
    q = 1 - (1 + eps) ** -np.arange(tau1, tau2 + 1)
    q = q[delta < d_kl(p, q)]
    return min(bound, q[0]) if q.size else bound


def upper_lb_eps(p, delta, eps):
    if p == 1:
        return 1.0
    k = 0
    if p > 0:
        every = np.arange(1, np.floor(-p * np.log(p) / eps) + 1)
        k = np.sum(delta <= d_kl(p, np.exp(-every * eps / p)))  # k = 0 always qualifies: kl(p, 1) = inf
    return 1 - (1 - p) * np.exp((xlogy(p, p) - delta + k * eps) / (1 - p))


def play_ucboost(rewards, distances=("bq", "h", "lb"), c=0.0, ties=None):
    def index(p, delta):
        return np.min([solve(DISTANCES[d], p, delta) for d in distances], axis=0)

    return play_index(index, rewards, c, ties)


def play_ucboost_eps(rewards, eps=0.01, c=0.0, ties=None):
    return play_index(lambda p, delta: upper_eps(p, delta, eps), rewards, c, ties)


def play_ucboost_lb(rewards, eps=0.01, c=0.0, ties=None):
    return play_index(np.vectorize(lambda p, delta: upper_lb_eps(p, delta, eps)), rewards, c, ties)
