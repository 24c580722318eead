"""`jaxbandit report`: numbers of the page, hostile names as text, what is refused, and the page in a browser."""

import dataclasses
import html
import io
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from results_by_hand import noisy, result, stopping

from jaxbandit import ask, load, save_session, session, session_directory, tell
from jaxbandit.algorithms import student_race
from jaxbandit.base.contract import Outcome
from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.sessions.certifying import certificate
from jaxbandit.decide.tuning.configs import read as read_configs
from jaxbandit.decide.tuning.result import tune_result
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json, write_json
from jaxbandit.lab import cli
from jaxbandit.lab.auditing.cell import Limits, judge
from jaxbandit.lab.auditing.experiment import AuditedResult
from jaxbandit.lab.experiments.directory import summary_of
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.compare import compare
from jaxbandit.support.document import Chart, Section
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory.confidence_sequence import confidence_sequence

pytest.importorskip("matplotlib")

from jaxbandit.lab.report import experiments, page
from jaxbandit.lab.report.write import write_report

pytestmark = pytest.mark.quickly_compiled

HOSTILE = "</script><script>alert(1)</script>"
NAMES = [HOSTILE, '<img src=x onerror="alert(2)">', "a & b \\u003c $\\frac$ 'quoted\"", "<!--"]
INERT = ("application/json",)


