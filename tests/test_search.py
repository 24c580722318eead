"""`search`: proposals, the finalists and their fresh seeds, resuming, spaces, and what is reported of the choice."""

import contextlib
import json
import math
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.decide.tuning import store
from jaxbandit.decide.tuning.calls import Calls
from jaxbandit.decide.tuning.proposing import RandomTrial
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled

SPACE = {"x": jb.space.uniform(0.0, 1.0), "lr": jb.space.loguniform(1e-4, 1.0)}
CALLS: list[tuple[int, str]] = []


def train(seed: int, config):
    """A score that depends on the seed and the configuration alone; the calls are noted."""
    CALLS.append((seed, repr(config)))
    text = sum(map(ord, repr(config)))
    return sum(v for v in config.values() if isinstance(v, float)) + 0.05 * np.random.default_rng([seed, text]).normal()


@pytest.fixture(autouse=True)
def nothing_called():
    CALLS.clear()


def conditional(trial):
    config = {"kind": trial.suggest_categorical("kind", ["svm", "forest"])}
    if config["kind"] == "svm":
        return {**config, "c": trial.suggest_float("c", 0.01, 1.0, log=True)}
    return {**config, "depth": trial.suggest_int("depth", 1, 9), "share": trial.suggest_float("share", 0.1, 0.9)}


def searched(space=SPACE, proposer="random", *, function=train, **more):
    return jb.search(function, space, proposer, **records(**{"max_trainings": 60, "progress": False, **more}))


def test_finalists_are_the_best_proposals_and_race_on_fresh_common_seeds():
    result = searched()
    count, raced = len(result.proposals["score"]), len(result.history["id"])
    assert count == 24 and len(CALLS) == count + raced and raced <= 36
    best = np.argsort(-result.proposals["score"])[:3]  # 60 % of 60 are enough for 3 finalists, 12 trainings each
    assert result.table["proposal"].tolist() == best.tolist()
    assert np.flatnonzero(result.proposals["finalist"]).tolist() == sorted(best)
    np.testing.assert_array_equal(result.table["first_score"], result.proposals["score"][best])
    first, later = CALLS[:count], CALLS[count:]
    assert len({seed for seed, _ in first}) == count and not {s for s, _ in first} & {s for s, _ in later}
    for index in range(3):
        scores = result.history["score"][result.history["config"] == index]
        assert result.table["mean"][index] == pytest.approx(scores.mean()) and len(scores) >= 6
        assert result.table["first_score"][index] not in scores
    seeds = [{s for s, c in later if c == repr(result.configs.row(i))} for i in range(3)]
    assert seeds[0] & seeds[1] & seeds[2] == min(seeds, key=len)  # common
    claim = result.table["first_score"][result.index] - result.table["mean"][result.index]
    assert result.claim == pytest.approx(claim)
    scope = "the guarantee is about the 3 finalists"
    assert any(scope in remark for remark in result.certificate.notes) and scope in str(result)
    assert "first score" in str(result)
    assert f"{count + raced} trainings: 24 of 24 proposals (random), {raced} of 3 finalists" in str(result)


def test_keys_are_those_that_are_documented():
    words = []

    def traced(key, config):
        words.append(jax.random.key_data(key).tolist())
        return config["x"] + float(jax.random.normal(key))

    searched(function=traced, finalists=2, proposals=5, extra=2, max_trainings=50, traced=False)
    root = jax.random.key(0, impl="threefry2x32")
    numbers = [2**31 + p for p in range(5)], [2**31 + 2**30, 2**31 + 2**30 + 1]
    proposals, further = ([jax.random.key_data(jax.random.fold_in(root, n)).tolist() for n in part] for part in numbers)
    assert words[:5] == proposals and words[-2:] == further
    raced = [jax.random.key_data(jax.random.fold_in(root, n)).tolist() for n in range(23)]
    assert all(word in raced for word in words[5:-2])


