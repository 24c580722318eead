"""Checks that an algorithm fits an environment: the actions agree, and the rewards are those it is designed for."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm, Arms, Environment, Rewards
from jaxbandit.base.origin import origin_of
from jaxbandit.base.parameters import Arg, parameters_of
from jaxbandit.engine.rounds import actions, contexts
from jaxbandit.support import checks
from jaxbandit.support.domains import values
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Numbers, PyTree, Scalar

TIE = 1e-12  # relative tolerance: two scales this close count as equal


ALLOWED = ("rewards", "context")  # in what an algorithm need not fit, if the caller allows it
ALLOW = values(
    f"a list of some of {', '.join(map(repr, ALLOWED))}",
    lambda value: isinstance(value, list | tuple) and all(x in ALLOWED for x in value),
)
Allow = Annotated[Sequence[Literal["rewards", "context"]], Arg(ALLOW)]


def marks_of(algorithm: Algorithm, environment: Environment, allow: Allow) -> dict[str, bool]:
    """Return, as marks of a result, in what an algorithm does not fit; raise an error if that is not allowed."""
    check_pair(algorithm, environment, "rewards" in allow)
    return {
        "any_rewards": bool(misfit(algorithm.rewards, environment.rewards)),
        "any_context": contexts.check_used(algorithm, environment, "context" in allow),
    }


def check_pair(algorithm: Algorithm, environment: Environment, any_rewards: bool = False) -> None:
    """Raise a one-line error if an algorithm and an environment do not fit, according to what they declare."""
    check_objects(algorithm, environment)
    actions.check_declared(algorithm, environment)
    check_arms(algorithm, environment, None, False)
    contexts.check_declared(algorithm, environment)
    check_clock(algorithm, environment)
    if not any_rewards:
        check_rewards(algorithm, environment)


def check_objects(algorithm: object, environment: object) -> None:
    """Raise a one-line error if the arguments are not an Algorithm and an Environment, or if they are swapped."""
    if isinstance(algorithm, Environment) and isinstance(environment, Algorithm):
        raise ValueError("the algorithm and the environment are swapped: give the algorithm first")
    check_kind("algorithm", algorithm, Algorithm)
    check_kind("environment", environment, Environment)


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise a one-line error if `value` is not a `kind`, for example because a factory was not called."""
    if isinstance(value, kind):
        return
    called = getattr(value, "__name__", None) if callable(value) else None
    hint = f"; call it: {called}(...)" if called else ""
    if kind is Environment and isinstance(value, list | tuple):  # of means, as it seems
        hint = ", such as jb.environments.bernoulli(means)"
    if kind is Algorithm and isinstance(value, str):  # its name
        hint = ", such as jb.algorithms.ucb1(9)"
    got = f"{type(value).__name__} {called}" if called else type(value).__name__
    raise ValueError(f"{name} is a {got}, must be an {kind.__name__}{hint}")


def arms_of(algorithm: Algorithm, pulls: jax.ShapeDtypeStruct | None) -> Arms | None:
    """The action space that the algorithm declares; otherwise the one that the shape of its pulls implies."""
    if algorithm.arms is not None or pulls is None:
        return algorithm.arms
    return Arms(int(pulls.shape[0]))


def check_arms(
    algorithm: Algorithm, environment: Environment, pulls: jax.ShapeDtypeStruct | None, with_context: bool
) -> None:
    """Raise a one-line error if the algorithm's action space differs from the environment's.

    An algorithm that ignores contexts may be used in an environment that has contexts.
    """
    mine, theirs = arms_of(algorithm, pulls), environment.arms
    if mine is None or theirs is None:
        return
    if algorithm.arms is None and (theirs.set_size is not None or with_context):
        return  # the algorithm is free to number pulls of sets, or of arms in contexts, in its own way
    one, other = algorithm.name or "the algorithm", environment.name or "the environment"
    if (mine.set_size is None) != (theirs.set_size is None):
        kind = "sets of arms" if mine.set_size is not None else "single arms"
        rest = "sets of arms" if theirs.set_size is not None else "single arms"
        raise ValueError(f"{one} pulls {kind}, but {other} has {rest}: choose an algorithm for {rest}")
    if mine.members != theirs.members:
        kinds = {True: "the reward of each member (semi-bandit)", False: "one reward per set (full bandit)"}
        raise ValueError(f"{one} expects {kinds[mine.members]}, {other} returns {kinds[theirs.members]}: must be equal")
    for name, got, allowed in (
        ("num_arms", mine.num_arms, theirs.num_arms),
        ("sets of", mine.set_size, theirs.set_size),
    ):
        if got != allowed:
            raise ValueError(f"{one} is made for {name} {got}, {other} has {name} {allowed}: must be equal")


