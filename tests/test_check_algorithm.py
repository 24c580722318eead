"""check_algorithm passes a good toy and names the broken property of each bad one.

Every bad toy is the good one with one function replaced, so that each also shows that the check can fail.
"""

import functools
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit.algorithms.regret.greedy import greedy
from jaxbandit.base.batches import Batch
from jaxbandit.base.contract import Algorithm, Environment, Phases, Replan
from jaxbandit.environments.linear_arms.linear_contextual import linear_contextual
from jaxbandit.lab.conformance.check_algorithm import PROPERTIES, CheckFailed, check_algorithm
from jaxbandit.support.numerics import as_float

pytestmark = pytest.mark.quickly_compiled


class ToyState(NamedTuple):
    round: jax.Array  # int32[]
    counts: jax.Array  # int32[num_arms]
    sums: jax.Array  # float[num_arms]


def toy(num_arms, *, bonus=1.0):
    """A good one: largest sum of rewards plus bonus / sqrt(pulls)."""

    def init(key):
        return ToyState(jnp.zeros((), jnp.int32), jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms))

    def select(noise, state, context):
        best = jnp.argmax(state.sums + as_float(bonus) / jnp.sqrt(1 + as_float(state.counts)))
        return jnp.where(state.round < num_arms, state.round, best.astype(jnp.int32))

    def update(state, context, action, reward):
        pulled = jnp.arange(num_arms, dtype=jnp.int32) == action
        return ToyState(
            state.round + 1, state.counts + pulled.astype(jnp.int32), state.sums + jnp.where(pulled, reward, 0.0)
        )

    return Algorithm(init=init, select=select, update=update, pulls=lambda state: state.counts)


def noisy(num_arms, *, epsilon=0.1):
    """A good one with chance: epsilon-greedy on the sums."""

    def noise(key):
        return jax.random.uniform(key, (2,))

    def select(noise, state, context):
        arm = jnp.floor(noise[1] * num_arms).astype(jnp.int32)
        return jnp.where(noise[0] < as_float(epsilon), arm, jnp.argmax(state.sums).astype(jnp.int32))

    return toy(num_arms)._replace(noise=noise, select=select)


def changed(**functions):
    """The good toy with functions replaced; each gets (good, num_arms, bonus) and returns the bad function."""

    def broken(num_arms, *, bonus=1.0):
        good = toy(num_arms, bonus=bonus)
        return good._replace(**{name: f(good, num_arms, bonus) for name, f in functions.items()})

    return broken


def updated(change):
    """The good toy whose state, after each update, goes through change(state)."""
    return changed(update=lambda good, k, bonus: lambda *a: change(good.update(*a)))


def indexed(index):
    """The good toy with another index(state, bonus)."""

    def select(good, k, bonus):
        return lambda noise, state, context: jnp.argmax(index(state, bonus)).astype(jnp.int32)

    return changed(select=select)


def gap_index(state, bonus):
    """0 / 0 when all arms have the same sum."""
    return (state.sums - jnp.min(state.sums)) / (jnp.max(state.sums) - jnp.min(state.sums))


def branches_on_hyperparameter(num_arms, *, bonus=1.0):
    return toy(num_arms, bonus=0.0 if bonus < 0.5 else 1.0)


def python_counter(good, k, bonus):
    calls = itertools.count(1)
    return lambda noise, state, context: (
        jnp.asarray(next(calls) % k, jnp.int32) + 0 * good.select(noise, state, context)
    )


def leaking(num_arms, *, bonus=1.0):
    good, kept = toy(num_arms), [jnp.zeros((), jnp.int32)]

    def update(state, context, action, reward):
        kept[0] = action
        return good.update(state, context, action, reward)

    return good._replace(update=update, select=lambda noise, state, context: kept[0] + 0 * state.round)


def draws_in_select(good, k, bonus):
    return lambda noise, state, context: jax.random.randint(
        jax.random.fold_in(jax.random.key(0), state.round), (), 0, k
    )


def key_of_the_factory(num_arms, *, bonus=1.0):
    good, key = toy(num_arms, bonus=bonus), jax.random.key(1)

    def update(state, context, action, reward):
        coin = jax.random.uniform(jax.random.fold_in(key, state.round)) < reward
        return good.update(state, context, action, as_float(coin))

    return good._replace(update=update)


def neighbours(shift):
    """The good toy whose action depends on its place in the batch, or on being in one."""

    def select(good, k, bonus):
        @jax.custom_batching.custom_vmap
        def offset(count):
            return 0 * count

        @offset.def_vmap
        def _(size, batched, count):
            return shift(count), True

        return lambda noise, state, context: (good.select(noise, state, context) + offset(state.counts[0])) % k

    return changed(select=select)


