"""The ground truth of arms whose rewards tell nothing about each other, and are of one family."""

from typing import Any

from jaxbandit.base.contract import Truth
from jaxbandit.base.types import Array
from jaxbandit.theory import bounds  # its names are imported when they are called


def means_of_state(state: Any) -> Array:
    """Return the true means of a run, float[num_arms], for states with a field `means`."""
    return state.means


def bernoulli_arms(means: Any) -> Truth:
    """Return the truth of Bernoulli arms with these means, in any order that a run may draw."""
    return family_arms(means, "bernoulli")._replace(regret_constant=lambda: bounds.bernoulli_regret_constant(means))


def gaussian_arms(means: Any, sigma: Any) -> Truth:
    """Return the truth of Gaussian arms with these means and one sigma, or one for each arm."""
    return Truth(
        means=means_of_state,
        regret_constant=lambda: bounds.gaussian_regret_constant(means, sigma),
        characteristic_time=lambda: bounds.characteristic_time(means, family="gaussian", sigma=sigma),
    )


def family_arms(means: Any, family: Any) -> Truth:
    """Return the truth of arms of a family in which the mean determines the distribution, with T* only."""
    return Truth(means=means_of_state, characteristic_time=lambda: bounds.characteristic_time(means, family=family))
