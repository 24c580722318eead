"""What shows a newcomer how to begin: `list`, `show`, `new`, `completion`, and the estimate of `run --dry-run`."""

import json
import operator
import os
import subprocess
import sys
import tomllib

import pytest
from small_experiment import TWO, UCB1, written
from tiers import offenders

import jaxbandit
from jaxbandit.lab import cli
from jaxbandit.lab.experiments import forecast
from jaxbandit.lab.specs import search, session, source, spec
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, WRAPPERS
from jaxbandit.support import text

pytestmark = pytest.mark.quickly_compiled


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)


def printed(capsys, *argv: str) -> str:
    assert cli.main(argv) == 0
    return capsys.readouterr().out


def refused(capsys, *argv: str) -> str:
    assert cli.main(argv) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_listing_fits_80_columns_and_one_group_is_a_part_of_it(capsys):
    everything = printed(capsys, "list")
    assert max(map(len, everything.splitlines())) <= 80
    some = printed(capsys, "list", "--kind", "identify")
    assert len(everything.splitlines()) <= 80 and all(f" {name}" in everything for name in ALGORITHMS)
    about = printed(capsys, "list", "DUEL")
    assert "  rucb " in about and "  thompson " not in about and max(map(len, about.splitlines())) <= 80
    assert "occurs in no name" in refused(capsys, "list", "no such thing")
    assert "  lingape " in some and "  ucb1 " not in some and "  bernoulli " not in some
    found = json.loads(printed(capsys, "list", "--kind", "identify", "--json"))
    assert [row["name"] for row in found["algorithms"]] == [e.name for e in ALGORITHMS.values() if e.kind == "identify"]
    assert set(found) == {"algorithms"}
    assert "kind" in refused(capsys, "list", "--kind", "regret")


@pytest.mark.slow
def test_what_is_shown_of_a_factory_is_its_signature_and_its_docstring(capsys):
    def check(name):
        found = json.loads(printed(capsys, "show", name, "--json"))["entries"]
        for each in found:
            entries = {"algorithm": ALGORITHMS, "wrapper": WRAPPERS, "environment": ENVIRONMENTS}[each["group"]]
            assert [a["name"] for a in each["arguments"]] == list(entries[name].parameters())
            assert all(a["meaning"] for a in each["arguments"]), name
            assert each["description"]
            assert each["group"] == "environment" or each.get("source"), name
            tomllib.loads(each["toml"])
            assert operator.attrgetter(each["python"].partition("jb.")[2].partition("(")[0])(jaxbandit)
        shown = printed(capsys, "show", name).partition(", an embedded experiment")[0]
        assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("  # ")), name

    assert not offenders(check, [*ALGORITHMS, *WRAPPERS, *ENVIRONMENTS])


def test_a_name_of_an_experiment_shows_its_toml_and_of_a_paper_its_commands(capsys):
    assert tomllib.loads(printed(capsys, "show", "five_arms").partition("\n\n")[2])["name"] == "five-arms"
    both = printed(capsys, "show", "crowd")
    assert "dataset (required)" in both and 'dataset = "it"' in both
    assert "jaxbandit reproduce lingape/figure1" in printed(capsys, "show", "lingape")
    assert "did you mean 'ucboost'?" in refused(capsys, "show", "ucbost")


READERS = {"simulate": spec.load, "identify": spec.load, "tune": search.load, "session": session.load}


@pytest.mark.parametrize("kind", READERS)
def test_a_new_file_is_an_experiment_that_can_be_read(kind, tmp_path, capsys):
    path = tmp_path / "two-arms.toml"
    assert printed(capsys, "new", str(path), "--kind", kind) == f"{path}\n"
    assert READERS[kind](path).name == "two-arms"
    assert source.read(path)["kind"] == kind
    assert str(path) in path.read_text(encoding="utf-8").partition("name =")[0]


