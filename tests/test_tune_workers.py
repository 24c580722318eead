"""Searches with many calls under way: the same decisions, busy workers, and no call that holds the others."""

import asyncio
import contextlib
import functools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.tuning.limits import LateError, wait_for
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled
CONFIGS = [{"p": i} for i in range(6)]
HERE = Path(__file__).parent


def score(seed, config):
    own = random.Random(f"{seed} {config}")
    return 0.1 * config["p"] + random.Random(seed).gauss(0, 0.1) + own.gauss(0, 0.1)


class Judge:
    """A function whose calls are counted, and last a few milliseconds."""

    def __init__(self, sleep=0.002):
        self.calls, self.busy, self.most, self.lock, self.sleep = [], 0, 0, threading.Lock(), sleep

    @contextlib.contextmanager
    def call(self, seed, config):
        with self.lock:
            self.calls.append((config["p"], seed))
            self.busy += 1
            self.most = max(self.most, self.busy)
        yield random.Random(f"time {seed} {config}").expovariate(1 / self.sleep)
        with self.lock:
            self.busy -= 1

    def __call__(self, seed: int, config):
        with self.call(seed, config) as seconds:
            time.sleep(seconds)
            return score(seed, config)


class Filling(Judge):
    """Its calls wait until more of them than configurations are under way, or for so many seconds in all."""

    def __init__(self, seconds):
        super().__init__()
        self.filled, self.until = threading.Event(), time.monotonic() + seconds

    def __call__(self, seed: int, config):
        with self.call(seed, config):
            if self.most > len(CONFIGS):
                self.filled.set()
            self.filled.wait(max(0, self.until - time.monotonic()))
            return score(seed, config)


class Awaited(Judge):
    async def __call__(self, seed: int, config):
        with self.call(seed, config) as seconds:
            await asyncio.sleep(seconds)
            return score(seed, config)


def searched(train, configs=CONFIGS, goal=None, budget=None, **execution):
    return jb.tune(train, configs, goal=goal, budget=budget, execution=jb.Execution(progress=False, **execution))


def same(one, other):
    np.testing.assert_equal(one.history, other.history)
    assert one.to_json() == other.to_json() and one.certificate.to_json() == other.certificate.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"budget": 150}, {"budget": 45}, {"goal": 0.0}])
def test_decisions_do_not_depend_on_the_number_of_workers(how):
    """A race that the budget ends, sequential halving, and a race that ends by itself."""
    halves = pytest.warns(UserWarning, match="sequential halving")
    with halves if how == {"budget": 45} else contextlib.nullcontext():
        alone = searched(score_of, **how)
        assert alone.spare == 0
        for train, execution in (
            (Judge(), {"workers": 3}),
            (Judge(), {"workers": 40}),
            (Awaited(), {"workers": 40}),
            (Awaited(), {}),
            (Judge(), {"executor": ThreadPoolExecutor(20)}),
            (Judge(), {"executor": ThreadPoolExecutor(20), "workers": 5}),
        ):
            found = searched(train, **how, **execution)
            same(found, alone)
            assert len(train.calls) == len(set(train.calls)) == len(found.history["id"]) + found.spare
            assert train.most <= int(str(execution.get("workers", 32)))


def score_of(seed: int, config):
    return score(seed, config)


@pytest.mark.slow
def test_a_race_that_is_given_begins_ahead_and_another_rule_does_not():
    """The same decisions; sequential elimination repeats its plan, and nobody knows what UCB pulls next."""
    for rule, ahead in (
        (jb.algorithms.paired_race(6, delta=0.1), True),
        (jb.algorithms.kl_ucb(6, family="gaussian"), False),
    ):
        execution = jb.Execution(progress=False)
        alone = jb.tune(score_of, CONFIGS, rule, budget=90, execution=execution)
        train = Filling(20 if ahead else 0.2)
        found = jb.tune(train, CONFIGS, rule, budget=90, execution=execution._replace(workers=20))
        same(found, alone)
        assert len(train.calls) == len(set(train.calls)) == len(found.history["id"]) + found.spare
        assert (train.most > 6) == ahead == (found.spare > 0)


@pytest.mark.parametrize("kind", ["race", "halving"])
def test_more_workers_than_configurations_are_all_busy(kind):
    """Each call waits until 20 are under way at once, which 6 configurations alone never are."""
    together, broken = threading.Barrier(20), []

    def judge(seed: int, config):
        try:
            together.wait(0.7 if not broken else 0.01)
        except threading.BrokenBarrierError:
            broken.append(seed)
        return score(seed, config)

    if kind == "race":
        found = searched(judge, budget=200, workers=20)
        assert "seq" not in found.certificate.rule
    else:
        with pytest.warns(UserWarning, match="sequential halving"):
            found = searched(judge, budget=80, workers=20)
    assert len(found.history["id"]) >= 74 and len(broken) <= 40  # when the budget allows no more


@pytest.mark.slow
@pytest.mark.parametrize("hang", [True, False])
def test_a_call_that_hangs_is_named_and_holds_nobody(hang):
    """A busy machine may not decide: what hangs does so far longer than the search may take."""
    ended, hung, released = [], [], threading.Event()

    def judge(seed: int, config):
        ended.append(seed)
        if len(ended) == 30:
            hung.append((config["p"], seed))
            released.wait(60)
        return score(seed, config)

    async def ajudge(seed: int, config):
        ended.append(seed)
        if len(ended) == 30:
            hung.append((config["p"], seed))
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                hung.append("cancelled")
                raise
        return score(seed, config)

    began = time.monotonic()
    train, goal = judge if hang else ajudge, jb.Goal(on_failure=-1.0)
    found = searched(train, goal=goal, budget=150, workers=10, seconds_each=1.0)
    released.set()
    assert time.monotonic() - began < 30
    assert len(ended) >= 120  # its round is one of the first six, and ten times 10 are begun meanwhile
    failed = np.flatnonzero(found.history["failed"])
    assert found.history["config"][failed].tolist() == [hung[0][0]]
    note = f"did not end within seconds_each: configuration {hung[0][0]} at seed {found.history['seed'][failed[0]]}"
    assert note in found.notes
    assert hang or hung[1:] == ["cancelled"]


