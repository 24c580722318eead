"""The formulas that SMPyBandits plays where they are not ours.

A formula is played in NumPy, many runs at once, by a generator: it yields an arm for each run and gets back the
rewards. `n` and `s` are the pulls and the sums of rewards before the round, float[runs, arms].
"""

import itertools
import warnings
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

MEANS = np.arange(1, 10) / 10
K, HORIZON = len(MEANS), 1_000
Arms = Generator[np.ndarray, np.ndarray, None]
Formula = Callable[[np.random.Generator, np.ndarray, np.ndarray], Arms]
Index = Callable[[np.random.Generator, int, np.ndarray, np.ndarray], np.ndarray]


def play(formula: Formula, runs: int, horizon: int = HORIZON, seed: int = 0) -> np.ndarray:
    """Return the sums of gaps of the runs of a formula."""
    rng, rows = np.random.default_rng(seed), np.arange(runs)
    n, s, regrets = np.zeros((runs, K)), np.zeros((runs, K)), np.zeros(runs)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):  # arms without pulls
        rule = formula(rng, n, s)
        arms = next(rule)
        for _ in range(horizon):
            rewards = (rng.random(runs) < MEANS[arms]).astype(float)
            n[rows, arms] += 1
            s[rows, arms] += rewards
            regrets += MEANS.max() - MEANS[arms]
            arms = rule.send(rewards)
    return regrets


def largest(rng: np.random.Generator, scores: np.ndarray) -> np.ndarray:
    """Return the arm with the largest score of each run, a random one of those that tie."""
    return np.argmax((scores == scores.max(axis=1, keepdims=True)) * rng.random(scores.shape), axis=1)


def drawn(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
    """Return an arm of each run, with these probabilities."""
    return np.argmax(np.log(p) + rng.gumbel(size=p.shape), axis=1)


def index(formula: Index, first: bool = True) -> Formula:
    """Return the rule that plays the largest formula(rng, t, n, means), t rounds played; each arm once if `first`."""

    def rule(rng: np.random.Generator, n: np.ndarray, s: np.ndarray) -> Arms:
        for t in itertools.count():
            scores = formula(rng, t, n, s / n)
            yield largest(rng, np.where(n == 0, np.inf, scores) if first else scores)

    return rule


def epsilons(epsilon: Callable[[int], float]) -> Formula:
    """Return an epsilon rule that never explores the last arm, and exploits the largest sum of rewards."""

    def rule(rng: np.random.Generator, n: np.ndarray, s: np.ndarray) -> Arms:
        for t in itertools.count():
            explores = rng.random(len(n)) < epsilon(t)
            yield np.where(explores, rng.integers(0, K - 1, len(n)), largest(rng, s))

    return rule


def sweeps(commits: Callable[[int, np.ndarray], np.ndarray]) -> Formula:
    """Return the rule that commits at the start of a sweep if commits(t, best mean less the worst)."""

    def rule(rng: np.random.Generator, n: np.ndarray, s: np.ndarray) -> Arms:
        chosen = np.full(len(n), -1)
        for t in itertools.count():
            arms = np.where(chosen < 0, t % K, chosen)
            if t % K == 0 and t > 0:
                means = s / n
                due = (chosen < 0) & commits(t, np.ptp(means, axis=1))
                chosen = np.where(due, largest(rng, means), chosen)
            yield arms

    return rule


def weights(rate: Callable[[int], float], mixed: Callable[[int], float], gains: bool) -> Formula:
    """Return exponential weights on estimated gains or losses, with this learning rate and share of uniform draws."""

    def rule(rng: np.random.Generator, n: np.ndarray, s: np.ndarray) -> Arms:
        rows, total, w = np.arange(len(n)), np.zeros(n.shape), np.full(n.shape, 1 / K)
        order = np.argsort(rng.random(n.shape), axis=1)
        for t in itertools.count(1):
            arms = order[:, t - 1] if t <= K else drawn(rng, (1 - mixed(t - 1)) * w + mixed(t - 1) / K)
            rewards = yield arms
            p = (1 - mixed(t)) * w[rows, arms] + mixed(t) / K
            if gains:
                w[rows, arms] *= np.exp(rate(t) * rewards / p)
            else:
                total[rows, arms] += (1 - rewards) / p
                w = np.exp(-rate(t) * (total - total.min(axis=1, keepdims=True)))
            w /= w.sum(axis=1, keepdims=True)

    return rule


def _off(x: float, t: int, losses: np.ndarray) -> float:
    return (np.sum(t / (losses - x) ** 2) - 1) ** 2


def tsallis(rng: np.random.Generator, n: np.ndarray, s: np.ndarray) -> Arms:
    """Yield the arms of Tsallis-INF whose normalization is found by an unbounded minimization."""
    rows, total, w = np.arange(len(n)), np.zeros(n.shape), np.full(n.shape, 1 / K)
    order = np.argsort(rng.random(n.shape), axis=1)
    for t in itertools.count(1):
        arms = order[:, t - 1] if t <= K else drawn(rng, w)
        rewards = yield arms
        total[rows, arms] += (1 - rewards) / w[rows, arms]
        for i, losses in enumerate(total):
            found: Any = minimize_scalar(_off, args=(t, losses))
            w[i] = t / (losses - found.x) ** 2
        w /= w.sum(axis=1, keepdims=True)


def tuned(rng: np.random.Generator, t: int, n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the index of UCB1-tuned without its min(1/4, V)."""
    return m + np.sqrt(np.log(t) / n * (m * (1 - m) + np.sqrt(2 * np.log(t) / n)))


def hellinger(rng: np.random.Generator, t: int, n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the upper bound of the Hellinger distance with its square in the wrong place."""
    d, root = np.log(t) / n, np.sqrt(m)
    return np.where(d < 2 - 2 * root, (1 - d / 2) * root + (1 - m) * (d - d**2 / 4), m)


def tangent(rng: np.random.Generator, t: int, n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the upper bound of the tangent distance, with 0 log 0 = 0."""
    offset = xlogy(m, m / (m + 1)) + np.log(2 / (m + 1)) - 1
    return np.minimum(1, (m + 1) / 2 * (np.log(t) / n - offset))


def boosted(rng: np.random.Generator, t: int, n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the least of the upper bounds bq, h (as above) and lb."""
    d, p = np.log(t) / n, np.clip(m, 1e-15, 1 - 1e-15)
    bq = np.minimum(1, m + np.sqrt(np.sqrt(81 / 16 + 9 / 4 * d) - 9 / 4))
    lb = 1 - (1 - p) * np.exp((p * np.log(p) - d) / (1 - p))
    return np.minimum(np.minimum(bq, lb), hellinger(rng, t, n, m))


def exponential_rate(t: int) -> float:
    """Return sqrt(log K / (t K)), at most 1 / K."""
    return min(1 / K, float(np.sqrt(np.log(K) / (t * K))))


def half_rate(t: int) -> float:
    """Return sqrt(log K / (t K)) / 2."""
    return float(np.sqrt(np.log(K) / (max(1, t) * K))) / 2
