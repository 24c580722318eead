"""What scikit-learn's BaseSearchCV knows while it fits: attributes of it since 1.9, local variables of `fit` before.

Both are private. A search that fits some configurations on some splits must tell it how many splits to expect next.
"""

from collections.abc import Callable
from typing import Any


class Fitting:
    """The splitter and the number of splits of a fit that is under way."""

    def __init__(self, owner: Any, evaluate: Callable):
        """Look where this version of scikit-learn keeps them; `evaluate` is what `_run_search` is given."""
        self._owner = owner
        code = getattr(evaluate, "__code__", None)
        names: tuple[str, ...] = () if code is None else code.co_freevars
        self._cells = dict(zip(names, evaluate.__closure__ or (), strict=False))

    @property
    def cv(self) -> Any:
        """The splitter, as `check_cv` returns it."""
        cell = self._cells.get("cv_orig")
        return self._owner._checked_cv_orig if cell is None else cell.cell_contents

    @property
    def num_splits(self) -> int:
        """How many splits each call of `evaluate` has."""
        cell = self._cells.get("n_splits")
        return self._owner.n_splits_ if cell is None else cell.cell_contents

    @num_splits.setter
    def num_splits(self, number: int) -> None:
        self._owner.n_splits_ = number
        if "n_splits" in self._cells:
            self._cells["n_splits"].cell_contents = number
