"""Off-policy evaluation: how often intervals contain the value of the policy, over many logs of known worlds.

`as rows` is the interval of SNIPS that bootstraps its rows as if the sum of weights were a constant, by its normal
limit; it is not offered.
"""

from typing import Any, NamedTuple

import numpy as np

import jaxbandit as jb
from benchmarks import offpolicy_worlds as worlds
from jaxbandit.decide.logs import estimates
from jaxbandit.decide.logs.diagnostics import diagnose

CONFIDENCE = 0.95
CELLS = (  # name, world, rows, logs
    ("uniform 500", lambda: worlds.eight("uniform"), 500, 1000),
    ("uniform 5,000", lambda: worlds.eight("uniform"), 5000, 1000),
    ("softmax 5,000", lambda: worlds.eight("softmax"), 5000, 1000),
    ("peaked 500", lambda: worlds.eight("peaked"), 500, 1000),
    ("peaked 5,000", lambda: worlds.eight("peaked"), 5000, 1000),
    ("peaked 50,000", lambda: worlds.eight("peaked"), 50_000, 200),
    ("rare 500", lambda: worlds.eight("peaked", 0.04), 500, 1000),
    ("rare 5,000", lambda: worlds.eight("peaked", 0.04), 5000, 1000),
    ("rare 20,000", lambda: worlds.eight("peaked", 0.04), 20_000, 500),
    ("vectors 3,000", worlds.vectors, 3000, 1000),
    ("revenue 3,000", worlds.revenue, 3000, 1000),
    ("revenue 10,000", worlds.revenue, 10_000, 1000),
    ("learner 500", worlds.learner, 500, 1000),
)
CLAIMED = ("right", "uniform", "softmax", "shifted")  # propensities that are said to be those of a peaked log
ALARMS = (500, 2000, 5000)  # rows


class Cell(NamedTuple):
    """What the logs of a cell show; shares of logs, unless said otherwise."""

    name: str
    logs: int
    ess: float  # mean
    rmse: dict[str, float]  # in units of the rewards
    covered: dict[str, float]
    width: dict[str, float]  # mean, of betting and empirical Bernstein over that of the normal interval of IPS
    normal: float  # in which the normal interval is the headline
    ends: dict[str, float]  # mean widths of intervals; the headline is cut off at the range of the rewards


