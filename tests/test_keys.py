"""No key is consumed twice in a run, by nothing that is registered: what is drawn twice is not independent."""

import jax
import jax.numpy as jnp
import numpy as np
import parts
import pytest
from consumed import Generator, draws

from jaxbandit.base.batches import Batch, SetPulls
from jaxbandit.base.contract import Algorithm
from jaxbandit.engine.layout import jaxprs
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds import step as rounds
from jaxbandit.lab.specs.registry import ALGORITHMS

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

ROUNDS = 12
KIND = "threefry4x32"
WORDS = keys.run_words(jax.random.fold_in(keys.root_key(3, KIND), 5))


def played(algorithm, environment):
    """What a run of so many rounds draws, as the engine plays it; in batches too, in the rounds after these.

    Where nothing draws but the beginning and the noise of a round, which depend on no state, nothing else is played.
    """
    generator = Generator()
    both = (algorithm, environment)
    later, batches = draws_later(*both), rounds.plays_batches(*both)
    draw = generator.watched(lambda t: rounds.draw(*both, WORDS, t, KIND), draws_alone=not later)
    if not later:
        generator.watched(lambda: rounds.begin(*both, WORDS, KIND), draws_alone=True)()
        for t in range(1, ROUNDS + 1):
            draw(jnp.int32(t))
        draw = generator.watched(lambda t: rounds.draw_batch(environment, WORDS, t, KIND), draws_alone=True)
        for t in range(ROUNDS + 1, ROUNDS + 4 if batches else 0):
            draw(jnp.int32(t))
        return generator
    play = generator.watched(lambda *a: rounds.play(*both, *a)[:2])
    stop = generator.watched(lambda state: rounds.stops(algorithm, state))
    end = generator.watched(lambda state: rounds.recommendation(algorithm, state))
    world, state = generator.watched(lambda: rounds.begin(*both, WORDS, KIND))()
    if algorithm.replan is not None:
        due, apply = generator.watched(algorithm.replan.due), generator.watched(algorithm.replan.apply)
    for t in range(1, ROUNDS + 1):
        if algorithm.replan is not None and due(state):
            state = apply(state)
        stop(state)
        world, state = play(world, state, draw(jnp.int32(t)))
    if batches:
        draw = generator.watched(lambda t: rounds.draw_batch(environment, WORDS, t, KIND))
        play = generator.watched(lambda *a: rounds.play_batch(*both, *a)[0])
        for t in range(ROUNDS + 1, ROUNDS + 4):
            stop(state)
            state = play(world, state, draw(jnp.int32(t)))
    end(state)
    return generator


def draws_later(algorithm, environment):
    """Whether anything draws that is given a state, so that what it draws may depend on what was played."""

    def draw(function, *arguments):
        traced, shape = jaxprs.trace(function, *arguments)
        found.append(draws(jaxprs.read(traced)))
        return shape

    both, found, t = (algorithm, environment), [], jnp.int32(1)
    world, state = jax.eval_shape(lambda: rounds.begin(*both, WORDS, KIND))
    noise = jax.eval_shape(lambda t: rounds.draw(*both, WORDS, t, KIND), t)
    draw(lambda *given: rounds.play(*both, *given)[:2], world, state, noise)
    draw(lambda state: (rounds.stops(algorithm, state), rounds.recommendation(algorithm, state)), state)
    for function in (algorithm.replan or ())[:2]:
        draw(function, state)
    if rounds.plays_batches(*both):
        noise = jax.eval_shape(lambda t: rounds.draw_batch(environment, WORDS, t, KIND), t)
        draw(lambda *given: rounds.play_batch(*both, *given)[0], world, state, noise)
    return any(found)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_algorithm_consumes_a_key_twice(name):
    assert not played(*parts.pair(name)).twice()


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("top_two", {"num_arms": 80, "leader": "ts"}),  # above 64 arms their words are drawn at once
        ("lucb", {"ties": "random"}),
        ("sa_foa", {"support": "random"}),
        ("oam", {"exploit_if": "any", "spanner": True}),
        ("oam", {"exploit_if": "optimism"}),
    ],
)
def test_no_algorithm_consumes_a_key_twice_with_other_arguments(name, more):
    algorithm, environment = parts.pair(name, **more)
    if "num_arms" in more:
        environment = parts.bernoulli(np.linspace(0, 1, 80))
    assert not played(algorithm, environment).twice()


