"""MOSS in NumPy: Audibert and Bubeck (2009); without a horizon, Degenne and Perchet (2016) with alpha = 1.35.

`ties`: actions to take if they are optimal up to rounding errors.
"""

import numpy as np


def play(rewards, horizon=None, ties=None):
    rounds, num_arms = rewards.shape
    pulls, sums, means = np.zeros(num_arms), np.zeros(num_arms), np.zeros(num_arms)
    actions = []
    for t in range(1, rounds + 1):
        if t <= num_arms:
            arm = t - 1
        else:
            factor, n = (1.0, horizon) if horizon else ((1 + 1.35) / 2, t)
            index = means + np.sqrt(factor * np.maximum(np.log(n / (num_arms * pulls)), 0) / pulls)
            arm = int(np.argmax(index))
            if ties is not None and index[ties[t - 1]] > index[arm] - 1e-9:
                arm = int(ties[t - 1])
        pulls[arm] += 1
        sums[arm] += rewards[t - 1, arm]
        means[arm] = sums[arm] / pulls[arm]
        actions.append(arm)
    return np.array(actions)
