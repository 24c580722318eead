"""NumPy loops for rules on a context of floats: one run, models with updates of rank one, all arms in one expression.

A model is an estimate theta and P = (lambda I + sum x x')^-1 with lambda = 1, or a root F with F F' = P where
Thompson sampling draws theta itself. Logistic models weigh x x' by p (1 - p), or fit theta to all rows by Newton's
method.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Array = np.ndarray
# From the means, the function that returns the widths, and as many normals as there are arms.
Score = Callable[[Array, Callable[[], Array], Array], Array]


def greedy(means: Array, widths: Callable[[], Array], normals: Array) -> Array:
    """Return the means."""
    return means


def ucb(means: Array, widths: Callable[[], Array], normals: Array) -> Array:
    """Return the scores of LinUCB with alpha = 1."""
    return means + widths()


def half_ucb(means: Array, widths: Callable[[], Array], normals: Array) -> Array:
    """Return the scores of UCB-GLM with alpha = 1/2."""
    return means + 0.5 * widths()


def thompson(means: Array, widths: Callable[[], Array], normals: Array) -> Array:
    """Return the scores of Thompson sampling with a model for each arm and sigma = 1."""
    return means + widths() * normals


def epsilon(means: Array, widths: Callable[[], Array], normals: Array) -> Array:
    """Return the means, or in about every 20th round the normals, of which any arm's may be the largest."""
    return normals if normals[0] > 1.645 else means


def softmax(means: Array, widths: Callable[[], Array], normals: Array) -> Array:
    """Return 1 up to the arm that softmax with temperature 0.1 draws by a uniform number, and 0 beyond."""
    weights = np.exp((means - means.max()) / 0.1)
    sums = np.cumsum(weights)
    return (sums > sums[-1] * (normals[0] % 1)).astype(float)


class Rule(NamedTuple):
    """What NumPy plays."""

    score: Score
    model: str = "linear"  # or "logistic", or "likelihood"
    draws: bool = False  # whether means are those of one theta that is drawn, with one model


class Played(NamedTuple):
    """One run."""

    seconds: float
    theta: Array  # estimates, float[dim] with one model or float[num_arms, dim]
    truth: Array


def play(rule: Rule, contexts: Array, num_arms: int) -> Played:
    """Return one run; contexts are [rounds, dim] with a model for each arm, else [rounds, K, dim]."""
    rng = np.random.default_rng(1)
    shared, rounds, dim = contexts.ndim == 3, len(contexts), contexts.shape[-1]
    normals, noise = rng.normal(size=(rounds, max(num_arms, dim))), rng.normal(size=rounds)
    uniform = rng.random(rounds)
    truth = rng.normal(size=dim if shared else (num_arms, dim)) * (1 if rule.model == "linear" else 5)
    matrix = np.eye(dim) if shared else np.stack([np.eye(dim)] * num_arms)
    theta = np.zeros_like(truth)
    rows, rewards, arms = np.zeros((rounds, dim)), np.zeros(rounds), np.zeros(rounds, int)
    begin = time.perf_counter()
    for t in range(rounds):
        x = contexts[t]
        if rule.draws:
            means, widths = x @ (theta + matrix @ normals[t, :dim]), lambda: np.zeros(num_arms)
        elif shared:
            means, widths = x @ theta, lambda x=x: np.sqrt(np.sum((x @ matrix) * x, 1))
        else:
            means, widths = theta @ x, lambda x=x: np.sqrt(np.matmul(matrix, x) @ x)
        arm = int(np.argmax(rule.score(means, widths, normals[t, :num_arms])))
        row, own, weights = (x[arm], matrix, theta) if shared else (x, matrix[arm], theta[arm])
        u = row @ (truth if shared else truth[arm])
        reward = u + noise[t] if rule.model == "linear" else float(uniform[t] < 1 / (1 + np.exp(-u)))
        found = row @ weights
        p = 1 / (1 + np.exp(-found)) if rule.model == "logistic" else found
        weight = p * (1 - p) if rule.model == "logistic" else 1.0
        root = own.T @ row if rule.draws else None
        w = own @ (row if root is None else root)
        den = 1 + weight * (row @ w)
        if rule.model != "likelihood":
            weights += w * ((reward - p) / den)
        if root is None:
            own -= np.outer(w, w * (weight / den))
        else:
            own -= np.outer(w, root * (weight / (den + np.sqrt(den))))
        if rule.model == "likelihood":
            rows[t], rewards[t], arms[t] = row, reward, arm
            if t < 100 or t % 20 == 19:
                for k in range(1 if shared else num_arms):
                    kept = slice(t + 1) if shared else np.flatnonzero(arms[: t + 1] == k)
                    fit(rows[kept], rewards[kept], theta if shared else theta[k])
    return Played(time.perf_counter() - begin, theta, truth)


def fit(rows: Array, rewards: Array, theta: Array) -> None:
    """Move theta, in place, to the maximum of the likelihood with penalty 1, by Newton's method from where it is."""
    for _ in range(50):
        p = 1 / (1 + np.exp(-rows @ theta))
        hessian = (rows.T * (p * (1 - p))) @ rows + np.eye(len(theta))
        step = np.linalg.solve(hessian, rows.T @ (rewards - p) - theta)
        theta += step
        if np.abs(step).max() < 1e-10:
            return
