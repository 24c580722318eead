"""Numbers without a range in `ab`: how often the worse variant is shipped, and how often printed intervals hold.

Logs are drawn from laws of which rare large outcomes make most of the mean, and are looked at at the sizes of the
library's own grid, each 2 % larger than the one before. The decision and the intervals are those of the functions that
`ab` itself calls, with delta = .05.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.variants.bounds import contrast, mean_interval
from jaxbandit.decide.variants.outcomes import Kind

Law = Callable[[np.random.Generator, int], np.ndarray]
NUMBERS, DELTA, PAIRS, LOGS, INTERVALS = Kind(False), 0.05, 40_000, 300, 400
SIZES = (1_000, 4_000, 16_000, 40_000)  # at which the intervals of means are looked at


class World(NamedTuple):
    """Outcomes of two variants."""

    name: str
    one: Law  # of the better one, unless the means are equal
    other: Law
    means: tuple[float, float]


def _rare(size: float, share: float) -> Law:
    return lambda rng, n: size * (rng.random(n) < share)


def _buyers(share: float) -> Law:
    return lambda rng, n: rng.lognormal(3.0, 1.2, n) * (rng.random(n) < share)


def _even(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.5, 0.7, 0.9)


def _lognormal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.lognormal(0.0, 1.0, n)


_SPENT = math.exp(3.0 + 1.2**2 / 2)
WORLDS = (
    World("50 in 2 %; .7 or .9", _rare(50, 0.02), _even, (1.0, 0.8)),
    World("500 in .2 %; .7 or .9", _rare(500, 0.002), _even, (1.0, 0.8)),
    World("100 in 1 %; 10 in 8 %", _rare(100, 0.01), _rare(10, 0.08), (1.0, 0.8)),
    World("lognormal(0, 1), twice", _lognormal, _lognormal, (math.exp(0.5), math.exp(0.5))),
    World("5 % buyers, lognormal(3, 1.2), twice", _buyers(0.05), _buyers(0.05), (0.05 * _SPENT, 0.05 * _SPENT)),
    World("buyers of 6 % and 5 %", _buyers(0.06), _buyers(0.05), (0.06 * _SPENT, 0.05 * _SPENT)),
)


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each pair of laws; `quick` takes a tenth of the logs."""
    return [of_world(world, *((LOGS // 10, INTERVALS // 10) if quick else (LOGS, INTERVALS))) for world in WORLDS]


def of_world(world: World, logs: int, intervals: int) -> dict[str, Any]:
    """Return what is found in that many logs: decisions in the first ones, intervals of means in all."""
    equal = world.means[0] == world.means[1]
    found = {"name": world.name, "logs": logs, "intervals": intervals, "wrong": 0, "right": 0, "contradicted": 0}
    printed, missed = np.zeros((2, len(SIZES)), int), np.zeros((2, len(SIZES)), int)
    for seed in range(max(logs, intervals)):
        rng = np.random.default_rng(seed)
        samples = world.one(rng, PAIRS), world.other(rng, PAIRS)
        if seed < logs:
            one, other = (y[:, None] for y in samples)
            bounds = contrast(
                (one, other), (one, other), NUMBERS, DELTA / 2, ("A", "B")
            )  # for the decision and for the interval
            better, worse = bool((bounds.path[:, 2] > 0).any()), bool((bounds.path[:, 3] < 0).any())
            found["wrong"] += worse or (equal and better)
            found["right"] += better and not equal
            found["contradicted"] += bounds.contradicted > 0
        for v, (y, mean) in enumerate(zip(samples, world.means, strict=True)):
            for k, n in enumerate(SIZES):
                low, high = mean_interval(y[:n], y[:n], NUMBERS, DELTA / 2)  # delta over two variants
                printed[v, k] += math.isfinite(low)
                missed[v, k] += math.isfinite(low) and not low <= mean <= high
    return found | {"printed": printed.tolist(), "missed": missed.tolist()}


def table(found: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    sizes = "".join(f"{f'{n:,}':>14}" for n in SIZES)
    lines = [
        f"share of {found[0]['logs']} logs of {PAIRS:,} pairs in which at some look",
        f"{'the better law; the other':<38}{'wrong':>8}{'right':>8}{'contradiction':>15}",
    ]
    for row in found:
        right = f"{row['right'] / row['logs']:>8.3f}" if row["right"] else f"{'':>8}"
        lines.append(
            f"{row['name']:<38}{row['wrong'] / row['logs']:>8.3f}{right}{row['contradicted'] / row['logs']:>15.3f}"
        )
    lines += ["", f"95 % intervals of both means in {found[0]['intervals']} logs: false of printed ones, by visitors"]
    lines.append(f"{'law':<38}{sizes}")
    for row in found:
        for v, (missed, printed) in enumerate(zip(row["missed"], row["printed"], strict=True)):
            cells = "".join(f"{f'{m} of {p}' if p else 'none':>14}" for m, p in zip(missed, printed, strict=True))
            lines.append(f"{row['name'] if not v else '  the other':<38}{cells}")
    return "\n".join(lines)