def check_recommendations(algorithm: Algorithm, environment: Environment) -> None:
    """Raise a one-line error if an algorithm recommends of candidates, or of a class, by which nobody judges it."""
    if environment.simple_regret is None:
        return
    one, other = algorithm.name or "the algorithm", environment.name or "the environment"
    asked, given = (None if x.arms is None else x.arms.num_candidates for x in (algorithm, environment))
    if asked != given:
        count, judges = ("an arm" if n is None else f"one of {n} candidates" for n in (asked, given))
        raise ValueError(f"{one} recommends {count}, but {other} judges {judges}: give both the same candidates")
    mine, theirs = (None if x.arms is None else x.arms.decision_class for x in (algorithm, environment))
    if mine is None or mine == theirs:
        return
    sets = "all sets" if theirs is None else f"another class, {theirs.name}"
    raise ValueError(
        f"{one} recommends the best set of its class, {mine.name}, but {other} judges it by the best of {sets}: must "
        "be the same; give both the same decision_class, which an environment of your own declares in its Arms"
    )


def check_clock(algorithm: Algorithm, environment: Environment) -> None:
    """Raise a one-line error if batches of pulls are planned or drawn for an environment that changes every round."""
    one, other = algorithm.name or "the algorithm", environment.name or "the environment"
    if environment.over is not None and environment.transition is None:
        raise ValueError(f"{other} has over without a transition: its answer would never change; must have both")
    if environment.transition is None:
        return
    if environment.batch is not None:
        raise ValueError(
            f"{other} has both a transition and batch, but it would not change within a batch of pulls: must "
            "have only one of the two; leave batch out"
        )
    if algorithm.batch is not None:
        raise ValueError(
            f"{one} plans batches of pulls, but {other} changes from round to round: choose an algorithm that "
            "decides on each pull"
        )


class Lengths(NamedTuple):
    """Largest numbers of rounds; None without a limit."""

    algorithm: int | None
    environment: int | None


def lengths(algorithm: Algorithm, environment: Environment) -> Lengths:
    """Return for how many rounds the state of an algorithm has room, and how many an environment has."""
    return Lengths(algorithm.length, environment.length)


def check_length(name: str, rounds: Scalar, limits: Lengths) -> None:
    """Raise a one-line error if `rounds`, the value of the argument `name`, are more than the limits."""
    if checks.is_traced(rounds):
        return
    if limits.environment is not None and rounds > limits.environment:
        most = limits.environment
        raise ValueError(f"{name} = {rounds}, must be at most {most}, the environment's number of rounds")
    if limits.algorithm is not None and rounds > limits.algorithm:
        raise ValueError(
            f"{name} = {rounds}, must be at most {limits.algorithm}, the rounds for which the algorithm keeps "
            "rewards; make it with a longer horizon"
        )


def check_rewards(algorithm: Algorithm, environment: Environment) -> None:
    """Raise a one-line error if the algorithm is not designed for these rewards, as far as they are declared."""
    reason = misfit(algorithm.rewards, environment.rewards)
    if reason:
        one, other = algorithm.name or "the algorithm", environment.name or "the environment"
        raise ValueError(
            f"{one} is made for rewards {described(algorithm.rewards)}, but {other} has rewards "
            f"{described(environment.rewards)}: {reason}; {_other_family(algorithm, environment)}"
            'allow = ["rewards"] plays it without its guarantees'
        )


def _other_family(algorithm: Algorithm, environment: Environment) -> str:
    """Return which family its factory should be given, in words; "" if it takes none, or not this one."""
    origin, rewards = origin_of(algorithm), environment.rewards
    if origin is None or rewards is None or rewards.family in (None, origin.arguments.get("family")):
        return ""
    takes = parameters_of(origin.factory).get("family")
    offered = takes is not None and rewards.family in takes.choices
    return f'{algorithm.name}(..., family="{rewards.family}") is made for these; ' if offered else ""


