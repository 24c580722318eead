import math

import numpy as np
from scipy import optimize, special

RANGES = {"bernoulli": (0, 1), "gaussian": (-np.inf, np.inf), "poisson": (0, np.inf), "exponential": (0, np.inf)}


def divergence(family, x, y, sigma=1.0):
    if x == y:
        return 0.0
    with np.errstate(divide="ignore", over="ignore"):
        if family == "bernoulli":
            return float(special.rel_entr(x, y) + special.rel_entr(1 - x, 1 - y))
        if family == "gaussian":
            return (x - y) ** 2 / (2 * sigma**2)
        if family == "poisson":
            return float(y - x + special.rel_entr(x, y))
        return x / y - 1 - math.log(x / y) if x > 0 and y > 0 else np.inf


def bound(family, x, level, side, sigma=1.0):
    """The furthest mean on one side (1 or -1) within divergence `level` of x."""
    end = RANGES[family][side > 0]
    if x == end or (family == "exponential" and x == 0):
        return x

    def excess(u):
        return divergence(family, x, x + side * u, sigma) - level

    if np.isfinite(end):
        span = abs(end - x)
        return end if excess(span) <= 0 else x + side * optimize.brentq(excess, 0, span, xtol=1e-14)
    span = 1.0
    while excess(span) < 0:
        span *= 2
    return x + side * optimize.brentq(excess, 0, span, xtol=1e-14)


def transport(family, x, y, n, m, sigma=1.0):
    if x <= y:
        return 0.0
    mid = (n * x + m * y) / (n + m)
    return n * divergence(family, x, mid, sigma) + m * divergence(family, y, mid, sigma)


def inverse_h(x):
    return optimize.brentq(lambda u: u - math.log(u) - x, 1, 2 * x + 2, xtol=1e-14)


def h_tilde(x):
    return optimize.minimize_scalar(
        lambda y: y * (x - math.log(math.log(y))), bounds=(1 + 1e-9, 1.5), method="bounded", options={"xatol": 1e-12}
    ).fun


def c_g(x):
    def cost(w):
        return (2 * w - 2 * w * math.log(4 * w) + math.log(special.zeta(2 * w)) - math.log(1 - w) / 2 + x) / w

    return optimize.minimize_scalar(cost, bounds=(0.5 + 1e-6, 1 - 1e-9), method="bounded", options={"xatol": 1e-12}).fun


def arm_level(name, delta, num_arms, theory):
    """Level of the confidence interval of one arm as a function of its pulls n and of all pulls t."""
    union = math.log(num_arms / delta)
    constant = {
        "kk": lambda: 2 * h_tilde((union + math.log(2 * special.zeta(2))) / 2),
        "gauss": lambda: c_g(union),
    }.get(name, float)()
    return {
        "heuristic": lambda n, t: math.log((1 + math.log(t)) / delta),
        "theory": lambda n, t: theory(num_arms / delta, n, t),
        "kk": lambda n, t: constant + 3 * math.log(1 + math.log(n)),
        "gauss": lambda n, t: constant + 2 * math.log(4 + math.log(n)),
        "kt": lambda n, t: math.log(2 * math.sqrt(n) * num_arms / delta),
    }[name]


def pair_level(name, delta, num_arms):
    """Threshold for two arms with n pulls each, as a function of n and of all pulls t."""
    union = math.log((num_arms - 1) / delta)
    constant = {
        "kk": lambda: 4 * h_tilde((inverse_h(1 + union / 2) + math.log(2 * special.zeta(2))) / 2),
        "gauss": lambda: 2 * c_g(union / 2),
    }.get(name, float)()
    return {
        "heuristic": lambda n, t: math.log((1 + math.log(t)) / delta),
        "kk": lambda n, t: constant + 6 * math.log(1 + math.log(n)),
        "gauss": lambda n, t: constant + 4 * math.log(4 + math.log(n)),
        "kt": lambda n, t: math.log(4 * n * (num_arms - 1) / delta),
    }[name]
