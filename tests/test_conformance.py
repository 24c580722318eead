"""Every registered algorithm keeps the contract, with every traced hyperparameter traced (see check_algorithm).

Types are checked in both precisions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from parts import ONE_OF_EACH_FORM, WORLDS, declared, floats

from jaxbandit.algorithms.exploration.super_arms import super_arms
from jaxbandit.base.batches import Batch, SetPulls
from jaxbandit.base.contract import Arms, Choice, action_of
from jaxbandit.environments.linear_arms.linear_contextual import linear_contextual
from jaxbandit.lab.conformance.check_algorithm import check_case
from jaxbandit.lab.conformance.check_case import Case
from jaxbandit.lab.conformance.check_trace import check_types
from jaxbandit.lab.specs.registry import ALGORITHMS

# Of different lengths, and with different weights in designs: where arms tie, the last bit may decide, which
# the layout of the batch may change.
TURNS, LENGTHS = np.linspace(0, 60, 75), np.linspace(0.5, 1, 75)
FEATURES = np.vstack(
    [[[1.0, 0.1], [-0.5, 0.9], [-0.4, -1.0], [0.7, 0.5], [0.3, -0.2]], (LENGTHS * [np.cos(TURNS), np.sin(TURNS)]).T]
)
ROLLED = np.roll(FEATURES[::-1], 5, axis=0)


def tries_of(name, features):
    """Values to try of each traced hyperparameter as declared, the first as the base, and of the features."""
    own = {k: [np.array(v) if isinstance(v, tuple) else v for v in some] for k, some in played(name).tries.items()}
    return dict.fromkeys(given_features(name), features) | own


def given_features(name):
    """The arguments that are features of the arms, of which the number of arms follows."""
    return [key for key in ("features", "arm_features") if key in ALGORITHMS[name].arguments]


def played(name):
    return declared(ALGORITHMS[name])


def settings_of(name):
    """Settings of static arguments as declared; the first is that of most tests."""
    return played(name).settings or ({},)


def factory_of(name, settings):
    """Of a number of arms and traced hyperparameters; features are cut to that many rows."""
    entry, factory = ALGORITHMS[name], functools.partial(ALGORITHMS[name].factory(), **settings)
    if entry.setting == "semi-bandit":
        return lambda count, **hyper: team_numbered(factory, count, **hyper)
    if entry.setting == "full-bandit":
        return lambda count, **hyper: numbered(factory, count, **hyper)
    if not (own := given_features(name)):
        return factory
    return lambda k, **given: factory(**{key: x[:k] if key in own else x for key, x in given.items()})


def team_numbered(factory, count, **hyper):
    """A semi-bandit algorithm on all pairs of `count` = 3 arms, its actions the pairs' numbers, members paid alike."""
    sets = jnp.asarray(~np.eye(count, dtype=bool))
    inner = factory(count, k=count - 1, **hyper)

    def select(noise, state, context):
        selected = inner.select(noise, state, context)
        action = jnp.argmin(action_of(selected)).astype(jnp.int32)
        return selected._replace(action=action) if isinstance(selected, Choice) else action

    def update(state, context, selected, reward):
        team = sets[action_of(selected)]
        selected = selected._replace(action=team) if isinstance(selected, Choice) else team
        return inner.update(state, context, selected, jnp.where(team, reward, 0.0))

    return inner._replace(select=select, update=update, pulls=None, arms=Arms(count))


def numbered(factory, count, **hyper):
    """A full-bandit algorithm on all pairs of `count` = 3 arms, its actions the numbers of the pairs."""
    sets = jnp.asarray(super_arms(count, 2, support="all").sets)
    assert len(sets) == count
    inner = factory(count, k=2, **hyper)

    def plan(state):
        asked = inner.batch.plan(state)
        same = jnp.all(asked.sets[:, None] == sets[None], 2)
        return jnp.sum(jnp.where(same, asked.counts[:, None], 0), 0, dtype=asked.counts.dtype)

    def select(noise, state, context):
        selected = inner.select(noise, state, context)
        action = jnp.argmax(jnp.all(sets == action_of(selected)[None], axis=1)).astype(jnp.int32)
        return selected._replace(action=action) if isinstance(selected, Choice) else action

    def update(state, context, selected, reward):
        members = sets[action_of(selected)]
        selected = selected._replace(action=members) if isinstance(selected, Choice) else members
        return inner.update(state, context, selected, reward)

    def absorb(state, pulls, sums):
        return inner.batch.absorb(state, SetPulls(sets, pulls), sums)

    return inner._replace(select=select, update=update, batch=Batch(plan, absorb), arms=Arms(count))


