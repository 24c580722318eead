"""Models of the mean reward of each arm in each row, which are never trained on the row that they predict."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxbandit.decide.logs.log import Log
from jaxbandit.support.refusals import refuse

FOLDS = 3
PENALTY = 1.0  # lambda of ridge regression

Predict = Callable[[np.ndarray], Any]  # from contexts to the mean reward of each arm, float[m, num_arms]
Model = Callable[[np.ndarray, np.ndarray, np.ndarray], Predict]  # from contexts, actions and rewards


def cross_fitted(log: Log, rewards: np.ndarray, model: Model | None) -> np.ndarray:
    """Return predicted mean rewards of all arms, float64[n, num_arms]: each row by a model of the other two folds.

    Row i, from 0, is in fold i mod 3. Without a model it is ridge regression. Rewards are in the unit of predictions.
    """
    contexts = np.zeros((len(log), 0)) if log.context is None else log.context
    if model is None:
        shared = contexts.ndim == 3 and contexts.shape[1] == log.num_arms
        model = _ridge_shared if shared else _ridge_per_arm(log.num_arms)
        contexts = contexts if shared else contexts.reshape(len(log), -1)
    predicted = np.empty((len(log), log.num_arms))
    fold = np.arange(len(log)) % FOLDS
    for number in range(FOLDS):
        mine, others = fold == number, fold != number
        if not mine.any():
            continue
        found = np.asarray(model(contexts[others], log.action[others], rewards[others])(contexts[mine]), np.float64)
        wanted = (int(mine.sum()), log.num_arms)
        if found.shape != wanted or not np.isfinite(found).all():
            fault = f"shape {found.shape}" if found.shape != wanted else "values that are not finite"
            refuse(
                "evaluate: model", f" predicts {fault}, must predict float{list(wanted)}, a mean reward for each arm"
            )
        predicted[mine] = found
    return predicted


def _ridge_per_arm(num_arms: int) -> Model:
    """Return ridge regression on (1, x), with a penalty of 1 on all coefficients, of the rows of each arm."""

    def fit(contexts: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> Predict:
        features = _with_ones(contexts)
        coefficients = np.zeros((features.shape[1], num_arms))
        for arm in np.unique(actions):  # an arm without rows predicts 0, as the penalty alone does
            rows = actions == arm
            coefficients[:, arm] = _solve(features[rows], rewards[rows])
        return lambda new: _with_ones(new) @ coefficients

    return fit


def _ridge_shared(contexts: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> Predict:
    """Return ridge regression on (1, x_a) of all rows, where x_a is the context's row of the arm."""
    coefficients = _solve(_with_ones(contexts[np.arange(len(actions)), actions]), rewards)
    return lambda new: _with_ones(new) @ coefficients


class Ridge:
    """Ridge regression of several outputs on (1, x), with a penalty of 1 on all coefficients."""

    def fit(self, contexts: np.ndarray, outputs: np.ndarray) -> None:
        """Fit the coefficients to float[n, d] and float[n, outputs]."""
        features = _with_ones(contexts)
        self.coefficients = np.stack([_solve(features, output) for output in outputs.T], axis=1)

    def predict(self, contexts: np.ndarray) -> np.ndarray:
        """Return the outputs, float[m, outputs]."""
        return _with_ones(contexts) @ self.coefficients


def _with_ones(contexts: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((*contexts.shape[:-1], 1)), contexts], axis=-1)


def _solve(features: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """Return the coefficients of ridge regression, whatever the units of the columns, and also of equal columns."""
    unit = np.abs(features).max(axis=0, initial=0.0)
    unit[unit == 0] = 1.0
    scaled = features / unit
    return np.linalg.lstsq(scaled.T @ scaled + np.diag(PENALTY / unit / unit), scaled.T @ rewards)[0] / unit


def running_means(log: Log, rewards: np.ndarray) -> np.ndarray:
    """Return (1/2 + the rewards of an arm in the rows before)/(1 + its pulls in the rows before), float64[n, num_arms].

    `rewards` are in [0, 1].
    """
    pulled = np.zeros((len(log), log.num_arms))
    pulled[np.arange(len(log)), log.action] = 1.0
    earned = pulled * rewards[:, None]
    return (0.5 + np.cumsum(earned, axis=0) - earned) / (1 + np.cumsum(pulled, axis=0) - pulled)
