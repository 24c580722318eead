"""The quantile race in NumPy: all rewards of an arm are sorted anew in each round, ranks by the beta function."""

import functools

import numpy as np
from scipy.special import betainc, betaincc, betaln


@functools.cache
def ranks(n, p, alpha):
    """hi_n, the least s at which the mixture over theta > p reaches 1 / alpha, and lo_n, the largest over theta < p."""
    s = np.arange(n + 1)
    a, b = s + 0.5, n - s + 0.5
    odds = betaln(a, b) - s * np.log(p) - (n - s) * np.log1p(-p)
    with np.errstate(divide="ignore"):
        above = odds + np.log(betaincc(a, b, p)) - np.log(2 * np.arcsin(np.sqrt(1 - p)))
        below = odds + np.log(betainc(a, b, p)) - np.log(2 * np.arcsin(np.sqrt(p)))
    enough, few = np.flatnonzero(above >= -np.log(alpha)), np.flatnonzero(below >= -np.log(alpha))
    return (enough[0] if len(enough) else n + 1), (few[-1] if len(few) else -1)


def quantile(x, alive, num_arms, memory, p, delta, epsilon):
    """A rule of `unknown_variance.race`."""
    high_rank, low_rank = ranks(len(x[alive[0]]), p, delta / num_arms)
    for a in alive:
        ordered = np.concatenate([[-np.inf], np.sort(x[a]), [np.inf]])
        low, high = memory.get(a, (-np.inf, np.inf))
        low = min(max(low, ordered[low_rank + 1]), high)
        memory[a] = low, max(min(high, ordered[high_rank]), low)
    top = max(memory[a][0] for a in alive)
    kept = [a for a in alive if memory[a][1] >= top]
    b = max(kept, key=lambda a: memory[a][0])
    return [b] if all(memory[a][1] <= memory[b][0] + epsilon for a in kept if a != b) else kept
