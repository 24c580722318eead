"""XY-static, G-static and XY-oracle in NumPy, one pull at a time, testing all pairs of arms at every evaluation.

`streams[a, k]` is the reward of the k-th pull of arm a. `ties`: actions to take if they are optimal up to rounding.
"""

import math

import numpy as np

TIE = 1e-9  # relative; far above the rounding of k / w, far below the difference between arms of two designs


def width(n, num_arms, delta, sigma):
    return 2 * sigma * math.sqrt(2 * math.log(6 * n**2 * num_arms / (delta * math.pi**2)))


def next_pull(weights, pulls, ours):
    keys = np.array([k / w if w > 0 else np.inf for k, w in zip(pulls, weights, strict=True)])
    tied = np.flatnonzero(keys <= keys.min() * (1 + TIE))
    return ours if ours in tied else tied[0]


def play(streams, features, weights, ties, *, delta, sigma, grid, theta=None):
    """Actions until it stops, and the recommended arm; with `theta`, as XY-oracle."""
    num_arms = len(features)
    pulls, sums, actions = np.zeros(num_arms, int), np.zeros(num_arms), []
    look = np.count_nonzero(weights)
    for n in range(1, len(ties) + 1):
        arm = next_pull(weights, pulls, ties[n - 1])
        sums[arm] += streams[arm, pulls[arm]]
        pulls[arm] += 1
        actions.append(arm)
        if n < look:
            continue
        look = max(n + 1, math.ceil(n * grid))
        inverse = np.linalg.inv(sum(k * np.outer(x, x) for k, x in zip(pulls, features, strict=True)))
        estimate = inverse @ (features.T @ sums)
        c = width(n, num_arms, delta, sigma)

        def beats(x, y, gap_of, c=c, inverse=inverse):
            return (x - y) @ gap_of >= c * math.sqrt((x - y) @ inverse @ (x - y))

        for a, x in enumerate(features):
            if theta is not None and a != np.argmax(features @ theta):
                continue
            if all(beats(x, y, estimate if theta is None else theta) for i, y in enumerate(features) if i != a):
                return np.array(actions), a
    return np.array(actions), None
