"""The process of the command line: its streams, signals, files of any kind, sizes, and what a refusal leaves behind."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from small_experiment import TWO, UCB1, written

import jaxbandit as jb
from jaxbandit.lab import cli
from jaxbandit.lab.specs import source
from jaxbandit.support import reading

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

ROOT = str(Path(jb.__file__).parents[1])
SPEC = written("simulate", {"name": "é☃"} | TWO, {"name": "ü"} | UCB1, name="s", runs=4, horizon=50)
RULE = {"type": "lucb", "delta": 0.1}
STOPS = written("identify", {"type": "gaussian", "means": [0.0, 3.0]}, RULE, name="i", runs=8, max_rounds=1000)
SESSION = """
kind = "session"
name = "e"
arms = ["é", "☃"]
[[algorithm]]
type = "betting_race"
delta = 0.1
"""
TUNE = """
kind = "tune"
name = "t"
[configs]
name = ["é", "☃"]
[[algorithm]]
type = "sequential_halving"
budget = 8
"""
OWN = """
    import contextlib, os
    import jaxbandit as jb

    print("imported")
    with contextlib.suppress(OSError):
        os.write(1, b"written by C\\n")

    def train(key, config):
        print("training")
        return 0.5 + (config["name"] == "é")

    def plain(num_arms: int):
        return jb.algorithms.ucb1(num_arms)

    def broken(num_arms: int):
        return jb.algorithms.ucb1(num_arms)._replace(update=lambda state, context, action, feedback: (state, 1))
"""
SEVERAL = """
    import json, sys
    from jaxbandit.lab.cli import command_line, streams
    streams.prepare()
    for argv in json.loads(sys.argv[1]):
        sys.argv[1:] = argv
        print("status", command_line._run_process(), argv[0], flush=True)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"s.toml": SPEC, "i.toml": STOPS, "e.toml": SESSION, "t.toml": TUNE, "own.py": textwrap.dedent(OWN)}
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("own", None)


def environment(**more):
    # Locales of C are otherwise replaced by one of UTF-8.
    path = os.pathsep.join([ROOT, os.getcwd()])
    return os.environ | {"PYTHONPATH": path} | more


def command(*argv, shell="", **more):
    """Run the command in a process of its own, with redirections of a shell."""
    words = " ".join(f"'{word}'" for word in (sys.executable, "-m", "jaxbandit", *argv))
    return subprocess.run(
        ["sh", "-c", f"{words} {shell}"], capture_output=True, text=True, timeout=120, env=environment(**more)
    )


def several(commands, **more):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SEVERAL), json.dumps(commands)],
        capture_output=True,
        timeout=300,
        env=environment(**more),
    )


ALL = [
    ["list"],
    ["run", "s.toml", "--out", "é"],
    ["plot", "é"],
    ["report", "é"],
    ["compare", "é", "é"],
    ["show", "kl_ucb"],
    ["new", "é.toml"],
    ["ask", "d", "e.toml"],
    ["tell", "d", "0=0.5"],
    ["status", "d"],
    ["tune", "own:train", "t.toml", "--out", "ö"],
    ["run", "s.toml", "--out", "p", "--part", "0/1"],
    ["merge", "p"],
]


@pytest.mark.parametrize("how", ["PYTHONIOENCODING", "LC_ALL"])
def test_any_name_is_printed_on_any_stdout(how, here):
    ascii_only = {"PYTHONIOENCODING": "ascii"} if how == "PYTHONIOENCODING" else {"LC_ALL": "C", "PYTHONUTF8": "0"}
    # Without UTF-8 in the locale, Python cannot name such a file; figures get a name with escapes.
    less = [[w.replace("é", "f").replace("ö", "g") for w in a] for a in ALL if a[0] in ("run", "ask", "status", "tune")]
    commands = ALL if how == "PYTHONIOENCODING" else less
    wrong = ["run", "s.toml", "--set", "instance.é☃.means=3"]
    done = several([*commands, wrong], PYTHONCOERCECLOCALE="0", **ascii_only)
    out, err = done.stdout.decode("ascii"), done.stderr.decode("ascii")
    expected = [*(f"status 0 {argv[0]}" for argv in commands), "status 2 run"]
    assert [line for line in out.splitlines() if line.startswith("status ")] == expected
    assert r"\xe9\u2603" in out and r"\xfc" in out  # names of the instance and of the algorithm
    assert "Traceback" not in err and err.splitlines()[-1].startswith(r"jaxbandit: --set instance.\xe9\u2603.means=3: ")


