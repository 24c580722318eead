"""scikit-learn: searches over configurations that score each only as often as is needed to know which one is best."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.integrations.sklearn_base import BaseBanditSearch
from jaxbandit.support.extras import extra

with extra("sklearn"):
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import ParameterGrid, ParameterSampler
    from sklearn.model_selection._search import BaseSearchCV


class BanditSearchCV(BaseBanditSearch):
    """Search over a grid of configurations, in the place of `GridSearchCV`, with a certificate of its choice.

    A configuration is scored on one split after another, and a configuration that cannot be the best any more is
    dropped. What a split is, and what the certificate states, depends on `cv`:

    - With a splitter that draws at random (the default), split i has its own seed and is the same for all
      configurations. Given the data the splits are independent, so a race decides, and the certificate states how far
      the choice is at most from the configuration with the best mean over all random splits of this data set, with
      probability at least 1 - `delta` under the assumptions that it lists.
    - The folds of any other `cv`, such as 5, are all there is, and nothing random. The choice has the largest mean over
      these folds, as that of `GridSearchCV`, with certainty. Fits are saved if the range of the score is known: a
      configuration is dropped when its mean cannot reach the best one even with the best possible scores on the folds
      that are missing.

    Nothing is claimed about other data. However a search ends, by its own decision or by its budget, it returns the
    best configuration so far and `certificate_.achieved`, by how much at most its mean is below the best one.

    Args:
      estimator: scikit-learn estimator.
      param_grid: names of parameters -> lists of values, or a list of such dicts, as for `GridSearchCV`.
      cv: None for random splits with a test part of 0.2, stratified for classes. A splitter that draws new splits at
        each call (it shuffles, and its `random_state` is no integer), such as `ShuffleSplit()`, gives random splits:
        its first one, with a new seed for each number. Anything else that scikit-learn takes, such as 5,
        `StratifiedKFold()`, `RepeatedKFold(random_state=0)` or an iterable of splits, is a list of fixed folds.
      epsilon: difference of means that does not matter, >= 0, in units of the score: the search ends once the choice is
        known to be within it. None means that the best one is searched until the budget ends, of which there is one
        for random splits if no other is given: 20 fits for each configuration.
      delta: error probability with random splits, in (0, 1). None means 0.05.
      max_fits: largest number of fits, >= 1, without the final one on all data. None means no limit.
      max_splits: largest number of splits on which a configuration is scored, >= 1; of fixed folds, the first ones are
        used. None means 200 for random splits with epsilon or a rule and without `max_fits`.
      min_splits: number of random splits before which no configuration is dropped and no search ends, >= 1, because
        what happens rarely has not been seen by then. None means 14, or less if the budget is small: half of the fits
        for each configuration.
      score_range: (low, high) of the score that decides. With random splits the comparison is then proved for any
        distribution of scores in this range, at the price of more splits. Without it differences are assumed to be
        normal, and the known ranges of scikit-learn's metrics limit intervals, and with fixed folds what is missing.
      rule: function of the number of configurations that returns an Algorithm which recommends one arm, such as
        `functools.partial(jb.algorithms.kim_nelson, epsilon=0.01)`, for random splits. None uses a race of paired
        differences, or sequential halving if `max_fits` is less than twice the fits without which nothing can be known.
      scoring, n_jobs, refit, verbose, pre_dispatch, return_train_score: as for `GridSearchCV`. With several metrics the
        one that `refit` names decides. If `refit` is a function, it chooses, and the certificate is about its choice;
        all fixed folds are then scored. `n_jobs` fits the configurations of a round in parallel and changes nothing.
      error_score: score of a fit that fails, or "raise". NaN means that a configuration is not recommended after one of
        its fits has failed, and that it is no rival. A number is an outcome that enters the mean. A score that is not
        finite or of modulus above 1e150 is treated as NaN.
      random_state: seed of the random splits, as in scikit-learn.

    After `fit` it has the attributes of a fitted `GridSearchCV` and `certificate_`. Row k of `cv_results_` is
    configuration k. Its number of splits is in the column `n_splits`; the columns of splits on which it was not scored
    are NaN, and means and standard deviations are over the others. The rank is 1 for the recommended configuration;
    others are ranked by their number of splits, and then by their mean. `n_splits_` is the number of these columns.

    Raises:
      ValueError: an argument is out of range, a score is outside of the range, or the rule does not fit.
    """

    _parameter_constraints: dict = {  # noqa: RUF012 (as BaseSearchCV declares it)
        **BaseSearchCV._parameter_constraints,
        "param_grid": [dict, list],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        param_grid: Any,
        *,
        cv: Any = None,
        epsilon: float | None = None,
        delta: float | None = None,
        max_fits: int | None = None,
        max_splits: int | None = None,
        min_splits: int | None = None,
        score_range: tuple[float, float] | None = None,
        rule: Callable[[int], Algorithm] | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable = True,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.param_grid = param_grid
        _assign(self, locals())

    def _configs(self) -> list[dict[str, Any]]:
        return list(ParameterGrid(self.param_grid))


class BanditRandomizedSearchCV(BaseBanditSearch):
    """Search over random configurations, in the place of `RandomizedSearchCV`, with a certificate of its choice.

    The configurations are those of `RandomizedSearchCV` with the same `random_state`; everything else is as for
    `BanditSearchCV`. The certificate is about the configurations that were drawn, and not about the distributions.

    Args:
      estimator: scikit-learn estimator.
      param_distributions: names of parameters -> lists of values or distributions with a method `rvs`, or a list of
        such dicts, as for `RandomizedSearchCV`.
      n_iter: number of configurations, >= 1.
      random_state: seed of the configurations and of the random splits, as in scikit-learn.

    The other arguments, the attributes and the errors are those of `BanditSearchCV`.
    """

    _parameter_constraints: dict = {  # noqa: RUF012 (as BaseSearchCV declares it)
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [dict, list],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        cv: Any = None,
        epsilon: float | None = None,
        delta: float | None = None,
        max_fits: int | None = None,
        max_splits: int | None = None,
        min_splits: int | None = None,
        score_range: tuple[float, float] | None = None,
        rule: Callable[[int], Algorithm] | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable = True,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        _assign(self, locals())

    def _configs(self) -> list[dict[str, Any]]:
        return list(ParameterSampler(self.param_distributions, self.n_iter, random_state=self.random_state))


def _assign(search: BaseBanditSearch, arguments: dict[str, Any]) -> None:
    """Set the parameters that both searches have."""
    for name in search.SHARED:
        setattr(search, name, arguments[name])
