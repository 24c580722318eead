"""The benchmarks at tiny sizes: that they measure what they say. How long anything takes is not tested."""

import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import benchmarks
import jaxbandit as jb
from benchmarks import (
    __main__,
    ab_plan,
    accelerators,
    ahead_of_time,
    allocation,
    baseline_peers,
    baseline_peers_pairs,
    baseline_peers_rules,
    baselines,
    baselines_cells,
    beside_numpy,
    best_arm,
    compiled_loops,
    contexts,
    contextual_loops,
    contextual_peers,
    contextual_peers_logs,
    first_command,
    fixed_features,
    full_bandit,
    gate,
    goals,
    halving,
    limits,
    linear,
    machine,
    one_run,
    open_bandit,
    other_settings,
    peers_shared,
    regret,
    results_file,
    revision_cases,
    revisions,
    scaling,
    sessions,
    stopping,
    sweeps,
    yardstick,
)
from jaxbandit.lab import cli
from jaxbandit.lab.cli import bench_command
from jaxbandit.theory.comparisons import asymptotic

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]


@pytest.fixture(autouse=True)
def _once(monkeypatch):
    """Measure once: repeats sharpen figures, which are not tested."""
    for part in (best_arm, full_bandit, one_run, regret, stopping, allocation, scaling):
        monkeypatch.setattr(part, "REPEATS", 1)


@pytest.mark.statistical
def test_the_loops_beside_play_ucb1():
    """Mean regrets within 5 standard errors of each other: false in 1 of 10^6 right programs."""
    loop = yardstick.Yardstick(3, threads=2)
    means = loop.means.astype(float)
    ours = jb.simulate(jb.algorithms.ucb1(3), jb.environments.bernoulli(means), horizon=500, num_runs=2_000)
    regrets = ours.arrays["regret"][:, -1]
    allowed = 5 * np.sqrt(2) * regrets.std() / np.sqrt(2_000)
    others = [yardstick.numpy_seconds(means, 2_000, 500)]
    if loop.available:  # a C compiler is no condition of the benchmarks
        others.append(loop.seconds(2_000, 500))
    for seconds, found in others:
        assert seconds > 0 and abs(found - regrets.mean()) < allowed


def test_plain_arms():
    rows = regret.block(3, 4, 0.001, only="uniform")
    assert [row["algorithm"] for row in rows] == ["ucb1", "uniform"]
    assert rows[0]["times_ucb1"] == 1 and rows[0]["numpy_ns"] > 0
    assert {row["arms"] for row in rows} == {3} and {row["runs"] for row in rows} == {4}
    # Uniform play of means 1/4, 1/2, 3/4 in turns: a quarter a round.
    assert rows[1]["regret"] == pytest.approx(rows[1]["rounds"] / 4, rel=0.2)
    lines = regret.table(rows).splitlines()
    assert lines[0] == "3 arms, 4 runs" and lines[-1].startswith("uniform")


def test_plain_arms_that_stop():
    rows = best_arm.steps(4, 40)
    assert [row["rule"] for row in rows] == list(best_arm.rules()) and rows[0]["ratio"] == 1
    (halved, _) = found = best_arm.fixed_budgets(200)
    assert {row["rule"] for row in found} == set(best_arm.budgets())
    # The first instance errs about .22 with its best arm first; 200 runs leave 5 standard errors of .15.
    assert halved["seconds"] > 0 and abs(halved["error"] - 0.222) < 0.15
    assert "top_two" in best_arm.table({"steps": rows, "budgets": found})


def test_linear_contextual():
    row = linear.measure_case("plane", linear.sphere(3, 2, 1), 4, 20)
    assert row["lin_ucb_ns"] == pytest.approx(row["lin_ucb_seconds"] / 80 * 1e9)
    assert "plane" in linear.table([row])


@pytest.mark.parametrize("shape", [(2,), (3, 2)])
def test_contexts_of_floats(shape):
    rules = contexts.rules(3, shape, rounds=20)
    assert {"ridge_softmax", "neural_linear", "logistic_ts", "ucb_glm"} < set(rules) and len(rules) > 11
    name = "lin_ts_shared" if len(shape) == 2 else "lin_ucb_hybrid"
    row = beside_numpy.measure_case(contexts.case(name, rules[name], 3, shape, 4, 20), repeats=1)
    assert row["us"] > 0 and row["one_us"] > 0 and (row["numpy_us"] is None) == (name == "lin_ucb_hybrid")
    assert name in contexts.table([row])
    for each, both in rules.items():
        loop = contexts.case(each, both, 3, shape, 4, 20).numpy
        assert loop is None or loop(20) > 0


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("model", ["linear", "logistic", "likelihood"])
def test_the_loops_in_numpy_find_theta(model, shared):
    """After 4,000 rounds the angle to the truth is below 0.2: a penalty shortens theta, and hardly turns it."""
    rng = np.random.default_rng(3)
    contexts = rng.normal(size=(4_000, 2, 2) if shared else (4_000, 2))
    for draws in (False, True)[: 1 + (shared and model != "likelihood")]:
        played = contextual_loops.play(contextual_loops.Rule(contextual_loops.greedy, model, draws), contexts, 2)
        assert played.seconds > 0
        theta, truth = played.theta.ravel(), played.truth.ravel()
        assert theta @ truth > np.cos(0.2) * np.linalg.norm(theta) * np.linalg.norm(truth)


