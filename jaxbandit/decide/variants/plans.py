"""How many visitors a test will take: tests are simulated from a log, and decided by the rule that decides real ones.

Visitors of all variants are drawn with replacement from those of the control, and one variant is better by the effect.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.variants import bounds
from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.decide.variants.pairs import numbers_of
from jaxbandit.decide.variants.visitors import Visitors
from jaxbandit.support import checks
from jaxbandit.theory.comparisons import looks
from jaxbandit.theory.comparisons.betting import STAKES, log_mixture

TESTS = 1000  # that are simulated, or fewer if they are long
FEWEST = 100
PILOTS = 40  # of them, from which the length of a test is found
FIRST, MOST, MOST_COUNTS = 4_000, 1_000_000, 10**9  # visitors of the shortest and of the longest test; of rates
WORK = 4 * 10**7  # visitors in all, beyond which fewer tests are simulated
_HALVINGS = 60


@dataclass(frozen=True)
class Plan:
    """How many visitors a test takes until it is decided, if a variant is better by the effect."""

    effect: float  # in units of an outcome
    base: float  # mean of the control in the log
    visitors: float  # of all variants, in the median of the simulated tests; inf if the longest does not suffice
    nine_tenths: float  # visitors that suffice in 9 of 10 tests
    tests: int  # that were simulated
    longest: int  # visitors of the longest test that was simulated
    time: float  # that so many visitors take, in units of the log, with the window; NaN without times
    nine_tenths_time: float
    in_days: bool  # or in other units of the log


class Source(NamedTuple):
    """A metric from which visitors are drawn, and what a test has to show of it."""

    log: Visitors
    kind: Kind
    control: int
    alpha: float  # of each bound that decides
    epsilon: float = 0.0
    maximize: bool = True
    effect: float = 0.0  # by which a variant is better
    limit: float | None = None  # of the lift, if it is a guardrail


def plan(sources: Sequence[Source], shares: np.ndarray, control: int, length: float) -> Plan:
    """Return how many visitors a test takes, of which the first metric decides, and the others are guardrails.

    The variant with the smallest of the shares, float64[variants], is the better one. `length` is that of the window.
    """
    first, shares = sources[0], shares / shares.sum()
    worlds = [_World(source) for source in sources]
    better = min((v for v in range(len(shares)) if v != control), key=lambda v: shares[v])
    by_counts = first.kind.binary and len(sources) == 1 and len(shares) == 2
    by_counts = by_counts and math.prod(n + 1 for n in numbers_of(*shares)) <= looks.GRID
    most = MOST_COUNTS if by_counts else MOST

    def end_of(test: int, visitors: int) -> float:
        rng = np.random.default_rng([test, 1])
        steps = looks.sample_sizes(visitors)
        if by_counts:
            return worlds[0].first_of_counts(rng, steps, shares, control, better)
        done = np.ones(len(steps), bool)
        for world in worlds:
            done &= world.wins(np.random.default_rng([test, 1]), steps, shares, control, better)
        return float(steps[np.argmax(done)]) if done.any() else math.inf

    visitors = FIRST
    while np.isinf(pilots := [end_of(test, visitors) for test in range(PILOTS)]).mean() > 0.08 and visitors < most:
        visitors *= 2 if np.isinf(pilots).mean() < 0.5 else 4
    visitors = min(visitors, most)
    tests = TESTS if by_counts else int(np.clip(WORK // visitors, FEWEST, TESTS))
    ends = np.array([end_of(PILOTS + test, visitors) for test in range(tests)])
    median, nine_tenths = (float(x) for x in np.quantile(ends, (0.5, 0.9), method="inverted_cdf"))
    pace = _pace(first.log)
    time = [(n / pace + length) / (86_400 if first.log.dated else 1) for n in (median, nine_tenths)]
    base = worlds[0].mean
    return Plan(first.effect, base, median, nine_tenths, tests, visitors, time[0], time[1], first.log.dated)


def _pace(log: Visitors) -> float:
    """Return how many visitors come in a unit of time; NaN without times, or if all are equal."""
    if log.time is None:
        return math.nan
    moments = len(np.unique(log.time))
    if moments < 2:
        return math.nan
    return len(log.time) / (float(log.time[-1] - log.time[0]) * moments / (moments - 1))


class _World:
    """The visitors of the control, from which those of simulated tests are drawn."""

    def __init__(self, source: Source):
        log = source.log
        rows = np.flatnonzero((log.variant == source.control) & log.final & np.isfinite(log.outcome))
        self.source, self.y = source, log.outcome[rows]
        self.per, self.shift = (None if x is None else x[rows] for x in (log.per, log.shift))
        size = float(len(rows) if self.per is None else self.per.sum())
        self.mean = float(self.y.sum()) / size if size else math.nan
        self.target = self.mean + (source.effect if source.maximize else -source.effect)
        if not math.isfinite(self.mean):
            raise ValueError("plan needs outcomes of the control, and the log has none")
        if source.effect and not source.kind.binary:
            self.better = self._better_outcomes(size)
        if source.kind.binary and not 0 <= self.target <= 1:
            checks.wrong("plan", source.effect, f"an effect after which a rate of {self.mean:.4g} is in [0, 1]")

    def _better_outcomes(self, size: float) -> np.ndarray:
        """Return the outcomes of the better variant: multiples of those of the control, within the range."""
        kind, y = self.source.kind, self.y
        scales = bool(y.min() >= 0)

        def outcomes(by: float) -> np.ndarray:
            return np.clip(y * by if scales else y + by, kind.low, kind.high)

        reach = 1e6 if scales else 2 * (np.abs(y).max() + abs(self.target))
        low, high = 0.0 if scales else -reach, reach
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if outcomes(middle).sum() / size < self.target else (low, middle)
        found = outcomes(high)
        if abs(found.sum() / size - self.target) > 1e-6 * abs(self.source.effect):
            checks.wrong("plan", self.source.effect, f"an effect that outcomes with a mean of {self.mean:.4g} can have")
        return found

    def first_of_counts(
        self, rng: np.random.Generator, steps: np.ndarray, shares: np.ndarray, control: int, better: int
    ) -> float:
        """Return the first of the steps at which a test of two rates is decided; the pairs are drawn as counts."""
        from scipy.stats import binom  # imported here because it is slow to import and rarely needed

        source, (p, q) = self.source, numbers_of(shares[better], shares[control])
        i, j = np.arange(p + 1), np.arange(q + 1)[:, None]  # outcomes of 1 of the better variant and of the control
        gaps = np.round((j / q - i / p) * (1 if source.maximize else -1), 12)
        values, places = np.unique(-gaps.ravel(), return_inverse=True)
        cells = np.bincount(places, (binom.pmf(j, q, self.mean) * binom.pmf(i, p, self.target)).ravel())
        groups = np.floor(steps * min(shares[better] / p, shares[control] / q) + 1e-9).astype(np.int64)
        counts = np.cumsum(rng.multinomial(np.diff(groups, prepend=0), cells / cells.sum()), axis=0)
        logs = np.log1p(STAKES * ((source.epsilon + values) / (1 - source.epsilon))[:, None])
        done = log_mixture(counts @ logs) >= -math.log(source.alpha)
        return float(steps[np.argmax(done)]) if done.any() else math.inf

    def wins(
        self, rng: np.random.Generator, steps: np.ndarray, shares: np.ndarray, control: int, better: int
    ) -> np.ndarray:
        """Return after which numbers of visitors a test is decided in favor of the better variant, bool[steps]."""
        done = np.ones(len(steps), bool)
        rivals = [v for v in range(len(shares)) if v != better and (self.source.limit is None or v == control)]
        mine = self._drawn(rng, int(steps[-1] * shares[better]) + 1, better=True)
        for rival in rivals:
            p, q = numbers_of(shares[better], shares[rival])
            pairs = np.floor(steps * min(shares[better] / p, shares[rival] / q) + 1e-9).astype(np.int64)
            n = int(pairs[-1])
            others = self._drawn(rng, n * q, better=False)
            one, other = (
                [None if x is None else x[: n * size].reshape(n, size) for x in drawn]
                for drawn, size in ((mine, p), (others, q))
            )
            sizes, at = np.unique(pairs[pairs > 0], return_inverse=True)
            found = np.zeros(len(steps), bool)
            found[pairs > 0] = self._is_known(one, other, sizes)[at]
            done &= found
        return done

    def _drawn(self, rng: np.random.Generator, n: int, *, better: bool) -> list[np.ndarray | None]:
        """Return outcomes, denominators and shifts of n visitors."""
        rows = rng.integers(len(self.y), size=n)
        y, effect = self.y[rows], self.source.effect if better else 0.0
        if effect and self.source.kind.binary:
            up = self.target > self.mean
            change = (self.target - self.mean) / (1 - self.mean) if up else 1 - self.target / self.mean
            y = np.where(rng.random(n) < change, float(up), y)
        elif effect:
            y = self.better[rows]
        return [y, *(None if x is None else x[rows] for x in (self.per, self.shift))]

    def _is_known(self, mine: Any, others: Any, sizes: np.ndarray) -> np.ndarray:
        """Return after which numbers of pairs the test has shown what it must, bool[sizes]."""
        source, limit = self.source, self.source.limit
        scale = 1.0 if limit is None else 1 / (1 + limit)
        ours = [mine[0] * scale, mine[1], None if mine[2] is None else mine[2] * scale]
        least, most = (others, ours) if (source.maximize if limit is None else limit < 0) else (ours, others)
        if source.kind.bounded and limit is not None and source.kind.low < 0:
            return np.zeros(len(sizes), bool)  # a mean that may be below 0 has no lift
        if source.kind.bounded:
            width = source.kind.high - (source.kind.low if limit is None else 0.0)
            gaps = (least[0].mean(axis=1) - most[0].mean(axis=1)) / width
            return looks.log_wealth(gaps, source.epsilon / width, sizes) >= -math.log(source.alpha)
        per, shift = (None if x is None else (x, y) for x, y in zip(least[1:], most[1:], strict=True))
        more = bounds.More(shift, per)
        value, half, _ = bounds.in_the_limit((least[0], most[0]), more, sizes, source.alpha, ("", ""))
        return value + half <= source.epsilon
