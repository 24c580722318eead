"""Guardrails: metrics that a variant must not harm, by more than a margin, to be shipped."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxbandit.decide.variants.formats import ends, percent, with_sign
from jaxbandit.support.document import Table


@dataclass(frozen=True)
class Guardrail:
    """What is known of a metric that a variant must keep.

    Its lift may not be below `limit`, or not above it if the limit is positive. Its interval is that of the lift of the
    metric: of all variants together, at all times, with the metric's share of delta.
    """

    metric: str
    variant: str
    limit: float
    lift: float
    low: float
    high: float

    @property
    def state(self) -> str:
        """Whether the guardrail is "kept", "broken", or "not known" yet."""
        low, high, limit = (self.low, self.high, self.limit) if self.limit < 0 else (-self.high, -self.low, -self.limit)
        if not math.isfinite(low) and not math.isfinite(high):
            return "not known"
        return "kept" if low >= limit else "broken" if high < limit else "not known"

    @property
    def words(self) -> str:
        """What must not be, such as "revenue at most 1 % lower"."""
        return f"{self.metric} at most {100 * abs(self.limit):g} % {'lower' if self.limit < 0 else 'higher'}"


def table(guardrails: Sequence[Guardrail], delta: float) -> Table | None:
    """Return the guardrails of all variants as a table, if there are any."""
    if not guardrails:
        return None
    head = ("guardrail", "variant", "lift", f"{100 * (1 - delta):.4g} % interval", "it is")
    rows = [(g.words, g.variant, with_sign(g.lift, percent), ends(g.low, g.high, percent), g.state) for g in guardrails]
    return Table(head, rows, (2, 3), labels=2, caption="Metrics that must not be harmed")
