"""In which range the scores of a scorer are, so that bounds can use it."""

import math
import re
from typing import Any

from jaxbandit.support.extras import extra

with extra("sklearn"):
    from sklearn import metrics
    from sklearn.base import ClassifierMixin, RegressorMixin

Range = tuple[float, float]
NO_RANGE: Range = (-math.inf, math.inf)

# Patterns of the names of scikit-learn's scorers, or of metrics of which larger values are better.
_RANGES: tuple[tuple[str, Range], ...] = (
    (r"accuracy|balanced_accuracy|top_k_accuracy|average_precision", (0.0, 1.0)),
    (r"(f1|precision|recall|jaccard)(_(binary|macro|micro|weighted|samples))?", (0.0, 1.0)),
    (r"roc_auc(_ov[ro](_weighted)?)?", (0.0, 1.0)),
    (r"rand|homogeneity|completeness|v_measure|fowlkes_mallows|normalized_mutual_info", (0.0, 1.0)),
    (r"matthews_corrcoef|adjusted_rand", (-1.0, 1.0)),
    (r"r2|explained_variance|adjusted_mutual_info|d2_\w+", (-math.inf, 1.0)),
    (r"neg_\w+", (-math.inf, 0.0)),
    (r"\w+_(error|loss|deviance)", (0.0, math.inf)),
)
_SUFFIX = "_score"  # of metrics, such as accuracy_score, and of some scorers


def named_range(name: str) -> Range:
    """Return the range of the scores of a named scorer; (-inf, inf) if it is not known."""
    name = name.removesuffix(_SUFFIX)
    return next((limits for pattern, limits in _RANGES if re.fullmatch(pattern, name)), NO_RANGE)


def range_of(estimator: Any, scoring: Any, replaced: bool) -> Range:
    """Return the range of the scores of one metric; (-inf, inf) if it is not known.

    `replaced` says whether configurations replace the estimator, whose `score` is used if scoring is None, or its
    parts.
    """
    if scoring is None:
        return NO_RANGE if replaced else _of_estimator(estimator)
    if isinstance(scoring, str):
        return named_range(scoring)
    function, sign = getattr(scoring, "_score_func", None), getattr(scoring, "_sign", 0)
    if function is None or getattr(scoring, "_kwargs", None) or sign == 0:
        return NO_RANGE
    name = getattr(function, "__name__", "")
    if getattr(metrics, name, None) is not function:
        return NO_RANGE
    low, high = named_range(name)
    return (low, high) if sign > 0 else (-high, -low)


def _of_estimator(estimator: Any) -> Range:
    """The range of `score` of a classifier or regressor, or of the last step of a pipeline."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    own = getattr(type(estimator), "score", None)
    if own is ClassifierMixin.score:
        return named_range("accuracy")
    return named_range("r2") if own is RegressorMixin.score else NO_RANGE
