"""IMED for Bernoulli arms in NumPy: Honda and Takemura (2015), Algorithm 1.

`ties`: actions to take if they are optimal up to rounding errors.
"""

import numpy as np
from scipy.special import rel_entr


def kl(p, q):
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def play(rewards, ties=None):
    rounds, num_arms = rewards.shape
    pulls, sums, means = np.zeros(num_arms), np.zeros(num_arms), np.zeros(num_arms)
    actions = []
    for t in range(rounds):
        if t < num_arms:
            arm = t
        else:
            index = pulls * kl(means, means.max()) + np.log(pulls)
            arm = int(np.argmin(index))
            if ties is not None and index[ties[t]] < index[arm] + 1e-9:
                arm = int(ties[t])
        pulls[arm] += 1
        sums[arm] += rewards[t, arm]
        means[arm] = sums[arm] / pulls[arm]
        actions.append(arm)
    return np.array(actions)
