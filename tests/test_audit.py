"""The delta audit: its decisions on made-up runs, and on real ones a sound rule, a broken one and a heuristic."""

import dataclasses
import itertools
import json
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
import tomli_w
from scipy import stats

from jaxbandit.algorithms.exploration.presets import lingape
from jaxbandit.algorithms.exploration.thresholds import det_threshold
from jaxbandit.base.contract import Algorithm, Outcome, Promise
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.lab import cli
from jaxbandit.lab.auditing import experiment as auditing
from jaxbandit.lab.auditing.cell import (
    CONSERVATIVE,
    CONSISTENT,
    UNDECIDED,
    VIOLATES,
    Batch,
    Limits,
    audit_draws,
    batch_length,
    judge,
)
from jaxbandit.lab.cli import commands
from jaxbandit.lab.cli.endings import BAD_INPUT
from jaxbandit.lab.experiments import experiment as running
from jaxbandit.lab.specs import source, spec
from jaxbandit.running.cell import stopping_result
from jaxbandit.running.results.loading import load_cell
from jaxbandit.support.numerics import as_float
from jaxbandit.support.refusals import BadInput, RunsLeftOut
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.confidence_sequence import confidence_sequence
from jaxbandit.theory.estimators import least_squares


def coin(seed, rate, unjudged=0.0):
    """Runs that err with one probability and do not stop with another, by number."""
    drawn = np.random.default_rng(seed).random(400_000)

    def draw(first, number):
        u = drawn[first : first + number]
        assert len(u) == number
        return Batch(int(np.sum(u < rate)), int(np.sum(u > 1 - unjudged)), 1.0)

    return draw


@pytest.mark.parametrize(
    ("errors", "unjudged", "delta", "verdict", "settled"),
    [
        (800, 0, 0.05, VIOLATES, True),
        (800, 9000, 0.05, VIOLATES, True),  # proved however the rest would have ended
        (500, 0, 0.05, UNDECIDED, False),
        (380, 0, 0.05, CONSISTENT, True),
        (300, 0, 0.2, CONSERVATIVE, True),
        (8, 0, 0.05, CONSERVATIVE, False),  # by 16 to 670: not within a factor of 2
        (0, 0, 0.02, CONSERVATIVE, False),  # by 16 and more
        (0, 0, 0.05, CONSERVATIVE, True),  # by 40 and more
        (100, 200, 0.05, CONSISTENT, False),
        (100, 600, 0.05, UNDECIDED, True),  # 1 % or 7 %: more runs of this kind decide nothing
        (0, 10_000, 0.05, UNDECIDED, True),
    ],
)
def test_verdicts_of_ten_thousand_runs(errors, unjudged, delta, verdict, settled):
    finding = judge(errors, unjudged, 10_000, delta, Limits())
    assert (finding.verdict, finding.settled) == (verdict, settled)
    assert finding.low == confidence_sequence(errors, 10_000, 0.999).low
    assert finding.high == confidence_sequence(errors + unjudged, 10_000, 0.999).high


def test_a_table_shares_its_confidence():
    one, twenty = judge(30, 0, 1000, 0.05, Limits()), judge(30, 0, 1000, 0.05, Limits(), cells=20)
    assert (twenty.low, twenty.high) == confidence_sequence(30, 1000, 1 - 0.001 / 20)[2:]
    assert twenty.low < one.low and twenty.high > one.high and twenty.confidence == 0.999


@pytest.mark.slow
@pytest.mark.statistical
def test_a_sound_rule_is_seldom_accused_and_a_broken_one_seldom_acquitted():
    """150 audits each, at rates on the border. Each verdict is false with probability at most 0.1: more false ones
    than binomial(150, 0.1) has once in 10^6 would be a false alarm."""
    limits = Limits(confidence=0.9, runs=100_000)

    def verdicts(rate):
        return [audit_draws(coin(seed, rate), 0.05, limits, first=100).verdict for seed in range(150)]

    kept, broken = verdicts(0.05), verdicts(0.052)
    most = stats.binom.isf(1e-6, 150, 0.1)
    assert kept.count(VIOLATES) <= most
    assert sum(verdict in (CONSISTENT, CONSERVATIVE) for verdict in broken) <= most
    assert broken.count(VIOLATES) > 5  # with this budget the truth comes out now and then


@pytest.mark.parametrize(
    ("rate", "verdict", "most"),
    [(0.0, CONSERVATIVE, 8000), (0.01, CONSERVATIVE, 40_000), (0.035, CONSISTENT, 10_000), (0.12, VIOLATES, 2000)],
)
def test_it_stops_as_soon_as_it_knows(rate, verdict, most):
    """One seed; each verdict's probability is above 0.999, the numbers of runs leave half as many to spare."""
    finding = audit_draws(coin(1, rate), 0.05)
    assert finding.verdict == verdict and finding.runs <= most
    assert finding.low <= rate <= finding.high
    if verdict == CONSERVATIVE:
        assert 2 <= finding.factor == 0.05 / finding.high
        assert finding.factor >= 20 or finding.high <= 2 * finding.low


