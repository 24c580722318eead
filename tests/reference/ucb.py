"""UCB(d) in NumPy: the largest q in [p, 1] with d(p, q) <= delta, by bisection on d alone.

Rewards are [..., rounds, arms] of tables that are played side by side, actions [..., rounds].
`ties`: actions to take if they are optimal up to rounding errors.
"""

import numpy as np
from scipy.special import xlogy


def d_kl(p, q):
    return xlogy(p, p) - xlogy(p, q) + xlogy(1 - p, 1 - p) - xlogy(1 - p, 1 - q)


def d_lb(p, q):
    return xlogy(p, p) + xlogy(1 - p, 1 - p) - xlogy(1 - p, 1 - q)


DISTANCES = {
    "sq": lambda p, q: 2 * (p - q) ** 2,
    "bq": lambda p, q: 2 * (p - q) ** 2 + 4 / 9 * (p - q) ** 4,
    "h": lambda p, q: (np.sqrt(p) - np.sqrt(q)) ** 2 + (np.sqrt(1 - p) - np.sqrt(1 - q)) ** 2,
    "lb": d_lb,
    "t": lambda p, q: 2 * q / (p + 1) + xlogy(p, p / (p + 1)) + np.log(2 / (np.e * (1 + p))),
    "kl": d_kl,
}


def solve(d, p, delta):
    low, high = np.array(p, dtype=float), np.ones_like(p)
    for _ in range(60):
        middle = (low + high) / 2
        inside = d(p, middle) <= delta
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(d(p, np.ones_like(p)) <= delta, 1.0, low)


def best(values, tie=None, tolerance=1e-9):
    """The argmax of [..., arms], or `tie` where it is as good."""
    arm = np.argmax(values, -1)
    if tie is None:
        return arm
    own, other = (np.take_along_axis(values, a[..., None], -1)[..., 0] for a in (arm, tie))
    return np.where(other > own - tolerance, tie, arm)


def play_index(index, rewards, c=0.0, ties=None):
    """Pull every arm once, then the argmax of index(means, delta)."""
    *tables, rounds, num_arms = rewards.shape
    pulls, sums, actions = np.zeros((*tables, num_arms)), np.zeros((*tables, num_arms)), []
    for t in range(1, rounds + 1):
        arm = np.full(tables, t - 1)
        if t > num_arms:
            level = max(np.log(t) + (c * np.log(np.log(t)) if t >= 3 else 0.0), 0.0)
            arm = best(index(sums / pulls, level / pulls), None if ties is None else ties[..., t - 1])
        pulled = arm[..., None] == np.arange(num_arms)
        pulls += pulled
        sums += pulled * rewards[..., t - 1, :]
        actions.append(arm)
    return np.stack(actions, -1)


def play(rewards, distance="kl", c=0.0, ties=None):
    return play_index(lambda p, delta: solve(DISTANCES[distance], p, delta), rewards, c, ties)