def test_fixed_features():
    cases = fixed_features.cases(12, num_arms=30, rounds=20)
    assert [case.rule for case in cases] == ["lin_ucb", "lin_ts", "greedy"]
    assert all(case.numpy and case.numpy(case.rounds) > 0 for case in cases)
    row = beside_numpy.measure_case(cases[0]._replace(runs=4), repeats=1)
    drift = fixed_features.drift(12, 30, x64=True, num_arms=30)
    assert drift["variances"] < 1e-12 and drift["means"] < 1e-12
    assert "d = 12" in fixed_features.table({"costs": [row], "drift": [drift]})


def test_one_run(monkeypatch):
    monkeypatch.setattr(one_run, "SECONDS", 0.1)
    heavy, light = one_run.measure_rule("lin_ucb"), one_run.measure_rule("ucb1")
    assert heavy["alone"] and 0 < heavy["one_us"] < 50 * heavy["share_us"]  # 64 and more in tiles
    assert not light["alone"] and "one_us" not in light
    assert "alone" in one_run.table([heavy, light, {"rule": "other", "error": "why"}])


def test_other_settings():
    cases = {case.rule: case for case in other_settings.cases(quick=False)}
    assert {"gp_ucb", "gp_ts", "rucb", "double_thompson", "primal_dual_bwk", "cascade_ucb"} == set(cases)
    assert all(case.numpy and case.numpy(20) > 0 for case in cases.values() if case.size != "K = 1000")
    row = beside_numpy.measure_case(cases["primal_dual_bwk"]._replace(runs=4, rounds=20), repeats=1)
    assert row["numpy_us"] > 0 and "primal_dual_bwk" in other_settings.table([row])


def test_beside_other_libraries():
    x, labels = contextual_peers_logs.digits(0, 40)
    choices, seconds = contextual_peers.session_play(contextual_peers.digits_rule(regularization=4.0), x, labels)
    plain, once = contextual_peers.numpy_play(x, labels, 1.0, 4.0)
    assert (choices == plain).all() and min(seconds, once) > 0
    drawn = {name: contextual_peers_logs.draw(name, 2, 60) for name in contextual_peers_logs.CELLS}
    given = contextual_peers_logs.arrays(drawn, contextual_peers_logs.replayed(1))
    own = contextual_peers_logs.ours("digits 2,000", drawn["digits 2,000"])
    assert own["value"].shape == (2, 3) and own["ends"].shape == (2, 3, 2)
    weights = np.take_along_axis(given["digits 2,000/policy"], given["digits 2,000/action"][:, :, None], 2)[:, :, 0]
    weights /= given["digits 2,000/propensity"]
    assert own["value"][:, 0] == pytest.approx((weights * given["digits 2,000/reward"]).mean(axis=1))
    for name in contextual_peers.PEERS:
        assert peers_shared.answer([], contextual_peers.SIDE, name, {}) is None


