"""The benchmark of runs that stop: nanoseconds per useful run-step, and how busy the lanes are.

Each figure is compared in the same process with a vmapped `while_loop` of the same step, which the lanes replace, and
with a NumPy loop of LinGapE that plays one run after the other.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.columns import table as table_of
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.rounds.rollout import run_key, run_until_stop
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS
from jaxbandit.support.types import Array, PyTree

REPEATS = 3


class Case(NamedTuple):
    """One cell: what is played, and how."""

    name: str
    make: Callable[[PyTree], Any]
    runs: int
    max_rounds: int
    features: np.ndarray | None  # of LinGapE, for the NumPy loop
    means: np.ndarray | None
    beside: bool  # whether the vmapped while_loop is affordable


def cases(quick: bool) -> list[Case]:
    """Return LinGapE at several sizes, LUCB, and a batch in which one run in a hundred never stops."""
    lingape = ALGORITHMS["lingape"].factory()
    linear = ENVIRONMENTS["linear"].factory()
    rng = np.random.default_rng(0)

    def soare(dim: int) -> tuple[np.ndarray, np.ndarray]:
        last = np.concatenate([[np.cos(0.1), np.sin(0.1)], np.zeros(dim - 2)])
        return np.vstack([np.eye(dim), last]), 2.0 * np.eye(dim)[0]

    def sphere(num_arms: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.normal(size=(num_arms, dim))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        return x, 2.0 * x[0]

    def case(name: str, instance: tuple[np.ndarray, np.ndarray], runs: int, limit: int, beside: bool) -> Case:
        features, theta = instance

        def make(arguments: PyTree) -> Any:
            return lingape(features, delta=0.05, theta_norm=2.0), linear(features, theta)

        return Case(f"lingape greedy, {name}", make, runs, limit, features, features @ theta, beside)

    result = [
        case("soare, K = 6, d = 5", soare(5), 2_000 if quick else 10_000, 10**7, True),
        case("soare, K = 4, d = 3", soare(3), 2_000 if quick else 10_000, 10**7, True),
    ]
    if quick:
        return result
    classic = ENVIRONMENTS["top_m_classic"].factory()
    lucb = ALGORITHMS["lucb"].factory()
    gaussian = ENVIRONMENTS["gaussian"].factory()

    def make_lucb(arguments: PyTree) -> Any:
        return lucb(3, sigma=0.5, rule="both", threshold="heuristic"), classic(3, 1, 0.1)

    def make_tail(arguments: PyTree) -> Any:
        """Return LUCB in which one run in a hundred never stops."""
        algorithm = lucb(3)
        plain = gaussian(np.array([1.5, 0.5, 0.0]))

        def stop(state: PyTree) -> Array:
            return algorithm.stop(state[0]) & ~state[1]

        tail = algorithm._replace(
            init=lambda key: (algorithm.init(key), jax.random.uniform(key) < 0.01),
            select=lambda noise, state, context: algorithm.select(noise, state[0], context),
            update=lambda state, context, action, reward: (
                algorithm.update(state[0], context, action, reward),
                state[1],
            ),
            pulls=lambda state: algorithm.pulls(state[0]),
            recommend=lambda state: algorithm.recommend(state[0]),
            stop=stop,
            verify=None,
        )
        return tail, plain

    return [
        *result,
        case("random, K = 36, d = 36", (np.eye(36), 3.0 * np.eye(36)[0]), 500, 2_000, True),
        case("random, K = 100, d = 5", sphere(100, 5), 500, 500, True),
        Case("lucb both, classic K = 3, angle 0.1", make_lucb, 500, 10**7, None, None, True),
        Case("lucb, one run in 100 never stops", make_tail, 10_000, 40_000, None, None, True),
    ]


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each case; progress goes to stderr."""
    return [measure_case(case) for case in cases(quick)]


def measure_case(case: Case) -> dict[str, Any]:
    """Return the row of one case."""
    found = identify_cell(case.make, {}, num_runs=case.runs, max_rounds=case.max_rounds)
    compiled, ours, beside = found.compile_seconds, [], []
    loop = vmapped_loop(case) if case.beside else None
    steps = int(found.samples.sum())
    for _ in range(REPEATS if loop is not None else 1):
        found = identify_cell(case.make, {}, num_runs=case.runs, max_rounds=case.max_rounds)
        ours.append(found.run_seconds / steps * 1e9)
        if loop is not None:
            begun = time.perf_counter()
            samples = np.asarray(loop())
            beside.append((time.perf_counter() - begun) / steps * 1e9)
            # The other layout rounds differently, and arms tied by symmetry then differ in the last bit.
            assert abs(samples.mean() / found.samples.mean() - 1) < 0.05, "the while_loop must do the same work"
    row: dict[str, Any] = {
        "case": case.name,
        "runs": case.runs,
        "mean_samples": float(found.samples.mean()),
        "max_samples": int(found.samples.max()),
        "ns_per_run_step": statistics.median(ours),
        "lane_utilization": found.lane_utilization,
        "compile_seconds": compiled,
    }
    if beside:
        row["while_loop_ns"] = statistics.median(beside)
        row["times_faster"] = statistics.median(b / o for o, b in zip(ours, beside, strict=True))
    if case.features is not None and case.means is not None:
        row["numpy_ns"] = numpy_lingape(case.features, case.means, 2_000) * 1e9
    print(f"{case.name}: {row['ns_per_run_step']:.1f} ns per useful run-step", file=sys.stderr)
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    return table_of(
        rows,
        "runs that stop -> {case} | ns/step -> {ns_per_run_step:.1f} | lanes busy -> {lane_utilization:.1%}"
        "| while_loop -> {while_loop_ns:.1f} | faster -> {times_faster:.1f}x | NumPy -> {numpy_ns:.0f}",
    )


def vmapped_loop(case: Case) -> Callable[[], Array]:
    """Return the compiled program that one would write without lanes: a vmapped `while_loop` of each run."""
    with jax.enable_x64(True):

        def play(run: Array) -> Array:
            algorithm, environment = case.make({})
            return run_until_stop(run_key(0, run), algorithm, environment, case.max_rounds).samples

        runs = jnp.arange(case.runs, dtype=jnp.int32)
        compiled = jax.jit(jax.vmap(play)).lower(runs).compile()
        return lambda: jax.block_until_ready(compiled(runs))


def numpy_lingape(features: np.ndarray, means: np.ndarray, rounds: int) -> float:
    """Return the seconds per round of LinGapE (greedy, det) as a plain NumPy loop over one run."""
    rng = np.random.default_rng(0)
    gram, estimate, logdet = features @ features.T, np.zeros(len(means)), 0.0
    noise = rng.normal(size=rounds)
    begun = time.perf_counter()
    for t in range(rounds):
        best = int(estimate.argmax())
        variances = np.diag(gram)
        squares = np.maximum(variances + variances[best] - 2 * gram[best], 0)
        width = np.sqrt(2 * (logdet / 2 - np.log(0.05))) + 2.0
        bounds = estimate - estimate[best] + width * np.sqrt(squares)
        bounds[best] = -np.inf
        other = int(bounds.argmax())
        influence = (gram[best] - gram[other]) ** 2 / (1 + variances)
        arm = t if t < len(means) else int(influence.argmax())
        den = 1 + gram[arm, arm]
        gain = gram[arm] / den
        estimate = estimate + gain * (means[arm] + noise[t] - estimate[arm])
        logdet += np.log(den)
        gram = gram - np.outer(gain, gram[arm])
    return (time.perf_counter() - begun) / rounds
