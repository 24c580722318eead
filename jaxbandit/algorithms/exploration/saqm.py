"""SAQM: Kuroki, Xu, Miyauchi, Honda and Sugiyama (2019), Algorithm 2, with the stopping rule (4) containing C_t once.

As printed, C_t enters Z_t and then (4) again, which is a misprint. By default the approximation ratio is certified on
the matrix itself; the ratio of Theorem 1 and the 0.9 of the paper's experiments are options.
"""

from typing import Annotated

import jax.numpy as jnp

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
from jaxbandit.base.arguments import Delta, Epsilon, Grid, PositiveUnit, SeveralArms, Sigma
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.densest import peeling, quadratic
from jaxbandit.theory.solvers.quadratic_bound import AlphaMode
from jaxbandit.theory.solvers.quadratic_bound import alpha as ratio_of


@declare(
    question="confidence",
    setting="full-bandit",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2) a batch of pulls",
    memory="O(K)",
    concrete=("sets", "weights"),
    tries={"fixed_alpha": (0.9, 0.5)},
    settings=({"support": "all"},),
)
def saqm(
    num_arms: SeveralArms,
    *,
    k: Annotated[int, Arg(lambda given: integer(2, given["num_arms"] - 1), within="an integer in [2, num_arms - 1]")],
    support: SupportKind = "random",
    num_sets: NumSets | None = None,
    support_seed: SupportSeed = 0,
    sets: Sets | None = None,
    allocation: AllocationKind = "uniform",
    weights: Weights | None = None,
    alpha: AlphaMode = "certified",
    fixed_alpha: PositiveUnit = 0.9,
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    schedule: Schedule = "geometric",
    grid: Grid = 1.01,
) -> Algorithm:
    """The k best arms from sums of k, approximate quadratic maximization, Kuroki et al. 2019.

    The pulls follow a static allocation over a support of super-arms (full-bandit feedback), and least squares estimate
    the single arms. The run stops when the gap between the k-th and the (k+1)-th estimate, plus epsilon, is at least
    the confidence radius times the norm of the empirically best set plus an upper bound on the largest norm of any set:
    the value that peeling finds divided by the ratio alpha.

    Guarantee: The recommended sum is at most epsilon below the best, with probability 1 - delta; not with a fixed
    alpha.

    In detail, the bound holds with alpha="certified" or "theorem"; with "fixed" the recommendation carries no
    guarantee.

    Args:
      k: number of arms in a super-arm.
      alpha: lower bound on the ratio of the quadratic maximization, static. "certified" uses an upper bound computed
        from the matrix itself; "theorem" uses Theorem 1, which is far smaller; "fixed" uses `fixed_alpha`, which is no
        bound.
      fixed_alpha: the ratio used with "fixed".
      sigma: bound on the noise of a pull. The paper uses k R for noise of the members in [-R, R].
      grid: ratio between successive pull counts at which the stopping rule is evaluated. Counts are rounded up to whole
        periods of the allocation.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, rewards float[] and recommendations int32[k] in
      increasing order. It requests its pulls in batches of SetPulls.

    Raises:
      ValueError: the support does not span all arms.

    Source:
      Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Polynomial-time algorithms for multiple-arm identification with
      full-bandit feedback, Neural Computation 32, Algorithms 1 and 2, Theorems 1 and 3.
    """
    pulls = Support(support, num_sets, support_seed, sets, allocation, weights)
    task = static_task(num_arms, k, pulls, delta, epsilon, sigma, proved=alpha != "fixed")

    def prepare(inverse: Array) -> Array:
        """Return the rule's bound on the largest norm of a set, float[]: the value found by peeling, over alpha."""
        widest = peeling(inverse, k)
        return jnp.sqrt(quadratic(inverse, widest)) / ratio_of(inverse, widest, k, mode=alpha, fixed=fixed_alpha)

    def stop(look: Look) -> Array:
        best = task.family.best(look.estimate)
        gap = jnp.min(jnp.where(best, look.estimate, jnp.inf)) - jnp.max(jnp.where(best, -jnp.inf, look.estimate))
        own = jnp.sqrt(squared_norm(best, look.inverse))
        return gap + as_float(epsilon) >= task.radius(look.rounds) * (own + look.design)

    return static_super_arms(task, Rule(prepare, stop), schedule, grid)