def test_the_sample_of_the_open_bandit_dataset(tmp_path):
    """By hand-made rows in its format: the values of the shares of bts at each position, and at all of them."""
    pytest.importorskip("yaml")
    columns = ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0"
    rows = {  # item, position, click, propensity
        "random": [(*row, 0.0294117647058823) for row in (
            (3, 1, 1), (5, 1, 0), (3, 1, 0), (5, 2, 1), (6, 2, 0), (3, 2, 0), (6, 3, 0), (6, 3, 1), (7, 3, 0))],
        "bts": [(3, 1, 1, 0.6), (3, 1, 0, 0.6), (5, 1, 0, 0.2), (5, 2, 1, 0.5), (5, 2, 0, 0.5), (6, 3, 0, 0.3),
                (7, 3, 0, 0.3)],
    }  # fmt: skip
    for policy, each in rows.items():
        folder = tmp_path / "obp/dataset/obd" / policy / "men"
        folder.mkdir(parents=True)
        lines = [f"{i},2019-11-24 00:01:0{i}+00:00,{','.join(map(str, row))},81ce,0.0" for i, row in enumerate(each)]
        (folder / "men.csv").write_text("\n".join([columns, *lines]) + "\n", encoding="utf-8")
    priors = tmp_path / "obp/policy/conf/prior_bts.yaml"
    priors.parent.mkdir(parents=True)
    best = {3: (9e6, 1e6), 5: (8e6, 2e6), 7: (7e6, 3e6)}  # so often observed that draws have this order
    alpha, beta = zip(*(best.get(item, (1.0, 1e6)) for item in range(34)), strict=True)
    priors.write_text(json.dumps({"men": {"alpha": alpha, "beta": beta}}), encoding="utf-8")  # JSON is YAML
    start = open_bandit.at_the_start(tmp_path, "men", 50)
    assert start.shape == (3, 34) and start[[0, 1, 2], [3, 5, 7]].tolist() == [1, 1, 1]
    found = open_bandit.measure(True, [], tmp_path)
    cells = {cell["name"]: cell for cell in found["cells"]}
    assert len(cells) == 8 and found["obp"] is None
    # Weights over 34, where there was a click of all: 2/3 of 2/3, 1/3, 2/3; 1 of 1, 0, 0; 1/2 of 1/2, 1/2, 1/2.
    assert cells["men week 1"]["value"][:2] == pytest.approx([34 * 2 / 9, 0.4])
    assert cells["men week 3"]["value"][:2] == pytest.approx([34 / 6, 1 / 3])
    assert cells["men week all"]["value"][:2] == pytest.approx([34 * (2 / 3 + 1 + 1 / 2) / 9, 0.52])
    assert cells["men start 2"]["value"][:2] == pytest.approx([34 / 3, 1.0])
    assert [cells[f"men week {at}"]["bts"][0] for at in (1, 2, 3, "all")] == pytest.approx([1 / 3, 1 / 2, 0, 2 / 7])
    # The standard errors of a ratio by the delta method, of residuals .6, -.4, -.4, and of a mean.
    ratio = np.sqrt(4 * 0.36 + 0.16 + 4 * 0.16) / 5
    assert cells["men week 1"]["z"] == pytest.approx((0.4 - 1 / 3) / np.hypot(ratio, np.sqrt(2 / 9 / 3)))
    lines = open_bandit.table(found).splitlines()
    assert lines[0] == "obp: missing" and any("400.00" in line and "333.33" in line for line in lines)


def test_beside_smpybandits(monkeypatch):
    """Without it: the table of ours, its formulas, and of what it might have found."""
    assert set(baseline_peers_pairs.WHY) <= {pair.name for pair in baseline_peers_pairs.PAIRS}
    for pair in baseline_peers_pairs.PAIRS:
        if callable(pair.formula):
            regrets = baseline_peers_rules.play(pair.formula, 20, 9)
            assert np.all((regrets >= 0) & (regrets <= 9 * 0.8)), pair.name
    found = baseline_peers.measure(True, [])
    assert found["theirs"] is None and set(found["formulas"]) == {"oc_ucb(1.1)", "ucb_tuned"}
    assert "missing" in baseline_peers.table(found)
    found["theirs"] = {"version": "1", "ucb_tuned/regrets": np.array([30.0, 31.0]), "ucb_tuned/us": 2.5}
    lines = baseline_peers.table(found).splitlines()
    assert "30.5 +- 6.4" in next(
        line for line in lines if line.startswith("ucb_tuned ")
    )  # Student's 12.7 with one degree
    assert "fails" in next(line for line in lines if line.startswith("oc_ucb(1.1) "))


@pytest.mark.statistical
def test_the_formulas_beside_play_ucb1():
    """As above for a loop in NumPy, its index of UCB1 and ours."""
    mean = baseline_peers_rules.index(lambda rng, t, n, m: m + np.sqrt(2 * np.log(t) / n))
    theirs = baseline_peers_rules.play(mean, 1_000, 200)
    pair = next(pair for pair in baseline_peers_pairs.PAIRS if pair.name == "ucb1_auer")
    ours = baseline_peers.play(pair, 200, 1_000)["regrets"]
    assert abs(baseline_peers.apart(theirs, ours)) < 5


def test_runs_that_stop():
    case = stopping.cases(quick=True)[1]
    row = stopping.measure_case(case._replace(runs=20))
    assert row["runs"] == 20 and row["max_samples"] >= row["mean_samples"] > 4
    assert row["while_loop_ns"] > 0 and row["numpy_ns"] > 0
    assert case.name in stopping.table([row])


def test_a_run_in_a_hundred_never_stops():
    case = stopping.cases(quick=False)[-1]
    row = stopping.measure_case(case._replace(runs=500, max_rounds=2_000, beside=False))
    assert row["max_samples"] == 2_000 and row["mean_samples"] < 1_000


def test_goals():
    case = stopping.cases(quick=True)[1]
    row = goals.lingape(case._replace(runs=20), 1)
    assert row.goal is None and row.measured > 0 and "of state" in row.more
    rows = [goals._row("ours", 2.0, 1.2, ""), goals._row("faster", 2.0, 1.2, "times", least=True), row]
    assert [x.met for x in rows] == [False, True, None]
    lines = goals.table([x._asdict() for x in rows]).splitlines()
    assert lines[2] == "| ours | 1.2 | 2.00  | missed |" and len(lines) == 5


