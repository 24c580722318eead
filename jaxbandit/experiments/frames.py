"""Results as the labelled arrays and tables of other libraries, which are imported when asked for."""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbandit.experiments.result import Result

AXES = {
    "mean": ("checkpoint",),
    "variance": ("checkpoint",),
    "regret": ("run", "checkpoint"),
    "pulls": ("run", "arm"),
    "pulls_mean": ("arm",),
    "outcome": ("run",),
}


def to_xarray(result: "Result") -> Any:
    """Return the arrays of a result as a Dataset, its labels as attributes that netCDF can hold."""
    import xarray

    variables = {
        name: (AXES.get(name) or ("run", *(f"{name}_{i}" for i in range(array.ndim - 1))), array)
        for name, array in result.arrays.items()
        if name != "checkpoints"
    }
    about = {name: getattr(result, name) for name in ("instance", "algorithm", "kind", "seed", "precision", "runs")}
    about["params"] = json.dumps(result.params, sort_keys=True)
    return xarray.Dataset(variables, coords={"checkpoint": result.arrays["checkpoints"]}, attrs=about)


def to_dataframe(result: "Result") -> Any:
    """Return the regret of a result as a frame, one row a checkpoint."""
    import pandas

    regret = dict(result.summary()["regret"])
    rounds = regret.pop("at")
    labels = {"instance": result.instance, "algorithm": result.algorithm}
    return pandas.DataFrame({**labels, "round": rounds, **regret})
