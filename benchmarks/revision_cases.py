"""The process of one revision in `jaxbandit bench`, which reads from stdin what to time.

The same code runs on every revision. If a revision does not have a name that a case needs, the answer is `missing`. A
line on stdin is the name of a case. The answer is a line of JSON on stdout: the seconds of a whole call, the steps
played and a number from the result, which shows whether two revisions did the same work. The first call of a case
compiles, and is not timed with the others.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import jaxbandit as jb

Play = Callable[[], tuple[int, float]]  # steps played, and a number that identifies the work
IT_ARMS, IT_SETS, TEAM = 36, 81, 10  # the crowd set IT of Table 2 of Kuroki et al. (2019)


def regret(rule: str, num_arms: int, runs: int, rounds: int) -> Play:
    """A policy on Bernoulli arms with equally spaced means."""
    means: Any = np.linspace(0, 1, num_arms + 2)[1:-1]
    return _simulate(getattr(jb.algorithms, rule)(num_arms), jb.environments.bernoulli(means), runs, rounds)


def lin_ucb(runs: int, rounds: int) -> Play:
    """LinUCB on ten arms on the circle."""
    turns = np.linspace(0, np.pi, 10)
    features: Any = np.stack([np.cos(turns), np.sin(turns)], 1)
    return _simulate(
        jb.algorithms.lin_ucb(features, horizon=rounds), jb.environments.linear(features, [1.0, 0.2]), runs, rounds
    )


def _simulate(algorithm: Any, environment: Any, runs: int, rounds: int) -> Play:
    def play() -> tuple[int, float]:
        found = jb.simulate(
            algorithm,
            environment,
            horizon=rounds,
            num_runs=runs,
            checkpoints=[rounds],
            keep=(),
            execution=jb.Execution(progress=False),
        )
        return runs * rounds, float(found.interval().value[-1])

    return play


def lingape(runs: int) -> Play:
    """LinGapE on the instance of Soare et al. (2014): six arms in five dimensions, two at angle 0.1."""
    features: Any = np.vstack([np.eye(5), [np.cos(0.1), np.sin(0.1), 0, 0, 0]])
    return _identify(jb.algorithms.lingape(features, delta=0.05, theta_norm=2.0), jb.environments.soare(5, 0.1), runs)


def best_arm(rule: str, runs: int, rounds: int, **more: Any) -> Play:
    """A stopping rule on ten Gaussian arms whose gaps are too small for a run to stop."""
    means: Any = np.linspace(0.0, 0.01, 10)
    return _identify(
        getattr(jb.algorithms, rule)(10, delta=0.01, **more), jb.environments.gaussian(means), runs, max_rounds=rounds
    )


def budget(runs: int) -> Play:
    """Sequential halving on the first instance of Audibert, Bubeck and Munos (2010)."""
    rule = jb.algorithms.sequential_halving(20, budget=2000)
    return _identify(rule, jb.environments.bernoulli([0.5] + [0.4] * 19), runs)


def it(rule: str, runs: int, **more: Any) -> Play:
    """One cell of Table 2 of Kuroki et al. (2019): the crowd set IT under one rule."""
    told = {"k": TEAM, "num_sets": IT_SETS, "epsilon": 0.5, "sigma": float(TEAM)}
    crowd = jb.environments.crowd("it", feedback="full", k=TEAM, blocks="normal")
    return _identify(getattr(jb.algorithms, rule)(IT_ARMS, **told, **more), crowd, runs, max_rounds=2 * 10**9)


def _identify(algorithm: Any, environment: Any, runs: int, **more: Any) -> Play:
    def play() -> tuple[int, float]:
        found = jb.identify(algorithm, environment, num_runs=runs, **more, execution=jb.Execution(progress=False))
        return found.run_steps, float(found.arrays["samples"].mean())

    return play


def cases(quick: bool) -> dict[str, Callable[[], Play]]:
    """Return a function that makes each case, by name; `quick` plays too little for a measurement."""
    few = 100 if quick else 1
    gaussian: dict[str, Any] = {"family": "gaussian", "threshold": "gauss"}
    return {
        "ucb1, K = 9": lambda: regret("ucb1", 9, 10_000 // few, 10_000 // few),
        "ucb1, K = 100": lambda: regret("ucb1", 100, 10_000 // few, 2_000 // few),
        "kl_ucb, K = 9": lambda: regret("kl_ucb", 9, 10_000 // few, 4_000 // few),
        "thompson, K = 9": lambda: regret("thompson", 9, 10_000 // few, 1_000 // few),
        "imed, K = 9": lambda: regret("imed", 9, 10_000 // few, 1_000 // few),
        "lin_ucb, K = 10": lambda: lin_ucb(2_000 // few, 2_000 // few),
        "lingape, K = 6": lambda: lingape(2_000 // few),
        "lucb, K = 10": lambda: best_arm("lucb", 2_000 // few, 5_000 // few),
        "top_two, K = 10": lambda: best_arm("top_two", 2_000 // few, 5_000 // few, **gaussian),
        "sequential_halving": lambda: budget(100_000 // few),
        "table 2, IT, icb": lambda: it("icb", 100 // few, radius="prop1"),
        "table 2, IT, saqm": lambda: it("saqm", 100 // few, alpha="fixed"),
        "table 2, IT, sa_foa": lambda: it("sa_foa", 100 // few, eps_factor=1.0),
    }


def answer(known: Mapping[str, Callable[[], Play]]) -> None:
    """Time the cases named on stdin until it ends."""
    made: dict[str, Play] = {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in made:
            try:
                made[name] = known[name]()
            except (AttributeError, TypeError) as error:  # a name or an argument that only a later revision has
                print(json.dumps({"missing": " ".join(str(error).split())}), flush=True)
                continue
        begun = time.perf_counter()
        steps, work = made[name]()
        print(json.dumps({"seconds": time.perf_counter() - begun, "steps": steps, "work": work}), flush=True)


if __name__ == "__main__":
    print(json.dumps({"jaxbandit": jb.__file__, "version": jb.__version__}), flush=True)
    answer(cases(sys.argv[1:] == ["--quick"]))