def bystander(environment, many):
    """An algorithm that takes the first arms always, the others `many` times in batches, and consumes nothing."""
    arms = environment.arms
    first = np.arange(arms.num_arms) < (arms.set_size or 1)
    action = jnp.int32(0) if arms.set_size is None else jnp.asarray(first)
    if arms.action is not None:  # the first arms, all different, of a duel or a list
        action = jax.tree.map(lambda x: jnp.arange(x.size, dtype=x.dtype).reshape(x.shape), arms.action)

    def plan(state):
        counts = jnp.asarray(np.where(first, 7, many).astype(np.int32))
        if arms.set_size is None:
            return counts
        sets = np.stack([first, first[::-1]])
        return SetPulls(jnp.asarray(sets), jnp.array([5, many], jnp.int32))

    return Algorithm(
        init=lambda key: jnp.zeros((), jnp.int32),
        select=lambda noise, state, context: action,
        update=lambda state, context, action, reward: state,
        recommend=lambda state: state,
        batch=Batch(plan, lambda state, pulls, sums: state),
    )


def test_no_environment_consumes_a_key_twice(tmp_path):
    idle = []
    tables = {"table", "hpo_table", "fiesta"}  # draw each pull of a batch, others the sum, by rejection if it is large
    for name, environment in parts.environments(tmp_path):
        generator = played(bystander(environment, 100 if name in tables else 3_000), environment)
        # Tables in their own order, and losses that are given, draw nothing.
        idle += [name] * (not generator.consumed)
        assert not generator.twice(), name
    assert sorted(idle) == ["classes", "loss_table", "rewards_table"]


def test_keys_of_environment_and_algorithm_differ():
    """That of one and that of the other are drawn, so that no round's of one is a round's of the other by design."""
    assert not np.array_equal(*WORDS)
    both = np.stack(WORDS)[:, :-1]  # rounds change the last word alone
    assert not np.array_equal(both[0], both[1])


@pytest.mark.parametrize("how", ["twice", "in a loop", "made into a key too", "in a branch"])
def test_what_is_drawn_twice_is_seen(how):
    key = jax.random.key(1, impl=KIND)

    def twice(x):
        if how == "twice":
            return jax.random.uniform(key) + jax.random.normal(key)
        if how == "in a loop":
            return jax.lax.fori_loop(0, 3, lambda i, total: total + jax.random.uniform(key), x)
        if how == "in a branch":
            return jax.lax.cond(x < 1, lambda: jax.random.uniform(key), lambda: x) + jax.random.uniform(key)
        return jax.random.uniform(key) + jax.random.uniform(jax.random.fold_in(key, 0))

    def once(x):
        parts = jax.random.split(key, 3)
        keys = jax.vmap(lambda i: jax.random.fold_in(parts[0], i))(jnp.arange(4, dtype=jnp.int32))
        drawn = jax.vmap(jax.random.uniform)(keys)
        return (
            x
            + drawn.sum()
            + jax.random.normal(parts[1])
            + jnp.float32(jax.random.randint(parts[2], (), 0, 9, jnp.int32))
        )

    for function, expected in ((twice, True), (once, False)):
        generator = Generator()
        x = jnp.zeros(())
        np.testing.assert_array_equal(generator.watched(function)(x), function(x))
        assert bool(generator.twice()) == expected


@pytest.mark.parametrize("where", ["noise", "select"])
def test_a_rule_that_draws_twice_from_a_key_is_seen(where):
    rule, world = parts.pair("ucb1")

    def twice(key):
        return jax.random.uniform(key) + jax.random.uniform(key)

    if where == "noise":
        rule = rule._replace(noise=twice)
    else:
        select = rule.select
        rule = rule._replace(
            noise=lambda key: key,
            select=lambda key, state, context: select(None, state, context) + (twice(key) > 2).astype(jnp.int32),
        )
    assert played(rule, world).twice()
