"""Samples of full-bandit rules if the estimate equals the true means: Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019).

These numbers correspond to Table 2 of the paper. Next to them are the bounds of Theorem 3 and Lemma 3, the rule of SAQM
as it is printed, in which C_t occurs twice, and the data sets of Table 1.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jaxbandit.algorithms import super_arms
from jaxbandit.lab.specs.registry import ENVIRONMENTS
from jaxbandit.support.text import tabulate
from jaxbandit.support.types import Array, ArrayLike, Json, Table

MOST_ROUNDS = 1e30  # largest stopping time that is searched for


def radius(rounds: float, num_arms: int, k: int, *, delta: float = 0.05, sigma: float) -> float:
    """Return C_t of Proposition 1, the radius of the confidence ellipsoid after `rounds` pulls."""
    from jaxbandit.theory.solvers.decision_classes import log_binomial

    level = math.log(6 / (math.pi**2 * delta)) + 2 * math.log(rounds) + log_binomial(num_arms, k)
    return sigma * math.sqrt(8 * level)


def first_stop(excess: Callable[[float], float], least: float) -> float:
    """Return the first t >= least with excess(t) <= 0, to a relative accuracy of 1e-6, by bisection; inf beyond 1e30.

    Beyond `least`, the function changes sign at most once, from positive to negative.
    """
    low, high = math.log(least), math.log(MOST_ROUNDS)
    if excess(MOST_ROUNDS) > 0:
        return math.inf
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(math.exp(middle)) > 0 else (low, middle)
    return math.exp(high)


def noiseless(
    means: ArrayLike, inverse: ArrayLike, k: int, *, epsilon: float, sigma: float, alphas: Mapping[str, float]
) -> dict[str, float]:
    """Return the number of samples after which each rule stops if the estimate equals the true means.

    Args:
      means: float[n], the mean rewards of the single arms.
      inverse: float[n, n], Lambda^-1 of the allocation.
      k: number of arms in a super-arm.
      epsilon: tolerated simple regret.
      sigma: scale of the noise of a super-arm, k R in the paper.
      alphas: name -> alpha of SAQM. The first one is also used for the printed rule, in which C_t occurs twice.

    Returns:
      By the name of its alpha that of SAQM, and of the "printed" rule, of "ICB", and of "ICB, lemma 1".
    """
    means, inverse, n = np.asarray(means), np.asarray(inverse), len(means)
    order = np.argsort(-means, kind="stable")
    best = np.isin(np.arange(n), order[:k])
    gap = means[order[k - 1]] - means[order[k]] + epsilon
    own = math.sqrt(inverse[np.ix_(best, best)].sum())
    members = peel(inverse, k)
    widest = math.sqrt(inverse[np.ix_(members, members)].sum())
    c = functools.partial(radius, num_arms=n, k=k, sigma=sigma)
    samples = {
        name: first_stop(lambda t, a=alpha: c(t) / math.sqrt(t) * (own + widest / a) - gap, n)
        for name, alpha in alphas.items()
    }
    first = next(iter(alphas.values()))
    samples["printed"] = first_stop(lambda t: c(t) / math.sqrt(t) * (own + c(t) * widest / first) - gap, 100 * n)
    widths = np.sqrt(inverse.diagonal())

    def ahead(t: float, level: float) -> float:
        w = level / math.sqrt(t) * widths
        scores = np.where(best, means - w, means + w)
        rank = np.argsort(-scores, kind="stable")
        rival = rank[:k] if set(rank[:k]) != set(order[:k]) else [*rank[: k - 1], rank[k]]
        return scores[rival].sum() + w[best].sum() - means[best].sum() - epsilon

    samples["ICB"] = first_stop(lambda t: ahead(t, c(t)), n)
    lemma = math.log(6 * n / (math.pi**2 * 0.05))
    samples["ICB, lemma 1"] = first_stop(lambda t: ahead(t, sigma * math.sqrt(2 * (lemma + 2 * math.log(t)))), n)
    return samples


def peel(weights: ArrayLike, k: int) -> np.ndarray:
    """Return the set of k arms that remains after greedy peeling of the matrix, bool[n]."""
    import jax

    with jax.enable_x64(True):
        return np.asarray(_peeling(k)(jax.numpy.asarray(weights)))


@functools.cache
def _peeling(k: int) -> Callable[[Array], Array]:
    import jax

    from jaxbandit.theory.solvers.densest import peeling

    return jax.jit(functools.partial(peeling, k=k))


def costs(table: Table, instances: Mapping[str, Table], size: int) -> list[Json]:
    """Return one row for each of the first `size` instances: support, alphas, noiseless samples and bounds."""
    import jax

    from jaxbandit.theory.bounds import full_bandit as bounds
    from jaxbandit.theory.solvers.quadratic_bound import alpha

    rows = []
    for name in table["instances_of"][:size]:
        settings, means, k = instances[name]["tell"], _means(instances[name]["dataset"]), instances[name]["k"]
        n, support = len(means), {key: settings[key] for key in ("num_sets", "support_seed") if key in settings}
        inverse = super_arms(n, k, **support).inverse
        with jax.enable_x64(True):
            weights, members = jax.numpy.asarray(inverse), jax.numpy.asarray(peel(inverse, k))
            alphas = {mode: float(alpha(weights, members, k, mode=mode)) for mode in ("fixed", "certified", "theorem")}
        epsilon, sigma, ordered = settings["epsilon"], float(k), np.sort(means)[::-1]
        gap = float(ordered[k - 1] - ordered[k])
        design = np.linalg.inv(inverse)
        saqm = bounds.full_bandit_complexity(float(bounds.rho(design, k).high), gap, epsilon=epsilon)
        icb = bounds.full_bandit_complexity(float(bounds.rho_prime(design, k)), gap, epsilon=epsilon)
        more = {"delta": 0.05, "sigma": sigma}
        row = {"instance": name, "num_arms": n, "k": k, "gap": gap, "num_sets": settings["num_sets"], "alpha": alphas}
        row |= {"support_seed": settings.get("support_seed", 0)}
        row |= {"samples": noiseless(means, inverse, k, epsilon=epsilon, sigma=sigma, alphas=alphas)}
        row["theorem_3"] = float(bounds.saqm_sample_bound(n, k, float(saqm), alpha=alphas["certified"], **more))
        row["lemma_3"] = float(bounds.icb_sample_bound(n, k, float(icb), radius="prop1", **more))
        rows.append(row)
    return rows


def _means(dataset: str) -> np.ndarray:
    from jaxbandit.running.truth import means_of

    return np.asarray(means_of(ENVIRONMENTS["crowd"].factory()(dataset)))


def crowd_sets(table: Table, instances: Mapping[str, Table], size: int) -> list[Json]:
    """Return the rows of Table 1: number of workers, and their average and best accuracy.

    A row agrees if the number of workers is equal and both accuracies differ from the printed ones by less than 0.01.
    """
    rows = []
    for name, workers, average, best in table["numbers"]:
        means = _means(instances[name]["dataset"])
        ours = len(means), float(means.mean()), float(means.max())
        same = ours[0] == workers and all(abs(a - b) < 0.01 for a, b in zip(ours[1:], (average, best), strict=True))
        row = {"instance": name, "workers": ours[0], "average": ours[1], "best": ours[2]}
        rows.append(row | {"published": [workers, average, best], "verdict": "agrees" if same else "disagrees"})
    return rows


def costs_text(rows: Sequence[Table]) -> str:
    """Return the rows of `costs` as text."""
    modes = ("fixed", "certified", "theorem")
    known = {"instance": "instance", "n": "num_arms", "sets": "num_sets", "seed": "support_seed"}
    return tabulate(
        rows,
        *((head, f"{{{name}}}") for head, name in known.items()),
        *((f"alpha {mode}", f"{{alpha[{mode}]:.3g}}") for mode in modes),
        *((f"SAQM {mode}", f"{{samples[{mode}]:.3g}}") for mode in modes),
        ("printed", "{samples[printed]:.3g}"),
        ("Theorem 3", "{theorem_3:.3g}"),
        ("ICB", "{samples[ICB]:.3g}"),
        ("Lemma 3", "{lemma_3:.3g}"),
    )


def crowd_sets_text(rows: Sequence[Table]) -> str:
    """Return the rows of `crowd_sets` as text."""
    ours = ("workers", "{workers}"), ("average", "{average:.3f}"), ("best", "{best:.3f}")
    theirs = ("<published", "{published[0]}, {published[1]:.2f}, {published[2]:.2f}")
    return tabulate(rows, ("instance", "{instance}"), *ours, theirs, ("<", "{verdict}"))
