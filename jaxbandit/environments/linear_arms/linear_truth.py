"""What is known and what is true of arms whose means are linear in their features."""

import numpy as np

from jaxbandit.base.truth import Truth
from jaxbandit.environments.means import means_of_state
from jaxbandit.support.types import ArrayLike, Scalar
from jaxbandit.theory import bounds  # its names are imported when they are called

MOST_NUMBERS = 1000  # largest number of feature entries for which the regret constant is computed within seconds


def linear_known(
    features: ArrayLike, theta: ArrayLike, sigma: Scalar, candidates: ArrayLike | None = None
) -> dict[str, ArrayLike]:
    """Return features, sigma, theta_norm, the Euclidean norm of theta, and candidates, which an algorithm may know."""
    more = {} if candidates is None else {"candidates": candidates}
    return {"features": features, "sigma": sigma, "theta_norm": (theta * theta).sum() ** 0.5} | more


def characteristic_time(
    features: ArrayLike, means: ArrayLike, sigma: Scalar, candidates: ArrayLike | None = None
) -> float:
    """Return T* of Gaussian arms, of which one is to be found, or of candidates, whose means are then given."""
    import jax

    from jaxbandit.theory.solvers.best_arm import best_arm_design

    with jax.enable_x64(True):
        return float(jax.jit(best_arm_design)(features, means, sigma=float(sigma), candidates=candidates).bound)


def linear_truth(
    features: ArrayLike, theta: ArrayLike, sigma: Scalar, *, gaussian: bool = True, mask: ArrayLike | None = None
) -> Truth:
    """Return the truth for the arguments of `linear_known`; the lower bounds are those of Gaussian noise."""

    def regret_constant() -> float:
        constant = float(bounds.linear_regret_constant(features, theta, mask=mask).bound)
        return constant * float(sigma) ** 2

    def time() -> float:
        return characteristic_time(features, (features * theta).sum(axis=1), sigma)

    return Truth(
        means=means_of_state,
        regret_constant=regret_constant if gaussian and np.size(features) <= MOST_NUMBERS else None,
        characteristic_time=time if gaussian and features.ndim == 2 and len(features) > 1 else None,
        dim=features.shape[-1],
        parameters=lambda: {"theta": theta},
        costly=True,
    )
