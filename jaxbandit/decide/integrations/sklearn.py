"""scikit-learn: a search over configurations that are scored on random splits until the best one is certified."""

import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.base import checks, domains
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.extras import extra
from jaxbandit.base.refusals import refuse
from jaxbandit.decide.sessions.ask_tell import ask, tell
from jaxbandit.decide.sessions.certifying import certificate
from jaxbandit.decide.sessions.rewards import as_float, usable
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.decide.tuning.rules import check_agreement, chosen, default_rule, one_of
from jaxbandit.engine.rounds import fit

with extra("sklearn"):
    from sklearn.base import BaseEstimator, is_classifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import ParameterGrid, ShuffleSplit, StratifiedShuffleSplit
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
    from sklearn.utils.metadata_routing import get_routing_for_object
    from sklearn.utils.multiclass import type_of_target

WHERE = "BanditSearchCV"
TEST_SIZE = 0.2  # the share of one of five folds
ASSUMPTION = (
    "each score comes from one random split of this data set; the means are over all its splits, and nothing is "
    "guaranteed for other data"
)


class BanditSearchCV(BaseSearchCV):
    """Search over a grid of configurations, each scored on random splits until the best one is certified.

    It replaces `GridSearchCV`. A grid search scores every configuration on the same few folds and returns the one with
    the largest mean, which may be so by chance. Here a rule decides after every round of splits which configurations
    are scored on the next splits, and when the best one is known. With the default rule `paired_race`, the returned
    configuration is within `epsilon` of the best with probability at least 1 - `delta`, under the assumptions that the
    certificate lists.

    A pull is one random split: the estimator is fitted on its training part and scored on its test part. Split i has
    its own seed and is the same for all configurations, so that configurations are compared on equal splits. Given the
    data, the splits are independent. The certificate is therefore about the mean score over all random splits of this
    data set, and not about unseen data, as one of its assumptions states.

    Args:
      estimator: scikit-learn estimator.
      param_grid: names of parameters -> lists of values, or a list of such dicts, as for `GridSearchCV`; the
        configurations are those of `ParameterGrid`, two or more.
      rule: function of the number of configurations that returns an Algorithm which recommends one arm, for example
        `functools.partial(jb.kim_nelson, epsilon=0.01)`. None uses `paired_race` with `delta` and `epsilon`, or
        `student_race`, which has no epsilon, for more than 5,000 configurations.
      delta: error probability of the default rule, in (0, 1). None means 0.05.
      epsilon: tolerated simple regret of the mean score for the default rule `paired_race`, >= 0, in units of the
        score. It is required, because with 0 two equally good configurations are compared without end.
      scoring: a single scorer, given as a name, a callable, or None for the estimator's own `score`.
      splitter: splitter with a `random_state`. A pull is its first split, with a new seed for each pull. None uses
        `ShuffleSplit` with a test part of 0.2, or `StratifiedShuffleSplit` for classes.
      max_splits: largest number of splits on which a configuration is scored, >= 1. If the rule has not stopped by
        then, the search ends with a `ConvergenceWarning`, and the certificate states that the rule has not stopped. The
        default rule never distinguishes configurations that score the same on every split.
      refit: whether the best configuration is fitted on all data at the end.
      n_jobs: number of fits that joblib runs in parallel. The configurations of a round are fitted in parallel.
      random_state: seed of the splits, as in scikit-learn.
      error_score: score of a fit that fails, which enters the mean of its configuration, or "raise".
      verbose: as for `GridSearchCV`.

    After `fit` it has the attributes of a fitted `GridSearchCV`. Row k of `cv_results_` is configuration k.
    Configurations have different numbers of splits, which are in the column `n_splits`. The column
    `split{i}_test_score` is NaN if a configuration was not scored on split i, and means and standard deviations are
    over the splits on which it was scored. `rank_test_score` is 1 for the configuration that the rule recommends. The
    others are ranked by their number of splits, and then by their mean. `n_splits_` is the largest number of splits of
    a configuration, and `certificate_` states the guarantee of the rule and its assumptions.

    Raises:
      ValueError: an argument is out of range, a score is not finite or of modulus above 1e150, or the rule does not fit
        the configurations.
    """

    _parameter_constraints: dict = {  # noqa: RUF012 (as BaseSearchCV declares it)
        **BaseSearchCV._parameter_constraints,
        "scoring": [str, callable, None],
        "refit": ["boolean"],
    }
    # Arguments of BaseSearchCV that it reads from the instance.
    pre_dispatch = "2*n_jobs"
    return_train_score = False

    def __init__(
        self,
        estimator: BaseEstimator,
        param_grid: Any,
        *,
        rule: Callable[[int], Algorithm] | None = None,
        delta: float | None = None,
        epsilon: float | None = None,
        scoring: Any = None,
        splitter: Any = None,
        max_splits: int = 200,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        error_score: float | str = "raise",
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.rule = rule
        self.delta = delta
        self.epsilon = epsilon
        self.scoring = scoring
        self.splitter = splitter
        self.max_splits = max_splits
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.error_score = error_score
        self.verbose = verbose

    @property
    def cv(self) -> "_Split":
        """The splitter in the form that BaseSearchCV expects, with one split."""
        return _Split(self.splitter, is_classifier(self.estimator))

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> "BanditSearchCV":
        """Search, and fit the best configuration on all data if `refit`.

        Args:
          X: [n_samples, n_features], as the estimator takes it.
          y: [n_samples], or None without supervision.
          params: passed to the estimator's fit; `groups` to the splitter.
        """
        super().fit(X, y, **params)
        self.n_splits_ = int(self.certificate_.pulls.max())  # BaseSearchCV was given one split at a time
        return self

    def _run_search(self, evaluate_candidates: Callable) -> None:  # type: ignore[override]  # without its callbacks
        configs = self._configs()
        seed = int(check_random_state(self.random_state).randint(2**31))
        state = self._session(len(configs), seed)
        arms, indices, results = [], [], {}
        while not state.stopped:
            state, pulls = ask(state)
            if pulls.index.max() >= self.max_splits:
                break
            scores = np.empty(len(pulls.id))
            for index in np.unique(pulls.index):
                here = np.flatnonzero(pulls.index == index)
                candidates = [configs[arm] for arm in pulls.arm[here]]
                results = evaluate_candidates(candidates, cv=self.cv.of(seed, int(index)))
                test_scores = [evaluation["test_scores"] for evaluation in results["evaluations"][-len(here) :]]
                scores[here] = [_checked(*one, index, state) for one in zip(test_scores, candidates, strict=True)]
                arms.extend(pulls.arm[here])
                indices.extend(pulls.index[here])
            state = tell(state, pulls.id, scores)
        self._certify(state)
        best = chosen(state)
        table = _table(configs, np.array(arms), np.array(indices), results["evaluations"], best)
        results.clear()  # BaseSearchCV continues to use this dict
        results.update(table)

    def _format_results(
        self, candidate_params: list, n_splits: int, out: list, more_results: dict | None = None
    ) -> dict[str, Any]:
        """Return only what a round needs, because BaseSearchCV would format all results again after each round."""
        return {"evaluations": out}

    def _configs(self) -> list[dict[str, Any]]:
        configs = list(ParameterGrid(self.param_grid))
        if len(configs) < 2:
            refuse(WHERE, f": param_grid has {len(configs)} configurations, must have at least 2")
        return configs

    def _session(self, num_arms: int, seed: int) -> Session:
        checks.integer(WHERE, "max_splits", self.max_splits, 1)
        if self.error_score != "raise" and not usable(as_float(self.error_score)):
            allowed = 'must be finite with |score| <= 1e150, or "raise", because a mean cannot include it'
            refuse(WHERE, f": error_score = {self.error_score}, {allowed}")
        if self.rule is None:
            rule = default_rule(WHERE, num_arms, self.delta, self.epsilon)
        elif callable(self.rule):
            rule = self.rule(num_arms)
            check_agreement(WHERE, rule, self.delta, self.epsilon)
        else:
            refuse(WHERE, f": rule = {self.rule!r}, must be a function of num_arms, such as jb.paired_race")
        state = session(rule, seed=seed)
        one_of(WHERE, state, num_arms)
        return state

    def _certify(self, state: Session) -> None:
        if not state.stopped:
            warnings.warn(
                f"{WHERE}: undecided after max_splits = {self.max_splits} splits of a configuration; the best one so "
                "far is not certified. Raise max_splits or epsilon",
                ConvergenceWarning,
                stacklevel=2,
            )
        result = certificate(state)
        self.certificate_ = dataclasses.replace(result, assumptions=(*result.assumptions, ASSUMPTION))


class _Split:
    """A cross-validator with one split: the first split of the splitter, seeded by the index of the pull."""

    def __init__(self, splitter: Any, classifier: bool, seed: int = 0, index: int = 0):
        self.splitter, self.classifier, self.seed, self.index = splitter, classifier, seed, index

    def of(self, seed: int, index: int) -> "_Split":
        return _Split(self.splitter, self.classifier, seed, index)

    def get_n_splits(
        self, X: ArrayLike | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        return 1

    def split(
        self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        splitter = copy.copy(self._splitter(y))
        words = np.random.SeedSequence((self.seed, self.index))
        splitter.random_state = np.random.RandomState(np.random.MT19937(words))
        yield next(iter(splitter.split(X, y, groups)))

    def get_metadata_routing(self) -> Any:
        return get_routing_for_object(self.splitter)

    def _splitter(self, y: ArrayLike | None) -> Any:
        if self.splitter is None:
            stratified = self.classifier and y is not None and type_of_target(y) in ("binary", "multiclass")
            return (StratifiedShuffleSplit if stratified else ShuffleSplit)(test_size=TEST_SIZE)
        random = hasattr(self.splitter, "split") and hasattr(self.splitter, "random_state")
        if not random or not getattr(self.splitter, "shuffle", True):
            refuse(WHERE, f": splitter = {self.splitter!r}, must draw its splits at random, such as ShuffleSplit()")
        return self.splitter


def _checked(score: float, config: dict[str, Any], index: int, state: Session) -> float:
    if isinstance(score, dict):
        refuse(WHERE, f": scoring gives {len(score)} scores ({', '.join(score)}), must give one")
    if not usable(as_float(score)):
        refuse(WHERE, f": the score of {config} on split {index} is {score}, must be finite with |score| <= 1e150")
    low, high = fit.limits(state.rule.rewards)
    if not low <= score <= high:
        allowed = f"{domains.interval(float(low), float(high))}, for which {state.rule.name} is made"
        refuse(WHERE, f": the score of {config} on split {index} is {score}, must be in {allowed}")
    return score


def _table(
    configs: list[dict[str, Any]], arms: np.ndarray, splits: np.ndarray, evaluations: list[dict], best: int
) -> dict[str, Any]:
    """Return `cv_results_`, one row per configuration; evaluation j is of configuration arms[j] on split splits[j]."""

    def by_split(name: str) -> np.ma.MaskedArray:
        """Numbers of the evaluations, masked where a configuration was not evaluated: [configuration, split]."""
        values = np.ma.masked_all((len(configs), splits.max() + 1))
        values[arms, splits] = [evaluation[name] for evaluation in evaluations]
        return values

    table = {}
    for key, name in (("fit_time", "fit_time"), ("score_time", "score_time"), ("test_score", "test_scores")):
        values = by_split(name)
        table[f"mean_{key}"] = values.mean(1).filled(np.nan)
        table[f"std_{key}"] = values.std(1).filled(np.nan)
    for name in sorted({name for config in configs for name in config}):
        column = np.ma.MaskedArray(np.empty(len(configs), dtype=object), mask=True)
        for row, config in enumerate(configs):
            if name in config:
                column[row] = config[name]
        table[f"param_{name}"] = column
    table["params"] = configs
    table |= {f"split{i}_test_score": column for i, column in enumerate(values.filled(np.nan).T)}
    table["n_splits"] = values.count(1)
    recommended = np.arange(len(configs)) == best
    means = np.nan_to_num(table["mean_test_score"], nan=-np.inf)
    _, place, sizes = np.unique(
        -np.stack([recommended, table["n_splits"], means], 1), axis=0, return_inverse=True, return_counts=True
    )
    table["rank_test_score"] = (1 + np.cumsum(sizes) - sizes)[place].astype(np.int32)
    return table
