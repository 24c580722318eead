"""Which files and directories are touched: nothing through a link, nothing of others, nothing whose digest differs."""

import io
import json
import os
import pickle
import random
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from small_experiment import written

import jaxbandit as jb
from jaxbandit.engine.storage import directories, npz
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json, write_json
from jaxbandit.lab import cli
from jaxbandit.lab.experiments import experiment as running
from jaxbandit.lab.specs import spec
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled
ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array("text"), "c": np.zeros((0, 4), np.int32)}
TWO = {"name": "two", "type": "bernoulli", "means": [0.9, 0.1]}


def run_spec(instance=TWO, **more):
    about = {"name": "small", "runs": 2, "horizon": 10}
    return written("simulate", instance, {"name": "ucb", "type": "ucb1"}, **about | more)


RUN = run_spec()
SESSION = 'kind = "session"\narms = 2\n[[algorithm]]\ntype = "ucb1"\n'
TUNE = """
kind = "tune"
[[algorithm]]
type = "paired_race"
epsilon = 0.5
[configs]
x = [0.0, 1.0]
"""
SCORES = "def score(key, config):\n    import jax\n    return config['x'] + 0.1 * jax.random.normal(key)\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working directory with three specs, a training function and a file of the user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in {"run.toml": RUN, "session.toml": SESSION, "tune.toml": TUNE, "trust_scores.py": SCORES}.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("victim").write_text("precious\n", encoding="utf-8")
    return tmp_path


COMMANDS = {
    "run": ["run", "run.toml", "--out", "d", "--no-cache"],
    "ask": ["ask", "d", "session.toml", "--no-cache"],
    "tune": ["tune", "trust_scores:score", "tune.toml", "--out", "d", "--no-cache"],
    "audit": ["audit", "run.toml", "--out", "d", "--no-cache"],
    "part": ["run", "run.toml", "--out", "d", "--part", "0/2", "--no-cache"],
    "reproduce": ["reproduce", "ucboost/a", "--quick", "--out", "d", "--no-cache"],
}


def refused(capsys, argv):
    """Run a command that must be refused in one line, and return the line."""
    assert cli.main(argv) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and said.err.endswith("\n"), said.err
    return said.err


def names_in(directory):
    return sorted(path.name for path in Path(directory).iterdir())


LINKS = ".lock", "log.jsonl", "summary.json", "provenance.json", "session.json", "tune.png"
OTHERS = "notes.txt", ".hidden", ".lock", "spec.toml", "log.jsonl", "summary.json", ".a.tmp"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "ask", "tune", "part", "reproduce"])
@pytest.mark.parametrize("linked", [True, False])
def test_a_link_and_a_file_of_others_are_refused_and_left_as_they_are(command, linked, place, capsys):
    text = "two\nlines, one of them open"
    Path("victim").write_text(text, encoding="utf-8")
    Path("d").mkdir()
    for name in LINKS if linked else OTHERS:
        file = Path("d", name)
        if linked:
            file.symlink_to(place / "victim")
        else:
            file.write_text(text, encoding="utf-8")
        assert name in refused(capsys, COMMANDS[command])
        assert names_in("d") == [name] and file.read_text(encoding="utf-8") == text
        file.unlink()


@pytest.mark.slow
def test_a_link_in_a_directory_of_ours_is_refused_by_every_command(place, capsys):
    assert cli.main(COMMANDS["run"]) == 0
    names = names_in("d")
    for name in names:
        path = Path("d", name)
        data = path.read_bytes()
        path.unlink()
        path.symlink_to(place / "victim")
        capsys.readouterr()
        assert name in refused(capsys, COMMANDS["run"])
        if name.endswith(".png"):
            assert name in refused(capsys, ["plot", "d"])
        if name.startswith("cell-"):
            assert name in refused(capsys, ["report", "d"])
        path.unlink()
        path.write_bytes(data)
    Path("d", "checkpoint").symlink_to(place)
    assert "checkpoint" in refused(capsys, COMMANDS["run"])
    Path("d", "checkpoint").unlink()
    Path("d", "report.html").symlink_to(place / "victim")
    assert "report.html" in refused(capsys, ["report", "d"])
    Path("d", "report.html").unlink()
    os.mkfifo("d/.lock")
    assert ".lock" in refused(capsys, COMMANDS["run"])
    assert Path("victim").read_text(encoding="utf-8") == "precious\n"
    Path("d", ".lock").unlink()
    assert names_in("d") == names and cli.main(COMMANDS["run"]) == 0


