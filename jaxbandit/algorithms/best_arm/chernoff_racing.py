"""Chernoff racing (Garivier and Kaufmann 2016, Section 6): eliminate arms by generalized likelihood ratios.

After a round in which each survivor has r pulls, the empirically worst arm is eliminated if Z(best, worst) > beta at r
pulls each. Difference from the paper: `drop = "all"` eliminates every survivor that fails the same test, not only the
worst.
"""

from jaxbandit.algorithms.arguments import Delta, Family, FamilySigma, Grid
from jaxbandit.algorithms.best_arm.racing import Drop, Look, race, unbeaten
from jaxbandit.algorithms.best_arm.thresholds import ThresholdName, pair_threshold
from jaxbandit.base.arguments import SeveralArms
from jaxbandit.base.contract import Algorithm, Promise
from jaxbandit.base.declaration import declare
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.families import family as family_of
from jaxbandit.theory.solvers.families import transport


@declare(
    question="confidence",
    rewards="of a known one-parameter family",
    finds="1",
    cost="O(K) a batch of pulls",
    memory="O(K)",
)
def chernoff_racing(
    num_arms: SeveralArms,
    *,
    family: Family = "bernoulli",
    threshold: ThresholdName = "kt",
    drop: Drop = "all",
    delta: Delta = 0.05,
    sigma: FamilySigma = 1.0,
    grid: Grid = 1.0,
) -> Algorithm:
    """Eliminates arms by likelihood ratios, Garivier and Kaufmann 2016.

    Return Chernoff racing, which finds the best arm of a one-parameter exponential family.

    Each round pulls every surviving arm once. A survivor is eliminated if the generalized likelihood ratio statistic Z
    of the empirically best arm against it exceeds the threshold beta.

    Guarantee: The error rate is at most delta.

    In detail, with the thresholds "kk", "gauss" and "kt", P(the last survivor is not the best arm) <= delta. The best
    arm a can only be eliminated if Z_{b,a} > beta for some arm b, which the threshold bounds over all b and all times
    at once. The guarantee therefore holds whether one or several arms are eliminated in a round, and whichever rounds
    are used for comparisons.

    Args:
      family: family of the reward distributions, "bernoulli", "gaussian", "poisson" or "exponential". "bernoulli" is
        also valid for any rewards in [0, 1], and "gaussian" for sub-Gaussian rewards.
      threshold: "heuristic" (that of the paper's experiments, without a proof), "kk", "gauss" (Gaussian rewards only)
        or "kt" (Bernoulli rewards only), see `pair_threshold`; static.
      drop: "worst" eliminates at most the worst survivor per round, as published; "all" eliminates all survivors that
        the threshold allows; static.
      grid: ratio between successive numbers of rounds after which the survivors are compared. With 1, as published,
        they are compared after every round from the second on. Larger values need fewer batches and somewhat more
        pulls.

    Raises:
      ValueError: the threshold is not available for the family.

    Source:
      Garivier and Kaufmann (2016), Optimal best arm identification with fixed confidence, COLT, Section 6.
    """
    law = family_of(family, sigma)
    beta = pair_threshold(threshold, num_arms, delta, law)

    def keep(statistic: None, look: Look) -> Array:
        r = look.rounds

        def beats(leader: Array, other: Array) -> Array:
            return transport(law, leader, r, other, r) > beta.level(r, r, look.pulls)

        return unbeaten(look, drop, beats)

    return race(
        "chernoff_racing",
        num_arms,
        keep,
        promise=Promise(delta, proved=beta.proved),
        rewards=law.rewards,
        first=2,
        grid=grid,
        invariant=law.invariant,
    )