def test_runs_go_on_where_they_were_until_the_budget_is_spent():
    asked = []

    def draw(first, number):
        asked.append((first, number))
        return Batch(round(0.05 * number), 0, 1.0)  # the very rate that is promised: no verdict ever

    assert audit_draws(draw, 0.05, Limits(runs=12_345), first=500)[0] == UNDECIDED
    assert asked[:4] == [(0, 500), (500, 500), (1000, 500), (1500, 750)]
    assert all(a + n == b for (a, n), (b, _) in itertools.pairwise(asked))
    assert sum(n for _, n in asked) == 12_345
    asked.clear()
    assert audit_draws(draw, 0.05, Limits(seconds=3.0), first=500).runs == 1500


def test_runs_that_never_stop_end_the_audit():
    finding = audit_draws(coin(2, 0.01, unjudged=0.5), 0.05)
    assert finding.verdict == UNDECIDED and finding.runs < 3000 and finding.factor is None
    assert finding.low <= 0.01 and finding.high >= 0.51


@pytest.mark.parametrize("name", ["confidence", "resolution", "factor", "runs", "seconds"])
def test_limits_out_of_range_are_refused(name):
    with pytest.raises(BadInput, match=f"audit: {name} = 0, must be"):
        audit_draws(coin(0, 0.0), 0.05, Limits()._replace(**{name: 0}))


def test_batch_lengths():
    assert [batch_length(n, 1000, 10_000) for n in (0, 1000, 2500, 9999)] == [1000, 1000, 1250, 1]


class StaleState(NamedTuple):
    """LinGapE's state, and the pair of the round before."""

    inner: NamedTuple
    pair: jnp.ndarray  # int32[2], leader and challenger


def stale_lingape(
    features: Array,
    *,
    delta: Scalar = 0.05,
    sigma: Scalar = 1.0,
    regularization: Scalar = 1.0,
    theta_norm: Scalar = 1.0,
) -> Algorithm:
    """LinGapE with a broken order: it stops if the pair chosen before the last pull is apart after it.

    Its threshold is the proved one. The Top-m authors' program stops so.
    """
    noise = {"delta": delta, "sigma": sigma, "regularization": regularization, "theta_norm": theta_norm}
    sound = lingape(features, **noise)

    def column(inner, arm):
        estimate = inner.estimate
        squares = estimate.variances + estimate.variances[arm] - 2 * least_squares.row(estimate, arm)
        width = det_threshold(estimate.logdet, **noise) * as_float(sigma)
        return estimate.means - estimate.means[arm] + width * jnp.sqrt(jnp.maximum(squares, 0.0))

    def update(state, context, action, reward):
        leader = sound.recommend(state.inner)[0]
        others = jnp.arange(features.shape[0], dtype=jnp.int32) != leader
        challenger = jnp.argmax(jnp.where(others, column(state.inner, leader), -jnp.inf))
        pair = jnp.stack([leader, challenger.astype(jnp.int32)])
        return StaleState(sound.update(state.inner, context, action, reward), pair)

    def stop(state):
        begun = state.inner.pulls > features.shape[0]
        return begun & (column(state.inner, state.pair[0])[state.pair[1]] <= 0)

    return Algorithm(
        init=lambda key: StaleState(sound.init(key), jnp.zeros(2, jnp.int32)),
        noise=sound.noise,
        select=lambda noise, state, context: sound.select(noise, state.inner, context),
        update=update,
        recommend=lambda state: state.pair[:1],
        stop=stop,
        promise=Promise(delta),
    )


HARD = """
name = "hard"
kind = "identify"
runs = 500
max_rounds = 100000
[[instance]]
name = "angle"
type = "top_m_classic"
num_arms = 3
m = 1
angle = 0.1
sigma = 0.5
[[algorithm]]
type = "lingape"
regularization = 0.025
delta = {sweep = [0.05, 0.2]}
"""
STALE = f"""
[[algorithm]]
name = "stale"
type = "{__name__}:stale_lingape"
regularization = 0.025
"""
SILENT = f"""
[[algorithm]]
type = "{__name__}:silent_lingape"
"""


def silent_lingape(features: Array, *, delta: Scalar = 0.05) -> Algorithm:
    """LinGapE, which here promises nothing."""
    return lingape(features, delta=delta)._replace(promise=None)


def test_a_rule_without_a_promise_is_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "hard.toml"
    path.write_text(HARD + SILENT)
    assert cli.main(["audit", str(path), "--out", str(tmp_path / "out")]) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "silent_lingape, must be one that guarantees a delta" in said
    assert not (tmp_path / "out").exists()