def test_allocation():
    row = allocation.measure_batch(3, 2, 4)
    assert row["batch"] == 4 and row["largest_gap"] < 1e-6 and "cvxpy_us" in row
    assert "K =  3, d =  2" in allocation.table([row])


def test_full_bandit():
    check = full_bandit.measure_checks(12, 3, 3)
    cell = full_bandit.measure_cell("it", "saqm", 2, epsilon=9.0)
    assert check["times_faster"] > 0 and cell["samples"] >= full_bandit.CROWDS["it"][1]
    text = full_bandit.table([cell, check])
    assert "it, saqm" in text and "n =   12, k =  3" in text


def test_searches_of_equal_steps():
    """At most nine steps a training: no search spends more than a Hyperband of nine steps does by Li et al. (2018)."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(halving, "MOST", 9)
        patched.setattr(halving, "RUNGS", (1, 3, 9))
        rows = halving.measure(quick=True)
    assert [row["search"] for row in rows] == list(halving.SEARCHES)
    budget = rows[0]["steps"][0]
    # Brackets of 9, 5 and 3 configurations: 9 + 3 * 2 + 6, 5 * 3 + 6, 3 * 9.
    assert budget == 69 and all(budget - 9 < row["steps"][0] <= row["steps"][1] <= budget for row in rows)
    assert rows[0]["beside"] == [0, 0, 0] and all(0.1 < row["accuracy"][0] < 1 for row in rows)
    assert "Optuna" in halving.table(rows)


def test_scaling(tmp_path, monkeypatch):
    limit = {"cache": 80e9, "memory": 8e9, "operations": 40e9}
    alone = scaling.plain(3, 4, 0.001)
    assert limits.least(alone | {"arms": 10}, limit) == pytest.approx({"cache": 1, "memory": 10, "operations": 1})
    learned = scaling.linear(2, 0.001)
    assert learned["arms"] == 20 and limits.least(learned, limit)["cache"] == pytest.approx(0.4)
    on_cores = [alone | {"cores": 1, "ns": 9.0}, alone | {"cores": 2, "ns": 6.0}]
    found = {"limits": limit, "runs": [alone], "arms": [alone], "dimension": [learned], "cores": on_cores}
    text = scaling.table(found)
    assert "one core: cache 80.0 GB/s" in text and "ucb1, K = 3, d = 1, 2 cores" in text
    monkeypatch.setattr(scaling, "FIGURE", tmp_path / "figures" / "scaling.png")
    [path] = scaling.figures(found)
    assert path.stat().st_size > 10_000


def test_what_a_value_of_a_sweep_costs(monkeypatch):
    monkeypatch.setattr(sweeps, "HORIZON", 20)
    rows = sweeps.measure(quick=True)
    assert [row["what"] for row in rows] == ["c, 1 run", "c, 10 runs", "c, 200 runs", "means, 10 runs"]
    assert all(row["seconds"] > 0 and row["cpu"] > 0 and row["values"] == 20 for row in rows)
    text = sweeps.table([{"what": "c", "values": 10, "seconds": 0.02, "cpu": 0.05}])
    assert text.splitlines()[-1].split() == ["c", "10", "2.00", "5.00", "0.0"]


def test_one_decision_at_a_time(monkeypatch):
    monkeypatch.setattr(sessions, "rules", lambda: {"ucb1": (jb.algorithms.ucb1(3), None)})
    rows = sessions.measure(quick=True)
    assert [(row["where"], row.get("before")) for row in rows] == [
        ("memory", 0), ("memory", 50), ("directory", 0), ("its two programs", None), ("to the disk", None)
    ]  # fmt: skip
    assert all(0 < row["least"] <= row["median"] for row in rows) and "its two programs" in sessions.table(rows)


def test_the_first_command(monkeypatch, capfd):
    """Starts of a process that only writes what the table reads; the second finds what the first has kept."""
    stub = """
