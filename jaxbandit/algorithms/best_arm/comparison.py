"""How arms are compared, however they are pulled: arm statistics, evidence for pairs, and the stopping rule.

A run stops when the generalized likelihood ratio statistic Z_bj of the arm b with the best empirical mean exceeds its
threshold for all j, whatever the sampling rule. `Comparison` is written once for all reward distributions.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.thresholds import ThresholdName, pair_threshold
from jaxbandit.base.contract import Algorithm, Arms, Promise, Rewards
from jaxbandit.support.numerics import add_at, argmax, as_float, get_at, kahan_at, normal_of_words, set_at, xlogx
from jaxbandit.support.types import Array, FamilyName, Key, Scalar
from jaxbandit.theory.estimators.counts import deviation
from jaxbandit.theory.solvers.families import Family, transport
from jaxbandit.theory.solvers.families import family as family_of
from jaxbandit.theory.solvers.optimal_weights import optimal_weights

# A run in float32 stops by the same rule with rounding errors. Evaluated in float64, its evidence may fall short of the
# threshold by at most this much.
TRUSTED = 0.01


class ArmStatistics(NamedTuple):
    """Sufficient statistics of num_arms arms."""

    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms], 0 where never pulled; minus `first` if it is kept
    # Sums of rewards, minus `first` if it is kept, float[1, num_arms]; in float32 float[2, num_arms], where the second
    # row is what rounding added. Sums rather than running means, so that equal empirical means compare as equal.
    sums: Array
    squares: Array | None  # float[num_arms], sums of squared deviations from the mean; None if they are not needed
    parts: Array | None  # float[num_arms], each arm's part of the threshold (`Comparison.part`), cached between pulls
    first: Array | None  # float[], the first reward of the run, inf before it; None: means are those of the rewards


class Comparison(NamedTuple):
    """What a family of rewards and a threshold define for arms a and j, in terms of an `ArmStatistics`."""

    evidence: Callable[[ArmStatistics, Array], Array]  # (arms, a) -> Z_aj for all j, float[num_arms], 0 at j = a
    level: Callable[[ArmStatistics, Array, Array], Array]  # (arms, a, pulls of all arms) -> thresholds of Z_aj
    weights: Callable[[ArmStatistics], Array]  # the optimal proportions of pulls, float[num_arms]
    split: Callable[[ArmStatistics, Array, Array], Array]  # (arms, a, j) -> the fraction of Z_aj due to arm a, float[]
    proved: bool  # whether P(the run stops with a wrong answer) <= delta is proved
    rewards: Rewards  # the rewards for which it is
    # (words, arms), uint32[num_arms] -> float[num_arms]: posterior draws of the means, up to a monotone transformation
    draw: Callable[[Array, ArmStatistics], Array]
    deviations: Callable[[ArmStatistics], Array] | None = None  # scale of one reward, float[num_arms]; None: unknown
    first: int = 1  # pulls of each arm before arms are compared
    assumptions: tuple[str, ...] = ()  # of the proof, beyond `rewards`
    invariant: bool = False  # whether nothing above changes if all means are shifted; then means are minus `first`
    squares: bool = False  # whether the sums of squared deviations are needed
    part: Callable[[Array], Array] | None = None  # pulls >= 1 of one arm -> its part of the threshold


def known_family(
    name: FamilyName, threshold: ThresholdName | None, num_arms: int, delta: Scalar, sigma: Scalar
) -> Comparison:
    """Return the comparison of arms of a one-parameter family. See `family` and `pair_threshold` for the arguments."""
    law: Family = family_of(name, sigma)
    beta = pair_threshold(threshold, num_arms, delta, law)

    def evidence(arms: ArmStatistics, a: Array) -> Array:
        mean, n = get_at(arms.means, a), _pulls(get_at(arms.counts, a))
        if name == "bernoulli" and arms.means.dtype == jnp.float64:
            return _bernoulli_evidence(mean, n, arms.means, _pulls(arms.counts))
        return transport(law, mean, n, arms.means, _pulls(arms.counts))

    def level(arms: ArmStatistics, a: Array, pulls: Array) -> Array:
        whole = beta.whole(jnp.maximum(pulls, 1))
        return whole if arms.parts is None else whole + (get_at(arms.parts, a) + arms.parts)

    def split(arms: ArmStatistics, a: Array, j: Array) -> Array:
        n_a, n_j = _pulls(get_at(arms.counts, a)), _pulls(get_at(arms.counts, j))
        mean_a, mean_j = get_at(arms.means, a), get_at(arms.means, j)
        gap, share = mean_a - mean_j, n_j / (n_a + n_j)
        if name == "gaussian":
            return jnp.where(gap > 0, share, 0.5)
        gap = jnp.maximum(gap, 0.0)
        own, other = n_a * law.apart(mean_a, -share * gap), n_j * law.apart(mean_j, (1 - share) * gap)
        both = own + other
        return jnp.where(both > 0, own / jnp.where(both > 0, both, 1.0), 0.5)

    def deviations(arms: ArmStatistics) -> Array:
        return jnp.full_like(arms.means, as_float(law.sigma))

    return Comparison(
        evidence=evidence,
        level=level,
        weights=lambda arms: optimal_weights(law, arms.means).weights,
        split=split,
        proved=beta.proved,
        rewards=law.rewards,
        deviations=deviations if name in ("bernoulli", "gaussian") else None,
        invariant=law.invariant,
        part=beta.part,
        draw=lambda words, arms: law.posterior(normal_of_words(words), jnp.maximum(arms.counts, 1), arms.means),
    )


def with_slack(law: Comparison, epsilon: Scalar) -> Comparison:
    """Return the comparison in which arm a need not be better than arm j, but not worse than it by epsilon.

    It is the comparison with the mean of a raised by epsilon, for Gaussian arms, whose laws are shifts of each other.
    """

    def shift(arms: ArmStatistics, a: Array) -> ArmStatistics:
        return arms._replace(means=add_at(arms.means, a, as_float(epsilon)))

    return law._replace(
        evidence=lambda arms, a: law.evidence(shift(arms, a), a),
        split=lambda arms, a, j: law.split(shift(arms, a), a, j),
    )


def identification(
    law: Comparison,
    num_arms: int,
    delta: Scalar,
    epsilon: Scalar = 0.0,
    *,
    init: Callable[[Key], Any],
    select: Callable[[Any, Any, None], Array],
    update: Callable[[Any, None, Array, Array], Any],
    **more: Any,
) -> Algorithm:
    """Return the sampling rule with this stopping rule, for a state with the fields `arms` and `pulls`."""
    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=lambda state: argmax(state.arms.means)[None],
        stop=lambda state: separated(law, state.arms, state.pulls),
        verify=None if law.squares else lambda state: verified(law, state.arms, state.pulls),
        promise=Promise(delta, epsilon, proved=law.proved),
        arms=Arms(num_arms),
        rewards=law.rewards,
        assumptions=law.assumptions,
        **more,
    )


def nothing_seen(comparison: Comparison, num_arms: int) -> ArmStatistics:
    """Return the statistics before the first pull."""
    rough = jnp.result_type(float) == jnp.float32
    return ArmStatistics(
        counts=jnp.zeros(num_arms, jnp.int32),
        means=jnp.zeros(num_arms),
        sums=jnp.zeros((2 if rough else 1, num_arms)),
        squares=jnp.zeros(num_arms) if comparison.squares else None,
        parts=None if comparison.part is None else comparison.part(jnp.ones(num_arms)),
        first=as_float(jnp.inf) if comparison.invariant else None,
    )


def seen(comparison: Comparison, arms: ArmStatistics, arm: Array, reward: Array) -> ArmStatistics:
    """Return the statistics after one more reward: sums (compensated in float32) and Welford's sums of squares."""
    first, reward = deviation(arms.first, reward)
    count = get_at(arms.counts, arm) + 1
    totals, errors, after = kahan_at(arms.sums[0], arms.sums[1] if len(arms.sums) == 2 else None, arm, reward)
    sums = totals[None] if errors is None else jnp.stack([totals, errors])
    mean, squares = after / as_float(count), arms.squares
    if squares is not None:
        more = (reward - get_at(arms.means, arm)) * (reward - mean)
        squares = add_at(squares, arm, more)
    parts = arms.parts
    if comparison.part is not None and parts is not None:
        parts = set_at(parts, arm, comparison.part(as_float(count)))
    counts, means = set_at(arms.counts, arm, count), set_at(arms.means, arm, mean)
    return ArmStatistics(counts, means, sums, squares, parts, first)


