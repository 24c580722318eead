"""The table that `run` prints: a row a cell."""

from collections.abc import Sequence
from typing import Any

from jaxbandit.experiments.tables import align


def table(results: Sequence[Any]) -> str:
    """Return the results of one experiment as text for people."""
    return _regret(results)


def names(results: Sequence[Any]) -> list[tuple[str, str]]:
    """Return instance and algorithm of each result, the algorithm with the values that a sweep gave it."""
    swept = {
        (r.algorithm, name)
        for r in results
        for other in results
        for name in r.params
        if other.algorithm == r.algorithm and other.params[name] != r.params[name]
    }
    return [
        (r.instance, " ".join([r.algorithm, *(f"{k}={v:g}" for k, v in r.params.items() if (r.algorithm, k) in swept)]))
        for r in results
    ]


def _regret(results: Sequence[Any]) -> str:
    rows = [("instance", "algorithm", "regret", "95 % interval", "lower bound", "seconds")]
    for name, result in zip(names(results), results, strict=True):
        mean, bound = result.arrays["mean"][-1], result.lower_bound()
        interval = result.interval() if result.runs > 1 else None
        rows.append(
            (
                *name,
                f"{mean:.2f}",
                f"[{interval.low[-1]:.2f}, {interval.high[-1]:.2f}]" if interval else "(one run)",
                "" if bound is None else f"{bound[-1]:.2f}",
                f"{sum(result.seconds.values()):.1f}",
            )
        )
    rounds = int(results[0].arrays["checkpoints"][-1])
    return f"{align(rows, right=(2, 4, 5))}\n{results[0].runs} runs, regret after {rounds} rounds"