@pytest.mark.slow
def test_a_lock_or_log_with_another_name_is_refused(place, capsys):
    Path("d").mkdir()
    Path("victim").write_text("", encoding="utf-8")  # what a lock file may contain
    os.link("victim", "d/.lock")
    assert "hard link" in refused(capsys, COMMANDS["run"])
    Path("d", ".lock").unlink()
    assert cli.main(COMMANDS["ask"]) == 0
    os.link("d/log.jsonl", "other")
    capsys.readouterr()
    assert "hard link" in refused(capsys, COMMANDS["ask"])
    assert names_in("d") == ["certificate.json", "log.jsonl", "session.json"]


@pytest.mark.slow
def test_a_command_does_not_write_into_the_directory_of_another(place, capsys):
    assert cli.main(COMMANDS["run"]) == 0
    before = {name: Path("d", name).read_bytes() for name in names_in("d")}
    for command in ("ask", "tune", "reproduce"):
        capsys.readouterr()
        refused(capsys, COMMANDS[command])
    results = jb.load("d")
    for save in (lambda: jb.save(results, "."), lambda: jb.save(results, ".", replace=True)):
        with pytest.raises(BadInput, match="holds files of others"):
            save()
    assert {name: Path("d", name).read_bytes() for name in names_in("d")} == before
    assert Path("run.toml").exists()


@pytest.mark.slow
def test_results_are_replaced_only_where_results_are(place):
    result = jb.simulate(jb.algorithms.ucb1(2), jb.environments.bernoulli([0.9, 0.1]), horizon=10, num_runs=2)
    Path("mine").mkdir()
    Path("mine", "summary.json").write_text("{}", encoding="utf-8")
    with pytest.raises(BadInput, match="holds files of others"):
        result.save("mine", replace=True)
    assert names_in("mine") == ["summary.json"]
    result.save("ours")
    Path("ours", "notes.txt").write_text("mine", encoding="utf-8")  # added by the user: left alone
    with pytest.raises(BadInput, match="already holds results"):
        result.save("ours")
    result.save("ours", replace=True)
    assert "notes.txt" in names_in("ours")


@pytest.mark.slow
def test_what_a_killed_process_left_is_no_obstacle_and_is_removed(place):
    out = Path("d")
    out.mkdir()
    (out / ".lock").write_text("process 1 on elsewhere", encoding="utf-8")
    (out / f".jaxbandit-{'0' * 16}.tmp").write_bytes(b"half")
    experiment = spec.load("run.toml")
    running.run_experiment(experiment, out)
    assert not list(out.glob(".*"))
    (out / f".jaxbandit-{'0' * 16}.tmp").write_bytes(b"half")
    (out / ".other.tmp").write_bytes(b"of the user")
    running.run_experiment(experiment, out)
    assert {name for name in names_in(out) if name.startswith(".")} == {".other.tmp"}


def test_temporary_files_are_new_and_have_names_that_nobody_can_guess(tmp_path, monkeypatch):
    seen = []
    for _ in range(3):
        with storage.replacing(tmp_path / "x") as file:
            seen += [path.name for path in tmp_path.iterdir() if path.name != "x"]
            file.write(b"1")
    assert len(set(seen)) == 3
    monkeypatch.setattr("secrets.token_hex", lambda n: "0" * 2 * n)
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / f".jaxbandit-{'0' * 16}.tmp").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        storage.write_bytes(tmp_path / "x", b"2")
    assert (tmp_path / "victim").read_bytes() == b"precious"


def test_every_flipped_bit_of_an_array_file_is_seen(tmp_path):
    path = tmp_path / "x.npz"
    storage.write_arrays(path, ARRAYS)
    good = path.read_bytes()
    for name, array in np.load(path).items():  # NumPy alone can read it
        np.testing.assert_array_equal(array, ARRAYS[name])
    for bit in range(8 * len(good)):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="digest"):
            npz.decode(bytes(damaged))
    for length in range(len(good)):
        with pytest.raises(ValueError, match="digest"):
            npz.decode(good[:length])
    path.write_bytes(good)
    assert {name: x.tolist() for name, x in storage.read_arrays(path, storage.RECOMPUTE).items()} == {
        name: x.tolist() for name, x in ARRAYS.items()
    }


def test_a_flipped_bit_of_a_large_array_file_is_seen():
    good = npz.encode({"a": np.zeros(2**18)})  # 2 MiB; digests are taken of parts of one
    for byte in (100, 2**20 + 100, len(good) - 200):
        damaged = bytearray(good)
        damaged[byte] ^= 1
        with pytest.raises(ValueError, match="digest"):
            npz.decode(bytes(damaged))


def sealed(members, compression=zipfile.ZIP_STORED):
    """An archive with a right digest that holds these members, as somebody could make it on purpose."""
    file = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    end = len(file.getvalue()) - 2
    comment = b"sha256:" + npz._digest(file, end)
    return file.getvalue()[:end] + len(comment).to_bytes(2, "little") + comment


