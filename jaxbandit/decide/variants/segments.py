"""Differences between the variants within segments of the visitors, from which nothing is decided."""

from dataclasses import dataclass

import numpy as np

from jaxbandit.decide.variants import stages as staging
from jaxbandit.decide.variants.pairs import Pairs
from jaxbandit.theory.comparisons.contradiction import contradictory

MOST = 12  # values of a column, those of most visitors
MANY = (
    "Each interval is false with probability at most {delta}, for itself: with {looks} segments, about {chance:.2g} of "
    "them may show a difference that is not there. Nothing is decided from segments; what stands out is a question for "
    "another test"
)


@dataclass(frozen=True)
class Segment:
    """The difference between a variant and the control among the visitors of a segment."""

    column: str
    value: str
    variant: str
    visitors: int  # of the variant
    mean: float
    difference: float
    low: float  # interval of the difference, infinite if nothing is stated
    high: float
    lift: float
    lift_low: float
    lift_high: float


def segments(pairs: Pairs, stages: staging.Stages, level: np.ndarray, control: int) -> list[Segment]:
    """Return what is known within each segment; `level` is the error probability of each pair of variants."""
    log, found = pairs.log, []
    for s, (column, values) in enumerate(log.segment_names):
        size = np.bincount(log.segment[:, s], minlength=len(values))
        for value in np.argsort(-size, kind="stable")[:MOST].tolist():
            rows = log.segment[:, s] == value
            entry = np.searchsorted(np.flatnonzero(rows), stages.entry)
            part = pairs.of_rows(rows, stages._replace(entry=entry))
            for v in sorted(range(len(log.names)), key=log.names.__getitem__):
                if v == control or not rows.any():
                    continue
                alpha = float(level[v, control]) / 2
                contrast = part.contrast(v, control, alpha, history=False)
                lift = part.lift(v, control, alpha, stated=np.isfinite(contrast.low))
                low, high = contrast.low, contrast.high
                if contradictory(*(np.array([x]) for x in (low, high, contrast.value)))[0]:
                    low, high = -np.inf, np.inf
                size_of = int((part.log.variant == v).sum())
                known = size_of, part.mean(v), contrast.value, low, high, *lift
                found.append(Segment(column, values[value], log.names[v], *known))
    return found
