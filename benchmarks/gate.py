"""`no_worse` at six ratios of times, beside the medians of the versions one by one, and a bootstrap of 200 pairs.

Times are lognormal, and vary by 10 %. In the second world the machine has another load, by which all times are
multiplied: the exponential of a stationary autoregression with a standard deviation of 20 % and a correlation of .9
between neighboring calls. The margin is 1.05, delta .05, and at most 6,000 calls are made.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit as jb
from jaxbandit.decide.gate.statement import Versions

MARGIN, DELTA, MOST, REPETITIONS = 1.05, 0.05, 6000, 20
RATIOS = (1.0, 1.02, 1.03, 1.05, 1.1, 1.3)
NOISE, LOAD, MEMORY = 0.1, 0.2, 0.9
PAIRS, RESAMPLES = 200, 2000  # of the bootstrap
VERDICTS = ("pass", "fail", "undecided")


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each world, ratio and rule; `quick` makes a tenth of the repetitions."""
    rows = []
    for world, load in (("steady", 0.0), ("load", LOAD)):
        for ratio in RATIOS:
            for name, rule in (("no_worse", gate), ("medians", medians), ("bootstrap", bootstrap)):
                found = [rule(times(ratio, load, seed), seed) for seed in range(REPETITIONS // (10 if quick else 1))]
                counts = {verdict: [each for each, _ in found].count(verdict) for verdict in VERDICTS}
                calls = float(np.mean([calls for _, calls in found]))
                rows.append({"world": world, "ratio": ratio, "rule": name, **counts, "calls": calls})
    return rows


def times(ratio: float, load: float, seed: int) -> np.ndarray:
    """Return the times of pairs of calls, float64[pairs, 2], the old version first."""
    rng = np.random.default_rng([seed, round(1000 * ratio)])
    steps = rng.standard_normal(MOST)
    level = np.empty(MOST)
    level[0] = steps[0]
    for i in range(1, MOST):
        level[i] = MEMORY * level[i - 1] + np.sqrt(1 - MEMORY**2) * steps[i]
    logs = (load * level + NOISE * rng.standard_normal(MOST)).reshape(-1, 2)
    return np.exp(rng.permuted(logs, axis=1)) * [1.0, ratio]


def gate(pairs: np.ndarray, seed: int) -> tuple[str, int]:
    """Return the verdict of `no_worse` and the calls that it took."""
    calls = [iter(pairs[:, version]) for version in (0, 1)]
    old, new = (_next(each) for each in calls)
    found = jb.no_worse(old, new, margin=MARGIN, delta=DELTA, max_calls=MOST, warm_up=0, timeout="1h", seed=seed)
    return found.verdict, found.calls


def _next(values: Any) -> Callable[[int], float]:
    return lambda seed: float(next(values))


def medians(pairs: np.ndarray, seed: int) -> tuple[str, int]:
    """Return the same by bounds of the medians of the versions one by one, as `tune` compares 1.05 x old with new."""
    known = Versions(("new", "old"), MARGIN, 0.5, DELTA, None)
    for i, pair in enumerate(pairs, 1):
        known.enter(pair[None, ::-1])
        if verdict := known.verdict():
            return verdict, 2 * i
    return "undecided", MOST


def bootstrap(pairs: np.ndarray, seed: int) -> tuple[str, int]:
    """Return what the 95 % percentile interval of the ratio of the medians of 200 pairs says."""
    rows, rng = pairs[:PAIRS], np.random.default_rng(seed)
    old, new = (np.median(x, axis=1) for x in np.moveaxis(rows[rng.integers(PAIRS, size=(RESAMPLES, PAIRS))], 2, 0))
    low, high = np.quantile(new / old, [DELTA / 2, 1 - DELTA / 2])
    return "pass" if high <= MARGIN else "fail" if low > MARGIN else "undecided", 2 * PAIRS


def table(found: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    repetitions = sum(found[0][verdict] for verdict in VERDICTS)
    lines = [f"of {repetitions} repetitions, margin {MARGIN}", f"{'world':<8}{'ratio':>6}  {'rule':<10}"]
    lines[-1] += "".join(f"{verdict:>11}" for verdict in VERDICTS) + f"{'calls':>8}"
    for row in found:
        counts = "".join(f"{row[verdict]:>11}" for verdict in VERDICTS)
        lines.append(f"{row['world']:<8}{row['ratio']:>6.2f}  {row['rule']:<10}{counts}{row['calls']:>8,.0f}")
    return "\n".join(lines)
