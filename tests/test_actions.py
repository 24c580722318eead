"""Actions that are neither an arm nor a set: joint actions, ordered lists, floats and trees, and their pulls."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_conformance import conforms

import jaxbandit as jb
from jaxbandit.engine.rounds.actions import described
from jaxbandit.lab.conformance.check_case import CheckFailed
from jaxbandit.support.numerics import as_float

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

PLAYERS, SLOTS, BUYERS = 3, 2, 4


def int32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def floats(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


class Count(NamedTuple):
    round: jax.Array  # int32[]


def rule(choose, declared, **more):
    """A rule that counts the rounds and chooses by their number and one uniform draw."""
    good = jb.Algorithm(
        init=lambda key: Count(jnp.zeros((), jnp.int32)),
        noise=jax.random.uniform,
        select=lambda draw, state, context: choose(state.round, draw),
        update=lambda state, context, action, feedback: Count(state.round + 1),
        arms=declared,
        name="rule",
    )
    return good._replace(**more)


def joint(num_arms, **more):
    """Player i pulls arm round + i^2: two players may meet."""
    players = jnp.arange(PLAYERS, dtype=jnp.int32) ** 2
    return rule(lambda t, draw: (t + players) % num_arms, jb.Arms(num_arms, action=int32(PLAYERS)), **more)


def shelf(num_arms, **more):
    """A list of two different arms."""

    def choose(t, draw):
        return jnp.stack([t, t + 1]) % num_arms

    return rule(choose, jb.Arms(num_arms, action=int32(SLOTS), ordered=True), **more)


def price(num_arms=0, **more):
    return rule(lambda t, draw: draw, jb.Arms(0, action=floats()), **more)


def direction(num_arms=0, **more):
    return rule(lambda t, draw: jnp.stack([draw, 1 - draw]), jb.Arms(0, action=floats(2)), **more)


def order(num_arms=0, **more):
    """An arm and a price for it."""
    tree = {"arm": int32(), "price": floats()}
    return rule(lambda t, draw: {"arm": t % num_arms, "price": draw}, jb.Arms(num_arms, action=tree), **more)


def world(declared, pays, gap, **more):
    good = jb.Environment(
        init=lambda key: (),
        noise=jax.random.uniform,
        reward=lambda state, context, action, draw: pays(action, draw),
        regret=lambda state, context, action: gap(action),
        arms=declared,
        name="world",
    )
    return good._replace(**more)


def channels(num_arms, **more):
    """Each player earns a number of his own unless another is on his arm; the regret is the number of collisions."""

    def alone(action):
        return jnp.sum((action[:, None] == action[None]).astype(jnp.int32), 1) == 1

    return world(
        jb.Arms(num_arms, action=int32(PLAYERS)),
        lambda action, draw: as_float(alone(action)) * draw,
        lambda action: as_float(jnp.sum((~alone(action)).astype(jnp.int32))),
        **more,
    )


def shop(num_arms, **more):
    """A list of two items; the first is worth its number and the second half of it."""
    best = num_arms - 1 + (num_arms - 2) / 2

    def worth(action):
        return as_float(action[0]) + as_float(action[1]) / 2

    arms = jb.Arms(num_arms, action=int32(SLOTS), ordered=True)
    return world(arms, lambda action, draw: worth(action) + draw, lambda action: best - worth(action), **more)


def market(num_arms=0, **more):
    """One buyer with a valuation that is uniform: the expected revenue of a price is price (1 - price)."""
    revenue = lambda price, draw: price * as_float(price <= draw)  # noqa: E731
    return world(jb.Arms(0, action=floats()), revenue, lambda price: 0.25 - price * (1 - price), **more)


def plane(num_arms=0, **more):
    return world(jb.Arms(0, action=floats(2)), lambda x, draw: -jnp.sum(x**2), lambda x: jnp.sum(x**2), **more)


def shops(num_arms=0, **more):
    tree = {"arm": int32(), "price": floats()}
    revenue = lambda action, draw: action["price"] * as_float(action["price"] <= draw)  # noqa: E731
    return world(jb.Arms(num_arms, action=tree), revenue, lambda action: 1 - action["price"], **more)


PAIRS = {
    "joint": (joint, channels),
    "ordered": (shelf, shop),
    "float": (price, market),
    "floats": (direction, plane),
    "tree": (order, shops),
}


@pytest.mark.parametrize("name", PAIRS)
def test_an_action_of_any_shape_passes_the_checks_and_is_simulated(name):
    algorithm, environment = PAIRS[name]
    conforms(name, algorithm, [(4, False)], {}, environment)
    given = {
        "float": np.linspace(0, 1, 3, dtype=np.float32),
        "floats": np.eye(2, dtype=np.float32),
        "tree": {"arm": np.arange(3, dtype=np.int32), "price": np.ones(3, np.float32)},
    }
    jb.check_environment(environment(4), actions=given.get(name))
    result = jb.simulate(algorithm(4), environment(4), horizon=7, num_runs=3, checkpoints=[7])
    one = jb.rollout(jb.run_key(0, 0), algorithm(4), environment(4), 7)
    np.testing.assert_allclose(result.arrays["regret"][0, -1], one.regret.sum(), rtol=1e-5)
    assert result.arrays.get("recommendation") is None
    assert one.recommendation is None


def test_every_entry_of_a_joint_action_or_list_is_a_pull():
    for algorithm, environment, entries in ((joint, channels, PLAYERS), (shelf, shop, SLOTS)):
        actions = jb.rollout(jb.run_key(0, 0), algorithm(4), environment(4), 7).actions
        result = jb.simulate(algorithm(4), environment(4), horizon=7, num_runs=2)
        assert actions.shape == (7, entries)
        np.testing.assert_array_equal(result.arrays["pulls"], [np.bincount(np.ravel(actions), minlength=4)] * 2)
        assert result.arrays["pulls"].sum() == 2 * 7 * entries
    for algorithm, environment in ((price, market), (direction, plane), (order, shops)):
        assert jb.simulate(algorithm(4), environment(4), horizon=7, num_runs=2).arrays.get("pulls") is None


def counting(per_round, **more):
    """The joint rule with counts of its own, of which each round adds `per_round`."""
    return joint(4, pulls=lambda state: jnp.zeros(4, jnp.int32).at[0].set(per_round * state.round), **more)


def test_own_counts_of_a_joint_action_sum_to_the_entries_of_all_rounds():
    result = jb.simulate(counting(PLAYERS), channels(4), horizon=7, num_runs=2)
    np.testing.assert_array_equal(result.arrays["pulls"], [[21, 0, 0, 0]] * 2)
    assert result.arrays.get("recommendation") is None  # an arm pulled most says nothing here
    with pytest.raises(ValueError, match="does not sum to the number of rounds"):
        jb.simulate(counting(1), channels(4), horizon=7, num_runs=2)


def test_a_rule_with_joint_actions_stops():
    ends = {
        "stop": lambda state: state.round >= 5,
        "recommend": lambda state: jnp.zeros(PLAYERS, jnp.int32),
        "promise": jb.contract.Promise(0.1),
    }
    result = jb.identify(counting(PLAYERS, **ends), channels(4), num_runs=3)
    assert result.arrays["samples"].tolist() == [5] * 3
    np.testing.assert_array_equal(result.arrays["pulls"], [[15, 0, 0, 0]] * 3)
    stopped = jb.run_until_stop(jb.run_key(0, 0), counting(PLAYERS, **ends), channels(4), 100)
    assert int(stopped.samples) == 5
    with pytest.raises(ValueError, match="does not sum to the number of rounds"):
        jb.identify(counting(1, **ends), channels(4), num_runs=3)
    with pytest.raises(ValueError, match="an action is neither an arm nor a set: must have recommend"):
        jb.identify(counting(PLAYERS, stop=ends["stop"]), channels(4), num_runs=3)


BERNOULLI = jb.environments.bernoulli([0.2, 0.4, 0.6, 0.8])
TWO = jb.Arms(4, action=int32(2))
REFUSED = {
    "a joint rule on arms": (joint(4), BERNOULLI, "rule chooses int32[3], bernoulli takes an arm, int32[]"),
    "a rule for arms on lists": (jb.algorithms.ucb1(4), shop(4), "ucb1 chooses an arm, int32[], world takes int32[2]"),
    "another length": (joint(4)._replace(arms=TWO), channels(4), "rule chooses int32[2], world takes int32[3]"),
    "another dtype": (
        price()._replace(arms=jb.Arms(0, action=int32())),
        market(),
        "chooses int32[], world takes float",
    ),
    "another tree": (price()._replace(arms=jb.Arms(0, action=[floats()])), market(), "chooses [float[]], world takes"),
    "repeated arms": (shelf(4)._replace(arms=TWO), shop(4), "rule may choose an arm twice in int32[2], world takes"),
    "select against its own": (
        joint(4)._replace(arms=TWO),
        channels(4, arms=None),
        "rule: select returns int32[3], its Arms declare int32[2]: must be equal",
    ),
    "select against the world": (
        joint(4)._replace(arms=None),
        channels(4, arms=TWO),
        "rule: select returns int32[3], world takes int32[2]: must be equal",
    ),
    "a vector where an arm is declared": (
        joint(4)._replace(arms=None),
        channels(4, arms=jb.Arms(4)),
        "select returns int32[3], world takes an arm, int32[]",
    ),
    "no shape": (joint(4, arms=jb.Arms(4, action=(3,))), channels(4), "rule: Arms.action holds 3, must be a tree of"),
    "an empty tree": (joint(4, arms=jb.Arms(4, action=())), channels(4), "rule: Arms.action holds nothing, must be"),
    "a set and a shape": (
        joint(4, arms=jb.Arms(4, set_size=2, action=int32(3))),
        channels(4),
        "rule: Arms declares sets of arms and an action int32[3], must be one of the two",
    ),
    "an ordered float": (
        price(arms=jb.Arms(0, action=floats(), ordered=True)),
        market(),
        "Arms(ordered=True) with an action float[], must be int32[k] with k at most num_arms = 0",
    ),
    "too long a list": (
        joint(4, arms=jb.Arms(2, action=int32(3), ordered=True)),
        channels(4),
        "must be int32[k] with k at most num_arms = 2",
    ),
    "an ordered arm": (
        jb.algorithms.ucb1(4)._replace(arms=jb.Arms(4, ordered=True)),
        BERNOULLI,
        "must declare action = int32[k]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_actions_that_differ_are_refused_in_one_line(name):
    algorithm, environment, words = REFUSED[name]
    for play in (
        lambda: jb.simulate(algorithm, environment, horizon=5, num_runs=1),
        lambda: jb.rollout(jb.run_key(0, 0), algorithm, environment, 5),
    ):
        with pytest.raises(ValueError) as error:
            play()
        assert words in str(error.value)
        assert len(str(error.value).splitlines()) == 1


def test_a_rule_that_never_repeats_an_arm_plays_where_repeating_is_allowed():
    jb.simulate(shelf(4), shop(4, arms=jb.Arms(4, action=int32(2))), horizon=5, num_runs=1)


def test_a_float_action_may_have_any_precision():
    for precision in ("float32", "float64"):
        jb.simulate(price(), market(), horizon=5, num_runs=1, precision=precision)
    double = jb.Arms(0, action=jax.ShapeDtypeStruct((), np.dtype("float64")))
    jb.simulate(price(arms=double), market(), horizon=5, num_runs=1)


def test_hindsight_and_sessions_refuse_actions_of_other_shapes():
    with pytest.raises(ValueError, match=r"hindsight = True, must have .* actions that are int32\[\]"):
        jb.simulate(joint(4), channels(4), horizon=5, num_runs=1, hindsight=True)
    with pytest.raises(ValueError, match=r"session: rule chooses int32\[3\], must choose an arm or a set of arms"):
        jb.session(joint(4))


def test_types_of_actions_in_words():
    assert described(jb.Arms(3)) == "an arm, int32[]"
    assert described(jb.Arms(3, set_size=2)) == "a set of arms, bool[3]"
    assert described(order(3).arms) == "{'arm': int32[], 'price': float[]}"


def repeats(num_arms, **more):
    return shelf(num_arms)._replace(select=lambda draw, state, context: jnp.zeros(2, jnp.int32))


def leaves(num_arms, **more):
    return joint(num_arms)._replace(select=lambda draw, state, context: jnp.full(PLAYERS, num_arms, jnp.int32))


def divides(num_arms, **more):
    return price()._replace(select=lambda draw, state, context: draw * jnp.inf * 0)


def miscounts(num_arms, **more):
    return joint(num_arms, pulls=lambda state: jnp.full(num_arms, state.round))


def shortens(num_arms, **more):
    return joint(num_arms)._replace(select=lambda draw, state, context: jnp.zeros(2, jnp.int32))


FAILING = {
    "an arm twice": (repeats, shop, "range: select lists an arm twice in 12 of 12 rounds"),
    "an arm that is not there": (leaves, channels, r"range: select leaves \[0, 4\) in 12 of 12 rounds"),
    "no number": (divides, market, "finite: select returns a number that is not finite in 12 of 12 rounds"),
    "wrong counts": (miscounts, channels, "pulls: pulls are not the true ones"),
    "another shape": (shortens, channels, r"types: select returns int32\[2\], but Arms.action is int32\[3\]"),
    "nobody pays": (joint, None, r"types: nobody pays for an action int32\[3\]; give check_algorithm an environment"),
}


@pytest.mark.parametrize("name", FAILING)
def test_check_algorithm_names_what_is_wrong_with_an_action(name):
    algorithm, environment, words = FAILING[name]
    with pytest.raises(CheckFailed, match=words):
        jb.check_algorithm(algorithm, 4, environment=environment, rounds=12)


def test_check_environment_plays_all_lists_if_there_are_few_and_asks_for_floats():
    nobody = channels(2, regret=lambda state, context, action: jnp.ones(()))
    with pytest.raises(CheckFailed, match="regret: no action has gap 0 in round 1, the smallest is 1"):
        jb.check_environment(nobody)
    twice = shop(4, reward=lambda state, context, action, draw: jnp.where(action[0] == action[1], jnp.nan, draw))
    jb.check_environment(twice)  # the lists that are played hold no arm twice
    with pytest.raises(CheckFailed, match="feedback is nan"):
        jb.check_environment(twice._replace(arms=TWO, regret=None))
    jb.check_environment(channels(40, regret=lambda state, context, action: jnp.ones(())))  # too many to see the best
    with pytest.raises(ValueError, match=r"an action is float\[2\], whose values are not known; give actions"):
        jb.check_environment(plane())
    with pytest.raises(ValueError, match=r"check_environment: Arms\.action holds 2, must be a tree"):
        jb.check_environment(plane(arms=jb.Arms(0, action=[2])))
