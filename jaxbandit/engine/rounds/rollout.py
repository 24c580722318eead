"""One run as a plain traced function, `rollout` and `run_until_stop`, or one round with your own feedback, `step`."""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.base.arguments import CountOfRounds, RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Choice, Environment, Outcome, action_of
from jaxbandit.base.parameters import Arg
from jaxbandit.engine.rounds import actions, contexts, fit, keys, manual_axes
from jaxbandit.engine.rounds import step as rounds
from jaxbandit.engine.rounds.fit import Allow
from jaxbandit.engine.rounds.recorder import has_nan
from jaxbandit.support import checks
from jaxbandit.support.domains import choice, integer
from jaxbandit.support.types import Array, Key, PyTree, Scalar


class Rollout(NamedTuple):
    """The result of `rollout`. The first axis of every field is the round, but of those after the last round."""

    actions: PyTree  # int32[horizon], bool[horizon, num_arms] where an action is a set, or as `Arms.action` declares
    feedback: PyTree  # float[horizon], or a tree of such arrays
    regret: Array | None  # float[horizon], gap of each round's action; None if the environment does not define it
    contexts: PyTree  # int32[horizon], None without contexts
    recommendation: PyTree  # after the last round; None if the algorithm recommends nothing
    state: PyTree  # the algorithm's state after the last round
    # bool[horizon], False once the environment was over: then the feedback and the regret are 0, and the action counts
    # nothing; None if the environment does not say when it is over
    counts: Array | None = None
    info: PyTree = None  # of each round's `Choice`, such as the probability of the action; None for a plain action
    world: PyTree = None  # the environment's state after the last round
    round: Array | int = 0  # int32[], the number of rounds up to here, from the first one of the run


TracedCount = Annotated[Scalar, Arg(checks.scalars(integer(1)))]


class Stopped(NamedTuple):
    """The result of `run_until_stop`."""

    outcome: Array  # int32[], an Outcome
    recommendation: PyTree
    samples: Array  # int[], number of pulls until it stopped or was censored
    pulls: Array | None  # int[num_arms], None if the algorithm does not count them
    simple_regret: Array | None  # float[], simple regret of the recommendation; None if the environment lacks it
    state: PyTree  # the algorithm's state when it stopped


@checked
def run_key(seed: RunSeed, run: int | Array) -> Key:
    """Return the key with which `rollout` and `run_until_stop` reproduce a run of `simulate` or `identify`.

    Args:
      seed: the seed given to `simulate` or `identify`.
      run: the index of the run, int32[] >= 0, traced.
    """
    return jax.random.fold_in(keys.root_key(seed), run)


@checked
def rollout(
    key: Key,
    algorithm: Algorithm,
    environment: Environment,
    horizon: CountOfRounds,
    *,
    start: Rollout | None = None,
    allow: Allow = (),
) -> Rollout:
    """Play one run of `horizon` rounds; a traced function, usable under the caller's jit, vmap and grad.

    Actions are integers, so the gradient of everything that depends on an argument through them alone is 0: "What has a
    gradient" in docs/write_your_own.md shows what to use instead.

    Args:
      key: a Threefry key of one run. `run_key(seed, r)` reproduces the actions of run r of `simulate(..., seed=seed)`.
      algorithm: the algorithm, which may close over traced values of the caller.
      environment: the environment, which may close over traced values of the caller.
      horizon: number of rounds; static.
      start: the rollout of the rounds before, with the same key, algorithm and environment, which is continued with
        equal numbers, as if all had been played at once; with `start._replace(world=...)` in a world that you change.
        Default: the run begins.
      allow: in what the algorithm need not fit, as for `simulate`.

    Raises:
      ValueError: the horizon is out of range, the key is not a Threefry key, or the algorithm does not fit the
        environment.
    """
    words, implementation = _prepared(key, algorithm, environment, allow)
    fit.check_length("horizon", horizon, fit.lengths(algorithm, environment))
    if start is None:
        world, state = rounds.begin(algorithm, environment, words, implementation)
    else:
        world, state = start.world, start.state

    def one_round(carry: tuple[PyTree, PyTree], t: Array) -> tuple:
        world, state = carry
        state = _replanned(algorithm, state)
        noise = rounds.draw(algorithm, environment, words, t, implementation)
        played = rounds.play(algorithm, environment, world, state, noise)
        over, earned = rounds.is_over(environment, world), (played.feedback, played.regret)
        earned = rounds.unless(over, earned, jax.tree.map(jnp.zeros_like, earned))
        after = rounds.unless(over, (played.world, played.state), (world, state))
        info = played.choice.info if isinstance(played.choice, Choice) else None
        return after, (played.action, *earned, played.context, None if over is None else ~over, info)

    before = jnp.asarray(0 if start is None else start.round, jnp.int32)
    first = manual_axes.as_after(lambda carry: one_round(carry, before + 1)[0], (world, state))
    numbers = before + jnp.arange(1, horizon + 1, dtype=jnp.int32)
    (world, state), (actions, feedback, regret, contexts, counts, info) = lax.scan(one_round, first, numbers)
    after = rounds.recommendation(algorithm, state), state
    return Rollout(actions, feedback, regret, contexts, *after, counts, info, world, before + horizon)


