"""The value of one policy on a log: the headline, all estimates and the diagnostics."""

import math
from dataclasses import dataclass
from typing import Any

from jaxbandit.decide.logs.diagnostics import Diagnostics
from jaxbandit.decide.logs.estimates import BETTING, Rows
from jaxbandit.support import text
from jaxbandit.support.document import Describable, Document, Table, finite, plain
from jaxbandit.theory.intervals import Interval

CHECK = (
    "check the propensities, the order of the rows, whether rewards change in time, and whether rows are there twice"
)


@dataclass(frozen=True)
class Estimate:
    """An estimate in units of the rewards; its ends are NaN where there is no interval."""

    estimator: str  # "DR", "IPS", "SNIPS", "clipped at ..", "DM"
    interval: str  # "normal", "betting", "empirical Bernstein", or "" if there is none
    value: float
    se: float
    low: float
    high: float
    about: str  # what is assumed or not proved, or why there is no interval
    contradicted: bool = False  # the estimate was outside of its interval, so that neither is stated

    @property
    def words(self) -> str:
        """The number with its interval."""
        return "?" if math.isnan(self.value) else text.with_interval(self.value, self.low, self.high)

    @property
    def cells(self) -> list[str]:
        """The number and its interval, as two cells of a table."""
        value, _, rest = self.words.partition(" [")
        return [value, rest.rstrip("]").replace(", ", " to ")]

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data; what is not known is absent."""
        return finite({name: x for name, x in vars(self).items() if name != "contradicted"})


def stated(
    estimator: str, interval: str, found: Interval[float], about: str, limits: tuple[float, float] | None = None
) -> Estimate:
    """Return an estimate with its interval, or only what is wrong if the estimate is outside of it.

    The value is between the `limits` for certain, where the interval ends unless the estimate is beyond.
    """
    value, low, high = found.value, found.low, found.high
    if limits is not None and not (value < limits[0] or value > limits[1]):
        low, high = min(max(low, limits[0]), limits[1]), min(max(high, limits[0]), limits[1])
    slack = 1e-9 * (abs(low) + abs(high))  # of sums in another order, where an interval has no width
    if value < low - slack or value > high + slack or low > high:
        where = f"{value:.4g} is not in the {interval} interval, {low:.4g} to {high:.4g}"
        what = f"the estimate and its interval contradict each other: {where}; {CHECK}"
        return Estimate(estimator, "", math.nan, math.nan, math.nan, math.nan, what, contradicted=True)
    if value == value and low == low:
        low, high = min(low, value), max(high, value)
    return Estimate(estimator, interval, value, found.se, low, high, about)


class Headline(Describable):
    """What has a headline, and its number and interval."""

    headline: Estimate

    @property
    def value(self) -> float:
        """The estimate of the headline."""
        return self.headline.value

    @property
    def low(self) -> float:
        """The lower end of its interval, NaN without one."""
        return self.headline.low

    @property
    def high(self) -> float:
        """The upper end of its interval, NaN without one."""
        return self.headline.high

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False, repr=False)
class PolicyValue(Headline):
    """The value of a policy on a log; `str` returns all estimates as text.

    `diagnostics` and `rows` are None without propensities, and for the rewards of the log as they were.
    """

    name: str
    headline: Estimate
    estimates: tuple[Estimate, ...]
    confidence: float
    warnings: tuple[str, ...] = ()
    diagnostics: Diagnostics | None = None
    rows: Rows | None = None

    @property
    def by(self) -> str:
        """The estimator and the kind of interval of the headline."""
        found = self.headline
        if found.contradicted:
            return "a contradiction"
        sure = " (not proved)" if found.interval == BETTING and self.rows is not None and not self.rows.proved else ""
        return f"{found.estimator}, {found.interval or 'no interval'}{sure}"

    def estimate(self, estimator: str, interval: str) -> Estimate | None:
        """Return the estimate by an estimator with a kind of interval, such as "IPS" and "betting", None without it."""
        return next((e for e in self.estimates if (e.estimator, e.interval) == (estimator, interval)), None)

    @property
    def betting(self) -> Estimate | None:
        """The betting interval of the doubly robust estimate; None without propensities."""
        return self.estimate("DR", BETTING)

    def table(self) -> Table:
        """Return a table of all estimates."""
        head = ("estimator", "value", f"{percent(self.confidence)} interval", "interval by", "what it rests on")
        rows = [[e.estimator, *e.cells, e.interval, e.about] for e in self.estimates]
        return Table(head, rows, right=(1,), labels=0, caption=f"Estimates of {self.name}")

    def describe(self, *, detail: bool = False) -> Document:
        """Return what the value shows."""
        data: dict[str, Any] = {"name": self.name, "headline": self.headline.to_dict()}
        data |= {"estimates": [e.to_dict() for e in self.estimates], "warnings": list(self.warnings)}
        if self.diagnostics is not None and self.rows is not None:
            data["diagnostics"] = finite(plain({**vars(self.diagnostics), "wrong": self.diagnostics.wrong}))
            data |= {"weight_bound": self.rows.bound, "weight_bound_proved": self.rows.proved}
        return Document(f"{self.name}: {self.headline.words} ({self.by})", [self.table()], data)


def percent(confidence: float) -> str:
    """Return a confidence level in percent."""
    return f"{100 * confidence:g} %"
