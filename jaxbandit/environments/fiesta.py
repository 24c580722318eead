"""Models as arms: a pull trains one and scores it, recorded for 12 models by Moss et al. (ACL 2019).

A pull draws one of the 500 recorded scores of the model, with replacement. The best is "tdlstm", of mean 0.646; the
standard deviations are 0.023 to 0.035, and no law is assumed: `fiesta_scores` has the data and their licence.
"""

from typing import Any, Literal

import numpy as np

from jaxbandit import checks
from jaxbandit.base import Environment
from jaxbandit.environments.fiesta_scores import RECORDED, scores
from jaxbandit.environments.table import describe_table, table


def fiesta(
    models: Literal["all", "eight"] | tuple[str, ...] = "all",
    *,
    rows: Literal["independent", "common"] = "independent",
    permute: bool = False,
) -> Environment:
    """Return the bandit whose arms are models for sentiment analysis, and whose rewards are recorded F1 scores.

    Args:
      models: "all", the 12 in alphabetical order; "eight", without the four of word vectors of 200 dimensions; or the
        names of two or more, in the order of the arms. Static.
      rows: what the arms of a batch have in common, as of `table`, static. "common": the i-th scores of all models as
        they were recorded, which have correlations of 0.4 to 0.7; "independent": scores drawn apart.
      permute: whether each run has the arms in a random order of its own, static.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in [0.45, 0.72], as of `table`.

    Raises:
      ValueError: models are not known, are repeated or fewer than two, or rows is neither.
    """
    return table(_recorded(models), rows=rows, permute=permute)._replace(name="fiesta")


def describe_fiesta(
    models: Literal["all", "eight"] | tuple[str, ...] = "all",
    *,
    rows: Literal["independent", "common"] = "independent",
    permute: bool = False,
) -> dict[str, Any]:
    """Return what an algorithm may know of `fiesta`: sigma, half the range of the scores, as of `table`."""
    return describe_table(_recorded(models))


def _recorded(models: Any) -> Any:
    if isinstance(models, str):
        checks.choice("fiesta", "models", models, ("all", "eight"))
        models = [name for name in RECORDED if models == "all" or not name.endswith("_200")]
    for i, name in enumerate(models):
        checks.choice("fiesta", f"models[{i}]", name, tuple(RECORDED))
    if len(set(models)) < max(len(models), 2):
        raise ValueError(f"fiesta: models = {list(models)}, must be two or more, each once")
    return np.stack([scores(name) for name in models], axis=1)
