"""Conversion of results to xarray and pandas, which are imported on first use."""

import json
from typing import Any

from jaxbandit.base.contract import Outcome
from jaxbandit.engine.rounds.metrics import METRIC
from jaxbandit.engine.rounds.states import is_state
from jaxbandit.support.extras import lab

AXES = {
    name: axes
    for words, axes in {
        "metric_runs": (),
        "mean variance hindsight_mean hindsight_variance metric_mean metric_variance": ("checkpoint",),
        "regret feedback hindsight metric": ("run", "checkpoint"),
        "pulls_mean": ("arm",),
        "pulls": ("run", "arm"),
        "kinds_mean": ("kind",),
        "kinds": ("run", "kind"),
    }.items()
    for name in words.split()
}


NAMED = ("samples", "outcome", "recommendation")  # arrays of a stopping result that come first in its rows


def to_xarray(result: Any) -> Any:
    """Return the arrays of a result as a Dataset whose attributes are the labels, in a form that netCDF can hold.

    Where the name of an array has a slash, which netCDF does not allow, that of the variable has a dot: metric.cost.
    """
    with lab():
        import xarray

    variables = {
        name.replace("/", "."): (_axes(name.replace("/", "."), array.ndim), array)
        for name, array in result.arrays.items()
        if name != "checkpoints"
    }
    about = {name: getattr(result, name) for name in ("instance", "algorithm", "kind", "seed", "precision", "runs")}
    about["params"] = json.dumps(result.params, sort_keys=True)
    coordinates = {"checkpoint": result.arrays["checkpoints"]} if "checkpoints" in result.arrays else {}
    return xarray.Dataset(variables, coords=coordinates, attrs=about)


def _axes(name: str, ndim: int) -> tuple[str, ...]:
    """Return the dimensions of an array; those of a metric and of a state are said by what is before the dot."""
    kind = AXES.get(name.partition(".")[0])
    return ("run", *(f"{name}_{i}" for i in range(ndim - 1))) if kind is None else kind[:ndim]


def regret(result: Any) -> Any:
    """Return the curves of a result as a DataFrame with one row per checkpoint.

    The columns of the measure are mean, se, low, high, and those of a metric NAME, NAME_se, NAME_low, NAME_high.
    """
    with lab():
        import pandas

    def columns(curve: dict[str, Any]) -> Any:
        rounds, equal = curve.pop("at"), curve.pop("equal", [])
        frame = pandas.DataFrame({"round": rounds, **curve})
        frame.loc[frame["round"].isin(equal), [end for end in ("low", "high") if end in frame]] = float("nan")
        return frame

    summary = result.to_json()
    if result.measure in summary:
        frame = columns(dict(summary[result.measure]))
    else:
        frame = pandas.DataFrame({"round": result.arrays["checkpoints"]})
    for name in result.metrics:
        own = columns(summary["metrics"][name])
        own.columns = ["round", *(name if column == "mean" else f"{name}_{column}" for column in own.columns[1:])]
        frame = frame.merge(own, on="round", how="outer")
    return pandas.DataFrame({**_labels(result), **dict(frame.items())})


def stopping(result: Any) -> Any:
    """Return the runs of a result as a DataFrame with one row each; a recommendation of m arms has m columns."""
    with lab():
        import pandas

    arrays = result.arrays
    arms = arrays["recommendation"].reshape(result.runs, -1).T
    places = ["recommendation"] if len(arms) == 1 else [f"recommendation_{i}" for i in range(len(arms))]
    columns = {
        **_labels(result),
        "run": range(result.runs),
        "samples": arrays["samples"],
        "outcome": [Outcome(code).name.lower() for code in arrays["outcome"]],
        **dict(zip(places, arms, strict=True)),
        **{
            name.removeprefix(METRIC): array
            for name, array in arrays.items()
            if array.ndim == 1 and name not in NAMED and not is_state(name)
        },
    }
    return pandas.DataFrame(columns)


def budget(result: Any) -> Any:
    """Return a BudgetResult as a DataFrame of one row: pulls used, error and simple regret with their intervals."""
    with lab():
        import pandas

    content = result.content()
    row = {**_labels(result), "budget": result.budget, "runs": result.counted}
    row |= {"samples": content["samples"]["mean"]} if "samples" in content else {}
    for name, value in (("error", "rate"), ("simple_regret", "mean")):
        interval = content.get(name, {})
        row |= {name: interval[value]} if interval else {}
        row |= {f"{name}_{key}": interval[key] for key in ("se", "low", "high") if key in interval}
    return pandas.DataFrame([row])


def _labels(result: Any) -> dict[str, Any]:
    """Return the columns that all rows share: instance, algorithm and parameters, an array of them as JSON text."""
    some = {name: json.dumps(x) if isinstance(x, list | tuple) else x for name, x in result.params.items()}
    return {"instance": result.instance, "algorithm": result.algorithm, **some}
