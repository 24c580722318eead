"""OAM's TOML and what it adds: readings of the algorithm, claims on other rounds, rounds by kind, longer horizons."""

import json
import re

import numpy as np
import pytest
from results_by_hand import result

from jaxbandit.algorithms.regret.oam import KINDS
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.environments.linear_arms.linear_random import linear_random
from jaxbandit.lab.papers import assessment, figure_experiments, open_readings, paper, published, report, verdict
from jaxbandit.lab.specs import source
from jaxbandit.lab.specs.spec import parse
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.report import kinds as kinds_of
from jaxbandit.running.results.report import table
from jaxbandit.support.document import blocks_as_text

pytestmark = pytest.mark.quickly_compiled

CLAIM = {"id": "x", "text": "", "source": "", "instance": "it", "algorithm": "a"}
ROUNDS = (100, 1000, 10_000)


@pytest.fixture(scope="module")
def oam():
    data = source.read(source.embedded_files()["oam"])
    return data, data.pop("paper")


def _cell(final, algorithm="a", instance="it", early=0.5, start=0.1, **more):
    """Regret of 200 runs with means start, early and 1 times `final`, and spread 1 between runs."""
    own = np.random.default_rng(list(algorithm.encode())).normal(0, 1, 200)
    mean = final + own - own.mean()
    rows = np.stack([start * mean, early * mean, mean], axis=1)
    return result(rows, algorithm, instance, ROUNDS, **more)


def _verdict(results, **claim):
    (judged,) = verdict.judge([CLAIM | claim], results)
    return judged["verdict"]


def test_its_figures_and_the_readings_of_its_claims(oam):
    data, about = oam
    figures = figure_experiments.figures_of(about)
    assert list(figures) == ["1", "2", "3-left", "3-right", "4-left", "4-right"]
    assert all(f.bands == "standard error" for f in figures.values())
    ids, claims = [claim["id"] for claim in about["claim"]], open_readings.each_reading(about)
    # A claim on OAM is there under every reading, one on its rivals once.
    readings = about["readings"]["OAM"]
    assert len(readings) == 4 and all(a["type"] == "oam" for a in data["algorithm"] if a["name"] in readings)
    for id_ in ids:
        of = [claim.get("reading") for claim in claims if claim["id"] == id_]
        assert of == [None] or of == readings


def test_the_papers_parameters(oam):
    """Section 5 and appendix D: sets, probabilities, theta, and the readings of Algorithm 1."""
    data, _ = oam
    instances = {i["name"]: i for i in data["instance"]}
    for u in (0.1, 0.2, 0.01):
        found = instances[f"5.1 u={u}"]
        np.testing.assert_allclose(found["action_sets"], [[[1, 0], [0, 1], [1 - u, 5 * u]]], atol=1e-12)
        assert found["theta"] == [1, 0]
    assert instances["5.2 one"]["theta"] == [1, 0, 1] and instances["5.2 one"]["probabilities"] == [0.3, 0.7]
    assert instances["5.2 two"]["action_sets"] == instances["5.3"]["action_sets"]
    assert [instances[n]["probabilities"] for n in ("5.2 two", "5.3")] == [[0.99, 0.01], [0.8, 0.2]]
    assert (instances["5.4"]["num_arms"], instances["D.1"]["num_arms"]) == (100, 5)
    np.testing.assert_array_equal(instances["D.2"]["action_sets"], [linear_random(5, 2).known()["features"]])
    about = {a["name"]: {k: v for k, v in a.items() if k not in ("name", "type")} for a in data["algorithm"]}
    assert about["OAM, eps 0"] == {}  # epsilon 0, all arms must pass, each arm forced once: the defaults
    assert about["OAM, no forcing"] == {"force": False}
    assert about["OAM, as printed"] == {"schedule": "paper"}
    assert about["OAM, any arm"] == {"schedule": "paper", "exploit_if": "any"}