@pytest.fixture(autouse=True)
def _one_width(monkeypatch):
    monkeypatch.setattr(auditing, "WIDTH", 64)


@pytest.mark.slow
@pytest.mark.statistical
def test_a_broken_order_is_caught_and_the_sound_one_is_not():
    """Fixed seed; the sound rule would be accused under one seed in 1000, the broken one (9 % wrong) nearly always."""
    experiment = spec.parse(tomllib.loads(HARD + STALE), "hard.toml")
    *sound, broken = auditing.audit_experiment(experiment, None, Limits(factor=5.0))
    assert [result.finding.delta for result in sound] == [0.05, 0.2]
    assert all(result.finding.verdict == CONSERVATIVE and result.finding.factor >= 5 for result in sound)
    assert broken.finding.verdict == VIOLATES and broken.finding.low > 0.05
    assert "violates: 1." in auditing.table([*sound, broken])


@pytest.mark.slow
@pytest.mark.statistical
def test_the_heuristic_threshold_is_caught(tmp_path, monkeypatch, capsys):
    """Of the embedded audit its last instance and third algorithm: 15 % wrong at delta = 0.05, 38 % at 0.2. The proved
    threshold is accused under one seed in 1000."""
    monkeypatch.chdir(tmp_path)
    data = source.read(source.locate("audit"))
    data |= {"instance": data["instance"][3:], "algorithm": [data["algorithm"][i] for i in (1, 2)]}
    Path("crowded.toml").write_text(tomli_w.dumps(data), encoding="utf-8")
    assert cli.main(["audit", "crowded.toml", "--json", "--factor", "5"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [cell["audit"]["verdict"] for cell in document["cells"]] == [CONSERVATIVE] * 2 + [VIOLATES] * 2
    for cell, delta in zip(document["cells"], [0.05, 0.2] * 2, strict=True):
        found = cell["audit"]
        assert found["delta"] == delta and found["confidence"] == 0.999 and found["runs"] == cell["runs"]
        assert ("factor" in found) == (found["high"] <= delta)
        assert found["low"] <= cell["error"]["low"] <= cell["error"]["rate"] <= cell["error"]["high"] <= found["high"]
        assert cell["outcomes"]["stopped"] == cell["runs"] and cell["samples"]["mean"] > 10
    # The batches are the runs of one experiment of that length: nothing was played twice or left out.
    parts = [load_cell("crowded-audit/audit/000", i).arrays["samples"] for i in range(2)]
    experiment = dataclasses.replace(spec.load("crowded.toml"), runs=sum(map(len, parts)))
    whole = running.run_experiment(experiment, None, execution=Execution(width=64))
    np.testing.assert_array_equal(np.concatenate(parts), whole[0].arrays["samples"])


@pytest.mark.slow
@pytest.mark.statistical
def test_a_rival_that_sometimes_fails_deceives_rules_for_normal_scores(tmp_path, monkeypatch, capsys):
    """Of `audit_rivals` the share of 6 %, where the rival seems the best to all that have not seen a failure.

    The paired race is wrong in .70 of the runs. One seed in 1000 would leave the lower bound above that.
    """
    monkeypatch.chdir(tmp_path)
    data = source.read(source.locate("audit_rivals"))
    rules = [rule for rule in data["algorithm"] if rule["type"] in ("paired_race", "betting_race")]
    data |= {"instance": [i for i in data["instance"] if i["name"] == "6 % fail"], "algorithm": rules}
    Path("rivals.toml").write_text(tomli_w.dumps(data), encoding="utf-8")
    assert cli.main(["audit", "rivals.toml", "--json", "--factor", "2"]) == 0
    paired, betting = json.loads(capsys.readouterr().out)["cells"]
    assert paired["audit"]["verdict"] == VIOLATES and paired["audit"]["low"] > 0.5
    assert betting["audit"]["verdict"] == CONSERVATIVE and betting["error"]["rate"] == 0 and betting["runs"] >= 300


@pytest.fixture
def made_up(monkeypatch):
    """Replace the engine: run r stops after r + 1 rounds, errs if r is a multiple of 30, never stops if of 400."""

    def play(experiment, cell, truth, **options):
        calls.append((cell.index, options["first_run"], experiment.runs))
        if len(calls) == stop_at[0]:
            raise KeyboardInterrupt
        number = np.arange(options["first_run"], options["first_run"] + experiment.runs)
        record = SimpleNamespace(
            samples=number + 1,
            outcome=np.where(number % 400 == 399, ended[0], Outcome.STOPPED).astype(np.int8),
            recommendation=np.zeros((len(number), 1), np.int32),
            shortfall=np.where(number % 30 == 29, 0.3, 0.0),
            pulls=None,
            batches=None,
            compile_seconds=0.0,
            run_seconds=0.5,
            run_steps=int(number.sum()),
            lane_utilization=1.0,
            devices=["cpu"],
            identity={},
            more={},
        )
        labels = {"instance": "angle", "algorithm": "lingape", "params": dict(cell.params), "seed": experiment.seed}
        labels |= {"precision": experiment.precision, "truth": truth, "max_rounds": experiment.max_rounds}
        return stopping_result(record, cell.arguments, **labels)

    calls, stop_at, ended = [], [0], [Outcome.MAX_ROUNDS]
    monkeypatch.setattr(auditing, "play", play)
    return calls, stop_at, ended


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_interrupted_audit_goes_on_to_the_same_bytes(tmp_path, made_up):
    calls, stop_at, _ = made_up
    experiment, limits = spec.parse(tomllib.loads(HARD), "hard.toml"), Limits(runs=5000)
    whole = auditing.audit_experiment(experiment, tmp_path / "whole", limits)
    batches = calls.copy()
    assert [result.finding.verdict for result in whole] == [CONSISTENT, CONSERVATIVE]
    assert {"spec.toml", "audit.json", "audit/000/cell-000.npz"} <= files(tmp_path / "whole").keys()
    for stop in (2, 1, 4, 0):
        calls.clear()
        stop_at[0] = stop
        if stop:
            with pytest.raises(KeyboardInterrupt):
                auditing.audit_experiment(experiment, tmp_path / "parts", limits)
        else:
            auditing.audit_experiment(experiment, tmp_path / "parts", limits)
    assert calls == batches[4:]  # 1 + 0 + 3 batches were there already
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


@pytest.mark.parametrize("fault", [Outcome.NONFINITE, Outcome.OUT_OF_RANGE])
def test_runs_that_fail_are_an_error_unless_allowed(made_up, fault):
    made_up[2][0] = fault
    experiment, limits = spec.parse(tomllib.loads(HARD), "hard.toml"), Limits(runs=2000)
    with pytest.raises(BadInput, match=r"angle/lingape: \d of [\d,]+ runs left out: .*; max_failed = 0 allows none"):
        auditing.audit_experiment(experiment, None, limits)
    with pytest.warns(RunsLeftOut, match="angle/lingape: 5 of 2,?000 runs left out"):
        found = auditing.audit_experiment(experiment, None, limits, max_failed=0.01)
    assert len(found) == 2


def test_a_larger_budget_goes_on_from_the_smaller(tmp_path, made_up):
    calls, _, _ = made_up
    experiment = spec.parse(tomllib.loads(HARD.replace("[0.05, 0.2]", "[0.05]")), "hard.toml")
    [small] = auditing.audit_experiment(experiment, tmp_path, Limits(runs=2000))
    assert calls == [(0, 0, 500), (0, 500, 500), (0, 1000, 500), (0, 1500, 500)]
    calls.clear()
    [large] = auditing.audit_experiment(experiment, tmp_path, Limits(runs=100_000, confidence=0.9999))
    assert calls[0] == (0, 1500, 750)  # the last one had been cut short
    assert (small.finding.verdict, large.finding.verdict) == (UNDECIDED, CONSISTENT)
    # Of n runs one in 30 errs and one in 400 is not judged; 1200 is the first that would be both.
    n = large.runs
    interval = confidence_sequence(sum(r % 30 == 29 and r % 400 != 399 for r in range(n)), n, 0.9999)
    assert large.finding.low == interval.low
    assert "Runs that did not stop" in auditing.table([large])
    assert large.to_json()["samples"]["max_rounds"] == 100_000


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["crowd"], 'audit of crowd-it: kind = "simulate", must be "identify"'),
        (["audit", "--confidence", "1"], "audit: confidence = 1.0, must be in (0, 1)"),
        (["audit", "--runs", "0"], "audit: runs = 0, must be greater than 0"),
        (["audit", "--seconds", "-1"], "audit: seconds = -1.0, must be greater than 0"),
    ],
)
def test_bad_input_is_refused_in_one_line(argv, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["audit", *argv]) == BAD_INPUT
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and said in captured.err
    assert not list(tmp_path.iterdir())


def test_the_command_has_the_defaults_of_the_limits():
    command = commands.Audit()
    assert Limits(command.confidence, command.resolution, command.factor, command.runs) == Limits()


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        *(("audit", 32), ("audit_best_arm", 96), ("audit_full_bandit", 21)),
        *(("audit_k_arms", 160), ("audit_k_arms_gaussian", 220), ("audit_scores", 120)),
        *(("audit_poisson", 60), ("audit_exponential", 60), ("audit_rivals", 64), ("audit_pauses", 16)),
    ],
)
def test_the_embedded_audits_load(name, cells):
    experiment = spec.load(name)
    assert len(list(experiment.cells())) == cells and experiment.kind == "identify"