def stopping(change=lambda algorithm: algorithm, wanted=lambda state: jnp.full(3, 2, jnp.int32)):
    """A good toy of 3 arms that stops after 24 pulls, in batches of 2 pulls an arm, then through change(algorithm).

    The field sums is renewed by a new plan every 6 pulls.
    """

    def make(num_arms, *, bonus=1.0):
        good = toy(num_arms, bonus=bonus)

        def absorb(state, pulls, sums):
            return ToyState(state.round + jnp.sum(pulls, dtype=jnp.int32), state.counts + pulls, state.sums + sums)

        def select(noise, state, context):
            return (state.round % 6) // 2

        def recommend(state):
            return jnp.argsort(state.counts, stable=True, descending=True)[:2].astype(jnp.int32)

        algorithm = good._replace(
            select=select,
            recommend=recommend,
            stop=lambda state: state.round >= 24,
            replan=Replan(
                due=lambda state: (state.round % 6 == 0) & (jnp.sum(jnp.abs(state.sums)) > 0),
                apply=lambda state: state._replace(sums=jnp.zeros_like(state.sums)),
            ),
            batch=Batch(wanted, absorb),
            verify=lambda state: jnp.sum(state.counts, dtype=jnp.int32) == state.round,
        )
        return change(algorithm)

    return make


FLAGS = itertools.cycle(["float32", "bfloat16", "tensorfloat32"])  # an odd number: the plays make it twice


def miscounting(state, pulls, sums):
    return state._replace(counts=state.counts + pulls, round=state.round + 24)


def flips_a_flag(num_arms, *, bonus=1.0):
    jax.config.update("jax_default_matmul_precision", next(FLAGS))
    return toy(num_arms, bonus=bonus)


