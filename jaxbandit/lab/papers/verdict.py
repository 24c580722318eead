"""Verdicts on published claims from our runs, "agrees", "disagrees" or "undecided", based on intervals alone.

A claim is translated into checks `left < right` or `left > right` on means over runs (regret, samples, pulls), each
with a Student interval of differences run by run; error rates have Clopper-Pearson intervals. All hold jointly with the
confidence of the paper (Bonferroni). A check agrees if its interval lies on the claimed side of 0 and disagrees if it
lies on the other side. A claim agrees if all its checks agree and disagrees if one of them disagrees. Equality consists
of two checks, left > (1 - margin) right and left < (1 + margin) right.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.lab.papers import measures, origins
from jaxbandit.lab.papers.measures import Quantity
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.stopping import StoppingResult
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import Json, Table
from jaxbandit.theory import intervals

RELATIONS = ("below", "above", "between", "equal", "decreasing", "increasing")
QUANTITIES = {  # the first one is the default
    "simulate": ("regret", "hindsight", "pulls", "guarantee"),
    "identify": ("samples", "pulls", "share", "error"),
    "budget": ("error", "simple_regret", "samples", "pulls", "share"),
}
WITH_INTERVAL = (*measures.MEANS, "error")


@dataclass(frozen=True)
class Check:
    """The statement that `left` is less than (sign = -1) or greater than (sign = +1) `factor` times `right`."""

    left: Quantity
    sign: int
    factor: float
    right: Quantity | float

    def __str__(self) -> str:
        sign = "<" if self.sign < 0 else ">"
        if not isinstance(self.right, Quantity):
            return f"{self.left} {sign} {self.factor * self.right:,.6g} in {self.left.instance}"
        scale = "" if self.factor == 1 else f"{self.factor:g} "
        here, there = self.left.instance, self.right.instance
        place = "" if here == there else f" in {here}"
        return f"{self.left}{place} {sign} {scale}{self.right} in {there}"


def checks_of(claim: Table) -> list[Check]:
    """Return the checks that the table of a claim specifies.

    The keys of a claim are:

    - `instance`: one or several instances.
    - `algorithm`: one or several algorithms, all of which must satisfy the claim. Instead of it, `gap` or `ratio` names
      two algorithms whose difference or ratio is compared.
    - `relation`: one of RELATIONS. "decreasing" and "increasing" refer to the order of the instances if there are
      several of them and one algorithm, gap or ratio, and otherwise to the order of the algorithms.
    - `against`: one or several algorithms to compare with, for "between" the lower and the upper one. Instead of it,
      `value` is a number, `against_instance` is another instance, or `against_at` is another round.
    - `at`: a round or a fraction of the horizon. The default is its end.
    - `factor`: the left side is below or above this multiple of the right side; default 1.
    - `within`: the left side is below or above the right side by less than this fraction.
    - `margin`: the largest relative difference that counts as "equal".

    Raises:
      BadInput: `relation` is unknown, or `margin` is missing or out of range.
    """
    relation, where = claim["relation"], claim["id"]
    if relation not in RELATIONS:
        raise BadInput(f"claim {where}: relation = {relation!r}, must be one of {', '.join(RELATIONS)}")
    if relation == "equal" and not 0 < claim.get("margin", 0) < 1:
        raise BadInput(f"claim {where}: margin = {claim.get('margin')!r}, must be a number in (0, 1)")
    rows = [_lefts(claim, instance) for instance in _list(claim["instance"])]
    if relation in ("decreasing", "increasing"):
        sign = +1 if relation == "decreasing" else -1
        lines = list(zip(*rows, strict=True)) if len(rows) > 1 and len(rows[0]) == 1 else rows
        return [Check(a, sign, 1.0, b) for line in lines for a, b in itertools.pairwise(line)]
    checks = []
    for left in itertools.chain.from_iterable(rows):
        rights: list[Quantity | float]
        if "value" in claim:
            rights = [float(v) for v in _list(claim["value"])]
        elif "against" in claim:
            rights = [Quantity(left.instance, name, arm=left.arm, at=left.at) for name in _list(claim["against"])]
        elif "against_at" in claim:
            rights = [left._replace(at=claim["against_at"])]
        else:
            rights = [left._replace(instance=claim["against_instance"])]
        checks += _comparisons(claim, left, rights)
    return checks


def _lefts(claim: Table, instance: str) -> list[Quantity]:
    at = claim.get("at")
    if "gap" in claim:
        first, second = claim["gap"]
        return [Quantity(instance, first, minus=second, at=at)]
    if "ratio" in claim:
        first, second = claim["ratio"]
        return [Quantity(instance, first, over=second, at=at)]
    arms = _list(claim.get("arm"))
    return [Quantity(instance, name, arm=arm, at=at) for name in _list(claim["algorithm"]) for arm in arms]


def _comparisons(claim: Table, left: Quantity, rights: Sequence[Quantity | float]) -> list[Check]:
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
    claims: Sequence[Table],
    results: ResultSet,
    *,
    confidence: float = intervals.CONFIDENCE,
    others: int = 0,
) -> list[Json]:
    """Return each claim with its `checks`, their differences and intervals, and its `verdict`.

    Args:
      claims: tables as `checks_of` reads them, with `id`, `text`, `source` and `origin` (origins.py), and a `quantity`.
        For a fixed horizon, that is "regret" (default), "hindsight" (regret against the best fixed arm), "pulls" of
        `arm`, or "guarantee": the constant of log t in the regret bound of the distance that `algorithm` then names,
        without noise or interval. For runs that stop, it is "samples" (default), "pulls" or "share" of one or several
        arms `arm`, or "error", which is compared with a `value`. For a fixed budget, which `at` specifies, it is also
        "simple_regret", and "error", the default, may be compared with another algorithm. A claim about cells that
        `results` lacks, or one that compares nothing, is left out.
      results: our results.
      confidence: the joint confidence of all intervals.
      others: number of further intervals that hold jointly with these.
    """
    known = QUANTITIES[results[0].kind]
    claims = [{"quantity": known[0]} | dict(claim) for claim in claims]
    for claim in claims:
        if claim["quantity"] not in known:
            raise BadInput(f"claim {claim['id']}: quantity = {claim['quantity']!r}, must be one of {', '.join(known)}")
    claims = [claim for claim in claims if _has_cells(claim, results)]
    level = intervals.bonferroni(confidence, num_intervals(claims) + others)
    return [conclusion(claim, (_judge(check, claim, results, level) for check in checks_of(claim))) for claim in claims]


def conclusion(claim: Table, checks: Iterable[Table]) -> Json:
    """Return a claim with its checks and the verdict on it; one that was quoted and not verified has neither."""
    if origins.is_quoted(claim):
        return {**claim, "checks": []}
    checks = list(checks)
    return {**claim, "checks": checks, "verdict": joint_verdict([check["verdict"] for check in checks])}


def num_intervals(claims: Sequence[Table]) -> int:
    """Return how many intervals the claims need; those that were quoted and not verified need none."""
    needed = [claim for claim in claims if claim["quantity"] in WITH_INTERVAL and not origins.is_quoted(claim)]
    return sum(len(checks_of(claim)) for claim in needed)


def _has_cells(claim: Table, results: ResultSet) -> bool:
    sides = [q for check in checks_of(claim) for q in (check.left, check.right) if isinstance(q, Quantity)]
    if claim["quantity"] == "guarantee":  # a guarantee refers to distances, which are not cells
        return {q.instance for q in sides} <= {r.instance for r in results}
    cells = {(q.instance, name) for q in sides for name in (q.algorithm, q.minus, q.over) if name}
    return bool(cells) and cells <= {(r.instance, r.algorithm) for r in results}


def joint_verdict(verdicts: Sequence[str]) -> str:
    """Return the verdict on a claim from those on its checks."""
    if "disagrees" in verdicts:
        return "disagrees"
    return "agrees" if verdicts and all(v == "agrees" for v in verdicts) else "undecided"


def side(low: float, high: float, sign: int) -> str:
    """Return the verdict on "the true value has this sign" from its interval."""
    if sign < 0:
        low, high = -high, -low
    return "agrees" if low > 0 else "disagrees" if high < 0 else "undecided"


def _judge(check: Check, claim: Table, results: ResultSet, level: float) -> Json:
    quantity, left, right = claim["quantity"], check.left, check.right
    # With a fixed budget every run recommends an arm, so that errors can be compared run by run.
    paired = results[0].kind == "budget" and isinstance(right, Quantity)
    if quantity in measures.MEANS or (quantity == "error" and paired):
        ours = measures.sample(quantity, left, results)
        other = measures.sample(quantity, right, results) if isinstance(right, Quantity) else right
        return _decide(check, measures.difference(ours, check.factor, other, level), level)
    if isinstance(right, Quantity) == (quantity == "error") or left.minus or left.over:
        raise BadInput(
            f"claim {claim['id']}: {check}: must compare an error rate with `value`, and a guarantee with another one"
        )
    if quantity == "error":
        result = measures.cell(results, left)
        rate = result.error(level) if isinstance(result, StoppingResult) else None
        bound = check.factor * float(right)  # pyright: ignore[reportArgumentType]
        shifted = rate and intervals.Interval(rate.value - bound, rate.se, rate.low - bound, rate.high - bound)
        return _decide(check, shifted, level)
    ratio = _guarantee(left, results) / _guarantee(right, results)  # pyright: ignore[reportArgumentType]
    excess = np.log(ratio / check.factor)
    return {"statement": str(check), "ratio": ratio, "verdict": side(excess, excess, check.sign)}


def _decide(check: Check, interval: intervals.Interval[float] | None, level: float) -> Json:
    table: Json = {"statement": str(check)}
    if interval is None:
        return table | {"verdict": "undecided"}
    ends = {name: value for name in ("low", "high") if np.isfinite(value := getattr(interval, name))}
    numbers = {"difference": interval.value, **ends, "confidence": level}
    return table | numbers | {"verdict": side(interval.low, interval.high, check.sign)}


def _guarantee(quantity: Quantity, results: ResultSet) -> float:
    """Return the sum of gap / d(mean, best mean), the constant of log t in the regret bound of UCB(d), Theorem 1."""
    import jax

    from jaxbandit.theory.solvers.semidistance import DISTANCES

    means = next(r.truth["means"] for r in results if r.instance == quantity.instance)
    with jax.enable_x64(True):
        mu = np.asarray(means, np.float64)
        best = np.full_like(mu, mu.max())
        distance = np.asarray(DISTANCES[quantity.algorithm](jax.numpy.asarray(mu), jax.numpy.asarray(best)))
    worse = mu < mu.max()
    return float(np.sum((best - mu)[worse] / distance[worse]))


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
