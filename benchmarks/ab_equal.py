"""How often `ab` finds a difference between equal variants, for each kind of metric.

Logs of two equal variants are drawn from one law, and each is looked at at every size of the library's own grid: a
difference is found if the interval of some metric excludes 0 at any of them.
"""

from typing import Any

import numpy as np

import jaxbandit as jb

LOGS, VISITORS, DELTA = 300, 10_000, 0.05


def of_users(seed: int, n: int = VISITORS) -> dict[str, np.ndarray]:
    """Return users with sessions, clicks in a share of them, what they clicked before, and revenue of some."""
    rng = np.random.default_rng(seed)
    sessions, taste = 1 + rng.poisson(3, n), rng.beta(2, 8, n)
    buys = rng.random(n) < taste / 2
    return {
        "variant": np.array(["A", "B"])[rng.integers(2, size=n)],
        "clicks": rng.binomial(sessions, taste).astype(float),
        "sessions": sessions,
        "before": rng.binomial(30, taste).astype(float),
        "buys": buys,
        "revenue": np.where(buys, rng.gamma(2, 10, n), 0.0),
    }


KINDS: dict[str, dict[str, Any]] = {
    "ratio": {"columns": {"outcome": "clicks", "denominator": "sessions"}},
    "covariate": {"columns": {"outcome": "clicks", "covariate": "before"}},
    "ratio and covariate": {"columns": {"outcome": "clicks", "denominator": "sessions", "covariate": "before"}},
    "three metrics": {"columns": {"outcome": ["buys", "clicks", "revenue"]}},
    "rate, guardrail of revenue": {"columns": {"outcome": "buys"}, "guardrails": {"revenue": -0.05}},
}


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each kind of metric; `quick` takes a tenth of the logs."""
    logs = LOGS // 10 if quick else LOGS
    return [{"name": name, "logs": logs, **of_kind(options, logs)} for name, options in KINDS.items()]


def of_kind(options: dict[str, Any], logs: int) -> dict[str, int]:
    """Return in how many logs some metric differed at some look, and in how many an alert or a decision stood last."""
    found = {"any_look": 0, "alerts": 0, "last_look": 0}
    for seed in range(logs):
        result = jb.ab(of_users(seed), control="A", goal=jb.Goal(delta=DELTA), **options)
        paths = [metric.variants[1].path for metric in (result, *result.other_metrics)]
        found["any_look"] += any(bool(((p[:, 2] > 0) | (p[:, 3] < 0)).any()) for p in paths)
        found["alerts"] += bool(result.alerts)
        found["last_look"] += result.decision != "go on"
    return found


def table(found: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    lines = [
        f"of {found[0]['logs']} logs of {VISITORS:,} visitors of two equal variants, delta = {DELTA}",
        f"{'metric':<30}{'any look':>10}{'last look':>11}{'alerts':>8}",
    ]
    lines += [f"{row['name']:<30}{row['any_look']:>10}{row['last_look']:>11}{row['alerts']:>8}" for row in found]
    return "\n".join(lines)
