"""What environments have in common whose contexts follow a law and whose arms' means are a function of the context."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.truth import Truth, nothing
from jaxbandit.environments.contextual.laws import Law, LawName, law_of, table_leaf
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, get_at, normal_of_words, numbered_key, standard_normal
from jaxbandit.support.types import Array, ArrayLike, Key, Scalar


class ContextsState(NamedTuple):
    """The true parameters of one run, and the table of contexts, which all runs share."""

    theta: Array  # float[num_arms, dim], or float[dim] if all arms have the same
    table: Array | None = None  # float[rows, ...]


class Parameters(NamedTuple):
    """theta as it is given, or its shape if each run draws it."""

    shape: tuple[int, ...]
    given: ArrayLike | None = None

    def draw(self, key: Key) -> Array:
        """Return the theta of a run: as given, or with every row uniform on the unit sphere."""
        if self.given is not None:
            return as_float(self.given)
        normals = normal_of_words(jax.random.bits(key, self.shape, jnp.uint32))
        return normals / jnp.sqrt(jnp.sum(normals * normals, -1, keepdims=True))

    def norm(self) -> Scalar:
        """Return the norm of theta, the largest if each arm has its own."""
        return 1.0 if self.given is None else ((self.given * self.given).sum(-1) ** 0.5).max()


def parameters_of(theta: ArrayLike | None, num_arms: int | None, dim: int | None, ndim: int) -> Parameters:
    """Return the parameters, (num_arms, dim), or (dim,) of `ndim` 1; raise ValueError if a size is missing or wrong."""
    sizes = {"num_arms": num_arms, "dim": dim} if ndim == 2 else {"dim": dim}
    given = {name: size for name, size in sizes.items() if size is not None}
    if theta is None:
        for name in sizes:
            if name not in given:
                raise ValueError(f"{name} = None, must be an integer >= 1, unless theta is given")
        return Parameters(tuple(given.values()))
    checked = checks.take("theta", theta, checks.arrays(ndim=ndim))
    if not checked.shape[-1]:
        raise ValueError(f"theta has shape {checked.shape}, must have at least one column")
    for name, size in zip(sizes, checked.shape, strict=True):
        if given.get(name, size) != size:
            raise ValueError(f"{name} = {given[name]}, must be {size}, as theta has it, or be left out")
    return Parameters(checked.shape, checked)


def environment_of(
    law: LawName | ArrayLike,
    context: tuple[int, ...],
    num_arms: int,
    theta: Parameters,
    means: Callable[[Array, Array], Array],
    *,
    sigma: Scalar | None,
) -> Environment:
    """Return the environment with contexts of a law and normal rewards around their means, or rewards in {0, 1}.

    Args:
      law: as for `law_of`.
      context: shape of a context, (dim,) or (num_arms, dim).
      means: `(theta, context) -> float[num_arms]`, the mean rewards of all arms in a round.
      sigma: standard deviation of the rewards; None for Bernoulli rewards.
    """
    drawn: Law = law_of(law, context)

    def init(key: Key) -> ContextsState:
        return ContextsState(theta.draw(key), table_leaf(drawn))

    def noise(key: Key) -> tuple[Array, Array]:
        own = numbered_key(key, 2)
        return drawn.noise(numbered_key(key, 1)), jax.random.uniform(own) if sigma is None else standard_normal(own)

    def observe(state: ContextsState, noise: tuple[Array, Array]) -> Array:
        return drawn.context(state.table, noise[0])

    def reward(state: ContextsState, context: Array, action: Array, noise: tuple[Array, Array]) -> Array:
        mean = get_at(means(state.theta, context), action)
        return as_float(noise[1] < mean) if sigma is None else mean + as_float(sigma) * noise[1]

    def regret(state: ContextsState, context: Array, action: Array) -> Array:
        mu = means(state.theta, context)
        return jnp.max(mu) - get_at(mu, action)

    return Environment(
        init=init,
        observe=observe,
        noise=noise,
        reward=reward,
        regret=regret,
        arms=Arms(num_arms, context=context),
        rewards=Rewards(0.0, 1.0, 0.5, "bernoulli") if sigma is None else Rewards(sigma=sigma, family="gaussian"),
        known=lambda: {"sigma": 0.5 if sigma is None else sigma},
        truth=Truth(parameters=nothing if theta.given is None else lambda: {"theta": theta.given}),
    )
