"""Logged data: what is read from arrays, tables and files, and what is refused, in one line with its row."""

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.support.refusals import BadInput

N, ARMS = 20, 3
RNG = np.random.default_rng(0)
ACTION, REWARD, CONTEXT = RNG.integers(0, ARMS, N), RNG.random(N), RNG.normal(size=(N, 2))
ACTION[:3] = 0, 1, 2
PROPENSITY = np.full(N, 1 / 3)
ARRAYS = {"action": ACTION, "reward": REWARD, "context": CONTEXT, "propensity": PROPENSITY}


def with_entry(values, at, entry):
    changed = np.array(values, float)
    changed[at] = entry
    return changed


def test_arrays():
    log = jb.read_log(**ARRAYS)
    assert len(log) == N and log.num_arms == ARMS and log.rewards == (0, 1) and not log.adaptive
    assert log.action.dtype == np.int32 and log.context.dtype == log.reward.dtype == np.float64
    np.testing.assert_array_equal(log.context, CONTEXT)
    assert "contexts float[2]" in repr(log) and "no propensities" in repr(jb.read_log(action=ACTION, reward=REWARD))
    assert jb.read_log(**ARRAYS, num_arms=7).num_arms == 7
    assert jb.read_log(**{**ARRAYS, "context": CONTEXT[:, 0]}).context.shape == (N, 1)


def test_probabilities_give_the_propensity_and_the_number_of_arms():
    chances = RNG.dirichlet(np.ones(4), N)
    log = jb.read_log(action=ACTION, reward=REWARD, probabilities=chances)
    np.testing.assert_array_equal(log.propensity, chances[np.arange(N), ACTION])
    assert log.num_arms == 4
    assert jb.read_log(action=ACTION, reward=REWARD, context=np.zeros((N, 5, 2))).num_arms == 5


def test_rows_know_where_they_come_from():
    log = jb.read_log(**ARRAYS, adaptive=True, least_propensity=0.3)
    some = log[10:]
    assert some.adaptive and some.least_propensity == 0.3 and some.num_arms == ARMS and len(some) == 10
    np.testing.assert_array_equal(some.reward, REWARD[10:])
    assert log.shared(some) == some.shared(log) == 10 and log[:10].shared(some) == 0
    assert some[2:4].shared(log[12:13]) == 1 and log[log.action == 0].shared(log) == (ACTION == 0).sum()
    assert jb.read_log(**ARRAYS).shared(log) == N
    assert jb.read_log(**{**ARRAYS, "reward": with_entry(REWARD, 3, 0.5)}).shared(log) == 0
    with pytest.raises(TypeError, match="must be a slice"):
        log[3]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_files(tmp_path, delimiter):
    path = tmp_path / "log.csv"
    lines = ["age, arm ,click,p,p0,p1,a0,a1", "30,0,yes,.5,.5,.5,1,true", "", "41,1,no,.25,.75,.25,yes,1"]
    path.write_text("\n".join(lines).replace(",", delimiter))
    names = {"action": "arm", "reward": "click", "context": ["age"], "probabilities": ["p0", "p1"]}
    log = jb.read_log(path, **names, propensity="p", available=["a0", "a1"])
    assert log.action.tolist() == [0, 1] and log.reward.tolist() == [1, 0] and log.context.tolist() == [[30], [41]]
    assert log.probabilities.tolist() == [[0.5, 0.5], [0.75, 0.25]] and log.propensity.tolist() == [0.5, 0.25]
    assert log.available.tolist() == [[True, True], [True, True]]
    nested = jb.read_log(str(path), action="arm", reward="click", context=[["age", "p0"], ["age", "p1"]])
    assert nested.context.tolist() == [[[30, 0.5], [30, 0.5]], [[41, 0.75], [41, 0.25]]]


def test_data_frames_and_dictionaries():
    pandas = pytest.importorskip("pandas")
    columns = {"arm": ACTION, "click": REWARD, "p": PROPENSITY, "x": CONTEXT[:, 0], "y": CONTEXT[:, 1]}
    wanted = jb.read_log(**ARRAYS)
    for source in (pandas.DataFrame(columns), columns):
        log = jb.read_log(source, action="arm", reward="click", propensity="p", context=["x", "y"])
        assert log.origin == wanted.origin
    whole = jb.read_log({"arm": ACTION, "r": REWARD, "x": CONTEXT}, action="arm", reward="r", context="x")
    np.testing.assert_array_equal(whole.context, CONTEXT)
    mixed = jb.read_log(columns, action="arm", reward="click", propensity=PROPENSITY)
    assert mixed.propensity is not None and mixed.context is None


