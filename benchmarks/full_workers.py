"""`python -m benchmarks.full_workers`: a slow judge on 50 workers: how many are at work, and at what price.

A judge lasts 0.1 to 2 s. At work are the calls between the first one and the moment at which the search returns.
"""

import asyncio
import random
import threading
import time
from typing import Any

import numpy as np

import jaxbandit as jb

WORKERS, ITEMS = 50, 1500
CONFIGS = [{"prompt": i} for i in range(12)]


def seconds(item: Any, config: Any) -> float:
    """How long a call lasts."""
    return random.Random(f"seconds {item} {config}").uniform(0.1, 2.0)


def grade(item: Any, config: Any) -> float:
    """The grade of an answer."""
    own = random.Random(f"{item} {config}")
    return 0.5 + 0.02 * config["prompt"] + random.Random(str(item)).gauss(0, 0.1) + own.gauss(0, 0.1)


class Watch:
    """The calls of a search."""

    def __init__(self, hang: int | None = None) -> None:
        """Begin without calls; call number `hang` does not end."""
        self.asked: list[tuple[Any, int]] = []
        self.moments: list[tuple[float, int]] = []
        self._lock, self._hang = threading.Lock(), hang

    def begin(self, item: Any, config: Any) -> float:
        """Note a call, and return how long it lasts."""
        with self._lock:
            self.asked.append((item, config["prompt"]))
            self.moments.append((time.monotonic(), 1))
            return 1e6 if len(self.asked) == self._hang else seconds(item, config)

    def end(self, item: Any, config: Any) -> float:
        """Note that a call has ended, and return its grade."""
        with self._lock:
            self.moments.append((time.monotonic(), -1))
        return grade(item, config)

    def busy(self, until: float) -> tuple[float, float]:
        """Return the mean number of calls under way, and the share of the time in which there were at least 40."""
        times = np.array([t for t, _ in self.moments if t < until] + [until])
        counts = np.cumsum([step for t, step in self.moments if t < until])
        spans = np.diff(times)
        return float(counts @ spans / spans.sum()), float((counts >= 40) @ spans / spans.sum())


def play(name: str, hang: int | None = None, awaits: bool = False, **execution: Any) -> Any:
    """Play one search, print its line and return the result."""
    watch = Watch(hang)

    def judge(item: int, config: Any) -> float:
        time.sleep(watch.begin(item, config))
        return watch.end(item, config)

    async def ajudge(item: int, config: Any) -> float:
        await asyncio.sleep(watch.begin(item, config))
        return watch.end(item, config)

    goal = None if hang is None else jb.Goal(on_failure=0.0)
    how = jb.Execution(progress=False, **execution)
    found = jb.tune(ajudge if awaits else judge, CONFIGS, goal=goal, pool=ITEMS, execution=how)
    mean, share = watch.busy(time.monotonic())
    until = watch.moments[0][0]
    repeats = len(watch.asked) - len(set(watch.asked))
    print(
        f"{name:24}{len(found.history['id']):7}{found.spare:7}{repeats:9}{time.monotonic() - until:9.1f}{mean:9.1f}"
        f"{share:9.1%}   {'; '.join(note for note in found.notes if 'did not end' in note)}"
    )
    return found


def main() -> None:
    """Print the table."""
    jb.tune(grade, CONFIGS, pool=40, execution=jb.Execution(progress=False))  # imports everything
    print(f"{'50 workers, 12 configs':24}{'calls':>7}{'spare':>7}{'repeats':>9}{'s':>9}{'busy':>9}{'>= 40':>9}")
    alone = jb.tune(grade, CONFIGS, pool=ITEMS, execution=jb.Execution(progress=False))
    found = [
        play("threads", workers=WORKERS),
        play("async def", awaits=True, workers=WORKERS),
        play("one call hangs, 5 s each", hang=60, workers=WORKERS, seconds_each=5.0),
    ]
    history = alone.history
    rounds = [
        max(
            seconds(int(item), CONFIGS[config])
            for item, config in zip(history["seed"][at], history["config"][at], strict=True)
        )
        for at in (history["batch"] == number for number in np.unique(history["batch"]))
    ]
    each = len(history["id"]) / len(rounds)
    print(f"a round of survivors at a time would take {sum(rounds):.0f} s, with {each:.1f} calls")
    same = [np.array_equal(each.history["score"], history["score"]) for each in found[:2]]
    choice = [each.index == alone.index for each in found]
    print(f"the same decisions as one call at a time: {same}, the same choice: {choice}")


if __name__ == "__main__":
    main()
