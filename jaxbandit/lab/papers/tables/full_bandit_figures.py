"""Figures 1 and 2 of Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019) as tables.

Figure 1 shows how accurately, and Figure 2 how fast, the stopping rules are evaluated. Difference from the paper:
Figure 1 is computed for random supports, because on the support of all sets of k arms every set has the same norm, so
that the ratio is 1.
"""

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jaxbandit.algorithms import super_arms
from jaxbandit.lab.papers.tables.full_bandit_costs import peel, radius
from jaxbandit.lab.specs.registry import ENVIRONMENTS
from jaxbandit.support.text import tabulate
from jaxbandit.support.types import Array, Json, Scalar, Table
from jaxbandit.theory import intervals

ABOVE = 0.9  # the paper observes approximation ratios above this value
Rule = Callable[[Array, Array], Array]  # of an inverse design matrix and estimated means


def first_order(matrix: Array, estimate: Array, width: Scalar, anchors: Array, k: int) -> Array:
    """Return Z' of SA-FOA's Algorithm 3, float[], the largest value among the sets that peeling finds at the anchors.

    `matrix` is float[n, n], the inverse of the design matrix, `estimate` float[n], `width` the factor of the confidence
    width, `anchors` bool[l, n], the sets from which the search starts, and k the number of arms in a super-arm.
    """
    import jax
    import jax.numpy as jnp

    from jaxbandit.support.numerics import dot
    from jaxbandit.theory.solvers.decision_classes import top_k
    from jaxbandit.theory.solvers.densest import peeling

    family = top_k(matrix.shape[0], k)
    best = family.best(estimate)
    own = best.astype(matrix.dtype)
    product = dot(matrix, own)

    def value(members: Array) -> Array:
        chosen = members.astype(matrix.dtype)
        x = chosen - own
        return dot(chosen, estimate) + width * jnp.sqrt(jnp.maximum(dot(dot(x, matrix), x), 0.0))

    def expand(point: Array) -> Array:
        x = point.astype(matrix.dtype) - own
        apart = jnp.sqrt(jnp.maximum(dot(dot(x, matrix), x), 0.0))
        members = peeling(matrix, k, diagonal=2 * apart / width * estimate - 2 * product)
        return jnp.where(jnp.any(point != best) & jnp.any(members != best), value(members), -jnp.inf)

    largest = jnp.max(jax.vmap(expand)(anchors))
    return jnp.where(jnp.isfinite(largest), largest, value(family.second_best(estimate, best)))


def approximation(table: Table, instances: Mapping[str, Table], size: int) -> list[Json]:
    """Return the rows of Figure 1, one for each rule, gap and t: ratios of the approximation to the exact optimum.

    The ratios are computed for `size` random supports of 2 n sets each.
    """
    import jax
    import jax.numpy as jnp

    from jaxbandit.running.truth import means_of
    from jaxbandit.theory.solvers.decision_classes import top_k

    n, k, sigma = table["num_arms"], table["k"], float(table["k"])
    sets = top_k(n, k).enumerate().astype(float)
    supports = [super_arms(n, k, support_seed=seed) for seed in range(size)]
    inverses = np.array([arms.inverse for arms in supports])
    exact = np.sqrt(np.einsum("mi,rij,mj->rm", sets, inverses, sets).max(1))
    widest = [math.sqrt(w[np.ix_(s, s)].sum()) for w in inverses for s in [peel(w, k)]]
    ratios_by_rule = {("SAQM", "", ""): np.array(widest) / exact}  # depends on the matrix alone, not on gap or t
    with jax.enable_x64(True):
        program = jax.jit(jax.vmap(functools.partial(first_order, k=k), in_axes=(0, 0, None, 0)))
        for gap in table["gaps"]:
            means = np.asarray(means_of(ENVIRONMENTS["full_bandit_random"].factory()(n, k, gap)))
            for rounds in table["rounds"]:
                chance = np.random.default_rng([rounds, size])
                noise = [np.matmul(np.linalg.cholesky(w / rounds), chance.standard_normal(n)) for w in inverses]
                estimates = means + np.array(noise)
                anchors = np.array([a.sets[chance.integers(0, len(a.sets), n)] for a in supports])  # pyright: ignore
                width = radius(rounds, n, k, sigma=sigma) / math.sqrt(rounds)
                ours = np.asarray(program(jnp.asarray(inverses), jnp.asarray(estimates), width, jnp.asarray(anchors)))
                optimum = []
                for estimate, w in zip(estimates, inverses, strict=True):
                    best = np.isin(np.arange(n), np.argsort(-estimate)[:k])
                    apart = sets - best
                    values = np.matmul(sets, estimate) + width * np.sqrt(np.einsum("mi,ij,mj->m", apart, w, apart))
                    optimum.append(values[np.abs(apart).any(1)].max())
                ratios_by_rule["SA-FOA", gap, rounds] = ours / np.array(optimum)
    level = intervals.bonferroni(0.95, len(ratios_by_rule))
    rows = []
    for (rule, gap, rounds), ratios in ratios_by_rule.items():
        share = intervals.clopper_pearson(int((ratios > ABOVE).sum()), size, level)
        row = {"variant": rule, "gap": gap, "rounds": rounds, "supports": size, "mean": ratios.mean()}
        row |= {"least": ratios.min(), "rate": share.value, "low": share.low, "high": share.high, "confidence": level}
        what = f"{rule}{f', gap {gap}, t = {rounds:,}' if rounds else ''}: fraction of ratios above {ABOVE}"
        rows.append(row | {"what": what})
    return rows


