"""Trainings in plain Python: integer seeds, dictionaries, what is traced and called, retries, deadlines, progress."""

import functools
import hashlib
import io
import json
import multiprocessing
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import progress, seeds, traced
from jaxbandit.decide.tuning.calls import Calls
from jaxbandit.decide.tuning.inspection import takes_integer, uses_jax

pytestmark = pytest.mark.quickly_compiled

PROMPTS = [
    {"model": "small", "prompt": "Answer.", "examples": None},
    {"model": "large", "prompt": "Answer step by step.", "examples": [1, 2]},
    {"model": "large", "prompt": "Answer.", "temperature": 0.5},
]
MEANS = {"small": 0.5, "large": 0.7}


def answered(seed: int, config: dict) -> float:
    """A training without JAX; the last two configurations differ by 0.1."""
    chance = np.random.default_rng(seed)
    return MEANS[config["model"]] + 0.1 * ("temperature" in config) + 0.05 * chance.standard_normal()


def words(index, *, integer=True):
    return seeds.pull_words(7, np.asarray(index), np.zeros(len(index), int), paired=True, integer=integer)


def scores(parts):
    return {int(part.places[0]): part for part in parts}


# ---- integer seeds


@pytest.mark.slow
def test_integer_seeds_are_distinct_and_small():
    for seed in (0, 1, 2**32 - 1):
        drawn = seeds.integers(seed, np.arange(10**5), None)
        assert len(np.unique(drawn)) == 10**5 and drawn.max() < 2**31
        rows, arms = (x.ravel() for x in np.meshgrid(np.arange(300), np.arange(300)))
        assert len(np.unique(seeds.integers(seed, rows, arms))) == 300 * 300
    own = np.concatenate([np.arange(10**4), 2**31 + np.arange(10**4)])  # the second kind is of proposals
    assert len(np.unique(seeds.integers(5, own, None))) == 2 * 10**4


def by_hand(seed, number):
    """An integer seed in Python's integers; directories of scores rely on it."""
    digest = hashlib.sha256(f"integer seeds {seed}".encode()).digest()
    for i, factor in enumerate((0x85EBCA6B, 0xC2B2AE35, 0x27D4EB2F, 0x165667B1)):
        number = (number + int.from_bytes(digest[4 * i : 4 * i + 4], "little")) % 2**31
        number = (number ^ number >> 15) * factor % 2**31
    return number ^ number >> 16