BROKEN = {
    "counts become floats": (
        updated(lambda s: s._replace(counts=as_float(s.counts))),
        "types",
        "state.counts is int32",
    ),
    "a field grows": (
        updated(lambda s: s._replace(sums=jnp.append(s.sums, s.sums[0]))),
        "types",
        "float32[4] from upd",
    ),
    "weak type": (
        updated(lambda s: s._replace(round=jnp.where(s.round < 9, 1, 2))),
        "types",
        "state.round is int32[] from init, weak int32[] from update",
    ),
    "another tree": (updated(lambda s: s._asdict()), "types", "exists in only one of init and update"),
    "float action": (
        changed(select=lambda good, k, bonus: lambda *a: as_float(good.select(*a))),
        "types",
        "select returns float32[], must be int32[]",
    ),
    "stop is not a bool": (changed(stop=lambda good, k, bonus: lambda s: s.round), "types", "None if it does not stop"),
    "float counts": (
        changed(
            init=lambda good, k, bonus: lambda key: good.init(key)._replace(counts=jnp.zeros(k)),
            update=lambda good, k, bonus: lambda s, c, a, r: s,
        ),
        "types",
        "pulls returns float32[3], must be int32[3]",
    ),
    "wrong pulls": (updated(lambda s: s._replace(counts=s.counts + 1)), "pulls", "pulls are not the true ones in 20"),
    "pulls of a window": (
        changed(pulls=lambda good, k, bonus: lambda s: jnp.minimum(s.counts, 3)),
        "pulls",
        "pulls are not the true ones",
    ),
    "kinds without a name": (
        changed(phases=lambda good, k, bonus: Phases(("explore",), lambda s: s.counts)),
        "types",
        "phases.counts returns int32[3], must be int32[1]",
    ),
    "out of range": (
        changed(select=lambda good, k, bonus: lambda noise, state, context: state.round),
        "range",
        "select leaves [0, 3)",
    ),
    "recommends nobody": (changed(recommend=lambda good, k, bonus: lambda s: s.round), "range", "recommend returns"),
    "branch on a hyperparameter": (branches_on_hyperparameter, "traceable", "hyperparameter bonus"),
    "branch on the state": (indexed(lambda s, bonus: s.sums if s.round < 3 else -s.sums), "traceable", "select: "),
    "float() of a hyperparameter": (
        indexed(lambda s, bonus: s.sums + float(bonus)),
        "traceable",
        "make it static (int, bool, Literal)",
    ),
    "NaN at ties": (indexed(gap_index), "finite", "NaN at an argmax of select"),
    "NaN in the state": (updated(lambda s: s._replace(sums=jnp.log(s.sums - 1))), "finite", "NaN in the state"),
    "Python counter": (changed(select=python_counter), "pure", "keep what changes in the state"),
    "kept tracer": (leaking, "pure", "select uses a traced value stored outside the state"),
    "draws in select": (changed(select=draws_in_select), "chance", "select draws from a key of its own"),
    "key of the factory": (key_of_the_factory, "chance", "update draws from a key of its own"),
    "noise without chance": (changed(noise=lambda good, k, bonus: lambda key: jnp.zeros(3)), "chance", "use none()"),
    "float32 fixed": (
        changed(
            init=lambda good, k, bonus: lambda key: good.init(key)._replace(sums=jnp.zeros(k, jnp.float32)),
            update=lambda good, k, bonus: lambda s, c, a, r: s._replace(counts=good.update(s, c, a, r).counts),
        ),
        "precision",
        "state.sums is float32",
    ),
    "silent promotion": (indexed(lambda s, bonus: s.sums * s.counts), "precision", "cast explicitly"),
    "place in the batch": (
        neighbours(lambda x: jnp.arange(x.shape[0], dtype=jnp.int32)),
        "side by side",
        "at another place of the batch",
    ),
    "alone otherwise": (neighbours(lambda x: jnp.ones_like(x)), "side by side", "run alone"),
    "flips a flag": (flips_a_flag, "compiled once", "traced again"),
    "stops at once": (stopping(lambda a: a._replace(stop=lambda s: s.round >= 0)), "stop", "before any pull"),
    "a new plan changes nothing": (
        stopping(lambda a: a._replace(replan=a.replan._replace(apply=lambda s: s))),
        "replan",
        "must clear it",
    ),
    "a new plan changes a type": (
        stopping(lambda a: a._replace(replan=a.replan._replace(apply=lambda s: s._replace(counts=as_float(s.counts))))),
        "types",
        "from update, float32[3] from replan.apply",
    ),
    "verify is not a bool": (
        stopping(lambda a: a._replace(verify=lambda s: s.round)),
        "types",
        "verify returns int32[]",
    ),
    "recommends an arm twice": (
        stopping(lambda a: a._replace(recommend=lambda s: jnp.zeros(2, jnp.int32))),
        "range",
        "each arm at most once",
    ),
    "recommends floats": (stopping(lambda a: a._replace(recommend=lambda s: s.sums)), "types", "must be int32[m]"),
    "a batch of floats": (
        stopping(wanted=lambda s: jnp.full(3, 2.0)),
        "types",
        "batch.plan returns weak float32[3], must be int32[3]",
    ),
    "an empty batch": (stopping(wanted=lambda s: jnp.zeros(3, jnp.int32)), "batches of pulls", "1 in total"),
    "a batch forgets": (
        stopping(lambda a: a._replace(batch=a.batch._replace(absorb=miscounting))),
        "batches of pulls",
        "stop is True after batch.absorb, False after the same pulls",
    ),
    "other pulls one by one": (
        stopping(lambda a: a._replace(select=lambda noise, s, c: s.round % 2)),
        "batches of pulls",
        "pulls is [2 2 2] after batch.absorb, [3 3 0]",
    ),
    "stops inside a batch": (
        stopping(lambda a: a._replace(stop=lambda s: s.round % 6 == 5)),
        "batches of pulls",
        "stop is True inside it",
    ),
    "an action without return": (
        changed(select=lambda *_: lambda *a: None),
        "types",
        "select returns None; is a return",
    ),
    "a state without return": (updated(lambda s: None), "types", "update returns None; is a return statement"),
    "pulls without return": (changed(pulls=lambda *_: lambda s: None), "types", "pulls returns None; is a return"),
    "not an algorithm": (lambda num_arms, bonus: None, "traceable", "return an Algorithm"),
}


@pytest.fixture
def matmul_precision():
    yield
    jax.config.update("jax_default_matmul_precision", None)


# Batches are looked at last, after four other compilations: one of these toys is enough for the quick tier.
BATCHES = [name for name, (_, prop, _) in BROKEN.items() if prop == "batches of pulls"]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in BATCHES[1:] else n for n in BROKEN])
def test_broken_toy_is_named(name, matmul_precision):
    make, prop, words = BROKEN[name]
    with pytest.raises(CheckFailed) as caught:
        check_algorithm(make, 3, traced={"bonus": [1.0]}, rounds=20)
    message = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert f": {prop}: " in message and words in message, message
    assert "\n" not in message and len(message) < 400, message


def test_every_property_is_seen_to_fail():
    assert {prop for _, prop, _ in BROKEN.values()} == set(PROPERTIES)


@pytest.mark.slow
def test_good_toys_pass():
    report = check_algorithm(toy, (1, 2, 4), traced={"bonus": [1.0, 0.0, 7.0]})
    assert report.num_arms == (1, 2, 4) and report.traced == ("bonus",) and report.properties == tuple(PROPERTIES)
    assert str(report).startswith("toy: num_arms (1, 2, 4)")
    assert check_algorithm(functools.partial(noisy), 3, traced={"epsilon": [0.1, 0.5]}).name == "noisy"


