"""Kills at random instants, by SIGKILL, ctrl-C and SIGTERM, resumed on other cores, devices, tiles, lanes and threads.

`python tests/kills.py --count 100` runs it for longer than the suite does and prints what happened.
"""

import argparse
import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from lives import Lives
from small_experiment import THREE, UCB1, written

from jaxbandit.engine.storage import files as storage

EXPERIMENTS = {
    "regret": written(
        "simulate",
        THREE,
        [UCB1, {"type": "epsilon_greedy", "epsilon": 0.1}],
        runs=600,
        horizon=20000,
        checkpoints=[10, 1000, 20000],
    ),
    "stopping": written(
        "identify",
        {"type": "gaussian", "means": [0.15, 0.0, 0.0]},
        {"type": "lucb", "delta": {"sweep": [0.1, 0.01]}},
        runs=600,
    ),
    "batch": written(
        "identify",
        {"type": "full_bandit", "means": [0.9, 0.8, 0.5, 0.4, 0.2], "k": 2, "sigma": 1.0},
        {"type": "icb", "delta": {"sweep": [0.1, 0.05]}},
        runs=600,
    ),
}
OWN = ("seconds", "run_steps", "devices", "lane_utilization", "json_sha256")  # of a life, not of the runs
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
CORES = sorted(os.sched_getaffinity(0))
PROGRAM = """
    import json, os, signal, sys
    from pathlib import Path
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)  # so that lives keep programs in files of ours
    import matplotlib.pyplot, tomli_w, tyro  # what commands import when they are called
    from jaxbandit.engine.driver import programs
    from jaxbandit.engine.driver.execution import Execution
    from jaxbandit.engine.storage import checkpoint
    from jaxbandit.lab.cli import command_line, commands, signals
    from jaxbandit.lab.experiments import experiment as running
    from jaxbandit.lab.specs import spec
    from jaxbandit.running import truth
    from jaxbandit.running.plotting import figures

    def main(file, out, said, told, ready, settings):
        settings = json.loads(settings)
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={settings['devices']}"
        os.sched_setaffinity(0, settings["cores"])
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
        programs.FIRST_BLOCKS = 1
        checkpoint.SAVE_SECONDS = programs.CALL_SECONDS = 0.03
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        steps = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def progress(news):
            os.write(steps, f"{news.run_steps}\\n".encode())

        def play():
            Path(ready).touch()
            execution = Execution(progress=progress, **settings["options"])
            running.run_experiment(spec.load(file), Path(out), execution=execution)
            import jax
            assert len(jax.devices()) == settings["devices"]
            return 0

        if settings["options"] is not None:
            os._exit(signals.run(play))
        Path(ready).touch()
        sys.argv = ["jaxbandit", "run", file, "--out", out]
        os._exit(command_line.process())
"""


class Life:
    """What every life of one directory is started with, and what the earlier ones have left there."""

    def __init__(self, lives: Lives, out: Path, name: str):
        self.lives, self.out, self.name = lives, out, name
        self.file, self.said, self.told, self.ready = (
            out.with_name(f"{out.name}.{end}") for end in ("toml", "said", "told", "ready")
        )
        self.file.write_text(f'name = "{name}"\n{EXPERIMENTS[name]}', encoding="utf-8")
        self.finished: dict[str, tuple[int, int]] = {}  # cells, and which files they are
        self.ended: set[tuple[str, int]] = set()  # runs: number of the cell, own number

    def begin(self, settings: dict[str, Any]) -> None:
        """Start the next life; return when signals are heard."""
        self.ready.unlink(missing_ok=True)
        self.lives.begin(self.file, self.out, self.said, self.told, self.ready, json.dumps(settings))
        deadline = time.monotonic() + 60
        while not self.ready.exists():
            assert time.monotonic() < deadline, self.said.read_text()
            time.sleep(0.001)

    def rounds(self) -> int:
        """Rounds of all runs that all lives together have played."""
        return sum(int(line) for line in self.told.read_text().split())

    def check(self) -> None:
        """Nothing that had ended before is gone, and no finished cell was written again."""
        finished = {path.stem: path for path in self.out.glob("cell-*.json")}
        for cell, before in self.finished.items():
            assert _file(finished[cell]) == before, f"{self.out}: {cell} was played again"
        self.finished = {cell: _file(path) for cell, path in finished.items()}
        ended = set()
        for part in self.out.glob("checkpoint/*/done-*.npz"):
            ended |= {(part.parent.name, int(run)) for run in storage.read_arrays(part, storage.RECOMPUTE)["run"]}
        cells = {cell.removeprefix("cell-") for cell in finished}
        lost = {(cell, run) for cell, run in self.ended - ended if cell not in cells}
        assert not lost, f"{self.out}: runs that had ended are gone: {sorted(lost)[:5]}"
        self.ended |= ended


