"""check_environment passes every registered environment and names each slip in one line.

Every bad world is the good one with one function replaced, so that each also shows that the check can fail.
"""

from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import parts
import pytest

import jaxbandit as jb
from jaxbandit.lab.conformance.check_case import CheckFailed
from jaxbandit.lab.conformance.check_environment import PROPERTIES
from jaxbandit.lab.specs.registry import ENVIRONMENTS
from jaxbandit.support.numerics import as_float

pytestmark = pytest.mark.quickly_compiled

MEANS = [0.2, 0.6]
MOST = 8  # pulls of an arm in a batch that check_environment plays
GENERATOR = np.random.default_rng(0)


def good():
    """Two arms that pay 1 with the probabilities MEANS; a batch is played coin by coin."""

    def sums(state, pulls, draws):
        played = jnp.arange(MOST, dtype=pulls.dtype)[:, None] < pulls[None]
        return jnp.sum(as_float(played & (draws < state[None])), 0)

    return jb.Environment(
        init=lambda key: jnp.asarray(MEANS),
        noise=jax.random.uniform,
        reward=lambda state, context, action, draw: as_float(draw < state[action]),
        regret=lambda state, context, action: jnp.max(state) - state[action],
        batch=jb.contract.BatchRewards(noise=lambda key: jax.random.uniform(key, (MOST, len(MEANS))), sums=sums),
        arms=jb.Arms(2),
        rewards=jb.Rewards(0.0, 1.0),
        known=lambda: {"sigma": 0.5},
        truth=jb.contract.Truth(means=lambda state: state, regret_constant=lambda: 1.5),
        name="coins",
    )


COINS = good()
BATCH = jb.contract.BatchRewards(*COINS.batch or ())


def drawn_by_numpy(state, context, action, draw):
    return as_float(GENERATOR.random() < state[action])


def too_large(state, pulls, draws):
    return 1.1 * BATCH.sums(state, pulls, draws)


def too_wide(state, pulls, draws):
    """The mean is right, but one coin serves the whole batch."""
    return as_float(pulls) * as_float(draws[0] < state)


def same(state, context, action, draw):
    return state


