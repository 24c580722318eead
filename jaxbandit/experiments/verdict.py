"""Published claims and numbers against ours: "agrees", "disagrees" or "undecided", decided by intervals
alone.

A claim is data (a table of a paper's TOML). It becomes checks `left < right` or `left > right` on mean
regret, each linear in the cells' regret, so that run-by-run differences give it a Student interval. All
intervals together hold with the family's confidence (Bonferroni), hence so do all verdicts: a check agrees if
its interval lies on the claimed side of 0, disagrees if on the other; a claim agrees if all its checks do and
disagrees if one does. Equality is two such checks, left > (1 - margin) right and left < (1 + margin) right:
an equivalence test against a stated margin.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.experiments import statistics
from jaxbandit.experiments.arguments import BadInput
from jaxbandit.experiments.result import Result, ResultSet

RELATIONS = ("below", "above", "between", "equal", "decreasing")
QUANTITIES = ("regret", "time", "guarantee")
TOO_WIDE = 0.05  # an interval of ours wider than this fraction of a published number cannot confirm it


class Quantity(NamedTuple):
    """Something a claim compares: an algorithm on an instance, or the gap between two."""

    instance: str
    algorithm: str
    minus: str = ""  # the second of a gap


@dataclass(frozen=True)
class Check:
    """The statement: `left` lies below (sign -1) or above (sign +1) `factor` times `right`."""

    left: Quantity
    sign: int
    factor: float
    right: Quantity

    def __str__(self) -> str:
        scale = "" if self.factor == 1 else f"{self.factor:g} "
        here, there = self.left.instance, self.right.instance
        place = "" if here == there else f" in {here}"
        end = f" in {there}"
        return f"{_text(self.left)}{place} {'<' if self.sign < 0 else '>'} {scale}{_text(self.right)}{end}"


def checks_of(claim: Mapping[str, Any]) -> list[Check]:
    """Return the checks that a claim's table stands for.

    Keys: `instance`, one or several; `algorithm`, one or several, each of which must satisfy it, or `gap`,
      two whose
    difference is meant; `relation`; `against`, one or several (all of them; for "between" the lower and the
    upper) or `against_instance`, the same quantity elsewhere; `factor` (below or above factor times it,
    default 1); `within` (below or above, but by less than this fraction); `margin` ("equal": the fraction
    that passes for none).
    """
    relation, where = claim["relation"], claim["id"]
    if relation not in RELATIONS:
        raise BadInput(f"claim {where}: relation = {relation!r}, must be one of {', '.join(RELATIONS)}")
    if relation == "equal" and not 0 < claim.get("margin", 0) < 1:
        raise BadInput(f"claim {where}: margin = {claim.get('margin')!r}, must be a number in (0, 1)")
    checks = []
    for instance in _list(claim["instance"]):
        if "gap" in claim:
            lefts = [Quantity(instance, *claim["gap"])]
        else:
            lefts = [Quantity(instance, name) for name in _list(claim["algorithm"])]
        if relation == "decreasing":
            checks += [Check(a, +1, 1.0, b) for a, b in itertools.pairwise(lefts)]
            continue
        for left in lefts:
            if "against" in claim:
                rights = [Quantity(instance, name) for name in _list(claim["against"])]
            else:
                rights = [left._replace(instance=claim["against_instance"])]
            checks += _compared(claim, left, rights)
    return checks


def _compared(claim: Mapping[str, Any], left: Quantity, rights: list[Quantity]) -> list[Check]:
    relation = claim["relation"]
    if relation == "between":
        low, high = rights
        return [Check(left, +1, 1.0, low), Check(left, -1, 1.0, high)]
    if relation == "equal":
        margin = claim["margin"]
        return [Check(left, s, 1 - s * margin, right) for right in rights for s in (+1, -1)]
    sign = -1 if relation == "below" else +1
    checks = [Check(left, sign, claim.get("factor", 1.0), right) for right in rights]
    if "within" in claim:
        checks += [Check(left, -sign, 1 + sign * claim["within"], right) for right in rights]
    return checks


def judge(
    claims: Sequence[Mapping[str, Any]],
    results: ResultSet,
    *,
    confidence: float = statistics.CONFIDENCE,
    timing_noise: float = 1.5,
) -> list[dict[str, Any]]:
    """Return the claims with their checks and verdicts.

    Args:
      claims: tables as `checks_of` reads them, with `id`, `text` and `source`; `quantity` is "regret"
        (default, at the last checkpoint or `at`), "time" (per arm and round) or "guarantee" (the constant of
        log t in the regret bound of the distance that `algorithm` then names). A claim on instances that
        `results` lacks is left out.
      results: what we measured.
      confidence: with which all intervals on regret hold together.
      timing_noise: two times whose ratio is within this factor of the claimed one are not told apart.

    Returns:
      One table a claim: what it says, `checks` with difference and interval, and `verdict`.
    """
    have = {r.instance for r in results}
    claims = [c for c in claims if {*_list(c["instance"]), c.get("against_instance")} <= have | {None}]
    family = sum(len(checks_of(c)) for c in claims if c.get("quantity", "regret") == "regret")
    level = statistics.bonferroni(confidence, family)
    judged = []
    for claim in claims:
        quantity = claim.get("quantity", "regret")
        if quantity == "regret":
            checks = [_judge_regret(check, results, claim.get("at"), level) for check in checks_of(claim)]
        elif quantity in QUANTITIES:
            measure = _time if quantity == "time" else _guarantee
            noise = timing_noise if quantity == "time" else 1.0
            checks = [_judge_ratio(check, measure, results, noise) for check in checks_of(claim)]
        else:
            raise BadInput(f"claim {claim['id']}: quantity = {quantity!r}, must be one of {', '.join(QUANTITIES)}")
        judged.append({**claim, "checks": checks, "verdict": together([c["verdict"] for c in checks])})
    return judged


def together(verdicts: Sequence[str]) -> str:
    """Return the verdict on a claim from those on its checks."""
    if "disagrees" in verdicts:
        return "disagrees"
    return "agrees" if verdicts and all(v == "agrees" for v in verdicts) else "undecided"


def side(low: float, high: float, sign: int) -> str:
    """Return the verdict on "the true value has this sign" from its interval."""
    if sign < 0:
        low, high = -high, -low
    return "agrees" if low > 0 else "disagrees" if high < 0 else "undecided"


def judge_published(entry: Mapping[str, Any], result: Any) -> dict[str, Any] | None:
    """Return a published number beside ours, or None where we have no checkpoint at its round.

    Its interval is value +- t s / sqrt(runs), runs the published number of runs and s our standard deviation
    between runs (published errors are rarely told from standard deviations). They agree if the intervals
    overlap, unless ours is too wide to tell.
    """
    at = entry["at"]
    if result.runs < 2 or at not in result.arrays["checkpoints"]:
        return None
    i = result.at(at)
    ours = statistics.student(result.arrays["mean"][i], result.arrays["variance"][i], result.runs)
    theirs = statistics.student(entry["value"], result.arrays["variance"][i], entry["runs"])
    apart = ours.low > theirs.high or ours.high < theirs.low
    wide = (ours.high - ours.low) / 2 > TOO_WIDE * abs(entry["value"])
    verdict = "disagrees" if apart else "undecided" if wide else "agrees"
    published = {"value": entry["value"], "source": entry["source"], "at": at, "runs": entry["runs"]}
    return {"published": published | {"low": theirs.low, "high": theirs.high}, "verdict": verdict}


def _judge_regret(check: Check, results: ResultSet, at: int | None, level: float) -> dict[str, Any]:
    left, right = (_regret(q, results, at) for q in (check.left, check.right))
    runs = min(len(left), len(right))
    table: dict[str, Any] = {"statement": str(check)}
    if runs < 2:
        return table | {"verdict": "undecided"}
    # Run r of every cell has the chance of (seed, r), so that these differences are independent over r.
    interval = statistics.student_of(left[:runs] - check.factor * right[:runs], level)
    numbers = {"difference": interval.value, "low": interval.low, "high": interval.high, "confidence": level}
    return table | numbers | {"verdict": side(interval.low, interval.high, check.sign)}


def _regret(quantity: Quantity, results: ResultSet, at: int | None) -> np.ndarray:
    """Regret per run, float64[runs]."""
    result = results[quantity.instance, quantity.algorithm]
    column = -1 if at is None else result.at(at)
    regret = result.arrays["regret"][:, column].astype(np.float64)
    if not quantity.minus:
        return regret
    return regret - _regret(Quantity(quantity.instance, quantity.minus), results, at)


def _judge_ratio(check: Check, measure: Any, results: ResultSet, noise: float) -> dict[str, Any]:
    ratio = measure(check.left, results) / measure(check.right, results)
    excess = np.log(ratio / check.factor)
    tolerance = np.log(noise)
    return {
        "statement": str(check),
        "ratio": ratio,
        "verdict": side(excess - tolerance, excess + tolerance, check.sign),
    }


def _time(quantity: Quantity, results: ResultSet) -> float:
    return nanoseconds(results[quantity.instance, quantity.algorithm])


def nanoseconds(result: Result) -> float:
    """Return the time of one arm in one round of one run, over all cores together, without compilation."""
    return 1e9 * result.seconds["run"] / (result.run_steps * len(result.truth["means"]))


def _guarantee(quantity: Quantity, results: ResultSet) -> float:
    """Sum of gap / d(mean, best mean): log t's constant in the regret bound of UCB(d), Theorem 1."""
    import jax

    from jaxbandit.solvers.semidistance import DISTANCES

    means = next(r.truth["means"] for r in results if r.instance == quantity.instance)
    with jax.enable_x64(True):
        mu = np.asarray(means, np.float64)
        best = np.full_like(mu, mu.max())
        distance = np.asarray(DISTANCES[quantity.algorithm](jax.numpy.asarray(mu), jax.numpy.asarray(best)))
    worse = mu < mu.max()
    return float(np.sum((best - mu)[worse] / distance[worse]))


def _text(quantity: Quantity) -> str:
    return f"({quantity.algorithm} - {quantity.minus})" if quantity.minus else quantity.algorithm


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
