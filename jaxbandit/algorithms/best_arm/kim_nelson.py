"""KN and KN++, selection with an indifference zone: Kim and Nelson (2001); Kim and Nelson (2006).

The triangular region is drawn for the number of rounds, c = 1. Differs from some public code: the variance of a pair is
that of the pair in either order, the region never has a negative width, and of equal means the lowest arm stays.
"""

import math
from typing import Literal

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.pairs import few_arms, more_squares
from jaxbandit.algorithms.best_arm.racing import Look, race
from jaxbandit.base import Algorithm, Promise, Rewards
from jaxbandit.numerics import as_float
from jaxbandit.types import Array, Scalar


def kim_nelson(
    num_arms: int,
    *,
    epsilon: Scalar,
    variant: Literal["kn", "kn++"] = "kn",
    independent: bool = False,
    first_rounds: int = 10,
    delta: Scalar = 0.05,
) -> Algorithm:
    """Return Kim and Nelson's procedure, which finds an arm that is best by epsilon or more, for Gaussian rewards.

    Each round pulls every survivor once. From round n0 = first_rounds on, survivor i is dropped after round r if its
    mean is below that of some survivor l by more than W = max(0, (epsilon / 2 r) (h^2 S^2_il / epsilon^2 - r)), where
    S^2_il is the sample variance of X_l - X_i in the first n0 rounds, and h^2 = (n0 - 1) ((2 q)^(-2 / (n0 - 1)) - 1).
    Once W = 0 the larger mean wins, and of equal means the lowest arm: "kn" stops by round 1 + max(n0, h^2 max S^2 /
    epsilon^2).

    Proved of "kn", if rounds are independent and Gaussian, with any variances: P(the best arm is recommended) >= 1 -
    delta whenever it is better than every other by epsilon or more; with q = delta / (K - 1) for any correlation
    between arms, common random numbers included, and with q = 1 - (1 - delta)^(1 / (K - 1)) for independent arms. That
    is less than what `Promise` says, an arm within epsilon of the best whatever the gaps: where some gaps are below
    epsilon and others are above, nothing is proved, and the promise is marked so. (Where all are below, every arm will
    do.) An audit judges by `Promise`: on gaps of epsilon and more the two agree but for an arm at exactly epsilon,
    which counts as right. "kn++" renews the variance and h in each round, with r for n0; it is proved in the limit of
    small epsilon only.

    If all gaps are far above epsilon, it stops earlier than rules with a promise for all gaps; if it must not depend
    on epsilon, use `paired_race`. Pair variances are num_arms^2 numbers; "kn++" of independent arms keeps num_arms,
    S^2_il = S^2_i + S^2_l being the variances of the two arms. It plays in float64 only: it cannot verify runs of
    float32.

    Args:
      num_arms: number of arms, in [2, 5000], static; for more, `student_race`, or "kn++" of independent arms.
      epsilon: the indifference zone, the smallest gap worth finding, in the unit of rewards, > 0, traced.
      variant: "kn", or "kn++" with renewed variances; static.
      independent: whether the arms' rewards of a round are known to be independent, for a slightly larger q; static.
      first_rounds: n0, rounds before the first comparison, >= 2, static. The fewer, the larger h^2.
      delta: allowed error rate, in (0, 1), traced; h^2 > 0 asks for delta < 1/2 with two arms, and for
        delta < 1 - 2^(1 - K) with independent ones.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range.

    Source: Kim, Nelson (2001), A fully sequential procedure for indifference-zone selection in simulation, ACM TOMACS;
    (2006), On the asymptotic validity of fully sequential selection procedures for steady-state simulation, Operations
    Research.
    """
    where = "kim_nelson"
    alone = independent and variant == "kn++"  # each arm has a variance of its own
    num_arms = checks.integer(where, "num_arms", num_arms, 2) if alone else few_arms(where, num_arms, "student_race")
    checks.number(where, "epsilon", epsilon, low=0.0, open_low=True)
    checks.choice(where, "variant", variant, ("kn", "kn++"))
    first_rounds = checks.integer(where, "first_rounds", first_rounds, 2)
    most = 1 - 2.0 ** (1 - num_arms) if independent else min(1.0, (num_arms - 1) / 2)
    checks.number(where, "delta", delta, low=0.0, high=most, open_low=True, open_high=True)

    def keep(squares: Array, look: Look) -> Array:
        r, means, zone = look.rounds, look.means, as_float(epsilon)
        if independent:
            q = -jnp.expm1(jnp.log1p(-as_float(delta)) / (num_arms - 1))
        else:
            q = as_float(delta) / (num_arms - 1)
        freedom = jnp.maximum(r, float(first_rounds)) - 1 if variant == "kn++" else as_float(first_rounds - 1)
        # h^2 S^2: the degrees of freedom cancel.
        pairs = squares[:, None] + squares[None] if alone else squares
        spread = jnp.expm1(-2 * (math.log(2) + jnp.log(q)) / freedom) * pairs
        width = jnp.maximum(spread / zone - r * zone, 0.0) / (2 * r)
        lead = means[:, None] - means[None]  # of arm l over arm i, at [l, i]
        order = jnp.arange(num_arms, dtype=jnp.int32)
        tied = (lead == 0) & (width == 0) & (order[:, None] < order[None])
        beaten = ((lead > width) | tied) & look.survivors[:, None]
        return ~jnp.any(beaten, 0) | (r < first_rounds)

    def observe(squares: Array, look: Look) -> Array:
        if alone:
            apart = jnp.where(look.survivors, look.rewards - look.before, 0.0)
            return squares + apart * (look.rewards - look.means)
        renewed = more_squares(squares, look)
        return renewed if variant == "kn++" else jnp.where(look.rounds <= first_rounds, renewed, squares)

    return race(
        where,
        num_arms,
        keep,
        promise=Promise(delta, epsilon, proved=False),
        rewards=Rewards(),
        begin=lambda: jnp.zeros(num_arms if alone else (num_arms, num_arms)),
        observe=observe,
    )