def stress(directory: Path, count: int, seed: int = 0) -> dict[str, Counter]:
    """Kill `count` lives, and require that every experiment ends with the bytes of one left alone, nothing lost.

    Every second round of experiments meets no SIGKILL: there no round of any run may be played twice.
    """
    chance = random.Random(seed)
    report = {name: Counter() for name in ("directories", "killed by", "lives with")}
    with Lives(PROGRAM) as lives:
        calm, seconds = {}, {}
        for name in EXPERIMENTS:
            calm[name] = Life(lives, directory / f"{name}-calm", name)
            calm[name].begin({"cores": CORES, "devices": 1, "options": {}})
            begun = time.monotonic()
            assert lives.ended(300), calm[name].said.read_text()
            seconds[name] = time.monotonic() - begun
        for number in range(10**6):
            name = list(EXPERIMENTS)[number % len(EXPERIMENTS)]
            killed = report["killed by"].total()
            if killed >= count:
                return report
            gentle = number // len(EXPERIMENTS) % 2 == 1
            kills = min(chance.randint(1, max(1, min(5, count // 3))), count - killed)
            life = Life(lives, directory / f"{number:03d}-{name}", name)
            while _live(life, chance, kills, seconds[name], gentle, report):
                life.check()
                kills -= 1
            life.check()
            compare(calm[name].out, life.out)
            report["directories"][name] += 1
            if gentle:
                again = life.rounds() - calm[name].rounds()
                assert again == 0, f"{life.out}: {again} rounds were played again"
                report["directories"]["without SIGKILL, so no round was played again"] += 1
    return report


def _live(life: Life, chance: random.Random, kills: int, seconds: float, gentle: bool, report: Any) -> bool:
    """Start one life under other settings; whether it was killed before its end."""
    settings = _settings(chance, life.name, command=not gentle)
    life.begin(settings)
    options = settings["options"]
    report["lives with"][f"{len(settings['cores'])} cores"] += 1
    report["lives with"][f"{settings['devices']} devices"] += 1
    for name, value in ({"options of": "the command"} if options is None else options).items():
        report["lives with"][f"{name} {value}"] += 1
    if life.lives.ended(chance.uniform(0, seconds) if kills > 0 else 300):
        return False
    number = chance.choice(SIGNALS[1:] if gentle else SIGNALS)
    status, said = life.lives.end(number), life.said.read_text()
    if status == 0:  # it had just ended
        return False
    assert status == (-number if number == signal.SIGKILL else 3), (life.out, number, status, said)
    lines = [line for line in said.splitlines() if " so far" not in line]  # how long it compiles depends on the machine
    assert len(lines) == (number != signal.SIGKILL), said
    report["killed by"][number.name] += 1
    return True


def _settings(chance: random.Random, name: str, command: bool) -> dict[str, Any]:
    options: Any = {"workers": chance.choice([None, 1, 2, 3])}
    if name == "regret":
        options["width"] = chance.choice([None, 64, 112, 256])
    else:
        options |= {"width": chance.choice([None, 64, 112, 256]), "chunk": chance.choice([None, 50, 1000])}
    if command and chance.random() < 0.25:
        options = None
    cores = chance.sample(CORES, chance.randint(1, len(CORES)))
    return {"cores": cores, "devices": chance.choice([1, 1, 2, 3]), "options": options}


def _file(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_ino, about.st_mtime_ns


def compare(a: Path, b: Path) -> None:
    """Require the same numbers of two directories, to the byte; what tells of a life, as its seconds do, may differ."""
    names = sorted(path.name for path in a.glob("cell-*"))
    assert names == sorted(path.name for path in b.glob("cell-*"))
    assert names
    for name in names:
        if name.endswith(".npz"):
            assert (a / name).read_bytes() == (b / name).read_bytes(), (b, name)
        else:
            assert _numbers(a / name) == _numbers(b / name), (b, name)
    assert _numbers(a / "summary.json") == _numbers(b / "summary.json"), b


def _numbers(path: Path) -> Any:
    def of_runs(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: of_runs(inner) for name, inner in value.items() if name not in OWN}
        return [of_runs(inner) for inner in value] if isinstance(value, list) else value

    return of_runs(json.loads(path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for name, counts in stress(Path(directory), asked.count, asked.seed).items():
            print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in sorted(counts.items())))
