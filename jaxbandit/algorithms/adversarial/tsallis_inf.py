"""Tsallis-INF: Zimmert and Seldin (2021), Algorithm 1, with both of its estimates of losses.

Follow the regularized leader with the Tsallis entropy of order 1/2: optimal up to constants both where an adversary
chooses the losses and where they are drawn from fixed laws, without being told which.
"""

from typing import Literal

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.adversarial.regularized_leader import regularized_leader
from jaxbandit.base import Algorithm
from jaxbandit.numerics import as_float
from jaxbandit.solvers.tsallis import tsallis_probabilities
from jaxbandit.types import Array, Scalar

ETAS = {"importance": 2.0, "reduced_variance": 4.0}  # of the paper's theorems, by estimate


def tsallis_inf(
    num_arms: int, *, estimate: Literal["importance", "reduced_variance"] = "importance", eta: Scalar | None = None
) -> Algorithm:
    """Return Tsallis-INF with the learning rate eta / sqrt(t) at round t.

    Proved, for rewards in [0, 1] that an adversary fixed in advance: expected regret against the best fixed arm after T
    rounds of K arms is at most 4 sqrt(K T) + 1 with "importance" and 2 sqrt(K T) + 10 K log T + 16 with
    "reduced_variance", for every T; on stochastic rewards with one best arm, and on the stochastically constrained
    adversary, it is O(sum over the other arms of log T / gap). All with the default eta.

    Args:
      num_arms: number of arms, K >= 1, static.
      estimate: of an arm's loss, static. "importance": the loss over its probability. "reduced_variance": losses of
        arms that are not improbable (p >= eta_t^2) are taken to be 1/2, and only the difference is divided.
      eta: constant of the learning rate, > 0, traced. None: 2 for "importance", 4 for "reduced_variance".

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1]. It recommends the arm of the
      least estimated loss, which is the most likely one.

    Raises:
      ValueError: an argument is out of range.

    Source: Zimmert, Seldin (2021), Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits, JMLR.
    """
    num_arms = checks.integer("tsallis_inf", "num_arms", num_arms, 1)
    checks.choice("tsallis_inf", "estimate", estimate, tuple(ETAS))
    if eta is None:
        eta = ETAS[estimate]
    else:
        checks.number("tsallis_inf", "eta", eta, low=0.0, open_low=True)
    constant = eta

    def eta_at(round: Array) -> Array:
        return as_float(constant) / jnp.sqrt(round)

    def probabilities(excess: Array, round: Array) -> Array:
        return tsallis_probabilities(eta_at(round) / 2 * excess)

    def baseline(p: Array, round: Array) -> Array:
        return jnp.where(p >= eta_at(round) ** 2, 0.5, 0.0).astype(p.dtype)

    reduced = estimate == "reduced_variance"
    return regularized_leader("tsallis_inf", num_arms, probabilities, baseline=baseline if reduced else None)
