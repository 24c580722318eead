"""RUCB and double Thompson sampling in NumPy, from the papers, with the draws given: loops over pairs, no vectors."""

import math

import numpy as np
from reference.thompson import CLOSE, draw
from scipy.stats import beta

SCORES = [3, 1, 0, 4, 2]  # a smaller one is better


def preferences(scores, slope=0.3):
    """The probability that the row wins against the column, float[arms, arms], from scores."""
    s = np.asarray(scores, float)
    return 1 / (1 + np.exp(-slope * (s[None] - s[:, None])))


def bounds(wins, t, alpha):
    """Upper and lower bounds of all pairs; the lower one is 0 without a duel, the upper one inf (2 in the paper)."""
    n = len(wins)
    upper, lower = np.full((n, n), np.inf), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            duels = wins[i, j] + wins[j, i]
            if i == j:
                upper[i, j] = lower[i, j] = 0.5
            elif duels:
                width = math.sqrt(alpha * math.log(t) / duels)
                upper[i, j], lower[i, j] = wins[i, j] / duels + width, wins[i, j] / duels - width
    return upper, lower


def member(candidates, u):
    return candidates[math.floor(u * len(candidates))]


def play_rucb(first_wins, uniforms, num_arms, alpha=0.51):
    """`first_wins(t, c, d)` says who wins; `uniforms[t]` is the coin of the champion and the draw of a candidate."""
    wins, champion, played = np.zeros((num_arms, num_arms), int), None, []
    for t in range(1, len(uniforms) + 1):
        upper, _ = bounds(wins, t, alpha)
        candidates = [i for i in range(num_arms) if all(upper[i] >= 0.5)]
        if champion not in candidates:
            champion = None
        coin, u = uniforms[t - 1]
        if not candidates:
            c = member(range(num_arms), u)
        elif len(candidates) == 1:
            c = champion = candidates[0]
        elif champion is not None and coin < 0.5:
            c = champion
        else:
            c = member([i for i in candidates if i != champion], u)
        others = [j for j in range(num_arms) if j != c]
        d = max(others, key=lambda j, c=c: upper[j, c])  # the first of the largest
        if upper[d, c] < 0.5:
            d = c
        played.append((c, d))
        won = first_wins(t, c, d)
        if c != d:
            wins[(c, d) if won else (d, c)] += 1
    return np.array(played), wins


def play_thompson(first_wins, coins, ties, words, num_arms, alpha=0.51, taken=None):
    """`coins[t]` are the levels of the draws for the pairs above the diagonal, `words[t]` of those for the second arm.

    `ties[t]` chooses among equals. `taken`: second arms to take if their draws are the largest up to CLOSE.
    """
    wins, played = np.zeros((num_arms, num_arms), int), []
    for t in range(1, len(ties) + 1):
        upper, lower = bounds(wins, t, alpha)
        able = [sum(upper[i, j] > 0.5 for j in range(num_arms)) for i in range(num_arms)]
        beaten = np.zeros(num_arms, int)
        for i in range(num_arms):
            for j in range(i + 1, num_arms):
                theta = beta.isf(coins[t - 1][i, j], wins[i, j] + 1, wins[j, i] + 1)
                beaten[i if theta > 0.5 else j] += 1
        best = [i for i in range(num_arms) if able[i] == max(able)]
        most = max(beaten[i] for i in best)
        c = member([i for i in best if beaten[i] == most], ties[t - 1])
        theta = [draw(words[t - 1][i], wins[i, c] + 1, wins[c, i] + 1) if i != c else 0.0 for i in range(num_arms)]
        d = max((i for i in range(num_arms) if lower[i, c] <= 0.5), key=lambda i, theta=theta: theta[i])
        if taken is not None and lower[taken[t - 1], c] <= 0.5 and theta[taken[t - 1]] >= theta[d] - CLOSE:
            d = taken[t - 1]
        played.append((c, d))
        won = first_wins(t, c, d)
        if c != d:
            wins[(c, d) if won else (d, c)] += 1
    return np.array(played), wins
