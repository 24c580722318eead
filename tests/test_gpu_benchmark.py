"""`python -m benchmarks gpu` without a GPU: all of it at tiny sizes, and what it makes of figures and of failures."""

import json
import os
import subprocess
import sys
import sysconfig
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import jaxbandit as jb
from benchmarks import __main__, compiled_loops, gpu, gpu_agreement, gpu_bytes, gpu_loops, gpu_table
from benchmarks.gpu_plan import FLAGS, UNROLLED, Session, Task, plan
from benchmarks.gpu_process import Ended, Process
from jaxbandit.engine.driver import simulate

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.quickly_compiled  # also in the processes that it starts
def test_all_of_it_on_a_cpu(tmp_path, capsys, monkeypatch):
    begun = time.monotonic()
    for name in list(FLAGS)[2:]:  # each is a process with the same tasks
        monkeypatch.delitem(FLAGS, name)
    assert __main__.main(["gpu", "--platform", "cpu", "--tiny", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "gpu.json").read_text())
    rows, text = found["rows"], (tmp_path / "gpu.md").read_text()
    failed = [row for row in rows if "error" in row]
    # A version of XLA knows or does not know a flag; nothing else may fail.
    assert not [row for row in failed if not ("Unknown flag" in row["error"] or "Illegal value" in row["error"])]
    assert {row["variant"] for row in rows} == {"", *FLAGS} and len(failed) < len(FLAGS)
    groups = {row["group"] for row in rows}
    on_gpus = {"kernels", "calls in kernels"}
    assert groups == {"limits", "played", "arithmetic", *gpu_table.GROUPS} - on_gpus
    for group in groups - {"limits", "played", "arithmetic"}:
        assert f"## {gpu_table.GROUPS[group][0]}" in text
    timed = [row for row in rows if "round_us" in row]
    assert len(timed) > 6 and all(row["round_us"] > 0 and row["least_bytes_us"] > 0 for row in timed)
    # The loops that are written out, and those compiled with other flags, play what the engine plays.
    assert all(row["same_bytes"] for row in timed)
    assert {row["given"]["unroll"] for row in timed} == {0, *UNROLLED[:2]}
    assert all(row["kernels_per_round"] > 0 and "unread" not in row for row in timed)
    for row in rows:
        if row["group"] == "agreement":
            assert row["runs_with_equal_pulls"] == row["runs"] == 64 and row["runs_that_part"] == 0
        if row["group"] == "lanes":
            assert 0 < row["utilisation"] <= 1 and row["run_steps"] > 0
        for operation in row.get("values", {}).values():
            assert operation["different"] == 0 and operation["compared"] == 256
    printed = capsys.readouterr().out
    assert printed.count("\n") == len(rows) + 1 and time.monotonic() - begun < gpu.SECONDS


def test_the_whole_fits_into_what_a_device_is_lent_for(tmp_path):
    """The most important rows come first, and no limit of a row is longer than what the whole may take."""
    sessions = plan("gpu", False, tmp_path)
    tasks = [task for session in sessions for task in session.tasks]
    assert (
        tasks[0].group == "kernels"
        and sessions[1].tasks[0].name == "device"
        and gpu.SECONDS < 480
        and max(task.limit for task in tasks) <= 60
    )
    assert {session.platform for session in sessions} == {"gpu", "cpu", "here"}
    sizes = {task.given["runs"] for task in tasks if task.group == "rounds" and task.given["num_arms"] == 9}
    assert min(sizes) == 2**10 and max(sizes) == 2**21 and {2**17, 2**20} < sizes
    rules = {task.given["rule"] for task in tasks if task.group in ("rules", "lanes")}
    assert rules == set("kl_ucb thompson imed lin_ucb glr_klucb lingape kl_lucb paired_race".split())
    assert len({task.given["rule"] for task in tasks if task.function == "pulls"}) == 6
    names = [(session.variant, task.group, task.name) for session in sessions for task in session.tasks]
    assert len(names) == len(set(names))


ODD = """
import json, os, sys, time
say = lambda answer: print(json.dumps(answer), flush=True)
say({})
for line in sys.stdin:
    function = json.loads(line)["function"]
    if function == "crash":
        print("a library says\\nCheck failed: memory", file=sys.stderr, flush=True)
        os.abort()
    if function == "sleep":
        time.sleep(60)
    say({"answered": function})
"""


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """A process that answers without JAX, and crashes or sleeps if it is asked to."""
    (tmp_path / "odd.py").write_text(textwrap.dedent(ODD))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(gpu, "Process", lambda platform, flags: Process(platform, flags, module="odd"))