CHANCES = np.tile([0.2, 0.3, 0.5], (N, 1))
OFFERED = np.ones((N, ARMS))
REFUSED = {
    "reward not finite": ({"reward": with_entry(REWARD, 3, np.nan)}, "row 3: reward is empty or not a number"),
    "reward infinite": ({"reward": with_entry(REWARD, 3, -np.inf)}, "row 3: reward is -inf, must be a finite number"),
    "reward outside": ({"reward": with_entry(REWARD, 4, 1.5)}, r"row 4: reward = 1.5, must be in \[0, 1\], the range"),
    "reward below": ({"reward": with_entry(REWARD, 4, -0.1)}, "row 4: reward = -0.1"),
    "context not finite": ({"context": with_entry(CONTEXT, (7, 1), np.inf)}, "row 7: context is inf"),
    "action not finite": ({"action": with_entry(ACTION, 5, np.nan)}, 'row 5: action = "nan", must be the label'),
    "propensity not finite": ({"propensity": with_entry(PROPENSITY, 6, np.nan)}, "row 6: propensity is empty or not"),
    "probability not finite": (
        {"propensity": None, "probabilities": with_entry(CHANCES, (9, 1), np.inf)}, "row 9: probabilities is inf, must"
    ),
    "action negative": ({"action": with_entry(ACTION, 5, -1), "num_arms": 3}, "row 5: action = -1, must be an arm"),
    "action beyond": ({"num_arms": 2}, r"action = 2, must be an arm: a whole number in \[0, 1\]"),
    "action not whole": ({"action": with_entry(ACTION, 5, 1.5), "num_arms": 3}, "row 5: action = 1.5"),
    "propensity 0": ({"propensity": with_entry(PROPENSITY, 6, 0)}, r"row 6: propensity = 0.0, must be in \[1e-150"),
    "propensity tiny": ({"propensity": with_entry(PROPENSITY, 6, 1e-300)}, "row 6: propensity = 1e-300, must be in"),
    "propensity above 1": ({"propensity": with_entry(PROPENSITY, 6, 1.01)}, "row 6: propensity = 1.01"),
    "propensity below the least": ({"least_propensity": 0.4}, "row 0: propensity = 0.33.*least_propensity = 0.4"),
    "least propensity": ({"least_propensity": 0}, r"least_propensity = 0, must be a number in \(0"),
    "one row": ({k: v[:1] for k, v in ARRAYS.items()}, "has 1 row, must have at least 2"),
    "lengths": ({"context": CONTEXT[:5]}, "context has 5 rows, must have 20, as many as action"),
    "axes": ({"propensity": CHANCES}, r"propensity has shape \(20, 3\), must be \[n\]"),
    "no table": ({"action": "arm"}, "action = 'arm', must be an array, because no table"),
    "no numbers": ({"reward": ["a", 1]}, "reward = .*, must be an array of numbers"),
    "range": ({"rewards": (1, 1)}, r"rewards = \(1, 1\), must be two finite numbers"),
    "not available": (
        {"available": with_entry(OFFERED, (0, ACTION[0]), 0)}, "row 0: action = 0, must be an arm that is available"
    ),
    "arms differ": ({"available": np.ones((N, 4)), "num_arms": 3}, "available has 4 arms, must have 3, as num_arms"),
    "sum": ({"probabilities": CHANCES * 0.9}, "row 0: probabilities sum to 0.9, must sum to 1"),
    "negative": ({"probabilities": CHANCES + np.array([-0.3, 0.3, 0])}, "row 0: probabilities = -0.0.*must be at"),
    "another propensity": (
        {"probabilities": CHANCES}, r"row 0: probabilities\[0\] = 0.2, must be the propensity 0.333333 of the action"
    ),
    "probability of what is not available": (
        {"probabilities": CHANCES, "propensity": None, "available": with_entry(OFFERED, (8, (ACTION[8] + 1) % 3), 0)},
        r"row 8: probabilities\[\d\] = 0.\d, must be 0",
    ),
    "adaptive": ({"adaptive": 1}, "adaptive = 1, must be"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_errors_are_one_line_with_the_row(case):
    arguments, message = REFUSED[case]
    with pytest.raises(ValueError, match=f"^read_log: .*{message}") as error:
        jb.read_log(**{**ARRAYS, **arguments})
    assert "\n" not in str(error.value)


def test_errors_in_files_name_the_line_and_the_nearest_column(tmp_path):
    path = tmp_path / "log.csv"

    def refused(text, message, **arguments):
        path.write_text(text)
        with pytest.raises(BadInput, match=message):
            jb.read_log(path, **arguments)

    refused("action,reward\n0,1\n\n1,\n", r"line 4: reward is empty or not a number, must be a finite number$")
    refused("action,reward\n0,1\n1,maybe\n", 'line 3: reward = "maybe", must be a finite number$')
    refused("action,rewrd\n0,1\n", "has no column 'reward', its columns are 'action', 'rewrd'; did you mean 'rewrd'")
    refused("action,reward,p\n0,1,.5\n1,1,1.5\n", r"line 3: p = 1.5, must be in \[1e-150, 1\]$", propensity="p")
    refused("action,reward\n", "log.csv: has 0 rows, must have at least 2$")
    refused("action,reward\n0,1\n2,1\n", r"line 3: action = 2, must be an arm.*\[0, 1\];", num_arms=2)
    with pytest.raises(BadInput, match=r"context = .*, must be a list of names, or lists of equally many names"):
        jb.read_log(dict.fromkeys("ab", ACTION) | {"action": ACTION, "reward": REWARD}, context=[["a", "b"], ["a"]])
