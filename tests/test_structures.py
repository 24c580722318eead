"""Objects of one structure share a program: nothing is traced again, and no byte depends on who compiled it."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.origin import origin_of
from jaxbandit.decide.sessions.rule_programs import rule_programs
from jaxbandit.engine.driver import fixed_horizon, until_stop
from jaxbandit.engine.layout import compiled
from jaxbandit.lab.experiments import playing
from jaxbandit.lab.specs import spec
from jaxbandit.running.structures import key_of, structure_of
from jaxbandit.support.types import ArrayLike, Scalar

pytestmark = pytest.mark.quickly_compiled
SMALL = {"horizon": 60, "num_runs": 5}
MEANS = [0.2, 0.5, 0.6]
FEATURES = np.array([[1.0, 0.2], [0.3, 1.0], [0.7, 0.7]])


def content(result):
    return {name: (x.dtype.str, x.tobytes()) for name, x in result.arrays.items()}


@pytest.fixture
def no_more_tracing(monkeypatch):
    def forbid():
        monkeypatch.setattr(fixed_horizon, "SingleRun", None)
        monkeypatch.setattr(until_stop, "StoppingRun", None)

    return forbid


def ucb(c=1.0, means=MEANS, **options):
    return jb.simulate(jb.algorithms.ucb1(3, c=c), jb.environments.bernoulli(means), **SMALL, **options)


@pytest.mark.slow
def test_new_objects_with_other_numbers_play_the_same_program(no_more_tracing):
    alone = ucb(3.0, [0.4, 0.1, 0.3], seed=2)
    compiled.forget()
    first = ucb()
    no_more_tracing()
    other = ucb(3, np.array([0.4, 0.1, 0.3], np.float32).astype(float).round(1), seed=2)
    assert content(other) == content(alone) != content(first)
    assert other.truth["means"] == [0.4, 0.1, 0.3]
    swept = jb.sweep(functools.partial(jb.algorithms.ucb1, 3), jb.environments.bernoulli(MEANS), {"c": [3.0]}, **SMALL)
    assert content(swept[0]) == content(ucb(3.0))


@pytest.mark.slow
def test_random_instances_play_one_program(no_more_tracing):
    drawn = np.random.default_rng(0).random((40, 3))
    compiled.forget()
    found = [ucb(1.0, means) for means in drawn[:1]]
    no_more_tracing()
    found += [ucb(1.0, means) for means in drawn[1:]]
    gaps = [means.max() - means for means in drawn]
    for gap, result in zip(gaps, found, strict=True):
        np.testing.assert_allclose(result.arrays["regret"][:, -1], result.arrays["pulls"] @ gap, rtol=1e-5)


def test_a_file_plays_the_program_of_python(no_more_tracing):
    instance, rule = {"type": "bernoulli", "means": MEANS}, {"type": "ucb1", "c": 2.0}
    data = {"kind": "simulate", "runs": 5, "horizon": 60, "instance": [instance], "algorithm": [rule]}
    experiment = spec.parse(data, "x.toml")
    (cell,) = experiment.cells()
    compiled.forget()
    mine = jb.simulate(jb.algorithms.ucb1(3, c=2.0), jb.environments.bernoulli(MEANS), **SMALL)
    no_more_tracing()
    record = playing.record_of(experiment, cell)
    assert record.regret.tobytes() == mine.arrays["regret"].tobytes()


@pytest.mark.slow
def test_runs_that_stop_and_rules_within_rules(no_more_tracing):
    def found(delta, means):
        rule, world = jb.algorithms.lucb(2, delta=delta, sigma=0.5), jb.environments.gaussian(means, sigma=0.5)
        return jb.identify(rule, world, num_runs=3)

    def late(c, mean):
        return jb.algorithms.delayed(jb.algorithms.ucb1(3, c=c), mean=mean, cap=9)

    world = jb.environments.bernoulli(MEANS)
    alone = jb.simulate(late(2.0, 4.0), world, **SMALL)
    compiled.forget()
    found(0.3, [1.0, 0.0])
    first = jb.simulate(late(1.0, 4.0), world, **SMALL)
    no_more_tracing()
    assert found(0.1, [0.0, 1.5]).guarantee["delta"] == 0.1
    assert content(jb.simulate(late(2.0, 4.0), world, **SMALL)) == content(alone) != content(first)
    with pytest.raises(TypeError, match="NoneType"):  # another static argument
        jb.simulate(jb.algorithms.delayed(jb.algorithms.ucb1(3), mean=2.0, cap=8), world, **SMALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "rule", "more"),
    [(jb.simulate, jb.algorithms.ucb1(2), {"horizon": 50}), (jb.identify, jb.algorithms.lucb(2, delta=0.1), {})],
)
def test_a_second_call_executes_no_python_of_the_rule(verb, rule, more):
    """It would be executed for shapes alone, which takes longer than many rounds where constants are solved for."""
    calls = []

    def init(key):
        calls.append(key)
        return rule.init(key)

    noted, world = rule._replace(init=init), jb.environments.bernoulli([0.2, 0.8])
    verb(noted, world, num_runs=8, **more)
    assert calls
    calls.clear()
    for number in (8, 16):
        verb(noted, world, num_runs=number, seed=1, **more)
    assert calls == []


def test_an_object_that_was_changed_has_a_program_of_its_own(no_more_tracing):
    rule, world = jb.algorithms.ucb1(3), jb.environments.bernoulli(MEANS)
    worst = rule._replace(select=lambda noise, state, context: jnp.int32(0))
    assert origin_of(worst) is None and origin_of(rule._replace(rewards=None)) is None
    assert jb.simulate(worst, world, **SMALL).arrays["pulls"][:, 0].tolist() == [60] * 5
    plain = jb.simulate(rule, world, **SMALL)
    no_more_tracing()
    named = jb.simulate(jb.algorithms.ucb1(3).named("mine"), world.named("here"), **SMALL)
    assert (named.algorithm, named.instance) == ("mine", "here") and content(named) == content(plain)


@pytest.mark.parametrize("rule", ["greedy", "optimized"])
def test_arguments_that_must_be_concrete_are_a_part_of_the_structure(rule):
    made = (jb.algorithms.lingape(x, rule=rule) for x in (FEATURES, FEATURES.copy(), FEATURES + 0.01))
    first, same, other = map(structure_of, made)
    assert first.key == same.key
    assert ("features" in first.arguments) == (first.key == other.key) == (rule == "greedy")


def test_names_in_place_of_numbers_are_static():
    vectors = jb.environments.linear_vectors
    normal, sphere = (structure_of(vectors([[0.5, 0.2], [0.1, 0.3]], law=law)) for law in ("normal", "sphere"))
    assert "law" not in normal.arguments and normal.key != sphere.key


def test_factories_of_equal_arguments_have_structures_of_their_own():
    rules = [jb.algorithms.ucb_tuned(3), jb.algorithms.ucb1_auer(3), jb.algorithms.besa(3)]
    assert len({structure_of(rule).key for rule in rules}) == 3
    assert not any(structure_of(rule).arguments for rule in rules)


def test_a_factory_of_positional_arguments_is_its_own_structure():
    @jb.declare(question="regret")
    def plain(num_arms: int, /, c: Scalar = 1.0) -> jb.Algorithm:
        """An index policy whose number of arms has no name."""
        return jb.algorithms.ucb1(num_arms, c=c)._replace(rewards=None)

    assert jb.simulate(plain(3, c=2.0), jb.environments.bernoulli(MEANS), **SMALL).counted == 5


def test_static_arguments_are_equal_if_they_are_alike():
    arrays = np.arange(3, dtype=np.int32), jnp.arange(3)
    alike = [(1, 1), ("a", "a"), ((1, [2.5]), (1, [2.5])), arrays, ({"a": 1}, {"a": 1})]
    assert all(key_of(one) == key_of(other) for one, other in alike)
    apart = [1, 1.0, True, "1", None, (1,), [1], 0.0, -0.0, object(), object(), lambda: 0, lambda: 0]
    apart += [
        np.arange(2),
        np.arange(2.0),
        np.zeros((2, 3)),
        np.zeros((3, 2)),
        [[0, 1]],
        jb.Rewards(0.0, 1.0),
        {"a": 1},
        {"b": 1},
    ]
    assert len({key_of(value) for value in apart}) == len(apart)


def test_numbers_are_floats_and_arrays_of_integers_stay_integers():
    whole = structure_of(jb.algorithms.ucb1(3, c=2)).arguments["c"]
    assert whole.dtype == np.float64 and whole == 2.0

    @jb.declare(question="regret")
    def in_order(num_arms: int, order: ArrayLike) -> jb.Algorithm:
        """Pull the first arm of an order."""
        return jb.algorithms.ucb1(num_arms)._replace(select=lambda *_: jnp.asarray(order)[0].astype(jnp.int32))

    assert structure_of(in_order(2, np.array([1, 0]))).arguments["order"].dtype.kind == "i"
    assert structure_of(in_order(2, [1.0, 0.0])).arguments["order"].dtype == np.float64


def test_a_factory_of_ones_own_is_traced_and_its_objects_are_their_own_structure(no_more_tracing):
    def mine(c):
        rule = jb.algorithms.ucb1(3)
        return rule._replace(select=lambda noise, state, context: jnp.where(c > 1, 0, 1).astype(jnp.int32))

    world = jb.environments.bernoulli(MEANS)
    some = jb.sweep(mine, world, {"c": [0.5]}, **SMALL)
    no_more_tracing()
    some += jb.sweep(mine, world, {"c": [2.0]}, **SMALL)
    assert [r.arrays["pulls"][0].argmax() for r in some] == [1, 0]
    assert structure_of(mine(1.0)).arguments == {} and structure_of(mine(1.0)).key != structure_of(mine(1.0)).key


def test_a_call_within_a_trace_notes_nothing_that_is_used():
    made = []

    def traced(c):
        made.append(jb.algorithms.ucb1(3, c=c))
        return c

    jax.eval_shape(traced, jnp.float32(1.0))
    assert origin_of(made[0]) is not None  # of the trace; outside it is refused as before
    with pytest.raises(Exception, match=r"[Tt]racer"):
        jb.simulate(made[0], jb.environments.bernoulli(MEANS), **SMALL)


def test_sessions_share_what_was_compiled_for_a_rule_that_was_made_alike():
    ucb1 = jb.algorithms.ucb1
    programs = rule_programs(ucb1(3, c=2))
    assert programs is rule_programs(ucb1(num_arms=3, c=2.0)) is rule_programs(ucb1(3, c=np.array(2.0)))
    others = [ucb1(3), ucb1(4, c=2), ucb1(3, c=2).named("mine"), ucb1(3, c=2)._replace(rewards=None)]
    assert all(rule_programs(other) is not programs for other in others)