def measure(quick: bool) -> dict[str, Any]:
    """Return the cells, and the shares of logs whose propensities are said to be wrong; `quick` takes a tenth."""
    divisor = 10 if quick else 1
    found = [cell(name, world(), rows, logs // divisor, seed) for seed, (name, world, rows, logs) in enumerate(CELLS)]
    shares = [{"rows": n, **alarms(n, 1000 // divisor, n)} for n in ALARMS]
    return {"cells": [c._asdict() for c in found], "alarms": shares}


def cell(name: str, world: worlds.World, rows: int, logs: int, seed: int) -> Cell:
    """Return what `logs` logs of a world show."""
    rng = np.random.default_rng([2025, seed])
    records = [_one(world, rng, rows) for _ in range(logs)]
    ends = {key: np.array([r[key] for r in records]) for key in records[0]}
    inside = {k: (v[:, 1] <= world.value) & (world.value <= v[:, 2]) for k, v in ends.items() if v.ndim == 2}
    long = {k: float((v[:, 2] - v[:, 1]).mean()) for k, v in ends.items() if v.ndim == 2}
    return Cell(
        name, logs, float(ends["ess"].mean()),
        {k: float(np.sqrt(np.mean((ends[k][:, 0] - world.value) ** 2))) for k in ("IPS", "SNIPS", "DR", "clipped")},
        {k: float(v.mean()) for k, v in inside.items()},
        {k: long[k] / long["IPS"] for k in ("betting IPS", "Bernstein")},
        float(ends["normal"].mean()),
        {k: long[k] for k in ("DR", "betting IPS", "betting DR", "headline")},
    )  # fmt: skip


def _one(world: worlds.World, rng: np.random.Generator, rows: int) -> dict[str, Any]:
    drawn = world.draw(rng, rows)
    low, high = drawn.log.rewards
    found = jb.evaluate(drawn.log, drawn.policy, largest_weight=world.bound).only
    assert found.rows is not None and found.diagnostics is not None
    r, one = found.rows, CONFIDENCE

    def own(x: Any) -> tuple[float, float, float]:
        return tuple(low + (high - low) * end for end in (x.value, x.low, x.high))  # pyright: ignore[reportReturnType]

    dm = next(e for e in found.estimates if e.estimator == "DM").value
    half = 1.96 * float(np.einsum("ij,ij->i", drawn.policy, _model(drawn.log)).std(ddof=1)) / rows**0.5
    return {
        "IPS": own(estimates.normal(r.inverse, one)),
        "SNIPS": own(estimates.self_normalized(r, one)),
        "as rows": own(estimates.normal(r.inverse / max(float(r.weight.mean()), 1e-300), one)),
        "DR": own(estimates.normal(r.fitted, one)),
        "DM": (dm, dm - half, dm + half),
        "clipped": own(estimates.normal(np.minimum(r.weight, 10) * r.reward, one)),
        "betting IPS": own(estimates.betting(r.inverse, 0.0, r.bound, one)),
        "betting DR": own(estimates.betting(r.predictable, -r.bound, 1 + r.bound, one)),
        "Bernstein": own(estimates.bernstein(r.inverse, 0.0, r.bound, one)),
        "headline": (found.value, found.low, found.high),
        "normal": found.headline.interval == estimates.NORMAL,
        "ess": found.diagnostics.ess,
    }


def _model(log: jb.Log) -> np.ndarray:
    from jaxbandit.decide.logs.reward_models import cross_fitted

    low, high = log.rewards
    return low + (high - low) * cross_fitted(log, (log.reward - low) / (high - low), None)


def alarms(rows: int, logs: int, seed: int) -> dict[str, float]:
    """Return the shares of peaked logs whose propensities are called doubtful or wrong, and wrong, for each claim."""
    rng, world = np.random.default_rng([7, seed]), worlds.eight("peaked")
    said = dict.fromkeys([*CLAIMED, *(f"{claim}: wrong" for claim in CLAIMED)], 0)
    for _ in range(logs):
        log, policy = world.draw(rng, rows)
        assert log.context is not None
        x = np.rint(7 * log.context[:, 0]).astype(int)
        for claim in CLAIMED:
            chances = {"right": worlds.LOGGING["peaked"], **worlds.LOGGING}.get(claim)
            if chances is None:  # the uniform share is said to be .2, and is .1
                chances = 0.04 + 0.8 * (worlds.LOGGING["peaked"] > 0.5)
            other = jb.read_log(context=log.context, action=log.action, reward=log.reward, probabilities=chances[x])
            found = diagnose(other, policy, policy[np.arange(rows), log.action] / chances[x, log.action])
            said[claim] += bool(found.alarms)
            said[f"{claim}: wrong"] += found.wrong
    return {claim: count / logs for claim, count in said.items()}


def table(found: dict[str, Any]) -> str:
    """Return the tables as text."""
    shown = ("IPS", "SNIPS", "as rows", "DR", "DM", "betting IPS", "betting DR", "Bernstein", "headline")
    lines = ["Share of logs whose interval of 95 % contains the value"]
    lines += [f"{'logging, rows (ESS)':<24}" + "".join(f"{k:>12}" for k in shown) + f"{'normal used':>13}"]
    for c in found["cells"]:
        head = f"{c['name']} ({c['ess']:,.0f})"
        lines.append(f"{head:<24}" + "".join(f"{c['covered'][k]:>12.3f}" for k in shown) + f"{c['normal']:>13.3f}")
    lines += ["", "Root mean squared error, and mean width over that of the normal interval of IPS"]
    lines += [f"{'':<24}" + "".join(f"{k:>12}" for k in ("IPS", "SNIPS", "DR", "betting IPS", "Bernstein"))]
    for c in found["cells"]:
        numbers = [
            *(c["rmse"][k] for k in ("IPS", "SNIPS", "DR")),
            *(c["width"][k] for k in ("betting IPS", "Bernstein")),
        ]
        lines.append(f"{c['name']:<24}" + "".join(f"{x:>12.4g}" for x in numbers))
    lines += ["", "Share of peaked logs with |z| > 4, and of which it is certain that propensities are wrong, by claim"]
    lines += [f"{'rows':<24}" + "".join(f"{k:>16}" for k in CLAIMED)]
    for a in found["alarms"]:
        cells = (f"{a[k]:.3f}, {a[f'{k}: wrong']:.3f}" for k in CLAIMED)
        lines.append(f"{a['rows']:<24,}" + "".join(f"{c:>16}" for c in cells))
    return "\n".join(lines)
