"""Small undamaged directories of every kind, written once, which the attacks copy."""

import functools
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from small_experiment import written

from .outcomes import call


def _stopping(name: str, means: list[float], delta: float, runs: int) -> str:
    rule = {"type": "lucb", "delta": delta}
    return written("identify", {"type": "gaussian", "means": means}, rule, name=name, runs=runs, max_rounds=2000)


SPECS = {
    "run.toml": written(
        "simulate",
        {"name": "it", "type": "bernoulli", "means": [0.2, 0.8]},
        [{"name": "u", "type": "ucb1"}, {"name": "e", "type": "epsilon_greedy", "epsilon": {"sweep": [0.1, 0.3]}}],
        name="r",
        runs=8,
        horizon=50,
        checkpoints=[10, 50],
    ),
    "identify.toml": _stopping("i", [1.0, 0.0], 0.1, 8),
    "audit.toml": _stopping("a", [3.0, 0.0], 0.2, 200),
    "session.toml": """
kind = "session"
arms = ["plain", "bold", "third"]
seed = 3
paired = true

[[algorithm]]
type = "paired_race"
epsilon = 0.1
""",
    "tune.toml": """
kind = "tune"
configs = "configs.csv"
seed = 1
epsilon = 0.05
""",
    "configs.csv": "lr\n0.1\n0.2\n0.3\n",
    "train_module.py": """
import jax


def train(key, config):
    word, rate = int(jax.random.key_data(key)[-1]), float(config["lr"])
    return rate + 0.01 * (word % (97 + round(10 * rate))) / 97
""",
}


class Unusable(BaseException):
    """An undamaged directory could not be written, so nothing can be attacked."""


class Workshop:
    """A directory with specs, the undamaged results of each command, and a scratch directory for each try."""

    def __init__(self, root: Path):
        self.root = root.resolve()
        self.browser: Any = None  # a headless browser, where there is one
        self.closing: list[Callable[[], object]] = []  # what ends what was started
        self._numbers = 0
        self.specs = self.root / "specs"
        self.specs.mkdir()
        for name, text in SPECS.items():
            (self.specs / name).write_text(text, encoding="utf-8")

    def close(self) -> None:
        """End the processes that attacks have started."""
        for end in self.closing:
            end()

    def scratch(self) -> Path:
        """A new empty directory; that of the try before is deleted, since every try has only one."""
        shutil.rmtree(self.root / f"try-{self._numbers}", ignore_errors=True)
        self._numbers += 1
        path = self.root / f"try-{self._numbers}"
        path.mkdir()
        return path

    def copy(self, name: str, to: Path | None = None) -> Path:
        """A copy of one of the directories below, in a new scratch directory or at `to`."""
        source = getattr(self, name)
        return Path(shutil.copytree(source, to or self.scratch() / source.name, symlinks=True))

    def write(self, *argv: object, name: str) -> Path:
        """Run a command that writes the directory `name`."""
        said = call(*argv, cwd=self.specs)
        if said.status != 0:
            raise Unusable(f"jaxbandit {' '.join(map(str, argv))}: {said.err}")
        return self.specs / name

    @functools.cached_property
    def run(self) -> Path:
        return self.write("run", "run.toml", "--out", "run", name="run")

    @functools.cached_property
    def identify(self) -> Path:
        return self.write("run", "identify.toml", "--out", "identify", name="identify")

    @functools.cached_property
    def audit(self) -> Path:
        return self.write("audit", "audit.toml", "--out", "audit", "--runs", "400", name="audit")

    @functools.cached_property
    def parts(self) -> Path:
        """Two directories of parts, 0 and 1."""
        for part in "01":
            self.write("run", "run.toml", "--part", f"{part}/2", "--out", f"parts/{part}", name="parts")
        return self.specs / "parts"

    @functools.cached_property
    def merged(self) -> Path:
        return self.write("merge", self.parts / "0", self.parts / "1", "--out", "merged", name="merged")

    @functools.cached_property
    def session(self) -> Path:
        """A session begun by `ask` with five rewards of each arm and pending pulls."""
        self.write("ask", "session", "session.toml", "--n", "9", name="session")
        for number in range(5):
            scores = [f"{3 * number + arm}={0.5 + 0.1 * ((7 * number + 3 * arm) % 5):.3f}" for arm in range(3)]
            self.write("tell", "session", *scores, name="session")
            self.write("ask", "session", name="session")
        return self.specs / "session"

    @functools.cached_property
    def tune(self) -> Path:
        return self.write("tune", "train_module:train", "tune.toml", "--out", "tune", name="tune")

    @functools.cached_property
    def directories(self) -> dict[str, Path]:
        """Every directory that a command has finished, by the name of its property."""
        return {name: getattr(self, name) for name in ("run", "identify", "audit", "session", "tune")}


def files_of(directory: Path) -> list[str]:
    """The files in a directory, with the paths relative to it, sorted."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def snapshot(directory: Path) -> dict[str, Any]:
    """Every name in a directory, hidden ones too, with its type, mode and content; links are not followed."""
    found: dict[str, Any] = {}
    for path in sorted(directory.rglob("*")):
        about = path.lstat()
        content: Any = None
        if stat.S_ISLNK(about.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(about.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(directory))] = (stat.S_IFMT(about.st_mode), content)
    return found


def in_temporary_directory() -> tempfile.TemporaryDirectory:
    """Where a workshop stands outside pytest."""
    return tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True)