@checked
def run_until_stop(
    key: Key, algorithm: Algorithm, environment: Environment, max_rounds: TracedCount, *, allow: Allow = ()
) -> Stopped:
    """Play one run until its stopping rule stops it; a traced function, usable under the caller's jit and vmap.

    Under vmap, all runs continue until the slowest one stops, whereas `identify` refills the freed lanes.

    Args:
      key: a Threefry key of one run, as for `rollout`.
      algorithm: the algorithm, which may close over traced values of the caller.
      environment: the environment, which may close over traced values of the caller.
      max_rounds: number of pulls after which the run is right-censored; traced.
      allow: in what the algorithm need not fit, as for `simulate`.

    Raises:
      ValueError: `max_rounds` is out of range, the key is not a Threefry key, or the algorithm does not fit the
        environment.
    """
    words, implementation = _prepared(key, algorithm, environment, allow)
    fit.check_recommendations(algorithm, environment)
    fit.check_length("max_rounds", max_rounds, fit.lengths(algorithm, environment))
    world, state = rounds.begin(algorithm, environment, words, implementation)
    batches = rounds.plays_batches(algorithm, environment)
    dtype = rounds.count_dtype() if batches else jnp.int32
    limit = jnp.asarray(max_rounds, dtype)

    def step(world: PyTree, state: PyTree, t: Array) -> tuple[PyTree, PyTree, Array, Array]:
        if batches:
            noise = rounds.draw_batch(environment, words, t, implementation)
            after, sums, count = rounds.play_batch(algorithm, environment, world, state, noise)
            return world, after, fit.excess(None, sums), count
        noise = rounds.draw(algorithm, environment, words, t, implementation)
        played = rounds.play(algorithm, environment, world, state, noise)
        return played.world, played.state, fit.excess(environment.rewards, played.feedback), jnp.ones((), dtype)

    def body(carry: tuple) -> tuple:
        world, state, t, samples, watch, _ = carry
        state = _replanned(algorithm, state)
        stopped = rounds.stops(algorithm, state)
        moved, after, excess, count = step(world, state, t)
        over = (count > limit - samples) | (count < 0)
        if (ended := rounds.is_over(environment, world)) is not None:
            over |= ended
        outcome = jnp.where(stopped, int(Outcome.STOPPED), jnp.where(over, int(Outcome.MAX_ROUNDS), -1))
        played = outcome < 0
        world, state = jax.tree.map(lambda new, old: jnp.where(played, new, old), (moved, after), (world, state))
        watch = jnp.where(played, jnp.maximum(watch, excess), watch)
        broken = has_nan(state) | ~jnp.isfinite(watch)
        outcome = jnp.where(broken, int(Outcome.NONFINITE), outcome).astype(jnp.int32)
        return world, state, t + 1, jnp.where(played, samples + count, samples), watch, outcome

    start = (world, state, jnp.int32(1), jnp.zeros((), dtype), jnp.zeros(()), jnp.int32(-1))
    start = manual_axes.as_after(body, start)
    world, state, _, samples, watch, outcome = lax.while_loop(lambda carry: carry[-1] < 0, body, start)
    outside = (watch > 0) & (outcome != int(Outcome.NONFINITE))  # inf is also outside, but NONFINITE takes precedence
    outcome = jnp.where(outside, int(Outcome.OUT_OF_RANGE), outcome).astype(jnp.int32)
    recommended = rounds.recommendation(algorithm, state)
    judge, pulls = environment.simple_regret, algorithm.pulls
    return Stopped(
        outcome=outcome,
        recommendation=recommended,
        samples=samples,
        pulls=None if pulls is None else pulls(state),
        simple_regret=None if judge is None or recommended is None else judge(world, recommended),
        state=state,
    )