@pytest.mark.slow
def test_a_crash_and_a_delay_are_rows_and_not_the_end(odd, tmp_path, capsys):
    names = "first crash second sleep third".split()
    session = Session("cpu", [Task("rounds", name, name, {}, 0.5 if name == "sleep" else 30) for name in names])
    report = gpu.Report(tmp_path / "out", 100)
    gpu.play(session, report)
    first, crash, second, sleep, third = report.rows
    assert [row["answered"] for row in (first, second, third)] == ["first", "second", "third"]
    assert crash["error"] == "its process ended with status -6: Check failed: memory"
    assert sleep["error"] == "stopped after 0.5 s" and sleep["wall_s"] < 20
    assert len(json.loads((tmp_path / "out" / "gpu.json").read_text())["rows"]) == 5
    text = (tmp_path / "out" / "gpu.md").read_text()
    assert "- crash: its process ended" in text and capsys.readouterr().out.count("no figure: ") == 2


def test_what_is_not_reached_is_said(odd, tmp_path):
    report = gpu.Report(tmp_path, 1.0)
    gpu.play(Session("cpu", [Task("rounds", name, name, {}, 30) for name in ("one", "two")]), report)
    assert [row["error"] for row in report.rows] == ["not begun: the time was up"] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "platform", "reason"),
    [
        ("--xla_no_such_flag=1", "cpu", "Unknown flag in XLA_FLAGS: --xla_no_such_flag=1"),
        ("--xla_gpu_enable_command_buffer=NOTHING", "cpu", "Illegal value for --xla_gpu_enable_command_buffer"),
        ("", "gpu", "JAX finds no gpu, but cpu"),
    ],
)
def test_a_process_that_cannot_start_says_why(flags, platform, reason, monkeypatch):
    process = Process(platform, flags)
    with pytest.raises(Ended) as ended:
        process.ready(60)
    assert reason in str(ended.value) and "\n" not in str(ended.value)


def test_a_session_that_cannot_start_is_tried_once(tmp_path, monkeypatch):
    started = []

    class Hopeless(Process):
        def __init__(self, *given):
            started.append(given)
            super().__init__(*given, module="no_such_module")

    monkeypatch.setattr(gpu, "Process", Hopeless)
    report = gpu.Report(tmp_path, 100)
    gpu.play(Session("cpu", [Task("rounds", name, name, {}) for name in ("one", "two")]), report)
    assert len(started) == 1 and all("No module named no_such_module" in row["error"] for row in report.rows)


def test_runs_that_part(tmp_path):
    """Four runs of three rounds; the second plays another arm from round 2 on, the third one in round 3 only.

    In the fourth, only the sum is rounded differently.
    """
    regret = np.array([[0.1, 0.2, 0.3]] * 4, np.float32)
    other = regret + np.array([[0, 0, 0], [0, 0.4, 0.5], [0, 0, -0.1], [0, 0, 1e-6]], np.float32)
    pulls = np.array([[3, 0]] * 4)
    others = pulls - [[0, 0], [2, -2], [1, -1], [0, 0]]
    paths = [str(tmp_path / name) for name in ("one.npz", "other.npz")]
    np.savez(paths[0], regret=regret, pulls=pulls)
    np.savez(paths[1], regret=other, pulls=others)
    found = gpu_agreement.compare_pulls(*paths)
    assert (found["runs"], found["rounds"], found["runs_with_equal_pulls"], found["runs_that_part"]) == (4, 3, 2, 2)
    assert (found["first_round_apart"], found["median_round_apart"]) == (2, 2.5)
    # Differences 0, -0.5, 0.1, 0: mean -0.1, standard deviation 0.2708, so 0.7385 standard errors.
    assert found["standard_errors_apart"] == pytest.approx(0.7385, abs=1e-3)
    assert not list(tmp_path.iterdir())


def test_sums_that_are_rounded_differently_are_no_difference_of_means(tmp_path):
    paths = [str(tmp_path / name) for name in ("one.npz", "other.npz")]
    regret, pulls = np.array([[0.1, 0.2]] * 4), np.array([[2, 0]] * 4)
    np.savez(paths[0], regret=regret, pulls=pulls)
    np.savez(paths[1], regret=regret + np.array([[1e-6], [1.1e-6], [1e-6], [0.9e-6]]), pulls=pulls)
    found = gpu_agreement.compare_pulls(*paths)
    assert (found["runs_with_equal_pulls"], found["runs_that_part"], found["standard_errors_apart"]) == (4, 0, 0)


