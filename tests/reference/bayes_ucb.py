"""Bayes-UCB with SciPy's quantiles; `ties`: actions to take if they are optimal up to rounding errors."""

import numpy as np
from scipy.stats import beta


def play(rewards, noise=None, prior_alpha=1.0, prior_beta=1.0, ties=None):
    rounds, num_arms = rewards.shape
    a, b = np.full(num_arms, float(prior_alpha)), np.full(num_arms, float(prior_beta))
    actions = []
    for t in range(1, rounds + 1):
        index = beta.isf(1 / t, a, b)
        arm = int(np.argmax(index))
        if ties is not None and index[ties[t - 1]] >= index[arm] - 2e-6:
            arm = int(ties[t - 1])
        actions.append(arm)
        a[arm] += rewards[t - 1, arm]
        b[arm] += 1 - rewards[t - 1, arm]
    return np.array(actions)
