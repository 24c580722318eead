"""Delayed feedback in NumPy: an algorithm in plain Python receives each feedback when it arrives."""

import numpy as np
from reference.ucb import d_kl, solve


class KlUcb:
    """kl-UCB from counts. An arm without a reward comes first, and the clock is 1 + the number of rewards received."""

    def __init__(self, num_arms):
        self.counts, self.sums = np.zeros(num_arms), np.zeros(num_arms)

    def select(self, t):
        if self.counts.min() == 0:
            return int(np.argmin(self.counts > 0))
        level = np.log(1 + self.counts.sum())
        return int(np.argmax(solve(d_kl, self.sums / self.counts, level / self.counts)))

    def update(self, t, arm, reward):
        self.counts[arm] += 1
        self.sums[arm] += reward


def play_delayed(algorithm, rewards, delays):
    """Actions if the feedback of round t can be used from round t + delays[t] + 1 on."""
    due, actions = {}, []
    for t, row in enumerate(rewards):
        arm = algorithm.select(t)
        actions.append(arm)
        due.setdefault(t + delays[t], []).append((t, arm, row[arm]))
        for feedback in due.pop(t, []):
            algorithm.update(*feedback)
    return np.array(actions)


def play_batched(algorithm, rewards, grid):
    """Actions if feedback arrives only at the rounds of the grid, counted from 1."""
    waiting, actions = [], []
    for t, row in enumerate(rewards):
        arm = algorithm.select(t)
        actions.append(arm)
        waiting.append((t, arm, row[arm]))
        if t + 1 in grid:
            for feedback in waiting:
                algorithm.update(*feedback)
            waiting = []
    return np.array(actions)


def batched_elimination(rewards, grid, radius, gamma):
    """BaSE of Gao et al. (2019) with sums, batch by batch."""
    horizon, num_arms = rewards.shape
    active, counts, sums, actions, start = list(range(num_arms)), np.zeros(num_arms), np.zeros(num_arms), [], 0
    for j, end in enumerate(grid):
        last = j == len(grid) - 1
        if last and j > 0 and radius == "paper":
            means = sums / counts
            active = [max(active, key=lambda a: (means[a], -a))]
        for t in range(start, end):
            arm = active[(t - start) % len(active)]
            counts[arm] += 1
            sums[arm] += rewards[t, arm]
            actions.append(arm)
        if not last:
            means, least = sums / counts, min(counts[a] for a in active)
            width = gamma * np.sqrt(num_arms * np.log(horizon * num_arms / end) / end)
            if radius == "paper":
                width = np.sqrt(gamma * np.log(horizon * num_arms) / least)
            best = max(means[a] for a in active)
            active = [a for a in active if best - means[a] < width]
        start = end
    return np.array(actions)
