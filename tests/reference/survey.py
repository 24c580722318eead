"""The baselines of a survey in NumPy, from the papers: scores of the arms from all rewards so far.

`x` is a list of the arrays of rewards of each arm, `t` the round, `z` the random numbers of the round, and a score of
inf is that of an arm that must be pulled first. The arm is one with the largest score.
"""

import functools
import math

import numpy as np
from scipy import special, stats
from scipy.optimize import brentq
from scipy.special import xlogy

BERNOULLI = lambda p, q: xlogy(p, p / q) + xlogy(1 - p, (1 - p) / (1 - q))  # noqa: E731
DIVERGENCES = {  # and the end of the range of q
    "bernoulli": (BERNOULLI, lambda p: 1 - 1e-15),
    "gaussian": (lambda p, q: (p - q) ** 2 / 2, lambda p: p + 100),
    "poisson": (lambda p, q: q - p + xlogy(p, p / q), lambda p: p + 1000),
    "exponential": (lambda p, q: p / q - 1 - math.log(p / q), lambda p: 1e6 * p),
}


def upper(p, level, family="bernoulli"):
    """The largest q >= p with d(p, q) <= level."""
    d, end = DIVERGENCES[family]
    p, level = p if family == "gaussian" else max(p, 1e-300), max(level, 0.0)
    high = end(p)
    return high if p >= high or d(p, high) <= level else brentq(lambda q: d(p, q) - level, p, high, xtol=1e-14)


def plus(u):
    return max(u, 0.0)


def doubled(y):
    """log+(y (1 + log+(y)^2))."""
    return plus(math.log(y * (1 + plus(math.log(y)) ** 2)))


def index(each, first=1):
    """The scores of a rule by an index of one arm: each(a, x, t, z, ..) after `first` pulls of every arm."""

    def scores(x, t, z, **given):
        n = np.array([len(own) for own in x])
        if n.min() < first:
            return np.where(n == n.min(), np.inf, 0.0)
        return np.array([each(a, x, t, z, **given) for a in range(len(x))])

    return scores


def level(t, c=0.0):
    return plus(math.log(t) + (c * math.log(math.log(t)) if t >= 3 else 0.0))


def kl(a, x, t, z, c=0.0, family="bernoulli", sigma=1.0):
    scale = sigma if family == "gaussian" else 1.0
    return scale * upper(x[a].mean() / scale, level(t, c) / len(x[a]), family)


def kl_plus(a, x, t, z, c=0.0, horizon=None, family="bernoulli", sigma=1.0):
    n, rounds = len(x[a]), horizon or t
    twice = c * math.log(math.log(rounds)) if rounds >= 3 else 0.0
    scale = sigma if family == "gaussian" else 1.0
    return scale * upper(x[a].mean() / scale, (math.log(rounds / n) + twice) / n, family)


def kl_plus_plus(a, x, t, z, horizon, family="bernoulli", sigma=1.0):
    n, scale = len(x[a]), sigma if family == "gaussian" else 1.0
    return scale * upper(x[a].mean() / scale, doubled(horizon / len(x) / n) / n, family)


def kl_switch(a, x, t, z, horizon=None):
    n, y = len(x[a]), (horizon or t) / len(x)
    allowed = (plus(math.log(y / n)) if horizon else doubled(y / n)) / n
    few = n <= math.floor(y**0.2 + 1e-9)
    return upper(x[a].mean(), allowed) if few else x[a].mean() + math.sqrt(allowed / 2)


def imed(a, x, t, z, family="bernoulli", sigma=1.0):
    scale = sigma if family == "gaussian" else 1.0
    best = max(own.mean() for own in x) / scale
    d = 0.0 if x[a].mean() / scale == best else DIVERGENCES[family][0](x[a].mean() / scale, best)
    return -(len(x[a]) * d + math.log(len(x[a])))


def tuned(a, x, t, z):
    n = len(x[a])
    return x[a].mean() + math.sqrt(math.log(t) / n * min(0.25, x[a].var() + math.sqrt(2 * math.log(t) / n)))


def gaussian_unknown(a, x, t, z, alpha=-0.5):
    n = len(x[a])
    degrees = n + 2 * alpha - 1
    return x[a].mean() + math.sqrt(x[a].var() / degrees) * special.stdtrit(degrees, special.ndtr(z[a]))


def bayes(a, x, t, z, family, sigma=1.0):
    n, total, tail = len(x[a]), x[a].sum(), 1 / max(t, 2)
    return {
        "gaussian": lambda: total / n + sigma / math.sqrt(n) * -special.ndtri(tail),
        "poisson": lambda: special.gammainccinv(0.5 + total, tail) / n,
        "exponential": lambda: total / special.gammaincinv(n, tail),
    }[family]()


