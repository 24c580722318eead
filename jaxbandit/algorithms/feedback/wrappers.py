"""What the wrappers share: which algorithms they accept, and the pulls that were made."""

import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm, action_of
from jaxbandit.support.numerics import add_at
from jaxbandit.support.types import Array, PyTree


def check_wrapped(algorithm: object) -> Algorithm:
    """Return an algorithm that plays pull by pull to a fixed horizon; raise ValueError for any other."""
    if not isinstance(algorithm, Algorithm):
        got = getattr(algorithm, "__name__", type(algorithm).__name__)
        raise ValueError(f"algorithm = {got}, must be an Algorithm, as a factory such as kl_ucb(9) returns")
    name = algorithm.name or "the algorithm"
    if algorithm.stop is not None or algorithm.batch is not None:
        raise ValueError(f"algorithm = {name} has a stopping rule or pulls in batches; give one with a fixed horizon")
    if algorithm.arms is None:
        raise ValueError(f"algorithm = {name} does not declare its arms; set arms = Arms(num_arms) in its Algorithm")
    if algorithm.arms.action is not None:
        raise ValueError(f"algorithm = {name} declares an action of its own, must choose arms or sets of arms")
    return algorithm


def no_pulls(algorithm: Algorithm, state: PyTree) -> Array | None:
    """Return zero pulls, int32, in the shape of the algorithm's own counts, which only include pulls with feedback."""
    return None if algorithm.pulls is None else jnp.zeros_like(algorithm.pulls(state), jnp.int32)


def with_pull(algorithm: Algorithm, pulls: Array | None, context: PyTree, selected: PyTree) -> Array | None:
    """Return the pulls after one more round."""
    arms, action = algorithm.arms, action_of(selected)
    if pulls is None or arms is None:
        return None
    if arms.set_size is not None:
        return pulls + action.astype(jnp.int32)
    place = action if arms.num_contexts is None else context * arms.num_arms + action
    return add_at(pulls, place, 1)
