"""The function `check_environment`, which checks the properties that the engine assumes of an environment."""

import functools
import re
import warnings
from collections.abc import Callable
from typing import NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import Count
from jaxbandit.base.batches import SetPulls
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Environment, Offer
from jaxbandit.engine.rounds.actions import contradiction, described
from jaxbandit.engine.rounds.contexts import misdeclared
from jaxbandit.lab.conformance import check_actions, check_truth
from jaxbandit.lab.conformance.check_case import CheckFailed, describe, leaves, make_key
from jaxbandit.lab.conformance.check_truth import SHARE
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, PyTree

PROPERTIES = {
    "traceable": "JAX can trace the functions, and tracing again gives the same program: all randomness is JAX's",
    "types": "the state keeps its tree, shapes and dtypes in transition; regret is float[]; contexts are as declared",
    "precision": "floats are float32, and float64 inside enable_x64",
    "feedback": "every sampled feedback is finite and within the range that rewards declares",
    "regret": "no gap is negative, in every sampled context some arm has gap 0, and an arm not offered has NaN",
    "over": "the run is not over before the first round, and its end may change: there is a transition",
    "truth": "declared means differ by the gaps; what is known is a dict; a lower bound's constant is at least 0",
    "batches of pulls": "the sums of a batch agree with single pulls in mean and variance, within 5 standard errors",
}
SAMPLES = 2000  # number of rounds sampled for each arm
PULLS = 8  # of each arm in a batch
ERRORS = 5.0  # standard errors: a correct environment with ten arms fails less than once in 10^5


class EnvironmentReport(NamedTuple):
    """The properties that were checked. A failed check raises an exception instead."""

    name: str
    properties: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.name}:", *(f"  {name}: {PROPERTIES[name]}" for name in self.properties)])


class _Sampled(NamedTuple):
    offered: Array  # bool[samples], whether the action may be taken
    feedback: PyTree  # [samples, ...] of an action
    regret: Array | None  # float[samples]
    mean: Array | None  # float[samples]


@checked
def check_environment(
    environment: Environment, *, actions: PyTree = None, rounds: Count = 20, seed: int = 0
) -> EnvironmentReport:
    """Check that an environment satisfies the contract on which the engine relies.

    Args:
      environment: an Environment, such as `bernoulli(means)`.
      actions: the actions to play, as an array, or a tree of arrays, whose first axis lists them. None plays every
        arm, or random sets or lists of arms, as declared by `environment.arms`, which is then required. An action that
        is not made of arms, such as a float, has to be given.
      rounds: number of successive rounds to play if the environment has a transition, at most its length.
      seed: seed of the random draws.

    Returns:
      An EnvironmentReport that lists the properties that were checked.

    Raises:
      CheckFailed: a property does not hold. It is an AssertionError whose one-line message names the contract
        violation and says what to do.
      ValueError: an argument of this function is wrong.
    """
    if not isinstance(environment, Environment):
        raise ValueError(f"got a {type(environment).__name__}, must be an Environment: call its factory")
    if actions is None and environment.arms is None:
        raise ValueError("the environment does not declare its arms; give actions")
    properties = [name for name in PROPERTIES if name != "batches of pulls" or environment.batch is not None]
    for name in ("regret", "over"):
        if getattr(environment, name) is None:
            properties.remove(name)
    if environment.arms is not None and (reason := contradiction(environment.arms)):
        raise ValueError(reason)
    _Case(environment, np.zeros(1), False, seed).check_values()
    for x64 in (False, True):
        with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"):
            case = _Case(environment, *_actions(environment, actions, seed), seed)
            case.check_types()
            if not x64:
                case.check_rounds(min(rounds, environment.length or rounds))
                case.check_batches()
    return EnvironmentReport(environment.name or "environment", tuple(properties))


def _actions(environment: Environment, actions: PyTree, seed: int) -> tuple[PyTree, bool]:
    """The actions to play, and whether these are all."""
    arms = environment.arms
    if actions is not None:
        single = arms is not None and arms.set_size is None and not check_actions.shaped(arms)
        whole = arms is not None and single and np.ndim(actions) > 0 and len(actions) == arms.num_arms
        typed = (as_float(x) if np.issubdtype(np.result_type(x), np.floating) else x for x in jax.tree.leaves(actions))
        return jax.tree.unflatten(jax.tree.structure(actions), map(jnp.asarray, typed)), whole
    assert arms is not None  # check_environment has required it
    rows, whole = check_actions.played(arms, seed)
    if rows is None:
        raise ValueError(f"an action is {described(arms)}, whose values are not known; give actions")
    return jnp.asarray(rows), whole


