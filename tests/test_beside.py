"""The page beside other libraries: its tables are the rows that are kept, and they say which library was there."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from benchmarks import __main__, peers, peers_arms_side, peers_ours, peers_shared, peers_worlds, results_file

ROOT = Path(__file__).parents[1]

CANNED = {
    "arms": [{"ran": "`ours`", "values": np.array([1.0, 2.0, 3.0]), "us": 2.0, "us of many": 0.0123}],
    "contexts": [{"ran": "`ours`", "values": np.array([1.0, 2.0]), "us": 900.0, "us of many": 1.0}],
    "grid": [{"ran": "`ours`", "rows": np.array([[10.0, 0.01, 0.9, 60, 0.5]] * 2), "said": "it is the best"}],
}


@pytest.fixture
def _ours_is_canned(monkeypatch):
    for name, rows in CANNED.items():
        monkeypatch.setattr(peers_ours, name, lambda *_, rows=rows: rows)
    monkeypatch.setattr(peers_worlds, "worth", lambda configs, repetition: [0.8] * len(configs))


@pytest.mark.usefixtures("_ours_is_canned")
def test_without_any_library_the_command_says_so(capsys):
    pytest.importorskip("sklearn")
    assert __main__.main(["peers", "--quick"]) == 0
    printed = capsys.readouterr().out
    for library in peers.LIBRARIES:
        lines = [line for line in printed.splitlines() if line.startswith(f"| {library.name} |")]
        assert len(lines) == 1 + len(library.problems)
        assert all("| not installed |" in line for line in lines), library.name
    half = student.ppf(0.975, 2) / np.sqrt(3)
    assert f"| 3 | 2.0 [{2 - half:.1f}, {2 + half:.1f}] | 2 | 0.0123 |" in printed
    assert "| 0.8000 | 0.0000 | 0.9000 | 60 | 0.5 | it is the best |" in printed


@pytest.mark.usefixtures("_ours_is_canned")
def test_what_is_written_is_the_page_and_the_rows(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    page, stored = tmp_path / "beside.md", tmp_path / "peers.json"
    page.write_text(
        f"before\n{results_file.begin('peers')}\nthe table before\n{results_file.end('peers')}\nafter\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(peers, "PAGE", page)
    monkeypatch.setattr(peers, "STORED", stored)
    found = peers.measure(True, [])
    peers.write(found)
    assert json.loads(stored.read_text(encoding="utf-8")) == found
    text = page.read_text(encoding="utf-8")
    assert "the table before" not in text and text.startswith("before\n") and text.endswith("\nafter\n")
    assert peers.table(found) in text
    with pytest.raises(SystemExit):
        peers.main(["--quick", "--write"])


def test_the_page_holds_the_rows_that_are_kept():
    found = json.loads(peers.STORED.read_text(encoding="utf-8"))
    text = peers.PAGE.read_text(encoding="utf-8")
    between = text.partition(results_file.begin("peers"))[2].partition(results_file.end("peers"))[0]
    assert between.strip() == peers.table(found)


def test_every_library_in_the_tables_has_a_version():
    found = json.loads(peers.STORED.read_text(encoding="utf-8"))
    shown = {row["library"] for row in found["rows"]} - {"no library"}
    assert shown == {*(library.name for library in peers.LIBRARIES), "jaxbandit"}
    for name in shown:
        assert re.match(r"\d+\.\d+", found["versions"][name] or ""), name
    measured = {row["library"] for row in found["rows"] if row["ran"] != peers.ABSENT}
    assert len(measured & {library.name for library in peers.LIBRARIES}) >= 5


def test_the_problems_are_what_the_page_says():
    given = peers_worlds.linear(2, 4_000)
    assert np.linalg.norm(given["contexts"], axis=2) == pytest.approx(1)
    assert np.all((given["means"] >= 0.05) & (given["means"] <= 0.95)) and set(np.unique(given["rewards"])) == {0, 1}
    design = np.concatenate([np.ones((4_000, 1)), given["contexts"][0]], axis=1)
    theta, rest, *_ = np.linalg.lstsq(design, given["means"][0], rcond=None)
    assert theta[0] == pytest.approx(0.5) and np.all(rest < 1e-20)
    assert np.linalg.norm(theta[1:], axis=0) == pytest.approx(0.45)
    # Means of 4,000 rewards around theirs: 5 standard errors of at most 0.5 / sqrt(4,000).
    assert np.abs(given["rewards"].mean(axis=1) - given["means"].mean(axis=1)).max() < 5 * 0.5 / np.sqrt(4_000)
    assert peers_ours.gaps(np.array([[0.1, 0.4], [0.5, 0.2]]), np.array([0, 0])) == pytest.approx(0.3)


def test_a_rule_is_asked_and_told_in_turns():
    """Arm 2 of means 1/4, 1/2, 1 always pays, and the first arm loses 3/4 a round."""
    told = []
    given = {"means": np.array([0.25, 0.5, 1.0]), "horizon": 8, "seconds": 0.0}
    found = peers_arms_side.measure(lambda seed: (lambda: 2, lambda *each: told.append(each)), given, False)
    assert found["values"] == pytest.approx(np.zeros(peers_arms_side.RUNS[0])) and set(told) == {(2, 1.0)}
    assert len(told) == 8 * peers_arms_side.RUNS[0] and 0 < found["us"] < 1e6
    found = peers_arms_side.measure(lambda seed: (lambda: 0, lambda *_: None), given, False)
    assert found["values"] == pytest.approx(6.0)


def test_an_action_is_drawn_with_its_probability():
    rng = np.random.default_rng(0)
    drawn = [peers_arms_side.drawn([0.25, 0.75, 0.0], rng) for _ in range(4_000)]
    # 5 standard errors; probabilities in float32 may sum to less than 1, and an action is drawn all the same.
    assert abs(np.mean(drawn) - 0.75) < 5 * np.sqrt(0.25 * 0.75 / 4_000) and max(drawn) == 1
    assert peers_arms_side.drawn([0.0, 0.0], rng) == 1


@pytest.mark.slow
def test_a_library_answers_from_a_process_of_its_own():
    """scikit-learn is in the environment of the tests: its choice has the best mean over five folds."""
    pytest.importorskip("optuna")
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC

    x, y = (each[:100] for each in peers_worlds.digits(0)[:2])
    given = {"x": x[None], "y": y[None], **peers_worlds.GRID}
    rows = peers.unpacked(peers_shared.answer([sys.executable], peers.SIDES["grid"], "sklearn", given))
    scores = [cross_val_score(SVC(**config), x, y).mean() for config in peers.CONFIGS]
    cost, gamma, claim, fits, seconds = rows[0]["rows"][0]
    assert {"C": cost, "gamma": gamma} == pytest.approx(peers.CONFIGS[int(np.argmax(scores))])
    assert claim == pytest.approx(max(scores)) and fits == 100 and seconds > 0 and f"{claim:.3f}" in rows[0]["said"]
    rows = peers.unpacked(peers_shared.answer([sys.executable], peers.SIDES["grid"], "optuna", given))
    assert [row["rows"].shape for row in rows] == [(1, 5)] * 2 and rows[0]["rows"][0, 3] == 100


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_our_half_measures(monkeypatch):
    pytest.importorskip("optuna")
    monkeypatch.setattr(peers_ours, "REPEATS", 1)
    monkeypatch.setattr(peers_ours, "EACH", 3)
    found = peers.measure(True, [])
    ours = [row for row in found["rows"] if row["library"] == "jaxbandit"]
    assert [row["problem"] for row in ours] == ["arms"] * 2 + ["contexts"] * 2 + ["grid"] * 2
    for row in ours[:4]:
        assert 0 <= row["regret"][0] <= 100 and row["us"] > row["us of many"] > 0
    for row in ours[4:]:
        assert 0.9 < row["worth"][0] <= 1 and row["fits"] >= 20 and row["said"]
    assert "with certainty" in ours[4]["said"]


def test_an_interpreter_that_is_not_there_is_named(capsys):
    with pytest.raises(SystemExit):
        __main__.main(["peers", "--peers", "/no/such/python"])
    assert "peers: /no/such/python is not an interpreter that can be started" in capsys.readouterr().err


def test_an_interpreter_may_be_named_from_the_working_directory(tmp_path, monkeypatch, capsys):
    """As in `--peers .venv/bin/python`: peers run in other directories, where that name leads nowhere."""
    monkeypatch.chdir(Path(sys.executable).parent)
    side = tmp_path / "side.py"
    side.write_text("import numpy as np; np.savez('out.npz', two=np.load('in.npz')['one'] + 1)", encoding="utf-8")

    def measure(quick, interpreters):
        return peers_shared.answer(interpreters, side, "numpy", {"one": 1})

    assert peers_shared.command("peers", "", measure, str, ["--peers", f"./{Path(sys.executable).name}"]) == 0
    assert "'two': array(2)" in capsys.readouterr().out