def run_time(table: Table, instances: Mapping[str, Table], size: int) -> list[Json]:
    """Return the rows of Figure 2: the milliseconds of one evaluation of each stopping rule, for k = n / 2.

    The time includes the inversion of A_t, and SA-FOA tries all of its n anchors. `size` is the largest n. The
    exhaustive rule is left out if n exceeds `exhaustive` of the table.
    """
    import jax
    import jax.numpy as jnp

    from jaxbandit.support.numerics import dot
    from jaxbandit.theory.solvers.decision_classes import DecisionClass, challenger, top_k
    from jaxbandit.theory.solvers.densest import peeling, quadratic
    from jaxbandit.theory.solvers.quadratic_bound import upper_bound

    rows = []
    for n in [n for n in table["sizes"] if n <= size]:
        k, rng = n // 2, np.random.default_rng(n)
        x = (np.argsort(rng.random((9 * n // 4, n)), axis=1) < k).astype(float)
        matrix, estimate, anchors = np.matmul(x.T, x) / len(x), rng.uniform(-1, 1, n), x[:n] > 0
        family = top_k(n, k)

        def saqm(w: Array, theta: Array, k: int = k) -> Array:
            return quadratic(w, peeling(w, k)) / upper_bound(w, k)

        def sa_foa(w: Array, theta: Array, k: int = k, anchors: np.ndarray = anchors) -> Array:
            return first_order(w, theta, 0.01, jnp.asarray(anchors), k)

        def icb(w: Array, theta: Array, family: DecisionClass = family) -> Array:
            return challenger(family, theta, 0.01 * jnp.sqrt(jnp.diagonal(w)), family.best(theta)).value

        rules: dict[str, Rule | None] = {"ICB": icb, "SAQM": saqm, "SA-FOA": sa_foa}
        more: tuple[Array, ...] = ()
        if n <= table["exhaustive"]:
            more = (jax.device_put(family.enumerate().astype(float)),)
            rules["Exhaustive"] = None
        row: Json = {"num_arms": n, "k": k, "sets": math.comb(n, k)}
        with jax.enable_x64(True):
            for name, rule in rules.items():

                def look(a: Array, theta: Array, *sets: Array, rule: Rule | None = rule) -> Array:
                    w = jnp.linalg.inv(a)
                    if rule is not None:
                        return rule(w, theta)
                    return jnp.max(dot(sets[0], theta) + 0.01 * jnp.sqrt(jnp.sum(dot(sets[0], w) * sets[0], 1)))

                arguments = (jnp.asarray(matrix), jnp.asarray(estimate), *(jnp.asarray(np.asarray(s)) for s in more))
                row[name] = _milliseconds(jax.jit(look), arguments if rule is None else arguments[:2])
        rows.append(row)
    return rows


def _milliseconds(program: Callable[..., Array], arguments: Sequence[Array]) -> float:
    program(*arguments).block_until_ready()
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        program(*arguments).block_until_ready()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)) * 1e3


def approximation_text(rows: Sequence[Table]) -> str:
    """Return the rows of `approximation` as text."""
    place = ("rule", "{variant}"), ("gap", "{gap}"), ("t", "{rounds}"), ("supports", "{supports}")
    numbers = ("mean ratio", "{mean:.3f}"), ("smallest", "{least:.3f}"), (f"above {ABOVE}", "{rate:.2f}")
    return tabulate(rows, *place, *numbers, ("<interval", "[{low:.2f}, {high:.2f}]"))


def run_time_text(rows: Sequence[Table]) -> str:
    """Return the rows of `run_time` as text."""
    times = [(rule, f"{{{rule}:,.3f}}") for rule in ("ICB", "SAQM", "SA-FOA", "Exhaustive")]
    return tabulate(rows, ("n", "{num_arms}"), ("k", "{k}"), ("super-arms", "{sets:.3g}"), *times, labels=0)