def test_a_new_file_replaces_nothing(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text("mine", encoding="utf-8")
    assert "exists" in refused(capsys, "new", str(path)) and path.read_text(encoding="utf-8") == "mine"
    assert ".toml" in refused(capsys, "new", str(tmp_path / "mine"))
    assert "cannot be written" in refused(capsys, "new", str(tmp_path / "none" / "mine.toml"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell, capsys):
    script = printed(capsys, "completion", shell)
    assert all(word in script for word in ("reproduce", "dry-run", "jaxbandit"))


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_the_names_that_commands_take(shell, capsys):
    """The script asks Python, whose code stands in it between two lines with PYTHON_EOF."""
    names = {"__name__": "script"}
    exec(printed(capsys, "completion", shell).split("PYTHON_EOF")[1].partition("\n")[2], names)

    def completed(line):
        words = line.split()
        found = names["get_completions"](["jaxbandit", *words], len(words), names["COMPLETION_SPEC"])
        return [word.partition("\t")[0] for word in "\n".join(found).split("\n")]

    assert completed("show kl_ucb_p") == ["kl_ucb_plus", "kl_ucb_plus_plus"]
    assert completed("show delay") == ["delayed"]
    assert completed("run five") == ["five_arms"] and completed("run thomp") == [""]
    assert completed("reproduce u") == ["ucboost"] and completed("reproduce five") == [""]
    assert completed("run five_arms --dry") == ["--dry-run"]


@pytest.mark.slow
@pytest.mark.parametrize("no_color", ["", "1"])
def test_help_at_a_terminal_has_no_color_where_none_is_wanted(no_color):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    code = "import sys; from jaxbandit.lab.cli import main; sys.exit(main(['list', '--help']))"
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": no_color}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    assert process.wait() == 0 and b"--kind" in shown
    assert (b"\x1b[" in shown) == (not no_color)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""


HEAD = ("instance", "algorithm", "samples", "95 % interval", "error")
ROW = ("it", "kl", "7" * 40, "[1, 2]", "0.5" + "0" * 30)


def test_a_wide_table_is_divided_and_repeats_its_keys(monkeypatch):
    parts = [part.splitlines() for part in text.align([HEAD, ROW], right=(2,), keys=2).split("\n\n")]
    assert [part[0].split() for part in parts] == [
        ["instance", "algorithm", "samples", "95", "%", "interval"],  # an interval stays with its estimate
        ["instance", "algorithm", "error"],
    ]
    assert max(len(line) for part in parts for line in part) <= 80
    assert [part[2].split()[:3] for part in parts] == [["it", "kl", ROW[2]], ["it", "kl", ROW[4]]]
    assert "\n\n" not in text.align([HEAD, ROW], right=(2,))
    monkeypatch.setenv("COLUMNS", "200")
    assert text.align([HEAD, ROW], right=(2,), keys=2) == text.align([HEAD, ROW], right=(2,))


SIMULATE = written("simulate", TWO, UCB1 | {"c": {"sweep": [0.0, 3.0]}}, runs=64, horizon=2000)


@pytest.mark.slow
def test_a_dry_run_tells_what_a_run_would_take_and_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(forecast, "SECONDS", 0.0)
    (tmp_path / "it.toml").write_text(SIMULATE, encoding="utf-8")
    found = json.loads(printed(capsys, "run", "it.toml", "--dry-run", "--json"))["cells"]
    assert [cell["run_steps"] for cell in found] == [64 * 2000] * 2
    marks = len(spec.load("it.toml").checkpoints)
    assert [cell["kept_bytes"] for cell in found] == [64 * (1 + 4 * marks + 4 * 2)] * 2
    compiled, shared = (cell["seconds"]["compile"] for cell in found)
    assert compiled > 0 and shared == 0  # a sweep is one program
    shown = printed(capsys, "run", "it.toml", "--dry-run")
    assert "ucb1?c=3" in shown and "2 cells, 256,000 run-steps" in shown
    assert [path.name for path in tmp_path.iterdir()] == ["it.toml"]


@pytest.mark.slow
@pytest.mark.parametrize(("most", "known"), [(100_000, True), (4, False)])
def test_seconds_of_runs_that_stop_are_said_once_enough_have_ended(most, known, tmp_path, monkeypatch):
    path = tmp_path / "it.toml"
    text = written("identify", TWO, {"type": "lucb", "delta": 0.05}, runs=32, max_rounds=most)
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(forecast, "SECONDS", 0.0)
    watch = forecast._Watch(True, 32)
    assert watch.enough == 16
    (found,) = forecast.forecast(spec.load(path))
    assert found.stops and found.rounds == most and found.summary()["max_run_steps"] == 32 * most
    assert found.seconds is not None and "nothing was kept" in forecast.table([found])
