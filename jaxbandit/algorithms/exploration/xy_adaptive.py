"""XY-adaptive allocation: Soare, Lazaric and Munos (2014); Xu, Honda and Sugiyama (2018), (6).

Where the printed algorithm is ambiguous, see `xy_adaptive`. Difference: the design is the continuous optimal one, which
is tracked, instead of greedy pulls.
"""

import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.exploration import thresholds, tracking
from jaxbandit.algorithms.exploration.phased_designs import (
    PhasedState,
    active_pairs,
    phased_design,
    repeats,
    same_features,
)
from jaxbandit.algorithms.exploration.static_designs import spanning_features
from jaxbandit.base.arguments import Delta, Features, OpenUnit, Sigma
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.estimators import ordinary_least_squares as least_squares
from jaxbandit.theory.solvers.design import pair_differences, transductive_design

SMALLEST = 1e-30  # a weight so small that it leads to one pull and no second


@declare(
    question="confidence",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2 d^2) at the end of each phase, and a new design",
    memory="O(K)",
    tries={"alpha": (0.1, 0.5)},
)
def xy_adaptive(
    features: Features, *, delta: Delta = 0.05, sigma: Sigma = 1.0, alpha: OpenUnit = 0.1, retest: bool = True
) -> Algorithm:
    """Designs for the remaining arms, phase by phase, Soare et al. 2014.

    A phase pulls according to the design that best estimates the differences y of the arms not yet discarded, until the
    largest y' A^-1 y is at most alpha times that of the last phase. Then all arms are tested anew on the pulls of that
    phase alone.

    The printed algorithm is interpreted as follows:

    - Its test rho_j / t >= alpha rho_{j-1} / n_{j-1} uses rho_j = t max_y y' A_t^-1 y, because the printed rho_j,
      the factor t, would be divided twice. Before the first phase it is rho_0 / n_0 = 1 / (d (d + 1) + 1), as printed
      (the authors of LinGapE use 1).
    - Instead of A_0 = I, which biases least squares, a phase begins with one pull of each arm, as in the code of
      LinGapE's authors. Then A is regular, and arms without weight are still tested.
    - The n in the threshold 2 sigma sqrt(y' A^-1 y) sqrt(2 log(6 n^2 K^2 / (delta pi^2))) counts the pulls of the
      phase.
    - With `retest`, an arm discarded in one phase is tested again in the next, as printed, and returns if that phase
      was not designed for it. It can then happen that no phase considers all arms and the run never ends, as on
      soare(5, 0.5).

    Guarantee: The error rate is at most delta; with retest, a run may never end.

    In detail, the error rate holds for alpha <= 0.8.

    Args:
      alpha: ratio of the largest variances at the ends of successive phases.
      retest: whether discarded arms may return. With False, as in the experiments of Fiez et al. (2019), every run
        ends.

    Returns:
      It requests its pulls in batches of one phase each, and replans between phases.

    Raises:
      ValueError: the features do not span R^dim.

    Source:
      Soare, Lazaric and Munos (2014), Best-arm identification in linear bandits, NeurIPS; Xu, Honda and Sugiyama
      (2018), A fully adaptive algorithm for pure exploration in linear bandits, AISTATS, Section 7.1.
    """
    features = spanning_features(features)
    num_arms, dim = features.shape

    def largest(active: Array, counts: Array) -> Array:
        """Return the largest y' A^-1 y over the differences y of active arms, float[]."""
        x = as_float(features)
        inverse = least_squares.inverse(least_squares.design_matrix(x, as_float(counts)))
        squares = least_squares.squared_norms(pair_differences(x), inverse)
        return jnp.max(jnp.where(active_pairs(active), squares, 0.0))

    def plan(active: Array, phase: Array, precision: Array) -> tuple[Array, Array]:
        x = as_float(features)
        design = transductive_design(x, pair_differences(x), mask=active_pairs(active))
        weights = jnp.maximum(design.weights, SMALLEST)
        wanted = as_float(alpha) * precision

        def halve(_: int, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = bounds
            middle = low + (high - low) // 2
            nothing = jnp.zeros(num_arms, int)
            enough = largest(active, tracking.followed(weights, nothing, middle)) <= wanted
            return jnp.where(enough, low, middle + 1), jnp.where(enough, middle, high)

        # Bisection for the smallest sufficient length. More pulls only reduce the variances, and every arm is pulled at
        # least (n - K) times its weight.
        longest = tracking.longest()
        most = jnp.minimum(jnp.ceil(design.value / wanted), longest - num_arms).astype(int) + num_arms
        bounds = (jnp.full((), num_arms, int), most)
        return weights, lax.fori_loop(0, longest.bit_length(), halve, bounds)[1]

    def eliminate(state: PhasedState) -> tuple[Array, Array, Array]:
        x = as_float(features)
        fit = least_squares.fit(x, state.phase_counts, state.means)
        pulls = jnp.sum(state.phase_counts, dtype=int)
        level = as_float(sigma) * thresholds.static_threshold(pulls, num_arms=num_arms**2, delta=delta)
        differences = (x[:, None] - x[None]).reshape(num_arms**2, dim)
        widths = level * jnp.sqrt(least_squares.squared_norms(differences, fit.inverse))
        gaps = fit.means[:, None] - fit.means[None]
        beats = (gaps >= widths.reshape(num_arms, num_arms)) & ~same_features(features)
        tested = ~repeats(features) if retest else state.active
        active = tested & ~jnp.any(beats & tested[:, None], 0)
        leader = argmax(jnp.where(tested, fit.means, -jnp.inf))
        return active, leader, largest(state.active, state.phase_counts)

    begin = 1 / (dim * (dim + 1) + 1)
    return phased_design(features, begin, plan, eliminate, delta=delta, sigma=sigma)