def header(text):
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def npy(array, pickled=False):
    np.save(file := io.BytesIO(), array, allow_pickle=pickled)
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        sealed([("a.npy", header("{'descr': '<f8', 'fortran_order': False, 'shape': (10**15,)}\n"))]),
        sealed([("a.npy", header("{'descr': '<f8', 'fortran_order': False, 'shape': (1" + "0" * 15 + ",)}\n"))]),
        sealed([("a.npy", header("{'descr': '<f8', 'fortran_order': False, 'shape': (1" + "0" * 26 + ",)}\n"))]),
        sealed([("a.npy", header("(" * 100))]),
        sealed([("a.npy", npy(np.array([None]), pickled=True))]),
        sealed([("a.npy", b"")]),
        sealed([("a.npy", npy(np.zeros(3)) + b"more")]),
        sealed([("a.npy", npy(np.zeros(3))), ("a.npy", npy(np.ones(3)))]),
        sealed([("a.npy", npy(np.zeros(10**6)))], zipfile.ZIP_DEFLATED),
        npy(np.zeros(3)),
        b"",
        b"PK",
    ],
)
def test_an_array_file_made_on_purpose_is_refused_in_one_line(data, tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"x\.npz: damaged") as error:
        storage.read_arrays(path, storage.RECOMPUTE)
    assert "\n" not in str(error.value) and len(str(error.value)) < 500


