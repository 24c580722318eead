"""Baselines of a survey in NumPy that are more than an index: generators of arms, which are sent rewards."""

import functools
import math

import numpy as np
from scipy.stats import hypergeom


def commits(num_arms, done):
    """Explore then commit after a turn for which done(number of turns, best mean less second)."""
    x = [[] for _ in range(num_arms)]
    while True:
        for a in range(num_arms):
            x[a].append((yield a))
        means = sorted(np.mean(own) for own in x)
        if done(len(x[0]), means[-1] - (means[-2] if num_arms > 1 else -math.inf)):
            break
    best = int(np.argmax([np.mean(own) for own in x]))
    while True:
        yield best


def explores(num_arms, epsilon, numbers):
    """A random arm with probability epsilon(t), by two numbers a round; else the largest mean, unpulled first."""
    x = [[] for _ in range(num_arms)]
    for t, (coin, u) in enumerate(numbers, 1):
        means = [np.mean(own) if own else math.inf for own in x]
        a = math.floor(u * num_arms) if coin < epsilon(t) else int(np.argmax(means))
        x[a].append((yield a))


@functools.cache
def drawn(n, s, size):
    """The distribution function of the successes among `size` of n pulls with s successes."""
    return hypergeom.cdf(np.arange(size + 1), n, s, size)


def besa(num_arms, numbers):
    """`numbers` has the order of the arms by numbers, and a number for each duel; rewards are 0 or 1."""
    n, s = np.zeros(num_arms, int), np.zeros(num_arms, int)
    for order, duels in zip(numbers.order, numbers.duels, strict=True):
        left = list(duels)

        def duel(a, b, left=left):
            u, size = left.pop(0), min(n[a], n[b])
            sums = [s[c] if n[c] == size else np.searchsorted(drawn(n[c], s[c], size), u) for c in (a, b)]
            if sums[0] != sums[1]:
                return a if sums[0] > sums[1] else b
            return a if n[a] <= n[b] else b

        def knock_out(arms, duel=duel):
            if len(arms) == 1:
                return arms[0]
            half = len(arms) // 2
            first, second = knock_out(arms[:half]), knock_out(arms[half:])
            return duel(first, second)

        a = int(np.argmin(n)) if n.min() == 0 else knock_out([int(arm) for arm in np.argsort(order, kind="stable")])
        reward = yield a
        n[a], s[a] = n[a] + 1, s[a] + int(reward)


def sda(num_arms, numbers, memory=None):
    """LB-SDA, or RB-SDA with `numbers[t]`, uniform numbers for the starts in the first round of a turn."""
    x, r, leader = [[] for _ in range(num_arms)], 1, 0
    turn, t = list(range(num_arms)), 0
    while True:
        for a in turn:
            x[a].append((yield a))
            t += 1
        r += 1
        n, s = [len(own) for own in x], [sum(own) for own in x]
        best = [a for a in range(num_arms) if n[a] == max(n)]
        best = [a for a in best if s[a] == max(s[b] for b in best)]
        leader = leader if leader in best else best[0]
        turn = []
        for a in range(num_arms):
            if n[a] < n[leader]:
                size = min(n[a], memory or n[a])
                start = n[leader] - size if numbers is None else math.floor(numbers[t][a] * (n[leader] - size + 1))
                block = np.mean(x[leader][start : start + size])
                if n[a] < math.sqrt(math.log(r)) or s[a] / n[a] >= block - 1e-12:
                    turn.append(a)
        turn = turn or [leader]


def exp3_plus_plus(num_arms, numbers, alpha=3.0, beta=256.0):
    """Seldin and Lugosi's constants; the arm is the first whose cumulated probability exceeds the number."""
    losses, sums, n = np.zeros(num_arms), np.zeros(num_arms), np.zeros(num_arms, int)
    for t, u in enumerate(numbers, 1):
        e = math.sqrt(math.log(num_arms) / (t * num_arms)) / 2
        means = sums / np.maximum(n, 1)
        width = np.sqrt((alpha * math.log(t) + math.log(num_arms)) / (2 * np.maximum(n, 1)))
        high = np.where(n > 0, np.minimum(1, means + width), 1)
        gaps = np.where(n > 0, np.maximum(0, np.maximum(0, means - width) - high.min()), 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(gaps > 0, beta * math.log(t) / (t * gaps**2), math.inf)
        eps = np.minimum(np.minimum(1 / (2 * num_arms), e), own)
        w = np.exp(-e * (losses - losses.min()))
        p = (1 - eps.sum()) * w / w.sum() + eps
        a = min(int(np.sum(np.cumsum(p) <= u)), num_arms - 1)
        loss = 1 - (yield a)
        losses[a] += loss / p[a]
        sums[a], n[a] = sums[a] + loss, n[a] + 1


def swa(num_arms, window):
    x = [[] for _ in range(num_arms)]
    while True:
        n = [len(own) for own in x]
        a = int(np.argmin(n)) if min(n) < window else int(np.argmax([np.mean(own[-window:]) for own in x]))
        x[a].append((yield a))
