"""The problems of `peers` that all libraries are given: contexts with linear means, and digits with a held-out part."""

import functools
from typing import Any

import numpy as np

ROUNDS, ARMS, DIM = 2_000, 5, 8
SHOWN = 300  # digits from which a configuration is chosen
GRID = {"C": np.logspace(-1, 2, 4), "gamma": np.logspace(-3, 0, 5)}


def linear(worlds: int, rounds: int = ROUNDS) -> dict[str, np.ndarray]:
    """Return contexts float[worlds, rounds, dim] of norm 1, and of each arm its mean and its reward of 0 or 1.

    The mean of arm a is 0.5 + 0.45 x' theta_a, with theta_a on the unit sphere.
    """
    found: dict[str, list[np.ndarray]] = {"contexts": [], "means": [], "rewards": []}
    for seed in range(worlds):
        rng = np.random.default_rng(seed)
        x, theta = (rng.normal(size=(n, DIM)) for n in (rounds, ARMS))
        x, theta = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (x, theta))
        means = 0.5 + 0.45 * x @ theta.T
        found["contexts"].append(x)
        found["means"].append(means)
        found["rewards"].append((rng.random(means.shape) < means).astype(float))
    return {name: np.array(rows) for name, rows in found.items()}


@functools.cache
def digits(repetition: int) -> tuple[np.ndarray, ...]:
    """Return 300 images and labels to choose by, and the 1,497 others, of a split that the repetition draws."""
    from sklearn.datasets import load_digits

    x, y = map(np.asarray, load_digits(return_X_y=True))
    order = np.random.default_rng(repetition).permutation(len(x))
    shown, other = order[:SHOWN], order[SHOWN:]
    return x[shown] / 16, y[shown], x[other] / 16, y[other]


def worth(configs: list[dict[str, Any]], repetition: int) -> list[float]:
    """Return the accuracy on the others of a support vector machine with each configuration, fitted to the 300."""
    from sklearn.svm import SVC

    x, y, others, theirs = digits(repetition)
    return [float(SVC(**config).fit(x, y).score(others, theirs)) for config in configs]
