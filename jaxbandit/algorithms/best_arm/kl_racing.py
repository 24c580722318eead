"""KL-Racing (Kaufmann and Kalyanakrishnan 2013) and Successive Elimination (Even-Dar, Mannor and Mansour 2006).

KL-Racing inverts the family's divergence at a selectable level, whereas Successive Elimination has a sub-Gaussian
interval with a union bound over all rounds. KL-Racing is published for the m best arms and a tolerance epsilon; here m
= 1 and epsilon = 0.
"""

import math

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.levels import LevelName, arm_level
from jaxbandit.algorithms.best_arm.racing import Drop, Look, family_race, race, unbeaten
from jaxbandit.base.arguments import Delta, Family, FamilySigma, Grid, SeveralArms, Sigma
from jaxbandit.base.contract import Algorithm, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, log
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.families import family as family_of

EXPONENT = 1.1  # alpha of the paper's level, as in its experiments
FACTOR = 11.1  # k_1 of the paper's level, above 1 + 1 / (alpha - 1)


@declare(question="confidence", rewards="of a known one-parameter family", cost="O(K) a batch of pulls", memory="O(K)")
def kl_racing(
    num_arms: SeveralArms,
    *,
    family: Family = "bernoulli",
    threshold: LevelName | None = None,
    drop: Drop = "worst",
    delta: Delta = 0.05,
    sigma: FamilySigma = 1.0,
    grid: Grid = 1.0,
) -> Algorithm:
    """Eliminates arms by confidence intervals, Kaufmann and Kalyanakrishnan 2013.

    Each round pulls every surviving arm once. Let L be the level and r the number of pulls of each survivor. The worst
    survivor is eliminated once its upper bound, the largest y with r d(mean, y) <= L, is below the lower bound of the
    empirically best arm.

    Guarantee: The error rate is at most delta.

    In detail, this holds for all thresholds except "heuristic", for every drop and grid.

    Args:
      threshold: the level, static. None is the smallest proved one: "kt" for Bernoulli rewards (only), "gauss" for
        Gaussian rewards (only), otherwise "kk"; see `arm_level`. "theory" is that of the paper, log(k K r^1.1 / delta)
        with k = 11.1, from a union of Chernoff bounds over rounds and arms, and "heuristic" has no proof.
      drop: "worst" eliminates at most the worst survivor per round, as published; "all" eliminates all survivors whose
        intervals are below; static.
      grid: ratio between successive numbers of rounds after which the survivors are compared; 1, as published, compares
        after every round. Larger values need fewer batches and somewhat more pulls.

    Raises:
      ValueError: the threshold is not available for the family.

    Source:
      Kaufmann and Kalyanakrishnan (2013), Information complexity in bandit subset selection, COLT, Algorithm 1 and
      Theorem 1.
    """
    law = family_of(family, sigma)

    def theory(log_union: Array, n: Array, t: Array) -> Array:
        return math.log(FACTOR) + log_union + EXPONENT * log(as_float(n))

    level = arm_level(threshold, num_arms, delta, law, theory)

    def keep(statistic: None, look: Look) -> Array:
        allowed = level.level(look.rounds, look.pulls) / look.rounds

        def beats(leader: Array, other: Array) -> Array:
            share = jnp.broadcast_to(allowed, other.shape)
            return law.lower(leader, share) > law.upper(other, share)

        return unbeaten(look, drop, beats)

    return family_race(law, num_arms, keep, delta, level.proved, grid)


@declare(question="confidence", rewards="sub-Gaussian, scale given", cost="O(K) a batch of pulls", memory="O(K)")
def successive_elimination(
    num_arms: SeveralArms, *, delta: Delta = 0.05, sigma: Sigma = 1.0, grid: Grid = 1.0
) -> Algorithm:
    """Eliminates sub-Gaussian arms, Even-Dar et al. 2006.

    Each round pulls every surviving arm once. After r rounds it eliminates every survivor whose mean is at least 2 c
    below the largest one, where c = sqrt(2 sigma^2 log(4 K r^2 / delta) / r). The paper assumes rewards in [0, 1]
    (sigma = 1/2), and its c = sqrt(log(4 K r^2 / delta) / r) is sqrt(2) times as wide as Hoeffding's bound requires.

    Guarantee: The error rate is at most delta.

    Args:
      grid: ratio between successive numbers of rounds after which the survivors are compared; 1 compares them after
        every round.

    Source:
      Even-Dar, Mannor and Mansour (2006), Action elimination and stopping conditions for the multi-armed bandit and
      reinforcement learning problems, JMLR 7, Algorithm 3 and Theorem 8.
    """

    def keep(statistic: None, look: Look) -> Array:
        level = math.log(4 * num_arms) + 2 * log(look.rounds) - log(as_float(delta))
        width = as_float(sigma) * jnp.sqrt(2 * level / look.rounds)
        return unbeaten(look, "all", lambda leader, other: leader - other >= 2 * width)

    rewards = Rewards(sigma=sigma)
    return race(num_arms, keep, promise=Promise(delta), rewards=rewards, grid=grid, invariant=True)
