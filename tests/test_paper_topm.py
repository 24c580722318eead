"""The Top-m paper's TOML; recorded data from a directory; tables of constants; experiments at once."""

import threading
from pathlib import Path

import numpy as np
import pytest
from results_by_hand import stopping
from scipy import stats

from jaxbandit.engine.driver.execution import Execution
from jaxbandit.lab.experiments import experiment as running
from jaxbandit.lab.papers import drawing, figure_experiments, own_instances, paper, published
from jaxbandit.lab.papers.tables import complexity, computed
from jaxbandit.lab.specs import source, spec
from jaxbandit.running.results.base import ResultSet
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled

ABOUT = source.read(source.embedded_files()["topm"])
PAPER = ABOUT["paper"]
EPILEPSY = Path(__file__).parents[2] / "shared" / "data" / "epilepsy"


def _made(directory, label="anti_epileptic"):
    """Files of the form of the epilepsy data: 3 samples of 10 drugs; a drug, its label and 4 genes a row."""
    numbers = np.random.default_rng(3).normal(size=(10, 4))
    drugs = [f"drug{i}" for i in range(10)]
    rows = [[f"{0.1 * i + 0.01 * j}" for i in range(10)] for j in range(3)]
    (directory / "rewards.csv").write_text("\n".join(",".join(row) for row in [drugs, *rows]))
    head = ["drug", label, "A", "B", "C", "D"]
    rows = [[drug, "1" if i < 5 else "-1", *map(repr, map(float, numbers[i]))] for i, drug in enumerate(drugs)]
    (directory / "features.csv").write_text("\n".join(",".join(row) for row in [head, *rows]))
    return numbers


def test_algorithms_are_told_the_m_of_their_figure(tmp_path):
    _made(tmp_path)
    data = dict(ABOUT)
    assert not own_instances.add_instances(data, PAPER, tmp_path)
    run, shown = figure_experiments.experiments(figure_experiments.figures_of(PAPER), quick=False)
    assert {"1a", "1b", "1c", "2", "3-m3", "3-m8"} <= {figure.name for figure in shown}
    told = {}
    for figure in run:
        part = own_instances.tell(figure_experiments.experiment(data, figure))
        experiment = spec.parse({k: v for k, v in part.items() if k != "paper"}, figure.name)
        told |= {c.instance.name: c.arguments["m"] for c in experiment.cells() if "m" in c.arguments}
    assert told == {"pi/3": 2, "pi/6": 2, "0.1": 1, "epilepsy": 5, "random, m = 3": 3, "random, m = 8": 8}
    sources = {entry["ours"] for entry in PAPER["published"] if "ours" in entry}
    assert {claim["published"] for claim in PAPER["near"]} <= sources


def test_recorded_data_leave_their_label_and_keep_inner_products(tmp_path):
    numbers = _made(tmp_path)
    data = {"instance": []}
    own_instances.add_instances(data, PAPER, tmp_path)
    (epilepsy,) = [table for table in data["instance"] if table["name"] == "epilepsy"]
    features = np.array(epilepsy["features"])
    assert features.shape == (10, 4)
    np.testing.assert_allclose(features @ features.T, numbers @ numbers.T, atol=1e-12)  # a few roundings of sums of 4
    np.testing.assert_allclose(np.array(epilepsy["rewards"])[2, 3], 0.32)
    assert not own_instances.OWN & epilepsy.keys()


def test_fewer_arms_than_dimensions_come_in_a_basis_of_their_span(tmp_path):
    wide = np.random.default_rng(5).normal(size=(3, 7))
    rows = [",".join(map(repr, map(float, row))) for row in wide]
    (tmp_path / "f.csv").write_text("\n".join([",".join("abcdefg"), *rows]))
    table = {"name": "x", "type": "table", "files": {"features": "f.csv"}, "source": "s"}
    data = {"instance": []}
    own_instances.add_instances(data, {"instance": [table]}, tmp_path)
    features = np.array(data["instance"][0]["features"])
    assert features.shape == (3, 3)
    np.testing.assert_allclose(features @ features.T, wide @ wide.T, atol=1e-12)


def test_without_the_data_its_figures_are_left_out_and_said_so(tmp_path):
    data = dict(ABOUT)
    missing = own_instances.add_instances(data, PAPER, None)
    assert set(missing) == {"epilepsy"}
    figures = figure_experiments.figures_of(PAPER)
    kept, lines = own_instances.split(figures, missing, "")
    assert not {"1c", "drugs", "stored-drugs"} & kept.keys()
    assert len(lines) == 3
    assert all("needs --data DIR with rewards.csv, features.csv" in line for line in lines)
    with pytest.raises(BadInput, match="figure 1c: needs --data DIR"):
        own_instances.split(figures, missing, "1c")
    with pytest.raises(BadInput, match=r"cannot be read \(No such file or directory\)"):
        own_instances.add_instances(data, PAPER, tmp_path)


