"""Drawing an arm from probabilities that a rule has computed."""

import jax.numpy as jnp

from jaxbandit.base.contract import Choice, Chosen
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import ArrayLike


def draw(u: ArrayLike, probabilities: ArrayLike) -> Choice:
    """Draw an arm from given probabilities by one uniform number, for the `select` of an algorithm.

    The arm is the smallest one with u < p_0 + ... + p_arm. Rounding of the sums does no harm: u is scaled by the
    largest of them, and an arm of probability 0 is never drawn. The choice also says the probability of its arm, which
    `ask` of a session then stores as the propensity, and which `policy_of` and `fit` use.

    Args:
      u: uniform in [0, 1), float[], such as `jax.random.uniform(key)` from the algorithm's `noise`. Traced.
      probabilities: of the arms, float[num_arms], at least 0 and with sum 1; they are not checked. Traced.

    Returns:
      `Choice(arm, Chosen(probability))` with the arm as int32[] and its probability as float[], which is NaN if one of
      the probabilities is.
    """
    probabilities = as_float(probabilities)
    sums = jnp.where(probabilities > 0, jnp.cumsum(probabilities), 0.0)
    last = probabilities.shape[0] - 1
    arm = jnp.min(jnp.where(sums > u * jnp.max(sums), jnp.arange(last + 1, dtype=jnp.int32), last))
    known = ~jnp.any(jnp.isnan(probabilities))
    return Choice(arm, Chosen(jnp.where(known, get_at(probabilities, arm), jnp.nan)))
