"""Races for unknown variances and bounded rewards in NumPy, recomputed from all rewards after every round."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw


def race(rewards, rule, num_rounds, **options):
    """The arms pulled until one is left, and that arm.

    rewards[t, a] is the reward of arm a at pull t of all arms. If it does not stop within num_rounds pulls: the pulls
    so far, and None.
    """
    num_arms = rewards.shape[1]
    alive, seen, actions, memory = list(range(num_arms)), [[] for _ in range(num_arms)], [], {}
    while len(alive) > 1:
        for a in alive:
            if len(actions) == num_rounds:
                return actions, None
            seen[a].append(rewards[len(actions), a])
            actions.append(a)
        x = {a: np.array(seen[a]) for a in alive}
        kept = rule(x, alive, num_arms, memory, **options)
        alive = kept or [max(alive, key=lambda a: x[a].mean())]
    return actions, alive[0]


def squared_radius(n, alpha):
    """R at which 2 M_n - s is 1 / alpha, by a root search."""
    u = -lambertw(-np.exp(-(1 - 2 * np.log(alpha))), -1).real  # u - log u = 1 + 2 log(1 / alpha)
    c2 = 20 / (u - 1)
    s = np.sqrt(c2 / (n + c2))

    def excess(share):  # share = R / (1 + R)
        return np.log(2 * s) - n / 2 * np.log(1 - n / (n + c2) * share) - np.log(1 / alpha + s)

    if n < 2 or excess(1 - 1e-12) < 0:
        return np.inf
    share = brentq(excess, 0, 1 - 1e-12, xtol=1e-16, rtol=1e-15)
    return share / (1 - share)


def paired_upper(d, alpha, min_pulls=1, resolution=0.0):
    """U of the mean of D; equal differences have no variance."""
    radius = squared_radius(len(d), alpha)
    if len(d) < min_pulls or radius == np.inf:
        return np.inf
    sd = 0.0 if np.ptp(d) <= 1e-13 * np.abs(d).max() else d.std()
    return d.mean() + resolution + (sd + resolution) * np.sqrt(radius)


def paired(x, alive, num_arms, memory, delta, epsilon):
    def upper(one, other):
        return paired_upper(x[one] - x[other], delta / (num_arms - 1))

    kept = [i for i in alive if not any(upper(i, other) < 0 for other in alive if other != i)]
    b = max(kept, key=lambda a: x[a].mean())
    return [b] if all(upper(other, b) <= epsilon for other in kept if other != b) else kept


def paired_top(rows, m, delta, epsilon, min_pulls, resolution):
    """The undecided arms of each round, and the m arms: accepted, then undecided; None if the rows do not suffice.

    rows[n, a] is the reward of arm a in round n. Claims are closed anew, and arms decided on, until nothing changes.
    """
    num_arms = rows.shape[1]
    undecided, accepted, rounds = list(range(num_arms)), [], []
    for n in range(1, len(rows) + 1):
        rounds.append(list(undecided))
        x = {i: rows[:n, i] for i in undecided}
        bound = {
            (i, j): paired_upper(x[i] - x[j], delta / (m * (num_arms - m)), min_pulls, resolution)
            for i in undecided
            for j in undecided
            if i != j
        }
        changes = True
        while changes:
            k = m - len(accepted)
            beats = {(i, j) for i in undecided for j in undecided if i != j and bound[j, i] < 0}
            for middle in undecided:
                ends = [j for i, j in beats if i == middle]
                beats |= {(i, j) for i, other in beats if other == middle for j in ends}
            wins = {i: sum((i, j) in beats for j in undecided) for i in undecided}
            losses = {j: sum((i, j) in beats for i in undecided) for j in undecided}
            new = [i for i in undecided if wins[i] >= len(undecided) - k]
            out = [j for j in undecided if losses[j] >= k and j not in new]
            accepted, undecided = accepted + new, [i for i in undecided if i not in new + out]
            k, changes = m - len(accepted), bool(new + out)
            if k == 0 or len(undecided) == k:
                break
        inside = sorted(undecided, key=lambda i: (-x[i].mean(), i))[:k]
        if all(bound[i, b] <= epsilon for b in inside for i in undecided if i not in inside):
            return rounds, accepted + inside
    return rounds, None


def kim_nelson(x, alive, num_arms, memory, delta, epsilon, variant, independent, first_rounds):
    r = len(x[alive[0]])
    if r < first_rounds:
        return alive
    used = r if variant == "kn++" else first_rounds
    q = 1 - (1 - delta) ** (1 / (num_arms - 1)) if independent else delta / (num_arms - 1)
    eta = ((2 * q) ** (-2 / (used - 1)) - 1) / 2

    def loses(i, other):
        if independent and variant == "kn++":
            variance = np.var(x[i], ddof=1) + np.var(x[other], ddof=1)
        else:
            variance = np.var((x[i] - x[other])[:used], ddof=1)
        width = max(0, epsilon / (2 * r) * (2 * eta * (used - 1) * variance / epsilon**2 - r))
        behind = x[other].mean() - x[i].mean() - width
        return behind > 0 or (behind == width == 0 and other < i)

    return [i for i in alive if not any(loses(i, other) for other in alive if other != i)]


def by_intervals(interval):
    """A race that eliminates arms whose interval, intersected over rounds, is below another's."""

    def rule(x, alive, num_arms, memory, **options):
        for a in alive:
            center, radius = interval(x[a], num_arms, memory.setdefault(a, {}), **options)
            low, high = memory.get((a, "interval"), (-np.inf, np.inf))
            memory[a, "interval"] = max(low, center - radius), min(high, center + radius)
        top = max(memory[a, "interval"][0] for a in alive)
        return [a for a in alive if memory[a, "interval"][1] >= top]

    return rule


