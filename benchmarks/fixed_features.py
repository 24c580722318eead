"""Rules on one fixed matrix of features, K = 1,000: the cost of a round beside NumPy, and the drift of what is carried.

NumPy carries means, variances and P as ours does, in float32 like ours: O(K d + d^2) a round. `lin_ucb` is "oful",
which has no initial pulls; greedy has d of them, in which NumPy does nothing, so that it plays d rounds more.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit as jb
from benchmarks import beside_numpy
from benchmarks.beside_numpy import Case
from benchmarks.columns import table as table_of
from jaxbandit.theory.estimators import fixed_rows, recursive_least_squares

Array = np.ndarray
ARMS, RUNS, ROUNDS = 1000, 64, 100
DIMS = (20, 100, 500)
REPEATS = {500: 1}  # a call of 64 runs takes seconds
DRIFT = ((20, (1_000, 10_000)), (100, (1_000, 10_000)), (500, (1_000, 4_000)))  # d, and rounds after which it is taken


def measure(quick: bool) -> dict[str, list[dict[str, Any]]]:
    """Return rows of costs and of drift; progress goes to stderr."""
    costs, drifts = [], []
    for dim in DIMS[:1] if quick else DIMS:
        costs += [beside_numpy.measure_case(case, REPEATS.get(dim, beside_numpy.REPEATS)) for case in cases(dim)]
    for dim, rounds in () if quick else DRIFT:
        drifts += [drift(dim, after, x64) for x64 in (False, True) for after in rounds]
    return {"costs": costs, "drift": drifts}


def cases(dim: int, num_arms: int = ARMS, rounds: int = ROUNDS) -> list[Case]:
    """Return the case of each rule."""
    rows, theta = _unit(num_arms, dim, 1), _unit(1, dim, 2)[0]
    world, size = jb.environments.linear_contextual([rows], [1.0], theta), f"K = {num_arms}, d = {dim}"
    horizon = max(rounds, dim)

    def of(kind: str) -> Callable[[int], float]:
        return lambda rounds: numpy_seconds(kind, rows, theta, rounds)

    found = [
        Case(
            "lin_ucb",
            size,
            jb.algorithms.lin_ucb(rows, horizon=horizon, variant="oful"),
            world,
            of("ucb"),
            RUNS,
            rounds,
        ),
        Case("lin_ts", size, jb.algorithms.lin_ts(rows), world, of("ts"), RUNS, rounds),
        Case("greedy", size, jb.algorithms.greedy(rows), world, of("greedy"), RUNS, rounds + dim),
    ]
    return found if dim < 500 else found[:2]  # greedy's initial pulls alone are 500


def numpy_seconds(kind: str, rows: Array, theta: Array, rounds: int) -> float:
    """Return the seconds of one run in float32."""
    rng, (num_arms, dim) = np.random.default_rng(0), rows.shape
    x, means = rows.astype(np.float32), (rows @ theta).astype(np.float32)
    rewards = rng.normal(size=rounds).astype(np.float32)
    normals = rng.normal(size=(rounds, dim)).astype(np.float32)
    begin = time.perf_counter()
    inverse, first = np.eye(dim, dtype=np.float32), 0
    if kind == "greedy":
        first = dim
        inverse = np.linalg.inv(x[:dim].T @ x[:dim])
        moment = x[:dim].T @ (means[:dim] + rewards[:dim])
        m, s = x @ (inverse @ moment), np.sum((x @ inverse) * x, 1)
    else:
        m, s = np.zeros(num_arms, np.float32), np.sum(x * x, 1)
    root, grown, level = np.eye(dim, dtype=np.float32), 0.0, 2 * np.log(rounds)
    for t in range(first, rounds):
        if kind == "ucb":
            score = m + np.float32(np.sqrt(grown + level) + 1) * np.sqrt(s)
        else:
            score = m + x @ (root @ normals[t]) if kind == "ts" else m
        arm = int(np.argmax(score))
        if kind == "ts":
            weights = root.T @ x[arm]
            u = root @ weights
            den = 1 + weights @ weights
            root -= np.outer(u / (den + np.sqrt(den)), weights)
        else:
            u, den = inverse @ x[arm], 1 + s[arm]
            inverse -= np.outer(u, u / den)
        common = x @ u
        m += common * ((means[arm] + rewards[t] - m[arm]) / den)
        if kind != "ts":
            s -= common * (common / den)
            grown += np.log(den)
    return time.perf_counter() - begin


def drift(dim: int, rounds: int, x64: bool, num_arms: int = ARMS) -> dict[str, Any]:
    """Return the largest errors over the arms beside a fresh fit in float64, after a run of UCB with radius 1.

    Errors of variances are relative; those of means are in widths, the square roots of the variances.
    """
    kind = jnp.float64 if x64 else jnp.float32
    rows = _unit(num_arms, dim, 1).astype(np.float32).astype(np.float64)
    rewards = np.random.default_rng(2).standard_normal(rounds).astype(np.float32).astype(np.float64)

    @jax.jit
    def run(rows: Any, rewards: Any) -> Any:
        first = recursive_least_squares.init(dim, 1.0)

        def body(carry: Any, reward: Any) -> Any:
            estimate, known = carry
            due = fixed_rows.due(known, estimate)
            known = jax.lax.cond(due, lambda: fixed_rows.renew(known, estimate, rows), lambda: known)
            arm = jnp.argmax(known.means + jnp.sqrt(known.variances)).astype(jnp.int32)
            known = fixed_rows.update(known, estimate, rows, arm, rows[arm], reward)
            return (recursive_least_squares.update(estimate, rows[arm], reward), known), arm

        return jax.lax.scan(body, (first, fixed_rows.init(first, rows)), rewards)

    with jax.enable_x64(x64):
        (_, known), arms = jax.device_get(run(jnp.asarray(rows, kind), jnp.asarray(rewards, kind)))
    x = rows[arms]
    inverse = np.linalg.inv(np.eye(dim) + x.T @ x)
    variances, means = ((rows @ inverse) * rows).sum(1), rows @ (inverse @ (x.T @ rewards))
    row: dict[str, Any] = {"dim": dim, "rounds": rounds, "precision": "float64" if x64 else "float32"}
    row["variances"] = float(np.max(np.abs(known.variances - variances) / variances))
    row["means"] = float(np.max(np.abs(known.means - means) / np.sqrt(variances)))
    return row


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """Return both as text."""
    drift = (
        "drift, K = 1000 -> d = {dim} | precision -> {precision} | rounds -> {rounds} | variances -> {variances:.1e}"
        "| means -> {means:.1e}"
    )
    parts = [beside_numpy.table("fixed features", found["costs"])]
    return "\n\n".join([*parts, table_of(found["drift"], drift)] if found["drift"] else parts)


def _unit(number: int, dim: int, seed: int) -> Array:
    drawn = np.random.default_rng(seed).standard_normal((number, dim))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
