"""SAQM: Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Algorithm 2, the stopping rule (4) with C_t once.

Printed, C_t enters Z_t and then (4) again, which is a misprint: the rule would be 10^4 times too slow. The ratio of the
quadratic maximisation is certified on the matrix itself by default; Theorem 1's and the experiments' 0.9 are options.
"""

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.exploration.static_super_arms import (
    Look,
    Rule,
    Schedule,
    promise,
    squared_norm,
    static_super_arms,
)
from jaxbandit.algorithms.exploration.super_arms import AllocationKind, SupportKind, super_arms
from jaxbandit.algorithms.exploration.thresholds import independent_threshold
from jaxbandit.base import Algorithm
from jaxbandit.numerics import as_float
from jaxbandit.solvers.decision_classes import top_k
from jaxbandit.solvers.densest import peeling, quadratic
from jaxbandit.solvers.quadratic_bound import AlphaMode
from jaxbandit.solvers.quadratic_bound import alpha as ratio_of
from jaxbandit.types import Array, ArrayLike, Scalar


def saqm(
    num_arms: int,
    *,
    k: int,
    support: SupportKind = "random",
    num_sets: int | None = None,
    support_seed: int = 0,
    sets: ArrayLike | None = None,
    allocation: AllocationKind = "uniform",
    weights: ArrayLike | None = None,
    alpha: AlphaMode = "certified",
    fixed_alpha: Scalar = 0.9,
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    schedule: Schedule = "geometric",
    grid: Scalar = 1.01,
) -> Algorithm:
    """Return SAQM, static allocation with approximate quadratic maximisation, for the k best arms from their sums.

    With alpha "certified" or "theorem" it is (epsilon, delta)-PAC: the sum of the true means of the k arms that it
    recommends falls short of the best by more than epsilon with probability at most delta. With "fixed" nothing is
    proved.

    Args:
      num_arms: n, single arms, >= 3, static.
      k: arms in a super-arm, in [2, num_arms - 1], static.
      support: super-arms that are pulled, static. "random": `num_sets` of them drawn from `support_seed`, the first n
        independent. "all": every set of k; more than 5000 are not listed, and A_t counts as t Lambda. "given": `sets`.
        Stopping times vary fifty-fold with it.
      num_sets: of a random support, in [n, K], static; None: 2 n.
      support_seed: number of the random support, >= 0, static.
      sets: [m, n] of 0 and 1 with k ones a row, for a given support, concrete.
      allocation: share of the pulls of each super-arm, static. "uniform"; "g": the G-optimal design on the support,
        rounded to whole pulls; "given": `weights`.
      weights: float[m] >= 0, concrete. Whole numbers are the pulls of a period as they are.
      alpha: lower bound of the quadratic maximisation's ratio, static. "certified": from an upper bound on the matrix
        itself; "theorem": Theorem 1's, far smaller; "fixed": `fixed_alpha`, which bounds nothing.
      fixed_alpha: in (0, 1], traced.
      delta: allowed error rate, in (0, 1), traced.
      epsilon: allowed shortfall of the recommended sum, >= 0, traced.
      sigma: bound of a pull's noise, > 0, traced; the paper takes k R for members' noise within [-R, R].
      schedule: "geometric": the rule is looked at on the grid. "every": in every round, for 24 arms at most. Static.
      grid: ratio of two pull counts at which the rule is looked at, >= 1, traced; counts are rounded up to whole
        periods of the allocation.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, rewards float[] and recommendations int32[k], in
      increasing order. It asks for its pulls in batches of SetPulls.

    Raises:
      ValueError: an argument is out of range, or the support does not span all arms.

    Source: Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), NeurIPS: Algorithms 1 and 2, Theorems 1 and 3.
    """
    where = "saqm"
    arms = super_arms(
        where,
        num_arms,
        k,
        support=support,
        num_sets=num_sets,
        support_seed=support_seed,
        sets=sets,
        allocation=allocation,
        weights=weights,
    )
    checks.integer(where, "k", k, 2, num_arms - 1)
    checks.choice(where, "alpha", alpha, ("certified", "theorem", "fixed"))
    checks.number(where, "fixed_alpha", fixed_alpha, low=0.0, high=1.0, open_low=True)
    promised = promise(where, delta, epsilon, sigma, k, proved=alpha != "fixed")
    sets_of_k = top_k(num_arms, k)

    def prepare(inverse: Array) -> Array:
        """max ||chi|| as the rule takes it, float[]: peeling's over alpha."""
        widest = peeling(inverse, k)
        return jnp.sqrt(quadratic(inverse, widest)) / ratio_of(inverse, widest, k, mode=alpha, fixed=fixed_alpha)

    def stop(look: Look) -> Array:
        best = sets_of_k.best(look.estimate)
        gap = jnp.min(jnp.where(best, look.estimate, jnp.inf)) - jnp.max(jnp.where(best, -jnp.inf, look.estimate))
        level = 2 * independent_threshold(look.rounds, log_arms=sets_of_k.log_size, delta=delta)
        radius = as_float(sigma) * level / jnp.sqrt(look.rounds)
        own = jnp.sqrt(squared_norm(best, look.inverse))
        return gap + as_float(epsilon) >= radius * (own + look.design)

    rule = Rule(prepare, stop, sets_of_k.best)
    return static_super_arms(where, arms, rule, grid, schedule, promised, sigma)