def test_readings_stand_for_the_name_in_braces():
    about = {"readings": {"A": ["a1", "a2"]}}
    claims = [
        CLAIM | {"id": "1", "algorithm": "{A}", "relation": "below", "against": "b"},
        CLAIM | {"id": "2", "algorithm": "b", "relation": "above", "against": ["c", "{A}"]},
        CLAIM | {"id": "3", "gap": ["b", "{A}"], "relation": "below", "against_instance": "there"},
        CLAIM | {"id": "4", "algorithm": "b", "relation": "below", "against": "c"},
    ]
    found = open_readings.each_reading(about | {"claim": claims})
    assert [(c["id"], c.get("reading")) for c in found] == [(i, a) for i in "123" for a in ("a1", "a2")] + [("4", None)]
    assert (found[0]["algorithm"], found[3]["against"], found[4]["gap"]) == ("a1", ["c", "a2"], ["b", "a1"])
    for name, line in (
        ("{B}", "claim x: reading 'B', must be one of A$"),
        ("{Aa}", "reading 'Aa', must be one of A; did you mean 'A'"),
    ):
        with pytest.raises(ValueError, match=line):
            open_readings.each_reading(about | {"claim": [CLAIM | {"algorithm": name}]})
    both = {"readings": {"A": ["a1"], "B": ["b1"]}, "claim": [CLAIM | {"algorithm": "{A}", "against": "{B}"}]}
    with pytest.raises(ValueError, match="claim x: readings A, B, must be of one algorithm"):
        open_readings.each_reading(both)


# What the paper says of each instance, with OAM the same under every reading; LinUCB starts better in 5.2 one.
FIT = {
    "5.1 u=0.1": {"OAM": 100, "LinUCB": 200, "OFUL": 250},
    "5.1 u=0.2": {"OAM": 100, "LinUCB": 200, "OFUL": 250},
    "5.1 u=0.01": {"OAM": 100, "LinUCB": 200},
    "5.2 one": {"OAM": 100, "LinUCB": 200},
    "5.2 two": {"OAM": 100, "LinUCB": 101},
    "5.3": {"OAM": 100, "LinUCB": 100, "OFUL": 100},
    "5.4": {"OAM": 100, "OSSB": 900, "OSSB, arm means": 950, "LinTS, theory": 900},
    "D.1": {"OAM": 100, "OSSB": 200, "OSSB, arm means": 210},
    "D.2": {"OAM": 100, "OSSB": 150, "OSSB, arm means": 150, "LinTS, heuristic": 80},
}


def _made(about, values, early):
    cells = []
    for instance, row in values.items():
        for name, final in row.items():
            start = 0.1 if name == "OAM" else 0.001
            pulls = np.full((200, 3), 30 if name == "OAM" else 20, np.int32)
            pulls[0] += 2 if name == "OAM" else 1  # a difference of equal runs would prove nothing
            for algorithm in about["readings"]["OAM"] if name == "OAM" else [name]:
                cells.append(_cell(final, algorithm, instance, early, start, pulls=pulls))
    return ResultSet("oam", tuple(cells))