import json, os, pathlib, sys
kept = pathlib.Path(os.environ["XDG_CACHE_HOME"])
cell = {"algorithm": "UCB1", "seconds": {"compile": 0.25 if kept.exists() else 2.0, "run": 0.5}}
kept.mkdir(exist_ok=True)
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir()
(out / "summary.json").write_text(json.dumps({"cells": [cell]}))
"""
    real = subprocess.run
    monkeypatch.setattr(
        first_command.subprocess,
        "run",
        lambda command, **more: real([command[0], "-S", "-c", stub, *command[3:]], **more),
    )
    cold, kept = rows = first_command.measure(quick=False)
    assert cold["compile"] == {"UCB1": 2.0} and kept["compile"] == {"UCB1": 0.25}
    assert cold["run"] == {"UCB1": 0.5} and 0 < kept["cpu"] < 5 and kept["seconds"] > 0
    assert "cold, compile" in first_command.table(rows)


def test_every_part_has_a_place_in_the_results_and_none_is_left():
    places = results_file.parts()
    assert set(__main__.PARTS) <= set(places) and len(places) == len(set(places))
    assert all((ROOT / "benchmarks" / f"{part}.py").exists() for part in places)


def test_a_table_is_written_into_its_place_and_nowhere_else(tmp_path, monkeypatch, capsys):
    file, below = tmp_path / "RESULTS.md", tmp_path / "results" / "below.md"
    below.parent.mkdir()
    zero, one, two = (
        f"{results_file.begin(part)}\nold {part}\n{results_file.end(part)}\n" for part in ("zero", "one", "two")
    )
    file.write_text(f"before\n{zero}", encoding="utf-8")
    below.write_text(f"before\n{one}between\n{two}after\n", encoding="utf-8")
    monkeypatch.setattr(results_file, "RESULTS", file)
    assert results_file.parts() == ["zero", "one", "two"]
    results_file.write("two", "a machine", "a | table")
    text = below.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{one}between\n") and text.endswith(results_file.end("two") + "\nafter\n")
    assert "a machine" in text and "a | table" in text and "old two" not in text
    with pytest.raises(results_file.NoPlace, match="no place for three"):
        results_file.write("three", "", "")
    assert file.read_text(encoding="utf-8") == f"before\n{zero}"
    file.write_text(f"before\n{results_file.begin('four')}\n", encoding="utf-8")  # without the mark after the table
    with pytest.raises(results_file.NoPlace, match="no place for four"):
        results_file.write("four", "", "")
    file.write_text(f"before\n{zero}", encoding="utf-8")
    # From the command line, through a part that measures nothing.
    part = SimpleNamespace(measure=lambda quick: 1, table=lambda found: "one row", figures=lambda found: [file])
    monkeypatch.setattr(__main__, "PARTS", ["zero"])
    monkeypatch.setattr(benchmarks, "zero", part, raising=False)
    assert __main__.main(["zero"]) == 0 and "old zero" in file.read_text(encoding="utf-8")
    assert __main__.main(["all"]) == 0
    assert "old zero" not in file.read_text(encoding="utf-8") and "one row" in file.read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        __main__.main(["zero", "--quick", "--write"])
    assert "quick" in capsys.readouterr().err


def test_baselines(monkeypatch):
    """The columns are what they say: differences in standard errors, slopes over the bound, ratios of times."""
    found = baselines_cells.compared("ucb_tuned", ("nine", 50, 10.0, 2.0), 40)
    regret = jb.simulate(
        jb.algorithms.ucb_tuned(9), jb.environments.bernoulli(baselines_cells.NINE), horizon=50, num_runs=40, seed=5
    )
    ends = regret.arrays["regret"][:, -1]
    assert found["mean"] == pytest.approx(ends.mean())
    assert found["off"] == pytest.approx((ends.mean() - 10) / np.hypot(ends.std(ddof=1) / np.sqrt(40), 2.0))
    audit = baselines.audited("kl_ucb", "two", lambda k: jb.algorithms.kl_ucb(k, family="gaussian"), 10.0, quick=True)
    assert audit["bound"] == pytest.approx(10 * np.log(1000)) and 0 < audit["mean"] < 0.2 * 1000
    assert baselines.unknown_variance([0.0, 1.0, 0.5]) == pytest.approx(2 / np.log(2) + 1 / np.log(1.25))
    assert baselines_cells.window(baselines_cells.Told(2, 100, 0.1, 1.0)) == 12  # .2 (4 10^4 log 141)^(1/3) = 11.7
    noise = jax.vmap(baselines_cells.heavy().noise)(jax.random.split(jax.random.key(0), 20_000))
    assert np.mean(np.abs(noise) > 3.182) == pytest.approx(0.05, abs=0.006)  # 4 standard errors; that of t(3) is .05
    monkeypatch.setattr(baselines, "ROUNDS", 50)
    rows = baselines.costs(3, ["ucb_tuned", "kl_ucb, poisson"], quick=True)
    assert [row["rule"] for row in rows] == ["ucb_tuned", "kl_ucb, poisson"] and all(row["times"] > 0 for row in rows)
    text = baselines.table({"regret": [found], "audits": [audit], "costs": rows})
    assert f"1 cells: |z| > 2 in {int(abs(found['off']) > 2)} (0.0 expected)" in text and "a round at 3 arms" in text
    families = {cell[0] for cell in baselines.families().values()}
    assert families == {"five", "two", "poisson", "exponential", "nine"}


def test_the_command_line_names_its_parts(capsys):
    for argv in (["--help"], ["nothing"], ["revisions", "--help"], ["revisions", "a", "b", "--only", "nothing"]):
        with pytest.raises(SystemExit) as ended:
            __main__.main(argv)
        assert ended.value.code == (0 if "--help" in argv else 2)
    said = capsys.readouterr()
    assert "adversarial, allocation, baselines, best_arm, cluster, contexts, coverage, decisions," in " ".join(
        said.out.split()
    )
    assert "part = 'nothing', must be one of" in said.err
    assert "must be part of one of: ucb1, K = 9;" in said.err
    assert all((ROOT / "benchmarks" / f"{part}.py").exists() for part in __main__.PARTS)
    about = machine.machine()
    assert f"{about['cores']} cores" in machine.text(about)


# Two revisions


def played(a: float, b: float, work: float = 1.0) -> list[dict]:
    return [{"seconds": a, "steps": 100, "work": work}, {"seconds": b, "steps": 100, "work": 1.0}]


def test_a_ratio_is_that_of_neighbours_and_leaves_the_first_call_out():
    first = played(50.0, 60.0)
    # The machine slows tenfold between rounds; B takes 1.1, 1.2, 1.3 and 1.4 times as long as A.
    pairs = [[first, played(1.0, 1.1), played(10.0, 12.0)], [first, played(1.0, 1.3), played(10.0, 14.0)]]
    found = revisions.row("x", pairs)
    assert found["ratio"] == pytest.approx(1.25)
    assert found["ratio_quartiles"] == pytest.approx([1.175, 1.325])
    assert found["ratio_of_processes"] == pytest.approx([1.15, 1.35])
    assert found["first_call_seconds"] == [50.0, 60.0]
    assert found["ns_per_run_step"] == pytest.approx([5.5e7, 6.65e7])
    assert found["same_work"]
    assert found["ratio_interval"] == pytest.approx([1.1, 1.4])  # of four ratios, the extremes
    assert found["verdict"] == "slower"
    close = revisions.row("x", [[first, played(1.0, 1.2, work=1.01)]])
    assert not close["same_work"] and close["verdict"] == "slower"
    other = revisions.row("x", [[first, played(1.0, 1.0, work=2.0)]])
    assert not other["same_work"] and other["verdict"] == "other work"


@pytest.mark.statistical
def test_an_interval_of_the_median():
    """Of 15 ratios the fourth from below and above: P(at most 3 of 15 fair coins) = 0.0176, doubled within 5 %."""
    assert revisions.of_median(range(1, 16)) == (4, 12)
    assert revisions.of_median(range(1, 6)) == (1, 5)
    assert revisions.of_median([2.0]) == (2.0, 2.0)
    # 2,000 samples of 15 whose median is 0: 96.5 % hold it, so 4 standard errors below are 94.9 %.
    draws = np.random.default_rng(0).normal(size=(2_000, 15))
    held = np.mean([low <= 0 <= high for low, high in map(revisions.of_median, draws)])
    assert 0.949 < held < 0.981


@pytest.mark.parametrize(
    ("interval", "said"),
    [((1.06, 1.2), "slower"), ((0.8, 0.95), "faster"), ((0.96, 1.04), "same"), ((0.9, 1.2), "undecided")],
)
def test_verdicts(interval, said):
    assert revisions.verdict(interval, 1.05) == said


STUB = """
import sys, time, types
__version__ = "{version}"
algorithms = types.SimpleNamespace(ucb1=lambda given: given)
environments = types.SimpleNamespace(bernoulli=lambda given: given)
Execution = lambda **given: given
def simulate(*given, **more):
    print("played", __version__, file=open({log!r}, "a"))
    time.sleep({pause})
    if {version!r} == "broken":
        raise ValueError("no such thing")
    found = types.SimpleNamespace(value=[{regret}])
    return types.SimpleNamespace(interval=lambda: found)
