"""Policies for changing means in NumPy: the statistics of each round are recomputed from the history, by definition.

`ties`: actions to take if they are optimal up to rounding errors.
"""

import numpy as np
from reference.thompson import CLOSE, draw
from reference.ucb import d_kl, solve


def indices(form, means, counts, level, xi):
    """The indices, +inf for arms without rewards."""
    known = counts > 0
    level = np.broadcast_to(level, counts.shape)[known] / counts[known]
    found = np.full(len(counts), np.inf)
    p = np.clip(means[known], 0, 1)
    found[known] = solve(d_kl, p, level) if form == "kl" else means[known] + np.sqrt(xi * level)
    return found


def best(values, tie, close=1e-9):
    arm = int(np.argmax(values))
    return arm if tie is None or not values[tie] > values[arm] - close else int(tie)


def tied(ties, t):
    return None if ties is None else ties[t - 1]


def weighted(actions, rewards, weights, num_arms):
    """Counts and sums of each arm over the rounds so far, each round with its weight."""
    hit = np.array(actions, int)[:, None] == np.arange(num_arms)
    return weights @ hit, (weights * np.array(rewards)) @ hit


def d_ucb(table, noise=None, ties=None, *, discount, index="ucb", xi=0.6, bound=1.0):
    actions, rewards, num_arms = [], [], table.shape[1]
    for t in range(1, len(table) + 1):
        fading = discount ** np.arange(t - 2, -1, -1.0)
        counts, sums = weighted(actions, rewards, fading, num_arms)
        level = np.log(max(counts.sum(), 1))
        values = indices(index, sums / np.maximum(counts, 1e-300), counts, level, 4 * bound**2 * xi)
        actions.append(best(values, tied(ties, t)))
        rewards.append(table[t - 1, actions[-1]])
    return np.array(actions)


def sw_ucb(table, noise=None, ties=None, *, window, index="ucb", xi=0.6, bound=1.0):
    actions, rewards, num_arms = [], [], table.shape[1]
    for t in range(1, len(table) + 1):
        lately = actions[-window:], rewards[-window:]
        counts, sums = weighted(*lately, np.ones(len(lately[0])), num_arms)
        level = np.log(min(t, window))
        values = indices(index, sums / np.maximum(counts, 1), counts, level, bound**2 * xi)
        actions.append(best(values, tied(ties, t)))
        rewards.append(table[t - 1, actions[-1]])
    return np.array(actions)


def discounted_thompson(table, words, ties=None, *, discount):
    actions, rewards, num_arms = [], [], table.shape[1]
    for t in range(1, len(table) + 1):
        counts, sums = weighted(actions, rewards, discount ** np.arange(t - 2, -1, -1.0), num_arms)
        draws = [draw(words[t - 1, a], 1 + sums[a], 1 + counts[a] - sums[a]) for a in range(num_arms)]
        actions.append(best(np.array(draws), tied(ties, t), CLOSE))
        rewards.append(table[t - 1, actions[-1]])
    return np.array(actions)


class History:
    """The rewards of each arm since its restart, and the number of rounds completed at that restart."""

    def __init__(self, num_arms):
        self.rewards, self.restarts, self.alarms = [[] for _ in range(num_arms)], np.zeros(num_arms, int), []

    def restart(self, arms, t):
        for a in arms:
            self.rewards[a], self.restarts[a] = [], t

    def counts_and_means(self):
        return np.array([len(y) for y in self.rewards]), np.array([np.mean(y) if y else 0.0 for y in self.rewards])


def forced(elapsed, num_arms, share):
    """The arm whose turn it is, or None."""
    turn = elapsed % int(np.ceil(num_arms / share * (1 - 1e-15))) if share > 0 else num_arms
    return turn if turn < num_arms else None


