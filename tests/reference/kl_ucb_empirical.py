"""Empirical KL-UCB in NumPy: the dual of the concave problem, minimized over lam >= 1 by SciPy."""

import numpy as np
from scipy.optimize import minimize_scalar


def upper(atoms, weights, delta):
    """Minimum over lam >= 1 of lam - exp(sum p_i log(lam - a_i) - delta); any lam gives an upper bound."""
    seen = weights > 0

    def dual(log_excess):
        lam = 1 + np.exp(log_excess)
        return lam - np.exp(np.sum(weights[seen] * np.log(lam - atoms[seen])) - delta)

    inner = minimize_scalar(dual, bounds=(-34, 12), method="bounded", options={"xatol": 1e-9}).fun
    edge = 1.0
    if not seen[-1]:
        edge = 1 - np.exp(np.sum(weights[seen] * np.log(1 - atoms[seen])) - delta)
    return min(inner, edge)


def play(rewards, num_atoms=2, c=0.0, ties=None):
    rounds, num_arms = rewards.shape
    atoms = np.linspace(0, 1, num_atoms)
    seen, actions = np.zeros((num_arms, num_atoms)), []
    for t in range(1, rounds + 1):
        arm = t - 1
        if t > num_arms:
            level = np.log(t) + (c * np.log(np.log(t)) if t >= 3 else 0.0)
            index = np.array([upper(atoms, n / n.sum(), max(level, 0.0) / n.sum()) for n in seen])
            arm = int(np.argmax(index))
            if ties is not None and index[ties[t - 1]] > index[arm] - 1e-7:
                arm = int(ties[t - 1])
        seen[arm, np.searchsorted(atoms, rewards[t - 1, arm] - 1e-9)] += 1
        actions.append(arm)
    return np.array(actions)