"""


def stub(place: Path, version: str, regret: float = 1.0, pause: float = 0.0) -> Path:
    """A package with just what UCB1's case uses, which keeps a log beside it."""
    (place / "jaxbandit").mkdir(parents=True)
    text = STUB.format(version=version, regret=regret, pause=pause, log=str(place.parent / "log"))
    (place / "jaxbandit" / "__init__.py").write_text(text, encoding="utf-8")
    return place


def test_two_directories_are_played_in_alternation(tmp_path):
    trees = [str(stub(tmp_path / name, name, regret)) for name, regret in (("one", 1.0), ("two", 2.0))]
    found = revisions.measure(trees, ["ucb1, K = 9"], processes=2, rounds=2)
    log = (tmp_path / "log").read_text().replace("played ", "").split()
    assert log == ["one", "two", "one", "two", "two", "one"] * 2
    assert [about["version"] for about in found["revisions"]] == ["one", "two"]
    row = found["rows"][0]
    assert row["steps"] == [[10**8], [10**8]] and row["work"] == [[1.0], [2.0]] and not row["same_work"]
    assert len(row["ratios"]) == 4
    text = revisions.table(found)
    assert "B: " in text and "other work" in text


@pytest.mark.parametrize(("pause", "status", "said"), [(0.05, 4, "slower"), (0.0, 0, "")])
def test_a_regression_is_the_exit_status(pause, status, said, tmp_path, capsys):
    trees = [str(stub(tmp_path / "one", "one", pause=0.01)), str(stub(tmp_path / "two", "two", pause=0.01 + pause))]
    assert revisions.main([*trees, "--only", "ucb1, K = 9", "--limit", "2", "--processes", "1"]) == status
    assert said in capsys.readouterr().out


