"""GP-UCB (Srinivas et al. 2010) and Thompson sampling in NumPy, on a prior covariance.

The posterior is conditioned on one reward after the other, or (`fitted`) solved for from all of them at once.
"""

import numpy as np


def play_ucb(prior, rewards, noise, delta, follow=None):
    """Arms, regret of each round's choice in index and scale, means; rewards[t](arm) is that of round t + 1."""
    covariance, mu, arms, margins = prior.copy(), np.zeros(len(prior)), [], []
    for t in range(1, len(rewards) + 1):
        beta = 2 * np.log(len(prior) * t**2 * np.pi**2 / (6 * delta))
        index = mu + np.sqrt(beta * np.maximum(np.diag(covariance), 0))
        arm = int(np.argmax(index)) if follow is None else int(follow[t - 1])
        arms.append(arm)
        margins.append(index.max() - index[arm])
        column = covariance[:, arm].copy()
        mu = mu + column * (rewards[t - 1](arm) - mu[arm]) / (noise + column[arm])
        covariance -= np.outer(column, column) / (noise + column[arm])
    return np.array(arms), np.array(margins), mu, covariance


def fitted(prior, arms, paid, noise):
    """Posterior means and covariance given all rewards."""
    some = prior[:, arms]
    solved = np.linalg.solve(some[arms] + noise * np.eye(len(arms)), np.column_stack([paid, some.T]))
    return some @ solved[:, 0], prior - some @ solved[:, 1:]


def kernel_matrix(kernel, points, lengthscale, variance):
    """Prior covariances, from the definition of the kernels by SciPy-free formulas in the distance."""
    r = np.linalg.norm(points[:, None] - points[None], axis=2) / lengthscale
    if kernel == "rbf":
        return variance * np.exp(-(r**2) / 2)
    if kernel == "matern32":
        return variance * (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)
    return variance * (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)
