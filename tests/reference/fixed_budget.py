"""Fixed-budget rules in NumPy and exact fractions, from the papers; streams[a, k] is the (k+1)-th reward of arm a.

Each returns what it pulled and what it recommends. `actions`: actions to take if two indices agree up to rounding.
"""

from fractions import Fraction

import numpy as np

NEAR = 1e-9


def worst(scores, arms):
    """The arm with the smallest score; the highest-numbered one if tied."""
    return max(arms, key=lambda a: (-scores[a], a))


def sequential_halving(streams, budget, reading, m=1):
    """The pulls of each arm in every round, and the recommended arms, the best first."""
    arms, used, rounds = list(range(len(streams))), np.zeros(len(streams), int), []
    log2 = next(r for r in range(99) if m * 2**r >= len(streams))
    for _ in range(log2):
        pulls = np.zeros(len(streams), int)
        pulls[arms] = budget // (len(arms) * log2)
        begin = used if reading == "round" else np.zeros_like(used)
        used = used + pulls
        means = {a: streams[a, begin[a] : used[a]].mean() for a in arms}
        for _ in range(min(len(arms) // 2, len(arms) - m)):
            arms.remove(worst(means, arms))
        rounds.append(pulls)
    return rounds, sorted(arms, key=lambda a: -means[a])


def phase(num_arms, budget, k, arms, used):
    """The pulls of each arm in phase k, which brings those that remain to the same number."""
    level = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, num_arms + 1))
    share = Fraction(budget - num_arms) / (level * (num_arms + 1 - k))
    pulls = np.zeros(num_arms, int)
    pulls[arms] = -(-share.numerator // share.denominator) - used[arms[0]]
    return pulls


def successive_rejects(streams, budget):
    """The pulls of each arm in every phase, and the recommended arm."""
    num_arms = len(streams)
    arms, used, phases = list(range(num_arms)), np.zeros(num_arms, int), []
    for k in range(1, num_arms):
        pulls = phase(num_arms, budget, k, arms, used)
        used = used + pulls
        if pulls.any():
            phases.append(pulls)
        arms.remove(worst({a: streams[a, : used[a]].mean() for a in arms}, arms))
    return phases, arms[0]


def successive_accepts_and_rejects(streams, budget, m):
    """The pulls of each arm in every phase, and the m recommended arms, the best first."""
    num_arms = len(streams)
    arms, used, phases, found = list(range(num_arms)), np.zeros(num_arms, int), [], []
    for k in range(1, num_arms):
        if len(found) == m or len(found) + len(arms) == m:
            break
        pulls = phase(num_arms, budget, k, arms, used)
        used = used + pulls
        if pulls.any():
            phases.append(pulls)
        sums = {a: streams[a, : used[a]].sum() for a in arms}
        order = sorted(arms, key=lambda a: (-sums[a], a))
        inside = sums[order[m - len(found) - 1]]
        outside = sums[order[m - len(found)]]
        if sums[order[0]] - outside > inside - sums[order[-1]]:
            found.append(order[0])
        arms.remove(order[0] if order[0] in found else order[-1])
    found += arms[: m - len(found)]
    return phases, sorted(found, key=lambda a: (-streams[a, : used[a]].sum() / used[a], a))


def uniform_allocation(streams, budget, m):
    """The single round, and the recommended arms, the best first."""
    pulls = np.full(len(streams), budget // len(streams))
    return [pulls], np.argsort(-streams[:, : pulls[0]].mean(1), kind="stable")[:m]


def ucb_e(streams, budget, a, actions):
    """The actions, and the empirical means."""
    used, done = np.zeros(len(streams), int), []
    for t in range(budget):
        means = np.array([streams[i, : used[i]].mean() if used[i] else 0.0 for i in range(len(streams))])
        if t < len(streams):
            arm = t
        else:
            index = means + np.sqrt(a / used)
            arm = actions[t] if index[actions[t]] >= index.max() - NEAR else int(index.argmax())
        used[arm] += 1
        done.append(arm)
    means = np.array([streams[i, : used[i]].mean() for i in range(len(streams))])
    return done, means


def budgeted_race(streams, budget, rule, **options):
    """The rounds of a race that the budget allows, until one arm is left, and the survivor with the best mean."""
    num_arms = len(streams)
    alive, rounds, memory = list(range(num_arms)), [], {}
    while len(alive) > 1 and np.sum(rounds) + len(alive) <= budget:
        rounds.append(np.isin(np.arange(num_arms), alive).astype(int))
        x = {a: streams[a, : len(rounds)] for a in alive}
        kept = rule(x, alive, num_arms, memory, **options)
        alive = kept or [max(alive, key=lambda a: x[a].mean())]
    return rounds, max(alive, key=lambda a: streams[a, : len(rounds)].sum())


def ugape_b(streams, budget, a, m):
    """The actions, and the arms recommended at the smallest bound; ties go to the lowest-numbered arm."""
    num_arms = len(streams)
    used, done, least, named = np.zeros(num_arms, int), [], np.inf, None
    for t in range(budget + 1):
        if t >= num_arms:
            means = np.array([streams[i, : used[i]].mean() for i in range(num_arms)])
            upper, lower = means + np.sqrt(a / used), means - np.sqrt(a / used)
            gaps = np.array([np.sort(np.delete(upper, k))[-m] - lower[k] for k in range(num_arms)])
            inside = np.argsort(np.round(gaps, 9), kind="stable")[:m]
            doubt = gaps[inside].max()
            if doubt < least - NEAR:
                least, named = doubt, inside
        if t == budget:
            break
        arm = t
        if t >= num_arms:
            outside = [k for k in range(num_arms) if k not in inside]
            one = min(sorted(inside), key=lambda k: round(lower[k], 9))
            other = max(outside, key=lambda k: (round(upper[k], 9), -k))
            arm = min((one, other), key=lambda k: (used[k], k))
        used[arm] += 1
        done.append(arm)
    return done, named
