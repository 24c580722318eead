"""Lazy Track-and-Stop in NumPy, with V and theta_hat recomputed every round; `design(means)` gives the optimal weights.

`streams[a, k]` is the reward of the k-th pull of arm a. `ties`: actions to take if they are optimal up to rounding.
"""

import math

import numpy as np

TIE = 1e-6  # two solutions of the same design differ by about 1e-9, which adds up over the rounds


def play(streams, features, basis, design, ties, *, delta, sigma, slack, threshold):
    """Actions until it stops, the recommended arm, and the number of forced pulls."""
    num_arms, dim = features.shape
    pulls, sums, targets, actions = np.zeros(num_arms, int), np.zeros(num_arms), np.zeros(num_arms), []
    weights = np.isin(np.arange(num_arms), basis) / dim
    c = np.linalg.eigvalsh(sum(np.outer(features[a], features[a]) for a in basis))[0]
    forced = 0
    for t in range(len(ties) + 1):
        V = features.T @ (pulls[:, None] * features)
        if t >= dim:
            inverse = np.linalg.inv(V)
            means = features @ (inverse @ (features.T @ sums))
            if math.log2(t).is_integer():
                weights = design(means)
            best = int(np.argmax(means))
            ratios = []
            for i in range(num_arms):
                if i != best:
                    y = features[best] - features[i]
                    ratios.append((means[best] - means[i]) ** 2 / (2 * y @ inverse @ y))
            beta = math.log((math.log(t) + 1) / delta)
            if threshold == "det":
                beta = (1 + slack) * math.log(math.sqrt(np.linalg.det(V / (slack * c) + np.eye(dim))) / delta)
            if min(ratios) >= sigma**2 * beta:
                return np.array(actions), best, forced
        targets += weights
        least, enough = np.linalg.eigvalsh(V)[0], c * math.sqrt(t / dim)
        behind = np.where(targets > 0, targets - pulls, -np.inf)
        tracked = np.flatnonzero(behind > behind.max() - TIE)
        explored = np.array([basis[forced % dim]])
        if t < dim or least < enough * (1 - TIE):
            allowed = explored
        elif least < enough * (1 + TIE):
            allowed = np.concatenate([tracked, explored])
        else:
            allowed = tracked
        arm = ties[t] if ties[t] in allowed else allowed[0]
        forced += t < dim or least < enough * (1 - 1.5e-8)  # both are equal after the first dim pulls; then tracked
        sums[arm] += streams[arm, pulls[arm]]
        pulls[arm] += 1
        actions.append(arm)
    return np.array(actions), None, forced