@pytest.mark.slow
@pytest.mark.parametrize("proposer", ["random", "tpe", "sampler", "function"])
@pytest.mark.parametrize("space", [SPACE, conditional], ids=["dict", "conditional"])
def test_a_search_that_was_stopped_resumes_with_the_same_result(proposer, space, tmp_path, monkeypatch):
    if proposer in ("tpe", "sampler"):
        optuna = pytest.importorskip("optuna")
    if proposer == "function":
        trial_space, space = space, None
        if isinstance(trial_space, dict):
            pytest.skip("a function knows its own space")

    def of(history, seed):
        assert [score is None for _, score in history] == [False] * len(history)
        best = max(history, key=lambda pair: pair[1], default=None)
        trial = RandomTrial(seed, len(history))
        return trial_space(trial) if best is None or len(history) % 2 else {**best[0], "extra": float(trial.number)}

    def go(place):
        proposers = {"function": of}
        if proposer == "sampler":
            proposers["sampler"] = optuna.samplers.TPESampler(seed=3, n_startup_trials=4, multivariate=True)
        return searched(space, proposers.get(proposer, proposer), directory=place, extra=3)

    whole = go(tmp_path / "whole")
    calls = list(CALLS)
    whole.save(tmp_path / "whole")
    add, stops = store.Store.add, iter([9, 7, 15, 2, 10**6])
    left = [next(stops)]

    def cut(self, *arguments):
        add(self, *arguments)
        left[0] -= 1
        if left[0] <= 0:
            left[0] = next(stops)
            raise KeyboardInterrupt

    CALLS.clear()
    monkeypatch.setattr(store.DirectoryStore, "add", cut)
    for _ in range(10):
        try:
            again = go(tmp_path / "cut")
            break
        except KeyboardInterrupt:
            continue
    again.save(tmp_path / "cut")
    assert calls == CALLS  # nothing twice, in the same order
    for name in ("summary.json", "table.npz", "history.npz", "proposals.npz"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    once = go(tmp_path / "cut")
    assert calls == CALLS and once.reused == len(calls)
    summary = json.loads((tmp_path / "cut" / "summary.json").read_text())
    assert summary["search"]["proposals"] == 24 and summary["trainings"] == len(calls)
    with np.load(tmp_path / "cut" / "proposals.npz", allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["score"], whole.proposals["score"])
        assert any(name.startswith("config.") for name in stored)


def test_proposals_on_an_executor_do_not_depend_on_timing():
    pytest.importorskip("optuna")
    with ThreadPoolExecutor(4) as pool:
        ours = searched(proposer="tpe", executor=pool)
    alone = searched(proposer="tpe", at_once=8)
    np.testing.assert_array_equal(ours.proposals["score"], alone.proposals["score"])
    assert ours.to_json() == alone.to_json()
    assert not np.array_equal(ours.proposals["score"], searched(proposer="tpe").proposals["score"])


def test_further_seeds_estimate_the_mean_of_the_choice_after_it_is_made():
    plain, more = searched(seed=5), searched(seed=5, extra=40)
    assert more.index == plain.index and more.certificate.achieved == plain.certificate.achieved
    assert len(more.further) == 40 and not set(more.further) & set(more.history["score"])
    known = more.to_json()["search"]["further"]
    half = 2.0226909 * np.std(more.further, ddof=1) / math.sqrt(40)  # t of 39 degrees
    assert known["mean"] == pytest.approx(np.mean(more.further))
    assert known["high"] - known["mean"] == pytest.approx(half) == known["mean"] - known["low"]
    assert "40 more of the choice" in str(more) and "this estimate is unbiased" in str(more)


def test_without_a_race_there_is_no_certificate():
    result = searched(finalists=1, maximize=False)
    scores = result.proposals["score"]
    assert len(scores) == len(CALLS) == result.to_json()["trainings"] == 60
    assert result.certificate.guarantee is None and result.table["mean"] == [scores.min()]
    assert "the best one of 60 proposals, and therefore too good as a rule" in str(result)
    assert "finalists" not in repr(result) and "claim" not in result.to_json()["search"]


def test_equal_proposals_are_one_finalist():
    result = searched({"x": jb.space.choice([0.1, 0.2])}, max_trainings=100)
    assert result.configs.count == 2 and len(result.proposals["score"]) == 52
    only = searched({"x": jb.space.choice([0.1])})
    assert not only.is_certified and only.configs.count == 1


@pytest.mark.filterwarnings("ignore:tune. a budget")  # too few trainings for a race of so few finalists
@pytest.mark.parametrize(
    ("total", "proposals", "finalists"),
    # 12 a finalist for 4 (n0 = 6), 14 for 8 (n0 = 7), or 30 %; below 80 fewer finalists, at most 60 %
    [(30, 12, 2), (60, 24, 3), (80, 32, 4), (100, 52, 4), (199, 139, 4), (200, 88, 8), (500, 350, 8)],
)
def test_the_split_of_the_budget(total, proposals, finalists):
    result = searched(function=lambda seed, config: seed % 97 + config["x"], max_trainings=total)
    assert len(result.proposals["score"]) == proposals and result.configs.count == finalists
    assert len(result.history["id"]) + proposals <= total
    assert result.certificate.needed is not None


def test_failures_of_proposals(tmp_path):
    def fails(seed: int, config):
        if config["x"] > 0.5:
            raise OSError("lost")
        return train(seed, config)

    with pytest.raises(BadInput, match=r"search: configuration \d+ .* raises OSError: lost; set on_failure"):
        searched(function=fails)
    result = searched(function=fails, on_failure=-9.0)
    high = np.array([x > 0.5 for x in result.proposed.columns[result.proposed.names.index("x")]])
    assert high.any() and (result.proposals["score"][high] == -9.0).all()
    assert (result.proposals["score"][~high] > -9.0).all()
    options = {"on_failure": "separate", "max_failure_rate": 0.5, "retries": 1, "directory": tmp_path / "here"}
    apart = searched(function=fails, **options)
    failed = np.isnan(apart.proposals["score"])
    assert failed.any() and (apart.proposals["attempts"][failed] == 2).all()
    assert not apart.proposals["finalist"][failed].any()
    assert apart.to_json()["trainings"] == apart.proposals["attempts"].sum() + apart.history["attempts"].sum() <= 60
    assert searched(function=fails, **options).to_json() == apart.to_json()


def test_failed_proposals_are_told_to_optuna_as_failures():
    pytest.importorskip("optuna")

    def fails(seed: int, config):
        return float("nan") if config["x"] > 0.5 else train(seed, config)

    result = searched(proposer="tpe", function=fails, finalists=2, on_failure="separate", max_failure_rate=0.5)
    assert np.isnan(result.proposals["score"]).any() and result.best_config["x"] <= 0.5


@pytest.mark.slow
def test_a_train_that_jax_traces_is_trained_in_batches(tmp_path):
    def traced(key, config):
        return config["x"] + 0.05 * jax.random.normal(key)

    result, again = (searched(function=traced, directory=tmp_path / "here", extra=2) for _ in range(2))
    assert again.reused == result.to_json()["trainings"] and again.to_json() == result.to_json()
    key = jax.random.fold_in(jax.random.key(0, impl="threefry2x32"), 2**31)
    first = result.proposed.row(0)["x"] + 0.05 * float(jax.random.normal(key))
    assert result.proposals["score"][0] == pytest.approx(first, abs=1e-6)


def test_a_timeout_leaves_time_for_the_race(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])

    def slow(seed: int, config):
        clock[0] += 1.0
        return train(seed, config)

    result = searched(function=slow, finalists=4, max_trainings=1000, timeout=100.0)
    assert result.why == "timeout" and clock[0] <= 101
    assert np.isfinite(result.proposals["score"]).sum() == pytest.approx(70, abs=1)  # the share of its trainings
    with pytest.raises(BadInput, match=r"none of .* proposals has a score; give more seconds"):
        searched(function=slow, max_trainings=1000, timeout=0)