def test_integer_seeds_are_those_of_a_calculation_by_hand():
    index, arms = np.array([0, 1, 2**31 - 1, 2**31, 2**31 + 5]), np.array([3, 0, 0, 1, 0])
    counted = [0, 1, 2**31 - 1, 2**31 - 1, 2**31 - 6]  # from 2^31 on from the other end
    assert seeds.integers(9, index, None).tolist() == [by_hand(9, number) for number in counted]
    pairs = [(n + arm) * (n + arm + 1) // 2 + arm for n, arm in zip(counted, arms.tolist(), strict=True)]
    assert seeds.integers(9, index, arms).tolist() == [by_hand(9, number % 2**31) for number in pairs]


def test_integer_seeds_look_random():
    drawn = seeds.integers(3, np.arange(2**14), None)
    # Binomial counts with a standard deviation of 64 (each bit) or 64 (bits in which neighbors differ): none of 62 is
    # beyond 5 of them but once in 28,000 seeds.
    for values in (drawn, drawn ^ np.roll(drawn, 1)):
        ones = (values[:, None] >> np.arange(31) & 1).sum(axis=0)
        assert (abs(ones - 2**13) < 5 * 64).all()
    # Two searches share 2^14^2 / 2^31 = 1/8 seeds on average: 5 or more once in 4 million pairs.
    assert len(np.intersect1d(drawn, seeds.integers(4, np.arange(2**14), None))) < 5


@pytest.mark.slow
def test_seeds_depend_on_what_keys_depend_on():
    index, arms = np.array([4, 4, 5]), np.array([0, 2, 2])
    shared = seeds.pull_words(1, index, arms, paired=True, integer=True)
    own = seeds.pull_words(1, index, arms, paired=False, integer=True)
    assert shared[0, 1] == shared[1, 1] != shared[2, 1] and len(np.unique(own[:, 1])) == 3
    some = seeds.pull_words(1, index[2:], arms[2:], paired=False, integer=True)
    np.testing.assert_array_equal(some, own[2:])
    root = jax.random.key(1, impl="threefry2x32")
    key = jax.random.fold_in(jax.random.fold_in(root, 5), 2)
    kept = seeds.pull_words(1, index, arms, paired=False, integer=False)
    np.testing.assert_array_equal(kept[2], jax.random.key_data(key))


def annotated(key: "int", config):
    return 0.0


def a_key(seed: jax.Array, config):
    return 0.0


class Called:
    def __call__(self, seed, config):
        return 0.0

    def method(self, seed, config):
        return 0.0


@pytest.mark.parametrize(
    ("train", "integer"),
    [
        (answered, True),
        (annotated, True),
        (a_key, False),
        (lambda seed, config: 0.0, True),
        (lambda key, config: 0.0, False),
        (Called(), True),
        (Called().method, True),
        (functools.partial(lambda data, seed, config: 0.0, 3), True),
        (lambda *both: 0.0, False),
        (lambda: 0.0, False),
        (max, False),
    ],
)
def test_an_integer_is_what_the_signature_says(train, integer):
    assert takes_integer(train) is integer


# ---- calls


def test_each_training_is_one_call_with_its_dictionary():
    calls = []

    def counted(seed, config):
        assert type(seed) is int and 0 <= seed < 2**31 and type(config) is dict
        number = PROMPTS.index(config)
        calls.append((seed, number))
        config.clear()  # changes nothing
        return answered(seed, PROMPTS[number])

    best = jb.tune(counted, PROMPTS, goal=0.01)
    assert best.best_config == PROMPTS[2] and len(calls) == len(best.history["id"])
    assert not any("traced" in note for note in best.notes)
    drawn = [[seed for seed, number in calls if number == own] for own in range(3)]
    assert drawn[0][:10] == drawn[1][:10] == drawn[2][:10] and len(set(drawn[2])) == len(drawn[2]) >= 10
    assert "model = large, prompt = Answer., temperature = 0.5" in str(best)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_executors_find_the_same(kind):
    spawned = multiprocessing.get_context("spawn")
    pool = ThreadPoolExecutor(3) if kind == "threads" else ProcessPoolExecutor(1, spawned)
    alone = jb.tune(answered, PROMPTS, budget=36)
    with pool:
        found = jb.tune(answered, PROMPTS, budget=36, execution=jb.Execution(executor=pool))
    np.testing.assert_array_equal(found.history["score"], alone.history["score"])


def jitted(key, config):
    return inner(key) + config["x"]


@jax.jit
def inner(key):
    return jax.random.normal(key)


def imports(seed, config):
    from jax import numpy

    return numpy.sin(seed)


def of_module(seed, config):
    return traced.jnp.sin(seed)


class Holds:
    def __init__(self, function):
        self.function = function

    def __call__(self, seed, config):
        return self.function(seed)


@pytest.mark.parametrize(
    ("train", "uses"),
    [
        (answered, False),
        (jitted, True),
        (imports, True),
        (of_module, True),
        (Holds(inner), True),
        (Holds(np.sin), False),
        (functools.partial(answered, config={}), False),
        (functools.partial(lambda f, key, config: f(key), jnp.sin), True),
        (lambda key, config, f=jnp.sin: f(key), True),
        (lambda key, config: [inner(key) for _ in range(3)], True),
        (lambda key, config: jitted(key, config), True),
        (lambda key, config: re.sub("a", "b", config["x"]), False),
        (lambda key, config: jb.simulate(key, config), True),
        (Called(), False),
        (Called().method, False),
    ],
)
def test_what_uses_jax_is_known_without_a_call(train, uses):
    assert uses_jax(train) is uses


@pytest.mark.slow
def test_what_is_traced_can_be_said():
    space, seen = jb.space.grid(x=[0.1, 0.9]), []

    def either(seed, config):
        seen.append(type(seed))
        return config["x"] + 0.01 * (seed % 97) / 97

    plain = jb.tune(either, space, budget=28)
    assert set(seen) == {int} and len(seen) == (count := len(plain.history["id"]))
    with jax.numpy_dtype_promotion("standard"):
        compiled = jb.tune(either, space, budget=28, execution=jb.Execution(traced=True))
    assert len(seen) < 2 * count and set(seen) != {int}
    np.testing.assert_allclose(compiled.history["score"], plain.history["score"], rtol=1e-6)
    seen.clear()
    called = jb.tune(
        lambda seed, config: float(jnp.float32(either(seed, config))),
        space,
        budget=28,
        execution=jb.Execution(traced=False),
    )
    assert set(seen) == {int} and len(seen) == count and not any("traced" in note for note in called.notes)
    for options, said in (
        ({"traced": True}, "traced = True, but train cannot be traced"),
        ({"traced": True, "executor": ThreadPoolExecutor(1)}, "traced = True and executor are both given"),
        ({"traced": False, "batch": 2}, "traced = False and batch are both given"),
    ):
        with pytest.raises(ValueError) as error:
            jb.tune(answered, PROMPTS, **records(max_trainings=36, **options))
        assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.slow
def test_dictionaries_are_traced_in_groups_that_do_not_depend_on_others():
    given = [{"x": 0.5, "act": "b"}, {"x": 1.5, "act": "b"}, {"x": 0.5, "act": "a", "n": 3}, {"x": 1, "act": "b"}]

    def train(key, config):
        mean = jnp.float32(config["x"]) + jnp.float32(config.get("n", 0)) + {"a": 1.0, "b": 2.0}[config["act"]]
        return mean + 0.1 * jax.random.normal(key)

    space = search_space.read(given)
    groups = space.groups()
    assert [group.rows.tolist() for group in groups] == [[0, 1], [2], [3]]
    program = traced.trace(train, space)
    fewer = traced.trace(train, search_space.read(given[:2]))
    assert program.digests[0] == fewer.digests[0] != program.digests[1]
    best = jb.tune(train, given, budget=56)
    assert best.best_config == given[2] and list(best.best_config) == ["x", "act", "n"]


SAVED = """
import random, sys
import numpy as np
import jaxbandit as jb

class Model:
    pass

configs = [
    {"model": Model(), "f": len, "set": {"a", "b", "c"}}, {"most": float("inf"), "n": None, "at": np.arange(2)},
    {"x": [1, (2, 3)]},
]
best = jb.tune(lambda seed, config: random.Random(seed).random() + len(config), configs, budget=45)
best.save(sys.argv[1])
print(best)
print([best.configs.text(i) for i in range(3)], best.to_dataframe().columns.tolist())
"""


@pytest.mark.slow
def test_a_result_with_objects_is_saved_with_the_same_bytes_in_every_process(tmp_path):
    printed = []
    for hash_seed in ("1", "2"):
        path = tmp_path / hash_seed
        environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)}
        command = [sys.executable, "-c", SAVED, str(path)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        printed.append(run.stdout)
    assert printed[0] == printed[1] and "model = <__main__.Model object>, f = len, set = {'a', 'b', 'c'}" in printed[0]
    for name in ("summary.json", "table.npz", "history.npz"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    rows = json.loads((tmp_path / "1" / "summary.json").read_text())["configurations"]
    assert {"most": "inf", "n": None, "at": [0, 1]} in [row["config"] for row in rows]


# ---- retries and deadlines


class Flaky:
    """A training that fails at its first attempts, by an exception and by NaN."""

    def __init__(self, fails=2):
        self.fails, self.seeds, self.lock = fails, [], threading.Lock()

    def __call__(self, seed, config):
        with self.lock:
            self.seeds.append(seed)
            attempt = self.seeds.count(seed)
        if attempt <= self.fails:
            if attempt == 1:
                raise OSError("lost")
            return float("nan")
        return 1.0


@pytest.mark.parametrize("executor", [None, "threads"])
def test_a_training_is_repeated_with_the_same_seed(executor):
    space, pool = search_space.read([{"x": 1}]), ThreadPoolExecutor(2) if executor else None
    for attempts in (1, 2, 3, 5):
        train, seed = Flaky(), words([0, 1])
        parts = scores(Calls(train, space, pool, integer=True)(seed, np.zeros(2, int), attempts))
        assert sorted(train.seeds) == sorted(min(attempts, 3) * seed[:, 1].tolist())
        for part in parts.values():
            assert part.attempts == min(attempts, 3) and (part.scores[0] == 1.0) == (attempts >= 3)
        assert parts[0].failure == (("OSError", "raises OSError: lost") if attempts == 1 else None)


def test_a_training_is_begun_once_by_default():
    calls = Calls(Flaky(), search_space.read([{"x": 1}]), None, integer=True)
    assert [part.attempts for part in calls(words([0, 1]), np.zeros(2, int))] == [1, 1]


def test_a_wrong_training_is_not_repeated():
    train = Calls(lambda key, config: seen.append(1) or "text", search_space.read([{"x": 1}]), None)
    seen = []
    [part] = train(words([0]), np.zeros(1, int), 4)
    assert part.fatal and part.attempts == 1 and len(seen) == 1


@pytest.mark.slow
def test_closing_early_cancels_and_does_not_wait():
    begun, release = [], threading.Event()

    def slow(seed, config):
        begun.append(seed)
        if len(begun) > 1:
            release.wait(20)
        return 1.0

    space, pool = search_space.read([{"x": 1}]), ThreadPoolExecutor(1)
    for end in ("close", "deadline"):
        begun.clear()
        release.clear()
        start = time.monotonic()
        deadline = start + 0.5 if end == "deadline" else None
        parts = Calls(slow, space, pool, integer=True)(words(range(9)), np.zeros(9, int), 1, deadline)
        assert next(parts).scores[0] == 1.0
        assert next(parts, None) is None if end == "deadline" else parts.close() is None
        assert time.monotonic() - start < 10  # the second training runs for 20 seconds
        release.set()
        pool.submit(int).result()
        assert len(begun) <= 2


def test_no_training_begins_after_the_deadline():
    space = search_space.read([{"x": 1}])
    for train in (Calls(answered, space, None, integer=True), Calls(answered, space, ThreadPoolExecutor(1))):
        for _ in range(4):  # and that no result comes is no fault of the executor
            assert list(train(words([0]), np.zeros(1, int), 1, time.monotonic())) == []
    space = search_space.read([{"x": 1.0}, {"x": 1}])  # two groups, so two batches
    program = traced.trace(lambda key, config: jax.random.normal(key) + jnp.float32(config["x"]), space)
    run, seed = traced.Trainings(program, [1, 1]), words([0, 1], integer=False)
    assert list(run(seed, np.arange(2), 1, time.monotonic())) == []
    assert sorted(int(part.places[0]) for part in run(seed, np.arange(2), 1, time.monotonic() + 60)) == [0, 1]


# ---- progress


def test_lines_are_shown_now_and_then(monkeypatch):
    clock, shown = [100.0], io.StringIO()
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sys, "stderr", shown)
    with progress.reporting(None) as report:
        for second in range(1, 2001):
            clock[0] = 100.0 + second
            report(progress.SearchProgress(second, 3, 1, 0.5))
    lines = shown.getvalue().splitlines()
    assert [int(re.search(r"([\d,]+) s", line)[1].replace(",", "")) for line in lines] == [
        10, 20, 40, 80, 160, 320, 640, 1240, 1840,
    ]  # fmt: skip
    assert lines[0] == "jaxbandit: tune: 10 trainings in 10 s, 3 survivors, best so far 1 (0.5)" and lines[0].isascii()
    with progress.reporting(False) as report:
        clock[0] += 1000
        report(progress.SearchProgress(1, 3, 1, float("nan")))
    assert len(shown.getvalue().splitlines()) == len(lines)


class FailsOnce:
    """A training whose first attempt at each seed fails, or every attempt."""

    def __init__(self, always=False):
        self.begun, self.always = {}, always

    def __call__(self, seed: int, config: dict) -> float:
        key = seed, config["a"]
        self.begun[key] = self.begun.get(key, 0) + 1
        if self.always or self.begun[key] == 1:
            return float("nan")
        return config["a"] + float(np.random.default_rng(seed).standard_normal())


def test_a_training_that_failed_is_tried_again_where_more_attempts_are_allowed(tmp_path):
    train, goal = FailsOnce(), jb.Goal(on_failure=0.0, resolution=0.1)
    for retries, failures in ((0, 30), (1, 0)):
        execution = jb.Execution(directory=tmp_path, retries=retries, progress=False, same_train=True)
        result = jb.tune(train, [{"a": 1.0}, {"a": 2.0}], goal=goal, budget=30, execution=execution)
        assert result.history["failed"].sum() == failures
    assert {*train.begun.values()} <= {1, 2}


@pytest.mark.filterwarnings("ignore:tune. a budget of")
def test_attempts_that_the_budget_cuts_are_spent_and_are_no_outcome():
    train, execution = FailsOnce(always=True), jb.Execution(retries=2, progress=False)
    result = jb.tune(train, [{"a": 1.0}, {"a": 2.0}], goal=jb.Goal(on_failure=0.0), budget=4, execution=execution)
    assert result.why == "max_trainings" and result.history["attempts"].tolist() == [3]
    assert sorted(train.begun.values()) == [1, 3]