FULL = (
    "jaxbandit: stdout cannot be written (No space left on device); what the command has stored is kept; run it again\n"
)


@pytest.mark.parametrize(
    "argv", [["list"], ["list", "--json"], ["show", "kl_ucb"], ["--help"], ["--version"], ["completion", "bash"]]
)
def test_a_full_stdout_is_one_line_and_status_3(argv, here):
    done = command(*argv, shell=">/dev/full")
    assert (done.returncode, done.stderr) == (3, FULL)


@pytest.mark.parametrize("argv", [["run", "s.toml"], ["tune", "own:train", "t.toml"]])
def test_a_full_stdout_keeps_the_results(argv, here, capsys):
    done = command(*argv, shell=">/dev/full")
    lines = done.stderr.splitlines(keepends=True)
    lines = [line for line in lines if line.startswith("jaxbandit:") and " so far" not in line]  # a slow machine
    assert (done.returncode, lines) == (3, [FULL]) and "Traceback" not in done.stderr
    assert any(Path(f"{argv[1 if argv[0] == 'run' else 2][:1]}-{end}").is_dir() for end in ("result", "tune"))
    assert cli.main(argv) == 0 and capsys.readouterr().out  # the same command, here


def test_closed_streams_do_not_stop_a_command(here):
    assert command("list", shell=">&-").returncode == 0
    done = command("show", "nothing", shell="2>&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert command("list", shell="2>&-").stdout == command("list").stdout
    assert command("list", shell="<&- >&- 2>&-").returncode == 0
    assert command("show", "nothing", shell="2>/dev/full").returncode == 2
    assert command("list", shell="| head -1").stderr == ""


@pytest.mark.parametrize("shell", ["2>/dev/full", ">&- 2>&-"])
def test_a_run_without_stderr_is_played(shell, here):
    done = command("run", "s.toml", "--out", "d", shell=shell)
    assert done.returncode == 0 and ("regret after 50 rounds" in done.stdout) == (">&- 2" not in shell)
    assert len(jb.load("d")) == 1


def test_python_without_stderr_plays(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    result = jb.simulate(jb.algorithms.ucb1(2), jb.environments.bernoulli(np.array([0.1, 0.9])), horizon=50, num_runs=4)
    assert result.runs == 4


def test_stdout_holds_only_the_document(here):
    Path("o.toml").write_text(SPEC.replace('"ucb1"', '"own:plain"'), encoding="utf-8")
    for argv in (
        ["tune", "own:train", "t.toml", "--json"],
        ["run", "o.toml", "--json", "--executor", "processes:1"],
        ["list", "--from", "own", "--json"],
        ["show", "own:plain", "--json"],
    ):
        done = command(*argv)
        if argv[0] in ("list", "show"):  # refused, because nothing in the module declares itself
            assert (done.returncode, done.stdout) == (2, "")
        else:
            assert done.returncode == 0, done.stderr
            assert isinstance(json.loads(done.stdout), dict)
        assert "imported" in done.stderr and "written by C" in done.stderr
        assert argv[0] != "tune" or "training" in done.stderr


def test_stdout_holds_only_the_document_in_a_process_of_the_users_own(here, capsys):
    assert cli.main(["tune", "own:train", "t.toml", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["name"] == "t" and "training" in captured.err and "imported" in captured.err
    assert cli.main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["algorithms"]


BEGINS = """
    import signal, sys, os, time
    import {parent}  # not to count the start of the interpreter
    from importlib import abc

    class Stop(abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            if name == "{module}":
                os.kill(os.getpid(), signal.{number})
                time.sleep(10)  # the import would take so long: otherwise the command may end first, with status 0

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.meta_path.insert(0, Stop())
    sys.argv[:] = ["jaxbandit", "list"]
    import runpy
    runpy.run_module("jaxbandit", run_name="__main__")
"""


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    "module", ["jaxbandit.lab.cli.command_line", "jaxbandit.lab.cli.signals", "tyro", "jaxbandit.lab.specs"]
)
def test_a_signal_while_modules_are_imported_is_one_line_and_status_3(module, number):
    code = textwrap.dedent(BEGINS.format(parent="jaxbandit", module=module, number=number))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment())
    assert (done.returncode, done.stderr) == (3, "jaxbandit: interrupted; run the same command to resume\n")
    assert done.stdout == ""


def run(*argv, capsys):
    """Return the status and the one line that a refused command says."""
    status = cli.main([str(word) for word in argv])
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and captured.out == ""
    return status, captured.err


def test_a_byte_order_mark_is_no_part_of_the_text(here, capsys):
    Path("bom.toml").write_bytes(b"\xef\xbb\xbf" + SPEC.replace("\n", "\r\n").encode())
    assert cli.main(["run", "bom.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "s"
    Path("bom.toml").write_bytes(b"\xef\xbb\xbf" + SESSION.encode())
    assert cli.main(["ask", "d", "bom.toml"]) == 0
    Path("scores.json").write_bytes(b"\xef\xbb\xbf" + b'{"0": 0.5}')
    assert cli.main(["tell", "d", "scores.json"]) == 0


FILES = {
    "UTF-16": (SPEC.encode("utf-16"), "is not text in UTF-8 (byte 0x"),
    "Latin-1": (b'name = "\xe9"', "is not text in UTF-8 (byte 0xe9 at position 8); save it as UTF-8"),
    "null bytes": (b"\0\0", "not valid TOML"),
    "nothing": (b"", "kind: missing"),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("argv", [["run"], ["audit"], ["ask", "d"], ["tune", "own:train"]], ids=lambda argv: argv[0])
def test_other_text_is_refused_in_one_line(argv, kind, here, capsys):
    content, said = FILES[kind]
    Path("bad.toml").write_bytes(content)
    status, err = run(*argv, "bad.toml", capsys=capsys)
    assert status == 2 and said in err
    assert sorted(os.listdir()) == sorted({"bad.toml", "s.toml", "i.toml", "e.toml", "t.toml", "own.py"})


@pytest.mark.parametrize(
    "argv", [["run"], ["ask", "d"], ["tune", "own:train"], ["tell", "d"]], ids=lambda argv: argv[0]
)
def test_what_is_no_file_is_refused_in_one_line(argv, here, capsys, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST", 2**20)
    monkeypatch.setattr(reading, "PIPE_SECONDS", 0.05)
    if argv[0] == "tell":
        assert cli.main(["ask", "d", "e.toml"]) == 0
        capsys.readouterr()
    os.mkfifo("pipe")
    Path("long").touch()
    os.truncate("long", 2**40)
    for path, said in (
        (".", "cannot be read (Is a directory)"),
        ("/dev/full", "is a device"),
        ("/dev/zero", "is a device"),
        ("long", "has more than 1 MiB"),
        ("pipe", "nobody has written"),
        ("x" * 5000, "no such file" if argv[0] == "run" else "cannot be read (File name too long)"),
        ("y\0.toml", "null"),
        ("-", "no such file" if argv[0] == "run" else "No such file"),
    ):
        status, err = run(*argv, path, capsys=capsys)
        assert status == 2 and said in err and len(err) < 600, err
    assert os.path.exists("d") == (argv[0] == "tell")


def test_a_pipe_is_read(here, capsys):
    os.mkfifo("pipe.toml")

    def write():
        with open("pipe.toml", "w", encoding="utf-8") as file:
            time.sleep(0.2)
            file.write(SPEC[:20])
            file.flush()
            time.sleep(0.2)
            file.write(SPEC[20:])

    writer = threading.Thread(target=write)
    writer.start()
    assert source.read(Path("pipe.toml"))["runs"] == 4
    writer.join()


def test_equal_configurations_are_refused_with_both_rows(here, capsys):
    Path("c.csv").write_text("lr,wide\n0.1,a\n0.2,a\n0.10,a\n", encoding="utf-8")
    Path("e.toml").write_text(SESSION.replace('arms = ["é", "☃"]', 'configs = "c.csv"'), encoding="utf-8")
    status, err = run("ask", "d", "e.toml", capsys=capsys)
    assert status == 2 and "row 4 is the same configuration as row 2; leave one of them out" in err
    rows = "configs = [{a = 1}, {a = true}, {a = 2}, {a = 2.0}]"
    Path("e.toml").write_text(SESSION.replace('arms = ["é", "☃"]', rows), encoding="utf-8")
    status, err = run("ask", "d", "e.toml", capsys=capsys)
    assert status == 2 and "configs: [3] is the same configuration as [2]" in err
    Path("t.toml").write_text(TUNE.replace('["é", "☃"]', "[0.1, 0.2, 0.1]"), encoding="utf-8")
    status, err = run("tune", "own:train", "t.toml", capsys=capsys)
    assert status == 2 and "configs.name[2] = 0.1, must be different from the entry [0]" in err
    many = "\n".join(f"{name} = {list(range(200))}" for name in "abc")
    Path("t.toml").write_text(TUNE.replace('name = ["é", "☃"]', many), encoding="utf-8")
    status, err = run("tune", "own:train", "t.toml", capsys=capsys)
    assert status == 2 and "8,000,000 combinations, must be at most 1,000,000" in err
    assert not Path("d").exists() and not Path("t-tune").exists()


def test_a_refusal_leaves_no_directory(here, capsys):
    Path("broken.toml").write_text(SPEC.replace('"ucb1"', '"own:broken"'), encoding="utf-8")
    assert cli.main(["run", "s.toml", "--out", "p", "--part", "0/2"]) == 0
    capsys.readouterr()
    for argv in (
        ["run", "broken.toml", "--out", "a/b/c"],
        ["merge", "p", "--out", "a/b/c"],
        ["ask", "a/b/c", "e.toml", "--n", "0"],
        ["ask", "a/b/c", "e.toml", "--context", "1"],
        ["run", "s.toml", "--out", f"a/b/{'x' * 300}"],
    ):
        status = cli.main(argv)
        assert status == 2 and not Path("a").exists(), argv
    Path("a").mkdir()  # one that was there stays, and so do its files
    assert cli.main(["run", "broken.toml", "--out", "a"]) == 2
    assert os.listdir("a") == []
    assert cli.main(["ask", "e", "e.toml"]) == 0
    assert cli.main(["ask", "e", "e.toml", "--n", "0"]) == 2
    assert {"session.json", "log.jsonl"} <= set(os.listdir("e"))


LONG = "x" * 5000


@pytest.mark.parametrize(
    "argv",
    [
        ["run", LONG],
        ["run", "s.toml", "--out", LONG],
        ["run", "s.toml", "--runs", LONG],
        ["run", "s.toml", "--executor", LONG],
        ["run", "s.toml", "--set", f"name='{LONG}'"],
        ["run", "s.toml", "--set", f"algorithm.0.name='{LONG}'"],
        ["run", "s.toml", "--set", f"algorithm.0.type='{LONG}'"],
        ["run", "s.toml", "--set", f"{LONG}=1"],
        ["audit", "i.toml", "--confidence", LONG],
        ["reproduce", LONG],
        ["plot", LONG],
        ["report", LONG],
        ["compare", LONG, LONG],
        ["merge", LONG],
        ["ask", LONG, "e.toml"],
        ["tell", LONG, "0=1"],
        ["status", LONG],
        ["tune", LONG, "t.toml"],
        ["show", LONG],
        ["new", f"{LONG}.toml"],
        ["list", "--kind", LONG],
        ["list", "--from", LONG],
        [LONG],
    ],
    ids=lambda argv: " ".join(word[:12] for word in argv),
)
def test_a_name_of_5000_characters_is_one_line(argv, here, capsys):
    before = set(os.listdir())
    status, err = run(*argv, capsys=capsys)
    assert status == 2 and len(err) < 1000 and "xxx" in err
    assert set(os.listdir()) == before


def test_a_line_break_in_a_name_is_no_second_line(here, capsys):
    for argv in (["plot", "a\nb"], ["compare", "a\nb", "c"]):
        assert run(*argv, capsys=capsys)[0] == 2


@pytest.mark.parametrize("out", ["", "/", "/proc", "/dev/null", "s.toml", "s.toml/x", "a\0b", "\ud800"])
def test_an_out_that_is_no_directory_of_ours_is_one_line(out, here, capsys):
    for argv in (["run", "s.toml"], ["audit", "i.toml"]):
        status, err = run(*argv, "--out", out, capsys=capsys)
        assert status == 2 and (out in err or out in ("/proc", "a\0b", "\ud800"))


def arguments():
    return jb.algorithms.ucb1(2), jb.environments.bernoulli(np.array([0.1, 0.9]))


def test_results_beyond_memory_are_refused_with_their_size(here, capsys):
    begun = time.monotonic()
    with pytest.raises(ValueError, match=r"^simulate: num_runs = 1000000: .* about 372\.5 GiB in all, .* keep = \(\)"):
        jb.simulate(*arguments(), horizon=10**5, num_runs=10**6, checkpoints=range(1, 10**5 + 1))
    with pytest.raises(ValueError, match=r"^identify: num_runs = .* about 3\.9 TiB in all"):
        jb.identify(
            jb.algorithms.lucb(1000, sigma=1.0), jb.environments.gaussian(np.linspace(0, 1, 1000)), num_runs=2**30
        )
    # ten results of 37 GiB each
    with pytest.raises(ValueError, match=r"num_runs = 100000 in each of 10 results: .* about 372\.5 GiB"):
        jb.sweep(
            lambda c: jb.algorithms.ucb1(2, c=c),
            arguments()[1],
            {"c": range(10)},
            horizon=10**5,
            num_runs=10**5,
            checkpoints=range(1, 10**5 + 1),
        )
    marks = ", ".join(map(str, range(1, 10**5 + 1)))
    text = SPEC.replace("runs = 4", "runs = 1000000").replace(
        "horizon = 50", f"horizon = 100000\ncheckpoints = [{marks}]"
    )
    Path("s.toml").write_text(text, encoding="utf-8")
    status, err = run("run", "s.toml", "--out", "d", capsys=capsys)
    assert status == 2 and "s: runs = 1000000: what is kept of each run takes about 372.5 GiB" in err
    assert not Path("d").exists()
    assert time.monotonic() - begun < 30


def test_results_beyond_the_disk_are_refused_with_their_size(here, capsys, monkeypatch):
    usage = type("Usage", (), {"free": 2000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    given = {"horizon": 50, "num_runs": 64, "checkpoints": range(1, 51)}
    with pytest.raises(
        ValueError, match=r"about 13\.1 KiB in all, and c/d has room for 2\.0 KiB; .* another directory"
    ):
        jb.simulate(*arguments(), **given, execution=jb.Execution(directory="c/d"))
    assert not Path("c").exists()
    assert run("run", "s.toml", "--runs", "64", capsys=capsys)[0] == 2
    assert run("audit", "i.toml", "--set", "runs=512", capsys=capsys)[0] == 2
    assert set(os.listdir()) == {"s.toml", "i.toml", "e.toml", "t.toml", "own.py"}
    usage.free = 10**9
    jb.simulate(*arguments(), **given, execution=jb.Execution(directory="c/d"))
    usage.free = 2000
    Path("c/d/more").write_bytes(bytes(12000))  # what is stored already needs no room
    assert jb.simulate(*arguments(), **given, execution=jb.Execution(directory="c/d")).runs == 64


def test_ctrl_c_in_python_says_that_the_same_call_resumes(here, monkeypatch):
    def stop(*args):
        raise KeyboardInterrupt

    def notes(call, *args, **options):
        with pytest.raises(KeyboardInterrupt) as caught:
            call(*args, **options)
        return caught.value.__notes__

    given, how = {"horizon": 50, "num_runs": 4}, jb.Execution(progress=stop)
    saved = "what was done is saved in {}; the same call resumes".format
    assert notes(jb.simulate, *arguments(), **given, execution=how._replace(directory="d")) == [saved("d")]
    assert notes(jb.simulate, *arguments(), **given, execution=how) == [
        "nothing is saved without directory, with which the same call would resume"
    ]
    rule = jb.algorithms.lucb(2, sigma=1.0), jb.environments.gaussian(np.array([0.0, 3.0]))
    assert notes(jb.identify, *rule, num_runs=4, execution=how._replace(directory="e")) == [saved("e")]
    assert notes(jb.run, "s.toml", "f", execution=jb.Execution(progress=stop)) == [saved("f")]

    def train(key, config):
        float(jax.random.uniform(key))  # so that it cannot be traced
        raise KeyboardInterrupt

    space = {"lr": np.array([0.1, 0.2])}
    halving = jb.algorithms.sequential_halving(2, budget=8)
    assert notes(jb.tune, train, space, halving, execution=jb.Execution(directory="g")) == [saved("g")]
    monkeypatch.setattr("jaxbandit.decide.tuning.halving.halve", stop)
    trainee = jb.Trainee(lambda key, config: 0.0, lambda state, key, config: state, lambda state, config: state)
    steps = {"min_steps": 1, "max_steps": 2, "execution": jb.Execution(directory="h")}
    assert notes(jb.successive_halving, trainee, space, **steps) == [saved("h")]


@pytest.mark.parametrize("play", [jb.rollout, jb.run_until_stop])
def test_a_function_names_no_argument_that_it_lacks(play):
    algorithm, world = jb.algorithms.ucb1(2), jb.environments.gaussian(np.array([0.1, 0.9]))
    with pytest.raises(ValueError, match="made for rewards") as caught:
        play(jb.run_key(0, 0), algorithm, world, 5)
    assert 'allow = ["rewards"]' in str(caught.value)
    if play is jb.rollout:  # the remedy is one
        assert play(jb.run_key(0, 0), algorithm, world, 5, allow=["rewards"]).actions.shape == (5,)


def test_only_a_beginning_is_withdrawn(here):
    from jaxbandit.lab.experiments.beginning import nothing_left

    def refused(out, *names):
        with pytest.raises(ValueError, match="refused"), nothing_left(out) as begun:
            out.mkdir(parents=True, exist_ok=True)
            with begun():
                for name in names:
                    (out / name).parent.mkdir(exist_ok=True)
                    (out / name).touch()
                raise ValueError("refused")
        return sorted(str(path.relative_to(out)) for path in out.rglob("*")) if out.exists() else None

    assert refused(Path("c/b"), "spec.toml", "provenance.json") is None and not Path("c").exists()
    results = ["cell-000.npz", "provenance.json", "spec.toml"]
    assert refused(Path("d/b"), *results) == results
    assert refused(Path("e/b"), "audit/spec.toml", "spec.toml") == ["audit", "audit/spec.toml", "spec.toml"]
    Path("f").mkdir()
    Path("f/.hidden").touch()  # it was not empty, so nothing is judged
    assert refused(Path("f"), "spec.toml") == [".hidden", "spec.toml"]
    Path("g").mkdir()
    assert refused(Path("g"), "spec.toml") == []
