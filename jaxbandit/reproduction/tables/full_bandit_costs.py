"""What full-bandit rules cost if the estimate is the truth: Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Table 2.

Beside it the bounds of Theorem 3 and Lemma 3, the rule of SAQM as it is printed, C_t twice, and Table 1.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxbandit.specs.registry import ENVIRONMENTS, super_arms

MOST_ROUNDS = 1e30  # where the search for a stopping time ends


def radius(rounds: float, num_arms: int, k: int, *, delta: float = 0.05, sigma: float) -> float:
    """C_t of Proposition 1."""
    log_size = math.lgamma(num_arms + 1) - math.lgamma(k + 1) - math.lgamma(num_arms - k + 1)
    return sigma * math.sqrt(8 * (math.log(6 / (math.pi**2 * delta)) + 2 * math.log(rounds) + log_size))


def first_stop(excess: Callable[[float], float], least: float) -> float:
    """Return the t from which on excess(t) <= 0, to 1e-6 of it, by bisection of log t; inf beyond 1e30."""
    low, high = math.log(least), math.log(MOST_ROUNDS)
    if excess(MOST_ROUNDS) > 0:
        return math.inf
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(math.exp(middle)) > 0 else (low, middle)
    return math.exp(high)


def noiseless(means: Any, inverse: Any, k: int, *, epsilon: float, sigma: float, alphas: Mapping[str, float]) -> dict:
    """Return after how many samples each rule stops if the estimate is the truth: SAQM for each alpha, ICB, printed.

    Args:
      means: float[n], of the single arms.
      inverse: float[n, n], Lambda^-1 of the allocation.
      k: arms in a super-arm.
      epsilon: allowed shortfall.
      sigma: the paper's k R.
      alphas: name -> alpha of SAQM; the first is that of the printed rule, which has C_t twice.
    """
    means, inverse, n = np.asarray(means), np.asarray(inverse), len(means)
    order = np.argsort(-means, kind="stable")
    best = np.isin(np.arange(n), order[:k])
    gap = means[order[k - 1]] - means[order[k]] + epsilon
    own = math.sqrt(inverse[np.ix_(best, best)].sum())
    members = peeled(inverse, k)
    widest = math.sqrt(inverse[np.ix_(members, members)].sum())
    c = functools.partial(radius, num_arms=n, k=k, sigma=sigma)
    found = {
        name: first_stop(lambda t, a=alpha: c(t) / math.sqrt(t) * (own + widest / a) - gap, n)
        for name, alpha in alphas.items()
    }
    first = next(iter(alphas.values()))
    found["printed"] = first_stop(lambda t: c(t) / math.sqrt(t) * (own + c(t) * widest / first) - gap, 100 * n)
    widths = np.sqrt(inverse.diagonal())

    def ahead(t: float, level: float) -> float:
        w = level / math.sqrt(t) * widths
        scores = np.where(best, means - w, means + w)
        rank = np.argsort(-scores, kind="stable")
        rival = rank[:k] if set(rank[:k]) != set(order[:k]) else [*rank[: k - 1], rank[k]]
        return scores[rival].sum() + w[best].sum() - means[best].sum() - epsilon

    found["ICB"] = first_stop(lambda t: ahead(t, c(t)), n)
    lemma = math.log(6 * n / (math.pi**2 * 0.05))
    found["ICB, lemma 1"] = first_stop(lambda t: ahead(t, sigma * math.sqrt(2 * (lemma + 2 * math.log(t)))), n)
    return found


def peeled(weights: Any, k: int) -> np.ndarray:
    """Return what peeling leaves, bool[n]."""
    import jax

    with jax.enable_x64(True):
        return np.asarray(_peeling(k)(jax.numpy.asarray(weights)))


@functools.cache
def _peeling(k: int) -> Any:
    import jax

    from jaxbandit.solvers.densest import peeling

    return jax.jit(functools.partial(peeling, k=k))


def costs(table: Mapping[str, Any], instances: Mapping[str, Mapping[str, Any]], size: int) -> list[dict[str, Any]]:
    """Return a row each of the first `size` instances: support, three alpha, noiseless samples, theorems' bounds."""
    import jax

    from jaxbandit.bounds import full_bandit as bounds
    from jaxbandit.solvers.quadratic_bound import alpha

    rows = []
    for name in table["instances_of"][:size]:
        told, means, k = instances[name]["tell"], _means(instances[name]["dataset"]), instances[name]["k"]
        n, given = len(means), {key: told[key] for key in ("num_sets", "support_seed") if key in told}
        inverse = super_arms()("costs", n, k, **given).inverse
        with jax.enable_x64(True):
            weights, members = jax.numpy.asarray(inverse), jax.numpy.asarray(peeled(inverse, k))
            alphas = {mode: float(alpha(weights, members, k, mode=mode)) for mode in ("fixed", "certified", "theorem")}
        epsilon, sigma, ordered = told["epsilon"], float(k), np.sort(means)[::-1]
        gap = float(ordered[k - 1] - ordered[k])
        design = np.linalg.inv(inverse)
        saqm = bounds.full_bandit_complexity(float(bounds.rho(design, k).high), gap, epsilon=epsilon)
        icb = bounds.full_bandit_complexity(float(bounds.rho_prime(design, k)), gap, epsilon=epsilon)
        more = {"delta": 0.05, "sigma": sigma}
        row = {"instance": name, "num_arms": n, "k": k, "gap": gap, "num_sets": told["num_sets"], "alpha": alphas}
        row |= {"support_seed": told.get("support_seed", 0)}
        row |= {"samples": noiseless(means, inverse, k, epsilon=epsilon, sigma=sigma, alphas=alphas)}
        row["theorem_3"] = float(bounds.saqm_sample_bound(n, k, float(saqm), alpha=alphas["certified"], **more))
        row["lemma_3"] = float(bounds.icb_sample_bound(n, k, float(icb), radius="prop1", **more))
        rows.append(row)
    return rows


def _means(dataset: str) -> np.ndarray:
    from jaxbandit.running.truth import means_of

    return np.asarray(means_of(ENVIRONMENTS["crowd"].factory()(dataset)))


def crowd_sets(table: Mapping[str, Any], instances: Mapping[str, Mapping[str, Any]], size: int) -> list[dict[str, Any]]:
    """Return Table 1: workers, average and best accuracy, which agree if they round to what is printed."""
    rows = []
    for name, workers, average, best in table["numbers"]:
        means = _means(instances[name]["dataset"])
        ours = len(means), float(means.mean()), float(means.max())
        same = ours[0] == workers and all(abs(a - b) < 0.01 for a, b in zip(ours[1:], (average, best), strict=True))
        row = {"instance": name, "workers": ours[0], "average": ours[1], "best": ours[2]}
        rows.append(row | {"published": [workers, average, best], "verdict": "agrees" if same else "disagrees"})
    return rows
