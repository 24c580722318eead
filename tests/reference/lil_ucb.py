import math

import numpy as np


def lil_ucb(streams, variant, delta, sigma, ours):
    """The actions and the arm; if two indices tie up to 1e-9, the one in `ours` is taken."""
    num_arms = len(streams)
    if variant == "theory":
        e, beta, ratio = 0.01, 1.0, 9.0
        share = (math.sqrt(1 + delta) - 1) ** 2 / (4 * (2 + e) / e * (1 / math.log(1 + e)) ** (1 + e))
    else:
        e, beta, ratio, share = 0.0, 0.5, 1 + 10 / num_arms, delta / 5
    n, sums, actions = np.zeros(num_arms, int), np.zeros(num_arms), []
    while len(actions) < len(ours):
        if len(actions) < num_arms:
            arm = len(actions)
        else:
            if any(n[a] >= 1 + ratio * (n.sum() - n[a]) for a in range(num_arms)):
                return actions, int(np.argmax(n))
            width = np.sqrt(2 * sigma**2 * (1 + e) * np.log(np.log((1 + e) * n + 2) / share) / n)
            index = sums / n + (1 + beta) * (1 + math.sqrt(e)) * width
            arm = ours[len(actions)]
            if index[arm] < index.max() - 1e-9:
                arm = int(np.argmax(index))
        actions.append(arm)
        sums[arm] += streams[arm, n[arm]]
        n[arm] += 1
    return actions, None
