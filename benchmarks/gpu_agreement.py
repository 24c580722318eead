"""Whether a GPU and a CPU play the same runs: the same rules and seeds on both, and the arithmetic that decides.

A GPU rounds transcendental functions differently and may contract a product and a sum into one operation. An index is
then larger or smaller in its last digit, and where two indices are that close another arm is pulled. From there on
the two runs have nothing in common but their law. `pulls` and `arithmetic` write what they have computed into a file,
each in a process of one platform; `compare_pulls` and `compare_arithmetic` compare two such files without JAX.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ARMS = 9
# Without transcendental functions; with a logarithm and a root; with logarithms only, iterated or not; with draws.
RULES = ("epsilon_greedy", "epsilon_decreasing", "ucb1", "kl_ucb", "imed", "thompson")
GAP = 0.1  # between neighboring means, so that another arm changes the regret by as much


def pulls(rule: str, runs: int, rounds: int, path: str) -> dict[str, Any]:
    """Play runs with every round as a checkpoint, and write their regrets and final pulls."""
    import jaxbandit as jb
    from jaxbandit.engine.driver.simulate import simulate_cell

    means: Any = np.linspace(GAP, GAP * ARMS, ARMS)
    make: Any = getattr(jb.algorithms, rule)
    marks = range(1, rounds + 1)
    found = simulate_cell(
        lambda _: (make(ARMS), jb.environments.bernoulli(means)), (), horizon=rounds, num_runs=runs, checkpoints=marks
    )
    np.savez(path, regret=found.regret, pulls=found.pulls)  # pyright: ignore[reportArgumentType]
    return {"compile_s": found.compile_seconds, "call_s": found.run_seconds}


def compare_pulls(one: str, other: str) -> dict[str, Any]:
    """Return how many runs have the same pulls on both platforms, and where the others part; the files are deleted."""
    (regret, counts), (regret_2, counts_2) = _loaded(one, "regret", "pulls"), _loaded(other, "regret", "pulls")
    apart = np.abs(regret - regret_2) > GAP / 2
    parted = apart.any(1)
    first = np.where(parted, apart.argmax(1) + 1, 0)[parted]
    last = regret[:, -1].astype(float), regret_2[:, -1].astype(float)
    difference = np.where(parted, last[0] - last[1], 0.0)  # others differ in the rounding of their sums only
    error = difference.std(ddof=1) / len(difference) ** 0.5
    return {
        "runs": len(counts),
        "rounds": regret.shape[1],
        "runs_with_equal_pulls": int((counts == counts_2).all(1).sum()),
        "runs_that_part": int(parted.sum()),
        "first_round_apart": int(first.min()) if len(first) else None,
        "median_round_apart": float(np.median(first)) if len(first) else None,
        "mean_regrets": [float(x.mean()) for x in last],
        "standard_errors_apart": float(abs(difference.mean()) / error) if error else 0.0,
    }


def arithmetic(values: int, path: str) -> dict[str, Any]:
    """Write the results of the operations of indices on the same inputs, in both precisions."""
    import jax
    import jax.numpy as jnp

    from jaxbandit.support import numerics
    from jaxbandit.theory.solvers.families import family

    def ucb1(mean: Any, count: Any, t: Any) -> Any:
        return mean + jnp.sqrt(2 * jnp.log(t) / count)

    def kl_ucb(mean: Any, count: Any, t: Any) -> Any:
        return family("bernoulli", 1.0).upper(mean, jnp.log(t) / count)

    def imed(mean: Any, count: Any, t: Any) -> Any:
        return count * family("bernoulli", 1.0).kl(mean, mean + (1 - mean) / t) + jnp.log(count)

    operations: dict[str, Callable[[Any, Any, Any], Any]] = {
        "product and sum": lambda mean, count, t: mean * count + t,
        "quotient": lambda mean, count, t: mean / count,
        "root": lambda mean, count, t: jnp.sqrt(mean),
        "logarithm": lambda mean, count, t: jnp.log(t),
        "numerics.log": lambda mean, count, t: numerics.log(t),
        "log1p": lambda mean, count, t: jnp.log1p(mean),
        "exponential": lambda mean, count, t: jnp.exp(-mean),
        "index of ucb1": ucb1,
        "index of kl_ucb": kl_ucb,
        "index of imed": imed,
    }
    written = {}
    for precision in ("float32", "float64"):
        rng = np.random.default_rng(0)
        mean, count = rng.uniform(0.01, 0.99, values), rng.integers(1, 1000, values)
        given = [x.astype(precision) for x in (mean, count, count * 9 + rng.integers(1, 1000, values))]
        with jax.enable_x64(precision == "float64"):
            for name, operation in operations.items():
                written[f"{name}, {precision}"] = np.asarray(jax.jit(operation)(*map(jnp.asarray, given)))
            key = jax.random.key(0, impl="threefry2x32")
            written[f"uniform draw, {precision}"] = np.asarray(jax.random.uniform(key, (values,)))
            written[f"normal draw, {precision}"] = np.asarray(jax.random.normal(key, (values,)))
    np.savez(path, **written)
    return {"operations": len(written)}


def compare_arithmetic(one: str, other: str) -> dict[str, Any]:
    """Return for each operation how many results differ and the largest difference; the files are deleted."""
    with np.load(one) as file:
        names = list(file)
    both = zip(names, _loaded(one, *names), _loaded(other, *names), strict=True)
    return {"values": _compared(both)}


def _compared(both: Any) -> dict[str, dict[str, Any]]:
    """Return the comparison of pairs of arrays by name; a unit is the distance of neighboring floats."""
    found = {}
    for name, x, y in both:
        with np.errstate(invalid="ignore"):  # two infinities
            apart = np.abs(x.astype(np.float64) - y.astype(np.float64))
            units = apart / np.spacing(np.maximum(np.abs(x), np.abs(y))).astype(np.float64)
        found[name] = {
            "compared": len(x),
            "different": int((x != y).sum()),
            "largest_difference": float(np.nanmax(apart)),
            "largest_units_in_the_last_place": float(np.nanmax(units)),
        }
    return found


def _loaded(path: str, *names: str) -> list[np.ndarray]:
    """Return arrays of a file, which is deleted, because the files of one rule take tens of megabytes."""
    with np.load(path) as file:
        found = [file[name] for name in names]
    Path(path).unlink()
    return found
