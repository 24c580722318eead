"""The records with which a decision is asked for: what they accept, what they refuse, and what stands for them."""

import inspect
import math
import re

import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.support.refusals import BadInput

GRID = [{"a": 1.0}, {"a": 2.0}]


def train(seed: int, config: dict) -> float:
    return config["a"] + float(np.random.default_rng(seed).standard_normal())


WRONG = """
Goal(maximize="False") -> maximize = 'False', must be true or false
Goal(delta=0) -> delta = 0, must be a number in (0, 1)
Goal(delta=1.0) -> delta = 1.0, must be a number in (0, 1)
Goal(epsilon=-1e-9) -> epsilon = -1e-09, must be a number in [0, inf)
Goal(epsilon=inf) -> epsilon = inf, must be a number in [0, inf)
Goal(quantile=1) -> quantile = 1, must be a number in (0, 1)
Goal(worst=1, score_range=(0, 1)) -> worst = 1, must be a number in (0, 1)
Goal(worst=0.25) -> worst needs score_range, the range of the scores, such as score_range=(0, 1)
Goal(worst=0.25, quantile=0.5, score_range=(0, 1)) -> quantile and score_range are both given; give one of them
Goal(resolution=None) -> resolution = None, must be a number in [0, inf)
Goal(score_range=(1, 1)) -> score_range = (1, 1), must be two finite numbers (low, high) with low < high
Goal(score_range=(0, 1, 2)) -> score_range = (0, 1, 2), must be two finite numbers (low, high) with low < high
Goal(score_range=(0, nan)) -> score_range = (0, nan), must be two finite numbers (low, high) with low < high
Goal(score_range="12") -> score_range = '12', must be two finite numbers (low, high) with low < high
Goal(score_range=(-1e151, 0)) -> score_range = (-1e+151, 0), must be two finite numbers (low, high) with low < high
Goal(on_failure="halt") -> on_failure = 'halt', must be a number in [-1e+150, 1e+150], "stop" or "separate"
Goal(on_failure=1e160) -> on_failure = 1e+160, must be a number in [-1e+150, 1e+150], "stop" or "separate"
Goal(on_failure=True) -> on_failure = True, must be a number in [-1e+150, 1e+150], "stop" or "separate"
Goal(on_failure=2, score_range=(0, 1)) -> on_failure = 2, must be a number in [0, 1], "stop" or "separate"
Goal(min_trainings=1.5) -> min_trainings = 1.5, must be an integer >= 1
Goal(max_failure_rate=0.1) -> on_failure="separate" and max_failure_rate must be given together, such as
Goal(resolution=0.1, quantile=0.5) -> resolution and quantile are both given; give one of them
Goal(on_failure="separate", max_failure_rate=0.1, quantile=0.5) -> on_failure="separate" and quantile are both given
Budget(trainings=0) -> trainings = 0, must be an integer >= 1
Budget(trainings=True) -> trainings = True, must be an integer >= 1
Budget(seconds="2 years") -> seconds = '2 years', must be a number of seconds >= 0, or a text such as "90s" or "2h"
Execution(workers=0) -> workers = 0, must be an integer in [1, 2147483647]
Execution(width=1.5) -> width = 1.5, must be an integer in [1, 2147483647]
Execution(chunk=2**31) -> chunk = 2147483648, must be an integer in [1, 2147483647]
Execution(runs_per_task=0) -> runs_per_task = 0, must be an integer >= 1
Execution(seconds_per_task=0) -> seconds_per_task = 0, must be a number in (0, inf)
Execution(send_back="no") -> send_back = 'no', must be true or false
Execution(batch=0) -> batch = 0, must be an integer >= 1
Execution(isolate="no") -> isolate = 'no', must be true or false
Execution(seconds_each=0) -> seconds_each = 0, must be a number of seconds > 0, or a text such as "90s" or "2h"
Execution(retries=-1) -> retries = -1, must be an integer >= 0
Execution(traced=1) -> traced = 1, must be true or false
Execution(same_train=1) -> same_train = 1, must be true or false
"""  # a call, and how the refusal goes on after the name of the record


def test_a_changed_field_is_checked_too():
    with pytest.raises(ValueError, match=r"^Execution: retries = -1, must be an integer >= 0$"):
        jb.Execution()._replace(retries=-1)
    assert jb.Execution(retries=2)._replace(seconds_each="2min") == jb.Execution(retries=2, seconds_each=120.0)


