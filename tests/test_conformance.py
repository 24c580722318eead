"""Every registered algorithm keeps the contract, with every traced hyperparameter traced (see check_algorithm)."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit.algorithms.exploration.super_arms import super_arms
from jaxbandit.base.contract import Arms, Batch, Choice, SetPulls, action_of
from jaxbandit.environments.linear_arms.linear_contextual import linear_contextual
from jaxbandit.lab.conformance.check_algorithm import check_algorithm
from jaxbandit.lab.specs.registry import ALGORITHMS

# A row a traced hyperparameter: values to try, the first as the base. A new name without a row fails its algorithm.
# Of different lengths, and with different weights in designs: where arms tie, the last bit may decide, which
# the layout of the batch may change.
TURNS, LENGTHS = np.linspace(0, 60, 75), np.linspace(0.5, 1, 75)
FEATURES = np.vstack(
    [
        [[1.0, 0.1], [-0.5, 0.9], [-0.4, -1.0], [0.7, 0.5], [0.3, -0.2]],
        (LENGTHS * [np.cos(TURNS), np.sin(TURNS)]).T,
    ]
)
VALUES = {
    "bound": [1.0, 2.0],
    "budget": [0.5, 2.0],
    "alpha": [0.1, 0.5],
    "c": [0.0, 3.0],
    "delta": [0.05, 0.5],
    "discount": [0.9, 1.0],
    "beta": [0.5, 0.3],
    "eps": [0.01, 0.3],
    "eta": [0.5, 2.0],
    "eps_factor": [0.5, 1.0],
    "epsilon": [0.1, 0.0, 1.0],
    "features": [FEATURES, np.roll(FEATURES[::-1], 5, axis=0)],
    "fixed_alpha": [0.9, 0.5],
    "gamma": [0.0, 0.5],
    "explore": [0.2, 1.0],
    "grid": [1.001, 1.5],
    "growth": [1.0, 1.1],
    "high": [1.0, 2.0],
    "low": [0.0, -1.0],
    "prior_alpha": [1.0, 0.5],
    "prior_beta": [1.0, 2.5],
    "regularization": [1.0, 0.01],
    "rounding": [0.1, 0.3],
    "scale": [1.0, 2.0],
    "sigma": [0.2, 1.0],
    "slack": [0.1, 0.5],
    "theta": [np.array([1.0, 0.2])],
    "theta_norm": [1.0, 2.0],
    "xi": [0.6, 2.0],
    "zeta": [1.2, 0.5],
}
# All traced hyperparameters of those that mean something else by a name, or take one in place of others.
OWN_VALUES = {
    "exp3_s": {"alpha": [0.01, 0.1], "gamma": [0.1, 0.5]},
    "sequential_halving": {"budget": [30.0, 41.0]},
    "successive_rejects": {"budget": [30.0, 41.0]},
    "ucb_e": {"budget": [30.0, 41.0], "a": [2.0, 0.5]},
    "budgeted_race": {"budget": [30.0, 41.0], "epsilon": [0.1, 0.3], "delta": [0.1, 0.3]},
    "ugape_b": {"budget": [30.0, 41.0], "a": [2.0, 0.5]},
    "uniform_allocation": {"budget": [30.0, 41.0]},
    "batched_elimination": {"gamma": [1.0, 0.3]},
    "cucb": {"c": [1.5, 0.5]},
    "cusum_ucb": {"threshold": [2.0, 0.5], "alpha": [0.1, 0.5], "epsilon": [0.1, 0.0], "xi": [1.0, 2.0]},
    "m_ucb": {"threshold": [1.5, 0.5], "gamma": [0.0, 0.5], "xi": [2.0, 0.5]},
}
# Static arguments without a default.
REQUIRED = {
    "cusum_ucb": {"min_pulls": 3},
    "exp3_s": {"horizon": 60},
    "glr_klucb": {"horizon": 60, "test_every": 2, "split_every": 1},
    "m_ucb": {"window": 4},
    "oracle_restart": {"starts": (0, 20)},
    "sw_ucb": {"window": 7},
    "lin_ucb": {"horizon": 60},
    "lin_ts": {"horizon": 60},
    "oam": {"horizon": 60},
    "oam_practical": {"horizon": 60},
    "batched_elimination": {"horizon": 60},
}
# Settings of static arguments beside the defaults.
STATIC = [
    ("gifa", {"index": "classical", "rule": "both", "threshold": "lucb1", "m": 2}),
    ("gifa", {"candidates": "ugape", "leader": "ugape", "stop": "ugape", "ties": "random", "m": 2}),
    *[("ucb", {"distance": d}) for d in ("sq", "bq", "h", "lb", "t")],
    ("ucboost", {"distances": ("sq",)}),
    ("ucboost", {"distances": ("bq", "h", "lb", "t")}),
    ("moss", {"horizon": 30}),
    ("glr_klucb", {"restart": "global"}),
    ("glr_klucb", {"marks": 4}),
    ("cusum_ucb", {"index": "kl"}),
    ("m_ucb", {"index": "kl"}),
    ("exp3", {"rate": "fixed"}),
    ("tsallis_inf", {"estimate": "reduced_variance"}),
    ("lin_ucb", {"variant": "oful"}),
    ("lin_ts", {"variant": "theory"}),
    ("oam", {"exploit_if": "any", "spanner": True}),
    ("icb", {"schedule": "every"}),
    ("sequential_halving", {"reading": "round"}),
    ("ugape_b", {"m": 2}),
    ("successive_rejects", {"m": 2}),
    ("cucb", {"index": "kl"}),
    ("batched_elimination", {"radius": "paper"}),
    ("uniform_allocation", {"m": 2}),
]


def factory_of(name, **static):
    """Of a number of arms and traced hyperparameters; features are cut to that many rows."""
    factory = functools.partial(ALGORITHMS[name].factory(), **REQUIRED.get(name, {}), **static)
    if name in COMBINATORIAL:
        return lambda count, **hyper: team_numbered(factory, count, **hyper)
    if name == "adaptive_full_bandit":
        return lambda count, **hyper: numbered(factory, count, choices=2, **hyper)
    if "sets" in ALGORITHMS[name].arguments:
        return lambda count, **hyper: numbered(factory, count, support="all", **hyper)
    if "features" not in ALGORITHMS[name].arguments:
        return factory
    return lambda k, *, features, **hyper: factory(features[:k], **hyper)


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
    sets = jnp.asarray(super_arms("test", count, 2, support="all").sets)
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


LISTS = ("sets", "weights")  # of super-arms: concrete, and given with a static argument alone


def check(name, arms, **static):
    parameters = ALGORITHMS[name].parameters().values()
    listed = [p.name for p in parameters if p.traced and p.name not in LISTS]
    traced = OWN_VALUES.get(name) or {parameter: VALUES[parameter] for parameter in listed}
    check_algorithm(factory_of(name, **static), arms, traced=traced, rounds=max(60, 2 * arms[-1] + 1))


# States of each kind: vectors, a tick, rows of atoms, laws, a matrix.
COMBINATORIAL = [name for name, e in ALGORITHMS.items() if e.module.startswith("jaxbandit.algorithms.combinatorial.")]
MANY_ARMS = ("ucb1", "tsallis_inf", "dmed", "kl_ucb_empirical", "thompson", "lin_ucb")
SOLVERS = ("oam", "oam_practical", "ossb")  # of an allocation: long to compile
QUICK = ("ucb1", "moss", "epsilon_greedy", "lingape")  # the others are compiled for longer


def arms_of(name):
    """Numbers of arms; each is compiled by itself."""
    entry = ALGORITHMS[name]
    if entry.kind != "simulate" or name in (*SOLVERS, *COMBINATORIAL):
        return (3,)
    few = 2 if "features" in entry.arguments else 1  # one arm alone does not span, and leaves no choice
    # Above batching.SELECT_LIMIT the engine writes the pulled arm by a scatter.
    return (few, 3, 80) if name in MANY_ARMS else (few, 3)


# Compiled quickly, a run alone and the same run in a batch differ in a last bit that decides a near tie.
FULLY = ("g_static", "oam_practical")


def marks_of(name):
    quickly = () if name in FULLY else (pytest.mark.quickly_compiled,)
    return quickly if name in QUICK else (*quickly, pytest.mark.slow)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in ALGORITHMS])
def test_conforms(name):
    check(name, arms_of(name))


SETS = np.array([[[1.0, 0.0], [0.0, 1.0], [0.8, 0.5]], [[0.5, 0.6], [0.2, -1.0], [0.0, 0.0]]])
OFFERED = np.array([[True, True, True], [True, True, False]])
CONTEXTUAL = [name for name, entry in ALGORITHMS.items() if "mask" in entry.arguments]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SOLVERS else pytest.mark.quickly_compiled) for n in CONTEXTUAL]
)
def test_conforms_with_contexts(name):
    """Two action sets, the second one arm shorter; the solvers meet near ties, as those in FULLY do."""
    values = {p.name: VALUES[p.name] for p in ALGORITHMS[name].parameters().values() if p.traced}
    world = linear_contextual(SETS, np.array([0.4, 0.6]), np.array([1.0, 0.2]), mask=OFFERED)
    make = functools.partial(ALGORITHMS[name].factory(), mask=OFFERED, **REQUIRED.get(name, {}))
    check_algorithm(
        lambda num_arms, **hyper: make(**hyper),
        3,
        traced=values | {"features": [SETS, 0.5 * SETS[:, ::-1]]},
        environment=lambda num_arms: world,
    )


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize(("name", "static"), STATIC)
def test_conforms_with_other_static_arguments(name, static):
    check(name, (3,), **static)
