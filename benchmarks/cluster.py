"""The benchmark of distributed execution: the overhead of tasks, and what is lost if workers or clients are killed.

The overhead is the share of the workers' time that is not spent in the thousand tasks of about 50 ms each. SIGKILL ends
one of the two workers, or the client, at random times; the client is then started again.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

from jaxbandit.engine.driver import parts
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.lab.experiments.experiment import run_experiment
from jaxbandit.lab.specs import spec
from jaxbandit.running.distribution.executors import open_executor

HORIZON = 10_000
RUNS = 10_240  # of the experiment whose workers and clients are killed
TASKS, SECONDS = 1000, 0.05
WORKERS = 2
ENGINES = ("processes:2", "dask")
KILLED = {"a worker": 20, "the client": 10}
OWN = ("seconds", "run_steps", "devices", "lane_utilization", "json_sha256")  # differ between executions
EXPERIMENT = """
    name = "cluster"
    kind = "simulate"
    runs = {runs}
    horizon = {horizon}
    per_run = {per_run}
    [[instance]]
    type = "bernoulli"
    means = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    [[algorithm]]
    type = "ucb1"
"""
CLIENT = """
    import os, sys
    from pathlib import Path
    from jaxbandit.running.distribution.executors import open_executor
    from jaxbandit.engine.driver.execution import Execution
    from jaxbandit.lab.experiments.experiment import run_experiment
    from jaxbandit.lab.specs import spec

    if __name__ == "__main__":
        file, out, told = sys.argv[1:]
        steps = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        progress = lambda n: os.write(steps, f"{n.run_steps}\\n".encode())
        with open_executor("processes:2") as executor:
            execution = Execution(executor=executor, runs_per_task=256, progress=progress)
            run_experiment(spec.load(file), Path(out), execution=execution)
"""


def measure(quick: bool) -> dict[str, Any]:
    """Return the overhead of each engine, and the outcome of the kills."""
    overheads = [overhead(engine, TASKS // 10 if quick else TASKS) for engine in ENGINES]
    with tempfile.TemporaryDirectory() as folder:
        killed = {what: kills(Path(folder), what, 2 if quick else count) for what, count in KILLED.items()}
    return {"overhead": overheads, "killed": killed}


def table(result: dict[str, Any]) -> str:
    """Return the result as text."""
    lines = ["engine        tasks  seconds/task  busy share  client ms per task      "]
    for row in result["overhead"]:
        shown = f"{row['engine']:12} {row['tasks']:6} {row['each']:13.3f} {row['share']:11.2f}"
        lines.append(f"{shown} {1000 * row['client']:24.2f}")
    for what, row in result["killed"].items():
        lines.append(
            f"{row['kills']} times {what} was killed: the same bytes, {row['again']} finished runs were played again"
        )
    return "\n".join(lines)


def overhead(engine: str, tasks: int) -> dict[str, Any]:
    """Return which share of the workers' time is spent in tasks, and the client's processor time for each."""
    with tempfile.TemporaryDirectory() as folder, open_executor(engine) as executor:
        first = Path(folder) / "first"
        small = Execution(executor=executor, runs_per_task=64)
        run_experiment(_experiment(Path(folder), 64 * WORKERS, False), first, execution=small)
        # Long enough to measure a rate; every worker has compiled both widths before the clock starts.
        size = 1024
        for number in range(2):
            asked = _experiment(Path(folder), 8 * size * WORKERS, False)
            found = run_experiment(
                asked, Path(folder) / f"warm{number}", execution=Execution(executor=executor, runs_per_task=size)
            )
            size = max(int(SECONDS * size * 8 * WORKERS / found[0].seconds["run"]) // 64 * 64, 64)
        asked = _experiment(Path(folder), size * tasks, False)
        begun, spent = time.perf_counter(), time.process_time()
        found = run_experiment(
            asked, Path(folder) / "timed", execution=Execution(executor=executor, runs_per_task=size)
        )
        wall, spent = time.perf_counter() - begun, time.process_time() - spent
    each = found[0].seconds["run"] / tasks
    share = found[0].seconds["run"] / (wall * WORKERS)
    return {"engine": engine, "tasks": tasks, "each": each, "share": share, "client": spent / tasks}


def kills(folder: Path, what: str, count: int, seed: int = 0) -> dict[str, int]:
    """Kill `count` times, each in one execution of the experiment; require the bytes of an undisturbed execution.

    Every run is told once: in the last life of a directory, those that no whole part had when it began.
    """
    chance, report = random.Random(seed), {"kills": 0, "again": 0}
    program = folder / "client.py"
    program.write_text(textwrap.dedent(CLIENT), encoding="utf-8")
    asked = _experiment(folder, RUNS, True)
    run_experiment(asked, folder / "calm", execution=Execution(progress=False))
    file = folder / "calm" / "spec.toml"
    number = 0
    while report["kills"] < count:
        out = folder / f"{what}-{number}".replace(" ", "-")
        number += 1
        while True:
            whole, told = _whole(out, asked.runs), out.with_name(f"{out.name}.{report['kills']}.told")
            client = subprocess.Popen([sys.executable, str(program), str(file), str(out), str(told)])
            _wait(client, lambda out=out, whole=whole: len(_ranges(out)) > len(whole))
            time.sleep(chance.uniform(0, 0.3))
            children = _workers(client.pid)
            victim = client.pid if what == "the client" else chance.choice([*children, 0])
            if client.poll() is None and victim and report["kills"] < count:
                os.kill(victim, signal.SIGKILL)
                report["kills"] += 1
            status = client.wait(timeout=600)
            if status == 0:
                break
            assert status == -signal.SIGKILL and victim == client.pid, (status, victim)
            while any(_alive(child) for child in children):  # workers end with their client
                time.sleep(0.01)
        steps = sum(int(line) for line in told.read_text().split()) if told.exists() else 0
        report["again"] += steps // HORIZON - (asked.runs - sum(b - a for a, b in whole))
        assert content(out) == content(folder / "calm"), f"{out}: other bytes"
    return report


def content(directory: Path) -> dict[str, Any]:
    """Return the contents of a directory of results, without what differs between executions."""
    found: dict[str, Any] = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    return {name: _without(json.loads(x)) if name.endswith(".json") else x for name, x in found.items()}


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(item) for key, item in value.items() if key not in OWN}
    return [_without(item) for item in value] if isinstance(value, list) else value


def _experiment(folder: Path, runs: int, per_run: bool) -> Any:
    path = folder / "cluster.toml"
    text = EXPERIMENT.format(runs=runs, horizon=HORIZON, per_run=str(per_run).lower())
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return spec.load(path)


def _ranges(out: Path) -> list[Path]:
    return sorted(out.glob("parts/*/runs-*.npz"))


def _whole(out: Path, runs: int) -> list[tuple[int, int]]:
    if (out / "cell-000.json").exists():  # killed after the last part, which the cell has taken over
        return [(0, runs)]
    found = [parts.decoded(path.read_bytes(), str(path)) for path in _ranges(out)]
    return [(part.first_run, part.end) for part in found]


def _wait(client: Any, ready: Any) -> None:
    while client.poll() is None and not ready():
        time.sleep(0.005)


def _workers(pid: int) -> list[int]:
    """Return the worker processes of a client."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children") if _alive(pid) else ():
        try:
            for child in map(int, path.read_text().split()):
                if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(child)
        except OSError:
            continue
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
