"""UCB-V in NumPy, from all the rewards of each arm: Audibert, Munos and Szepesvari (2009), equation (1) with b = 1.

`ties`: actions to take if they are optimal up to rounding errors.
"""

import numpy as np


def play(rewards, zeta=1.2, c=1.0, ties=None):
    rounds, num_arms = rewards.shape
    history = [[] for _ in range(num_arms)]
    actions = []
    for t in range(1, rounds + 1):
        if t <= num_arms:
            arm = t - 1
        else:
            exploration = zeta * np.log(t)
            index = [
                np.mean(h) + np.sqrt(2 * np.var(h) * exploration / len(h)) + 3 * c * exploration / len(h)
                for h in history
            ]
            arm = int(np.argmax(index))
            if ties is not None and index[ties[t - 1]] > index[arm] - 1e-9:
                arm = int(ties[t - 1])
        history[arm].append(rewards[t - 1, arm])
        actions.append(arm)
    return np.array(actions)