def test_a_case_that_one_revision_does_not_have_is_left_out_and_named(tmp_path, capsys):
    trees = [str(stub(tmp_path / name, name)) for name in ("one", "two")]
    few = ["--rounds", "1", "--processes", "1", "--limit", "1000"]
    assert revisions.main([*trees, "--only", "K = 9", *few, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["case"] for row in found["rows"]] == ["ucb1, K = 9"]
    assert "imed, K = 9" in found["left_out"] and "'imed'" in found["left_out"]["imed, K = 9"]


def test_a_revision_that_fails_is_said_in_one_line(tmp_path, capsys):
    good, broken = str(stub(tmp_path / "one", "one")), str(stub(tmp_path / "two", "broken"))
    assert revisions.main([good, broken, "--only", "ucb1, K = 9", "--rounds", "1"]) == 1
    assert capsys.readouterr().err == "revisions: a process ended with status 1: ValueError: no such thing\n"
    assert revisions.main([good, str(tmp_path), "--only", "K = 9"]) == 1  # jaxbandit is not there
    assert "jaxbandit" in capsys.readouterr().err
    assert revisions.main([good, "no_such_revision"]) == 2
    assert "git rev-parse no_such_revision" in capsys.readouterr().err


def test_a_git_revision_is_its_own_tree(tmp_path):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True)

    package = stub(tmp_path, "none") / "jaxbandit" / "__init__.py"
    git("init")
    for version in ("old", "last", "new"):
        package.write_text(f"__version__ = {version!r}", encoding="utf-8")
        if version != "new":
            git("add", ".")
            git("commit", "-m", version)
    with revisions.tree_of("HEAD~1", tmp_path) as (tree, commit):
        assert "'old'" in (tree / "jaxbandit" / "__init__.py").read_text() and len(commit) == 40
    assert not tree.exists()
    with revisions.tree_of(str(tmp_path), tmp_path) as (tree, _):
        assert "'new'" in (tree / "jaxbandit" / "__init__.py").read_text()
    with pytest.raises(revisions.Failed, match="git rev-parse no_such"), revisions.tree_of("no_such", tmp_path):
        pass