def misfit(wanted: Rewards | None, actual: Rewards | None) -> str:
    """Return the reason why the given rewards do not fit the wanted ones, or ""."""
    if wanted is None or actual is None:
        return ""
    low, high = _number(wanted.low), _number(wanted.high)
    least, most = _number(actual.low), _number(actual.high)
    if low is not None and least is not None and least < low:
        return "they may be lower"
    if high is not None and most is not None and most > high:
        return "they may be higher"
    if wanted.family is not None and actual.family is not None and wanted.family != actual.family:
        return "the family differs"
    sigma, scale = _number(wanted.sigma), _scale(actual)
    if sigma is not None and scale is not None and scale > sigma * (1 + TIE):
        return f"sigma must be at least {scale:g}"
    return ""


def advice(algorithm: Algorithm, environment: Environment) -> str:
    """Return a note if the algorithm is given a larger sigma than the rewards have, which costs pulls; or ""."""
    wanted, actual = algorithm.rewards, environment.rewards
    sigma = None if wanted is None else _number(wanted.sigma)
    scale = None if actual is None else _scale(actual)
    if sigma is None or scale is None or not 0 < scale < sigma * (1 - TIE):
        return ""
    return (
        f"sigma = {sigma:g}, but the rewards are {described(actual)}: sigma = {scale:g} suffices and needs fewer pulls"
    )


def _scale(rewards: Rewards) -> float | None:
    """The sub-Gaussian scale of rewards, which their range bounds; None if it is traced or unknown."""
    low, high = _number(rewards.low), _number(rewards.high)
    if rewards.sigma is None and low is not None and high is not None:
        return (high - low) / 2  # Hoeffding's lemma
    return _number(rewards.sigma)


def described(rewards: Rewards | None) -> str:
    """Describe rewards in words, such as "in [0, 1], sub-Gaussian with sigma 1, of the bernoulli family"."""
    if rewards is None:
        return "of any kind"
    low, high, sigma = _number(rewards.low), _number(rewards.high), _number(rewards.sigma)
    words = []
    if (low, high) != (-math.inf, math.inf):
        edges = ["?" if x is None else f"{x:g}" for x in (low, high)]
        left, right = "(" if low == -math.inf else "[", ")" if high == math.inf else "]"
        words.append(f"in {left}{edges[0]}, {edges[1]}{right}")
    if sigma is not None:
        words.append(f"sub-Gaussian with sigma {sigma:g}")
    if rewards.family is not None:
        words.append(f"of the {rewards.family} family")
    return ", ".join(words) or "of any size"


def _number(x: Numbers | None) -> float | None:
    """The largest entry of a concrete value; None if the value is traced or None."""
    return None if x is None or checks.is_traced(x) else float(np.max(np.asarray(x)))


def limits(rewards: Rewards | None) -> tuple[float, float]:
    """The range of rewards that an algorithm is designed for; -inf and inf where it is traced or not declared."""
    low, high = (None, None) if rewards is None else (_number(rewards.low), _number(rewards.high))
    return -math.inf if low is None else low, math.inf if high is None else high


def excess(rewards: Rewards | None, feedback: PyTree) -> Array:
    """Return how far the feedback is outside [low, high], float[]; not finite if any part of the feedback is not.

    If no range is declared, or if the feedback is not a single number, only finiteness is checked.
    """
    leaves = [x for x in map(jnp.asarray, jax.tree.leaves(feedback)) if jnp.issubdtype(x.dtype, jnp.floating)]
    if not leaves:
        return jnp.zeros(())
    if len(leaves) == 1 and leaves[0].ndim == 0 and rewards is not None:
        x, low, high = leaves[0], rewards.low, rewards.high
        sides = []
        if not _is(low, -math.inf):
            sides.append(jnp.asarray(low, x.dtype) - x)
        if not _is(high, math.inf):
            sides.append(x - jnp.asarray(high, x.dtype))
        if len(sides) == 2:
            return jnp.maximum(*sides)
        return sides[0] + (x - x) if sides else x - x
    return sum((as_float(jnp.sum(x - x)) for x in leaves), jnp.zeros(()))


def allows_both(rewards: Rewards | None) -> bool:
    """Whether both 0 and 1 are in the range of rewards; False if this is not known before a run."""
    if rewards is None or checks.is_traced(rewards.low) or checks.is_traced(rewards.high):
        return rewards is None
    return bool(np.all(np.asarray(rewards.low) <= 0) and np.all(np.asarray(rewards.high) >= 1))


def _is(x: Scalar, value: float) -> bool:
    return not isinstance(x, jax.Array) and np.ndim(x) == 0 and float(x) == value
