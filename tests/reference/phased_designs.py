"""XY-adaptive and RAGE in NumPy, one pull at a time; `design(active)` gives the weights for the active arms.

`streams[a, k]` is the reward of the k-th pull of arm a. `ties`: actions to take if they are optimal up to rounding.
"""

import math

import numpy as np
from reference.static_designs import next_pull, width


def largest(features, weights, active, items=None):
    """The largest squared norm of x - y in A^-1 over active arms, or items."""
    inverse = np.linalg.inv(features.T @ (np.asarray(weights)[:, None] * features))
    rows = (features if items is None else items)[active]
    return max((x - y) @ inverse @ (x - y) for x in rows for y in rows)


class Run:
    def __init__(self, streams, ties):
        self.streams, self.ties, self.actions = streams, ties, []
        self.total = np.zeros(len(streams), int)
        self.restart()

    def restart(self):
        self.pulls, self.sums = np.zeros(len(self.total), int), np.zeros(len(self.total))

    def pull(self, weights):
        arm = next_pull(weights, self.pulls, self.ties[len(self.actions)])
        self.sums[arm] += self.streams[arm, self.total[arm]]
        self.total[arm] += 1
        self.pulls[arm] += 1
        self.actions.append(arm)

    def estimate(self, features):
        V = features.T @ (self.pulls[:, None] * features)
        return np.linalg.inv(V), np.linalg.solve(V, features.T @ self.sums)


def play_xy_adaptive(streams, features, design, ties, *, delta, sigma, alpha, retest):
    """Actions until it stops, the recommended arm, and the active arms at the start of each phase."""
    num_arms, dim = features.shape
    run, active, history = Run(streams, ties), list(range(num_arms)), []
    reached = 1 / (dim * (dim + 1) + 1)
    while len(active) > 1:
        history.append(active)
        weights = design(active)
        run.restart()
        while run.pulls.sum() < num_arms or largest(features, run.pulls, active) > alpha * reached:
            missing = (run.pulls == 0).astype(float)
            run.pull(missing if missing.any() else weights)
        reached = largest(features, run.pulls, active)
        inverse, theta = run.estimate(features)
        c = width(run.pulls.sum(), num_arms**2, delta, sigma)
        tested = list(range(num_arms)) if retest else active

        def dominated(i, tested=tested, theta=theta, inverse=inverse, c=c):
            ys = [features[j] - features[i] for j in tested if j != i]
            return any(y @ theta >= c * math.sqrt(y @ inverse @ y) for y in ys)

        active = [i for i in tested if not dominated(i)]
    return np.array(run.actions), active[0], history


def play_rage(streams, features, design, ties, *, delta, sigma, rounding, candidates=None):
    """Actions until it stops, the recommended item, and the active ones at the start of each phase: Z, or X."""
    items = features if candidates is None else candidates
    run, active, history, t = Run(streams, ties), list(range(len(items))), [], 1
    while len(active) > 1:
        history.append(active)
        weights = design(active)
        rho = largest(features, weights, active, items)
        confidence = math.log(len(items) ** 2 * t**2 / delta)
        length = math.ceil(8 * (2 ** (t + 1)) ** 2 * sigma**2 * rho * (1 + rounding) * confidence)
        length = max(length, math.ceil(np.count_nonzero(weights) * (1 + 1 / rounding)))
        run.restart()
        for _ in range(length):
            run.pull(weights)
        _, theta = run.estimate(features)
        active = [i for i in active if all((items[j] - items[i]) @ theta < 2 ** -(t + 2) for j in active)]
        t += 1
    return np.array(run.actions), active[0], history
