"""Digests of configurations and functions: the same in every process, and different where anything matters."""

import functools
import re
import subprocess
import sys
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning.digests import NoDigest, function_digest, value_digest

PROCESS = """
import enum, pathlib, sys
import numpy as np
from jaxbandit.decide.tuning import configs
from jaxbandit.decide.tuning.digests import function_digest

class Color(enum.Enum):
    RED = 1

class Model:
    def __init__(self, size):
        self.size, self.parts = size, {"b", "a", "c"}

def build(seed):
    return seed in {"x", "y"}

def train(seed, config):
    return build(seed), np.mean, Model(3), THRESHOLDS

THRESHOLDS = {"x": [1, 2.5], "y": {"p", "q"}}
space = configs.read([
    {"x": 0.1, "s": {"b", "a", "c"}, "none": None}, {"x": 0.1, "model": Model(1)}, {"x": 0.1, "model": Model(2)},
    {"x": 1}, {"x": 1.0}, {"x": True}, {"x": "1"}, {"y": 1}, {"x": (1, "a")}, {"x": [1, "a"]}, {"x": Color.RED},
    {"x": pathlib.PurePosixPath("a")}, {"x": build}, {"x": np.tanh}, {"x": np.float32(0.1)}, {"x": np.arange(3)},
])
print(*(space.key(i) for i in range(space.count)), function_digest(train))
"""


@pytest.mark.slow
def test_keys_are_the_same_in_every_process_and_differ():
    def keys(hash_seed):
        result = subprocess.run(
            [sys.executable, "-c", PROCESS],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return result.stdout.split()

    one, other = keys("1"), keys("2")
    assert one == other and len(set(one)) == len(one) == 17


def test_the_key_of_a_configuration_depends_on_nothing_else():
    as_columns = search_space.read(jb.space.grid(lr=[0.1, 0.3], act=["a", "b"], n=[None, 3]))
    alone = search_space.read([{"n": 3, "act": "b", "lr": 0.1}, {"other": object()}])
    assert as_columns.row(3) == {"lr": 0.1, "act": "b", "n": 3} and as_columns.key(3) == alone.key(0)
    assert len({as_columns.key(i) for i in range(8)}) == 8
    locked = search_space.read([{"client": threading.Lock()}, {"client": threading.Lock()}])
    with pytest.raises(ValueError, match=r"configuration 0 .* holds a lock .* give its name and look it up in train"):
        locked.key(0)
    with pytest.raises(ValueError, match=r"configs: x\[0\] is a lock .*must be hashable or have a content"):
        search_space.read([{"x": [threading.Lock()]}])


BODY = """
import threading, numpy as np
LOCK, SCALE, LOG = threading.Lock(), 2, []

def helper(x):
    return x * SCALE

def train(seed, config):
    LOG.append(seed)
    with LOCK:
        return sum(helper(x) for x in range(3)) + max([y + "a" for y in "bc"], key=lambda y: y == "ba")
"""


class Holds:
    def __init__(self, function):
        self.function = function

    def __call__(self, seed, config):
        return self.function(seed)


SAME = {
    "another name": lambda text: text.replace("train", "another").replace("def helper", "\n\ndef helper"),
    "a docstring and comments": lambda text: text.replace("    LOG", '    """Words."""\n    # more\n    LOG'),
    "a log that grows": lambda text: text + "\nLOG.append(3)",
    "another lock": lambda text: text + "\nLOCK = threading.Lock()",
    "another function beside it": lambda text: text + "\ndef unused(): return 3",
}
OTHER = {
    "a constant": lambda text: text.replace("range(3)", "range(4)"),
    "a helper": lambda text: text.replace("x * SCALE", "x + SCALE"),
    "a global": lambda text: text.replace(" = threading.Lock(), 2", " = threading.Lock(), 3"),
    "a constant inside": lambda text: text.replace('+ "a"', '+ "b"'),
    "a lambda": lambda text: text.replace('== "ba"', '!= "ba"'),
    "a name": lambda text: text.replace("max(", "min("),
    "a default": lambda text: text.replace("(seed, config)", "(seed, config=3)"),
}


def function_of(text):
    space: Any = {"__name__": "some_module"}
    exec(text, space)
    return space.get("train") or space["another"]


@pytest.mark.parametrize("case", [*SAME, *OTHER])
def test_a_function_is_known_by_its_code(case):
    changed = function_of({**SAME, **OTHER}[case](BODY))
    assert (function_digest(function_of(BODY)) == function_digest(changed)) is (case in SAME)


def test_what_a_function_closes_over_is_part_of_it():
    def made(data, counts):
        count = 0

        def train(seed, config):
            nonlocal count
            count += 1
            counts.append(seed)
            return data

        return train

    first = made([1, {"a": 2}], [])
    digest = function_digest(first)
    first(1, 2)
    assert function_digest(first) == digest == function_digest(made([1, {"a": 2}], [7]))
    assert digest != function_digest(made([1, {"a": 3}], []))
    assert function_digest(functools.partial(first, 1)) != function_digest(functools.partial(first, 2))
    assert function_digest(Holds(np.sin)) != function_digest(Holds(np.cos))
    ends = {}
    ends["itself"] = ends  # has no end
    assert function_digest(made(ends, [])) == function_digest(made(ends, []))


def test_equal_content_has_equal_digests_and_nothing_else():
    values = [
        1, 1.0, True, "1", b"1", None, -0.0, 0.0, float("nan"), 2**80, [1], (1,), {1}, {1: 1}, [[1]], [1, 1],
        np.float32(1), np.ones(2), np.ones(2, np.float32), np.ones((2, 1)), np.sin, np.cos, int, len, np.dtype("f4"),
        range(3), 1j, {"a": 1, "b": 2}, {"a": 2, "b": 1}, [{"a": 1}, {"b": 2}], [{"a": 1, "b": 2}, {}],
        re.compile("a"), re.compile("b"), jnp.ones(2), jax.random.key(0), jax.random.key(1), jax.nn.relu, jnp.tanh,
    ]  # fmt: skip
    assert len({value_digest(value) for value in values}) == len(values)
    assert value_digest({"a": 1, "b": {2, 3}}) == value_digest({"b": {3, 2}, "a": 1})
    assert value_digest(np.float64(0.5)) == value_digest(0.5) and value_digest(np.int64(3)) == value_digest(3)
    shared = {"a": [1]}
    assert value_digest([shared, shared]) == value_digest([shared, {"a": [1]}])
    assert value_digest([np.float64(0.5), 1]) == value_digest([0.5, 1])
    for value in (threading.Lock(), [threading.Lock()], {"a": (x for x in ())}, Holds(threading.Lock())):
        with pytest.raises(NoDigest, match=r"^a (lock|generator) "):
            value_digest(value)