def test_quick_leaves_out_what_it_has_no_settings_for():
    figures = figure_experiments.figures_of(PAPER)
    kept, lines = own_instances.split(figures, {}, "", quick=True)
    assert {"1a", "1b", "1c", "2"} <= kept.keys()
    assert not {"3-m3", "stored", "heuristic-hard"} & kept.keys()
    assert len(kept) + len(lines) == len(figures)
    sizes, lines = computed.sizes_of(PAPER, "", quick=True, runs=None)
    assert sizes == {"table5": 0}
    assert lines == [f"{PAPER['complexity']['table4']['title']}: not run, available only without --quick"]


def test_sizes_of_tables():
    def sizes(target="", **more):
        return computed.sizes_of(PAPER, target, **{"quick": False, "runs": None} | more)[0]

    table = PAPER["complexity"]["table4"]
    assert sizes()["table4"] == table["size"]
    assert sizes("table4") == {"table4": table["alone"]} == {"table4": 1000}
    assert sizes("table4", quick=True) == {"table4": table["size"]}
    assert sizes(runs=7)["table4"] == 7
    assert sizes("1a") == {}


def test_instances_of_one_figure_tell_one_m():
    linear = {"type": "linear", "features": [[1.0]], "theta": [1.0]}
    part = {"name": "x", "instance": [linear | {"m": 1}, linear | {"m": 2}], "algorithm": [{"name": "a"}]}
    with pytest.raises(BadInput, match=r"x: m = \[1, 2\], must be one"):
        own_instances.tell(part)
    told = own_instances.tell(part | {"instance": [linear | {"m": 2}]})
    assert told["algorithm"] == [{"name": "a", "m": 2}]
    assert told["instance"] == [linear]
    classic = {"type": "top_m_classic", "m": 2}  # knows its m
    assert own_instances.tell(part | {"instance": [classic]})["instance"] == [classic]


def test_one_entry_each():
    entry = {"algorithm": ["a", "b"], "value": [1, 2], "runs": 5}
    assert own_instances.one_each([entry, {"algorithm": "c", "value": 3}]) == [
        {"algorithm": "a", "value": 1, "runs": 5},
        {"algorithm": "b", "value": 2, "runs": 5},
        {"algorithm": "c", "value": 3},
    ]
    with pytest.raises(ValueError, match="shorter"):
        own_instances.one_each([{"algorithm": ["a", "b"], "value": [1]}])


NUMBER = {"instance": "it", "algorithm": "a", "value": 1000, "sd": 50.0, "runs": 100, "source": "them"}


@pytest.mark.parametrize(("second", "expected"), [(1010, "agrees"), (1060, "disagrees")])
def test_numbers_of_one_source_are_judged_together(second, expected):
    samples = np.where(np.arange(100) % 2, 1050, 950)  # sd 50.25 beside their 50: 95 % within 14 of 1000
    cells = ResultSet("x", tuple(stopping(samples, None, None, name, max_rounds=2000) for name in ("a", "b")))
    entries = [NUMBER | {"value": 1000}, NUMBER | {"algorithm": "b", "value": second}]
    entries += [NUMBER | {"source": "others", "value": 1}]
    judged = [published.judge(n, cells[n["instance"], n["algorithm"]], 0.95) for n in published.numbers(entries, cells)]
    claim = {"id": "n", "published": "them"}
    (found,) = published.judge_together([claim], entries, judged)
    assert found["verdict"] == expected and "in_part" not in found
    assert [check["verdict"] for check in found["checks"]] == ["agrees", expected]
    assert "a in it: published 1,000, prediction interval [986.1, 1,014]" in found["checks"][0]["statement"]
    (part,) = published.judge_together([claim], [*entries, NUMBER | {"algorithm": "absent"}], judged)
    assert part["in_part"]
    assert published.judge_together([claim | {"published": "nobody"}], entries, judged) == []


def test_numbers_beside_censored_runs_are_undecided():
    results = ResultSet("x", (stopping([900, 1100], [0, 1], None, "a"),))
    judged = [published.judge(n, results[0], 0.95) for n in published.numbers([NUMBER], results)]
    (found,) = published.judge_together([{"id": "n", "published": "them"}], [NUMBER], judged)
    assert found["verdict"] == "undecided"
    assert found["checks"][0]["statement"].endswith("but our runs give no prediction interval")


