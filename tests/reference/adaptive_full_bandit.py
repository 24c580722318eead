"""One evaluation of the adaptive full-bandit rule in NumPy, with numpy.linalg, sorting, and one set after the other."""

import numpy as np


def top(scores, k):
    """Indicator of the k largest values; ties go to the lowest index."""
    chosen = np.zeros(len(scores))
    chosen[np.argsort(-scores, kind="stable")[:k]] = 1.0
    return chosen


def coarse(scores):
    """Round to multiples of 2^-14 of the largest value, so that sets that are tied up to rounding errors are tied."""
    largest = np.abs(scores).max()
    return np.round(scores * 2**14 / (largest or 1.0))


def rival_for_widths(estimate, widths, best, k):
    """The set M != best with the largest estimate(M) plus the widths where M and best differ, and that value."""
    scores = np.where(best > 0, estimate - widths, estimate + widths)
    found = top(scores, k)
    if (found == best).all():  # one exchange: the worst member for the best other
        found[min(np.flatnonzero(best > 0), key=lambda i: scores[i])] = 0.0
        found[max(np.flatnonzero(best == 0), key=lambda i: scores[i])] = 1.0
    return found, found @ estimate + (found != best) @ widths


def scales(widths, best, k, count):
    least = np.sqrt(widths[best > 0].min() + widths[best == 0].min())
    most = np.sqrt(2 * min(k, len(best) - k) * widths.max())
    return np.geomspace(least, most, count)


def lead(estimate, matrix, radius, best, members):
    y = members - best
    return y @ estimate + radius * np.sqrt(y @ matrix @ y)


def centered(matrix):
    projector = np.eye(len(matrix)) - 1 / len(matrix)
    return projector @ matrix @ projector


def climbed(estimate, matrix, radius, best, k, count, steps, more=()):
    """The set with the largest lead after some tangent steps from several sets."""
    own = np.diag(centered(matrix))
    begin = []
    for s in scales(own, best, k, count):
        both = coarse(np.concatenate([estimate, radius / (2 * s) * own]))
        begin.append(rival_for_widths(both[: len(own)], both[len(own) :], best, k)[0])
    ends = []
    for members in [*begin, *more]:
        for _ in range(steps):
            y = members - best
            higher = top(coarse(estimate + radius * matrix @ y / np.sqrt(y @ matrix @ y)), k)
            members = members if (higher == best).all() else higher
        ends.append(members)
    leads = [lead(estimate, matrix, radius, best, members) for members in ends]
    return ends[int(np.argmax(coarse(np.array(leads))))], max(leads)


def bound(estimate, matrix, radius, best, k):
    """An upper bound on the lead of every set."""
    matrix = centered(matrix)
    root = np.sqrt(np.diag(matrix))
    power = np.linalg.matrix_power(matrix / np.outer(root, root), 32)
    widths = np.sum(power**2) ** (1 / 64) * root**2
    found = [
        rival_for_widths(estimate, radius / (2 * s) * widths, best, k)[1] + radius * s / 2
        for s in scales(widths, best, k, 32)
    ]
    return min(found) - best @ estimate


def look(t, design, response, k, size, *, choices, certified, explore, grid, delta, epsilon, sigma):
    """Whether to stop, the best set, the chosen sets, and the pulls of each set of the support and chosen."""
    n = len(response)
    inverse = np.linalg.inv(design)
    estimate = inverse @ response
    best = top(estimate, k)
    alone, both = k / n, k * (k - 1) / (n * (n - 1))
    mean = both * np.ones((n, n)) + (alone - both) * np.eye(n)  # of chi chi' over all sets
    j = 0
    while t >= 2 * size * 2 ** (j + 1):
        j += 1
    prior = 2**j * size * mean
    level = np.linalg.slogdet(design + prior)[1] - np.linalg.slogdet(prior)[1]
    radius = sigma * np.sqrt(level + 2 * np.log((j + 1) * (j + 2) / delta))
    matrix = inverse + inverse @ prior @ inverse
    rival, ahead = climbed(estimate, matrix, radius, best, k, 16, 8)
    if certified:
        ahead = bound(estimate, matrix, radius, best, k)
    more = (grid - 1) * t
    own = (1 - explore) * more / choices
    chosen = []
    for _ in range(choices):
        direction = coarse(inverse @ (rival - best))
        members = max(top(direction, k), top(-direction, k), key=lambda x: abs(x @ direction))
        chosen.append(members)
        inverse = np.linalg.inv(np.linalg.inv(inverse) + own * np.outer(members, members))
        rival, _ = climbed(estimate, inverse, radius, best, k, 4, 3, [rival])
    pulls = [int(np.ceil(explore * more / size))] * size + [int(np.ceil(own))] * choices
    return ahead <= epsilon, best, np.array(chosen), np.array(pulls)