def separated(comparison: Comparison, arms: ArmStatistics, pulls: Array, slack: float = 0.0) -> Array:
    """Return whether the best empirical mean is significantly better than all others, bool[]; False at a tie."""
    best = argmax(arms.means)
    other = jnp.arange(arms.means.shape[0], dtype=jnp.int32) != best
    excess = comparison.evidence(arms, best) - comparison.level(arms, best, pulls)
    return (jnp.min(jnp.where(other, excess, jnp.inf)) > -slack) & (pulls >= comparison.first * arms.means.shape[0])


def verified(comparison: Comparison, arms: ArmStatistics, pulls: Array) -> Array:
    """Return whether a run that stopped in float32 satisfies the rule in float64, up to TRUSTED, bool[]."""
    if len(arms.sums) == 1:
        return jnp.ones((), bool)
    means = (arms.sums[0] - arms.sums[1]) / _pulls(arms.counts)
    same = argmax(means) == argmax(arms.means)
    parts = None if comparison.part is None else comparison.part(_pulls(arms.counts))
    return same & separated(comparison, arms._replace(means=means, parts=parts), pulls, TRUSTED)


def _pulls(counts: Array) -> Array:
    """Return the counts as floats, at least 1. Arms without a pull are never compared."""
    return as_float(jnp.maximum(counts, 1))


def _bernoulli_evidence(mean_a: Array, n_a: Array, mean_b: Array, n_b: Array) -> Array:
    """Return `transport` from entropies: half the logarithms, with a rounding error relative to the number of pulls."""
    both = n_a + n_b
    middle = (n_a * mean_a + n_b * mean_b) / both
    left = n_a * _entropy(mean_a) + n_b * _entropy(mean_b)
    return jnp.where(mean_a > mean_b, jnp.maximum(both * _entropy(middle) - left, 0.0), 0.0)


def _entropy(p: Array) -> Array:
    return -xlogx(p) - xlogx(1 - p)