BROKEN = {  # a function or record in place of the good one, the property it breaks, words of the line
    "chance of NumPy": ({"reward": drawn_by_numpy}, "traceable", "reward traced again is another program"),
    "a branch on the action": (
        {"reward": lambda state, context, action, draw: 1.0 if action else 0.0},
        "traceable",
        "reward: TracerBoolConversionError",
    ),
    "over at once": (
        {"over": lambda state: state[0] > 0, "transition": same, "batch": None},
        "over",
        "it is True before the first round",
    ),
    "negative regret": ({"regret": lambda s, c, a: 0.5 - s[a]}, "regret", "a gap is at least 0"),
    "nobody is best": (
        {"regret": lambda s, c, a: 1.0 - s[a]},
        "regret",
        "no arm has gap 0 in round 1, the smallest is 0.4",
    ),
    "regret of all arms": ({"regret": lambda s, c, a: jnp.max(s) - s}, "types", "regret returns float32[2]"),
    "a reward outside": (
        {"reward": lambda s, c, a, draw: 3.0 * as_float(draw < s[a])},
        "feedback",
        "it is 3.0 in round 1, but rewards declares [0.0, 1.0]",
    ),
    "a reward that is no number": (
        {"reward": lambda s, c, a, draw: jnp.where(draw < 0.01, jnp.nan, 0.5)},
        "feedback",
        "feedback is nan in round 1; guard divisions and logs",
    ),
    "drifts in dtype": (
        {"transition": lambda s, c, a, draw: (s > 0.5).astype(jnp.int32)},
        "types",
        "state is float32[2] from init, int32[2] from transition",
    ),
    "drifts into the negative": (
        {
            "transition": lambda s, c, a, draw: s - 0.1,
            "regret": lambda s, c, a: jnp.where(s[1] < 0.45, -0.1, s[1] - s[a]),
        },
        "regret",
        "in round 3",
    ),
    "means of others": (
        {"truth": jb.contract.Truth(means=lambda state: state * state)},
        "truth",
        "action 1 has mean 0.36 with gap 0 and action 0 0.04 with gap 0.4; correct truth.means or regret",
    ),
    "a mean of no arm": (
        {"truth": jb.contract.Truth(means=lambda state: state[:1])},
        "truth",
        "means returns float32[1], must return float[2], one mean for each arm",
    ),
    "a list of what is known": ({"known": lambda: ["sigma"]}, "truth", "known returns ['sigma'], must return a dict"),
    "parameters without names": (
        {"truth": jb.contract.Truth(parameters=lambda: {0: 1.5})},
        "truth",
        "truth.parameters returns {0: 1.5}, must return a dict with names",
    ),
    "a negative constant": (
        {"truth": jb.contract.Truth(regret_constant=lambda: -1.0)},
        "truth",
        "truth.regret_constant returns -1, must be a number >= 0",
    ),
    "a segment without a constant": (
        {"schedule": jb.contract.Schedule((0,), [MEANS], lambda row: float("nan"))},
        "truth",
        "schedule.regret_constant returns nan, must be a number >= 0",
    ),
    "sums too large": ({"batch": BATCH._replace(sums=too_large)}, "batches of pulls", "mean of 8 pulls of action"),
    "sums too wide": ({"batch": BATCH._replace(sums=too_wide)}, "batches of pulls", "variance of 8 pulls of action"),
    "a context of another shape": (
        {"arms": jb.Arms(2, context=(3,)), "observe": lambda state, draw: state},
        "types",
        "observe returns float[2], Arms declares context (3,): must be float[3]",
    ),
    "an offer that is missing": (
        {"arms": jb.Arms(2, available=True)},
        "types",
        "observe returns None, Arms declares available, context None: must be Offer(bool[2], None)",
    ),
    "a gap of an arm that is not offered": (
        {"arms": jb.Arms(2, available=True), "observe": lambda state, draw: jb.Offer(jnp.arange(2) == 1)},
        "regret",
        "it is 0.4 in round 1 for an arm that is not available; return NaN",
    ),
    "float32 fixed": ({"init": lambda key: jnp.asarray(MEANS, jnp.float32)}, "precision", "); do not fix the dtype"),
    "reward of float32": (
        {"reward": lambda s, c, a, draw: (draw < s[a]).astype(jnp.float32)},
        "precision",
        "feedback is float32; do not fix the dtype",
    ),
    "a reward without return": ({"reward": lambda *met: None}, "types", "reward returns None; is a return statement"),
    "a gap without return": ({"regret": lambda *met: None}, "types", "regret returns None; is a return statement"),
    "float64 fixed": (
        {"init": lambda key: jnp.asarray(MEANS, jnp.float64)},
        "precision",
        "init: Explicitly requested dtype",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_slip_is_named_in_one_line(name):
    changes, prop, words = BROKEN[name]
    with pytest.raises(CheckFailed) as caught:
        jb.check_environment(COINS._replace(**changes))
    message = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert message.startswith("coins (float") and f": {prop}: " in message and words in message, message
    assert "\n" not in message and len(message) < 300, message


def test_every_property_is_seen_to_fail():
    assert {prop for _, prop, _ in BROKEN.values()} == set(PROPERTIES)


def test_the_good_one_passes_and_what_is_absent_is_not_said_to_be_checked():
    report = jb.check_environment(COINS)
    assert (report.name, report.properties) == ("coins", tuple(x for x in PROPERTIES if x != "over"))
    assert str(report).startswith("coins:\n  traceable: ")
    left = jb.check_environment(COINS._replace(batch=None, regret=None)).properties
    assert set(PROPERTIES) - set(left) == {"batches of pulls", "regret", "over"}


def test_a_world_that_changes_passes():
    def turned(state, context, action, draw):
        return state[::-1]

    assert jb.check_environment(COINS._replace(transition=turned), rounds=3).name == "coins"


def test_actions_may_be_given():
    unsaid = COINS._replace(arms=None)
    with pytest.raises(ValueError, match="does not declare its arms; give actions"):
        jb.check_environment(unsaid)
    assert jb.check_environment(unsaid, actions=np.arange(2, dtype=np.int32)).name == "coins"
    with pytest.raises(ValueError, match="got a function, must be an Environment: call its factory"):
        jb.check_environment(cast("jb.Environment", good))
    with pytest.raises(ValueError, match="rounds = 0, must be an integer >= 1"):
        jb.check_environment(COINS, rounds=0)


# Each compiles four programs of its own: one of a kind for the quick tier.
QUICK = ("bernoulli", "gaussian", "linear_contextual")
# Exact sums of sets' batches take minutes at this number of samples; tests/test_full_bandit.py has their law.
SETS = ("crowd_answers", "full_bandit", "full_bandit_random")


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in ENVIRONMENTS])
def test_every_registered_environment_passes(name, tmp_path):
    worlds = [world for _, world in parts.environments(tmp_path, [name])]
    if name == "r6a":  # it needs the log, and is `linear` with sign noise
        assert not worlds
        return
    if name in SETS:
        worlds = [world._replace(batch=None) for world in worlds]
    assert [jb.check_environment(world) for world in worlds]
