"""Top-two rules (Jourdan et al. 2022) in NumPy; rewards are divided by sigma, and normals determine posterior draws.

A draw is the quantile of the posterior at the level of a normal: `normals[t, 0]` for the leader, and the rest for the
challenger. `ties`: actions to take if two challengers are optimal up to rounding, as with Z = log 2 and log n = log 2.
"""

import math

import numpy as np
from reference import likelihood_ratio
from scipy import special, stats

TIE = 1e-9


def posterior(family, level, counts, sums):
    """Quantiles of the posteriors of the means."""
    if family == "bernoulli":
        return stats.beta.ppf(level, 1 + sums, 1 + counts - sums)
    if family == "gaussian":
        return sums / counts + special.ndtri(level) / np.sqrt(counts)
    if family == "poisson":
        return stats.gamma.ppf(level, 0.5 + sums) / counts
    return sums / stats.gamma.isf(level, counts)


def slack_ratio(means, counts, a, j, epsilon):
    """Z_aj(epsilon) of Gaussian arms of variance 1, as in EB-TC_eps (Jourdan, Degenne, Kaufmann 2023)."""
    return (means[a] - means[j] + epsilon) ** 2 / (2 * (1 / counts[a] + 1 / counts[j]))


def enough(means, counts, epsilon, kind, delta):
    """Whether the best empirical mean is significantly no worse than all others by epsilon."""
    b, t = int(np.argmax(means)), sum(counts)
    return all(
        slack_ratio(means, counts, b, j, epsilon)
        > likelihood_ratio.threshold(kind, len(means), delta, counts[b], counts[j], t)
        for j in range(len(means))
        if j != b
    )


def play(rewards, coins, normals, ties, *, leader, challenger, beta, adaptive, family, kind, delta, epsilon=None):
    """Actions until it stops, and the arm returned; None if it does not."""
    num_arms = rewards.shape[1]
    counts, sums, actions = np.zeros(num_arms, int), np.zeros(num_arms), []
    for t in range(len(rewards)):
        if t < num_arms:
            arm = t
        else:
            means = sums / counts
            plain = epsilon is None
            stops = likelihood_ratio.stops(family, kind, means, counts, delta) if plain else None
            if stops or (not plain and enough(means, counts, epsilon, kind, delta)):
                return actions, int(np.argmax(means))
            if leader == "eb":
                first = int(np.argmax(means))
            elif leader == "ts":
                first = int(np.argmax(posterior(family, special.ndtr(normals[t, 0]), counts, sums)))
            else:
                scale = 0.5 if family == "bernoulli" else 1.0
                first = int(np.argmax(means + np.sqrt(2 * scale**2 * 1.2 * 2.2 * math.log(t) / counts)))
            cost = np.array([likelihood_ratio.ratio(family, means, counts, first, j)[0] for j in range(num_arms)])
            if epsilon is not None:
                cost = np.array([slack_ratio(means, counts, first, j, epsilon) for j in range(num_arms)])
            if challenger == "tci":
                cost += np.log(counts)
            cost[first] = np.inf
            near = np.flatnonzero(cost <= cost.min() + TIE)
            second = int(ties[t] if ties[t] in near else near[0])
            if challenger == "ts":
                draws = (np.argmax(posterior(family, special.ndtr(z), counts, sums)) for z in normals[t, 1:])
                second = int(next((arm for arm in draws if arm != first), second))
            share = beta
            if adaptive:
                both, own = likelihood_ratio.ratio(family, means, counts, first, second)
                share = own / both if both > 0 else 0.5
                share = share if epsilon is None else counts[second] / (counts[first] + counts[second])
            arm = first if coins[t] < share else second
        counts[arm] += 1
        sums[arm] += rewards[t, arm]
        actions.append(arm)
    return actions, None