@pytest.mark.slow
def test_verdicts_follow_the_data_not_the_paper(oam):
    """Data made to fit every claim under every reading, then the same with every order reversed."""
    _, about = oam
    content = assessment.assess(_made(about, FIT, 0.95), about | {"published": []}, [])
    table, ids = content["readings"], [claim["id"] for claim in about["claim"]]
    assert table["claims"] == ids and list(table["rows"]) == [*about["readings"]["OAM"], open_readings.NO_READING]
    assert {word for cells in table["rows"].values() for word in cells} == {"agrees", ""}
    for column, id_ in enumerate(ids):  # under all readings, or in the row of those that have none
        alone = id_ in ("3.2", "3.3", "D.10")
        said = [bool(cells[column]) for cells in table["rows"].values()]
        assert said == [not alone] * 4 + [alone]
    turned = {i: {n: 1000 - (v if n == "OAM" else 2 * v) for n, v in row.items()} for i, row in FIT.items()}
    turned["5.1 u=0.1"]["OAM"] = turned["5.1 u=0.2"]["OAM"] = 3000
    judged = assessment.assess(_made(about, turned, 0.5), about | {"published": []}, [])["claims"]
    wrong = {c["id"] for c in judged if c["verdict"] == "disagrees"}
    assert wrong >= {"1.1", "1.2", "1.3", "2.2", "2.3", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3", "D.1", "D.4"}
    assert "agrees" in {c["verdict"] for c in judged}  # pulls, and the start, are as before
    text = open_readings.text(table)
    assert all(line in text for line in (*about["readings"]["OAM"], open_readings.NO_READING, "readings by claims"))
    assert json.loads(json.dumps(content)) == content


@pytest.mark.parametrize(("early", "expected"), [(0.95, "agrees"), (0.6, "disagrees")])
def test_a_claim_on_two_rounds_of_one_curve(early, expected):
    results = ResultSet("demo", (_cell(50.0, early=early),))
    bounded = {"relation": "below", "against_at": 0.1, "factor": 1 / 0.9}
    assert _verdict(results, **bounded) == expected
    assert _verdict(results, **(bounded | {"against_at": 1000})) == expected  # the same round, by its number
    with pytest.raises(ValueError, match="no checkpoint at 999"):
        _verdict(results, **(bounded | {"against_at": 999}))


def test_a_claim_at_the_start():
    results = ResultSet("demo", (_cell(50.0, start=0.5), _cell(100.0, "bb", start=0.1)))
    assert _verdict(results, relation="below", against="bb") == "agrees"
    assert _verdict(results, relation="below", against="bb", at=0.01) == "disagrees"
    assert _verdict(results, relation="below", against="bb", at=100) == "disagrees"


def _with_kinds():
    rng = np.random.default_rng(0)
    explored = rng.integers(3000, 5000, 200)
    kinds = np.stack([np.full(200, 2), 10_000 - 2 - explored, np.zeros(200, int), explored, np.zeros(200, int)], 1)
    return _cell(50.0, kinds=kinds.astype(np.int32), kinds_mean=kinds.mean(0)), kinds


def test_rounds_by_kind():
    cell, kinds = _with_kinds()
    assert "rounds_by_kind" not in cell.content()  # nobody knows their names
    object.__setattr__(cell, "kind_names", list(KINDS))
    content = cell.to_json()
    np.testing.assert_allclose(list(content["rounds_by_kind"].values()), kinds.mean(0) / 10_000)
    assert list(content["rounds_by_kind"]) == ["start", "exploit", "forced", "unwasted", "wasted"]
    errors = kinds.std(0, ddof=1) / np.sqrt(200) / 10_000
    np.testing.assert_allclose(list(content["rounds_by_kind_se"].values()), errors)
    entry = {"instance": "it", "algorithm": "a", "quantity": "kind", "round": "unwasted", "horizon": 10_000}
    entry |= {"runs": 200, "source": "s", "margin": 0.01}
    results, share = ResultSet("demo", (cell,)), float(kinds[:, 3].mean() / 10_000)
    for value, expected in ((share, "agrees"), (share + 0.1, "disagrees")):
        (number,) = published.numbers([entry | {"value": value}], results)
        judged = published.judge(number, cell, 0.95)
        assert judged["verdict"] == expected
        assert f"{share:.4f} ± {errors[3]:.4f} ({value:g}: {expected})" in blocks_as_text(kinds_of([content], [judged]))
    forced = published.judge(entry | {"value": 0.005, "round": "forced"}, cell, 0.95)  # ours is 0
    assert forced["verdict"] == "agrees"  # a margin of a share is no fraction of it
    assert published.numbers([entry | {"value": 0, "horizon": 1000}], results) == []  # f_n is that of the horizon
    with pytest.raises(ValueError, match=r"it/a: kind of rounds = 'idle', must be one of start, exploit"):
        published.judge(entry | {"value": 0.5, "round": "idle"}, cell, 0.95)
    assert kinds_of([_cell(1.0).to_json()]) == []
    assert "rounds by kind" in table([cell]) and "rounds by kind" not in table([_cell(1.0)])


class _Stop(Exception):
    pass


@pytest.mark.parametrize(
    ("figure", "options", "names", "runs", "horizon"),
    [
        (None, {}, ["1", "2", "3-left", "3-right", "4-left", "4-right"], 10_000, 10_000),
        (None, {"quick": True}, ["1", "2", "3-left"], 200, 10_000),
        ("2", {"horizon": 1_000_000}, ["2"], 1000, 1_000_000),
        ("2", {"horizon": 1_000_000, "runs": 7}, ["2"], 7, 1_000_000),
        ("4-left", {"horizon": 500}, ["4-left"], 10_000, 500),
    ],
)
def test_what_is_run(monkeypatch, tmp_path, figure, options, names, runs, horizon):
    def run_experiments(experiments, **more):
        raise _Stop(experiments)

    monkeypatch.setattr("jaxbandit.lab.specs.spec.parse", lambda data, origin: data)  # 60 factories are for others
    monkeypatch.setattr("jaxbandit.lab.experiments.experiment.run_experiments", run_experiments)
    with pytest.raises(_Stop) as stop:
        paper.reproduce("oam", figure, out=tmp_path, **options)
    (experiments,) = stop.value.args
    assert [(e["name"], place.name) for e, place in experiments] == [(f"oam-{n}", n) for n in names]
    assert {(e["runs"], e["horizon"]) for e, _ in experiments} == {(runs, horizon)}


def test_what_a_longer_horizon_takes():
    cells = [_cell(1.0).to_json(), _cell(2.0, "bb").to_json()]  # 1000 run-steps in 0.006 s, each
    (line,) = report.cost({"cells": cells}, {1_000_000: 1000})
    assert line.startswith("with --horizon 1000000 these cells play 1,000 runs each: at most about 3.3 hours")
    assert report.cost({"cells": cells}, {10_000: 1000}) == []


def test_misspelt_names_are_refused(oam):
    data, about = oam
    figure = figure_experiments.figures_of(about)["3-left"]
    part = figure_experiments.experiment(data, figure)
    part["algorithm"] = [{"name": "x", "type": "oam", "exploit_iff": "any"}]
    with pytest.raises(
        ValueError, match=r"oam.toml: algorithm\[0\].exploit_iff: unknown key.*did you mean 'exploit_if'"
    ):
        parse(part, "oam.toml")


@pytest.mark.slow
def test_reproduce_end_to_end(tmp_path):
    """Figure 1 in a hurry: one compilation an algorithm, three instances."""
    out = tmp_path / "out"
    found = paper.reproduce("oam", "1", quick=True, runs=8, horizon=100, out=out, execution=Execution(progress=False))
    content = read_json(out / "summary.json", storage.RECOMPUTE)
    assert content == found.summary and len(content["cells"]) == 12
    for cell in content["cells"]:
        constant = {"5.1 u=0.1": 20, "5.1 u=0.2": 10, "5.1 u=0.01": 50}[cell["instance"]]
        np.testing.assert_allclose(cell["regret"]["lower_bound"], constant * np.log(cell["regret"]["at"]), rtol=1e-6)
        if cell["algorithm"].startswith("OAM"):
            assert sum(cell["rounds_by_kind"].values()) == pytest.approx(1)
    assert [p.name for p in found.figures] == [f"regret-5.1-u-{u}.png" for u in ("0.1", "0.2", "0.01")]
    assert list(content["readings"]["rows"]) == ["OAM, eps 0", "OAM, as printed", "OAM, any arm"]
    tables = (out / "tables.txt").read_text()
    assert tables == f"{found.table()}\n"
    assert re.search(r"rounds by kind.*readings by claims", tables, re.DOTALL)
    before = {p: p.read_bytes() for p in out.rglob("cell-*")}
    again = paper.reproduce("oam", "1", quick=True, runs=8, horizon=100, out=out, execution=Execution(progress=False))
    assert again.summary == found.summary and before == {p: p.read_bytes() for p in out.rglob("cell-*")}
