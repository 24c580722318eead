"""The table `cv_results_` of a search that scores configurations on different numbers of splits."""

import math
import warnings
from collections import Counter
from typing import Any

import numpy as np

from jaxbandit.support.extras import extra
from jaxbandit.support.text import printable

with extra("sklearn"):
    from sklearn.model_selection._search import _yield_masked_array_for_each_param as param_columns

Evaluation = dict[str, Any]  # of one fit, as scikit-learn returns it
SINGLE = "score"  # the metric of a search with one scorer
_LONGEST = 40  # characters of a value in the name of a configuration


def scores_of(evaluation: Evaluation, part: str = "test_scores") -> dict[str, float]:
    """Return the scores of an evaluation, by metric."""
    scores = evaluation[part]
    return scores if isinstance(scores, dict) else {SINGLE: scores}


def config_names(configs: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return one line for each configuration: its parameters, or its number if it has none."""
    names = []
    for number, config in enumerate(configs):
        last = Counter(name.rpartition("__")[2] for name in config)
        items = []
        for name, value in config.items():
            short, shown = name.rpartition("__")[2], " ".join(str(value).split())
            shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
            items.append(f"{short if last[short] == 1 else name}={shown}")
        names.append(printable(", ".join(items)) or f"configuration {number}")
    times = Counter(names)
    return tuple(name if times[name] == 1 else f"{i}: {name}" for i, name in enumerate(names))


def table(
    configs: list[dict[str, Any]],
    arms: np.ndarray,
    splits: np.ndarray,
    evaluations: list[Evaluation],
    *,
    num_splits: int,
    best: int,
    metric: str | None,
) -> dict[str, Any]:
    """Return `cv_results_`, one row per configuration, with the columns of scikit-learn and `n_splits`.

    Args:
      configs: the configurations.
      arms: int[n], configuration of each evaluation.
      splits: int[n], number of the split of each evaluation.
      evaluations: the n evaluations.
      num_splits: number of columns of splits.
      best: the recommended configuration.
      metric: the metric by which it is recommended, whose rank 1 it has; None without one.
    """
    shape = len(configs), num_splits
    count = np.zeros(len(configs), np.int64)
    np.add.at(count, arms, 1)
    known = np.arange(num_splits) < count[:, None]

    def by_split(values: list[float]) -> np.ndarray:
        """Numbers of the evaluations, NaN where a configuration was not evaluated: [configuration, split]."""
        full = np.full(shape, np.nan)
        full[arms, splits] = values
        return full

    def put(name: str, values: np.ndarray, *, each: bool) -> np.ndarray:
        if each:
            columns.update((f"split{i}_{name}", column) for i, column in enumerate(values.T))
        means, deviations = np.full(len(configs), np.nan), np.full(len(configs), np.nan)
        for row in np.flatnonzero(count):
            own = values[row][known[row]]
            means[row] = np.average(own)
            deviations[row] = np.sqrt(np.average((own - means[row]) ** 2))
        columns[f"mean_{name}"], columns[f"std_{name}"] = means, deviations
        return means

    columns: dict[str, Any] = {}
    put("fit_time", by_split([one["fit_time"] for one in evaluations]), each=False)
    put("score_time", by_split([one["score_time"] for one in evaluations]), each=False)
    columns |= dict(param_columns(configs))
    columns["params"] = configs
    columns["n_splits"] = count
    for part in ("test", "train"):
        if f"{part}_scores" not in evaluations[0]:
            continue
        everything = [scores_of(one, f"{part}_scores") for one in evaluations]
        unusable: list[np.ndarray] = []
        for name in everything[0]:
            means = put(f"{part}_{name}", by_split([scores[name] for scores in everything]), each=True)
            unusable += [] if np.isfinite(means[count > 0]).all() else [means]
            if part == "test":
                columns[f"rank_test_{name}"] = ranks(count, means, best if name == metric else None)
        for means in unusable:
            warnings.warn(f"One or more of the {part} scores are non-finite: {means}", UserWarning, stacklevel=2)
    return columns


def ranks(count: np.ndarray, means: np.ndarray, best: int | None) -> np.ndarray:
    """Return ranks from 1 on, int32[K]: by the number of splits, and then by the mean; equal ones share a rank.

    Means that are not finite are last. The configuration `best` comes first, with its equals.
    """
    usable = np.isfinite(means)
    key = np.stack([usable, np.where(usable, count, 0), np.where(usable, means, 0.0)], 1)
    first = np.zeros(len(means), bool) if best is None else (key == key[best]).all(1) & usable[best]
    _, place, sizes = np.unique(-np.column_stack([first, key]), axis=0, return_inverse=True, return_counts=True)
    return (1 + np.cumsum(sizes) - sizes)[place.ravel()].astype(np.int32)


def failure_remarks(
    names: tuple[str, ...], arms: np.ndarray, evaluations: list[Evaluation], error_score: float | str
) -> tuple[str, ...]:
    """Return a sentence for each configuration with fits that failed."""
    failed = np.bincount(arms, [one["fit_error"] is not None for one in evaluations], len(names)).astype(int)
    fits = np.bincount(arms, minlength=len(names))
    counts = isinstance(error_score, str) or math.isnan(error_score)
    what = "it is not recommended" if counts else f"they have the score {error_score}"
    return tuple(f"{failed[i]} of {fits[i]} fits of {names[i]} failed: {what}" for i in np.flatnonzero(failed))


def larger_remarks(names: tuple[str, ...], count: np.ndarray, means: np.ndarray, best: int) -> tuple[str, ...]:
    """Return a sentence if configurations that were dropped early have larger means than the recommended one."""
    larger = np.flatnonzero((means > means[best]) & (count < count[best]))
    if not len(larger):
        return ()
    most = larger[np.argmax(means[larger])]
    others = "" if len(larger) == 1 else f" and {len(larger) - 1} more"
    return (
        f"{names[most]}{others} has a larger mean than the recommended one, but over fewer splits ({count[most]} of "
        f"{count[best]}); configurations are compared on splits that both of them have",
    )
