"""Machine-learning models as arms: a pull trains and scores one, as recorded for 12 models by Moss et al. (ACL 2019).

The scores are in fiesta.csv, with their origin and license.
"""

import functools
import io
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Literal

import numpy as np

from jaxbandit.base.arguments import Permute
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.recorded.table import table
from jaxbandit.support import checks
from jaxbandit.support.domains import choice


@declare(settings=({"models": ("atae", "tdlstm"), "permute": True},))
def fiesta(
    models: Literal["all", "eight"] | tuple[str, ...] = "all",
    *,
    rows: Literal["independent", "common"] = "independent",
    permute: Permute = False,
) -> Environment:
    """Recorded F1 scores of models for sentiment analysis.

    A pull draws one of the 500 recorded scores of the model, with replacement. The best model is "tdlstm" with mean
    0.646; standard deviations are between 0.023 and 0.035.

    Args:
      models: "all" for the 12 models in alphabetical order; "eight" without the four with 200-dimensional word vectors;
        or the names of two or more models in the order of the arms.
      rows: how the rewards of different arms in a batch are related, as in `table`. "common" uses the i-th recorded
        scores of all models together, whose correlations are 0.4 to 0.7; "independent" draws them independently.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in [0.45, 0.72], as `table`.

    Raises:
      ValueError: models are unknown, repeated or fewer than two, or rows is neither of the two values.

    Source:
      Moss, Moore, Leslie and Rayson (2019), FIESTA: Fast IdEntification of State-of-The-Art models using adaptive
      bandit algorithms, ACL.
    """
    return table(_recorded(models), rows=rows, permute=permute)._replace(name="fiesta")


@functools.cache
def recorded_scores() -> dict[str, np.ndarray]:
    """Return the scores of each model, float64[500], in alphabetical order of the models."""
    text = (resources.files("jaxbandit.environments.recorded") / "fiesta.csv").read_text(encoding="utf-8")
    names, *rows = [line for line in text.splitlines() if not line.startswith("#")]
    table = np.loadtxt(io.StringIO("\n".join(rows)), delimiter=",")
    return dict(zip(names.split(","), table.T, strict=True))


def _recorded(models: str | Sequence[str]) -> np.ndarray:
    scores = recorded_scores()
    if isinstance(models, str):
        checks.take("models", models, choice(("all", "eight")))
        models = [name for name in scores if models == "all" or not name.endswith("_200")]
    if not isinstance(models, Iterable) or not checks.axes(models):
        checks.wrong("models", models, "all, eight or a list of models")
    models = list(models)
    for i, name in enumerate(models):
        checks.take(f"models[{i}]", name, choice(tuple(scores)))
    if len(set(models)) < max(len(models), 2):
        checks.wrong("models", models, "two or more different models")
    return np.stack([scores[name] for name in models], axis=1)
