"""KN and KN++, ranking and selection with an indifference zone: Kim and Nelson (2001); Kim and Nelson (2006).

Differences from some public implementations: the variance of a pair does not depend on the order of its arms, the
region (c = 1) never has a negative width, and among equal means the lowest-numbered arm stays.
"""

import math
from typing import Annotated, Literal

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.race_statistics import few_arms, more_squares
from jaxbandit.algorithms.best_arm.racing import Look, race
from jaxbandit.base.arguments import Delta, Positive, SeveralArms
from jaxbandit.base.contract import Algorithm, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support import checks
from jaxbandit.support.domains import integer, number
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array

ASSUMPTIONS = (
    "the rewards with the same index are jointly normal, and independent between arms if `independent` is true; the "
    "guarantee fails for rare events in either direction: if a rival has rare failures, which have not occurred when "
    "it is compared (error rates of 0.55, 0.36 and 0.11 were measured at delta = 0.1 for failures in 6, 10 and 20 % of "
    "its pulls), and if the best arm owes its mean to rare large rewards (0.12 at delta = 0.05)",
    "the mean of the best arm exceeds every other mean by at least epsilon",
)


@declare(
    question="confidence",
    rewards="Gaussian, variances unknown",
    cost="O(K^2) a batch of one pull of each survivor",
    memory="O(K^2)",
    tries={"epsilon": (0.1, 0.0, 1.0)},
)
def kim_nelson(
    num_arms: SeveralArms,
    *,
    epsilon: Positive,
    variant: Literal["kn", "kn++"] = "kn",
    independent: bool = False,
    first_rounds: Annotated[int, Arg(integer(2))] = 10,
    delta: Delta = 0.05,
) -> Algorithm:
    """KN and KN++, for gaps of at least epsilon, Kim and Nelson 2001.

    Return Kim and Nelson's KN or KN++, for Gaussian rewards of unknown variances. Each round pulls every surviving arm
    once. From round n0 = first_rounds on, survivor i is eliminated after round r if its mean is below that of some
    survivor l by more than W = max(0, (epsilon / (2 r)) (h^2 S^2_il / epsilon^2 - r)). Here S^2_il is the sample
    variance of X_l - X_i in the first n0 rounds and h^2 = (n0 - 1) ((2 q)^(-2 / (n0 - 1)) - 1). Once W = 0 the larger
    mean wins. "kn" therefore stops by round 1 + max(n0, h^2 max S^2 / epsilon^2). "kn++" updates the variance and h^2
    in each round, with r in place of n0.

    With q = delta / (K - 1) the guarantee holds for any variances and any correlation between arms, common random
    numbers included; with `independent`, q = 1 - (1 - delta)^(1 / (K - 1)). If some gaps are below epsilon and others
    above, nothing is proved, so the promise is marked as not proved. An audit checks against `Promise`, an arm within
    epsilon of the best.

    Nothing is proved for rewards that are not Gaussian, and rare events break the guarantee in both directions. Use
    `paired_race` if the result must not depend on epsilon. The state holds num_arms^2 pair variances, or num_arms of
    "kn++" with independent arms. It runs in float64 only, because it cannot verify float32 runs.

    Guarantee: The error rate is at most delta where every gap is at least epsilon (Kim and Nelson 2001), for small
    epsilon only with the variant "kn++"; none for smaller gaps.

    Args:
      num_arms: number of arms K. For more arms use `student_race`, or "kn++" with independent arms.
      epsilon: the indifference zone, that is, the smallest gap worth detecting, in the unit of the rewards.
      variant: "kn", or "kn++" with updated variances.
      independent: whether the arms' rewards of a round are known to be independent, which allows a slightly larger q.
      first_rounds: n0, the number of rounds before the first comparison. Smaller values give a larger h^2.
      delta: allowed error probability. h^2 > 0 requires delta < 1/2 with two arms, and delta < 1 - 2^(1 - K) with
        independent arms.

    Source:
      Kim and Nelson (2001), A fully sequential procedure for indifference-zone selection in simulation, ACM TOMACS 11;
      Kim and Nelson (2006), On the asymptotic validity of fully sequential selection procedures for steady-state
      simulation, Operations Research 54.
    """
    per_arm = independent and variant == "kn++"  # then one variance per arm determines those of all pairs
    num_arms = num_arms if per_arm else few_arms(num_arms, "student_race")
    most = 1 - 2.0 ** (1 - num_arms) if independent else min(1.0, (num_arms - 1) / 2)
    checks.take("delta", delta, checks.scalars(number(0, most, open_low=True, open_high=True)))

    def keep(squares: Array, look: Look) -> Array:
        r, zone = look.rounds, as_float(epsilon)
        if independent:
            q = -jnp.expm1(jnp.log1p(-as_float(delta)) / (num_arms - 1))
        else:
            q = as_float(delta) / (num_arms - 1)
        freedom = jnp.maximum(r, float(first_rounds)) - 1 if variant == "kn++" else as_float(first_rounds - 1)
        # This is h^2 S^2, in which the degrees of freedom cancel.
        pairs = squares[:, None] + squares[None] if per_arm else squares
        spread = jnp.expm1(-2 * (math.log(2) + jnp.log(q)) / freedom) * pairs
        width = jnp.maximum(spread / zone - r * zone, 0.0) / (2 * r)
        lead = look.leads  # of arm l over arm i, at [l, i]
        order = jnp.arange(num_arms, dtype=jnp.int32)
        tied = (lead == 0) & (width == 0) & (order[:, None] < order[None])
        beaten = ((lead > width) | tied) & look.survivors[:, None]
        return ~jnp.any(beaten, 0) | (r < first_rounds)

    def observe(squares: Array, look: Look) -> Array:
        if per_arm:
            apart = jnp.where(look.survivors, look.rewards - look.before, 0.0)
            return squares + apart * (look.rewards - look.means)
        renewed = more_squares(squares, look)
        return renewed if variant == "kn++" else jnp.where(look.rounds <= first_rounds, renewed, squares)

    return race(
        num_arms,
        keep,
        promise=Promise(delta, epsilon, proved=False),
        rewards=Rewards(),
        assumptions=ASSUMPTIONS,
        begin=lambda: jnp.zeros(num_arms if per_arm else (num_arms, num_arms)),
        observe=observe,
        deviations=True,
    )
