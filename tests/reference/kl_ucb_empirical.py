"""Empirical KL-UCB in NumPy: the dual of the concave problem, minimized over lam >= 1 by bisection of its slope."""

import numpy as np
from reference.ucb import best
from scipy.special import xlogy


def upper(atoms, weights, delta):
    """Minimum over lam >= 1 of lam - exp(sum p_i log(lam - a_i) - delta), convex; any lam gives an upper bound."""

    def mean(excess):  # of lam over 1; inf - inf is avoided where the atom 1 has no weight
        return np.exp(np.sum(xlogy(weights, excess + 1 - atoms), -1) - delta)

    low, high = np.full(delta.shape, -34.0), np.full(delta.shape, 12.0)  # of the logarithm of the excess
    for _ in range(40):
        excess = np.exp((low + high) / 2)[..., None]
        falls = mean(excess) * np.sum(weights / (excess + 1 - atoms), -1) > 1
        low, high = np.where(falls, (low + high) / 2, low), np.where(falls, high, (low + high) / 2)
    return np.minimum(1 + excess[..., 0] - mean(excess), 1 - mean(0.0))


def play(rewards, num_atoms=2, c=0.0, ties=None):
    """Of tables side by side, as in ucb.py."""
    *tables, rounds, num_arms = rewards.shape
    atoms = np.linspace(0, 1, num_atoms)
    hits = np.eye(num_atoms)[np.searchsorted(atoms, rewards - 1e-9)]
    seen, actions = np.zeros((*tables, num_arms, num_atoms)), []
    for t in range(1, rounds + 1):
        arm = np.full(tables, t - 1)
        if t > num_arms:
            level = np.log(t) + (c * np.log(np.log(t)) if t >= 3 else 0.0)
            pulls = seen.sum(-1)
            index = upper(atoms, seen / pulls[..., None], max(level, 0.0) / pulls)
            arm = best(index, None if ties is None else ties[..., t - 1], 1e-7)
        seen += (arm[..., None] == np.arange(num_arms))[..., None] * hits[..., t - 1, :, :]
        actions.append(arm)
    return np.stack(actions, -1)