class Reader(HTMLParser):
    """What a browser makes of a page: its tables, scripts, tags and references."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.scripts, self.tags, self.references, self.data = {}, [], set(), [], None
        self._cell = self._row = self._table = self._caption = self._script = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.add(tag)
        self.references += [attrs[name] for name in ("src", "href", "action", "srcset", "data") if name in attrs]
        assert not [name for name in attrs if name.startswith("on")], attrs
        if tag == "script":
            self._script = attrs.get("type", "")
            self.scripts.append("")
        if tag == "table":
            self._table, self._caption = [], ""
        if tag in ("td", "th", "caption"):
            self._cell = ""
        if tag == "tr":
            self._row = []

    def handle_endtag(self, tag):
        if tag == "script":
            if self._script in INERT:
                self.data = json.loads(self.scripts.pop())
            self._script = None
        if tag == "caption":
            self._caption, self._cell = self._cell, None
        if tag in ("td", "th"):
            self._row.append(self._cell)
            self._cell = None
        if tag == "tr":
            self._table.append(self._row)
        if tag == "table":
            self.tables.setdefault(self._caption, []).append(self._table)

    def handle_data(self, data):
        if self._script is not None:
            self.scripts[-1] += data
        elif self._cell is not None:
            self._cell += data

    def table(self, beginning):
        (found,) = [tables[0] for caption, tables in self.tables.items() if caption.startswith(beginning)]
        return found


def read(path):
    text = path.read_text(encoding="utf-8")
    page = Reader(text)
    assert all(reference.startswith("#") for reference in page.references), page.references
    assert "@import" not in text and "url(http" not in text
    return page


def numbers(cell):
    return [float(n.replace(",", "")) for n in re.findall(r"-?[\d,]*\.?\d+(?:e-?\d+)?", cell)]


@pytest.fixture(scope="module")
def regret(tmp_path_factory):
    """A page of regret whose algorithms have hostile names, and its results."""
    place = tmp_path_factory.mktemp("regret")
    pair = {"shared": 3}
    some = [noisy(100.0 + 3 * i, seed=i, algorithm=name, instance=HOSTILE, **pair) for i, name in enumerate(NAMES)]
    some[1] = result(
        np.vstack([some[1].arrays["regret"][:-2], np.full((2, 3), np.nan)]),
        algorithm=NAMES[1],
        instance=HOSTILE,
        outcome=[0] * 198 + [Outcome.NONFINITE] * 2,
    )
    ResultSet(HOSTILE, tuple(some)).save(place)
    return write_report(place), some


@pytest.fixture(scope="module")
def stops(tmp_path_factory):
    place = tmp_path_factory.mktemp("stops")
    outcome = [Outcome.STOPPED] * 95 + [Outcome.MAX_ROUNDS] * 5
    times = [10 * i for i in range(1, 96)] + [1000] * 5
    some = [
        stopping([3 * i for i in range(1, 101)], algorithm="quick", shortfall=[0.5] * 9 + [0.0] * 91),
        stopping(times, outcome=outcome, algorithm="censored"),
    ]
    ResultSet("stops", tuple(some)).save(place)
    return write_report(place), some


def test_names_are_text_in_tables_figures_and_the_data_block(regret):
    path, _ = regret
    page = read(path)
    assert len(page.scripts) == 2  # uPlot's and the page's own: no name has begun another
    assert not any("alert(" in script for script in page.scripts)
    assert "img" not in page.tags
    assert {row[1] for row in page.table("Results")[1:]} == set(NAMES)
    assert [curve["label"] for curve in page.data[0]["curves"]][:4] == NAMES
    text = path.read_text(encoding="utf-8")
    figures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert figures and all(html.escape(name, quote=False) in figures[0] for name in NAMES)


def test_numbers_are_those_of_the_results(regret):
    path, some = regret
    page = read(path)
    head, *rows = page.table("Regret, mean")
    assert head == ["round", *NAMES, *head[5:]]
    for row, k in zip(rows, range(3), strict=True):
        assert numbers(row[0]) == [some[0].arrays["checkpoints"][k]]
        for cell, r in zip(row[1:], some, strict=False):
            interval = r.interval()
            told = [r.arrays["mean"][k], interval.low[k], interval.high[k]]
            np.testing.assert_allclose(numbers(cell), told, rtol=0.02, atol=0.06)
    drawn = page.data[0]["curves"][0]
    np.testing.assert_allclose(drawn["y"], some[0].arrays["mean"], rtol=1e-4)
    np.testing.assert_allclose(drawn["low"], some[0].interval().low, rtol=1e-4)
    final = np.sort(some[0].arrays["regret"][:, -1])
    quantiles = page.table("Distribution over runs of regret after 100 rounds")[1]
    shown = [numbers(cell)[0] for cell in quantiles[1:8]]
    np.testing.assert_allclose(shown, final[[0, 9, 49, 99, 149, 189, 199]], rtol=1e-3)


def test_differences_and_faults_are_told(regret):
    path, some = regret
    page = read(path)
    head, *rows = page.table("Differences")
    assert len(rows) == 6
    verdict = head.index("a is")
    for row, (i, j) in zip(rows, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], strict=True):
        found = compare(some[i], some[j])
        assert row[1:3] == [NAMES[i], NAMES[j]] and row[verdict] == found.verdict
        told = numbers(row[head.index("a - b [95 %]")])
        np.testing.assert_allclose(told, [found.difference, found.low, found.high], rtol=0.05, atol=0.02)
    head, *rows = page.table("Runs by outcome")
    assert [row[head.index("not finite")] for row in rows] == ["0", "2", "0", "0"]
    assert [row[head.index("in the means")] for row in rows] == ["200", "198", "200", "200"]


@pytest.mark.slow
def test_stopping_times_censoring_and_errors_beside_delta(stops):
    path, some = stops
    page = read(path)
    head, quick, censored = page.table("Samples until")
    assert censored[head.index("censored")] == "5 of 100" and censored[1].startswith("> ")
    # Of 100 runs the interval of the median is between the 40th and the 61st: P(Bin(100, 1/2) <= 39) is .0176.
    assert quick[head.index("50 %")].startswith("150 [") and censored[head.index("95 %")].startswith("950 [")
    ordered = np.sort(some[0].samples()).astype(int)
    assert quick[head.index("50 %")] == f"150 [{ordered[39]}, {ordered[60]}]"
    assert censored[head.index("95 %")].endswith(", > 1,000]")
    head, quick, censored = page.table("Error rate compared with delta")
    error = some[0].error()
    assert quick[1] == "9 of 100" and numbers(quick[3]) == pytest.approx([error.low, error.high], abs=1e-4)
    assert quick[5] == "undecided" and censored[5] == "below"  # 0 of 95: up to 0.0381
    assert [curve["y"][0] for curve in page.data[0]["curves"]] == [0, 0]  # before the first run has stopped
    curve = page.data[0]["curves"][1]
    assert curve["x"][-1] == 1000 and curve["y"][-1] == 0.95  # known up to max_rounds, and not beyond
    head, *rows = page.table("Mean pulls by arm")
    mean = some[0].arrays["pulls"].mean(axis=0)
    assert [numbers(row[2])[0] for row in rows] == pytest.approx(mean, rel=0.01)


@pytest.mark.slow
def test_many_runs_are_reduced_and_the_page_says_so(tmp_path):
    rounds = np.unique(np.geomspace(1, 1e5, 300).astype(int))
    runs = 2000
    rows = np.cumsum(np.random.default_rng(0).random((runs, len(rounds))), axis=1)
    ResultSet("many", tuple(result(rows, algorithm=f"a{i}", checkpoints=rounds) for i in range(6))).save(tmp_path)
    path = write_report(tmp_path, tmp_path / "other.html")
    page = read(path)
    assert path.stat().st_size < 300_000
    assert max(len(curve["x"]) for chart in page.data for curve in chart["curves"]) <= 202
    assert "checkpoints, 200 evenly spaced ones are drawn" in path.read_text(encoding="utf-8")
    last = page.table("Regret, mean")[-1]
    assert last[0] == "100,000" and numbers(last[1])[0] == pytest.approx(rows[:, -1].mean(), rel=1e-3)
    assert write_report(tmp_path, path).read_bytes() == path.read_bytes()  # the same results, the same bytes


@pytest.mark.parametrize("case", ["nothing", "no directory", "truncated", "another file", "a directory"])
def test_what_cannot_be_reported_is_refused_in_one_line(case, tmp_path, capsys):
    place, out = tmp_path / "there", tmp_path / "page.html"
    place.mkdir()
    if case != "nothing":
        noisy(1.0, runs=4).save(place)
    if case == "no directory":
        shutil.rmtree(place)
    if case == "truncated":
        (place / "cell-000.npz").write_bytes((place / "cell-000.npz").read_bytes()[:-100])
    if case == "another file":
        out.write_text("<html>mine</html>")
    if case == "a directory":
        out.mkdir()
    assert cli.main(["report", str(place), "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(out if case in ("another file", "a directory") else place) in said
    assert not out.is_file() or out.read_text() == "<html>mine</html>"


def test_an_unfinished_experiment_is_reported_as_such(tmp_path, regret):
    noisy(1.0, runs=4).save(tmp_path)
    write_json(tmp_path / "provenance.json", {"versions": {}, "order": [0, 1], "cells": []})
    assert "Not finished: 1 of 2 cells" in write_report(tmp_path).read_text(encoding="utf-8")


def test_results_of_which_no_run_counts_have_a_page(tmp_path):
    ResultSet("bad", (stopping([5] * 4, outcome=[Outcome.NONFINITE] * 4),)).save(tmp_path)
    page = read(write_report(tmp_path))
    head, row = page.table("Runs by outcome")
    assert row[head.index("not finite")] == "4" and row[head.index("in the means")] == "0"


TUNE_NOTES = ["a note & <b>"]


def search_files(place, **more):
    """What `jaxbandit tune` leaves of three configurations, the last of which has a hostile name."""
    configs = [{"x": 0.1 * i, "act": name} for i, name in enumerate(("a", "b", HOSTILE))]
    ids, mean = np.arange(12), np.array([0.2, 0.9, 0.5])
    history = {"id": ids, "config": ids % 3, "batch": ids // 6, "seed": ids, "score": mean[ids % 3]}
    arms = [{"arm": i, "pulls": 4, "mean": m, "low": m - 0.1, "high": m + 0.1} for i, m in enumerate(mean.tolist())]
    promise = {"rule": "paired_race", "stopped": True, "delta": 0.05, "epsilon": 0.25, "m": 1, "proved": True}
    certificate = Certificate.from_json(
        {**promise, "coverage": 0.95, "recommendation": [1], "arms": arms, "assumptions": []}
    )
    result = tune_result(
        read_configs(configs),
        1,
        history,
        survivors=np.arange(3) == 1,
        intervals=(mean - 0.1, mean + 0.1),
        certificate=replace(certificate, **more.pop("certificate", {})),
        notes=tuple(TUNE_NOTES),
        **more,
    )
    result.save(place)


@pytest.mark.slow
def test_a_search_shows_survivors_means_and_certificate(tmp_path):
    search_files(tmp_path)
    page = read(write_report(tmp_path))
    _head, *rows = page.table("Configurations by batch")
    assert rows == [["1", "3", "6"], ["2", "3", "6"]]
    _head, *rows = page.tables["Configurations"][0]
    assert [row[0] for row in rows] == ["1", "2", "0"] and rows[1][-1] == f"x = 0.2, act = {HOSTILE}"
    assert rows[0][2:6] == ["0.9", "0.8", "1", "chosen"]
    assert "the recommended arm is the best or within 0.25 of it" in (tmp_path / "report.html").read_text(
        encoding="utf-8"
    )
    (tmp_path / "history.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"history.npz: damaged"):
        write_report(tmp_path)


@pytest.mark.slow
def test_the_chart_of_a_search_has_the_chosen_configuration_apart(tmp_path):
    search_files(tmp_path)
    blocks = load(tmp_path).describe(detail=True).blocks
    sections = {block.heading: block for block in blocks if isinstance(block, Section)}
    chart, _table = sections["Mean scores"].blocks
    assert isinstance(chart, Chart)
    (chosen, others), ends = chart.curves, ("x", "y", "low", "high")
    assert list(chart.names) == ["1", "2", "0"]
    assert [np.round(getattr(chosen, end), 9).tolist() for end in ends] == [[0], [0.9], [0.8], [1.0]]
    assert [np.round(getattr(others, end), 9).tolist() for end in ends] == [[1, 2], [0.5, 0.2], [0.4, 0.1], [0.6, 0.3]]


def test_a_search_shows_what_is_known_what_ended_it_and_quantiles(tmp_path):
    known = "the recommended arm is within 0.25 of the best by the median"
    more = {"achieved": 0.25, "statistic": "median", "notes": ("a remark & more",)}
    search_files(tmp_path, certificate=more, location=np.array([0.25, 0.95, 0.55]), why="timeout")
    page = read(write_report(tmp_path))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "12 trainings of 3 configurations, ended by timeout" in text and known in text
    assert "a remark &amp; more" in text and "Median scores" in text and "median score 0.95 [0.8, 1]" in text
    head, *rows = page.tables["Configurations"][0]
    assert head[2] == "median" and rows[0][2:6] == ["0.95", "0.8", "1", "chosen"]


SESSION = f"""
kind = "session"
seed = 7
arms = ["first", {json.dumps(HOSTILE)}, "third"]

