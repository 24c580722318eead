"""Rules on given rewards round by round, without the engine: what differential tests compare with references."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Choice, action_of
from jaxbandit.engine.rounds.step import stops

KIND = "threefry4x32"


class Played(NamedTuple):
    """Arrays of all rounds: [rounds, ...], or [runs, rounds, ...] of several runs."""

    actions: Any
    stopped: Any  # whether the rule had stopped before the round
    recommended: Any  # its recommendation then
    noise: Any
    last: Any  # the state after all rounds, without their axis
    kinds: Any  # how many rounds of each kind there were before the round, of rules with phases
    info: Any  # what the rule says of its choice

    def end(self):
        """The round before which one run stopped first, the number of rounds if it did not."""
        return int(np.argmax(self.stopped)) if self.stopped.any() else len(self.stopped)


def play(make, rewards, seed=0, *, noise=None, contexts=None, x64=True, **traced):
    """Play make(**traced) on rewards [rounds, num_arms], or [runs, rounds, num_arms].

    An arm has its reward of the round, a set of arms those of its members. A plan that is due is made before a round.
    `noise` of each round takes the place of what the rule draws. It is compiled once for the same object `make`.
    """
    words = np.random.default_rng(seed).integers(0, 2**32, (*rewards.shape[:-2], rewards.shape[-2] + 1, 4), np.uint32)
    with jax.enable_x64(x64):
        traced = {name: np.float64(value) for name, value in traced.items()}
        run = several if rewards.ndim == 3 else single
        return jax.device_get(run(make, traced, np.asarray(rewards, float), words, noise, contexts))


@functools.cache
def made(factory, *given, **static):
    """A factory with arguments that can be hashed; the same object for the same ones, so that it is compiled once."""
    return functools.partial(factory, *given, **static)


def rounds(make, traced, rewards, words, noise, contexts):
    """What `play` compiles: one run."""
    rule, keys = make(**traced), jax.random.wrap_key_data(words, impl=KIND)
    noise = jax.vmap(rule.noise)(keys[1:]) if noise is None else noise

    def body(state, given):
        own, row, context = given
        if rule.replan is not None:
            state = jax.lax.cond(rule.replan.due(state), rule.replan.apply, lambda same: same, state)
        choice = rule.select(own, state, context)
        action = action_of(choice)
        reward = row[action] if action.ndim == 0 else jnp.where(action, row, 0.0)
        seen = action, stops(rule, state), None if rule.recommend is None else rule.recommend(state)
        more = rule.phases and rule.phases.counts(state), choice.info if isinstance(choice, Choice) else None
        return rule.update(state, context, choice, reward), (seen, more)

    last, (seen, more) = jax.lax.scan(body, rule.init(keys[0]), (noise, rewards, contexts))
    return Played(*seen, noise, last, *more)


single = jax.jit(rounds, static_argnums=0)


@functools.partial(jax.jit, static_argnums=0)
def several(make, traced, *rows):
    # One after another, because tracing the rules for all at once takes longer.
    return jax.lax.map(lambda row: rounds(make, traced, *row), rows)


class Streamed(NamedTuple):
    """Arrays of all steps, [steps, ...], of which those after the stop repeat its state."""

    done: Any  # actions, or the pulls of batches; -1 after the stop
    stopped: Any  # whether the rule had stopped before the step
    recommended: Any  # its recommendation then
    planned: Any  # whether a plan was made before the step
    watched: Any  # what is asked for, of the state that the step begins with

    def end(self):
        """What was done until the rule stopped, and its recommendation then."""
        assert self.stopped.any(), "it must stop for the instance to show much"
        end = int(np.argmax(self.stopped))
        return self.done[:end], self.recommended[end]


def play_streams(make, streams, steps, *, batches=False, watch=lambda state: None, **traced):
    """Play make(**traced) on rewards [num_arms, pulls]: an arm's n-th pull has its n-th reward, whatever the order.

    Pulls are single, or in batches. It is compiled once for the same objects `make` and `watch`.
    """
    with jax.enable_x64(True):
        traced = {name: np.float64(value) for name, value in traced.items()}
        return jax.device_get(streamed(make, steps, batches, watch, traced, np.asarray(streams, float)))


@functools.partial(jax.jit, static_argnums=range(4))
def streamed(make, steps, batches, watch, traced, streams):
    rule = make(**traced)
    sums = jnp.pad(jnp.cumsum(streams, 1), ((0, 0), (1, 0)))

    def batch(state, pulled):
        pulls = rule.batch.plan(state)
        begin, end = (jnp.take_along_axis(sums, n[:, None], 1)[:, 0] for n in (pulled, pulled + pulls))
        return rule.batch.absorb(state, pulls, end - begin), pulls

    def single(state, pulled):
        choice = rule.select(None, state, None)
        action = action_of(choice)
        return rule.update(state, None, choice, streams[action, pulled[action]]), action

    def body(state, _):
        due = jnp.array(False) if rule.replan is None else rule.replan.due(state)
        if rule.replan is not None:
            state = jax.lax.cond(due, rule.replan.apply, lambda same: same, state)
        over = rule.stop(state)
        after, done = (batch if batches else single)(state, rule.pulls(state))
        kept = jax.tree.map(lambda old, new: jnp.where(over, old, new), state, after)
        return kept, Streamed(jnp.where(over, -1, done), over, rule.recommend(state), due, watch(state))

    return jax.lax.scan(body, rule.init(jax.random.key(0)), length=steps)[1]