def test_the_longer_of_two_loops_of_rounds_is_read():
    """A loop of two rounds in an iteration stands beside one of single rounds, with the same operations."""
    name = 'metadata={op_name="jit(advance)/while/body/round/add"}'

    def body(label, kernels):
        lines = [f"  %n{i} = f32[8]{{0}} fusion(%x), kind=kLoop, {name}" for i in range(kernels)]
        return "\n".join([f"%{label} (x: f32[8]) -> f32[8] {{", *lines, "}"])

    loops = [f"  %w{label} = f32[8]{{0}} while(%x), condition=%c, body=%{label}" for label in ("single", "two")]
    main = "\n".join(["ENTRY %main (x: f32[8]) -> f32[8] {", *loops, "}"])
    text = f"HloModule advance\n\n{body('single', 3)}\n\n{body('two', 5)}\n\n{main}\n"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compiled_loops, "_cost", lambda *_: {})
        assert compiled_loops.read(text).kernels == 5


@pytest.mark.slow
def test_what_two_ways_to_play_have_in_common(tmp_path, capsys):
    """A process for each core plays its share; what differs, fails or is not reached is named."""
    assert __main__.main(["gpu_bytes", "--algorithms", "ucb1", "lucb", "--processes", "2", "--out", str(tmp_path)]) == 0
    assert "2 of 2 algorithms have the same bytes" in capsys.readouterr().out
    __main__.main(["gpu_bytes", "--algorithms", "ucb1", "--seconds", "0", "--out", str(tmp_path)])
    assert "not reached: ucb1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        __main__.main(["gpu_bytes", "--algorithms", "ucbb"])
    assert "algorithms: 'ucbb' is not registered" in capsys.readouterr().err
    rows = [{"algorithm": "a", "same": True, "other": []}, {"algorithm": "b", "same": False, "other": ["pulls"]}]
    text = gpu_bytes.text("abcd", [*rows, {"algorithm": "c", "error": "why"}])
    assert text.splitlines() == [
        "1 of 4 algorithms have the same bytes",
        "other bytes: b (pulls)",
        "failed: c (why)",
        "not reached: d",
    ]


@pytest.mark.slow
def test_other_bytes_are_found(monkeypatch):
    """Runs of another seed among many are other runs."""
    played = simulate.simulate_cell
    monkeypatch.setattr(gpu_bytes, "MANY", 128)
    assert gpu_bytes.row("ucb1")["same"]
    monkeypatch.setattr(
        simulate, "simulate_cell", lambda *given, **more: played(*given, **more, seed=int(more["num_runs"] > 64))
    )
    assert set(gpu_bytes.row("ucb1")["other"]) == {"regret", "pulls", "recommendation"}
    monkeypatch.setattr(gpu_bytes, "differing", lambda name: 1 / 0)
    assert gpu_bytes.row("ucb1")["error"] == "ZeroDivisionError: division by zero"


def test_units_in_the_last_place(tmp_path):
    paths = [str(tmp_path / name) for name in ("one.npz", "other.npz")]
    x = np.array([1.0, 2.0, 0.0, np.inf], np.float32)
    np.savez(paths[0], it=x)
    np.savez(paths[1], it=x + np.array([0, 3 * 2.0**-22, 0, 0], np.float32))  # floats in [2, 4) are 2^-22 apart
    found = gpu_agreement.compare_arithmetic(*paths)["values"]["it"]
    assert (found["compared"], found["different"], found["largest_units_in_the_last_place"]) == (4, 1, 3)


def test_the_rounds_of_an_iteration_are_those_of_the_block_over_its_turns():
    """XLA may play two iterations in one: 12 kernels in each of 4 turns are 1.5 in each of 32 rounds."""
    name = 'metadata={op_name="jit(advance)/while/body/round/add"}'
    lines = [f"  %n{i} = f32[8]{{0}} fusion(%x), kind=kLoop, {name}" for i in range(12)]
    body = "\n".join(["%body (x: f32[8]) -> f32[8] {", *lines, "}"])
    loop = '  ROOT %w = f32[8]{0} while(%x), condition=%c, body=%body, backend_config={"known_trip_count":{"n":"4"}}'
    text = f"HloModule advance\n\n{body}\n\nENTRY %main (x: f32[8]) -> f32[8] {{\n{loop}\n}}\n"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gpu_loops.compiled_loops, "_cost", lambda *_: {"bytes accessed": 64.0})
        said = gpu_loops._said(SimpleNamespace(as_text=lambda: text), 32, 2)
        alone = gpu_loops._said(SimpleNamespace(as_text=lambda: text), 0, 1)
        together = gpu_loops._said(SimpleNamespace(as_text=lambda: text), 0, 4)
    assert (said["kernels_per_round"], said["compiler_bytes_per_round"]) == (1.5, 8)
    assert alone["kernels_per_round"] == 12 and together["kernels_per_round"] == 3
    assert "unread" in gpu_loops._said(SimpleNamespace(as_text=lambda: text.replace("round/", "")), 32, 1)
    assert "unread" in gpu_loops._said(SimpleNamespace(as_text=lambda: text.replace('"n":"4"', "")), 32, 1)


