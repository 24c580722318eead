"""Epsilon-greedy in NumPy: each arm once; then the arm that the round explores, or the best sample mean where it
explores none (lowest at ties)."""

import numpy as np


def explored(words, num_arms, epsilon=0.1):
    """The arm that a round explores, -1 for none: a word of 32 bits is a uniform, which below epsilon gives the arm."""
    u = np.asarray(words) / 2**32
    return np.where(u < epsilon, np.floor(u / max(epsilon, 2**-32) * num_arms), -1).astype(int)


def play(rewards, noise, epsilon=0.1):
    rounds, num_arms = rewards.shape
    pulls, means = np.zeros(num_arms), np.zeros(num_arms)
    actions = []
    for t in range(rounds):
        if t < num_arms:
            arm = t
        elif noise[t] >= 0:
            arm = int(noise[t])
        else:
            arm = int(np.argmax(means))
        pulls[arm] += 1
        means[arm] += (rewards[t, arm] - means[arm]) / pulls[arm]  # as a running mean: ties depend on its rounding
        actions.append(arm)
    return np.array(actions)
