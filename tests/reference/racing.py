import math

from reference.families import arm_level, bound, pair_level, transport


def race(streams, beats, drop="all", first=2, grid=1.0):
    """Actions, survivor and number of comparisons; the n-th reward of arm a is streams[a, n]."""
    survivors, actions, r, looks = list(range(len(streams))), [], 0, 0
    while len(survivors) > 1:
        end = max(first, r + 1, math.ceil(grid * r))
        if end > streams.shape[1]:
            return actions, None, looks
        actions += survivors * (end - r)
        r, looks = end, looks + 1
        means = {a: streams[a, :r].sum() / r for a in survivors}
        best = min(survivors, key=lambda a: (-means[a], a))
        worst = min(survivors, key=lambda a: (means[a], -a))
        tested = survivors if drop == "all" else [worst]
        out = [a for a in tested if a != best and beats(means[best], means[a], r, len(actions))]
        survivors = [a for a in survivors if a not in out]
    return actions, survivors[0], looks


def chernoff_racing(streams, family, threshold, drop, delta, sigma, grid):
    beta = pair_level(threshold, delta, len(streams))
    return race(streams, lambda x, y, r, t: transport(family, x, y, r, r, sigma) > beta(r, t), drop, grid=grid)


def kl_racing(streams, family, threshold, drop, delta, sigma, grid):
    level = arm_level(threshold, delta, len(streams), lambda union, r, t: math.log(11.1 * union * r**1.1))

    def beats(x, y, r, t):
        allowed = level(r, t) / r
        return bound(family, x, allowed, -1, sigma) > bound(family, y, allowed, 1, sigma)

    return race(streams, beats, drop, grid=grid)


def successive_elimination(streams, delta, sigma, grid):
    def beats(x, y, r, t):
        return x - y >= 2 * sigma * math.sqrt(2 * math.log(4 * len(streams) * r**2 / delta) / r)

    return race(streams, beats, first=1, grid=grid)
