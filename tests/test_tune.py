"""Tuning: trainings as pulls, compiled or called as they are, grouped, interrupted, refused; figure and files."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import searching, traced
from jaxbandit.running.plotting.tuning import plot_tuning
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled

SPACE = jb.space.grid(x=[0.0, 0.3, 1.0], act=["a", "b"])
RULE = jb.algorithms.paired_race(6, delta=0.05, epsilon=0.01)


def score(key, config):
    """A training whose mean is best at x = 0.3 with "b"."""
    own = jax.random.fold_in(key, jnp.int32(100 * config["x"]))
    return 1 - (config["x"] - 0.3) ** 2 + 0.05 * jax.random.normal(own) + (0.1 if config["act"] == "b" else 0.0)


def called(key, config):
    """The same in Python: it cannot be traced."""
    return float(score(key, config))


@pytest.fixture(scope="module")
def found():
    return jb.tune(score, SPACE, RULE)


def same(one, other):
    assert one.index == other.index
    for name, column in one.history.items():
        np.testing.assert_array_equal(column, other.history[name])
    np.testing.assert_array_equal(one.table["mean"], other.table["mean"])


@pytest.mark.slow
def test_the_best_configuration_is_chosen_and_certified(found):
    assert found.best_config == {"x": 0.3, "act": "b"} and found.index == 3
    assert found.certificate.stopped and found.certificate.guarantee.delta == 0.05
    assert found.table["pulls"].sum() == len(found.history["id"]) == found.certificate.pulls.sum()
    np.testing.assert_allclose(found.table["mean"], found.certificate.means)
    np.testing.assert_array_equal(found.table["survivor"], np.arange(6) == 3)


@pytest.mark.slow
def test_a_search_says_what_its_trainings_may_not_have_shown(found):
    n = int(found.certificate.pulls[3])
    share = 1 - (0.05 / 6) ** (1 / n)  # for all six configurations at once
    line = f"configuration 3: {n} trainings: what happens in fewer than {math.ceil(100 * share)} % of them may not"
    line += " have been seen"
    assert 0.1 < share < 1 and line in str(found).splitlines() and line in found._repr_html_()
    content = found.to_json()["certificate"]
    assert content["rare_events"] == [line] and content["arms"][3]["unseen"] == pytest.approx(share)


@pytest.mark.slow
def test_a_score_is_that_of_its_seed_and_configuration(found):
    root, history = jax.random.key(0, impl="threefry2x32"), found.history
    for i in (0, 7, len(history["id"]) - 1):
        config = search_space.read(SPACE).row(history["config"][i])
        alone = jax.jit(lambda k, x, act=config["act"]: score(k, {"x": x, "act": act}))
        key = jax.random.fold_in(root, int(history["seed"][i]))
        assert history["score"][i] == pytest.approx(float(alone(key, config["x"])), rel=1e-6)


def test_the_rule_takes_the_decisions_of_its_session(found):
    session = jb.session(RULE, paired=True)
    for batch in range(found.history["batch"][-1] + 1):
        session, pulls = jb.ask(session)
        rows = found.history["batch"] == batch
        np.testing.assert_array_equal(pulls.arm, found.history["config"][rows])
        np.testing.assert_array_equal(pulls.index, found.history["seed"][rows])
        session = jb.tell(session, pulls.id, found.history["score"][rows])
    assert session.stopped and session.recommendation[0] == found.index


@pytest.mark.slow
def test_python_and_executors_find_the_same(found):
    plain = jb.tune(called, SPACE, RULE)
    assert "cannot be traced" in plain.notes[0] and plain.index == found.index
    np.testing.assert_allclose(plain.history["score"], found.history["score"], rtol=1e-5)
    with ThreadPoolExecutor(4) as pool:
        same(jb.tune(called, SPACE, RULE, execution=jb.Execution(executor=pool)), plain)


@pytest.mark.slow
def test_one_compilation_a_group_and_one_bandit_over_all():
    traces = []

    def counted(key, config):
        traces.append(config["act"])
        assert isinstance(config["width"], int)
        mean = config["x"] + 0.1 * jnp.ones(config["width"]).sum() + (1.0 if config["act"] == "b" else 0.0)
        return mean + 0.01 * jax.random.normal(key)

    space = jb.space.grid(x=[0.1, 0.5], act=["a", "b"], width=jb.space.static([3, 5]))
    groups = search_space.read(space).groups()
    assert [group.static[:2] for group in groups] == [("a", 3), ("a", 5), ("b", 3), ("b", 5)]
    rule = jb.algorithms.successive_elimination(8, delta=0.1, sigma=0.01)
    best = jb.tune(counted, space, rule, execution=jb.Execution(batch=2))
    assert len(traces) <= 3 * len(groups)  # judged, its program digested, compiled
    assert best.best_config == {"x": 0.5, "act": "b", "width": 5}


@pytest.mark.slow
def test_smaller_is_better_where_it_is_asked_for(found):
    losses = jb.tune(lambda key, config: -score(key, config), SPACE, RULE, goal=jb.Goal(maximize=False))
    assert losses.index == found.index
    np.testing.assert_array_equal(losses.history["score"], -found.history["score"])
    np.testing.assert_array_equal(losses.table["low"], -found.table["high"])
    bounded = jb.algorithms.betting_race(6, delta=0.1)
    mirrored = jb.tune(
        lambda key, config: jnp.clip(1.1 - score(key, config), 0, 1), SPACE, bounded, goal=jb.Goal(maximize=False)
    )
    assert mirrored.index == found.index


@pytest.mark.slow
def test_the_size_of_a_batch_changes_no_score():
    space = search_space.read(jb.space.grid(x=np.linspace(0, 1, 9)))
    train = traced.trace(lambda key, config: jnp.tanh(config["x"] + jax.random.normal(key, (5,))).mean(), space)
    words = np.arange(18, dtype=np.uint32).reshape(9, 2)

    def scores(arms, size):
        values = np.full(9, np.nan)
        for part in traced.Trainings(train, [size])(words[arms], arms):
            values[arms[part.places]] = part.scores
        return values

    everything, some = np.arange(9), np.array([8, 1, 4])
    for size in (4, 8):
        whole = scores(everything, size)
        np.testing.assert_array_equal(scores(everything[::-1], size), whole)
        np.testing.assert_array_equal(scores(some, size)[some], whole[some])


@pytest.mark.slow
def test_the_batch_fits_the_cache(monkeypatch):
    space = search_space.read(jb.space.grid(x=np.linspace(0, 1, 100)))
    train = traced.trace(lambda key, config: jnp.sort(config["x"] * jax.random.normal(key, (4096,)))[7], space)
    [usual] = traced.batches(train)
    monkeypatch.setattr(traced, "CACHE", traced.CACHE // 8)
    traced.compiled.forget()
    [less] = traced.batches(train)
    assert 1 <= less < usual <= traced.MOST["cpu"]


@pytest.mark.slow
def test_a_directory_goes_on_and_ends_with_the_same_bytes(found, tmp_path, monkeypatch):
    monkeypatch.setattr(searching, "SECONDS", 0.0)
    count = 0

    def stops_now(now):
        nonlocal count
        count += 1
        if count in (3, 8):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            jb.tune(score, SPACE, RULE, execution=jb.Execution(directory=tmp_path / "sweep", progress=stops_now))
    again = jb.tune(score, SPACE, RULE, execution=jb.Execution(directory=tmp_path / "sweep", progress=stops_now))
    same(again, found)
    again.save(tmp_path / "one")
    found.save(tmp_path / "other")
    for name in ("summary.json", "table.npz", "history.npz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


KILLED = """
import sys, time, jax, numpy as np, jaxbandit as jb
def train(key, config):
    time.sleep(0.02)
    chance = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    return config["x"] * (1 + chance.normal())
