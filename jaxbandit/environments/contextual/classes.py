"""A classification data set as a contextual bandit: a row is the context, an arm a class, and the right class pays 1.

The label of a row is only used to pay; a rule that chooses another class does not see it (bandit feedback).
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.environments import data_sets
from jaxbandit.environments.contextual.row_orders import Order, entry, environment_of
from jaxbandit.support import checks
from jaxbandit.support.domains import choice
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.refusals import python
from jaxbandit.support.types import Array, ArrayLike

Dataset = Literal["digits", "iris", "wine", "breast_cancer"]
EXAMPLE = ((0.1, 2.0), (0.3, -1.0), (0.9, 0.5), (0.8, 1.5), (0.2, -2.0))


class _Tables(NamedTuple):
    data: Array  # float[rows, columns]
    labels: Array  # int32[rows]


@declare(
    concrete=("data", "labels"),
    settings=(
        {"data": EXAMPLE, "labels": (0, 0, 1, 1, 0)},
        {"data": EXAMPLE, "labels": (0, 2, 1, 1, 0), "order": "draw", "standardize": False},
        {"data": "iris", "order": "as_is"},
    ),
)
def classes(
    data: Dataset | ArrayLike, labels: ArrayLike | None = None, *, order: Order = "shuffle", standardize: bool = True
) -> Environment:
    """A classification data set: a row is the context, and the arm of its class pays 1.

    Return the contextual bandit of a table of rows and their classes.

    Args:
      data: float[rows, columns], finite; or a data set of scikit-learn, which must be installed: "digits" (10 classes,
        1797 rows, 61 columns that vary), "iris" (3, 150, 4), "wine" (3, 178, 13) or "breast_cancer" (2, 569, 30).
        Static.
      labels: the class of each row, integers or texts; arms are the classes in ascending order. None for a data set by
        name. Static.
      order: "shuffle", each run has the rows in a random order of its own, once each; "draw", every round draws a row,
        with replacement, and there is no limit to the number of rounds; "as_is", in the order of the table. Static.
      standardize: whether the columns that do not vary are left out, the others get mean 0 and standard deviation 1
        over all rows, a column of ones is put first, and all are divided by the root of their number, so that E|x|^2 =
        1.

    Returns:
      An Environment with contexts float[columns], actions int32[] in [0, classes) and rewards 1 for the class of the
      row, else 0. The regret is 1 - reward. The table is stored once for all runs; an order of its own takes 4 bytes a
      row in each run.

    Raises:
      ValueError: numbers of rows differ, there is one class only, or scikit-learn is not installed.
    """
    table, names = _loaded(data, labels)
    if standardize:
        table = data_sets.with_ones(table if isinstance(data, str) else data_sets.standardized(table))
    kinds, numbers = np.unique(names, return_inverse=True)
    if len(kinds) < 2:
        raise ValueError(f"labels are all {python(kinds[0].item())}, must have at least two classes")

    def reward(tables: _Tables, row: Array, action: Array) -> Array:
        return as_float(get_at(tables.labels, row) == action)

    return environment_of(
        len(table),
        order,
        lambda: _Tables(as_float(table), jnp.asarray(numbers, jnp.int32)),
        lambda tables, row: entry(tables.data, row),
        reward,
        lambda tables, row, action: 1 - reward(tables, row, action),
        arms=Arms(len(kinds), context=table.shape[1:]),
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
        sigma=0.5,
    )


def _loaded(data: Dataset | ArrayLike, labels: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows, standardized if they are a data set of scikit-learn, and the class of each."""
    if isinstance(data, str):
        checks.take("data", data, choice(("digits", "iris", "wine", "breast_cancer")))
        if labels is not None:
            checks.wrong("labels", labels, f"left out: data = {data!r} has its own")
        return data_sets.load("data", data)
    rows = checks.take("data", data, checks.arrays(ndim=2))
    if labels is None:
        raise ValueError("labels = None, must be the class of each row of data")
    names = np.asarray(labels)
    if names.shape != rows.shape[:1]:
        raise ValueError(f"labels has shape {list(names.shape)}, must have {len(rows)} entries, one per row")
    if names.dtype.kind == "f" and not np.isfinite(names).all():
        raise ValueError("labels has an entry that is not finite, must be the class of each row")
    return rows, names
