"""What a result assumes, what is remarkable about its log, and what contradicts it: sentences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.variants import bounds, covariates, times
from jaxbandit.decide.variants.formats import ends, percent
from jaxbandit.decide.variants.guardrails import Guardrail
from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.decide.variants.pairs import Pairs
from jaxbandit.decide.variants.stages import Stages
from jaxbandit.decide.variants.visitors import Visitors
from jaxbandit.support import special
from jaxbandit.theory.comparisons import asymptotic
from jaxbandit.theory.comparisons.contradiction import contradiction

SAME = (
    "visitors do not change over time: the outcomes of each variant are independent and identically distributed in the "
    "order of arrival (any split of the visitors among variants is allowed, also one that looks at outcomes)"
)
BLOCKS = (
    "each block has visitors of each variant, in random order; visitors may change from block to block, if the "
    "differences between variants do not (the intervals of the single variants assume that visitors do not change)"
)
ENDED = (
    "outcomes are independent, those of a variant are identically distributed, and the numbers of visitors do not "
    "depend on them; the log is looked at once: if it is looked at L times, give delta divided by L"
)
ASYMPTOTIC = (
    "the numbers of visitors are large enough for the central limit theorem (nothing else is known of outcomes whose "
    "range is not given): the error probability is that of the limit, and is not proved for these numbers"
)
FINAL = "the outcomes in the log are final, since no window was given"
CHANGED = 1e-3  # a change of a difference over time is remarked on below this probability
FEWEST = 200  # pairs without which no change is looked for


def assumptions(log: Visitors, kind: Kind, window: Any) -> tuple[str, ...]:
    """Return what nobody has checked."""
    lines = [ENDED if not log.ordered else SAME if log.block is None else BLOCKS, kind.assumption]
    lines += [] if log.covariate is None else [covariates.BEFORE]
    lines[1:1] = [ASYMPTOTIC] if not kind.bounded and kind.p is None else []
    rise = "; a 1 never becomes 0 again" if kind.binary else ""
    lines.append(FINAL if window is None else f"outcomes are final {window} after the visit{rise}")
    return tuple(filter(None, lines))


def notes(log: Visitors, stages: Stages, delta: float, growth: bool, kind: Kind) -> tuple[str, ...]:
    """Return what was done to the rows, which of them are open, and which variants came later."""
    lines, final = list(log.notes), log.final
    if log.until is not None:
        until = times.text(log.until, log.dated)
        lines.append(f"visitors until {until} are compared, {final.sum():,} of {len(final):,}; the others are open")
    if empty := int(np.isnan(log.outcome[final]).sum()):
        ends = not kind.bounded and kind.p is None
        worst = "; pairs end at the first of them" if ends else ", which is taken at its worst in every bound"
        who = "1 visitor has" if empty == 1 else f"{empty:,} visitors have"
        lines.append(f"{who} no outcome yet{worst}")
    for g in range(1, len(stages.level)):
        names = ", ".join(log.names[v] for v in np.flatnonzero(stages.stage == g))
        entry = int(stages.entry[stages.stage == g].min())
        lines.append(
            f"{names} came later, with visitor {entry + 1:,}: compared with those who came from then on, at the level "
            f"{stages.level[g]:.3g}, and earlier variants among each other at {stages.level[0]:.3g}"
        )
    if len(stages.level) > 1 and not growth:
        total = delta + stages.level[1:].sum()
        lines.append(
            f"before the addition, statements had the whole delta, so all statements ever made are true together with "
            f"probability at least {1 - total:.4g}; announce additions in advance (growth) for {1 - delta:g}"
        )
    return tuple(lines)


def error_split(delta: float, metrics: Sequence[str], guardrails: Sequence[Guardrail]) -> str:
    """Return how delta is divided among metrics, and which variants a guardrail excludes."""
    harmful = [rail for rail in guardrails if rail.state == "broken"]
    broken = ", ".join(f"{rail.variant} ({rail.words}: {ends(rail.low, rail.high, percent)})" for rail in harmful)
    return (
        f"delta = {delta:g} is divided equally among {len(metrics)} metrics, {', '.join(metrics)}: what is said of "
        f"each is true with probability at least {1 - delta / len(metrics):.4g}, and of all of them with "
        f"{1 - delta:g}; {metrics[0]} decides"
    ) + (f"; a guardrail is broken by {broken}, and nothing is compared with those" if broken else "")


def contradicted(names: tuple[str, ...], pairs: dict[tuple[int, int], int], cycle: bool, means: list[int]) -> str:
    """Return the first line of a result whose bounds contradict each other, or "".

    `pairs` has, by two variants, the number of pairs after which the bounds of their difference first exclude each
    other; `cycle` says that every variant is worse than another one; `means` are variants whose interval lacks their
    mean.
    """
    if pairs:
        (i, j), size = min(pairs.items(), key=lambda item: item[1])
        what = f"bounds of the difference between {names[j]} and {names[i]} exclude each other"
        return contradiction(found=what, when=f"first after {size:,} pairs")
    if cycle:
        return contradiction(found="every variant is worse than another one")
    if means:
        shown = ", ".join(names[v] for v in means)
        return contradiction(found=f"the rate of {shown} among old visitors is below what newer ones show")
    return ""


def split(p: float) -> str:
    """Return the first line of a result whose visitors were not divided as planned."""
    return (
        f"the split is not as planned (p = {p:.2g}): do not decide before you know why; give planned= if shares other "
        "than equal ones were planned, or if they look at outcomes"
    )


class Change(NamedTuple):
    """A change of the difference between a variant and the control over time."""

    p: float  # probability of one that is at least as large if nothing changes
    words: str


def change(pairs: Pairs, v: int, control: int) -> Change | None:
    """Return the change of the difference of a variant from the control over time if its probability is below 1e-3.

    The largest deviation of the partial sums from a straight line is that of a Brownian bridge if nothing changes.

    Source: Ploberger and Kraemer (1992), "The CUSUM test with OLS residuals".
    """
    i, j = pairs.rows_of(v, control)
    alone = pairs.log.shift is None and pairs.log.per is None
    y = pairs.low if pairs.log.ordered else pairs.log.given if alone else None
    n = len(i)
    if n < FEWEST or y is None or pairs.kind.p is not None or not np.isfinite(pairs.mean(v) - pairs.mean(control)):
        return None
    more = bounds.More(*(None if x is None else (x[i], x[j]) for x in (pairs.log.shift, pairs.log.per)))
    (one, other), terms = bounds.linear((np.nan_to_num(y[i]), np.nan_to_num(y[j])), more, n)
    apart = terms[0] - terms[1] + (one - other if pairs.log.per is not None else 0.0)
    sd = apart.std()
    if np.isinf(asymptotic.moments(apart, np.array([n]))[2][0]):  # they do not vary
        return None
    bridge = np.abs(np.cumsum(apart - apart.mean())[:-1])
    at = int(np.argmax(bridge)) + 1
    p = float(special.kolmogorov(bridge[at - 1] / (sd * np.sqrt(n))))
    if p >= CHANGED:
        return None
    scale, unit = (100, " points") if pairs.kind.statistic == "rate" else (1, "")
    before, after = (f"{scale * x.mean():+.3g}{unit}" for x in (apart[:at], apart[at:]))
    return Change(p, (
        f"the difference between {pairs.log.names[v]} and {pairs.log.names[control]} changed over time (p = {p:.2g}): "
        f"{before} in the first {at:,} pairs, {after} in the other {n - at:,}"
    ))  # fmt: skip