def oracle_restart(table, noise=None, ties=None, *, starts):
    seen, num_arms, actions = History(table.shape[1]), table.shape[1], []
    for t in range(1, len(table) + 1):
        if t - 1 in starts[1:]:
            seen.restart(range(num_arms), t - 1)
        counts, means = seen.counts_and_means()
        values = indices("kl", means, counts, np.log(t - seen.restarts[0]), 1)
        actions.append(best(values, tied(ties, t)))
        seen.rewards[actions[-1]].append(table[t - 1, actions[-1]])
    return np.array(actions)


def ratio(y, s):
    """s kl(mean_1:s, mean_1:m) + (m - s) kl(mean_s+1:m, mean_1:m)."""
    mean = np.mean(y)
    if not 0 < mean < 1:
        return 0.0
    return s * d_kl(np.mean(y[:s]), mean) + (len(y) - s) * d_kl(np.mean(y[s:]), mean)


def glr_klucb(
    table, noise=None, ties=None, *, alpha, delta, restart="local", scale=1.0, test_every=10, split_every=10, marks=None
):
    """Actions, and the rounds after which there was an alarm."""
    num_arms, actions = table.shape[1], []
    seen, spacing = History(num_arms), np.full(table.shape[1], split_every)
    for t in range(1, len(table) + 1):
        arm = forced(t - 1 - seen.restarts.max(), num_arms, alpha)
        if arm is None:
            counts, means = seen.counts_and_means()
            arm = best(indices("kl", means, counts, scale * np.log(t - seen.restarts), 1), tied(ties, t))
        actions.append(arm)
        y = seen.rewards[arm]
        y.append(table[t - 1, arm])
        m = len(y)
        if m % test_every == 0:
            ratios = [ratio(y, s) for s in range(spacing[arm], m, spacing[arm])]
            if max(ratios, default=0) >= np.log(3) + 1.5 * np.log(m) - np.log(delta):
                seen.alarms.append(t)
                arms = [arm] if restart == "local" else range(num_arms)
                seen.restart(arms, t)
                spacing[list(arms)] = split_every
                continue
        if marks is not None and m == marks * spacing[arm]:
            spacing[arm] *= 2
    return np.array(actions), seen.alarms


def cusum_ucb(table, noise, ties=None, *, alpha, threshold, epsilon=0.1, min_pulls=100, index="ucb", xi=1.0):
    num_arms, actions = table.shape[1], []
    seen = History(num_arms)
    for t in range(1, len(table) + 1):
        counts, means = seen.counts_and_means()
        if noise[t - 1][0] < alpha:
            arm = int(noise[t - 1][1] * num_arms)
        else:
            arm = best(indices(index, means, counts, np.log(max(counts.sum(), 1)), xi), tied(ties, t))
        actions.append(arm)
        y = seen.rewards[arm]
        y.append(table[t - 1, arm])
        if len(y) > min_pulls:
            off = np.mean(y[:min_pulls]) - np.array(y[min_pulls:])
            walks = [np.cumsum((side * off - epsilon)[::-1]).max() for side in (1, -1)]  # of the last pulls, any number
            if max(walks) >= threshold:
                seen.alarms.append(t)
                seen.restart([arm], t)
    return np.array(actions), seen.alarms


def m_ucb(table, noise=None, ties=None, *, window, threshold, gamma, index="ucb", xi=2.0):
    num_arms, actions = table.shape[1], []
    seen = History(num_arms)
    for t in range(1, len(table) + 1):
        arm = forced(t - 1 - seen.restarts[0], num_arms, gamma)
        if arm is None:
            counts, means = seen.counts_and_means()
            arm = best(indices(index, means, counts, np.log(t - seen.restarts[0]), xi), tied(ties, t))
        actions.append(arm)
        y = seen.rewards[arm]
        y.append(table[t - 1, arm])
        older, newer = y[-window : -window // 2], y[-window // 2 :]
        if len(y) >= window and abs(sum(newer) - sum(older)) > threshold:
            seen.alarms.append(t)
            seen.restart(range(num_arms), t)
    return np.array(actions), seen.alarms