def test_independent_features_have_nine_eighths():
    """Then w* of x_i - x_j is e_i - e_j, and every arm's largest share is that of its pair with the nearest gap."""
    ratios = complexity.ratios(4, 5, 2, normalization="arm", first=3, count=3)
    np.testing.assert_allclose(ratios, 9 / 8, rtol=1e-12)  # gaps of 1e-3 and more: few roundings


@pytest.mark.slow
def test_ratios_are_those_of_highs_and_of_the_instance_number():
    from jaxbandit.theory.solvers.l1 import l1_table

    ratios = complexity.ratios(6, 3, 2, normalization="spectral", first=10, count=5)
    features = complexity._features(6, 3, "spectral", 12, 1)[0]
    gaps = np.sort(features[:, 0])[::-1]
    gaps = np.where(features[:, 0] > gaps[2], features[:, 0] - gaps[2], gaps[1] - features[:, 0])
    weights = np.abs(l1_table(features)) / (np.maximum(gaps[:, None], gaps[None]) ** 2 / 9)[..., None]
    expected = weights.max((0, 1)).sum() / (8 * (gaps**-2).sum())
    assert ratios[2] == pytest.approx(expected, rel=1e-7)  # certificates of 1e-6 are of the l1 norm, weights far better
    again = complexity.ratios(6, 3, 2, normalization="spectral", first=12, count=1)
    assert again[0] == pytest.approx(ratios[2], rel=1e-9)  # another width of the program


def _shares(monkeypatch, share, hits=291, instances=1000):
    drawn = np.where(np.arange(instances) < share * instances, 0.9, 1.1)
    monkeypatch.setattr(complexity, "ratios", lambda *shape, **more: drawn)
    column = {"num_arms": 10, "dim": 5, "m": 4, "variance": 0.25, "hits": hits}
    variants = [{"name": "code", "normalization": "spectral", "sigma": 1.0}]
    variants += [{"name": "half", "normalization": "spectral", "sigma": 0.5, "columns": [0]}]
    table = {"columns": [column], "variants": variants, "trials": 1000, "most": 10**6, "wide": 0.1}
    return complexity.shares(table, instances=instances, confidence=0.95)


@pytest.mark.parametrize(
    ("share", "instances", "expected"),
    [(0.3, 1000, "agrees"), (0.1, 1000, "disagrees"), (0.5, 1000, "disagrees"), (0.3, 20, "undecided")],
)
def test_verdicts_on_shares(monkeypatch, share, instances, expected):
    first, second = _shares(monkeypatch, share, instances=instances)
    assert first["verdict"] == expected
    assert first["rate"] == share
    assert second["rate"] == 1.0  # sigma^2 = 1/4 of either ratio is below 1
    assert first["published"]["low"] < share < first["published"]["high"]


@pytest.mark.parametrize("more", [50, 1000])
def test_the_prediction_interval_of_a_rate_is_fishers(more):
    low, high = published.predicted_rate(7, 100, more, 0.9)
    hits = range(round(low * more), round(high * more) + 1)

    def least_tail(y):
        table = [[y, 7], [more - y, 93]]
        return min(stats.fisher_exact(table, alternative=side).pvalue for side in ("less", "greater"))

    assert all(least_tail(y) > 0.05 for y in hits)
    assert least_tail(hits[-1] + 1) <= 0.05 and (hits[0] == 0 or least_tail(hits[0] - 1) <= 0.05)


@pytest.mark.statistical
def test_a_published_rate_is_seldom_outside_by_chance():
    """4,000 pairs of rates of one coin: outside their 90 % at most as often as stated, by the exact one-sided test at
    1e-4, the false-alarm rate; the rates are discrete, so it is rarer still, but not by half."""
    rng = np.random.default_rng(11)
    ours, theirs = rng.binomial(60, 0.2, 4000), rng.binomial(200, 0.2, 4000) / 200
    ends = {hits: published.predicted_rate(hits, 60, 200, 0.9) for hits in set(ours.tolist())}
    outside = sum(not ends[x][0] <= y <= ends[x][1] for x, y in zip(ours.tolist(), theirs, strict=True))
    assert stats.binomtest(outside, 4000, 0.1, alternative="greater").pvalue > 1e-4
    assert outside > 200


def test_claims_on_shares(monkeypatch):
    tables = [{"name": "t", "rows": _shares(monkeypatch, 0.3)}]
    claim = {"id": "s", "table": "t", "value": 0.5, "variant": "code"}
    verdicts = [computed.judge([claim | {"variant": name}], tables)[0]["verdict"] for name in ("code", "half")]
    assert verdicts == ["agrees", "disagrees"]
    assert computed.judge([claim | {"table": "other"}], tables) == []
    near = computed.judge([claim | {"value": 0.31}], tables)
    assert near[0]["verdict"] == "undecided"


