"""Linear contextual bandits from classification data sets (scikit-learn): a context is a row, its arms are the classes.

Theta is fitted to the rows, so that the model of `linear_contextual` holds exactly. The labels are not replayed.
"""

from typing import Literal

import numpy as np

from jaxbandit.base.arguments import Count, Deviation, Seed
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments import data_sets
from jaxbandit.environments.linear_arms.linear_contextual import linear_contextual
from jaxbandit.support import checks
from jaxbandit.support.domains import integer

Dataset = Literal["digits", "wine", "breast_cancer"]
_PENALTY = 1.0  # penalty of the ridge regression on standardized columns


@declare(settings=({"dataset": "wine"},))
def linear_contextual_classes(
    dataset: Dataset,
    *,
    num_contexts: int = 50,
    num_components: Count = 3,
    instance_seed: Seed = 0,
    sigma: Deviation = 0.5,
) -> Environment:
    """A scikit-learn data set, with rows as contexts and classes as arms.

    Return the instance number `instance_seed`. A row is z = (1, its first principal components), standardized over all
    rows: the columns before and the components after the decomposition. The contexts are num_contexts rows drawn
    without replacement, all with the same probability. With C classes and z in R^p, the features of arm a are x in R^(C
    p), which has z in block a and 0 elsewhere. Block a of theta is the ridge fit (penalty 1), on all rows, of the
    indicator of class a.

    Args:
      dataset: "digits" (10 classes, 1797 rows), "wine" (3, 178) or "breast_cancer" (2, 569); static. scikit-learn,
        which contains them, must be installed.
      num_contexts: number of contexts, an integer above num_components and at most the number of rows; static.
      num_components: p - 1 and at most the number of columns that vary (61, 13 and 30).
      sigma: standard deviation of the rewards. 0.5 is the largest that a reward in {0, 1} can have.

    Returns:
      An Environment as `linear_contextual`, with one action per class.

    Raises:
      ValueError: scikit-learn is not installed.

    Source:
      The data sets are those of scikit-learn (digits, wine and breast_cancer of the UCI repository).
    """
    instance = _instance(dataset, num_contexts, num_components, instance_seed)
    return linear_contextual(*instance, sigma=sigma)._replace(name="linear_contextual_classes")


def _instance(
    dataset: Dataset, num_contexts: int, num_components: int, instance_seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the action sets, the probabilities and theta."""
    columns, labels = data_sets.load("dataset", dataset)
    most = min(columns.shape)
    num_components = checks.take("num_components", num_components, integer(1, most))
    num_contexts = checks.take("num_contexts", num_contexts, integer(num_components + 1, len(columns)))

    left, _, right = np.linalg.svd(columns, full_matrices=False)
    # The sign of a singular vector is arbitrary, so the largest entry of its loadings is made positive.
    signs = np.sign(right[np.arange(most), np.abs(right).argmax(axis=1)])
    scores = (left * signs)[:, :num_components] * np.sqrt(len(columns))
    rows = np.concatenate([np.ones((len(columns), 1)), scores], axis=1)
    indicators = (labels[:, None] == np.unique(labels)).astype(float)
    theta = np.linalg.solve(rows.T @ rows + _PENALTY * np.eye(rows.shape[1]), rows.T @ indicators)

    drawn = rows[np.random.default_rng(instance_seed).choice(len(rows), num_contexts, replace=False)]
    blocks = np.eye(indicators.shape[1])[None, :, :, None] * drawn[:, None, None]
    action_sets = blocks.reshape(num_contexts, indicators.shape[1], -1)
    return action_sets, np.full(num_contexts, 1 / num_contexts), theta.T.ravel()