def rounds_row(runs, us, digest="a", group="rounds", unroll=0, **more):
    given = {"rule": "ucb1", "num_arms": 9, "runs": runs, "unroll": unroll}
    figures = {"round_us": us, "run_steps_per_s": runs / us * 1e6, "kernels_per_round": 8, "state_digest": digest}
    figures |= {"least_bytes_per_round": 100 * runs, "compiler_bytes_per_round": 500 * runs}
    return {"group": group, "name": f"{runs} runs", "variant": "", "given": given, **figures, **more}


def test_the_bounds_beside_a_round():
    """Eight kernels of 3 us are 24; 500 bytes of 2^20 runs at 4 TB/s are 131 us, and of 2^10 runs 0.128 us."""
    limits = [
        {"group": "limits", "name": "copy", "copied_bytes_per_s": 4e12},
        {"group": "limits", "name": "launches", "straight_kernel_us": 3.0},
    ]
    rows = [rounds_row(2**10, 30.0), rounds_row(2**20, 150.0)]
    loops = [rounds_row(2**10, 10.0, group="loops", unroll=8), rounds_row(2**10, 15.0, "b", group="loops")]
    found = gpu_table.document([*limits, *rows, *loops, {"group": "loops", "name": "lost", "error": "why"}])
    small, large, faster, other = found["rows"][2:6]
    assert small["launches_us"] == 24 and small["compiler_bytes_us"] == pytest.approx(0.128, abs=1e-3)
    assert large["launches_us"] == 24 and large["compiler_bytes_us"] == pytest.approx(131, abs=0.1)
    assert gpu_table._bound(small) == "launches" and gpu_table._bound(large) == "memory"
    assert faster["times_as_fast_as_the_engine"] == 3 and faster["launches_us"] == 24 and faster["same_bytes"]
    assert other["times_as_fast_as_the_engine"] == 2 and not other["same_bytes"]
    measured = found["measured"]
    assert measured["kernels_per_round"] == 8 and measured["kernel_us"] == 3
    assert measured["round_us_up_to_131072_runs"] == [30, 30]
    assert measured["run_steps_per_s_of_1000_runs"] == pytest.approx(2**10 / 30e-6)
    assert measured["run_steps_per_s_of_1048576_runs"] == pytest.approx(2**20 / 150e-6)
    lines = gpu_table.text(found).splitlines()
    assert "| kernels of a round of ucb1, K = 9 | 6 | 8 |" in lines and "- lost: why" in lines
    assert any(line.startswith("| 1024 runs | 2 | 15 |") and line.endswith("**no** |") for line in lines)


@pytest.mark.slow
def test_the_names_without_lazy_loader_and_filelock(tmp_path):
    """The stand-ins show every public name as the packages do, and nothing else is missing."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("platlib", "purelib"):
        for path in Path(sysconfig.get_path(name)).iterdir():
            if not path.name.startswith(("lazy_loader", "filelock", "__editable__")) and path.suffix != ".pth":
                link = packages / path.name
                link.exists() or link.symlink_to(path)
    code = """
    import json, sys
    import benchmarks
    from benchmarks import bare
    assert bare.replaced == ["lazy_loader", "filelock"], bare.replaced
    import jaxbandit as jb
    assert "jax" not in sys.modules
    import jaxbandit.running.simulate  # a file that bears the name of its function
    from benchmarks import goals
    print(json.dumps({name: callable(getattr(jb, name)) for name in dir(jb)}))
    try:
        played = jb.algorithms.ucb1(2), jb.environments.bernoulli([0.1, 0.9])
        jb.simulate(*played, horizon=2, num_runs=1, execution=jb.Execution(directory="written"))
    except ModuleNotFoundError as error:
        assert str(error).startswith("filelock is not installed"), error
    else:
        raise AssertionError
    """
    done = subprocess.run(
        [sys.executable, "-S", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(packages)])},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {name: callable(getattr(jb, name)) for name in dir(jb)}