best = jb.tune(train, jb.space.grid(x=[0.1, 0.2, 0.9]), goal=0.3, execution=jb.Execution(directory=sys.argv[1]))
best.save(sys.argv[2])
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing_and_ends_with_the_same_bytes(tmp_path, monkeypatch):
    here = tmp_path / "killed"
    monkeypatch.setattr(sys, "argv", ["-c", str(tmp_path / "calm"), str(tmp_path / "expected")])
    exec(KILLED, {})
    life = subprocess.Popen([sys.executable, "-c", KILLED, str(here), str(tmp_path / "none")])
    log, until = here / "scores.jsonl", time.monotonic() + 120
    while not (log.exists() and log.read_text().count("seed") >= 2) and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(life.pid, signal.SIGKILL)
    life.wait()
    assert not (tmp_path / "none").exists() and "seed" in log.read_text()
    subprocess.run([sys.executable, "-c", KILLED, str(here), str(tmp_path / "got")], check=True)
    for name in ("summary.json", "history.npz"):
        assert (tmp_path / "got" / name).read_bytes() == (tmp_path / "expected" / name).read_bytes()


def nan_at(key, config):
    return jnp.where(config["x"] > 0.5, jnp.nan, score(key, config))


def raises_at(key, config):
    if float(config["x"]) > 0.5:
        raise RuntimeError("diverged\nbadly")
    return called(key, config)


