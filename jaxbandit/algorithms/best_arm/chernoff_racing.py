"""Chernoff racing (Garivier, Kaufmann 2016, Section 6): the generalised likelihood ratio drops arms from a race.

After a round in which each survivor has r pulls, the empirical worst is dropped if Z(best, worst) > beta, both at r
pulls. Differs: `drop = "all"` drops every survivor that passes the same test, not the worst alone.
"""

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.racing import Drop, Look, kept, race
from jaxbandit.algorithms.best_arm.thresholds import ThresholdName, pair_threshold, rewards_of
from jaxbandit.base import Algorithm, Promise
from jaxbandit.solvers.families import FamilyName, transport
from jaxbandit.solvers.families import family as family_of
from jaxbandit.types import Array, Scalar


def chernoff_racing(
    num_arms: int,
    *,
    family: FamilyName = "bernoulli",
    threshold: ThresholdName = "kt",
    drop: Drop = "all",
    delta: Scalar = 0.05,
    sigma: Scalar = 1.0,
    grid: Scalar = 1.0,
) -> Algorithm:
    """Return Chernoff racing, which finds the best arm of a one-parameter family.

    Proved, with the thresholds `kk`, `gauss` and `kt`, P(the last survivor is not the best arm) <= delta: to drop the
    best arm a* somebody, b, must have Z_{b,a*} > beta, which the threshold bounds over all b and all times at once. So
    it holds whether one arm is dropped a round or several, and after whichever rounds one looks.

    Args:
      num_arms: number of arms, >= 2, static.
      family: of the rewards, "bernoulli", "gaussian", "poisson" or "exponential"; static. Rewards in [0, 1] may be
        played as "bernoulli" ones, sub-Gaussian ones as "gaussian".
      threshold: "heuristic" (of the paper's experiments, not proved), "kk", "gauss" (of gaussian rewards) or "kt" (of
        bernoulli ones), see `pair_threshold`; static.
      drop: at most the "worst" survivor a round, as published, or "all" that the threshold lets go; static.
      delta: allowed error rate, in (0, 1), traced.
      sigma: scale of gaussian rewards, > 0, traced; the other families do not read it.
      grid: ratio of two numbers of rounds after which survivors are compared, >= 1, traced. 1, as published, compares
        after every round from the second on; more takes fewer batches, and some more pulls.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range, or the threshold is not one of the family.

    Source: Garivier, Kaufmann (2016), Optimal best arm identification with fixed confidence, COLT, Section 6.
    """
    where = "chernoff_racing"
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    checks.choice(where, "drop", drop, ("worst", "all"))
    law = family_of(family, sigma, where=where)
    beta = pair_threshold(threshold, num_arms, delta, law, where=where)

    def keep(statistic: None, look: Look) -> Array:
        r = look.rounds

        def beats(leader: Array, other: Array) -> Array:
            return transport(law, leader, r, other, r) > beta.level(r, r, look.pulls)

        return kept(look, drop, beats)

    return race(
        where,
        num_arms,
        keep,
        promise=Promise(delta, proved=beta.proved),
        rewards=rewards_of(law),
        first=2,
        grid=grid,
    )
