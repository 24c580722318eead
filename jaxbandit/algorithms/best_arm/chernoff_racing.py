"""Chernoff racing (Garivier and Kaufmann 2016, Section 6): eliminate arms by generalized likelihood ratios.

Difference from the paper: `drop = "all"` eliminates every survivor that fails the test, not only the worst.
"""

from jaxbandit.algorithms.best_arm.racing import Drop, Look, family_race, unbeaten
from jaxbandit.algorithms.best_arm.thresholds import ThresholdName, pair_threshold
from jaxbandit.base.arguments import Delta, Family, FamilySigma, Grid, SeveralArms
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.families import family as family_of
from jaxbandit.theory.solvers.families import transport


@declare(question="confidence", rewards="of a known one-parameter family", cost="O(K) a batch of pulls", memory="O(K)")
def chernoff_racing(
    num_arms: SeveralArms,
    *,
    family: Family = "bernoulli",
    threshold: ThresholdName | None = None,
    drop: Drop = "all",
    delta: Delta = 0.05,
    sigma: FamilySigma = 1.0,
    grid: Grid = 1.0,
) -> Algorithm:
    """Eliminates arms by likelihood ratios, Garivier and Kaufmann 2016.

    Each round pulls every surviving arm once. A survivor is eliminated if the generalized likelihood ratio statistic Z
    of the empirically best arm against it exceeds the threshold beta.

    Guarantee: The error rate is at most delta.

    In detail, this holds with the thresholds "kk", "gauss" and "kt", for every drop and grid.

    Args:
      threshold: static. None is the smallest proved one: "kt" for Bernoulli rewards (only), "gauss" for Gaussian
        rewards (only), otherwise "kk"; see `pair_threshold`. "heuristic" is that of the paper's experiments, without a
        proof.
      drop: "worst" eliminates at most the worst survivor per round, as published; "all" eliminates all survivors that
        the threshold allows; static.
      grid: ratio between successive numbers of rounds after which the survivors are compared; 1, as published, compares
        after every round. Larger values need fewer batches and somewhat more pulls.

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

    return family_race(law, num_arms, keep, delta, beta.proved, grid)
