"""Classification data sets of scikit-learn, and columns on one scale."""

import functools
import importlib

import numpy as np


@functools.cache
def load(argument: str, dataset: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardized columns that vary, float64[rows, columns], and the labels, int64[rows]."""
    try:
        datasets = importlib.import_module("sklearn.datasets")
    except ImportError as error:
        wanted = f"comes with scikit-learn ({error}): pip install scikit-learn"
        raise ValueError(f"{argument} = {dataset!r} {wanted}") from None
    table = getattr(datasets, f"load_{dataset}")()
    return standardized(table.data), table.target


def standardized(columns: np.ndarray) -> np.ndarray:
    """Return the columns that vary, with mean 0 and standard deviation 1 over all rows."""
    varies = columns.min(axis=0) < columns.max(axis=0)
    return (columns - columns.mean(axis=0))[:, varies] / columns.std(axis=0)[varies]


def with_ones(columns: np.ndarray) -> np.ndarray:
    """Return the columns after one of ones, all divided by the root of their number: E|x|^2 = 1 if standardized."""
    return np.column_stack([np.ones(len(columns)), columns]) / (1 + columns.shape[1]) ** 0.5
