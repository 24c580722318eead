"""The benchmark of adversarial algorithms: Newton's steps, regret against an independent program, and 10^7 rounds."""

import math
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit as jb
from benchmarks.columns import table as table_of
from jaxbandit import bounds
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.theory.solvers.tsallis import newton_root

ARMS, STEPS, DRAWS = (2, 8, 100, 1000), 7, 4000
HALVES = np.arange(10_000)[:, None] < 5_000
TABLE = np.where(HALVES, [0.3, 0.25, 0.35, 0.4], [0.3, 0.45, 0.1, 0.4])
TABLE = TABLE + 0.4 * ((np.arange(1, 10_001)[:, None] * np.sqrt([2, 3, 5, 7])) % 1)
NEU = [[0.5] * 8 + [0.6, 0.4], [0.5] * 8 + [0.6, 0.9]]  # mean rewards in the first half and in the second
# Algorithm, environment, rounds, runs; mean and standard error of regret against the best fixed arm in an independent
# program; and the proved bound.
WORLDS: dict[str, Any] = {
    "Tsallis-INF, constrained adversary": lambda: (
        (jb.algorithms.tsallis_inf(8), jb.environments.constrained_adversary(), 100_000, 1000),
        (527.6, 10.48),
        bounds.tsallis_inf_regret_bound(8, [1e5])[0],
    ),
    "EXP3 anytime, constrained adversary": lambda: (
        (jb.algorithms.exp3(8), jb.environments.constrained_adversary(), 100_000, 1000),
        (771.0, 10.79),
        bounds.exp3_regret_bound(8, [1e5])[0],
    ),
    "EXP3.S, table of losses": lambda: (
        (jb.algorithms.exp3_s(4, horizon=10_000), jb.environments.loss_table(TABLE), 10_000, 1000),
        (-63.2, 2.37),
        bounds.exp3_s_regret_bound(4, [1e4])[0],
    ),
    "EXP3-IX fixed, Neu's instance": lambda: (
        (
            jb.algorithms.exp3_ix(10, rate="fixed", horizon=1_000_000),
            jb.environments.piecewise_bernoulli(NEU, [0, 500_000]),
            1_000_000,
            200,
        ),
        (-84696.3, 192.46),
        None,
    ),
}
LONG = {
    "tsallis_inf": lambda: jb.algorithms.tsallis_inf(8),
    "tsallis_inf, reduced variance": lambda: jb.algorithms.tsallis_inf(8, estimate="reduced_variance"),
    "exp3": lambda: jb.algorithms.exp3(8),
    "exp3_ix": lambda: jb.algorithms.exp3_ix(8),
    "exp3_s": lambda: jb.algorithms.exp3_s(8, horizon=10_000_000),
    "ucb1": lambda: jb.algorithms.ucb1(8),
}


def measure(quick: bool) -> dict[str, Any]:
    """Return the three tables; `quick` takes a tenth of the runs and a hundredth of the rounds of the long plays."""
    return {"newton": newton(), "regret": regrets(10 if quick else 1), "long": long(100_000 if quick else 10_000_000)}


def newton() -> dict[str, list[float]]:
    """Return the largest |sum p - 1| after 1, 2, ... steps from u = 1, over distances of all sizes."""
    found = {}
    with jax.enable_x64(True):
        for num_arms in ARMS:
            rng = np.random.default_rng(0)
            distances = rng.exponential(10 ** rng.uniform(-4, 4, (DRAWS, 1)), (DRAWS, num_arms))
            distances[: DRAWS // 2] = 10 ** rng.uniform(-3, 3, (DRAWS // 2, 1))  # all arms but one at one distance
            distances[np.arange(DRAWS), rng.integers(num_arms, size=DRAWS)] = 0
            given = jnp.asarray(distances)

            def error(distances: jax.Array, steps: int) -> jax.Array:
                return jnp.abs(jnp.sum((newton_root(distances, steps) + distances) ** -2) - 1)

            worst = [float(jnp.max(jax.jit(jax.vmap(lambda d, n=n: error(d, n)))(given))) for n in range(1, STEPS + 1)]
            found[str(num_arms)] = worst
    return found


def regrets(share: int) -> list[dict[str, Any]]:
    """Return the regret in hindsight in each environment, that of the independent program, and the bound."""
    rows = []
    for name, make in WORLDS.items():
        (rule, world, horizon, runs), (theirs, error), bound = make()
        runs //= share
        record = simulate_cell(
            lambda _, pair=(rule, world): pair,
            (),
            horizon=horizon,
            num_runs=runs,
            checkpoints=[horizon],
            hindsight=True,
        )
        assert record.hindsight_mean is not None and record.hindsight_variance is not None
        mean, own = float(record.hindsight_mean[-1]), math.sqrt(record.hindsight_variance[-1] / runs)
        rows.append(
            {
                "name": name,
                "rounds": horizon,
                "runs": runs,
                "mean": mean,
                "se": own,
                "theirs": theirs,
                "their_se": error,
                "errors": (mean - theirs) / math.hypot(own, error),
                "bound": None if bound is None else float(bound),
            }
        )
    return rows


def long(horizon: int) -> list[dict[str, Any]]:
    """Return the seconds that 100 runs of `horizon` rounds take on the constrained adversary of 8 arms.

    `first` is the CPU time in seconds of the preceding call, which compiles and plays 1,000 rounds.
    """
    rows = []
    for name, make in LONG.items():
        seconds = []
        pair = make(), jb.environments.constrained_adversary()

        def played(_: Any, pair: Any = pair) -> Any:
            return pair

        for rounds in (1000, horizon):  # the first compiles
            clock, processor = time.perf_counter(), time.process_time()
            simulate_cell(played, (), horizon=rounds, num_runs=100, checkpoints=[rounds], keep=())
            seconds.append((time.perf_counter() - clock, time.process_time() - processor))
        clock, processor = seconds[-1]
        rows.append(
            {
                "name": name,
                "rounds": horizon,
                "seconds": clock,
                "cpu": processor,
                "first": seconds[0][1],
                "ns": processor / (100 * horizon) * 1e9,
            }
        )
    return rows


def table(found: dict[str, Any]) -> str:
    """Return the measurements as text."""
    lines = ["largest |sum p - 1| of Tsallis-INF after 1, 2, ... steps of Newton's method from u = 1"]
    lines += [f"{'arms':>6}" + "".join(f"{n:>9}" for n in range(1, STEPS + 1))]
    lines += [f"{arms:>6}" + "".join(f"{x:9.0e}" for x in row) for arms, row in found["newton"].items()]
    regret = (
        "regret in hindsight -> {name} | rounds -> {rounds} | runs -> {runs} | jaxbandit -> {mean:.1f} | se -> {se:.2f}"
        "| reference -> {theirs:.1f} | se -> {their_se:.2f} | diff. / se -> {errors:.2f} | bound -> {bound:.0f}"
    )
    long = (
        "100 runs, 8 arms -> {name} | rounds -> {rounds} | seconds -> {seconds:.1f} | CPU -> {cpu:.1f}"
        "| first -> {first:.1f} | CPU ns/round -> {ns:.1f}"
    )
    return "\n".join([*lines, "", table_of(found["regret"], regret), "", table_of(found["long"], long)])
