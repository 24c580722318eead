"""A service of the recipe under load: latencies, a kill in the middle, and what was acknowledged and is lost.

The code is that of docs/recipes/service.md with another rule, served by uvicorn on this machine, whose cores it shares
with the client. A visit is two requests, an ask and a tell, and visits begin at a fixed rate whatever has been
answered. A latency is counted from when the request should have begun.
"""

import asyncio
import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

import jaxbandit as jb
from benchmarks.columns import table as table_of

RECIPE = Path(__file__).parent.parent / "docs" / "recipes" / "service.md"
RULE, ARMS, DIM = "jb.algorithms.lin_ucb_disjoint(20, 50)", 20, 50
RATE, SECONDS = 100, 60  # visits a second, of two requests each
VISITS, AT_ONCE = 10**6, 1000  # of the log of a long life, and of a line of it


class Service:
    """The recipe's service in a directory, as a process of its own."""

    def __init__(self, directory: Path):
        self.directory = directory
        code = re.findall(r"^```python\n(.*?)^```$", RECIPE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]
        code = re.sub(r"^RULE = .*$", f"RULE = {RULE}", code, flags=re.MULTILINE)
        (directory / "service.py").write_text(code, encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Begin the process."""
        command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(self.port), "--log-level", "warning"]
        self.process = subprocess.Popen(command, cwd=self.directory)

    def seconds_to_start(self) -> float:
        """Start the process and return the seconds until it takes requests."""
        begin = time.perf_counter()
        self.start()
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return time.perf_counter() - begin
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError("the service has ended") from None
                time.sleep(0.01)

    def end(self, kind: int = signal.SIGTERM) -> None:
        """Send the process a signal, and wait for its end."""
        self.process.send_signal(kind)
        self.process.wait()


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has taken so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load:
    """What was sent and acknowledged, and how long that took."""

    def __init__(self) -> None:
        self.asked: dict[int, tuple[int, list[float]]] = {}  # arm and context of each id
        self.told: dict[int, float] = {}
        self.seconds: list[float] = []
        self.failed = 0
        self.back = float("inf")  # seconds from the kill to the first answer to what was asked after it
        self.killed = float("inf")

    async def play(self, service: Service, rate: float, seconds: float, kill_at: float | None) -> None:
        """Send visits for so many seconds, and kill the service and start it again after some of them."""
        rng, tasks = np.random.default_rng(0), set()
        limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
        async with httpx2.AsyncClient(base_url=service.url, timeout=30, limits=limits) as client:
            begin = time.perf_counter()
            for visit in range(round(rate * seconds)):
                due = begin + visit / rate
                await asyncio.sleep(max(due - time.perf_counter(), 0))
                if kill_at is not None and due - begin >= kill_at:
                    kill_at, self.killed = None, time.perf_counter()
                    service.end(signal.SIGKILL)
                    service.start()
                x = rng.normal(size=DIM).astype(np.float32).astype(float).tolist()
                tasks.add(asyncio.create_task(self.visit(client, x, due, float(rng.random() < 0.5))))
            await asyncio.gather(*tasks)

    async def visit(self, client: httpx2.AsyncClient, x: list[float], due: float, reward: float) -> None:
        """Ask and tell."""
        answer = await self.sent(client, due, "/ask", json=x)
        self.asked[answer["id"]] = answer["arm"], x
        given = {"id": answer["id"], "reward": reward}
        await self.sent(client, time.perf_counter(), "/tell", params=given)
        self.told[answer["id"]] = reward

    async def sent(self, client: httpx2.AsyncClient, due: float, path: str, **given: Any) -> Any:
        """The answer as JSON; a request that is not answered is sent again."""
        while True:
            begin = time.perf_counter()
            try:
                answer = await client.post(path, **given)
                break
            except httpx2.TransportError:
                self.failed += 1
                await asyncio.sleep(0.1)
        if answer.status_code != 200:
            raise RuntimeError(answer.text)
        end = time.perf_counter()
        self.seconds.append(end - due)
        if begin > self.killed:
            self.back = min(self.back, end - self.killed)
        return answer.json()


def lost(load: Load, log: Path) -> int:
    """Return how many acknowledged asks and rewards the log does not have as they were, read without the library."""
    asked, told = [], {}
    for line in log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "ask" in entry:
            stored = entry["context"]
            x = np.frombuffer(base64.b64decode(stored["base64"]), stored["dtype"]).astype(float).tolist()
            asked += [(arm, x) for arm in entry["ask"]]
        else:
            told |= dict(zip(entry["tell"], entry["rewards"], strict=True))
    missing = sum(id >= len(asked) or asked[id] != row for id, row in load.asked.items())
    return missing + sum(told.get(id) != reward for id, reward in load.told.items())


def measure(quick: bool) -> dict[str, Any]:
    """Return the figures of a service under load, and of a start after a long life."""
    seconds, visits = (4, 2_000) if quick else (SECONDS, VISITS)
    with tempfile.TemporaryDirectory() as place:
        service, load = Service(Path(place)), Load()
        try:
            first = service.seconds_to_start()
            taken_first = processor_seconds(service.process.pid)
            steady, begun = Load(), processor_seconds(service.process.pid)
            asyncio.run(steady.play(service, RATE, seconds, None))
            taken = (processor_seconds(service.process.pid) - begun) / len(steady.seconds)
            service.end()
            service.seconds_to_start()
            asyncio.run(load.play(service, RATE, seconds, seconds / 2))
        finally:
            service.end()
        missing = lost(steady, Path(place, "shop", "log.jsonl")) + lost(load, Path(place, "shop", "log.jsonl"))
        size = Path(place, "shop", "log.jsonl").stat().st_size / (len(steady.asked) + len(load.asked))
    with tempfile.TemporaryDirectory() as place:
        live(Path(place, "shop"), visits)
        service = Service(Path(place))
        again = service.seconds_to_start()
        taken_again = processor_seconds(service.process.pid)
        answer = httpx2.post(f"{service.url}/ask", json=[0.0] * DIM, timeout=60).json()
        service.end(signal.SIGKILL)
        assert answer["id"] == visits
    times = np.sort(steady.seconds) * 1e3
    return {
        "p50": times[len(times) // 2],
        "p99": times[int(0.99 * len(times))],
        "worst": times[-1],
        "processor": 1e3 * taken,
        "failed": steady.failed + load.failed,
        "acknowledged": len(steady.told) + len(load.told) + len(steady.asked) + len(load.asked),
        "lost": missing,
        "first": first,
        "taken_first": taken_first,
        "back": load.back,
        "visits": visits,
        "again": again,
        "taken_again": taken_again,
        "bytes": size,
    }


def live(path: Path, visits: int) -> None:
    """Play so many visits, of float32 contexts, many in a call, and end without a close."""
    rng, rule = np.random.default_rng(0), jb.algorithms.lin_ucb_disjoint(ARMS, DIM)
    for first in range(0, visits, 50 * AT_ONCE):
        with jb.session_directory(path, rule) as store:  # anew, because a session keeps its visits in memory
            for _ in range(first, min(first + 50 * AT_ONCE, visits), AT_ONCE):
                pulls = store.ask(contexts=rng.normal(size=(AT_ONCE, DIM)).astype(np.float32))
                store.tell(pulls.id, (rng.random(AT_ONCE) < 0.5) * 1.0)
    os.remove(path / "certificate.json")


def table(result: dict[str, Any]) -> str:
    """Return the figures as text."""
    rows = [
        ("requests a second that were due, for a minute without and one with a kill", f"{2 * RATE}"),
        ("latency p50, p99 and the worst, without the kill, ms", "{p50:.1f}, {p99:.1f}, {worst:.0f}".format(**result)),
        ("processor time of the service for a request, ms", f"{result['processor']:.2f}"),
        ("requests that were sent again while the service was down", f"{result['failed']:,}"),
        ("acknowledged asks and rewards that are lost", f"{result['lost']} of {result['acknowledged']:,}"),
        ("first start, s; of the processor", f"{result['first']:.1f}; {result['taken_first']:.1f}"),
        ("from the kill to the first answer, s", f"{result['back']:.1f}"),
        (
            f"start with a log of {result['visits']:,} visits, s; of the processor",
            f"{result['again']:.1f}; {result['taken_again']:.1f}",
        ),
        ("a visit in the log, kB", f"{result['bytes'] / 1e3:.2f}"),
    ]
    named = [{"what": what, "value": value} for what, value in rows]
    return f"lin_ucb_disjoint, {ARMS} arms, contexts of {DIM} float32\n\n" + table_of(
        named, "measure -> {what} | value -> {value}"
    )
