"""Gaussian arms of unknown variances in NumPy: likelihood ratios from the roots of a cubic, thresholds and rules."""

import math

import numpy as np
from reference.unknown_variance import squared_radius
from scipy import optimize, special, stats


def ratio(x, y, plug_in=False):
    """Z of the samples x and y."""
    if x.mean() <= y.mean() or min(np.ptp(x), np.ptp(y)) == 0:
        return 0.0
    n, m, v, w, gap = len(x), len(y), x.var(), y.var(), x.mean() - y.mean()
    if plug_in:
        return gap**2 / (2 * (v / n + w / m))
    # Of n (y - D)(w + y^2) + m y (v + (y - D)^2), by powers of y.
    roots = np.roots([n + m, -(n + 2 * m) * gap, n * w + m * (v + gap**2), -n * gap * w])
    real = roots[np.abs(roots.imag) < 1e-9].real
    return min(n / 2 * math.log1p((gap - r) ** 2 / v) + m / 2 * math.log1p(r**2 / w) for r in real)


def tbox(n, log_alpha):
    c2 = 20 / (-special.lambertw(-np.exp(-(1 - 2 * log_alpha)), -1).real - 1)
    z = (1 - math.exp(2 / n * (log_alpha + math.log(c2 / (n + c2)) / 2))) * (n + c2) / n
    return -n / 2 * math.log(1 - z) if z < 1 else math.inf


def evbox(n, num_arms, delta):
    level, e = math.log(math.pi**2 / 6 * 2 * num_arms / delta), 1 / math.log(1 / delta)
    upper = -special.lambertw(-math.exp(-(5 + 2 * level + 4 * math.log(1 + math.log(n) / 4))), -1).real
    slices = 2 * math.log(1 + math.log(n - 1) / math.log(1 + e))
    lower = -special.lambertw(-math.exp(-(1 + 2 * (1 + e) / (n - 1) * (level + slices)))).real
    return n / (2 * (n - 1)) * upper / lower


def stops(seen, kind, delta, first):
    """Whether the best empirical mean is significantly better than all others."""
    if min(map(len, seen)) < first:
        return False
    b, t = int(np.argmax([x.mean() for x in seen])), sum(map(len, seen))

    def better(j):
        x, y = seen[b], seen[j]
        if kind == "interval":
            low, high = (math.sqrt(z.var() * squared_radius(len(z), delta / len(seen))) for z in (x, y))
            return x.mean() - low > y.mean() + high
        z = ratio(x, y, plug_in=kind == "evbox")
        if kind == "heuristic":
            return z > math.log((1 + math.log(t)) / delta)
        if kind == "evbox":
            return z > evbox(len(x), len(seen), delta) + evbox(len(y), len(seen), delta)
        return z > tbox(len(x), math.log(delta / len(seen))) + tbox(len(y), math.log(delta / len(seen)))

    return all(better(j) for j in range(len(seen)) if j != b)


def play(rewards, choose, *, kind, delta):
    """Actions until it stops, and the recommended arm or None. `choose` returns the arm of round t."""
    num_arms, first = rewards.shape[1], 3 if kind in ("interval", "tbox") else 10
    seen, actions = [np.zeros(0) for _ in range(num_arms)], []
    for t, row in enumerate(rewards):
        if t < first * num_arms:
            arm = t % num_arms
        elif stops(seen, kind, delta, first):
            return actions, int(np.argmax([x.mean() for x in seen]))
        else:
            arm = choose(t, seen)
        seen[arm] = np.append(seen[arm], row[arm])
        actions.append(arm)
    return actions, None


def posterior(normals, seen):
    """Quantiles of the means' posteriors under the prior 1/sigma, at the levels of the normals."""
    return [
        x.mean() + x.std() / math.sqrt(len(x) - 1) * stats.t.ppf(special.ndtr(z), len(x) - 1)
        for z, x in zip(normals, seen, strict=True)
    ]


def top_two(coins, *, challenger, adaptive, beta, kind, normals=None):
    """`normals[t, 0]` is the leader's draw, and the rest are the challenger's until it differs; None means no draws."""

    def choose(t, seen):
        b = int(np.argmax([x.mean() for x in seen] if normals is None else posterior(normals[t, 0], seen)))
        cost = [
            math.inf
            if j == b
            else ratio(seen[b], x, kind == "evbox") + (math.log(len(x)) if challenger == "tci" else 0)
            for j, x in enumerate(seen)
        ]
        c = int(np.argmin(cost))
        if challenger == "ts":
            draws = (int(np.argmax(posterior(z, seen))) for z in normals[t, 1:])
            c = next((arm for arm in draws if arm != b), c)
        of_b, of_c = seen[b].var() / len(seen[b]), seen[c].var() / len(seen[c])
        return b if coins[t] < (of_b / (of_b + of_c) if adaptive else beta) else c

    return choose


def track_and_stop(num_arms):
    """D-tracking with weights solved in every round."""

    def choose(t, seen):
        n, m, v = (np.array([f(x) for x in seen]) for f in (len, np.mean, np.var))
        if n.min() <= max(0, math.sqrt(t) - num_arms / 2):
            return int(np.argmin(n))
        b = int(np.argmax(m))
        rest = [j for j in range(num_arms) if j != b]
        gap2, s, own = (m[b] - m[rest]) ** 2, v[rest], v[b]

        def shares(y):
            return s / (gap2 / (2 * y) - own)

        top = gap2.min() / (2 * own)
        y = optimize.brentq(
            lambda y: np.sum(shares(y) ** 2 * own / s) - 1, top * 1e-9, top * (1 - 1e-12), xtol=1e-300, rtol=1e-14
        )
        w = np.ones(num_arms)
        w[rest] = shares(y)
        return int(np.argmax(t * w / w.sum() - n))

    return choose
