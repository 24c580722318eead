"""Environments whose instance is drawn from a prior at the begin of each run, as for Bayesian regret."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.errors import JAXTypeError, UnexpectedTracerError

from jaxbandit.base.batches import BatchRewards
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Environment, Rewards, no_observation
from jaxbandit.base.declaration import declaration_of
from jaxbandit.base.parameters import parameters_of
from jaxbandit.base.truth import Prior, Truth
from jaxbandit.support import checks
from jaxbandit.support.types import Array, Key, PyTree


class InstanceState(NamedTuple):
    """The instance of one run and its state."""

    arguments: dict[str, Array]  # those of the factory that were drawn, by name
    world: PyTree  # the state of the environment with these arguments


@checked
def drawn(environment: Callable[..., Environment], /, **arguments: Any) -> Environment:
    """Return an environment whose instance is drawn from a prior at the begin of each run.

    All runs are one compilation. The mean regret over the runs is the Bayesian regret, and an error rate is the mean
    over the prior. Two algorithms meet the same instance in the same run of a seed, so that `compare` pairs them, and
    run r has the numbers that it has on this instance alone. What algorithms may know contains nothing that is drawn.

    Args:
      environment: a factory, such as `jb.environments.bernoulli`, or a functools.partial of one.
      **arguments: those of the factory. A function `(key) -> array` draws a traced argument, such as
        `means=lambda key: jax.random.beta(key, 1, 1, (9,))`; several are drawn independently of each other. Anything
        else is passed on, and an argument that is itself a function goes into a functools.partial.

    Returns:
      An Environment with the actions and rewards of the factory's. `simulate` and `identify` refuse a prior of which a
      run draws arguments that the factory refuses, and keep what each run drew in the arrays `drawn/NAME`
      [runs, ...] of the result, beside `gap` float[runs], by how much the best mean exceeds the second.

    Raises:
      ValueError: no argument is drawn, one that is drawn is static, or the noise of the environment depends on it.
    """
    priors = {name: arguments[name] for name in sorted(arguments) if callable(arguments[name])}
    fixed = {name: value for name, value in arguments.items() if name not in priors}
    _check_names(environment, priors)

    def draw(key: Key) -> dict[str, Array]:
        return {name: prior(_key_of(key, i)) for i, (name, prior) in enumerate(priors.items())}

    def instance(**values: Any) -> Environment:
        return environment(**fixed, **values)

    def init(key: Key) -> InstanceState:
        values = draw(key)
        return InstanceState(values, instance(**values).init(key))

    template, known, shapes = _traced(draw, instance)

    def outside() -> Environment:  # of noise, which depends on no state
        return instance(**{name: jnp.zeros(shape, dtype) for name, (shape, dtype) in shapes.items()})

    def of_state(name: str) -> Any:
        """Return a function of the contract with the state as its first argument; None if the template has none."""
        return getattr(template, name) and (
            lambda state, *more: getattr(instance(**state.arguments), name)(state.world, *more)
        )

    def transition(state: InstanceState, *more: Any) -> InstanceState:
        step: Any = instance(**state.arguments).transition
        return state._replace(world=step(state.world, *more))

    def of_batch(name: str) -> Any:
        return getattr(template.batch, name) and (
            lambda state, *more: getattr(instance(**state.arguments).batch, name)(state.world, *more)
        )

    def means(state: InstanceState) -> Array:
        declared: Any = instance(**state.arguments).truth.means
        return declared(state.world)

    return template._replace(
        init=init,
        reward=of_state("reward"),
        noise=jax.jit(lambda key: outside().noise(key)),  # jit, so that zeros are traced and no factory judges them
        observe=no_observation if template.observe is no_observation else of_state("observe"),
        regret=of_state("regret"),
        transition=template.transition and transition,
        over=of_state("over"),
        simple_regret=of_state("simple_regret"),
        batch=template.batch
        and BatchRewards(
            jax.jit(lambda key: outside().batch.noise(key)),  # pyright: ignore[reportOptionalMemberAccess]
            of_batch("sums"),
            of_batch("squares"),
        ),
        rewards=_rewards(template.rewards),
        schedule=None,
        known=lambda: dict(known),
        truth=Truth(
            means=template.truth.means and means,
            dim=template.truth.dim,
            prior=Prior(tuple(priors), lambda state: state.arguments, instance),
        ),
    )


def _key_of(key: Key, number: int) -> Key:
    """Return the key of a prior, which no round and no `init` has.

    Words are changed and not drawn, and the generator is that of the runs, so that XLA's CPU compiler takes a tenth of
    the time.
    """
    data = jax.random.key_data(key)
    words = jnp.concatenate([data[:1] ^ jnp.uint32(0x9E3779B9), data[1:-1], data[-1:] - jnp.uint32(number + 1)])
    return jax.random.wrap_key_data(words, impl=jax.random.key_impl(key))


def _check_names(environment: Callable[..., Environment], priors: dict[str, Any]) -> None:
    """Raise ValueError unless something is drawn that can be traced."""
    if not priors:
        raise ValueError("no argument is drawn; give a function of a key, such as means=lambda key: ...")
    record, parameters = declaration_of(environment), parameters_of(environment)
    name = getattr(getattr(environment, "func", environment), "__name__", "the factory")
    concrete = () if record is None else record.concrete
    for key in priors.keys() & parameters.keys() if record else ():
        if not parameters[key].traced or key in concrete:
            can = [n for n, p in parameters.items() if p.traced and n not in concrete]
            some = f"must be one of {', '.join(can)}" if can else "and neither can its other arguments"
            raise ValueError(f"{key} of {name} is static and cannot be drawn, {some}")


def _traced(
    draw: Callable[[Key], dict[str, Array]], instance: Callable[..., Environment]
) -> tuple[Environment, dict[str, Any], dict[str, Any]]:
    """Return an environment of traced arguments, what it makes known that is not traced, and the arguments' shapes."""
    made: list[Any] = []

    def look(key: Key) -> None:
        values = draw(key)
        template = instance(**values)
        known = {name: x for name, x in template.known().items() if not any(map(checks.is_traced, jax.tree.leaves(x)))}
        made.extend((template, known, {name: (jnp.shape(x), _kind(x)) for name, x in values.items()}))

    key = jax.eval_shape(lambda: jax.random.key(0))
    try:
        jax.eval_shape(look, key)
    except JAXTypeError:
        raise ValueError("the factory uses what is drawn in Python or NumPy; write it with jax.numpy") from None
    except (ValueError, TypeError) as error:  # a new one, because JAX attaches notes of several lines
        raise (ValueError if isinstance(error, ValueError) else TypeError)(str(error)) from None
    template, known, shapes = made
    if not isinstance(template, Environment):
        raise ValueError(f"the factory returns a {type(template).__name__}, must return an Environment")
    for noise in (template.noise, None if template.batch is None else template.batch.noise):
        if noise is not None and _reads_tracer(noise, key):
            what = "the noise depends on what is drawn, but the contract allows it no state"
            raise ValueError(f"{what}; scale it in reward")
    return template, known, shapes


def _reads_tracer(noise: Callable[[Key], PyTree], key: Key) -> bool:
    """Whether the function closes over a traced value that it uses."""
    try:
        return any(map(checks.is_traced, jax.make_jaxpr(noise)(key).consts))
    except UnexpectedTracerError:
        return True


def _kind(x: Any) -> type:
    """Return the kind of a drawn argument's numbers, of whatever precision."""
    return float if jnp.issubdtype(jnp.result_type(x), jnp.floating) else int


def _rewards(declared: Rewards | None) -> Rewards | None:
    """Return what holds of the rewards of every instance: what is declared, unless it is drawn."""
    if declared is None:
        return None
    default = Rewards()._asdict()
    return Rewards(**{k: default[k] if checks.is_traced(x) else x for k, x in declared._asdict().items()})
