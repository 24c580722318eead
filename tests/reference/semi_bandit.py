"""Semi-bandit algorithms in NumPy: sets of k arms (teams) with the reward of each member observed.

`ties`: teams to take if they are optimal up to rounding errors.
"""

import itertools

import numpy as np
from reference.thompson import draw
from reference.ucb import d_kl, solve


def team_of(values, k):
    """The mask of the k largest values; ties go to the lowest-numbered arm."""
    mask = np.zeros(len(values), bool)
    mask[sorted(range(len(values)), key=lambda a: (-values[a], a))[:k]] = True
    return mask


def taken(team, ties, t, score, close):
    other = team if ties is None else ties[t].astype(bool)
    return other if score(other) >= score(team) - close else team


def play_cucb(rewards, k, index="ucb", c=1.5, ties=None):
    rounds, n = rewards.shape
    counts, sums, played = np.zeros(n), np.zeros(n), []
    for t in range(1, rounds + 1):
        values = np.full(n, 1e9)
        seen = counts > 0
        if index == "kl":
            values[seen] = solve(d_kl, sums[seen] / counts[seen], np.log(t) / counts[seen])
        else:
            values[seen] = sums[seen] / counts[seen] + np.sqrt(c * np.log(t) / counts[seen])
        close = 1e-6 if index == "kl" else 1e-9
        team = taken(team_of(values, k), ties, t - 1, lambda m, v=values: v[m].sum(), close)
        played.append(team)
        counts += team
        sums += rewards[t - 1] * team
    return np.array(played)


def play_escb(rewards, k, c=0.0, ties=None):
    rounds, n = rewards.shape
    counts, sums, played = np.zeros(n), np.zeros(n), []
    for t in range(1, rounds + 1):
        if counts.min() == 0:
            team = team_of(
                np.where(counts > 0, 0 * sums, 1e9) + np.where(counts > 0, sums / np.maximum(counts, 1), 0), k
            )
        else:
            level = np.log(t) + (c * k * np.log(np.log(t)) if t >= 3 else 0.0)

            def score(m, level=level, counts=counts, sums=sums):
                return (sums[m] / counts[m]).sum() + np.sqrt(level / 2 * (1 / counts[m]).sum())

            best = max(itertools.combinations(range(n), k), key=lambda arms: score(list(arms)))
            team = taken(np.isin(np.arange(n), best), ties, t - 1, score, 1e-9)
        played.append(team)
        counts += team
        sums += rewards[t - 1] * team
    return np.array(played)


def play_thompson(rewards, k, words, coins, ties=None):
    rounds, n = rewards.shape
    a, b, played = np.ones(n), np.ones(n), []
    for t in range(rounds):
        draws = np.array([draw(words[t, i], a[i], b[i]) for i in range(n)])
        team = taken(team_of(draws, k), ties, t, lambda m, d=draws: d[m].sum(), 1e-4 * k)
        played.append(team)
        success = coins[t] < rewards[t]
        a += team & success
        b += team & ~success
    return np.array(played)


def bounds(p, level):
    """Lower and upper end of kl(p, q) <= level."""
    upper = solve(d_kl, p, level)
    return 1 - solve(d_kl, 1 - p, level), upper


def play_clucb(rewards, k, delta, epsilon, ties=None):
    """Teams until it stops, and the recommended arms, the best first."""
    rounds, n = rewards.shape
    counts, sums, played = np.zeros(n), np.zeros(n), []
    for t in range(rounds + 1):
        p, seen = np.where(counts > 0, sums / np.maximum(counts, 1), 0.0), counts > 0
        level = (np.log(2) + np.log(n / delta) + np.log(np.maximum(counts, 1)) / 2) / np.maximum(counts, 1)
        low, high = bounds(p, level)
        low, high = np.where(seen, low, 0.0), np.where(seen, high, 1.0)
        best = team_of(p, k)
        against = np.where(best, low, high)
        rival = team_of(against, k)
        if seen.all() and against[rival].sum() - against[best].sum() <= epsilon:
            return np.array(played), np.array(sorted(np.flatnonzero(best), key=lambda a: (-p[a], a)))
        score = high - low + 2 * (best != rival)
        team = taken(team_of(score, k), ties, t, lambda m, s=score: s[m].sum(), 1e-5)
        played.append(team)
        counts += team
        sums += rewards[t] * team
    raise AssertionError("it does not stop")
