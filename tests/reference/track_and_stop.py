"""Track-and-Stop (Garivier and Kaufmann 2016) in NumPy; rewards[t, a] are divided by sigma.

`ties`: actions to take if they are optimal up to the error between two solutions for the same weights.
"""

import math

import numpy as np
from reference import likelihood_ratio, optimal_weights

TIE = 1e-6


def play(rewards, ties, *, family, kind, tracking, growth, delta):
    """Actions until it stops, and the arm returned; None if it does not."""
    num_arms = rewards.shape[1]
    counts, sums, actions = np.zeros(num_arms, int), np.zeros(num_arms), []
    targets, solve_at = np.full(num_arms, 1 / num_arms), num_arms
    for t in range(len(rewards)):
        if t < num_arms:
            arm = t
        else:
            means = sums / counts
            if likelihood_ratio.stops(family, kind, means, counts, delta):
                return actions, int(np.argmax(means))
            if t >= solve_at:
                weights, solve_at = best_weights(family, means), max(t + 1, int(t * growth))
            targets = targets + weights
            wanted = targets if tracking == "C" else t * weights
            if counts.min() <= max(0, math.sqrt(t) - num_arms / 2):
                wanted = np.zeros(num_arms)
            lag = wanted - counts
            arm = ties[t] if lag[ties[t]] > lag.max() - TIE else int(np.argmax(lag))
        counts[arm] += 1
        sums[arm] += rewards[t, arm]
        actions.append(arm)
    return actions, None


def best_weights(family, means):
    """Uniform over several best arms."""
    if family != "gaussian":
        means = np.clip(means, 1e-6, 1 - 1e-6 if family == "bernoulli" else None)
    best = means == means.max()
    return best / best.sum() if best.sum() > 1 else optimal_weights.solve(family, means)[0]
