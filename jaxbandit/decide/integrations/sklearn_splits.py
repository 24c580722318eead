"""The splits on which a search scores its configurations: the fixed folds of a cross-validator, or random splits."""

import copy
import numbers
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.support.extras import extra

with extra("sklearn"):
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
    from sklearn.utils.multiclass import type_of_target

TEST_SIZE = 0.2  # the share of one of five folds

Split = tuple[np.ndarray, np.ndarray]  # indices of the training part and of the test part


def draws_at_random(cv: Any) -> bool:
    """Return whether a cross-validator draws new splits at each call, because it shuffles and has no fixed seed."""
    seed = getattr(cv, "random_state", 0)
    return getattr(cv, "shuffle", True) and not isinstance(seed, numbers.Integral)


class FixedFolds:
    """The folds of a cross-validator that returns the same ones at each call."""

    def __init__(self, cv: Any, num_folds: int):
        """Use a cross-validator that has this number of folds."""
        self._cv, self._num_folds = cv, num_folds
        self._folds: list[Split] | None = None

    def split(self, index: int, X: ArrayLike, y: ArrayLike | None, **params: Any) -> Split:
        """Return fold number `index`."""
        if self._folds is None:
            self._folds = list(self._cv.split(X, y, **params))  # once, because it may be a generator
            if len(self._folds) != self._num_folds:
                got, said = len(self._folds), f"but its get_n_splits says {self._num_folds}; they must be equal"
                raise ValueError(f"cv = {self._cv!r} yields {got} splits, {said}")
        return self._folds[index]


class RandomSplits:
    """Independent random splits: split number i is a splitter's first one with a seed derived from i."""

    def __init__(self, splitter: Any, classifier: bool, seed: int):
        """Use a splitter that draws at random, or None for a test part of 0.2, stratified by classes."""
        self._splitter, self._classifier, self._seed = splitter, classifier, seed

    def split(self, index: int, X: ArrayLike, y: ArrayLike | None, **params: Any) -> Split:
        """Return split number `index`."""
        splitter = copy.copy(self._splitter)
        if splitter is None:
            stratified = self._classifier and y is not None and type_of_target(y) in ("binary", "multiclass")
            splitter = (StratifiedShuffleSplit if stratified else ShuffleSplit)(test_size=TEST_SIZE)
        words = np.random.SeedSequence((self._seed, index))
        splitter.random_state = np.random.RandomState(np.random.MT19937(words))
        return next(iter(splitter.split(X, y, **params)))


class Chosen:
    """A cross-validator of the splits with the given numbers."""

    def __init__(self, splits: FixedFolds | RandomSplits, indices: Sequence[int]):
        """Use these of all splits, in this order."""
        self._splits, self._indices = splits, indices

    def get_n_splits(self, *arguments: Any, **params: Any) -> int:
        """Return the number of these splits."""
        return len(self._indices)

    def split(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Iterator[Split]:
        """Yield these splits."""
        for index in self._indices:
            yield self._splits.split(index, X, y, **params)