@pytest.mark.parametrize("case", WRONG.strip().splitlines())
def test_a_wrong_field_is_refused_in_one_line(case):
    call, words = case.split(" -> ")
    name = call.partition("(")[0]
    with pytest.raises(ValueError) as error:
        eval(call, {name: getattr(jb, name), "inf": math.inf, "nan": math.nan})
    assert str(error.value).startswith(f"{name}: {words}") and "\n" not in str(error.value)


def test_plain_numbers_stand_for_records():
    quiet = jb.Execution(progress=False)
    whole = jb.tune(train, GRID, goal=jb.Goal(epsilon=0.5), budget=jb.Budget(trainings=60), execution=quiet)
    short = jb.tune(train, GRID, goal=0.5, budget=np.int64(60), execution=quiet)
    np.testing.assert_equal(short.history, whole.history)
    assert str(short) == str(whole) and whole.certificate.guarantee.epsilon == 0.5
    assert jb.tune(train, GRID, budget="0s", execution=quiet).why == "timeout"
    assert jb.Goal(delta=np.float32(0.25), score_range=[0, 1]) == jb.Goal(delta=0.25, score_range=(0.0, 1.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": "good"}, "tune: goal = .good., must be a jb.Goal, or a number"),
        ({"goal": True}, "tune: goal = True, must be a jb.Goal, or a number"),
        ({"budget": 3.5}, "tune: budget = 3.5, must be a jb.Budget, a number of trainings, or a length"),
        ({"budget": True}, "tune: budget = True, must be a jb.Budget"),
        ({"budget": 9, "paired": "no"}, "tune: paired = 'no', must be true or false"),
        ({"budget": 9, "blind": 0}, "tune: blind = 0, must be true or false"),
        ({"budget": 9, "growth": "yes"}, "tune: growth = 'yes', must be true or false"),
        ({"budget": 9, "execution": 2}, "tune: execution = 2, must be a jb.Execution"),
        (
            {"budget": 9, "execution": jb.Execution(width=64)},
            r"tune: Execution\(width=64\) means nothing for this function",
        ),
    ],
)
def test_what_is_no_record_is_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=f"^{message}") as error:
        jb.tune(train, GRID, **records(**options))
    assert "\n" not in str(error.value)


def test_a_field_that_is_given_as_an_argument_is_said_to_belong_to_its_record():
    for name, place in (
        ("delta", "goal=jb.Goal(delta=...)"),
        ("trainings", "budget=jb.Budget(trainings=...)"),
        ("retries", "execution=jb.Execution(retries=...)"),
    ):
        with pytest.raises(TypeError, match=rf"^tune: {name} is no argument; give {re.escape(place)}$"):
            jb.tune(train, GRID, **{name: 1})
    with pytest.raises(TypeError, match=r"^Goal: delt is no argument, must be one of delta.*; did you mean 'delta'"):
        jb.Goal(delt=0.1)
    with pytest.raises(TypeError, match=r"^ucb1: num_arm is no argument, must be one of num_arms, c; did you mean"):
        jb.algorithms.ucb1(num_arm=2)


def test_a_field_without_a_meaning_is_refused_by_every_verb():
    pair = jb.algorithms.ucb1(2), jb.environments.bernoulli([0.2, 0.8])
    for retries in (jb.Execution(retries=2), jb.Execution(traced=False)):
        with pytest.raises(BadInput, match=r"^simulate: Execution\((retries=2|traced=False)\) means nothing for runs"):
            jb.simulate(*pair, horizon=8, num_runs=2, execution=retries)
    trainee = jb.Trainee(lambda key, config: config, lambda state, key, config: state, lambda state, config: state)
    with pytest.raises(BadInput, match=r"^successive_halving: Execution\(workers=2\) means nothing for this function"):
        jb.successive_halving(
            trainee, {"x": np.arange(2.0)}, min_steps=1, max_steps=2, execution=jb.Execution(workers=2)
        )


def test_the_verbs_have_few_arguments():
    assert len(inspect.signature(jb.tune).parameters) <= 12 and len(inspect.signature(jb.search).parameters) <= 14
