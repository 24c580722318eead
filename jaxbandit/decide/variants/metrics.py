"""The metrics of a log: the one that decides, further ones, and guardrails that a variant must keep."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxbandit.decide.core.goal import Goal
from jaxbandit.decide.variants.visitors import Columns, columns_of
from jaxbandit.support import checks, domains
from jaxbandit.support.refusals import known

OF_UNIT = domains.choice(("sum", "any", "last"))
_SEVERAL = {"outcome": "outcome", "conversions": "conversions"}  # columns of which there is one for each metric


class Metric(NamedTuple):
    """What is compared, and how it is read."""

    name: str  # of its column
    columns: Columns
    of_unit: str
    cap: Any
    goal: Goal
    limit: float | None = None  # of the lift of a guardrail: the least tolerated one, or the largest if positive


def metrics_of(columns: Any, guardrails: Any, of_unit: Any, cap: Any, goal: Goal) -> list[Metric]:
    """Return the metrics that the arguments of `ab` name, of which the first one decides.

    Each has a share of `delta`, and the `goal` is about the first one.
    """
    if not isinstance(columns, Mapping):
        checks.wrong("columns", columns, 'names of columns, such as {"outcome": "converted"}')
    key = "outcome" if columns.get("conversions") is None else "conversions"
    given = columns.get(key, "outcome")
    names = [given] if isinstance(given, str) else list(given)
    limits = _limits(guardrails)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        checks.wrong(f"columns[{key!r}]", given, "a column, or several different ones")
    if names[0] in limits:
        checks.wrong("guardrails", names[0], "another metric than the one that decides, the first outcome")
    names += [name for name in limits if name not in names]
    found = []
    for name in names:
        own = {field: _of_metric(f"columns[{field!r}]", columns[field], name, names)
               for field in ("denominator", "covariate") if columns.get(field) is not None}  # fmt: skip
        each = columns_of({**columns, key: name, **own})
        how = checks.take("of_unit", _of_metric("of_unit", of_unit, name, names, "sum"), OF_UNIT)
        if len(names) > 1 and cap is not None and not isinstance(cap, Mapping):
            raise ValueError(f"cap is about one of {len(names)} metrics; name it, such as cap={ {names[0]: cap} }")
        wanted = goal if name == names[0] else Goal(delta=goal.delta)
        found.append(Metric(name, each, how, _of_metric("cap", cap, name, names), wanted, limits.get(name)))
    return found


def _of_metric(where: str, given: Any, name: str, names: Sequence[str], default: Any = None) -> Any:
    """Return what an argument says of a metric: its entry in a mapping by metric, or the argument itself for all."""
    if not isinstance(given, Mapping):
        return given
    known(f"ab: {where}: ", given, names)
    return given.get(name, default)


def _limits(guardrails: Any) -> dict[str, float]:
    """Return the limit of the lift of each guardrail."""
    allowed = 'the lift that is still tolerated, such as {"revenue": -0.01} for at most 1 % less'
    if not isinstance(guardrails, Mapping):
        checks.wrong("guardrails", guardrails, allowed)
    limits = {}
    for name, value in guardrails.items():
        limits[name] = checks.take(f"guardrails[{name!r}]", value, domains.number(-1, open_low=True))
        if limits[name] == 0:
            checks.wrong(f"guardrails[{name!r}]", value, f"below 0 (not lower) or above 0 (not higher): {allowed}")
    return limits
