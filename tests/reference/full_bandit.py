"""Static full-bandit algorithms in NumPy, one pull at a time, with inverses and enumeration at every evaluation.

`streams[M, j]` is the reward of the j-th pull of super-arm M of the support.
"""

import itertools
import math

import numpy as np


def all_sets(n, k):
    return np.array([[i in chosen for i in range(n)] for chosen in itertools.combinations(range(n), k)], float)


def ellipsoid(t, n, k, delta, sigma):
    return 2 * math.sqrt(2) * sigma * math.sqrt(math.log(6 / math.pi**2 * t**2 * math.comb(n, k) / delta))


def independent(t, n, delta, sigma):
    return sigma * math.sqrt(2 * math.log(6 / math.pi**2 * t**2 * n / delta))


def norm(x, inverse):
    return math.sqrt(max(x @ inverse @ x, 0.0))


def peel(matrix, k):
    """Greedy peeling of the complete graph with edge weights w_ij + w_ii + w_jj."""
    left = list(range(len(matrix)))
    while len(left) > k:
        degrees = [sum(matrix[i, j] + matrix[i, i] + matrix[j, j] for j in left if j != i) for i in left]
        del left[int(np.argmin(degrees))]
    return np.isin(np.arange(len(matrix)), left).astype(float)


def widest(matrix, k, alpha):
    """The norm of SAQM's set over alpha; alpha "exact" gives the largest norm, and None its certified bound by rows."""
    if alpha == "exact":
        return max(norm(x, matrix) for x in all_sets(len(matrix), k))
    if alpha is not None:
        return norm(peel(matrix, k), matrix) / alpha
    rows = [matrix[i, i] + sum(sorted(np.delete(matrix[i], i))[::-1][: k - 1]) for i in range(len(matrix))]
    return math.sqrt(sum(sorted(rows)[::-1][:k]))


def margin(rule, t, estimate, inverse, k, *, delta, sigma, alpha=None, radius="lemma1", anchors=()):
    """The quantity that the rule compares with epsilon: it stops if this is at most epsilon (ICB: below epsilon)."""
    n = len(estimate)
    sets = all_sets(n, k)
    values = sets @ estimate
    best = int(np.argmax(values))
    others = np.delete(np.arange(len(sets)), best)
    c = ellipsoid(t, n, k, delta, sigma)
    if rule == "saqm":
        own = c * norm(sets[best], inverse)
        return values[others].max() + c * widest(inverse, k, alpha) - values[best] + own
    if rule == "icb":
        c = independent(t, n, delta, sigma) if radius == "lemma1" else c
        widths = c * np.sqrt(np.diag(inverse))
        return max(values[m] + widths @ np.abs(sets[m] - sets[best]) for m in others) - values[best]
    ahead = [values[m] + c * norm(sets[m] - sets[best], inverse) - values[best] for m in range(len(sets))]
    if rule == "exhaustive":
        return max(ahead[m] for m in others)
    found = set()
    for anchor in anchors:
        apart = norm(anchor - sets[best], inverse)
        if apart > 0:
            gamma = c / (2 * apart)
            b = gamma * inverse - np.diag(2 * gamma * (inverse @ sets[best])) + np.diag(estimate)
            found.add(int(np.argmax(sets @ peel(b, k))))
    found.discard(best)
    return max(ahead[m] for m in found) if found else ahead[others[np.argmax(values[others])]]


def play(streams, sets, shares, looks, epsilon, decide):
    """The round, pulls and estimate when decide(t, estimate, inverse) <= epsilon at an evaluation; else None."""
    pulls, sums = np.zeros(len(sets), int), np.zeros(len(sets))
    for t in range(1, max(looks) + 1):
        chosen = int(np.argmin(pulls / shares))
        sums[chosen] += streams[chosen, pulls[chosen]]
        pulls[chosen] += 1
        if t in looks:
            inverse = np.linalg.inv((sets * pulls[:, None]).T @ sets)
            estimate = inverse @ (sets.T @ sums)
            if decide(t, estimate, inverse) <= epsilon:
                return t, pulls, estimate
    return None, pulls, estimate
