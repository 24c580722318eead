"""Epsilon-greedy in NumPy.

Each arm is pulled once. Then a round that explores pulls the arm drawn for it, and any other round pulls the arm with
the best empirical mean (the lowest-numbered one if tied).
"""

import numpy as np


def explored(words, epsilon=0.1):
    """Return the uniform number that selects the arm of each round that explores, or -1 if the round does not explore.

    A word of 32 bits is read as a uniform number in [0, 1). If it is below epsilon, its quotient by epsilon is
    uniform again.
    """
    u = np.asarray(words) / 2**32
    return np.where(u < epsilon, u / max(epsilon, 2**-32), -1)


def play(rewards, noise, epsilon=0.1):
    rounds, num_arms = rewards.shape
    pulls, sums, means = np.zeros(num_arms), np.zeros(num_arms), np.zeros(num_arms)
    actions = []
    for t in range(rounds):
        if t < num_arms:
            arm = t
        elif noise[t] >= 0:
            arm = int(noise[t] * num_arms)
        else:
            arm = int(np.argmax(means))
        pulls[arm] += 1
        sums[arm] += rewards[t, arm]
        means[arm] = sums[arm] / pulls[arm]
        actions.append(arm)
    return np.array(actions)
