"""GIFA in NumPy in d-dimensional form, with V from the counts and theta_hat from the sums of rewards in every round.

`ties`: actions to take if they are optimal up to rounding; every choice within TIE of the best is then considered.
"""

from itertools import combinations

import numpy as np

TIE = 1e-9


def level(threshold, t, logdet, features, delta, sigma, regularization, theta_norm):
    num_arms, dim = features.shape
    bias = np.sqrt(regularization) * theta_norm / sigma
    t_log = np.log(max(t, 1))
    if threshold == "det":
        return np.sqrt(2 * (logdet / 2 - dim * np.log(regularization) / 2 + np.log(1 / delta))) + bias
    if threshold == "theory":
        size = max(np.linalg.norm(x) for x in features)
        inner = 1 + (t + 1) * size**2 / (regularization**2 * dim)
        return np.sqrt(2 * np.log(1 / delta) + dim * np.log(inner)) + bias
    if threshold == "heuristic":
        return np.sqrt(2 * np.log((t_log + 1) / delta))
    return np.sqrt(2 * np.log(5 * num_arms / (4 * delta)) + 8 * t_log)


def sets_of_largest(values, m):
    """All sets of m arms with the largest values up to TIE, the set of the lowest-numbered arms first."""
    mth = np.sort(values)[-m]
    sure = [a for a in range(len(values)) if values[a] > mth + TIE]
    tied = [a for a in range(len(values)) if abs(values[a] - mth) <= TIE]
    return [tuple(sorted(sure + list(more))) for more in combinations(tied, m - len(sure))]


def largest(arms, values):
    """The arms whose value is largest up to TIE, the lowest-numbered first."""
    best = max(values[a] for a in arms)
    return [a for a in arms if values[a] >= best - TIE * max(1, abs(best))]


def choices(features, pulls, sums, t, weights, o):
    """All (stopping value, J, b, c, arm) that are correct up to TIE; the first has the lowest-numbered arms."""
    num_arms, dim = features.shape
    arms, m = range(num_arms), o["m"]
    V = o["regularization"] * np.eye(dim) + features.T @ (pulls[:, None] * features)
    inverse, theta = np.linalg.inv(V), np.linalg.solve(V, features.T @ sums)
    norm = lambda y: np.sqrt(y @ inverse @ y)  # noqa: E731
    C = level(
        o["threshold"],
        t,
        np.linalg.slogdet(V)[1],
        features,
        o["delta"],
        o["sigma"],
        o["regularization"],
        o["theta_norm"],
    )
    means, widths = features @ theta, np.array([norm(x) for x in features])
    if o["index"] == "classical":
        with np.errstate(divide="ignore"):
            means, widths = sums / np.maximum(pulls, 1), 1 / np.sqrt(pulls)
    B = np.zeros((num_arms, num_arms))
    for i in arms:
        for j in arms:
            wide = norm(features[i] - features[j]) if o["index"] == "paired" else widths[i] + widths[j]
            B[i, j] = means[i] - means[j] + C * o["sigma"] * wide
    mth_others = np.array([np.sort(np.delete(B[:, j], j))[-m] for j in arms])

    for J in sets_of_largest(means if o["candidates"] == "means" else -mth_others, m):
        outside = [a for a in arms if a not in J]
        doubt = mth_others if o["leader"] == "ugape" else B[outside].max(0)
        for b in largest(J, doubt):
            for c in largest(outside, B[:, b]):
                value = B[c, b] if o["stop"] == "lucb" else max(mth_others[j] for j in J)
                if o["rule"] == "both":
                    best = [b]
                elif o["rule"] == "largest_variance":
                    best = largest(sorted((b, c)), widths)
                elif o["rule"] == "greedy":
                    y = features[b] - features[c]
                    after = [y @ np.linalg.inv(V + np.outer(x, x)) @ y for x in features]
                    best = largest(arms, -np.array(after) / (y @ inverse @ y))
                else:
                    w = np.abs(weights[b, c])
                    used = [a for a in arms if w[a] > 1e-6 * w.max()]
                    best = largest(used, [-pulls[a] / w[a] if w[a] > 0 else 0 for a in arms])
                yield from ((value, J, b, c, arm) for arm in best)


def play(rewards, features, weights=None, ties=None, **options):
    """Play until the stopping rule holds; return actions and sorted candidates. `rewards` is [rounds, num_arms]."""
    num_arms = features.shape[0]
    pulls, sums, actions, second = np.zeros(num_arms), np.zeros(num_arms), [], []
    for t in range(rewards.shape[0]):
        best = None
        if options["initial_pulls"] and t < num_arms:
            good = [t]
        elif second:
            good, second = second, []
        else:
            best = list(choices(features, pulls, sums, t, weights, options))
            if best[0][0] <= options["epsilon"]:
                return np.array(actions), best[0][1]
            good = [arm for *_, arm in best]
        arm = int(ties[t]) if ties is not None and ties[t] in good else good[0]
        if best and options["rule"] == "both":
            second = [c for _, _, b, c, _ in best if b == arm]
        pulls[arm] += 1
        sums[arm] += rewards[t, arm]
        actions.append(arm)
    return np.array(actions), None
