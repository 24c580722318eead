import math

import numpy as np
from reference.families import arm_level, bound


def kl_lucb(streams, family, threshold, m, delta, epsilon, sigma, ours):
    """The actions and the m arms; if two choices tie up to 1e-9, the one in `ours` is taken."""
    num_arms = len(streams)

    def theory(union, n, t):
        x = math.log(405.5 * union * t**1.1)
        return x + math.log(x)

    def pick(arms, score, action):
        best = max(arms, key=lambda a: (score[a], -a))
        return action if action in arms and score[action] >= score[best] - 1e-9 else best

    level = arm_level(threshold, delta, num_arms, theory)
    actions = list(range(num_arms))
    while len(actions) + 2 <= len(ours):
        t = len(actions)
        n = np.bincount(actions, minlength=num_arms)
        means = np.array([streams[a, : n[a]].mean() for a in range(num_arms)])
        if m == 1:
            inside = [pick(range(num_arms), means, ours[t])]
        else:
            inside = sorted(range(num_arms), key=lambda a: (-means[a], a))[:m]
        outside = [a for a in range(num_arms) if a not in inside]
        lower = {a: bound(family, means[a], level(n[a], t) / n[a], -1, sigma) for a in inside}
        upper = {a: bound(family, means[a], level(n[a], t) / n[a], 1, sigma) for a in outside}
        weakest = pick(inside, {a: -b for a, b in lower.items()}, ours[t])
        rival = pick(outside, upper, ours[t + 1])
        if upper[rival] - lower[weakest] < epsilon:
            return actions, inside
        actions += [weakest, rival]
    return actions, None
