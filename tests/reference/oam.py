"""Optimal allocation matching, from Algorithm 1 of Hao, Lattimore and Szepesvari (2020), recomputed in every round.

It makes the same choices as the library: initial pulls until the arms span, no square at the cap of T, epsilon = 0, the
lazy T, and ties within 1e-9 to the lowest-numbered arm. `larger` solves (4.2) if the features orthogonal to the best
arms have two dimensions or more; fewer are solved here.
"""

import numpy as np

TIE = 1e-9
START, EXPLOIT, FORCED, UNWASTED, WASTED = range(5)


def lowest(scores, arms):
    """The lowest-numbered of the arms whose score is the largest, up to TIE."""
    best = max(scores[a] for a in arms)
    return next(a for a in arms if scores[a] >= best - TIE * abs(best))


def gaps_of(means, sets):
    """Gap of every arm of every context, {(m, a): gap}; exactly 0 for best arms."""
    gaps = {(m, a): max(means[m, b] for b in arms) - means[m, a] for m, arms in enumerate(sets) for a in arms}
    return {arm: gap if gap > 1e-12 else 0.0 for arm, gap in gaps.items()}


def allocate(features, gaps, level, larger):
    """T of (4.2), {(m, a): T}; 0 for the best arms, whose weight in H_T is infinite."""
    none = dict.fromkeys(gaps, 0.0)
    best = np.array([features[arm] for arm, gap in gaps.items() if gap == 0])
    _, singular, right = np.linalg.svd(best)
    rank = int((singular > 1e-9 * singular[0]).sum())
    dim = features.shape[2]
    if rank == dim:
        return none
    if dim - rank > 1:
        found = larger(features, gaps, level)
        cost = sum(found[arm] * gap for arm, gap in gaps.items() if gap > 0)
        return none | {arm: t for arm, t in found.items() if gaps[arm] > 0 and t * gaps[arm] > 1e-8 * cost}
    beyond = {arm: (features[arm] @ right[rank]) ** 2 for arm in gaps}
    beyond = {arm: z for arm, z in beyond.items() if z > 1e-18 and gaps[arm] > 0}
    price = {arm: gaps[arm] / z for arm, z in beyond.items()}
    cheapest = next(arm for arm in sorted(price) if price[arm] <= min(price.values()) * (1 + TIE))
    need = max(z / gaps[arm] ** 2 for arm, z in beyond.items())
    return none | {cheapest: level * need / beyond[cheapest]}


class Pulls:
    """The pulls so far: counts per feature vector, and the statistics of least squares."""

    def __init__(self, features):
        self.count, self.dim = {}, features.shape[2]
        self.gram, self.target, self.rows = np.zeros((self.dim, self.dim)), np.zeros(self.dim), []

    def of(self, x):
        return self.count.get(tuple(x), 0)

    def add(self, x, reward):
        self.count[tuple(x)] = self.of(x) + 1
        self.gram += np.outer(x, x)
        self.target += x * reward
        if self.outside(x):
            self.rows.append(x)

    def outside(self, x):
        return np.linalg.matrix_rank(np.array([*self.rows, x])) > len(self.rows)

    def start(self, rows, arms):
        """The arm of a round in which the pulled arms do not span R^dim yet."""
        new = [a for a in arms if self.outside(rows[a])]
        return new[0] if new else min(arms, key=lambda a: self.of(rows[a]))


def play(
    features,
    sets,
    contexts,
    rewards,
    larger,
    *,
    horizon,
    epsilon=0.0,
    schedule="constant",
    exploit_if="all",
    force=True,
    c=1.0,
    zeta=0.1,
    sigma=1.0,
    budget=None,
    forceable=None,
):
    """Arms and kinds of the rounds.

    features[m][a] are those of arm a of context m, which exists if a is in sets[m]; rewards[t][m][a] is its reward in
    round t; forceable[m] are the arms that may be forced.
    """
    dim, log_n = features.shape[2], np.log(horizon)

    def level(log_inverse_delta):
        return sigma**2 * (2 * (1 + 1 / log_n) * log_inverse_delta + c * dim * np.log(dim * log_n))

    def of_width(squared):
        return level(np.log(max(1.0, horizon * squared)))

    f_n, seen, explored, solved, record = level(log_n), Pulls(features), 0, None, []
    for t, m in enumerate(contexts, 1):
        rows, arms = features[m], sets[m]
        if len(seen.rows) < dim:
            arm, kind = seen.start(rows, arms), START
        else:
            inverse = np.linalg.inv(seen.gram)
            means = features @ (inverse @ seen.target)
            gaps = gaps_of(means, sets)
            least = min([gap for gap in gaps.values() if gap > 0], default=np.inf)
            logdet = np.linalg.slogdet(seen.gram)[1]
            if solved is None or logdet >= solved + np.log1p(zeta) - TIE:
                solved, allocation = logdet, allocate(features, gaps, f_n, larger)
                allocation |= {arm: np.inf for arm, gap in gaps.items() if gap == 0}
            norms = {a: rows[a] @ inverse @ rows[a] for a in arms}
            known = [norms[a] * f_n <= max(least, gaps[m, a]) ** 2 * (1 + TIE) for a in arms]
            index = {a: means[m, a] + np.sqrt(of_width(norms[a]) * norms[a]) for a in arms}
            if exploit_if == "optimism":
                exploit = gaps[m, lowest(index, arms)] == 0
            else:
                exploit = all(known) if exploit_if == "all" else any(known)
            if exploit:
                arm, kind = lowest(means[m], arms), EXPLOIT
            else:
                explored += 1
                n = {a: seen.of(rows[a]) for a in arms}
                tau = {a: min(allocation[m, a], f_n / least**2) for a in arms}
                dear = False
                if exploit_if == "optimism":
                    narrow = min(norms[a] for a in arms if gaps[m, a] == 0) * (1 - TIE)
                    tau = {a: tau[a] if gaps[m, a] > 0 and norms[a] >= narrow else 0 for a in arms}
                    cost = sum(t * gaps[arm] for arm, t in allocation.items() if t < np.inf) / f_n
                    dear = budget is not None and cost * of_width(least**2 / sigma**2) > budget * horizon * least
                share = epsilon if schedule == "constant" else 1 / max(1.0, np.log(np.log(t)) if t > 1 else 0.0)
                few = min(forceable[m] if forceable else arms, key=lambda a, n=n: n[a])
                if dear or all(n[a] >= tau[a] * (1 - TIE) for a in arms):
                    width = np.sqrt(level(2 * np.log(explored)))
                    bounds = {a: means[m, a] + width * np.sqrt(norms[a]) for a in arms}
                    arm, kind = lowest(index if exploit_if == "optimism" else bounds, arms), WASTED
                elif force and n[few] <= share * (explored - 1):
                    arm, kind = few, FORCED
                else:
                    lag = {a: -n[a] / tau[a] if tau[a] > 0 else -np.inf for a in arms}
                    arm, kind = lowest(lag, arms), UNWASTED
        seen.add(rows[arm], rewards[t - 1][m][arm])
        record.append((arm, kind))
    return record