REFUSED = {  # with x = 1 two configurations fail, and either may be the first
    "NaN": (nan_at, {}, ", x = 1) returns nan; set on_failure to"),
    "raises": (raises_at, {}, ", x = 1) raises RuntimeError: diverged"),
    "a vector": (lambda key, config: jnp.ones(3) * config["x"], {}, "train returns float32[3], must return one number"),
    "a list": (lambda key, config: [float(config["x"])], {}, "returns a list of shape (1,), must return one number"),
    "no chance": (lambda key, config: jnp.abs(config["x"]), {}, "the score does not depend on key"),
    "no function": (3, {}, "train = 3, must be a function"),
    "arms": (score, {"rule": jb.algorithms.paired_race(5)}, "rule has 5 arms, must have one for each of 6"),
    "never stops": (score, {"rule": jb.algorithms.ucb1(6)}, "ucb1 never stops"),
    "stop=never()": (score, {"rule": jb.algorithms.ucb1(6)._replace(stop=jb.contract.never())}, "ucb1 never stops"),
    "no end": (score, {"rule": None}, "epsilon and a budget are both missing; give the tolerated"),
    "two epsilons": (
        score,
        {"epsilon": 0.5},
        "epsilon = 0.5 is given with rule = paired_race, which has epsilon = 0.01",
    ),
    "two deltas": (score, {"delta": 0.01}, "delta = 0.01 is given with rule = paired_race, which has delta = 0.05"),
    "no promise": (
        score,
        {"rule": jb.algorithms.sequential_halving(6, budget=60), "delta": 0.05},
        "which has no guarantee",
    ),
    "a batch of Python": (called, {"batch": 4}, "batch = 4, but train cannot be traced"),
    "batch": (score, {"batch": 0}, "batch = 0, must be an integer >= 1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_tuned_is_refused_in_one_line(case):
    train, options, words = REFUSED[case]
    with pytest.raises(ValueError) as error:
        jb.tune(train, SPACE, **records(**{"rule": RULE, **options}))
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.slow
def test_a_failure_keeps_what_was_scored_and_may_be_a_score(tmp_path):
    # Called in their order, four before it; in a batch, the two that share it.
    for train, kept in ((raises_at, 4), (nan_at, 2)):
        with pytest.raises(BadInput, match=r"configuration [45]"):
            jb.tune(train, SPACE, RULE, execution=jb.Execution(directory=tmp_path / train.__name__))
        log = (tmp_path / train.__name__ / "scores.jsonl").read_text()
        assert sum(len(json.loads(line).get("seed", ())) for line in log.splitlines()) == kept
    for train in (raises_at, nan_at):
        best = jb.tune(train, SPACE, RULE, goal=jb.Goal(on_failure=0.0))
        assert best.index == 3 and (best.history["score"][best.history["config"] == 4] == 0).all()


@pytest.mark.slow
def test_scores_of_another_function_or_seed_are_refused(tmp_path):
    def other(key, config):
        return score(key, config) + 1

    jb.tune(score, SPACE, RULE, execution=jb.Execution(directory=tmp_path))
    for options, words in (
        ({"train": other}, "another train function, or one with other data; give another directory, or same_train"),
        ({"seed": 1}, "seed = 0, but this search has seed = 1"),
        ({"paired": False}, "paired = True, but this search has paired = False"),
        ({"batch": 1}, "batch = 4, but batch = 1"),
    ):
        with pytest.raises(ValueError, match=words):
            jb.tune(**records(**{"train": score, "configs": SPACE, "rule": RULE, "directory": tmp_path, **options}))


@pytest.mark.slow
def test_scores_are_shared_by_searches_with_other_settings(found, tmp_path):
    here = jb.Execution(directory=tmp_path)
    jb.tune(score, SPACE, RULE, execution=here)
    closer = jb.algorithms.paired_race(6, delta=0.05, epsilon=0.0)
    again, alone = jb.tune(score, SPACE, closer, execution=here), jb.tune(score, SPACE, closer)
    same(again, alone)
    assert again.reused == len(found.history["id"]) and str(again.certificate) == str(alone.certificate)
    losses = jb.tune(score, SPACE, RULE, goal=jb.Goal(maximize=False), execution=here)  # raw scores are stored
    assert losses.reused and losses.best_config["act"] == "a"


@pytest.mark.slow
def test_configurations_that_differ_by_a_constant_are_compared():
    def shared(key, config):  # with common random numbers, differences do not vary
        return jnp.round(config["x"]) + jnp.float32(jax.random.randint(key, (), 0, 9))

    best = jb.tune(shared, {"x": np.array([0.0, 0.1, 1.0, 1.1])}, goal=0.0)
    assert best.index == 2 and best.certificate.achieved == 0 and best.table["pulls"].tolist() == [14] * 4
    with pytest.raises(BadInput, match="every configuration has the same score at all 14 seeds; train must draw"):
        jb.tune(lambda seed, config: config["x"], {"x": np.array([0.2, 0.9])}, budget=jb.Budget(seconds=60))


def test_the_figure_shows_what_was_found(found):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    figure = found.plot()
    left, means, spent = figure.axes
    steps = left.get_lines()[0].get_ydata()
    assert steps[0] == 6 and steps[-1] == np.sum(found.history["batch"] == found.history["batch"][-1])
    assert means.get_yticklabels()[0].get_text() == "act = b, x = 0.3"
    assert spent.patches[0].get_width() == found.table["pulls"][3]
    assert means.get_ylim() == spent.get_ylim()


def test_the_figure_marks_intervals_that_go_on_and_numbers_names_that_are_cut():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    mean = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0, 0.5])
    half = np.array([0.5] * 5 + [1e3, np.inf])  # the sixth goes beyond both edges; the last has no interval
    table = {"index": np.arange(7), "pulls": np.arange(7, 0, -1), "survivor": mean > 3, "mean": mean}
    found = SimpleNamespace(
        table=table | {"low": mean - half, "high": mean + half},
        index=0,
        history={"batch": np.zeros(7, int), "config": np.arange(7), "id": np.arange(28)},
        ranking=lambda: np.arange(7),
        configs=SimpleNamespace(text=lambda i: "lr = 0.1" if i else "a name of forty letters that goes on and on"),
    )
    means = plot_tuning(found).axes[1]
    marks = {line.get_marker(): line for line in means.get_lines() if line.get_marker() in "<>"}
    assert {mark: [*line.get_ydata()] for mark, line in marks.items()} == {"<": [5], ">": [5]}
    assert [*marks["<"].get_xdata(), *marks[">"].get_xdata()] == [*means.get_xlim()]
    labels = [label.get_text() for label in means.get_yticklabels()]
    assert labels == ["0: a name of forty letters that goe...", *["lr = 0.1"] * 6]


def test_files_and_frames_hold_it(found, tmp_path):
    found.save(tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["chosen"]["config"] == {"act": "b", "x": 0.3} and summary["certificate"]["delta"] == 0.05
    assert len(summary["configurations"]) == 6
    with np.load(tmp_path / "history.npz", allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["score"], found.history["score"])
    frame = found.to_dataframe()
    assert frame.loc[3, "config.act"] == "b" and frame["pulls"].sum() == len(found.history["id"])
    assert "configuration 3: act = b, x = 0.3" in str(found) and Path(tmp_path / "table.npz").exists()
