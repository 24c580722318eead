"""The cost of a round of the rules for Gaussian processes, duels, knapsacks and cascades, beside NumPy.

The sizes are those of the experiments by which the rules are checked: a grid of 100 points, ten arms that duel, three
arms with one resource, 16 items of which two are listed. The budget of the knapsack is not spent within the rounds.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks import beside_numpy
from benchmarks.beside_numpy import Case

Array = np.ndarray
GRIDS = (100, 1000)
LENGTH, SIGMA = 0.1, 0.1  # of the kernel and the noise
DUELISTS, ITEMS, LISTED, BUDGET, HORIZON = 10, 16, 2, 6_000.0, 20_000
REWARDS, COSTS = (0.7, 0.5, 0.3), (0.9, 0.4, 0.1)


def cases(quick: bool) -> Iterator[Case]:
    """Yield all cases."""
    for size in GRIDS[:1] if quick else GRIDS:
        points = np.linspace(0, 1, size)[:, None]
        world = jb.environments.gaussian(process_means(points[:, 0]), sigma=SIGMA)
        runs, rounds = (256, 300) if size == GRIDS[0] else (16, 50)
        for name, rule, loop in (("gp_ucb", jb.algorithms.gp_ucb, gp_ucb), ("gp_ts", jb.algorithms.gp_ts, gp_ts)):
            algorithm = rule(points, lengthscale=LENGTH, sigma=SIGMA)
            yield Case(name, f"K = {size}", algorithm, world, _on(loop, points), runs, rounds)
    if quick:
        return
    better = preferences(DUELISTS)
    for name, rule, loop in (
        ("rucb", jb.algorithms.rucb, rucb),
        ("double_thompson", jb.algorithms.double_thompson, double_thompson),
    ):
        yield Case(name, f"K = {DUELISTS}", rule(DUELISTS), jb.environments.dueling(better), _on(loop, better))
    knapsack = jb.environments.knapsack(REWARDS, COSTS, BUDGET)
    algorithm = jb.algorithms.primal_dual_bwk(len(REWARDS), budget=BUDGET, horizon=HORIZON)
    yield Case("primal_dual_bwk", "K = 3, 1 resource", algorithm, knapsack, primal_dual_bwk)
    weights = np.where(np.arange(ITEMS) < 2, 0.2, 0.05)
    listed = jb.algorithms.cascade_ucb(ITEMS, k=LISTED)
    yield Case(
        "cascade_ucb",
        f"K = {ITEMS}, k = {LISTED}",
        listed,
        jb.environments.cascade(weights, LISTED),
        _on(cascade, weights),
    )


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each rule and size; progress goes to stderr."""
    return [beside_numpy.measure_case(case) for case in cases(quick)]


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    return beside_numpy.table("other settings", rows)


def process_means(points: Array) -> Array:
    """Return the means of the arms of the grid."""
    return np.sin(13 * points) * np.sin(27 * points) / 2 + 0.5


def preferences(num_arms: int) -> Array:
    """Return the probabilities with which rows win against columns; a smaller number is better."""
    s = np.arange(num_arms)
    return 1 / (1 + np.exp(-0.3 * (s[None] - s[:, None])))


def gp_ucb(rounds: int, points: Array) -> float:
    """Return the seconds of one run that carries the covariance."""
    means, covariance, noise = _process(rounds, points)
    mu, variances = np.zeros(len(points)), np.diag(covariance).copy()
    begin = time.perf_counter()
    for t in range(1, rounds + 1):
        beta = 2 * np.log(len(points) * t**2 * np.pi**2 / (6 * 0.1))
        arm = int(np.argmax(mu + np.sqrt(beta * np.maximum(variances, 0))))
        common = covariance[arm].copy()
        den = SIGMA**2 + common[arm]
        mu += common * ((means[arm] + noise[t - 1] - mu[arm]) / den)
        variances -= common * (common / den)
        covariance -= np.outer(common, common / den)
    return time.perf_counter() - begin


def gp_ts(rounds: int, points: Array) -> float:
    """Return the seconds of one run that carries a root of the covariance; its factorization is outside."""
    means, covariance, noise = _process(rounds, points)
    normals = np.random.default_rng(1).normal(size=(rounds, len(points)))
    values, vectors = np.linalg.eigh(covariance)
    root, mu = vectors * np.sqrt(np.maximum(values, 0)), np.zeros(len(points))
    begin = time.perf_counter()
    for t in range(rounds):
        arm = int(np.argmax(mu + root @ normals[t]))
        row = root[arm].copy()
        common = root @ row
        den = SIGMA**2 + common[arm]
        mu += common * ((means[arm] + noise[t] - mu[arm]) / den)
        root -= np.outer(common / (den + np.sqrt(SIGMA**2 * den)), row)
    return time.perf_counter() - begin


