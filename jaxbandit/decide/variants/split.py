"""Whether visitors were divided among the variants as planned."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandit.decide.variants.stages import PATIENCE, Stages
from jaxbandit.decide.variants.visitors import Visitors
from jaxbandit.support import checks, domains, special

LEVEL = 1e-3  # below it, the division is not as planned
FEWEST = 5  # visitors of a variant that must be expected, so that the chi-square distribution is near
PLANS = ("equal", "adaptive")


def planned_shares(planned: Any, log: Visitors) -> np.ndarray | None:
    """Return the planned share of each variant, float64[variants], up to a factor; None if no shares were fixed.

    The plan is "equal"; "adaptive" if shares depend on outcomes, as with a bandit; or a share by the name of a variant.
    """
    if isinstance(planned, str) and planned in PLANS:
        return np.ones(len(log.names)) if planned == "equal" else None
    if not isinstance(planned, Mapping):
        allowed = 'a share for each variant, such as {"A": 0.95, "B": 0.05}, "equal" or "adaptive"'
        checks.wrong("planned", planned, allowed)
    log.numbers_of("ab: planned", planned)
    for name in log.names:
        if name not in planned:
            raise ValueError(f"planned has no share for {name}, must have one for each variant of the log")
    above = domains.number(0, open_low=True)
    return np.array([checks.take(f"planned[{v!r}]", planned[v], above) for v in log.names])


def split_p(log: Visitors, stages: Stages, shares: np.ndarray) -> float:
    """Return the probability of a division that is at least as far from the planned shares, by chi-square.

    Rows between two entries or exits of variants are tested by themselves, with the shares of the variants that were
    shown then. A variant has left if it had no visitor in the last 50 rows for each variant.
    """
    rows, variants = len(log.variant), len(log.names)
    enter = np.where(stages.stage > 0, stages.entry, 0)
    leave = np.full(variants, rows)
    if log.ordered:
        last = np.zeros(variants, np.int64)
        np.maximum.at(last, log.variant, np.arange(rows))
        leave = np.where(rows - 1 - last > PATIENCE * variants, last, rows)
    ends = np.unique(np.concatenate([enter, leave, [0, rows]]))
    statistic, freedom = 0.0, 0
    for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        shown = (enter <= start) & (leave >= end)
        counts = np.bincount(log.variant[start:end], minlength=variants)[shown]
        expected = counts.sum() * shares[shown] / shares[shown].sum()
        if shown.sum() > 1 and expected.min() >= FEWEST:
            statistic += float(((counts - expected) ** 2 / expected).sum())
            freedom += int(shown.sum()) - 1
    return float(special.chdtrc(freedom, statistic)) if freedom else 1.0
