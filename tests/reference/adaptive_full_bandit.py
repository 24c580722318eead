"""One look of the adaptive full-bandit rule in NumPy: numpy.linalg, sorting, and sets one after the other."""

import numpy as np


def top(scores, k):
    """Indicator of the k largest, lowest index on ties."""
    chosen = np.zeros(len(scores))
    chosen[np.argsort(-scores, kind="stable")[:k]] = 1.0
    return chosen


def rival_for_widths(estimate, widths, best, k):
    """The set M != best with the largest estimate(M) + widths where M and best differ, and that value."""
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


def centred(matrix):
    projector = np.eye(len(matrix)) - 1 / len(matrix)
    return projector @ matrix @ projector


def climbed(estimate, matrix, radius, best, k, count, steps, more=()):
    """The set with the largest lead after some tangent steps from several sets."""
    own = np.diag(centred(matrix))
    begin = [rival_for_widths(estimate, radius / (2 * s) * own, best, k)[0] for s in scales(own, best, k, count)]
    ends = []
    for members in [*begin, *more]:
        for _ in range(steps):
            y = members - best
            higher = top(estimate + radius * matrix @ y / np.sqrt(y @ matrix @ y), k)
            members = members if (higher == best).all() else higher
        ends.append(members)
    return max(ends, key=lambda members: lead(estimate, matrix, radius, best, members))


def bound(estimate, matrix, radius, best, k):
    """No set leads by more."""
    matrix = centred(matrix)
    root = np.sqrt(np.diag(matrix))
    power = np.linalg.matrix_power(matrix / np.outer(root, root), 32)
    widths = np.sum(power**2) ** (1 / 64) * root**2
    found = [
        rival_for_widths(estimate, radius / (2 * s) * widths, best, k)[1] + radius * s / 2
        for s in scales(widths, best, k, 32)
    ]
    return min(found) - best @ estimate


def look(t, design, response, k, size, *, ours, choices, certified, explore, grid, delta, epsilon, sigma):
    """Whether to stop, the best set, the sets chosen, and pulls of each set of the support and of each chosen one.

    Designs of whole numbers tie often: a set of `ours` is taken where it correlates as much, to a billionth.
    """
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
    rival = climbed(estimate, matrix, radius, best, k, 16, 8)
    ahead = bound(estimate, matrix, radius, best, k) if certified else lead(estimate, matrix, radius, best, rival)
    more = (grid - 1) * t
    own = (1 - explore) * more / choices
    chosen = []
    for own_choice in ours:
        direction = inverse @ (rival - best)
        members = max(top(direction, k), top(-direction, k), key=lambda x: abs(x @ direction))
        if abs(own_choice @ direction) >= abs(members @ direction) * (1 - 1e-9):
            members = own_choice
        chosen.append(members)
        inverse = np.linalg.inv(np.linalg.inv(inverse) + own * np.outer(members, members))
        rival = climbed(estimate, inverse, radius, best, k, 4, 3, [rival])
    pulls = [int(np.ceil(explore * more / size))] * size + [int(np.ceil(own))] * choices
    return ahead <= epsilon, best, np.array(chosen), np.array(pulls)