def test_a_failure_ahead_matters_only_if_the_search_asks_for_it():
    calls = []

    def judge(seed: int, config):
        calls.append(config["p"])
        if config["p"] == 0 and calls.count(0) > 20:
            raise OSError("no answer")
        time.sleep(0.05)
        return 5 * config["p"] + score(seed, config)  # nobody asks for more than 14 of configuration 0

    found = searched(judge, CONFIGS[:2], goal=0.0, workers=60)
    assert len(found.history["id"]) == 28 and found.why == "epsilon"
    with pytest.raises(BadInput, match=r"configuration 0 .* raises OSError: no answer; set on_failure"):
        searched(judge, CONFIGS[:2], goal=0.0, workers=60)


def test_a_budget_that_nothing_else_ends_is_not_exceeded():
    """As nothing is dropped, what is begun ahead is what is asked for next."""
    calls = []

    def judge(seed: int, config):
        calls.append((config["p"], seed))
        time.sleep(0.002)
        return score(seed, {"p": 0}) + 1e-3 * random.Random(f"{config} {seed}").gauss(0, 1)

    found = searched(judge, budget=100, workers=25)
    assert len(calls) == len(set(calls)) == 100 and found.spare == 0


def test_a_failure_ahead_ends_the_search_when_it_is_asked_for():
    """Without another call, and after everything before it."""
    failing, calls = [], []

    def judge(seed: int, config):
        if config["p"] == 0:
            calls.append(seed)
            if len(calls) == 12:
                failing.append(seed)
            if seed in failing:
                raise OSError("no answer")
        time.sleep(0.05)
        return score(seed, {"p": 0}) + 0.1 * random.Random(f"{config} {seed}").gauss(0, 1)

    with pytest.raises(BadInput, match=r"raises OSError: no answer; set on_failure") as ending:
        searched(judge, CONFIGS[:2], budget=100, workers=40)
    assert calls.count(failing[0]) == 1 and (~np.isnan(vars(ending.value)["scores"])).sum() >= 22


def test_scores_that_were_begun_ahead_are_used_and_are_not_called_reused(tmp_path):
    found = searched(Judge(), goal=0.0, workers=30, directory=tmp_path)
    assert found.reused == 0
    train = Judge()
    again = searched(score_of, goal=0.0, directory=tmp_path, same_train=True)
    assert again.reused == len(again.history["id"]) and not train.calls
    np.testing.assert_equal(again.history, found.history)


def test_awaited_functions():
    async def fails(seed: int, config):
        raise OSError("no answer")

    async def nothing(seed: int, config):
        return None

    for train, text in ((fails, "raises OSError: no answer"), (nothing, "returns a NoneType, must return one number")):
        with pytest.raises(BadInput, match=text):
            searched(train, budget=90)
    tries = []

    async def second(factor, seed: int, config):
        tries.append(seed)
        if tries.count(seed) < 2:
            raise OSError("busy")
        return factor * score(seed, config)

    found = searched(functools.partial(second, 1.0), CONFIGS[:2], budget=90, retries=9, workers=1)
    assert (found.history["attempts"][::2] == 2).all()  # of the first configuration at each seed

    async def one():
        return 1

    async def late():
        await asyncio.sleep(5)

    assert wait_for(None, one()) == wait_for(5, one()) == 1
    with pytest.raises(LateError, match=r"did not end within 0\.01 s"):
        wait_for(0.01, late())


def test_what_excludes_workers_is_refused():
    for field in ({"batch": 2}, {"traced": True}):
        with pytest.raises(BadInput, match="and workers are both given"):
            searched(score_of, budget=60, workers=2, **field)
    with pytest.raises(BadInput, match="workers = 0, must be an integer in"):
        searched(score_of, budget=60, workers=0)


def play(directory):
    """The search that is killed; every call is a line of a file when it begins, and another when it ends."""
    lines = os.open(Path(directory) / "calls", os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    def judge(seed: int, config):
        os.write(lines, f"{json.dumps([config['p'], seed, 'begun'])}\n".encode())
        time.sleep(random.Random(f"time {seed} {config}").uniform(0.02, 0.08))
        os.write(lines, f"{json.dumps([config['p'], seed, 'ended'])}\n".encode())
        return score(seed, config)

    return searched(judge, budget=160, workers=8, directory=Path(directory) / "search", same_train=True)


@pytest.mark.slow
def test_after_a_kill_at_most_what_was_under_way_is_asked_again(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(HERE)!r}); from test_tune_workers import play; play({str(tmp_path)!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    log, begun = tmp_path / "calls", time.monotonic()
    while not log.exists() or log.read_text().count("ended") < 90:
        assert process.poll() is None and time.monotonic() - begun < 60
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = [tuple(json.loads(line)) for line in log.read_text().splitlines()]
    found = play(tmp_path)
    after = [tuple(json.loads(line)) for line in log.read_text().splitlines()][len(before) :]
    again = {(p, s) for p, s, what in before if what == "begun"} & {(p, s) for p, s, what in after if what == "begun"}
    under_way = 2 * sum(what == "begun" for *_, what in before) - len(before)
    assert under_way <= 8 and len(again) <= under_way + 8  # eight may have ended while the disk was written
    same(found, searched(score_of, budget=160))