def student(x, alive, num_arms, memory, delta):
    """An arm without variance is where it is; of arms that nothing can tell apart the first is left."""
    ends = {}
    for a in alive:
        radius = squared_radius(len(x[a]), delta / num_arms)
        low, high = memory.get(a, (-np.inf, np.inf))
        if np.ptp(x[a]) > 0 and radius < np.inf:
            reach = np.sqrt(x[a].var() * radius)
            low, high = memory[a] = max(low, x[a].mean() - reach), min(high, x[a].mean() + reach)
        ends[a] = (x[a].mean(),) * 2 if np.ptp(x[a]) == 0 and radius < np.inf else (low, high)
    first = max(alive, key=lambda a: ends[a][0])
    return [a for a in alive if a == first or ends[a][1] > ends[first][0]]


@by_intervals
def bernstein(x, num_arms, memory, delta, low, high):
    n, p = len(x), 1.1
    level = np.log(3 / (delta / num_arms * (p - 1) / (p * n**p)))
    return x.mean(), np.sqrt(2 * x.var() * level / n) + 3 * (high - low) * level / n


@by_intervals
def plug_in(x, num_arms, memory, delta, low, high):
    y, level = (x - low) / (high - low), np.log(num_arms / delta)
    sums = memory.setdefault("sums", [0.0, 0.0, 0.0, 0.0])  # of lambda x, of lambda, of deviations, of squares
    n, last = len(y), y[-1]
    stake = min(0.5, np.sqrt(2 * level / ((0.25 + sums[3]) / n * n * np.log(1 + n))))
    sums[0] += stake * last
    sums[1] += stake
    sums[2] += (last - (0.5 + y[:-1].sum()) / n) ** 2 * (-np.log(1 - stake) - stake)
    sums[3] += (last - (0.5 + y.sum()) / (n + 1)) ** 2
    return low + (high - low) * sums[0] / sums[1], (high - low) * (level + sums[2]) / sums[1]


def betting(x, alive, num_arms, memory, delta, low, high, epsilon=0.0):
    def rich(one, other, margin=0.0):
        d = (x[one] - x[other]) / (high - low)
        n = len(d)
        past = d[:-1]
        means = np.cumsum(past) / (np.arange(1, n) + 1)  # q_j
        q, s = past.sum() / n + margin, (0.25 + np.sum((past - means) ** 2)) / n
        wealth = memory.get((one, other, margin), 0.0) + np.log(1 + np.clip(q / (s + q * q), 0, 0.5) * (d[-1] + margin))
        memory[one, other, margin] = wealth
        return wealth >= np.log((num_arms - 1) / delta)

    pairs = [(j, i) for j in alive for i in alive if j != i]
    above = {pair: rich(*pair) for pair in pairs}
    near = {pair: rich(*pair, epsilon / (high - low)) for pair in pairs} if epsilon else above
    kept = [i for i in alive if not any(above[j, i] and near[j, i] for j in alive if j != i)]
    b = max(kept, key=lambda a: x[a].mean())
    return [b] if all(near[b, i] for i in kept if i != b) else kept


RULES = {
    "paired_race": paired,
    "student_race": student,
    "kim_nelson": kim_nelson,
    "bernstein_race": bernstein,
    "plug_in": plug_in,
    "betting_race": betting,
}
