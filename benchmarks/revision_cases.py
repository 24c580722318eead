"""What `python -m benchmarks revisions` plays: one process of one revision, told on stdin what to time.

Only names that every revision has are used, so that the same lines run on all of them. A line on stdin is the name of a
case, the answering line on stdout is JSON: the seconds of a whole call, the steps played and a number from the result,
which tells whether two revisions did the same work. A case's first call compiles; it is not timed with the others.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import jaxbandit as jb

Play = Callable[[], tuple[int, float]]  # steps played, number that tells the work done
IT_ARMS, IT_SETS, TEAM = 36, 81, 10  # the crowd set IT of Table 2 of Kuroki et al. (2019)


def ucb1(num_arms: int, runs: int, rounds: int) -> Play:
    """UCB1 on Bernoulli arms with equally spaced means."""
    means: Any = np.linspace(0, 1, num_arms + 2)[1:-1]
    algorithm, environment = jb.ucb1(num_arms), jb.bernoulli(means)

    def play() -> tuple[int, float]:
        found = jb.simulate(
            algorithm, environment, horizon=rounds, num_runs=runs, checkpoints=[rounds], per_run=False, progress=False
        )
        return runs * rounds, float(found.interval().value[-1])

    return play


def lingape(runs: int) -> Play:
    """LinGapE on the instance of Soare et al. (2014): six arms in five dimensions, two at angle 0.1."""
    features: Any = np.vstack([np.eye(5), [np.cos(0.1), np.sin(0.1), 0, 0, 0]])
    return _identify(jb.lingape(features, delta=0.05, theta_norm=2.0), jb.soare(5, 0.1), runs)


def it(rule: Callable[..., Any], runs: int, **more: Any) -> Play:
    """One cell of Table 2 of Kuroki et al. (2019): the crowd set IT under one rule."""
    told = {"k": TEAM, "num_sets": IT_SETS, "epsilon": 0.5, "sigma": float(TEAM)}
    crowd = jb.crowd("it", feedback="full", k=TEAM, blocks="normal")
    return _identify(rule(IT_ARMS, **told, **more), crowd, runs, max_rounds=2 * 10**9)


def _identify(algorithm: Any, environment: Any, runs: int, **more: Any) -> Play:
    def play() -> tuple[int, float]:
        found = jb.identify(algorithm, environment, num_runs=runs, progress=False, **more)
        return found.run_steps, float(found.arrays["samples"].mean())

    return play


def cases(quick: bool) -> dict[str, Callable[[], Play]]:
    """Return what makes each case, by name; `quick` plays so little that it measures nothing."""
    few = 100 if quick else 1
    return {
        "ucb1, K = 9": lambda: ucb1(9, 10_000 // few, 10_000 // few),
        "ucb1, K = 100": lambda: ucb1(100, 10_000 // few, 2_000 // few),
        "lingape, K = 6": lambda: lingape(2_000 // few),
        "table 2, IT, icb": lambda: it(jb.icb, 100 // few, radius="prop1"),
        "table 2, IT, saqm": lambda: it(jb.saqm, 100 // few, alpha="fixed"),
        "table 2, IT, sa_foa": lambda: it(jb.sa_foa, 100 // few, eps_factor=1.0),
    }


def answer(known: Mapping[str, Callable[[], Play]]) -> None:
    """Time the cases named on stdin until it ends."""
    made: dict[str, Play] = {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in made:
            made[name] = known[name]()
        begun = time.perf_counter()
        steps, work = made[name]()
        print(json.dumps({"seconds": time.perf_counter() - begun, "steps": steps, "work": work}), flush=True)


if __name__ == "__main__":
    print(json.dumps({"jaxbandit": jb.__file__, "version": jb.__version__}), flush=True)
    answer(cases(sys.argv[1:] == ["--quick"]))