def rucb(rounds: int, better: Array) -> float:
    """Return the seconds of one run of RUCB."""
    num_arms, uniforms = len(better), np.random.default_rng(0).random((rounds, 3))
    wins, champion = np.zeros((num_arms, num_arms)), -1
    begin = time.perf_counter()
    for t in range(1, rounds + 1):
        coin, u, result = uniforms[t - 1]
        shares, widths, _ = _bounds(wins, t)
        upper = shares + widths
        np.fill_diagonal(upper, 0.5)
        candidates = np.flatnonzero((upper >= 0.5).all(1))
        if champion not in candidates:
            champion = -1
        if len(candidates) == 1:
            first = champion = candidates[0]
        elif champion >= 0 and coin < 0.5:
            first = champion
        else:
            rest = candidates[candidates != champion] if len(candidates) else np.arange(num_arms)
            first = rest[int(u * len(rest))]
        against = upper[:, first].copy()
        against[first] = -np.inf
        second = int(np.argmax(against))
        _count(wins, int(first), second if against[second] >= 0.5 else int(first), result < better[first, second])
    return time.perf_counter() - begin


def double_thompson(rounds: int, better: Array) -> float:
    """Return the seconds of one run of double Thompson sampling, whose draws are within its time."""
    num_arms, rng = len(better), np.random.default_rng(0)
    wins, above, uniforms = np.zeros((num_arms, num_arms)), np.triu_indices(num_arms, 1), rng.random((rounds, 2))
    begin = time.perf_counter()
    for t in range(1, rounds + 1):
        shares, widths, met = _bounds(wins, t)
        may_win = shares + widths > 0.5
        np.fill_diagonal(may_win, False)
        drawn = np.full((num_arms, num_arms), 0.5)
        drawn[above] = rng.beta(wins[above] + 1, wins.T[above] + 1)
        drawn.T[above] = 1 - drawn[above]
        able, won = may_win.sum(1), (drawn > 0.5).sum(1)
        score = np.where(able == able.max(), won, -1)
        best = np.flatnonzero(score == score.max())
        first = int(best[int(uniforms[t - 1, 0] * len(best))])
        theta = rng.beta(wins[:, first] + 1, wins[first] + 1)
        theta[first] = 0.5
        lower = np.where(met[:, first], shares[:, first] - widths[:, first], -np.inf)
        lower[first] = 0.5
        second = int(np.argmax(np.where(lower <= 0.5, theta, -np.inf)))
        _count(wins, first, second, uniforms[t - 1, 1] < better[first, second])
    return time.perf_counter() - begin


def primal_dual_bwk(rounds: int) -> float:
    """Return the seconds of one run of PrimalDualBwK."""
    uniforms, num_arms = np.random.default_rng(0).random((rounds, 2)), len(REWARDS)
    pulls, paid, spent = np.zeros(num_arms), np.zeros(num_arms), np.zeros(num_arms)
    weights, eps, a_round = np.ones(2), np.sqrt(np.log(2) / BUDGET), BUDGET / HORIZON
    begin = time.perf_counter()
    for t in range(rounds):
        if t < num_arms:
            arm = t
        else:
            mean, price = paid / pulls, spent / pulls
            upper = np.minimum(mean + np.sqrt(mean / pulls) + 1 / pulls, 1)
            lower = np.maximum(price - np.sqrt(price / pulls) - 1 / pulls, 0)
            y = weights / weights.sum()
            arm = int(np.argmax(upper / (lower * y[0] + a_round * y[1])))
            weights *= (1 + eps) ** np.array([lower[arm], a_round])
        pulls[arm] += 1
        paid[arm] += uniforms[t, 0] < REWARDS[arm]
        spent[arm] += uniforms[t, 1] < COSTS[arm]
    return time.perf_counter() - begin


def cascade(rounds: int, weights: Array) -> float:
    """Return the seconds of one run of CascadeUCB1."""
    attracts = np.random.default_rng(0).random((rounds, len(weights))) < weights
    read, clicks = np.zeros(len(weights)), np.zeros(len(weights))
    begin = time.perf_counter()
    for t in range(1, rounds + 1):
        n = np.maximum(read, 1)
        index = np.where(read > 0, clicks / n + np.sqrt(1.5 * np.log(max(t - 1, 1)) / n), np.inf)
        items = np.argsort(-index, kind="stable")[:LISTED]
        found = attracts[t - 1, items]
        place = int(np.argmax(found)) if found.any() else LISTED
        read[items[: place + 1]] += 1
        clicks[items[place : place + 1]] += 1
    return time.perf_counter() - begin


def _on(loop: Callable[[int, Array], float], given: Array) -> Callable[[int], float]:
    return lambda rounds: loop(rounds, given)


def _process(rounds: int, points: Array) -> tuple[Array, Array, Array]:
    """Return the means, the prior covariance and the noise of the rewards."""
    covariance = np.exp(-((points - points.T) ** 2) / (2 * LENGTH**2))
    return process_means(points[:, 0]), covariance, np.random.default_rng(0).normal(size=rounds) * SIGMA


def _bounds(wins: Array, t: int) -> tuple[Array, Array, Array]:
    """Return the shares of wins, their widths, inf without a duel, and whether there was one."""
    duels = wins + wins.T
    met, n = duels > 0, np.maximum(duels, 1)
    return wins / n, np.where(met, np.sqrt(0.51 * np.log(t) / n), np.inf), met


def _count(wins: Array, first: int, second: int, won: bool) -> None:
    if first != second:
        wins[(first, second) if won else (second, first)] += 1
