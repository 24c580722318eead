"""Delayed and batched feedback: round by round as plain Python, no byte changed where nothing is late, in law."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import parts
import player
import pytest
from reference import late_feedback as reference
from test_rollout import planner

from jaxbandit.algorithms import kl_ucb
from jaxbandit.algorithms.feedback.batched import batched
from jaxbandit.algorithms.feedback.batched_elimination import batched_elimination
from jaxbandit.algorithms.feedback.delayed import delayed
from jaxbandit.algorithms.feedback.grids import minimax_grid
from jaxbandit.base.contract import Algorithm, Arms, Choice, Replan, action_of

pytestmark = pytest.mark.slow

quickly = pytest.mark.quickly_compiled
KIND = "threefry4x32"


def play(make, rewards, contexts=None):
    """Actions, the noise, the last state, and its pulls."""
    found = player.play(make, rewards, contexts=None if contexts is None else np.asarray(contexts, np.int32))
    return found.actions, found.noise, found.last, make().pulls(found.last)


class Told(NamedTuple):
    """A number that depends on all that was told and on its order; pulls a context and an arm."""

    number: jax.Array
    counts: jax.Array


MODULUS = 10007


def sensitive(num_arms=3, num_contexts=2):
    """An algorithm whose every action depends on what it was told, in which order, and with which info."""

    def select(noise, state, context):
        return Choice((state.number + context) % num_arms, state.number % 5)

    def update(state, context, choice, reward):
        told = 7 * choice.action + 3 * jnp.rint(10 * reward).astype(jnp.int32) + context + 11 * choice.info
        place = context * num_arms + choice.action
        return Told((31 * state.number + told) % MODULUS, state.counts.at[place].add(1))

    zero = jnp.int32(0)
    return Algorithm(
        init=lambda key: Told(zero, jnp.zeros(num_contexts * num_arms, jnp.int32)),
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        arms=Arms(num_arms, num_contexts=num_contexts),
        name="sensitive",
    )


class Sensitive:
    """The same in plain Python."""

    def __init__(self, contexts, num_arms=3):
        self.number, self.contexts, self.num_arms, self.infos = 0, contexts, num_arms, {}

    def select(self, t):
        self.infos[t] = self.number % 5
        return int((self.number + self.contexts[t]) % self.num_arms)

    def update(self, t, arm, reward):
        told = 7 * arm + 3 * round(10 * reward) + self.contexts[t] + 11 * self.infos[t]
        self.number = int((31 * self.number + told) % MODULUS)


ROUNDS = 120
RNG = np.random.default_rng(5)
CONTEXTS = RNG.integers(0, 2, ROUNDS)
REWARDS = RNG.integers(0, 11, (ROUNDS, 3)) / 10
GRID = (3, 4, 30, 31, 90)


def counted(actions):
    return np.bincount(CONTEXTS * 3 + actions, minlength=6)


@quickly
@pytest.mark.parametrize("delay", [1, 2, 17, 300])
def test_constant_delays_tell_everything_in_order(delay):
    actions, _, state, pulls = play(lambda: delayed(sensitive(), delay=delay), REWARDS, CONTEXTS)
    told = Sensitive(CONTEXTS)
    np.testing.assert_array_equal(actions, reference.play_delayed(told, REWARDS, [delay] * ROUNDS))
    assert state.algorithm.number == told.number
    np.testing.assert_array_equal(pulls, counted(actions))


@quickly
@pytest.mark.parametrize(("mean", "cap"), [(3.0, 1000), (20.0, 12), (2.0, 0)])
def test_random_delays_tell_everything_in_order(mean, cap):
    actions, (_, exponentials), state, pulls = play(lambda: delayed(sensitive(), mean=mean, cap=cap), REWARDS, CONTEXTS)
    delays = np.minimum(np.floor(exponentials / -np.log(1 - 1 / (1 + mean))), cap).astype(int)
    assert cap == 0 or (np.bincount(delays).max() > 1 and delays.max() > 3)  # some arrive together, some are overtaken
    told = Sensitive(CONTEXTS)
    np.testing.assert_array_equal(actions, reference.play_delayed(told, REWARDS, delays))
    assert state.algorithm.number == told.number
    np.testing.assert_array_equal(pulls, counted(actions))


@quickly
def test_batches_tell_everything_in_order():
    actions, _, state, pulls = play(lambda: batched(sensitive(), GRID), REWARDS, CONTEXTS)
    told = Sensitive(CONTEXTS)
    np.testing.assert_array_equal(actions, reference.play_batched(told, REWARDS, GRID))
    assert state.selecting.number == told.number
    np.testing.assert_array_equal(pulls, counted(actions))


COIN_ROOTS = np.sqrt([2.0, 3.0, 5.0])
PROBLEM_1 = np.repeat(
    [[0.3, 0.5, 0.9], [0.3, 0.2, 0.9], [0.3, 0.2, 0.1], [0.7, 0.2, 0.1], [0.7, 0.5, 0.1]], 1000, axis=0
)


def test_delayed_kl_ucb_on_the_coin_table():
    """The trajectory that was computed in another program by bisection, delay 10."""
    rounds = np.arange(1, 5001)
    table = (np.mod(rounds[:, None] * COIN_ROOTS, 1) < PROBLEM_1).astype(float)
    actions = play(lambda: delayed(kl_ucb(3), delay=10), table)[0]
    assert np.bincount(actions).tolist() == [1994, 33, 2973]
    assert int(np.sum(actions * ((rounds - 1) % 997 + 1))) == 2968686
    first = 250
    expected = reference.play_delayed(reference.KlUcb(3), table[:first], [10] * first)
    np.testing.assert_array_equal(actions[:first], expected)


# Nothing of a rule concerns a wrapper but which functions it has, its info and its action: one of each kind.
KINDS = "ucb1 thompson gp_ts lb_sda exp3 escb combinatorial_thompson glr_klucb oracle_restart planner".split()


def by_hand(algorithm, rewards):
    """As the player does, by single operations: what an algorithm computes is compiled once, however it is wrapped."""
    keys = [jax.random.key(i, impl=KIND) for i in range(len(rewards) + 1)]
    state, actions = algorithm.init(keys[0]), []
    for key, row in zip(keys[1:], rewards, strict=True):
        if algorithm.replan is not None and algorithm.replan.due(state):
            state = algorithm.replan.apply(state)
        selected = algorithm.select(algorithm.noise(key), state, None)
        action = action_of(selected)
        feedback = row[action] if action.ndim == 0 else jnp.where(action, row, 0.0)
        state = algorithm.update(state, None, selected, feedback)
        actions.append(np.asarray(action).tolist())
    return actions, state, algorithm.pulls(state)


@quickly
@pytest.mark.parametrize("name", KINDS)
def test_nothing_late_changes_no_byte(name):
    """Alone, with random delays of 0, and in batches of one round."""
    rounds = 12
    plain = parts.algorithm(name) if name != "planner" else planner()._replace(arms=Arms(3))
    rewards = jnp.asarray(np.random.default_rng(1).random((rounds, 3)), jnp.float32)
    parts_of = {f: jax.jit(getattr(plain, f)) for f in ("init", "noise", "select", "update", "pulls")}
    if plain.replan is not None:
        parts_of["replan"] = Replan(*map(jax.jit, plain.replan[:2]))
    plain = plain._replace(**parts_of)
    alone = by_hand(plain, rewards)
    for wrapped, inner in (
        (delayed(plain, mean=0.0, cap=3), lambda state: state.algorithm),
        (batched(plain, range(1, rounds + 1)), lambda state: state.selecting),
    ):
        actions, state, pulls = by_hand(wrapped, rewards)
        assert actions == alone[0]
        same = jax.tree.map(lambda a, b: np.asarray(a).tobytes() == np.asarray(b).tobytes(), inner(state), alone[1])
        assert jax.tree.all(same)
        np.testing.assert_array_equal(pulls, alone[2])
    assert delayed(plain, delay=0)._replace(name=plain.name) == plain


@quickly
@pytest.mark.parametrize("name", ["dmed", "epsilon_greedy", "greedy", "imed", "kl_ucb_empirical", "moss", "ucb_v"])
def test_first_pulls_go_by_rewards_not_by_rounds(name):
    """Far more rounds than arms pass before the first reward: no number fails, and other arms are pulled too."""
    rewards = np.random.default_rng(2).random((150, 3))
    actions, _, state, _ = play(lambda: delayed(parts.algorithm(name), delay=20), rewards)
    assert all(np.isfinite(x).all() or name == "ucb_v" for x in jax.tree.leaves(state.algorithm))
    assert len(set(actions.tolist())) > 1


@quickly
@pytest.mark.parametrize("radius", ["code", "paper"])
def test_batched_elimination_plays_as_its_reference(radius):
    rng, gamma = np.random.default_rng(3), {"code": 1.0, "paper": 0.5}[radius]
    make = functools.partial(batched_elimination, 12, horizon=900, num_batches=4, radius=radius)
    for seed in range(4):
        rewards = rng.normal(np.linspace(0.0, 1.6, 12), 1.0, (900, 12))
        actions, _, state, _ = play(make, rewards)
        expected = reference.batched_elimination(rewards, minimax_grid(900, 4), radius, gamma)
        np.testing.assert_array_equal(actions, expected, err_msg=f"{seed}")
        assert not state.active.all()
