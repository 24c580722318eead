"""Optimal weights of one-parameter families by SciPy's root finders, one arm after the other."""

import numpy as np
from scipy import optimize, special

DIVERGENCES = {  # d(x, x + u)
    "bernoulli": lambda x, u: -x * np.log1p(u / x) - (1 - x) * np.log1p(-u / (1 - x)),
    "gaussian": lambda x, u: u * u / 2,
    "poisson": lambda x, u: u - x * np.log1p(u / x),
    "exponential": lambda x, u: np.log1p(u / x) - u / (x + u),
}


def solve(name, means):
    """w* and T* for a unique best arm: an outer root for the common rate, and inner ones for the arms.

    For an arm whose mean is `gap` below the best, s is the fraction of the gap below the middle, so that x = 1/s - 1.
    """
    d, means = DIVERGENCES[name], np.asarray(means)
    best = int(np.argmax(means))
    first, gaps = means[best], means[best] - np.delete(means, best)

    def below(y, gap):
        def excess(v):
            s = special.expit(v)
            return d(first, -special.expit(-v) * gap) + np.exp(-v) * d(first - gap, s * gap) - y

        return special.expit(optimize.brentq(excess, -27, 27, xtol=1e-14))

    def imbalance(y):
        shares = [(gap, below(y, gap)) for gap in gaps]
        return sum(d(first, (s - 1) * gap) / d(first - gap, s * gap) for gap, s in shares) - 1

    top = min(d(first, -gap) for gap in gaps)
    y = optimize.brentq(imbalance, 1e-3 * top, (1 - 1e-6) * top, xtol=1e-14 * top)
    x = np.insert([1 / below(y, gap) - 1 for gap in gaps], best, 1.0)
    return x / x.sum(), x.sum() / y