@pytest.mark.slow
def test_table_5_is_the_papers():
    instances = {table["name"]: table for table in PAPER["instance"]}
    rows = complexity.values(PAPER["complexity"]["table5"], instances)
    assert [row["verdict"] for row in rows] == ["agrees"] * 6
    wrong = PAPER["complexity"]["table5"] | {"sigma": 0.5}
    assert complexity.values(wrong, instances)[0]["verdict"] == "disagrees"


def test_table_is_kept_and_not_computed_again(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(complexity, "values", lambda *given: calls.append(given) or [{"instance": "x"}])
    about = {"confidence": 0.95, "complexity": {"t": {"kind": "values", "title": "T", "source": "S", "sigma": 1.0}}}
    for _ in range(2):
        (found,) = computed.evaluate({}, about, tmp_path, {"t": 0})
    assert len(calls) == 1
    assert found["rows"] == [{"instance": "x"}]
    about["complexity"]["t"]["sigma"] = 2.0
    computed.evaluate({}, about, tmp_path, {"t": 0})
    assert len(calls) == 2


@pytest.mark.slow
def test_boxes_mark_published_numbers_below_their_rows(tmp_path):
    results = ResultSet("x", tuple(stopping(np.arange(50, 90), None, None, name) for name in ("a", "b")))
    figure = figure_experiments.Figure("f", "Title", ["it"], ["a", "b"], draw="boxes")
    published = [NUMBER | {"quantity": "samples", "algorithm": "b", "value": 70}]
    published += [NUMBER | {"quantity": "error", "value": 0.02}, NUMBER | {"quantity": "samples", "algorithm": "no"}]
    path = drawing.boxes(figure, results, {"published": published}, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert drawing._mark_boxes(ax, list(results), {"published": published}, "samples")
    (line,) = ax.get_lines()
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([70], [1 + drawing.BELOW])


class _Parts:
    """Experiments that only report progress, until they are told to stop."""

    kind = "identify"
    runs = 1

    def __init__(self, fails=False):
        self.fails = fails

    def cells(self):
        return [None]


def test_when_one_experiment_fails_the_others_end(monkeypatch, tmp_path):
    started, ended = threading.Event(), []

    def run(part, directory, *, execution, alone):
        assert not alone
        if part.fails:
            started.wait(10)
            raise OSError("disk")
        started.set()
        try:
            while True:
                execution.progress(None)
        except KeyboardInterrupt:
            ended.append(directory)
            raise

    monkeypatch.setattr(running, "run_experiment", run)
    parts = [(_Parts(), tmp_path / "a"), (_Parts(fails=True), tmp_path / "b")]
    with pytest.raises(OSError, match="disk"):
        running.run_experiments(parts, at_once=2, execution=Execution(progress=False))
    assert ended == [tmp_path / "a"]


@pytest.mark.slow
def test_small_reproduction(tmp_path):
    found = paper.reproduce("topm", "heuristic-hard", runs=100, out=tmp_path, execution=Execution(progress=False))
    summary = found.summary
    assert [cell["runs"] for cell in summary["cells"]] == [100, 100]
    near = {claim["id"]: claim for claim in summary["claims"]}["9.2"]
    assert near["in_part"]
    # Both means inside intervals that hold together with 95 %, of an independent code's (100 runs each).
    assert all(check["verdict"] != "disagrees" for check in near["checks"])
    assert (tmp_path / "heuristic-hard.png").exists()
    assert "0.1, threshold 'heuristic'" in found.table()
    assert all(entry["verdict"] != "disagrees" for entry in summary["published"])


@pytest.mark.slow
def test_real_data():
    if not EPILEPSY.exists():
        pytest.skip("needs the recorded rewards of github.com/clreda/linear-top-m in ../shared/data/epilepsy")
    data = {"instance": []}
    own_instances.add_instances(data, PAPER, EPILEPSY)
    (epilepsy,) = [table for table in data["instance"] if table["name"] == "epilepsy"]
    assert np.shape(epilepsy["features"]) == (10, 10)
    np.testing.assert_allclose(np.linalg.norm(epilepsy["features"], axis=1), 1.0, atol=1e-9)  # as the file has them
    means = np.mean(epilepsy["rewards"], axis=0)
    assert set(np.argsort(means)[5:]) == set(range(5))  # the anti-epileptic drugs come first
