"""Epsilon-greedy in NumPy.

Each arm is pulled once. Then a uniform number below epsilon selects a random arm, and otherwise the arm with the best
empirical mean is pulled (the lowest-numbered one if tied).
"""

import numpy as np


def play(rewards, noise, epsilon=0.1):
    rounds, num_arms = rewards.shape
    pulls, means = np.zeros(num_arms), np.zeros(num_arms)
    actions = []
    for t in range(rounds):
        u = noise[t] / 2**32
        if t < num_arms:
            arm = t
        elif u < epsilon:
            arm = int(u / epsilon * num_arms)
        else:
            arm = int(np.argmax(means))
        pulls[arm] += 1
        means[arm] += (rewards[t, arm] - means[arm]) / pulls[arm]  # a running mean, because ties depend on its rounding
        actions.append(arm)
    return np.array(actions)
