"""Exhaustive: Kuroki, Xu, Miyauchi, Honda and Sugiyama (2019), Algorithm 5, which compares all super-arms.

The printed norm is that of the difference from M*, which is unknown; here it is the difference from the empirically
best set, as in (5).
"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.exploration.static_super_arms import (
    Look,
    Rule,
    Schedule,
    Support,
    squared_norm,
    static_super_arms,
    static_task,
)
from jaxbandit.algorithms.exploration.super_arms import AllocationKind, NumSets, Sets, SupportKind, SupportSeed, Weights
from jaxbandit.base.arguments import Delta, Epsilon, Grid, SeveralArms, Sigma, TeamSize
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, matrix_vector
from jaxbandit.support.types import Array

MOST_SETS = 200_000  # an evaluation scores all sets, of many runs at once: 100 MB of scores for 64 runs


@declare(
    question="confidence",
    setting="full-bandit",
    rewards="sub-Gaussian, scale given",
    cost="O(C(K, k)) super-arms scored a batch of pulls",
    memory="O(C(K, k) K), shared by all runs",
    concrete=("sets", "weights"),
    settings=({"support": "all"},),
)
def exhaustive(
    num_arms: SeveralArms,
    *,
    k: TeamSize,
    support: SupportKind = "random",
    num_sets: NumSets | None = None,
    support_seed: SupportSeed = 0,
    sets: Sets | None = None,
    allocation: AllocationKind = "uniform",
    weights: Weights | None = None,
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    schedule: Schedule = "geometric",
    grid: Grid = 1.01,
) -> Algorithm:
    """The k best arms from sums of k, all super-arms scored, Kuroki et al. 2019.

    The pulls follow a static allocation over a support of super-arms (full-bandit feedback). The run stops when, in the
    confidence ellipsoid of the least-squares estimate, no other set of k can exceed the empirically best set by more
    than epsilon. `saqm`, `sa_foa` and `icb` use the same ellipsoid and approximate this maximization.

    Guarantee: The recommended sum is at most epsilon below the best, with probability 1 - delta.

    Args:
      k: number of arms in a super-arm. There may be at most 200,000 sets of k, because every evaluation of the stopping
        rule scores all of them.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, rewards float[] and recommendations int32[k] in
      increasing order. It requests its pulls in batches of SetPulls.

    Raises:
      ValueError: there are too many sets of k, or the support does not span all arms.

    Source:
      Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Polynomial-time algorithms for multiple-arm identification with
      full-bandit feedback, Neural Computation 32, Algorithm 5.
    """
    pulls = Support(support, num_sets, support_seed, sets, allocation, weights)
    task = static_task(num_arms, k, pulls, delta, epsilon, sigma)
    total = math.comb(num_arms, k)
    if total > MOST_SETS:
        raise ValueError(
            f"num_arms = {num_arms}, k = {k} make {total} super-arms, must be at most {MOST_SETS}: all "
            "of them are scored; use saqm or icb instead"
        )
    family = task.family
    every: Any = family.enumerate().astype(np.float64)

    def prepare(inverse: Array) -> tuple[Array, Array]:
        """Return W chi, float[K, n], and chi' W chi, float[K], for every super-arm."""
        products = jnp.sum(as_float(every)[:, :, None] * inverse[None], 1)
        return products, jnp.sum(products * as_float(every), 1)

    def stop(look: Look) -> Array:
        best = family.best(look.estimate)
        members = as_float(best)
        products, own = look.design
        squares = jnp.maximum(own - 2 * matrix_vector(products, members) + squared_norm(best, look.inverse), 0.0)
        value = jnp.sum(jnp.where(best, look.estimate, 0.0))
        width = as_float(sigma) * task.level(look.rounds) * jnp.sqrt(squares / look.rounds)
        ahead = matrix_vector(as_float(every), look.estimate) - value + width
        other = matrix_vector(as_float(every), members) < k - 0.5
        return jnp.max(jnp.where(other, ahead, -jnp.inf)) <= as_float(epsilon)

    return static_super_arms(task, Rule(prepare, stop), schedule, grid)
