"""Tables of complexity constants, which need no pulls: Reda, Kaufmann, Delahaye-Duriez (2021), Tables 4 and 5.

Table 4 counts the random instances on which the constant in the bound of m-LinGapE with the optimized rule is smaller
than that of UGapE. Table 5 gives both constants on one instance. Difference from the paper: the features of a column
are not drawn with the variance of that column, because the variance cancels.
"""

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jaxbandit.lab.papers import published
from jaxbandit.lab.specs.registry import ENVIRONMENTS
from jaxbandit.support.text import tabulate
from jaxbandit.support.types import Array, ArrayLike, Json, Table
from jaxbandit.theory import intervals

GAP = 1e-6  # relative duality gap of w* above which HiGHS solves the instance again
CHUNK = 1_000_000  # pairs of arms times dim^3 solved at once; with twice as many, the solver deadlocks (see ratios)


def ratios(num_arms: int, dim: int, m: int, *, normalization: str, first: int, count: int) -> np.ndarray:
    """Return the ratios of constants, H(m-LinGapE, optimized) / H(UGapE), on random instances, float64[count].

    The ratio is that for sigma = 1; for another sigma, it is sigma^2 times as large. `first` is the seed of the first
    instance of `linear_random`; the others follow it.
    """
    # The instances are solved in small chunks, one after the other, because XLA splits large batches of linear algebra
    # over its threads, which then deadlock (jax 0.10, two cores), even if XLA is configured to use no threads.
    size = max(1, min(count, CHUNK // (num_arms * (num_arms - 1) // 2 * dim**3)))
    chunks = [
        _ratios(_features(num_arms, dim, normalization, start, size), m) for start in range(first, first + count, size)
    ]
    return np.concatenate(chunks)[:count]


def _features(num_arms: int, dim: int, normalization: str, start: int, size: int) -> np.ndarray:
    draw = ENVIRONMENTS["linear_random"].factory()
    environments = [
        draw(num_arms, dim, instance_seed=seed, normalization=normalization) for seed in range(start, start + size)
    ]
    return np.stack([instance.known()["features"] for instance in environments])


def _ratios(features: np.ndarray, m: int) -> np.ndarray:
    import jax

    from jaxbandit.theory.solvers.l1 import l1_table

    with jax.enable_x64(True):
        result, gaps = map(np.array, _program(m, _independent(features.shape))(features))
        for i in np.flatnonzero(~(gaps <= GAP)):
            result[i] = _ratio(features[i], m, l1_table(features[i]))
    return result


def _independent(shape: tuple[int, ...]) -> bool:
    """Whether Gaussian features of this shape are independent, so that x_i - x_j has a unique representation."""
    return shape[-2] <= shape[-1]


@functools.cache
def _program(m: int, independent: bool) -> Callable[[np.ndarray], tuple[Array, Array]]:
    import jax
    import jax.numpy as jnp

    from jaxbandit.theory.solvers.l1 import l1_representation

    def one(features: Array) -> tuple[Array, ArrayLike]:
        num_arms = features.shape[0]
        first, second = np.triu_indices(num_arms, 1)
        if independent:
            identity = jnp.eye(num_arms)
            return _ratio(features, m, identity[:, None] - identity[None]), 0.0
        solve = jax.vmap(lambda target: l1_representation(features, target))
        solution = solve(features[first] - features[second])
        weights = solution.weights
        table = jnp.zeros((num_arms,) * 3).at[first, second].set(weights).at[second, first].set(-weights)
        return _ratio(features, m, table), jnp.max(1 - solution.bound / solution.value)

    return jax.jit(jax.vmap(one))


def _ratio(features: ArrayLike, m: int, table: ArrayLike) -> Array:
    from jaxbandit.theory.bounds.exploration import complexity_constants

    constants = complexity_constants(features, features[:, 0], m=m, table=table)  # theta = e_1
    return constants.m_lingape_2 / constants.ugape


def shares(table: Table, *, instances: int, confidence: float) -> list[Json]:
    """Return one row for each column of Table 4 and each variant, with our fraction, the published one and the verdict.

    Args:
      table: the table of the TOML file. `columns` have num_arms, dim, m, variance and `hits`, which is the published
        count among `trials` instances. `variants` have name, normalization, sigma and, unless all columns are meant,
        `columns`, counted from 0. `wide` is as for any published number.
      instances: number of random instances per column.
      confidence: joint confidence of all intervals.
    """
    wanted = [(v, i) for v in table["variants"] for i in v.get("columns", range(len(table["columns"])))]
    level = intervals.bonferroni(confidence, 2 * len(wanted))
    solved: dict[tuple[int, str], np.ndarray] = {}
    rows = []
    for variant, i in wanted:
        column, key = table["columns"][i], (i, variant["normalization"])
        if key not in solved:
            shape = (column["num_arms"], column["dim"], column["m"])
            more = {"normalization": key[1], "first": i * table["most"], "count": instances}
            solved[key] = ratios(*shape, **more)
        hits = int(np.sum(solved[key] * variant["sigma"] ** 2 <= 1))
        ours = intervals.clopper_pearson(hits, instances, level)
        value = column["hits"] / table["trials"]
        low, high = published.predicted_rate(hits, instances, table["trials"], level)
        row = {key: value for key, value in column.items() if key != "hits"} | {"variant": variant["name"]}
        row |= {"instances": instances, "hits": hits, "rate": ours.value, "low": ours.low, "high": ours.high}
        row["published"] = {"value": value, "low": low, "high": high}
        row["what"] = f"K = {row['num_arms']}, N = {row['dim']}, D = {row['variance']:g}: fraction"
        verdict = published.decide(value, low, high, wide=table["wide"])
        rows.append(row | {"confidence": level, "verdict": verdict})
    return rows


def values(table: Table, instances: Mapping[str, Table]) -> list[Json]:
    """Return one row for each printed number of Table 5, with our value and the verdict.

    Our value agrees if it equals the printed digits after either rounding or truncation. The table has `sigma` and
    `numbers`, each of which has instance, quantity ("m_lingape_2", "ugape" or "gap"), value and digits; the instances
    have features and m, and theta is e_1.
    """
    import jax
    import jax.numpy as jnp

    from jaxbandit.theory.bounds.exploration import complexity_constants, top_m_gaps
    from jaxbandit.theory.solvers.l1 import l1_table

    ours = {}
    for name in {entry["instance"] for entry in table["numbers"]}:
        with jax.enable_x64(True):
            features, m = jnp.asarray(instances[name]["features"]), instances[name]["m"]
            more = {"m": m, "sigma": table["sigma"], "table": jnp.asarray(l1_table(instances[name]["features"]))}
            constants = complexity_constants(features, features[:, 0], **more)
            ours[name] = constants._asdict() | {"gap": top_m_gaps(features[:, 0], m).min()}
    rows = []
    for entry in table["numbers"]:
        m, value = instances[entry["instance"]]["m"], float(ours[entry["instance"]][entry["quantity"]])
        same = abs(value - entry["value"]) < 10.0 ** -entry["digits"]
        row = {"instance": entry["instance"], "m": m, "quantity": entry["quantity"], "value": value}
        rows.append(row | {"published": {"value": entry["value"]}, "verdict": "agrees" if same else "disagrees"})
    return rows


def shares_text(rows: Sequence[Table]) -> str:
    """Return the rows of Table 4 as text."""
    names = {"K": "num_arms", "N": "dim", "m": "m", "D": "variance", "instances": "instances"}
    return tabulate(
        rows,
        ("variant", "{variant}"),
        *((head, f"{{{name}}}") for head, name in names.items()),
        ("fraction", lambda row: _percent(row["rate"])),
        ("interval", _range),
        ("published", lambda row: _percent(row["published"]["value"])),
        ("<prediction interval", lambda row: _range(row["published"])),
        ("<", "{verdict}"),
    )


def values_text(rows: Sequence[Table]) -> str:
    """Return the rows of Table 5 as text."""

    def shown(value: float) -> str:
        return f"{value:,.2f}" if value >= 1 else f"{value:.4f}"

    ours, theirs = (lambda row: shown(row["value"])), (lambda row: shown(row["published"]["value"]))
    about = ("instance", "{instance}"), ("m", "{m}"), ("<quantity", "{quantity}")
    return tabulate(rows, *about, ("ours", ours), ("published", theirs), ("<", "{verdict}"))


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _range(row: Table) -> str:
    return f"[{_percent(row['low'])}, {_percent(row['high'])}]"