@pytest.mark.filterwarnings("ignore:tune. a budget")  # too few trainings for a race of so few finalists
def test_a_larger_budget_uses_all_scores(tmp_path):
    small = searched(max_trainings=80, directory=tmp_path / "here")
    before = len(CALLS)
    large = searched(max_trainings=120, directory=tmp_path / "here")
    np.testing.assert_array_equal(large.proposals["score"][:32], small.proposals["score"])
    assert large.reused + len(CALLS) - before == large.to_json()["trainings"] and large.reused >= 32


REFUSED = {
    "proposer": (SPACE, {"proposer": "tp"}, "search: proposer = 'tp', must be one of random, tpe"),
    "object": (SPACE, {"proposer": 3}, 'search: proposer = 3, must be "random", "tpe", a sampler of Optuna'),
    "space": ({"x": [1, 2]}, {}, "search: space: x = [1, 2], must be loguniform"),
    "no space": (None, {}, "search: space = None, must be a dictionary"),
    "two spaces": (SPACE, {"proposer": lambda history, seed: {}}, "are both given; give space=None"),
    "bad function": (lambda trial: 3, {}, "search: space returns 3, must return a dictionary"),
    "failing function": (lambda trial: trial.nothing, {}, "search: space fails: AttributeError"),
    "bad proposal": (None, {"proposer": lambda history, seed: [1]}, "search: proposer returns [1]"),
    "failing proposer": (None, {"proposer": lambda history, seed: history[0]}, "search: proposer fails: IndexError"),
    "finalists": (SPACE, {"finalists": 61}, "search: finalists = 61, must be an integer in [1, 60]"),
    "no finalists": (SPACE, {"finalists": 0}, "search: finalists = 0, must be an integer >= 1"),
    "proposals": (SPACE, {"proposals": 60}, "search: proposals = 60, must be an integer in [1, 59]"),
    "no race": (SPACE, {"finalists": 1, "proposals": 7}, "with finalists = 1 all 60 trainings are proposals"),
    "one training": (SPACE, {"max_trainings": 1}, "search: budget.trainings = 1, must be an integer in [2, "),
    "at once": (SPACE, {"at_once": 0}, "search: at_once = 0, must be an integer >= 1"),
    "integer log": (lambda trial: {"x": trial.suggest_int("x", 0, 9, log=True)}, {}, "suggest_int('x'): low = 0"),
    "low log": (lambda trial: {"x": trial.suggest_float("x", 0, 1, log=True)}, {}, "suggest_float('x'): low = 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_arguments_are_refused_in_one_line_before_any_training(case):
    if case == "object":
        pytest.importorskip("optuna")
    space, more, words = REFUSED[case]
    with pytest.raises(ValueError) as error:
        searched(space, **more)
    assert words in str(error.value) and "\n" not in str(error.value) and not CALLS


def test_a_directory_of_another_search_is_refused(tmp_path):
    searched(directory=tmp_path / "here")
    for other, words in (
        ({"space": {"x": jb.space.uniform(0.0, 2.0)}}, "the directory holds another proposal 0 than x ="),
        ({"seed": 1}, "holds scores with seed = 0"),
        ({"proposer": lambda history, seed: {"x": 0.5}, "space": None}, "holds scores with proposer = random"),
        ({"at_once": 3}, "holds scores with at_once = 64"),
    ):
        with pytest.raises(BadInput, match=words):
            searched(**other, directory=tmp_path / "here")
    for least in (99, 5):  # the fifth proposal of two functions of the same name differs
        fails = pytest.raises(BadInput, match="another proposal 5 than") if least == 5 else contextlib.nullcontext()
        with fails:
            space = {"proposer": lambda history, seed, least=least: {"x": len(history) + 0.5 * (len(history) >= least)}}
            searched(None, **space, at_once=4, directory=tmp_path / "there")
    with pytest.raises(BadInput, match="another train function"):
        searched(function=lambda seed, config: 0.0, directory=tmp_path / "here")


@pytest.mark.slow
def test_values_of_random_trials_are_those_of_the_laws():
    """KS distance of 4,000 draws: above 1.95/sqrt(n) with probability .001 under the law."""
    trials = [RandomTrial(7, i) for i in range(4000)]

    def apart(values, cdf):
        values = np.sort(values)
        return np.abs(cdf(values) - (np.arange(len(values)) + 0.5) / len(values)).max() < 1.95 / math.sqrt(len(values))

    assert apart([t.suggest_float("u", -1, 3) for t in trials], lambda x: (x + 1) / 4)
    assert apart([t.suggest_float("l", 1e-4, 1, log=True) for t in trials], lambda x: 1 + np.log10(x) / 4)
    counts = [np.bincount([t.suggest_int("i", 2, 10, step=4) for t in trials], minlength=11)]
    counts.append(np.bincount([round(10 * t.suggest_float("s", 0.2, 1.05, step=0.4)) for t in trials], minlength=11))
    for count in counts:
        assert count[[2, 6, 10]].sum() == 4000 and (abs(count[[2, 6, 10]] - 4000 / 3) < 4 * 30).all()
    whole = np.bincount([t.suggest_int("n", 1, 8, log=True) for t in trials], minlength=9)
    expected = 4000 * np.diff(np.log(np.arange(0.5, 9))) / math.log(17)
    assert whole[0] == 0 and (abs(whole[1:] - expected) < 4 * np.sqrt(expected)).all()
    assert {t.suggest_categorical("c", "ab") for t in trials} == {"a", "b"}
    assert trials[0].suggest_float("u", -1, 3) == trials[0].params["u"] == RandomTrial(7, 0).suggest_float("u", -1, 3)


@pytest.mark.slow
def test_static_values_of_a_space_stay_static():
    seen = []

    def traced(key, config):
        seen.append(config["width"])
        return jax.random.normal(key, (config["width"],)).sum() + config["x"]

    space = {"x": jb.space.uniform(1, 5), "width": jb.space.choice(jb.space.static([2, 3]))}
    result = searched(space, function=traced, finalists=2)
    assert "cannot be traced" not in str(result.notes)
    assert set(seen) == {2, 3} and {type(width) for width in seen} == {int}


def surface(x):
    """The surface of the table, d = 3: its mean and standard deviation."""
    center, turn = np.linspace(0.3, 0.7, 3), np.eye(3) + np.diag([0.4, 0.4], 1)
    z = (np.asarray(x) - center) @ turn
    mean = 0.95 - 0.35 * (1 - np.exp(-3 * z @ z)) - 0.03 * np.mean(1 - np.cos(9 * z))
    return mean, 0.01 + 0.05 * (0.95 - mean)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("proposer", "runs", "mean", "se", "claim"),
    [("random", 30, 0.9164, 0.0015, 0.0), ("tpe", 12, 0.9447, 0.0005, 0.002)],
)
def test_the_table_of_proposals_that_are_certified(proposer, runs, mean, se, claim):
    """d = 3, N = 100: true mean of the choice and what is claimed; within three standard errors, false alarm .003."""
    if proposer == "tpe":
        pytest.importorskip("optuna")
    names = [f"x{i}" for i in range(3)]

    def noisy(seed: int, config):
        at, sd = surface([config[name] for name in names])
        own = [int(config[name] * 2**53) for name in names]
        return at + sd * np.random.default_rng([seed, *own]).normal()

    space, true, apart, wrong = {name: jb.space.uniform(0.0, 1.0) for name in names}, [], [], 0
    for seed in range(runs):
        result = searched(space, proposer, function=noisy, seed=seed, max_trainings=100)
        means = [surface([result.configs.row(i)[name] for name in names])[0] for i in range(result.configs.count)]
        true.append(means[result.index])
        apart.append(result.table["mean"][result.index] - true[-1])
        wrong += max(means) - true[-1] > result.certificate.achieved
    assert abs(np.mean(true) - mean) < 3 * math.hypot(np.std(true, ddof=1) / math.sqrt(runs), se)
    assert abs(np.mean(apart) - claim) < 3 * np.std(apart, ddof=1) / math.sqrt(runs) + 0.0005  # the table's rounding
    assert wrong <= 4  # of 30 at .05: more with probability .016, if the bound were tight


def test_a_training_that_an_executor_does_not_return_is_asked_for_again(monkeypatch):
    whole, real = searched(finalists=1), Calls.__call__

    def lossy(self, words, arms, *more):
        parts = real(self, words, arms, *more)
        return (part for i, part in enumerate(parts) if i or len(arms) == 1)

    monkeypatch.setattr(Calls, "__call__", lossy)
    again = searched(finalists=1)
    np.testing.assert_array_equal(again.proposals["score"], whole.proposals["score"])
    assert again.reused == whole.reused == 0


@pytest.mark.parametrize("maximize", [True, False])
def test_the_progress_shows_the_best_proposal(maximize):
    shown = []
    result = searched(finalists=1, at_once=10, maximize=maximize, progress=shown.append)
    scores = result.proposals["score"]
    assert [now.trainings for now in shown] == list(range(1, 61)) and math.isnan(shown[0].score)
    best = (np.argmax if maximize else np.argmin)(scores[:50])
    assert (shown[-1].best, shown[-1].score, shown[-1].survivors) == (best, scores[best], 60)


def test_a_proposal_whose_score_is_outside_of_the_range_ends_the_search():
    words = r"^search: configuration \d+ .* returns 1\.5, must be in \[0, 1\], given by score_range"
    with pytest.raises(BadInput, match=words):
        searched(function=lambda seed, config: 1.5, max_trainings=40, score_range=(0, 1))
