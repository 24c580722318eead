"""KL-MS and MS in NumPy: Qin, Jun and Zhang (2023), Algorithm 1, and Bian and Jun (2022), Algorithm 1.

The arm at level `u` of the distribution is drawn, where the arms are in order, but the most likely one is the last.
`ties`: actions to take if they are drawn for another most likely arm, of equal probability up to rounding errors.
"""

import numpy as np
from scipy.special import rel_entr


def exponents(means, pulls, sigma=None):
    """The divergence of each arm from the best one, times its pulls; of KL-MS without a sigma."""
    best = means.max()
    if sigma is not None:
        return pulls * (best - means) ** 2 / (2 * sigma**2)
    return pulls * (rel_entr(means, best) + rel_entr(1 - means, 1 - best))


def play(rewards, noise, ties=None, sigma=None):
    """The actions, and the probability of each."""
    rounds, num_arms = rewards.shape
    pulls, sums = np.zeros(num_arms), np.zeros(num_arms)
    actions, chances = [], []
    for t in range(rounds):
        arm, p = t, np.ones(num_arms)
        if t >= num_arms:
            p = np.exp(-exponents(sums / pulls, pulls, sigma))
            p /= p.sum()
            found = []
            for leader in np.flatnonzero(p > p.max() * (1 - 1e-9)):
                order = [*np.delete(np.arange(num_arms), leader), leader]
                found.append(order[np.searchsorted(np.cumsum(p[order])[:-1], noise[t], side="right")])
            arm = ties[t] if ties is not None and ties[t] in found else found[0]
        pulls[arm] += 1
        sums[arm] += rewards[t, arm]
        actions.append(int(arm))
        chances.append(p[arm])
    return np.array(actions), np.array(chances)