def test_the_command_becomes_the_process_that_measures(tmp_path, monkeypatch, capsys):
    """In a directory of the checkout and in no other."""
    became = []
    monkeypatch.setattr(bench_command.os, "execv", lambda path, command: became.append((os.getcwd(), command)))
    monkeypatch.chdir(ROOT / "docs")
    assert cli.main(["bench", "main", ".", "--only", "ucb1"]) is None
    [(place, command)] = became
    assert place == str(ROOT) and command[1:4] == ["-m", "benchmarks", "revisions"]
    assert command[-3:] == ["--", "main", str(ROOT / "docs")] and "--only=ucb1" in command
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench_command, "__file__", str(tmp_path / "lib" / "jaxbandit" / "cli" / "bench_command.py"))
    assert cli.main(["bench"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("jaxbandit: bench: benchmarks/revisions.py is not in ") and said.count("\n") == 1


def test_every_case_is_made_and_one_of_each_kind_plays_on_this_revision(monkeypatch, capsys):
    known = revision_cases.cases(quick=True)
    assert all(callable(make()) for make in known.values())
    some = ["ucb1, K = 9", "lin_ucb, K = 10", "lucb, K = 10", "sequential_halving", "table 2, IT, sa_foa"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{name}\n" * 2 for name in some)))
    revision_cases.answer(known)
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(answers) == 2 * len(some)
    for once, again in zip(answers[::2], answers[1::2], strict=True):
        assert (once["steps"], once["work"]) == (again["steps"], again["work"]) and once["steps"] > 0


def test_ahead_of_time_a_limit_is_a_row_and_rows_are_kept(tmp_path, capsys):
    """A compilation beyond its limit becomes a row that says so; a stored row counts unless it did not compile."""
    rows = tmp_path / "rows.jsonl"
    given = ["--target", "h100", "--algorithms", "ucb1", "--rows", str(rows)]
    assert ahead_of_time.main([*given, "--limit", "0.001"]) == 1
    assert "not compiled: stopped after 0.001 s" in capsys.readouterr().out
    written = json.loads(rows.read_text())
    assert (written["target"], written["algorithm"], written["asked"]) == ("h100", "ucb1", None)
    assert ahead_of_time._stored(rows, "h100", None) == {}
    with rows.open("a") as file:
        for number in (1, 2):
            file.write(json.dumps({"target": "h100", "algorithm": "ucb1", "asked": None, "runs": number}) + "\n")
    assert ahead_of_time._stored(rows, "h100", None)["ucb1"]["runs"] == 2
    assert ahead_of_time._stored(rows, "v5e", None) == ahead_of_time._stored(rows, "h100", "float32") == {}


def test_the_loop_of_the_rounds_is_found_beside_that_of_a_factorization():
    """A TPU's compiler writes a loop for a factorization, whose many operations all bear the factorization's name."""

    def computation(head, names, *more):
        name = 'metadata={op_name="jit(advance)/while/body/round/'
        own = [f'  %n{i} = f32[8]{{0}} negate(%x), {name}{op}"}}' for i, op in enumerate(names)]
        return "\n".join([f"{head} (x: f32[8]) -> f32[8] {{", "  %x = f32[8]{0} parameter(0)", *own, *more, "}", ""])

    def loop(body, more=""):
        return f"  ROOT %loop = f32[8]{{0}} while(%x), condition=%until, body=%{body}{more}"

    inner = [f"while/body/{i}" for i in range(9)]
    last = "  ROOT %last = f32[8]{0} negate(%x)"
    text = "HloModule advance\n\n%until (y: f32[8]) -> pred[] {\n  %y = f32[8]{0} parameter(0)\n"
    text += "  ROOT %p = pred[] constant(true)\n}\n\n"
    text += computation("%factors", ["householder_product"] * 50 + inner, last)
    trips = ', backend_config={"known_trip_count":{"n":"5"}}'
    text += computation("%rounds", ["add", "mul", "cond/branch_1_fun/sub"], loop("factors", trips))
    text += computation("ENTRY %main", [], loop("rounds", trips.replace("5", "7")))
    found = compiled_loops.read(text)
    assert found.turns == 7 and compiled_loops.read(text.replace('"7"', "")).turns is None
    assert (found.kernels, found.open_loops) == (3 + 5 * 60, 0)
    assert found.bytes == 63 * 64 and found.flops == 63 * 8  # XLA counts a loop as one iteration


def test_ahead_of_time_finds_a_float64_that_is_taken_apart():
    with jax.enable_x64(True):
        for width, found in ((np.float64, True), (np.float32, False)):
            bits = np.int64 if found else np.int32
            text = jax.jit(lambda x, bits=bits: jax.lax.bitcast_convert_type(x, bits)).lower(width(1)).as_text()
            assert bool(accelerators.TAKEN_APART.search(text)) is found
        text = jax.jit(lambda x: jax.lax.bitcast_convert_type(x, np.float64)).lower(np.int64(1)).as_text()
        assert not accelerators.TAKEN_APART.search(text)  # the other way is emulated rightly


def test_plans_beside_other_tests(monkeypatch):
    """Bets on gaps of 1 win (1 + stake)^n; numbers whose law is known are decided where the bound of docs/ says it."""
    weights = 1 / ((np.arange(16) + 1) * (np.arange(16) + 2)) / (16 / 17)
    wealth = [weights @ (1 + ab_plan.STAKES) ** n for n in range(1, 9)]
    assert ab_plan.by_bets(np.ones(8), math.log(20)).tolist() == [w >= 20 for w in wealth]
    gaps = np.tile([0.9, -0.7], 4000)  # a mean of .1 and a standard deviation of .8, without skewness
    known = ab_plan.in_the_limit(2 + gaps, np.full(8000, 2.0), 0.025)
    n = 1 + np.arange(8000)
    bound = 0.8 * asymptotic.radius(n, math.log(0.025))
    away = (n >= 1000) & (abs(bound - 0.1) > 0.002)
    assert not known[:999].any() and (known == (bound < 0.1))[away].all() and known.any() and not known.all()
    monkeypatch.setattr(ab_plan, "cases", lambda: [ab_plan.Case("rates", np.arange(100) < 50, 0.45)])
    [row] = ab_plan.measure(quick=True)
    assert 0.5 < row["planned"] / row["2 % apart"] < 2 and row["any pair"] <= row["2 % apart"]
    assert "rates" in ab_plan.table([row])


def test_gates(monkeypatch):
    """Times without a load, of ratios far from the margin: all three rules are right."""
    monkeypatch.setattr(gate, "RATIOS", (0.8, 1.5))
    rows = gate.measure(quick=True)
    assert [row["rule"] for row in rows] == ["no_worse", "medians", "bootstrap"] * 4
    assert all(row["pass" if row["ratio"] < 1 else "fail"] == 2 for row in rows)
    pairs = gate.times(2.0, 0.0, 1)
    assert np.log(pairs).mean(axis=0) == pytest.approx([0.0, np.log(2)], abs=0.01) and pairs.shape == (3000, 2)
    assert "medians" in gate.table(rows)