@pytest.mark.slow
def test_a_good_toy_that_stops_passes():
    assert check_algorithm(stopping(), 3, traced={"bonus": [1.0]}, rounds=20).name == "make"


@pytest.mark.slow
def test_noise_may_be_a_key_and_a_leaf_a_python_number():
    def keyed(num_arms):
        good = toy(num_arms)
        return good._replace(
            init=lambda key: good.init(key)._replace(round=0),
            noise=lambda key: key,
            select=lambda noise, state, context: jax.random.randint(noise, (), 0, num_arms, jnp.int32),
        )

    check_algorithm(keyed, 2, rounds=10)


def contextual(num_arms):
    """Pulls the arm of largest feature."""
    return toy(num_arms)._replace(select=lambda noise, state, context: jnp.argmax(context).astype(jnp.int32))


def features(num_arms):
    """A world whose context is one uniform feature an arm, and the reward that feature."""
    return Environment(
        init=lambda key: None,
        observe=lambda state, noise: noise,
        noise=lambda key: jax.random.uniform(key, (num_arms,)),
        reward=lambda state, context, action, noise: context[action],
        regret=lambda state, context, action: jnp.max(context) - context[action],
    )


@pytest.mark.slow
def test_environment_gives_the_context():
    check_algorithm(contextual, 3, environment=features)
    with pytest.raises(CheckFailed, match="traceable: select"):
        check_algorithm(contextual, 3)


SETS = np.array([[[1.0, 0.0], [0.0, 1.0], [0.8, 0.5]], [[0.5, 0.5], [0.2, -1.0], [0.0, 0.0]]])
OFFERED = np.array([[True, True, True], [True, True, False]])


def two_sets(num_arms):
    """A world of two action sets, the second one arm shorter."""
    return linear_contextual(SETS, np.array([0.4, 0.6]), np.array([1.0, 0.2]), mask=OFFERED)


@pytest.mark.slow
def test_several_action_sets_are_counted_apart_and_offer_what_they_hold():
    good = greedy(SETS, mask=OFFERED)  # which passes in test_conformance.py

    def update(*given):
        after = good.update(*given)
        return after._replace(counts=jnp.roll(after.counts, 1))

    merged = good._replace(update=update)
    with pytest.raises(CheckFailed, match=r"pulls: pulls are not the true ones in [1-9]"):
        check_algorithm(lambda num_arms: merged, 3, environment=two_sets, rounds=20)
    with pytest.raises(CheckFailed, match=r"range: select returns an arm that its context does not have in [1-9]"):
        last = good._replace(select=lambda noise, state, context: jnp.int32(2))
        check_algorithm(lambda num_arms: last, 3, environment=two_sets, rounds=20)
    far = good._replace(recommend=lambda state: jnp.int32(6))
    with pytest.raises(CheckFailed, match=r"range: recommend returns 6, must be in \[0, 6\)"):
        check_algorithm(lambda num_arms: far, 3, environment=two_sets, rounds=20)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_arms": 0}, "num_arms = 0, must be an integer >= 1"),
        ({"num_arms": []}, "num_arms is empty"),
        ({"num_arms": 3, "rounds": 6}, "rounds = 6, must be an integer >= 7"),
        ({"num_arms": 3, "traced": {"bonus": []}}, r"traced\['bonus'\] is empty"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_algorithm(toy, **arguments)


def test_hyperparameter_ignored_in_a_batch():
    """The run alone uses it."""

    def ignored_in_batch(num_arms, *, bonus=1.0):
        @jax.custom_batching.custom_vmap
        def use(value):
            return value

        @use.def_vmap
        def _(size, batched, value):
            return jnp.zeros_like(value), True

        good = toy(num_arms)

        def select(noise, state, context):
            return jnp.argmax(state.sums + use(as_float(bonus)) * as_float(jnp.arange(num_arms))).astype(jnp.int32)

        return good._replace(select=select)

    with pytest.raises(CheckFailed, match="side by side: actions of a run differs run alone"):
        check_algorithm(ignored_in_batch, 3, traced={"bonus": [0.0, 5.0]})


@pytest.mark.slow
def test_libraries_that_rely_on_promotion_pass_without_the_strict_check_of_it():
    """An int32 of a library becomes a float in a product; the dtypes of the state are checked all the same."""
    make, property_, _ = BROKEN["silent promotion"]
    with pytest.raises(CheckFailed, match=property_):
        check_algorithm(make, 3)
    assert check_algorithm(make, 3, strict=False)
    with pytest.raises(CheckFailed, match=r"state\.sums is float32"):
        check_algorithm(BROKEN["float32 fixed"][0], 3, strict=False)