class _Case:
    """One environment in one precision."""

    def __init__(self, environment: Environment, actions: PyTree, whole: bool, seed: int):
        self.environment, self.actions, self.whole, self.seed = environment, actions, whole, seed
        self.number = len(jax.tree.leaves(actions)[0])
        self.name = environment.name or "environment"

    def fail(self, prop: str, message: str) -> NoReturn:
        raise CheckFailed(f"{self.name} ({jnp.result_type(float)}): {prop}: {message}")

    def fail_truth(self, message: str) -> NoReturn:
        self.fail("truth", message)

    def action(self, i: int) -> PyTree:
        """One of the actions to play, in turn."""
        return jax.tree.map(lambda x: x[i % self.number], self.actions)

    def check_values(self) -> None:
        """Check what is declared as plain values, outside of tracing."""
        check_truth.check_values(self.environment, self.fail_truth)

    def traced(self, name: str, function: Callable[..., PyTree] | None, *arguments: PyTree) -> PyTree:
        """Return the shapes of a function's results, and check that it traces to the same program twice."""
        if function is None:
            return None
        try:
            # A new function each time, because JAX would otherwise use its cache and not call it again.
            with warnings.catch_warnings():
                warnings.filterwarnings("error", "Explicitly requested dtype")  # float64 outside its scope
                made = [jax.make_jaxpr(functools.partial(function), return_shape=True)(*arguments) for _ in range(2)]
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            if "dtype promotion" in reason or reason.startswith("Explicitly requested dtype"):
                reason = re.split(r" have no available| requested in", reason)[0]
                self.fail("precision", f"{name}: {reason}; do not fix the dtype, use jaxbandit.numerics.as_float")
            self.fail("traceable", f"{name}: {type(error).__name__}: {reason}")
        (one, shape), (other, _) = made
        if shape is None and name in ("reward", "regret"):
            self.fail("types", f"{name} returns None; is a return statement missing?")
        if str(one) != str(other):
            self.fail(
                "traceable",
                f"{name} traced again is another program; draw all randomness in noise from its key, with jax.random",
            )
        return shape

    def check_types(self) -> None:
        environment, key = self.environment, make_key(self.seed)
        world = self.traced("init", environment.init, key)
        noise = self.traced("noise", environment.noise, key)
        context = self.traced("observe", environment.observe, world, noise)
        if mistake := misdeclared(environment, context):
            self.fail("types", mistake)
        met = (world, context, jax.eval_shape(lambda: self.action(0)))
        feedback = self.traced("reward", environment.reward, *met, noise)
        regret = self.traced("regret", environment.regret, *met)
        over = self.traced("over", environment.over, world)
        if over is not None and (over.shape, over.dtype) != ((), np.bool_):
            self.fail("types", f"over returns {describe(over)}, must be bool[], whether the run is over")
        if over is not None and environment.transition is None:
            self.fail("over", "there is no transition, so that its answer would never change; give both")
        self.check_shape_of_means(world)
        after = self.traced("transition", environment.transition, *met, noise)
        for path, leaf in (leaves(world, "state") | leaves(feedback, "feedback") | leaves(regret, "regret")).items():
            if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.dtype != jnp.result_type(float):
                self.fail("precision", f"{path} is {leaf.dtype}; do not fix the dtype, use jaxbandit.numerics.as_float")
        if regret is not None and regret.shape:
            self.fail("types", f"regret returns {describe(regret)}, must be float[], the gap of the action")
        if environment.transition is None:
            return
        before, moved = leaves(world, "state"), leaves(after, "state")
        for path in {**before, **moved}:
            here, there = (describe(x[path]) if path in x else "absent" for x in (before, moved))
            if here != there:
                self.fail(
                    "types", f"{path} is {here} from init, {there} from transition; cast so that both are the same"
                )

    def check_shape_of_means(self, world: PyTree) -> None:
        arms, means = self.environment.arms, self.traced("truth.means", self.environment.truth.means, world)
        if means is None or arms is None:
            return
        wanted = check_truth.wanted_shape(arms)
        if getattr(means, "shape", None) != wanted:
            got, shape = ", ".join(map(describe, jax.tree.leaves(means))), ", ".join(map(str, wanted))
            self.fail("truth", f"means returns {got}, must return float[{shape}], one mean for each arm")

    def check_rounds(self, rounds: int) -> None:
        """Check the feedback and the gaps of every action in the states of one run."""
        environment = self.environment
        draw = jax.jit(jax.vmap(environment.noise))
        look = jax.jit(jax.vmap(jax.vmap(self._look, (None, 0, None)), (None, None, 0), axis_size=SAMPLES))
        key, world = make_key(self.seed), jax.jit(environment.init)(make_key(self.seed))
        transition, observe = environment.transition, environment.observe
        move = transition and jax.jit(lambda world, action, one: transition(world, observe(world, one), action, one))
        for t in range(rounds if move else 1):
            if environment.over is not None and environment.over(world):
                if t == 0:
                    self.fail("over", "it is True before the first round; a run must have at least one")
                break
            noise = draw(jax.random.split(jax.random.fold_in(key, t), SAMPLES))
            samples = jax.device_get(look(world, self.actions, noise))
            self._judge(samples, f"in round {t + 1}")
            if move:
                world = move(world, self.action(t), jax.tree.map(lambda x: x[0], noise))

    def _look(self, world: PyTree, action: Array, noise: PyTree) -> _Sampled:
        environment = self.environment
        context = environment.observe(world, noise)
        regret = None if environment.regret is None else environment.regret(world, context, action)
        mean, means = None, environment.truth.means
        arms = environment.arms
        if means is not None and regret is not None and arms is not None and not check_actions.shaped(arms):
            mean = check_truth.mean_of(means(world), context, action)
        single = isinstance(context, Offer) and action.shape == ()
        offered = context.available[action] if single else jnp.ones((), bool)
        return _Sampled(offered, environment.reward(world, context, action, noise), regret, mean)

    def _judge(self, samples: _Sampled, when: str) -> None:
        for path, x in leaves(samples.feedback, "feedback").items():
            if not np.isfinite(x).all():
                self.fail("feedback", f"{path} is {x[~np.isfinite(x)][0]} {when}; guard divisions and logs")
        rewards = self.environment.rewards
        single = jax.tree.leaves(samples.feedback)
        if rewards is not None and len(single) == 1 and np.ndim(single[0]) == 2:
            low, high = (np.asarray(x, single[0].dtype) for x in (rewards.low, rewards.high))
            x = single[0]
            if (x < low).any() or (x > high).any():
                worst = x.min() if (x < low).any() else x.max()
                self.fail(
                    "feedback", f"it is {worst} {when}, but rewards declares [{low}, {high}]; correct one of the two"
                )
        if samples.regret is None:
            return
        if (wrong := np.isfinite(samples.regret) & ~samples.offered).any():
            least = samples.regret[wrong][0]
            self.fail("regret", f"it is {least:g} {when} for an arm that is not available; return NaN")
        gaps = np.where(np.isnan(samples.regret), np.inf, samples.regret)  # an arm that the context does not have
        slack = SHARE * np.abs(gaps[np.isfinite(gaps)]).max(initial=0.0)
        if gaps.min() < -slack:
            self.fail(
                "regret",
                f"it is {gaps.min():g} {when}; a gap is at least 0, measured from the best action",
            )
        if self.whole and gaps.min(1).max() > slack:
            arm = "action" if check_actions.shaped(self.environment.arms) else "arm"
            self.fail(
                "regret",
                f"no {arm} has gap 0 {when}, the smallest is {gaps.min(1).max():g}; that of the best {arm} must be 0",
            )
        if samples.mean is not None:
            check_truth.check_means(np.asarray(samples.mean), np.asarray(samples.regret), self.fail_truth)

    def check_batches(self) -> None:
        """Check the sums of PULLS pulls of every action against the same number of single pulls."""
        environment, law = self.environment, self.environment.batch
        if law is None:
            return
        key = make_key(self.seed + 1)
        world = jax.jit(environment.init)(make_key(self.seed))
        counts = jnp.full(self.number, PULLS, jnp.int32)
        pulls = counts if self.actions.ndim == 1 else SetPulls(self.actions, counts)
        whole = jax.jit(jax.vmap(lambda k: law.sums(world, pulls, law.noise(k))))(jax.random.split(key, SAMPLES))

        def singly(own: Array) -> Array:
            noise = jax.vmap(environment.noise)(own)
            each = jax.vmap(jax.vmap(self._look, (None, 0, None)), (None, None, 0))(world, self.actions, noise)
            return jnp.sum(each.feedback, 0)

        # Keys are split outside, because XLA's CPU compiler takes very long to unroll a chain of Threefry calls.
        each_pull = jax.random.split(jax.random.fold_in(key, 1), (SAMPLES, PULLS))
        parts = jax.jit(jax.vmap(singly))(each_pull)
        whole, parts = np.asarray(whole, np.float64), np.asarray(parts, np.float64)
        for name, a, b in (("mean", whole, parts), ("variance", _squared(whole), _squared(parts))):
            error = np.sqrt((a.var(0) + b.var(0)) / SAMPLES) + 1e-6 * np.abs(b).max()
            apart = np.abs(a.mean(0) - b.mean(0)) / error
            if apart.max() > ERRORS:
                i = int(apart.argmax())
                self.fail(
                    "batches of pulls",
                    f"{name} of {PULLS} pulls of action {i} is {a.mean(0)[i]:g}, {b.mean(0)[i]:g} one by one",
                )


def _squared(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(0)) ** 2
