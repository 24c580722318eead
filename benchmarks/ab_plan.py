"""The planner of A/B tests against tests that are simulated and decided by a program of its own, pair by pair.

For each case, `jb.ab(..., plan=)` plans from a log of the control, and TESTS tests are drawn from the same log: the
visitors of both variants with replacement, the better one with what the effect adds. Each test is decided at the first
pair at which the bound is below 0, and at the first of the sizes 2 % apart, at which the planner looks.
"""

import math
from typing import Any, NamedTuple

import numpy as np

import jaxbandit as jb

TESTS, DELTA = 2000, 0.05
STAKES = 0.98 * 2.0 ** (-np.arange(16) / 2)  # of docs/mathematics.md
WEIGHTS = 1 / ((np.arange(16) + 1.0) * (np.arange(16) + 2.0))
FIRST, LONGEST = 4096, 2**21  # pairs


class Case(NamedTuple):
    """A log of the control, and the effect that is planned for."""

    name: str
    outcomes: np.ndarray  # float64[visitors]
    effect: float


def cases() -> list[Case]:
    """Return what is measured: rates, and numbers without a known range."""
    rng = np.random.default_rng(0)
    revenue = np.where(rng.random(20_000) < 0.2, rng.lognormal(3, 1, 20_000), 0.0)
    orders = rng.gamma(4, 10, 20_000)
    seconds = rng.normal(-5, 20, 20_000)  # of both signs: the effect is added
    return [
        Case("rates .10 and .11", np.arange(10_000) < 1000, 0.01),
        Case("rates .20 and .24", np.arange(10_000) < 2000, 0.04),
        Case("orders, gamma, + 5 %", orders, 0.05 * orders.mean()),
        Case("revenue of 20 % buyers, lognormal, + 15 %", revenue, 0.15 * revenue.mean()),
        Case("of both signs, normal, + 1", seconds, 1.0),
    ]


def ends(case: Case, seed: int) -> tuple[float, float]:
    """Return the visitors of both variants until a test is decided, at any pair, and at sizes that are 2 % apart.

    They are inf if it lasts longer than the longest.
    """
    pairs, binary = FIRST, set(np.unique(case.outcomes)) == {0.0, 1.0}
    while pairs <= LONGEST:
        rng = np.random.default_rng([seed, 5])
        if binary:
            rate = case.outcomes.mean()
            rates = np.array([[rate + case.effect], [rate]])
            better, control = rates > rng.random((pairs, 2)).T
            decided = by_bets(better.astype(int) - control, math.log(1 / DELTA))
        else:
            drawn = case.outcomes[rng.integers(len(case.outcomes), size=(pairs, 2))].T
            mean = case.outcomes.mean()
            better = drawn[0] * (1 + case.effect / mean) if case.outcomes.min() >= 0 else drawn[0] + case.effect
            decided = in_the_limit(better, drawn[1], DELTA / 2)
        sizes = np.unique(np.floor(1.02 ** np.arange(1, math.log(2 * pairs) / math.log(1.02))).astype(int))
        looks = decided[np.maximum(sizes[sizes >= 2] // 2, 1) - 1]
        if looks.any():
            return 2.0 * (1 + int(np.argmax(decided))), float(sizes[sizes >= 2][np.argmax(looks)])
        pairs *= 4
    return math.inf, math.inf


def by_bets(gaps: np.ndarray, enough: float) -> np.ndarray:
    """Return after which pairs the mixture of 16 bets against a mean gap of 0 has won enough, bool[pairs]."""
    ups, downs = (np.cumsum(gaps == side, dtype=float)[:, None] for side in (1, -1))
    logs = ups * np.log1p(STAKES) + downs * np.log1p(-STAKES) + np.log(WEIGHTS / WEIGHTS.sum())
    most = logs.max(axis=1)
    return most + np.log(np.exp(logs - most[:, None]).sum(axis=1)) >= enough


def in_the_limit(better: np.ndarray, control: np.ndarray, alpha: float) -> np.ndarray:
    """Return after which pairs the asymptotic confidence sequence of the mean gap is above 0, bool[pairs].

    Waudby-Smith et al. (2021), their one-sided form, with the rho that is best at 1,000 log 1,000 pairs; and nothing is
    known before 1,000 pairs, 100 outcomes of each variant besides its commonest, and 355 times the squared skewness.
    """
    gaps = better - control
    n = 1.0 + np.arange(len(gaps))
    mean = np.cumsum(gaps) / n
    variance = np.cumsum(gaps**2) / n - mean**2
    third = np.cumsum(gaps**3) / n - 3 * mean * variance - mean**3
    uncommon = np.minimum(np.cumsum(better != 0), np.cumsum(control != 0))  # 0 is the commonest where there is one
    rho2 = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1) + 1) / (1000 * math.log(1000))
    half = np.sqrt(2 * variance * (n * rho2 + 1) / (n**2 * rho2) * np.log(1 + np.sqrt(n * rho2 + 1) / (2 * alpha)))
    with np.errstate(divide="ignore", invalid="ignore"):
        known = (n >= 1000) & (uncommon >= 100) & (n >= 355 * third**2 / variance**3)
    return known & (mean > half)


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each case; `quick` draws a fiftieth of the tests."""
    tests, rows = TESTS // (50 if quick else 1), []
    for case in cases():
        log = {"variant": ["A"] * len(case.outcomes), "outcome": case.outcomes}
        plan = jb.ab(log, control="A", plan=case.effect).plan
        assert plan is not None
        found = np.array([ends(case, seed) for seed in range(tests)])
        again = np.random.default_rng(1).choice(found[:, 1], (400, tests))
        medians = np.quantile(found, 0.5, axis=0, method="inverted_cdf").tolist()
        row = {"case": case.name, "planned": plan.visitors, "any pair": medians[0], "2 % apart": medians[1]}
        row |= {"error": float(np.quantile(again, 0.5, axis=1, method="inverted_cdf").std() / medians[1])}
        row |= {"planned of 90 %": plan.nine_tenths}
        row |= {"90 %": float(np.quantile(found[:, 1], 0.9, method="inverted_cdf")), "tests": tests}
        rows.append(row)
    return rows


def table(found: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    lines = [
        f"visitors of both variants in the median of {found[0]['tests']:,} tests, and of which 9 of 10 tests need less",
        f"{'case':<42}{'planned':>9}{'any pair':>10}{'2 % apart':>11}{'error':>7}{'planned 9/10':>14}{'9 of 10':>9}",
    ]
    for row in found:
        numbers = f"{row['planned']:>9,.0f}{row['any pair']:>10,.0f}{row['2 % apart']:>11,.0f}{row['error']:>7.1%}"
        lines.append(f"{row['case']:<42}{numbers}{row['planned of 90 %']:>14,.0f}{row['90 %']:>9,.0f}")
    return "\n".join(lines)