class Step(NamedTuple):
    """The result of `step`."""

    state: PyTree  # the algorithm's state after the round
    action: PyTree  # int32[], bool[num_arms] where an action is a set, or as `Arms.action` declares
    feedback: PyTree
    info: PyTree = None  # of the `Choice`, such as the probability of the action; None for a plain action


def step(
    algorithm: Algorithm,
    state: PyTree,
    respond: Callable[[PyTree], PyTree],
    key: Key,
    context: PyTree = None,
) -> Step:
    """Play one round of an algorithm on feedback of your own; a traced function, usable under jit, vmap and scan.

    It does all that a round is: `replan` if it is due, `noise`, `select`, `respond`, and `update`. Whoever calls these
    by hand and forgets `replan` plays with the plan of the first round for ever, and nothing says so.

    Args:
      algorithm: the algorithm.
      state: its state before the round: at first `algorithm.init(key)`, then `Step.state` of the round before.
      respond: `(action) -> feedback`, a float[] or what the algorithm accepts. It is called once, and traced if this
        function is.
      key: a typed key of this round, such as `jax.random.fold_in(key, t)`.
      context: the context of the round, None without contexts.

    Raises:
      ValueError: a function of the algorithm, or `respond`, fails. The message has one line.
    """
    state = _replanned(algorithm, state)
    noise = rounds.called("algorithm.noise", algorithm.noise, key)
    selected = rounds.called("algorithm.select", algorithm.select, noise, state, context)
    action = action_of(selected)
    feedback = rounds.called("respond", respond, action)
    after = rounds.called("algorithm.update", algorithm.update, state, context, selected, feedback)
    return Step(after, action, feedback, selected.info if isinstance(selected, Choice) else None)


def _prepared(key: Key, algorithm: Algorithm, environment: Environment, allow: Allow) -> tuple[rounds.Words, str]:
    """Check that the algorithm fits the environment; return the key words and the generator of the run."""
    fit.marks_of(algorithm, environment, allow)
    if not jnp.issubdtype(key.dtype, jax.dtypes.prng_key) or key.ndim:
        raise ValueError(f"key is {key.dtype}{list(key.shape)}, must be one typed key: jax.random.key(0)")
    implementation = checks.take("key", str(jax.random.key_impl(key)), choice(keys.IMPLEMENTATIONS))
    words = keys.run_words(key)

    def one_round() -> PyTree:
        world, state = rounds.begin(algorithm, environment, words, implementation)
        noise = rounds.draw(algorithm, environment, words, jnp.int32(1), implementation)
        played = rounds.play(algorithm, environment, world, state, noise)
        return played.context, played.action, None if algorithm.pulls is None else algorithm.pulls(state)

    context, action, pulls = jax.eval_shape(one_round)
    fit.check_arms(algorithm, environment, pulls, context is not None)
    actions.check_selected(algorithm, environment, action)
    contexts.check_observed(algorithm, environment, context)
    return words, implementation


def _replanned(algorithm: Algorithm, state: PyTree) -> PyTree:
    replan = algorithm.replan
    if replan is None:
        return state
    state = manual_axes.as_after(replan.apply, state)  # both branches must have the same marks
    return lax.cond(replan.due(state), replan.apply, lambda same: same, state)
