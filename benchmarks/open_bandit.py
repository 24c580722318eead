"""What Thompson sampling would have earned by the log of random choices, on the sample of the Open Bandit Dataset.

`python -m benchmarks open_bandit FOLDER --peers PYTHON --write` reads the sample from the unpacked wheel of obp 0.4.1,
of which nothing is in this repository; obp's own estimators are those of an interpreter that has it. A shop showed
items at three positions, for a week, either at random or by Thompson sampling (bts), whose own log says what that
earned. A row is one item at one position. Source: Saito, Aihara, Matsutani and Narita (2021), "Open Bandit Dataset
and Pipeline".
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jaxbandit as jb
from benchmarks import contextual_peers, peers_shared
from jaxbandit.decide.logs import estimates
from jaxbandit.decide.logs.reward_models import cross_fitted
from jaxbandit.theory.intervals import clopper_pearson

CAMPAIGNS = {"all": 80, "men": 34, "women": 46}  # items
POSITIONS = 3
DRAWS = 200_000
ESTIMATORS = ("IPS", "SNIPS", "DR")
POLICIES = ("start", "week")


class Sample(NamedTuple):
    """The two logs of a campaign, whose context is the position, from 1."""

    random: jb.Log
    bts: jb.Log


def main(argv: Sequence[str]) -> int:
    """Measure, print and perhaps write the table; return the exit status."""
    about = "the unpacked wheel of obp 0.4.1"
    return peers_shared.command("open_bandit", __doc__, measure, table, argv, folder=about)


def sample(folder: Path, campaign: str) -> Sample:
    """Return the logs of a campaign."""
    items, logs = CAMPAIGNS[campaign], {}
    for policy, least in (("random", 1 / items), ("bts", None)):
        path = folder / "obp/dataset/obd" / policy / campaign / f"{campaign}.csv"
        logs[policy] = jb.read_log(
            path, action="item_id", reward="click", propensity="propensity_score", context=["position"],
            num_arms=items, least_propensity=least, adaptive=policy == "bts",
        )  # fmt: skip
    return Sample(**logs)


def positions(log: jb.Log) -> np.ndarray:
    """Return the position of each row, from 0."""
    assert log.context is not None
    return log.context[:, 0].astype(int) - 1


def at_the_start(folder: Path, campaign: str, draws: int) -> np.ndarray:
    """Return the probabilities of Thompson sampling with the shop's priors, float64[POSITIONS, items], by simulation.

    It shows the items with the largest draws, the best first.
    """
    import yaml  # pyright: ignore[reportMissingModuleSource]

    priors = yaml.safe_load((folder / "obp/policy/conf/prior_bts.yaml").read_text(encoding="utf-8"))[campaign]
    alpha, beta = np.array(priors["alpha"]), np.array(priors["beta"])
    shown = np.argsort(-np.random.default_rng(0).beta(alpha, beta, (draws, len(alpha))), axis=1)[:, :POSITIONS]
    return np.stack([np.bincount(column, minlength=len(alpha)) for column in shown.T]) / draws


def over_the_week(bts: jb.Log) -> np.ndarray:
    """Return the shares of the items that bts showed at each position while it learned, float64[POSITIONS, items]."""
    counts = np.zeros((POSITIONS, bts.num_arms))
    np.add.at(counts, (positions(bts), bts.action), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def measure(quick: bool, interpreters: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return ours and obp's values of each policy and position; `quick` takes one campaign, and few draws."""
    found, given = [], {}
    for campaign in ["men"] if quick else CAMPAIGNS:
        both = sample(folder, campaign)
        start = at_the_start(folder, campaign, DRAWS // 100 if quick else DRAWS)
        for name, chances in zip(POLICIES, (start, over_the_week(both.bts)), strict=True):
            for position in range(POSITIONS + 1):  # 0: all, for which the policy depends on the context
                row, arrays = cell(both, chances, position)
                key = f"{campaign} {name} {position or 'all'}"
                found.append({"name": key, **row})
                given |= {f"{key}/{what}": values[None] for what, values in arrays.items()}
    return {"cells": found, "obp": peers_shared.answer(interpreters, contextual_peers.SIDE, "obp", given)}


def cell(both: Sample, chances: np.ndarray, position: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return ours of a policy at a position, from 1, or at all, and what obp gets."""
    log, own = (log[positions(log) == position - 1] if position else log for log in both)
    at = positions(log)
    policy = chances[at]
    bound = float(chances[np.unique(at)].max()) * log.num_arms
    one = jb.evaluate(log, policy, largest_weight=bound).only
    assert one.diagnostics is not None and log.context is not None and log.propensity is not None
    by = {e.estimator: e for e in reversed(one.estimates) if e.interval == estimates.NORMAL}
    own_mean = clopper_pearson(int(own.reward.sum()), len(own))
    error = math.hypot(by["SNIPS"].se, own.reward.std() / len(own) ** 0.5)
    row = {
        "value": [by[name].value for name in ESTIMATORS], "interval": (one.low, one.high),
        "ess": one.diagnostics.ess, "p": one.diagnostics.p,
        "bts": (own_mean.value, own_mean.low, own_mean.high),
        "z": (by["SNIPS"].value - own_mean.value) / error if error else math.nan,
    }  # fmt: skip
    arrays = {
        "x": log.context, "action": log.action, "reward": log.reward, "propensity": log.propensity,
        "policy": policy, "q": cross_fitted(log, log.reward, None),
    }  # fmt: skip
    return row, arrays


def table(found: dict[str, Any]) -> str:
    """Return the values as text, in clicks of a thousand rows."""
    obp, cells = found["obp"], found["cells"]
    lines = [f"obp: {'missing' if obp is None else obp['version']}", "", "Clicks of a thousand rows; 95 % intervals"]
    heads = [f"{name:>6}" for name in ESTIMATORS]
    lines += [f"{'':<18}{'ESS':>6}" + "".join(heads) + f"{'ours':>14}{'obp IPS':>14}{'obp SNIPS':>14}{'obp DR':>14}"
              f"{'bts itself':>20}{'z':>6}"]  # fmt: skip
    for c in cells:
        ends = np.full((3, 2), np.nan) if obp is None else obp[f"{c['name']}/ends"][0]
        value = "".join(f"{1000 * v:>6.2f}" for v in c["value"])
        shown = "".join(f"{_ends(*each):>14}" for each in (c["interval"], *ends))
        own = f"{1000 * c['bts'][0]:.2f} {_ends(*c['bts'][1:])}"
        lines.append(f"{c['name']:<18}{c['ess']:>6,.0f}{value}{shown}{own:>20}{c['z']:>6.1f}")
    lines += ["", f"The least p against the propensities: {min(c['p'] for c in cells):.2g}"]
    if obp is not None:
        gap = max(float(np.abs(obp[f"{c['name']}/value"][0] - c["value"]).max()) for c in cells)
        lines += [f"Largest difference of the values, DR with our model of the rewards in both: {gap:.1e}"]
    return "\n".join(lines)


def _ends(low: float, high: float) -> str:
    return f"[{1000 * low:.1f}, {1000 * high:.1f}]" if np.isfinite(low) else ""
