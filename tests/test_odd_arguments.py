"""Odd values for each argument of each factory: taken, or refused in one line of our own that names the argument."""

import re
import traceback
from pathlib import Path

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.parameters import parameters_of
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS
from jaxbandit.support.domains import BOOLEAN, integer
from jaxbandit.support.refusals import python

pytestmark = pytest.mark.quickly_compiled


class Odd:
    def __repr__(self):
        raise RuntimeError


VALUES = {
    **{name: eval(name) for name in ("None", "-1", "0", "2**63", "10**400", "10**5000", "'x'", "''", "True", "1.5")},
    **{
        name: eval(name)
        for name in ("-0.5", "[]", "{}", "set()", "b'x'", "1j", "[None]", "(1,)", "range(3)", "'x' * 5000")
    },
    "nan": float("nan"),
    "inf": float("inf"),
    "an object": Odd(),
    "a function": lambda: 1,
    "rows of different lengths": [[1], [1, 2]],
    "an empty array": np.array([]),
    "an array of objects": np.array([Odd()]),
    "an array of four axes": np.zeros((2, 2, 2, 2)),
    "text in an array": np.array("x"),
    "an array of nan": np.full(3, np.nan),
    "numpy's integer": np.int64(-5),
}
GIVEN = {
    "num_arms": 3,
    "features": np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]),
    "k": 2,
    "theta": np.array([1.0, 0.0]),
    "starts": [0],
    "means": np.array([0.2, 0.5, 0.4]),
    "horizon": 20,
    "budget": 60,
    "epsilon": 0.1,
    "a": 1.0,
}
FACTORIES = {name: entry.factory() for entries in (ALGORITHMS, ENVIRONMENTS) for name, entry in entries.items()}


def faults(name, factory):
    parameters = parameters_of(factory)
    required = {key for key, p in parameters.items() if p.required}
    if not required <= GIVEN.keys():
        return
    for key in parameters:
        for what, value in VALUES.items():
            given = {each: GIVEN[each] for each in parameters if each in required or each == "horizon"}
            try:
                factory(**given | {key: value})
            except (ValueError, TypeError) as error:
                said = str(error)
                own = Path(traceback.extract_tb(error.__traceback__)[-1].filename).is_relative_to(
                    Path(jb.__file__).parent
                )
                if "\n" in said or len(said) > 300 or not own or not re.match(r"[a-z]\w*:? ", said):
                    yield f"{name}: {key} = {what}: {type(error).__name__}: {said[:200]}"
            except Exception as error:
                yield f"{name}: {key} = {what}: {error!r:.200}"


@pytest.mark.slow
def test_odd_values_are_taken_or_refused_in_one_line():
    assert [fault for name, factory in FACTORIES.items() for fault in faults(name, factory)] == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: jb.environments.bernoulli(10**400),
            "bernoulli: means = an integer of 1329 bits, must be numbers in 1 axes",
        ),
        (
            lambda: jb.algorithms.uniform(2**31),
            r"uniform: num_arms = 2147483648, must be an integer in \[1, 2147483647\]",
        ),
        (
            lambda: jb.algorithms.exp3_s(3, horizon=10**400),
            r"exp3_s: horizon = an integer of 1329 bits, must be an integer in \[1, 9",
        ),
        (
            lambda: jb.algorithms.uniform(np.zeros((2, 2, 2, 2))),
            r"uniform: num_arms = array\(\[\[\[\[0., 0.\], \[0., 0.\]\], .*\.\.\., must be an int",
        ),
        (
            lambda: jb.algorithms.greedy([[1], [1, 2]]),
            r"greedy: features = \[\[1\], \[1, 2\]\], must be numbers in 2 axes",
        ),
        (
            lambda: jb.algorithms.greedy(np.eye(2), mask=[[1], [1, 2]]),
            r"greedy: mask = \[\[1\], \[1, 2\]\], must be bool\[2\]",
        ),
        (
            lambda: jb.environments.gaussian([1.0, 2.0], sigma=[[1], [1, 2]]),
            r"gaussian: sigma = .*, must be numbers in 1 axes",
        ),
        (lambda: jb.algorithms.icb(4, k=2, decision_class=7), "icb: decision_class = 7, must be a DecisionClass"),
        (
            lambda: jb.algorithms.kim_nelson(3, epsilon=0.1, independent=np.ones(2)),
            "kim_nelson: independent = .*, must be true or false",
        ),
        (lambda: jb.algorithms.ucboost(3, distances=7), "ucboost: distances = 7, must be one or more names"),
        (
            lambda: jb.algorithms.oracle_restart(3, starts=np.array("x")),
            "oracle_restart: starts = .*, must be a list of rounds",
        ),
        (lambda: jb.algorithms.kl_ucb(3, c="x" * 5000), r"kl_ucb: c = 'x{56}\.\.\., must be a number"),
        (lambda: jb.algorithms.kl_ucb(3, c=Odd()), "kl_ucb: c = a Odd, must be a number"),
    ],
)
def test_messages(call, said):
    with pytest.raises(ValueError, match=f"^{said}") as caught:
        call()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_what_was_taken_is_taken():
    assert integer(0).take(2**63 - 1) == 2**63 - 1 and integer(0, 10**30).take(10**30) == 10**30
    assert BOOLEAN.take(np.True_) is True and BOOLEAN.take(False) is False
    assert (
        jb.algorithms.ucboost(3, distances=iter(["bq", "h"])).name
        and jb.algorithms.kim_nelson(3, epsilon=0.1, independent=np.True_).name
    )
    assert python([1, "a"]) == "[1, 'a']" and python(2**900) == str(2**900)[:57] + "..." and python(-(10**9000))