def check(name, cases, settings, *, alone=False):
    """Check a rule with each (number of arms, whether in float64), and its single runs with the last of them."""
    traced, make = tries_of(name, [FEATURES, ROLLED]), factory_of(name, settings)
    world = WORLDS.get(ALGORITHMS[name].setting)
    if ALGORITHMS[name].setting == "contexts":
        world = lambda count: floats(make(count, **first(traced)).arms)  # noqa: E731
    conforms(name, make, cases, traced, world, alone=alone)


def conforms(name, make, cases, traced, world=None, *, alone=False):
    """Play each case in its precision; if all have the same one, look at the types of the last in the other one."""
    for arms, x64 in cases:
        case = Case(name, make, arms, values(traced), world, max(60, 2 * arms + 1))
        check_case(case, x64, alone and (arms, x64) == cases[-1])
    if len({x64 for _, x64 in cases}) == 1:
        with jax.enable_x64(not cases[-1][1]), jax.numpy_dtype_promotion("strict"):
            check_types(case)


def first(traced):
    return {key: some[0] for key, some in traced.items()}


def values(traced):
    """The first value of every hyperparameter, then each other value beside the first of the others."""
    base = first(traced)
    return [base] + [{**base, key: value} for key, some in traced.items() for value in some[1:]]


# States of each kind: vectors, a tick, rows of atoms, laws, a matrix.
MANY_ARMS = ("ucb1", "tsallis_inf", "dmed", "kl_ucb_empirical", "thompson", "lin_ucb")
SOLVERS = ("oam", "oam_practical", "ossb")  # of an allocation: long to compile


def float64(name):
    """Whether rules of this kind are run in float64; differential tests play every rule in it."""
    return ALGORITHMS[name].kind == "identify"


def cases_of(name):
    """Numbers of arms, each compiled by itself: three in the usual precision, and few in the other one."""
    entry, cases = ALGORITHMS[name], [(3, float64(name))]
    if name in MANY_ARMS:  # above batching.SELECT_LIMIT the engine writes the pulled arm by a scatter
        cases.insert(0, (80, float64(name)))
    if entry.kind == "simulate" and name not in SOLVERS and entry.setting != "semi-bandit":
        # One arm alone does not span, leaves no choice, has no opponent, and makes no list of two.
        cases.insert(0, (2 if "features" in entry.arguments or entry.setting in ("dueling", "cascade") else 1, True))
    return cases


# Compiled quickly, a run of a solver alone and in a batch differ in a last bit that decides a near tie; sessions and
# rollouts are held to the engine's runs in tests of their own.
ALONE = [name for name in ONE_OF_EACH_FORM if ALGORITHMS[name].setting in ("arms", "adversarial", "changing")]


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", ALGORITHMS)
def test_conforms(name):
    check(name, cases_of(name), settings_of(name)[0], alone=name in ALONE)


SETS = np.array([[[1.0, 0.0], [0.0, 1.0], [0.8, 0.5]], [[0.5, 0.6], [0.2, -1.0], [0.0, 0.0]]])
OFFERED = np.array([[True, True, True], [True, True, False]])
CONTEXTUAL = [name for name, entry in ALGORITHMS.items() if "mask" in entry.arguments]


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", CONTEXTUAL)
def test_conforms_with_contexts(name):
    """Two action sets, the second one arm shorter."""
    world = linear_contextual(SETS, np.array([0.4, 0.6]), np.array([1.0, 0.2]), mask=OFFERED)
    make = functools.partial(ALGORITHMS[name].factory(), mask=OFFERED, **settings_of(name)[0])
    traced = tries_of(name, [SETS, 0.5 * SETS[:, ::-1]])
    cases, alone = [(3, float64(name))], name not in SOLVERS  # which meet near ties
    conforms(name, lambda num_arms, **hyper: make(**hyper), cases, traced, lambda num_arms: world, alone=alone)


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize(("name", "settings"), [(name, some) for name in ALGORITHMS for some in settings_of(name)[1:]])
def test_conforms_with_other_static_arguments(name, settings):
    check(name, [(3, float64(name))], settings)


def test_values_of_every_traced_hyperparameter_are_declared():
    """None may stand for one that others replace; features and lists of super-arms are given above."""
    assert not [
        (name, p.name)
        for name, entry in ALGORITHMS.items()
        for p in entry.parameters().values()
        if p.traced and (p.required or p.default is not None)
        if p.name not in {*given_features(name), *played(name).tries}
    ]
