"""Tsallis-INF: Zimmert and Seldin (2021), Algorithm 1, with both of its loss estimates."""

from typing import Literal

import jax.numpy as jnp

from jaxbandit.algorithms.adversarial.regularized_leader import regularized_leader
from jaxbandit.base.arguments import NumArms, Positive
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.tsallis import tsallis_probabilities

ETAS = {"importance": 2.0, "reduced_variance": 4.0}  # the values in the paper's theorems, by estimate


@declare(
    question="regret",
    setting="adversarial",
    rewards="in [0, 1]",
    cost="O(K), four Newton steps",
    memory="O(K)",
    tries={"eta": (0.5, 2.0)},
    settings=({}, {"estimate": "reduced_variance"}),
)
def tsallis_inf(
    num_arms: NumArms,
    *,
    estimate: Literal["importance", "reduced_variance"] = "importance",
    eta: Positive | None = None,
) -> Algorithm:
    """Tsallis-INF, optimal for stochastic and for adversarial losses, Zimmert and Seldin 2021.

    Return Tsallis-INF with the learning rate eta / sqrt(t) in round t, which draws an arm from the distribution that
    minimizes the estimated loss, regularized by the Tsallis entropy of order 1/2: p_a = 4 / (eta_t (L_a - x))^2, where
    L_a is the sum of the arm's estimated losses and x normalizes.

    Guarantee: Expected regret of at most 4 sqrt(K T) + 1 for losses fixed in advance, and O(sum of log T / gap) on
    stochastic rewards with a unique best arm (Zimmert and Seldin 2021).

    In detail, with the default eta the regret on adversarial rewards in [0, 1] is at most 4 sqrt(K T) + 1 with
    "importance" and 2 sqrt(K T) + 10 K log T + 16 with "reduced_variance".

    Args:
      estimate: how the loss of an arm is estimated. "importance" divides the loss by the arm's probability.
        "reduced_variance" presumes a loss of 1/2 for arms with probability p >= eta_t^2, and divides only the
        difference from it.
      eta: constant of the learning rate; None means 2 for "importance" and 4 for "reduced_variance".

    Returns:
      It recommends the arm with the smallest estimated loss, which is the most likely one.

    Source:
      Zimmert and Seldin (2021), Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits, JMLR 22,
      Algorithm 1.
    """
    if eta is None:
        eta = ETAS[estimate]
    constant = eta

    def eta_at(round: Array) -> Array:
        return as_float(constant) / jnp.sqrt(round)

    def probabilities(excess: Array, round: Array) -> Array:
        return tsallis_probabilities(eta_at(round) / 2 * excess)

    def baseline(p: Array, round: Array) -> Array:
        return jnp.where(p >= eta_at(round) ** 2, 0.5, 0.0).astype(p.dtype)

    reduced = estimate == "reduced_variance"
    return regularized_leader(num_arms, probabilities, baseline=baseline if reduced else None)
