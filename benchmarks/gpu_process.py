"""A process with its own flags of XLA that answers tasks within a time limit, and says why it has ended."""

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PATIENCE = 5.0  # seconds that a process has to end by itself
# What would choose another device, or let a program be read from a file instead of being compiled.
REMOVED = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_X64")


class Ended(Exception):
    """The process has ended or was ended; the message says why."""


class Process:
    """A process of `gpu_tasks` on one platform."""

    def __init__(self, platform: str, flags: str = "", module: str = "benchmarks.gpu_tasks"):
        environment = {name: value for name, value in os.environ.items() if name not in REMOVED}
        environment |= {"JAX_ENABLE_COMPILATION_CACHE": "false"}
        environment["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} {flags}".strip()
        if platform == "cpu":
            environment["JAX_PLATFORMS"] = "cpu"
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (it lasts as long as the process)
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, platform],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            cwd=ROOT,
            env=environment,
            start_new_session=True,  # so that the assemblers that it starts end with it
        )
        self.answers: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        out: Any = self.process.stdout
        with out:
            for line in out:
                self.answers.put(line)
        self.answers.put(b"")

    def ready(self, limit: float) -> None:
        """Wait until the process has found its device.

        Raises:
          Ended: it has not within `limit` seconds, or cannot.
        """
        self._answer(limit)

    def ask(self, function: str, given: dict[str, Any], limit: float) -> dict[str, Any]:
        """Return the answer to one task.

        Raises:
          Ended: there is none within `limit` seconds, or the process has crashed.
        """
        pipe: Any = self.process.stdin
        try:
            pipe.write(json.dumps({"function": function, "given": given}).encode() + b"\n")
            pipe.flush()
        except BrokenPipeError:
            raise Ended(self._reason()) from None
        return self._answer(limit)

    def _answer(self, limit: float) -> dict[str, Any]:
        try:
            line = self.answers.get(timeout=limit)
        except queue.Empty:
            self.end(patience=0.0)
            raise Ended(f"stopped after {limit:.1f} s") from None
        if not line:
            raise Ended(self._reason())
        return json.loads(line)

    def _reason(self) -> str:
        """Return why the process has ended by itself: an unknown flag, or the last line that names an error."""
        self._stop(PATIENCE)
        with self.errors:
            self.errors.seek(0)
            said = self.errors.read().decode(errors="replace")
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        flags = [line for line in lines if re.search(r"Unknown flag|Illegal value", line)]
        named = [line for line in lines if re.search(r"[Ee]rror\b|Check failed|JAX finds", line)]
        best = (flags or named[::-1] or lines[::-1] or ["nothing was said"])[0]
        return f"its process ended with status {self.process.returncode}: {best}"[:300]

    def end(self, patience: float = PATIENCE) -> None:
        """End the process, and whatever it has started."""
        self._stop(patience)
        self.errors.close()

    def _stop(self, patience: float) -> None:
        pipe: Any = self.process.stdin
        with contextlib.suppress(OSError):
            pipe.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
