"""Linear contextual bandit whose theta is drawn in each run, uniformly on the unit sphere.

Hao, Lattimore and Szepesvari (2020, OAM), Appendix D.2. In contrast, `linear_random` is one instance for all runs.
"""

import jax
import jax.numpy as jnp

from jaxbandit.base.arguments import ContextSets, Deviation, Mask, NonNegativeVector
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.base.truth import Truth
from jaxbandit.environments.linear_arms.linear_contextual import checked, from_means, masked
from jaxbandit.environments.means import means_of_state
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Key


@declare(
    settings=(
        {
            "action_sets": (((1.0, 0.1), (-0.5, 0.9), (0.7, 0.5)), ((0.35, 0.25), (-0.25, 0.45), (0.5, 0.05))),
            "probabilities": (0.25, 0.75),
        },
    )
)
def linear_contextual_random(
    action_sets: ContextSets, probabilities: NonNegativeVector, *, mask: Mask | None = None, sigma: Deviation = 1.0
) -> Environment:
    """linear_contextual with theta drawn on the unit sphere in each run.

    Return `linear_contextual` with a random theta of norm 1 in each run, so that regret is averaged over problems.

    Args:
      probabilities: float[num_contexts], the probabilities of the contexts, of sum 1. They are hidden
        from algorithms.

    Returns:
      An Environment as `linear_contextual`, whose means and gaps are different in each run.

    Raises:
      ValueError: as for `linear_contextual`.

    Source:
      Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS, Appendix D.2.
    """
    padding = masked(mask)
    action_sets, mask = checked(action_sets, probabilities, mask)

    def means(key: Key) -> Array:
        drawn = jax.random.normal(key, action_sets.shape[2:])
        theta = drawn / jnp.sqrt(jnp.sum(drawn * drawn))
        return jnp.sum(as_float(action_sets) * theta[None, None], axis=2)

    return from_means(means, action_sets.shape[1], probabilities, mask, sigma)._replace(
        known=lambda: {"features": action_sets, "sigma": sigma, "theta_norm": 1.0} | padding,
        truth=Truth(
            means=means_of_state, dim=action_sets.shape[2], parameters=lambda: {"probabilities": probabilities}
        ),
    )
