"""Generalized likelihood ratios of pairs of arms, textbook divergences, and the stopping rule."""

import math

import numpy as np
from scipy import special

from jaxbandit.theory.solvers import deviations  # tested against SciPy and published values of its own


def divergence(name, x, y):
    """The divergence d(x, y)."""
    x, y = float(x), float(y)
    if x == y:
        return 0.0
    if name == "gaussian":
        return (x - y) ** 2 / 2
    if name == "bernoulli":
        return float(special.rel_entr(x, y) + special.rel_entr(1 - x, 1 - y))
    if name == "poisson":
        return float(special.rel_entr(x, y) + y - x)
    return x / y - 1 - math.log(x / y) if min(x, y) > 0 else math.inf


def ratio(name, means, counts, a, j):
    """Z_aj for rewards divided by sigma, and arm a's part of it."""
    if means[a] <= means[j]:
        return 0.0, 0.0
    middle = (counts[a] * means[a] + counts[j] * means[j]) / (counts[a] + counts[j])
    own = counts[a] * divergence(name, means[a], middle)
    return own + counts[j] * divergence(name, means[j], middle), own


def threshold(kind, num_arms, delta, n_a, n_j, t):
    """The threshold that Z_aj must exceed."""
    x = math.log((num_arms - 1) / delta)
    if kind == "heuristic":
        return math.log((1 + math.log(t)) / delta)
    if kind == "kk":
        return 2 * deviations.T(x / 2) + 3 * math.log((1 + math.log(n_a)) * (1 + math.log(n_j)))
    if kind == "gauss":
        return 2 * deviations.C_G(x / 2) + 2 * math.log((4 + math.log(n_a)) * (4 + math.log(n_j)))
    return x + math.log(4) + math.log(n_a * n_j) / 2


def stops(name, kind, means, counts, delta):
    """Whether the best empirical mean is significantly better than all others."""
    b = int(np.argmax(means))
    return all(
        ratio(name, means, counts, b, j)[0] > threshold(kind, len(means), delta, counts[b], counts[j], sum(counts))
        for j in range(len(means))
        if j != b
    )