[[algorithm]]
type = "paired_race"
epsilon = 0.1
"""


@pytest.mark.slow
def test_a_session_shows_its_log_its_means_and_its_certificate(tmp_path, capsys):
    spec, place = tmp_path / "race.toml", str(tmp_path / "race")
    spec.write_text(SESSION)
    assert cli.main(["ask", place, str(spec)]) == 0
    assert cli.main(["tell", place, "0=0.5", "1=0.75", "2=0.25"]) == 0
    assert cli.main(["ask", place]) == 0
    assert cli.main(["tell", place, "3=1.5", "4=0.25", "5=0.125"]) == 0
    assert cli.main(["report", place]) == 0
    path = tmp_path / "race" / "report.html"
    assert capsys.readouterr().out.splitlines()[-1] == str(path)
    page = read(path)
    _head, *rows = page.table("Arms")
    assert [row[0] for row in rows] == ["first", HOSTILE, "third"] and [row[1] for row in rows] == ["2"] * 3
    assert [float(row[2]) for row in rows] == [1.0, 0.5, 0.1875]
    log = page.table("Log")[1:]
    assert [row[1] for row in log] == ["ask", "tell"] * 2 and log[1][4] == "0.5, 0.75, 0.25"
    text = path.read_text(encoding="utf-8")
    assert "once the rule stops" in text and "with probability 0.95 for all arms at once" in text
    assert (
        f"first, {html.escape(HOSTILE, quote=False)}, third: 2 pulls: what happens in fewer than 88 % of them" in text
    )


PYTHON_SESSION = np.random.default_rng(0).integers(0, 8, (12, 3)) / 8


@pytest.mark.slow
def test_a_session_begun_in_python_shows_its_certificate_while_it_is_current(tmp_path):
    rule, place = student_race(3, delta=0.1), tmp_path / "race"
    with session_directory(place, rule, meta={"names": ["first", HOSTILE, "third"]}) as directory:
        for rewards in PYTHON_SESSION:
            directory.tell(directory.ask().id, rewards)
        found = certificate(directory.session)
        page = read(write_report(place))  # not closed yet: what the log alone tells
    assert np.isfinite(found.low).all()
    head, *rows = page.table("Arms")
    assert head == ["arm", "pulls", "mean reward"]
    assert [row[:2] for row in rows] == [["first", "12"], [HOSTILE, "12"], ["third", "12"]]
    assert [float(row[2]) for row in rows] == pytest.approx(PYTHON_SESSION.mean(axis=0), rel=1e-5)
    text = (place / "report.html").read_text(encoding="utf-8")
    assert "was not closed after its last change" in text and "0.1" in text
    page = read(write_report(place))
    head, *rows = page.table("Arms")
    assert head[3:] == ["90% interval", "survives"]
    for row, low, high, alive in zip(rows, found.low, found.high, found.survivors, strict=True):
        assert numbers(row[3]) == pytest.approx([low, high], rel=1e-5) and row[4] == ("yes" if alive else "no")
    assert [row[1] for row in page.table("Log")[1:]] == ["ask", "tell"] * 12
    text = (place / "report.html").read_text(encoding="utf-8")
    assert found.promise in text and all(html.escape(line, quote=False) in text for line in found.assumptions)
    with session_directory(place, rule) as directory:
        directory.tell(directory.ask().id, PYTHON_SESSION[0])
        page = read(write_report(place))  # the certificate is that of a shorter log
        assert page.table("Arms")[0] == ["arm", "pulls", "mean reward"] and page.table("Arms")[1][1] == "13"
    with (place / "log.jsonl").open("a") as log:
        log.write('{"sell": [1]}\n')
    with pytest.raises(BadInput, match=r"log.jsonl: line 27: does not fit the lines before it"):
        write_report(place)


@pytest.mark.slow
def test_a_session_saved_in_a_file_shows_its_certificate(tmp_path):
    opened, path = session(student_race(3, delta=0.1)), tmp_path / "race.session"
    for rewards in PYTHON_SESSION:
        opened, pulls = ask(opened)
        opened = tell(opened, pulls.id, rewards)
    save_session(path, opened)
    assert write_report(path) == tmp_path / "race.html"
    _head, *rows = read(tmp_path / "race.html").table("Arms")
    found = certificate(opened)
    assert found.means is not None and found.low is not None and found.high is not None
    for row, *told in zip(rows, found.means, found.low, found.high, strict=True):
        assert [float(row[2]), *numbers(row[3])] == pytest.approx(told, rel=1e-5)
    text = (tmp_path / "race.html").read_text(encoding="utf-8")
    assert found.promise in text and not found.stopped and "not yet" in text
    assert [row[1] for row in read(tmp_path / "race.html").table("Log")[1:]] == ["ask", "tell"] * 12
    path.write_text("{}\n")
    with pytest.raises(BadInput, match=r"race.session: damaged, or not a session"):
        write_report(path)


def audited(place, max_rounds_reached=3):
    """The directory of an audit of three cells: one violates, one is conservative, of one some runs are censored."""
    some, limits = [], Limits()
    cases = [(HOSTILE, 150, 0, True), ("sound", 0, 0, True), ("slow", 4, max_rounds_reached, False)]
    for name, errors, censored, proved in cases:
        ended = [Outcome.STOPPED] * (1000 - censored) + [Outcome.MAX_ROUNDS] * censored
        cell = stopping(
            np.arange(1, 1001), outcome=ended, algorithm=name, shortfall=[0.5] * errors + [0.0] * (1000 - errors)
        )
        fields = {field.name: getattr(cell, field.name) for field in dataclasses.fields(cell)}
        fields["guarantee"] = {**fields["guarantee"], "proved": proved}
        finding = judge(errors, censored, 1000, fields["guarantee"]["delta"], limits, len(cases))
        some.append(AuditedResult(**fields, finding=finding))
    about = SimpleNamespace(name=HOSTILE, kind="identify", seed=3, precision="float64")
    write_json(place / "audit.json", summary_of(about, some))
    (place / "spec.toml").write_text('kind = "identify"\n')
    return some


def test_an_audit_shows_verdicts_error_rates_and_what_was_censored(tmp_path):
    some = audited(tmp_path)
    page = read(write_report(tmp_path))
    assert (tmp_path / "report.html").stat().st_size < 150_000 and not any("alert(" in s for s in page.scripts)
    head, *rows = page.table("Verdict for each cell")
    assert [row[2] for row in rows] == [HOSTILE, "sound", "slow"]
    for row, cell in zip(rows, some, strict=True):
        assert row[head.index("verdict")] == str(cell.finding) and row[head.index("runs")] == "1,000"
        assert numbers(row[6]) == pytest.approx([cell.finding.low, cell.finding.high], rel=6e-3)
        assert row[3] == cell.promised
    assert [row[4] for row in rows] == ["150", "0", "4 to 7"]
    assert rows[0][-1].startswith("violates") and rows[2][3].endswith("(heuristic)")
    head, *rows = page.table("Error rate compared")
    assert [row[2] for row in rows] == ["150 of 1,000", "0 of 1,000", "4 of 997"]
    interval = confidence_sequence(4, 997, 0.95)
    assert numbers(rows[2][4]) == pytest.approx([interval.low, interval.high], rel=6e-3)
    assert [row[-1] for row in page.table("Samples")[1:]] == ["0 of 1,000", "0 of 1,000", "3 of 1,000"]
    head, *rows = page.table("Runs by outcome")
    assert [row[head.index("censored at max_rounds")] for row in rows] == ["0", "0", "3"]
    violating = next(curve for curve in page.data[0]["curves"] if curve["label"] == "violates")
    delta = some[0].finding.delta
    assert violating["x"] == [0] and violating["y"] == pytest.approx([0.15 / delta], rel=1e-4)
    assert violating["low"][0] == pytest.approx(some[0].finding.low / delta, rel=1e-4)


@pytest.mark.parametrize("case", ["damaged", "unfinished"])
def test_an_audit_that_cannot_be_reported_is_refused_in_one_line(case, tmp_path):
    audited(tmp_path)
    if case == "damaged":
        content = read_json(tmp_path / "audit.json", storage.RECOMPUTE)
        del content["cells"][1]["outcomes"]
        write_json(tmp_path / "audit.json", content)
    else:
        (tmp_path / "audit.json").unlink()
        (tmp_path / "audit").mkdir()
    with pytest.raises(BadInput, match="outcomes" if case == "damaged" else "its audit has not finished"):
        write_report(tmp_path)


def test_coordinates_are_rounded_to_a_tenth_of_a_point_and_texts_are_not():
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure()
    figure.add_subplot().plot(*np.random.default_rng(0).random((2, 500)), gid="1.23456")
    figure.axes[0].set_title("0.123456")
    with io.BytesIO() as file, matplotlib.rc_context({"svg.hashsalt": "x", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", bbox_inches="tight", pad_inches=0.1)
        exact = file.getvalue().decode()
    short = page._svg(figure, "", 0)
    lines = [re.findall(r' d="([^"]*)"', text) for text in (exact, short)]
    [first], [second] = ([line for line in some if line.count("L") == 499] for some in lines)
    assert np.abs(np.subtract(numbers(first), numbers(second))).max() < 0.1 and len(second) < 0.7 * len(first)
    assert ">0.123456<" in short


def test_numbers_of_an_error_table_are_flush_right():
    cell = {"error": {"rate": 0.5, "low": 0.25, "high": 0.75, "runs": 4}}
    table = experiments.error_table(("instance", "algorithm"), [("a", "b")], [cell], ["0.1"], "note", ["above"])
    assert table.rows == [("a", "b", "2 of 4", "0.5", "[0.25, 0.75]", "0.1", "above")] and list(table.right) == [
        2,
        3,
        4,
        5,
    ]


def test_names_inside_the_figures_are_unique_and_known(regret, stops):
    for path, _ in (regret, stops):
        svg = "".join(re.findall(r"<svg.*?</svg>", path.read_text(encoding="utf-8"), re.DOTALL))
        ids = re.findall(r' id="([^"]*)"', svg)
        assert ids and len(set(ids)) == len(ids) and "<style" not in svg
        assert set(re.findall(r'href="#([^"]*)"', svg) + re.findall(r"url\(#([^)]*)\)", svg)) <= set(ids)


def luminance(color):
    red, green, blue = (int(n) / 255 for n in re.findall(r"\d+", color)[:3])
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_the_page_in_a_browser(browser, regret, stops, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    for path, _ in (regret, stops):
        page, said, asked = context.new_page(), [], []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("dialog", lambda dialog, said=said: said.append(dialog.message))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector(".plot canvas")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        inks = page.evaluate(
            "[...document.querySelectorAll('h1, td, th, p, summary, .legend button')].map(e => "
            "getComputedStyle(e).color)"
        )
        ground = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert (ground < 0.1) == (scheme == "dark")
        for ink in set(inks):
            light, dark = sorted((luminance(ink), ground), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, ink
        first = page.locator(".plot").first
        button = first.locator("button").first
        drawn = "canvas => canvas.toDataURL()"
        before = first.locator("canvas").evaluate(drawn)
        button.click()
        assert button.get_attribute("aria-pressed") == "false"
        page.wait_for_timeout(100)
        assert first.locator("canvas").evaluate(drawn) != before
        button.click()
        page.wait_for_timeout(100)
        assert first.locator("canvas").evaluate(drawn) == before
        first.locator("input").first.click()
        page.wait_for_timeout(100)
        assert first.locator("canvas").evaluate(drawn) != before
        over = first.locator(".u-over").bounding_box()
        page.mouse.move(over["x"] + 0.8 * over["width"], over["y"] + over["height"] / 2)
        page.wait_for_timeout(100)
        assert re.search(r"\d", first.locator("output").text_content())
        assert all(re.search(r"\d", told) for told in first.locator(".legend span").all_text_contents()[:2])
        assert page.locator("details.print[open]").count() == 0 and page.locator("details.print").count() >= 1
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details.print svg").first.is_visible() and not first.is_visible()
        assert said == [] and asked == [path.as_uri()]
        page.close()
    context.close()


@pytest.mark.slow
@pytest.mark.browser
def test_the_page_without_javascript(browser, regret):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(regret[0].as_uri())
    for caption in ("Results", "Distribution", "Mean pulls", "Differences", "Runs by outcome", "Cells"):
        assert page.locator(f"table:has(caption:text('{caption}'))").first.is_visible(), caption
    assert page.locator("svg").first.is_visible() and not page.locator(".plot").first.is_visible()
    page.locator("summary:text('Table: regret')").click()
    assert page.locator("table:has(caption:text('Regret, mean'))").is_visible()
    context.close()