class Touch:
    """An object whose unpickling makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_no_code_that_an_array_file_holds_is_run(tmp_path):
    code = pickle.dumps(Touch(tmp_path / "made"))
    size = -(len(code) // -8)  # objects of 8 bytes each, as the header says
    about = f"{{'descr': '|O', 'fortran_order': False, 'shape': ({size},)}}\n"
    with pytest.raises(ValueError, match="does not hold plain arrays"):
        npz.decode(sealed([("a.npy", header(about) + code.ljust(8 * size))]))
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_every_damaged_json_file_is_refused_in_one_line(tmp_path):
    path, chance = tmp_path / "x.json", random.Random(1)
    content = {"name": "a", "cells": [1.5, 2], "more": {"é": [True, None]}}
    write_json(path, content)
    assert read_json(path, storage.RECOMPUTE) == content and json.loads(path.read_text())["name"] == "a"
    good = path.read_bytes()
    bad = [good[:n] for n in range(len(good))]
    for bit in range(8 * len(good)):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        bad.append(bytes(damaged))
    bad += [b"[" * 10**5, b"null", b"1" * 5000, b"{}", bytes(chance.randrange(256) for _ in range(100))]
    for data in bad:
        path.write_bytes(data)
        with pytest.raises(BadInput, match=r"x\.json: damaged") as error:
            read_json(path, storage.RECOMPUTE)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_only_regular_files_are_read_and_replaced(kind, tmp_path):
    path = tmp_path / "x.npz"
    if kind == "link":
        storage.write_arrays(tmp_path / "other", ARRAYS)
        path.symlink_to(tmp_path / "other")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    for action in (
        lambda: storage.read_arrays(path, storage.RECOMPUTE),
        lambda: storage.read_bytes(path),
        lambda: storage.write_bytes(path, b""),
        lambda: storage.open_in_place(path),
    ):
        with pytest.raises(BadInput, match=r"must be a regular file"):
            action()


def test_a_directory_is_ours_if_it_is_missing_empty_or_marked(tmp_path):
    assert not directories.require_ours(tmp_path / "missing", "mark")
    assert not directories.require_ours(tmp_path, "mark")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "mark").write_bytes(b"")
    with pytest.raises(BadInput, match=r"holds files of others \(inner\), must be empty or hold mark or a/\* of an"):
        directories.require_ours(tmp_path, "mark", "a/*")
    assert directories.require_ours(tmp_path, "mark", "*/mark")
    (tmp_path / "inner" / "deep").symlink_to(tmp_path)
    with pytest.raises(BadInput, match=r"deep: is a link"):
        directories.require_ours(tmp_path, "*/mark")
    (tmp_path / "linked").symlink_to(tmp_path / "inner" / "mark")
    with pytest.raises(BadInput, match="is a file, must be a directory"):
        directories.require_ours(tmp_path / "linked", "mark")


@pytest.mark.slow
def test_merge_imports_what_directories_name_only_if_asked(place, capsys):
    Path("evil_arms.py").write_text(
        "from pathlib import Path\nfrom jaxbandit.environments import bernoulli\nPath('imported').touch()\n\n\n"
        "def mine():\n    return bernoulli([0.9, 0.1])\n",
        encoding="utf-8",
    )
    Path("run.toml").write_text(run_spec({"type": "evil_arms:mine"}), encoding="utf-8")
    for part in ("0/2", "1/2"):
        assert cli.main(["run", "run.toml", "--out", "d", "--part", part, "--no-cache"]) == 0
    Path("imported").unlink()
    capsys.readouterr()
    sys.modules.pop("evil_arms")
    assert '"evil_arms:mine", names code outside the package, which is not imported' in refused(capsys, ["merge", "d"])
    assert not Path("imported").exists()
    assert cli.main(["merge", "d", "--import"]) == 0 and Path("imported").exists()


@pytest.mark.slow
def test_a_report_of_arrays_that_are_none_of_a_search_is_refused_in_one_line(place, capsys):
    assert cli.main(COMMANDS["tune"]) == 0
    about = {path: path.read_bytes() for path in (Path("d/result.json"), Path("d/table.npz"), Path("d/history.npz"))}
    good, history = (storage.read_arrays(Path(f"d/{name}.npz"), storage.RESTORE) for name in ("table", "history"))
    bad = [("table", {k: v for k, v in good.items() if k != name}) for name in ("pulls", "survivor")]
    bad += [
        ("table", good | {"high": good["high"][:1]}),
        ("table", good | {"high": good["high"].astype(str)}),
        ("table", good | {"low": np.zeros((2, 1))}),
        ("history", {"batch": history["batch"], "config": history["config"][:-1]}),
    ]
    for name, arrays in bad:
        storage.write_arrays(Path(f"d/{name}.npz"), arrays)
        capsys.readouterr()
        assert "its digest differs from the stored one" in refused(capsys, ["report", "d"])
        content = read_json(Path("d/result.json"), storage.RESTORE)
        content["sha256"][name] = storage.digest(Path(f"d/{name}.npz"))  # somebody made it on purpose
        write_json(Path("d/result.json"), content)
        assert "does not belong to result.json" in refused(capsys, ["report", "d"])
        for path, data in about.items():
            path.write_bytes(data)
    assert cli.main(["report", "d"]) == 0


def test_files_are_as_open_as_the_user_wants_and_hold_no_nan(tmp_path):
    before = os.umask(0o027)
    try:
        storage.write_bytes(tmp_path / "a", b"")
        os.close(storage.open_in_place(tmp_path / "b"))
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in "ab"] == [0o640, 0o640]
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "c", {"x": float("nan")})
    (tmp_path / "c").write_text('{"x": NaN, "json_sha256": "0"}', encoding="utf-8")
    with pytest.raises(BadInput, match="damaged, not JSON"):
        read_json(tmp_path / "c", storage.RECOMPUTE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["provenance.json", "summary.json", "cell-000.json", "history.npz"])
def test_a_file_of_the_user_with_the_name_of_a_mark_is_left_alone(name, place, capsys):
    Path("d").mkdir()
    Path("d", name).write_text('{"mine": 1}', encoding="utf-8")
    for command in ("run", "part", "tune"):
        refused(capsys, COMMANDS[command])
    result = jb.simulate(jb.algorithms.ucb1(2), jb.environments.bernoulli([0.9, 0.1]), horizon=10, num_runs=2)
    with pytest.raises(BadInput):
        result.save("d", replace=True)
    with pytest.raises(BadInput):
        jb.tune(
            lambda key, config: config["x"], {"x": np.arange(2.0)}, jb.algorithms.sequential_halving(2, budget=4)
        ).save("d")
    assert names_in("d") == [name] and Path("d", name).read_text(encoding="utf-8") == '{"mine": 1}'


def test_what_a_terminal_would_obey_is_printed_with_escapes(place, capsys):
    from jaxbandit.support import text

    hostile = "a\x1b[31m\x9b\x07\rb\u202e\n"
    assert text.printable(hostile) == r"a\x1b[31m\x9b\x07\rb\u202e\n" and text.printable("é 日") == "é 日"
    assert text.align([["name"], [hostile]]).endswith("\n" + text.printable(hostile))
    assert cli.main(["run", "no\x1b[31m.toml"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_refused_call_keeps_what_an_earlier_one_has_begun(place, capsys):
    assert cli.main(COMMANDS["run"]) == 0
    for path in Path("d").glob("[!sp]*"):
        path.unlink()
    Path("d/summary.json").unlink()
    assert names_in("d") == ["provenance.json", "spec.toml"]  # as if the first call had been killed here
    before = {name: Path("d", name).read_bytes() for name in names_in("d")}
    Path("run.toml").write_text(run_spec(horizon=11), encoding="utf-8")
    capsys.readouterr()
    assert "belongs to another experiment" in refused(capsys, COMMANDS["run"])
    assert {name: Path("d", name).read_bytes() for name in names_in("d")} == before