def draw(a, x, t, z, family, sigma=1.0):
    n, total, u = len(x[a]), x[a].sum(), special.ndtr(z[a])
    return {
        "gaussian": lambda: total / n + sigma / math.sqrt(n) * z[a],
        "poisson": lambda: special.gammaincinv(0.5 + total, u) / n,
        "exponential": lambda: total / special.gammainccinv(n, u),
    }[family]()


def bayes_unknown(a, x, t, z):
    n = len(x[a])
    return x[a].mean() + x[a].std() / math.sqrt(n - 1) * -special.stdtrit(n - 1, 1 / max(t, 2))


def ada(a, x, t, z, horizon, sigma=1.0):
    n = len(x[a])
    y = horizon / sum(min(n, math.sqrt(n * len(other))) for other in x) + math.e
    return x[a].mean() + sigma * math.sqrt(2 / n * math.log(y * math.sqrt(math.log(y))))


def oc(a, x, t, z, eta=1.1, rho=1.0, sigma=1.0):
    n = len(x[a])
    near = sum(min(n, len(other) ** rho * n ** (1 - rho)) for other in x)
    return x[a].mean() + sigma * math.sqrt(2 * eta * math.log(max(math.e, math.log(t), t * math.log(t) / near)) / n)


@functools.cache
def binomial_cdf(n, p):
    return stats.binom.cdf(np.arange(n + 1), n, p)


def binomial(u, n, p):
    """The quantile, by the whole distribution: most arms are as they were a round ago."""
    return np.searchsorted(binomial_cdf(n, p), u)


def phe(a, x, t, z, a_=1.1):
    n = len(x[a])
    more = math.ceil(round(a_ * n, 9))
    return (x[a].sum() + binomial(z[a], more, 0.5)) / (n + more)


def giro(a, x, t, z, a_=1.0):
    more = math.ceil(round(a_ * len(x[a]), 9))
    size = len(x[a]) + 2 * more
    return binomial(z[a], size, (x[a].sum() + more) / size) / size


def raw(a, x, t, z, alpha=1.4, sigma=0.5, horizon=None):
    h = np.arange(1, len(x[a]) + 1)
    return (np.cumsum(x[a][::-1]) / h + np.sqrt(2 * sigma**2 * alpha * math.log(t) / h)).min()


def truncated(a, x, t, z, moment, horizon=None):
    n = len(x[a])
    small = x[a] ** 2 <= moment * np.arange(1, n + 1) / (2 * math.log(t))
    return (x[a] * small).mean() + 4 * math.sqrt(2 * moment * math.log(t) / n)


def medians(a, x, t, z, moment, horizon=None, estimator=None):
    n, l = len(x[a]), 1 / 8 + 2 * math.log(t)  # noqa: E741
    blocks = max(1, math.floor(min(8 * l, n / 2)))
    size = n // blocks
    return np.median(x[a][: blocks * size].reshape(blocks, size).mean(1)) + math.sqrt(192 * moment * l / n)


SCORES = {
    "softmax": index(lambda a, x, t, z, temperature=0.1: x[a].mean() + temperature * z[a]),
    "softmax decreasing": index(
        lambda a, x, t, z: x[a].mean() + math.sqrt(math.log(len(x)) / (len(x) * t)) * z[a]
    ),
    "boltzmann_gumbel": index(lambda a, x, t, z, c=0.5: x[a].mean() + c * z[a] / math.sqrt(len(x[a]))),
    "ucb_tuned": index(tuned),
    "ucb_alpha": index(lambda a, x, t, z, alpha=1.0: x[a].mean() + math.sqrt(alpha * level(t) / (2 * len(x[a])))),
    "kl_ucb": index(kl),
    "kl_ucb_plus": index(kl_plus),
    "kl_ucb_plus_plus": index(kl_plus_plus),
    "kl_ucb_switch": index(kl_switch),
    "imed": index(imed),
    "thompson": index(draw),
    "bayes_ucb": index(bayes),
    "thompson_gaussian_ag": index(
        lambda a, x, t, z: x[a].sum() / (len(x[a]) + 1) + z[a] / math.sqrt(len(x[a]) + 1)
    ),
    "thompson_gaussian_unknown": index(gaussian_unknown, first=3),
    "bayes_ucb_gaussian_unknown": index(bayes_unknown, first=2),
    "ada_ucb": index(ada),
    "oc_ucb": index(oc),
    "phe": index(phe),
    "giro": index(giro),
    "raw_ucb": index(raw),
    "robust_ucb": index(truncated),
    "robust_ucb median": index(medians),
}  # fmt: skip
