"""What both searches for scikit-learn share: configurations are fitted and scored as a search asks for it."""

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.base.calls import under_name
from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.core.goal import DELTA
from jaxbandit.decide.integrations import sklearn_results as results
from jaxbandit.decide.integrations.sklearn_fits import Fits, FoldOrSplitSearch, foremost, pulls_of
from jaxbandit.decide.integrations.sklearn_folds import FoldSearch
from jaxbandit.decide.integrations.sklearn_races import RuleSearch, SplitSearch
from jaxbandit.decide.integrations.sklearn_ranges import NO_RANGE, Range, range_of
from jaxbandit.decide.integrations.sklearn_results import Evaluation, scores_of
from jaxbandit.decide.integrations.sklearn_splits import Chosen, FixedFolds, RandomSplits, draws_at_random
from jaxbandit.decide.integrations.sklearn_versions import Fitting
from jaxbandit.decide.sessions.rewards import as_float, usable
from jaxbandit.decide.tuning.criterion import UNSEEN, Criterion
from jaxbandit.decide.tuning.plays import one_of
from jaxbandit.decide.tuning.settings import check_agreement
from jaxbandit.support import checks, domains
from jaxbandit.support.extras import extra

with extra("sklearn"):
    from sklearn.base import is_classifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures as warn_about_failures
    from sklearn.utils import check_random_state

MOST_SPLITS = 200  # default of max_splits for a search that ends by itself
OPTIONS = {name: domains.integer(1) for name in ("max_fits", "max_splits", "min_splits")} | {
    "epsilon": domains.number(0.0),
    "delta": domains.number(0.0, 1.0, open_low=True, open_high=True),
}
EACH = 20  # fits for each configuration in a search with neither a goal nor a budget
ROUNDING = 1e-9  # relative to its ends, by which a score may be outside of its range, as sums are rounded


class Terms(NamedTuple):
    """What the arguments of a search mean for its data."""

    num_configs: int
    random: bool  # whether splits are drawn at random
    seed: int
    max_fits: int | None
    max_splits: int | None
    limits: Range  # of the score that decides
    because: str  # of what it has these limits


class BaseBanditSearch(BaseSearchCV):
    """A search whose subclasses have these parameters, and say which configurations there are."""

    SHARED = (
        *("estimator", "cv", "epsilon", "delta", "max_fits", "max_splits", "min_splits", "score_range", "rule"),
        *("scoring", "n_jobs", "refit", "verbose", "pre_dispatch", "error_score", "return_train_score", "random_state"),
    )
    estimator: Any
    cv: Any
    epsilon: float | None
    delta: float | None
    max_fits: int | None
    max_splits: int | None
    min_splits: int | None
    score_range: tuple[float, float] | None
    rule: Callable[[int], Algorithm] | None
    random_state: int | np.random.RandomState | None

    def _configs(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> "BaseBanditSearch":
        """Search, and fit the best configuration on all data if `refit`.

        Args:
          X: [n_samples, n_features], as the estimator takes it.
          y: [n_samples], or None without supervision.
          params: passed to the estimator's fit; `groups` to the splitter.
        """
        super().fit(X, y, **params)
        self.n_splits_, certify = self._outcome  # BaseSearchCV was given a few splits at a time
        del self._outcome
        self.certificate_ = certify(getattr(self, "best_index_", None))
        return self

    def _run_search(self, evaluate_candidates: Callable, *, callback_ctx: Any = None) -> None:
        where, configs = type(self).__name__, self._configs()
        fitting = Fitting(self, evaluate_candidates)
        num_folds, fitting.num_splits = fitting.num_splits, 0  # from now on the number of splits of a call
        random = self.cv is None or draws_at_random(fitting.cv)
        if not configs or not (random or num_folds):
            evaluate_candidates([], cv=Chosen(FixedFolds(None, 0), ()))  # raises scikit-learn's own error
        seed = int(check_random_state(self.random_state).randint(2**31))
        with under_name(where):
            max_fits, max_splits = budget = self._budget(len(configs), random)
            terms = Terms(len(configs), random, seed, *budget, *self._limits(random, configs))
            if random:
                splits = RandomSplits(self.cv, is_classifier(self.estimator), seed)
                search = self._split_search(terms)
                if isinstance(search, RuleSearch):
                    terms = terms._replace(limits=search.range, because=f"for which {search.rule.name} is made")
            else:
                splits = FixedFolds(fitting.cv, num_folds)
                num_folds = min(num_folds, max_splits or num_folds)
                search = self._fold_search(terms, num_folds)
        context = None
        if callback_ctx is not None:
            context = callback_ctx.subcontext(task_name="search", max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self)
        fits = Fits(self, fitting, evaluate_candidates, context, splits)
        ended = None
        for request in search.requests():
            pulls = pulls_of(request, search)
            room = math.inf if max_fits is None else max_fits - len(fits.arms)
            if len(pulls) > room:
                pulls, ended = foremost(pulls, search, int(room)), "max_fits"
            if max_splits is not None and any(index >= max_splits for _, index in pulls):
                pulls, ended = [pull for pull in pulls if pull[1] < max_splits], "max_splits"
            for arms, indices, evaluations in fits.make(pulls, configs):
                with under_name(where):
                    metric = self._metric(evaluations[0], search)
                    pairs = zip(arms, indices, evaluations, strict=True)
                    scores = [self._score(terms, one, metric, configs[a], i) for a, i, one in pairs]
                search.enter(np.array(arms), np.array(indices), np.array(scores))
            if ended is not None or search.failed.all():
                break
        if context is not None:
            context.call_on_fit_task_end(estimator=self)
        with_errors = fits.evaluations
        if any(one["fit_error"] is not None for one in with_errors):
            warn_about_failures(with_errors, self.error_score)
        names, arms = results.config_names(configs), np.array(fits.arms)
        columns = num_folds if not random else max(fits.splits) + 1
        metric = self._metric(with_errors[0], search)
        content = results.table(
            configs, arms, np.array(fits.splits), with_errors, num_splits=columns, best=search.best, metric=metric
        )
        fits.last.clear()  # BaseSearchCV continues to use this dict
        fits.last.update(content)
        budget = None if max_fits is None else f"{len(fits.arms)} fits of at most {max_fits} (max_fits)"
        self._warn_if_undecided(terms, search, ended, names)
        failures = results.failure_remarks(names, arms, with_errors, self.error_score)

        def certify(chosen: int | None) -> Certificate:
            best = search.best if chosen is None else int(chosen)
            remarks = [budget or f"{len(fits.arms)} fits", *failures]
            if not isinstance(search, FoldSearch | RuleSearch) and search.halving is None:
                least = search.criterion.min_trainings
                remarks.append(f"min_splits = {least}: no configuration is dropped on fewer splits")
            means = search.certificate(best, names, ()).means
            if means is not None:
                remarks += results.larger_remarks(names, search.fits, means, best)
            return search.certificate(best, names, tuple(remarks))

        self._outcome = columns, certify

    def _format_results(
        self, candidate_params: list, n_splits: int, out: list, more_results: dict | None = None
    ) -> dict[str, Any]:
        """Return only what a round needs, because BaseSearchCV would format all results again after each round."""
        return {"evaluations": out}

    def _budget(self, count: int, random: bool) -> tuple[int | None, int | None]:
        """The largest number of fits, and of splits of a configuration."""
        for name, domain in OPTIONS.items():
            if getattr(self, name) is not None:
                checks.take(name, getattr(self, name), domain)
        if not random or self.max_fits is not None or self.max_splits is not None:
            return self.max_fits, self.max_splits
        ends = self.epsilon is not None or self.rule is not None
        return (None, MOST_SPLITS) if ends else (EACH * count, None)

    def _limits(self, random: bool, configs: list[dict[str, Any]]) -> tuple[Range, str]:
        """The range of the score that decides, and why it is that."""
        if self.score_range is not None:
            try:
                low, high = map(float, self.score_range)
            except (TypeError, ValueError):
                low, high = math.nan, math.nan
            if not low < high or (random and not math.isfinite(high - low)):
                allowed = "two numbers in ascending order, such as (0, 1)"
                raise ValueError(f"score_range = {self.score_range!r}, must be {allowed}")
            error = as_float(self.error_score) if self.error_score != "raise" else math.nan
            if usable(error) and not low <= error <= high:
                what = f"must be in score_range = {self.score_range}, or NaN"
                raise ValueError(f"error_score = {self.error_score}, {what}")
            return (low, high), "which is score_range"
        scoring = self.scoring
        if isinstance(scoring, dict):
            scoring = scoring.get(self.refit) if isinstance(self.refit, str) else None
        elif isinstance(scoring, list | tuple | set):
            scoring = self.refit
        if not isinstance(scoring, str) and not callable(scoring) and self.scoring is not None:
            return NO_RANGE, ""
        replaced = any(hasattr(value, "fit") for config in configs for value in config.values())
        low, high = range_of(self.estimator, scoring, replaced)
        if self.error_score != "raise" and usable(as_float(self.error_score)):
            low, high = min(low, self.error_score), max(high, self.error_score)
        return (low, high), "which is the range of this metric; give score_range if it is another one"

    def _split_search(self, terms: Terms) -> SplitSearch:
        count, max_fits = terms.num_configs, terms.max_fits
        if self.rule is not None and count > 1:
            if not callable(self.rule):
                what = "a function of num_arms, such as jb.algorithms.paired_race"
                raise ValueError(f"rule = {self.rule!r}, must be {what}")
            for name in ("min_splits", "score_range"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} = {getattr(self, name)} is given with a rule; leave one of them out")
            rule = self.rule(count)
            check_agreement(rule, self.delta, self.epsilon)
            search = RuleSearch(rule, count, terms.limits, seed=terms.seed)
            one_of(search.session, count)
            return search
        most = max_fits if max_fits is not None else count * (terms.max_splits or MOST_SPLITS)
        least = self.min_splits or max(min(UNSEEN, most // (2 * count)), 1)
        proved = None if self.score_range is None else terms.limits
        delta = DELTA if self.delta is None else float(self.delta)
        criterion = Criterion(delta, self.epsilon, score_range=proved, min_trainings=least)
        search = SplitSearch(count, criterion, terms.limits, max_fits=max_fits, seed=terms.seed)
        if search.halving is not None and proved is None:
            warnings.warn(
                f"{type(self).__name__}: max_fits = {max_fits} with {count} configurations is spent by sequential "
                f"halving, which as a rule gives no guarantee; a race begins at {2 * count * search.needed} fits",
                ConvergenceWarning,
                stacklevel=2,
            )
        return search

    def _fold_search(self, terms: Terms, num_folds: int) -> FoldSearch:
        if self.rule is not None:
            remedy = "leave rule out, or give cv a splitter that draws at random, such as ShuffleSplit()"
            what = f"rule is given, but cv = {self.cv!r} has fixed folds, of which no rule speaks; {remedy}"
            raise ValueError(what)
        options = {"epsilon": self.epsilon, "max_fits": terms.max_fits, "seed": terms.seed}
        return FoldSearch(terms.num_configs, num_folds, terms.limits, everything=callable(self.refit), **options)

    def _metric(self, evaluation: Evaluation, search: FoldOrSplitSearch) -> str | None:
        """The metric that decides; None if there are several and `refit` names none."""
        scores = evaluation["test_scores"]
        if not isinstance(scores, dict):
            return results.SINGLE
        self._check_refit_for_multimetric(scores)
        if isinstance(self.refit, str):
            return self.refit
        if not isinstance(search, FoldSearch):
            names = ", ".join(scores)
            raise ValueError(f"scoring gives {len(scores)} scores ({names}); set refit to the one that decides")
        search.everything = True
        return None

    def _score(
        self, terms: Terms, evaluation: Evaluation, metric: str | None, config: dict[str, Any], index: int
    ) -> float:
        """The score that decides, NaN if it cannot be used."""
        scores = scores_of(evaluation)
        score = as_float(next(iter(scores.values())) if metric is None else scores[metric])
        the_score = f"the score of {config} on {'split' if terms.random else 'fold'} {index} is {score}"
        if not usable(score):
            if self.error_score == "raise" or self.rule is not None:
                remedy = "" if self.rule is None else "; give error_score a number, or leave rule out"
                raise ValueError(f"{the_score}, must be finite with |score| <= 1e150{remedy}")
            return math.nan
        low, high = terms.limits
        ends = [abs(end) for end in terms.limits if math.isfinite(end)]
        slack = ROUNDING * (max(ends) if len(ends) == 2 else max(1.0, *ends, 0.0))
        if metric is not None and not low - slack <= score <= high + slack:
            raise ValueError(f"{the_score}, must be in {domains.interval(low, high)}, {terms.because}")
        return min(max(score, low), high) if metric is not None else score

    def _warn_if_undecided(
        self, terms: Terms, search: FoldOrSplitSearch, ended: str | None, names: tuple[str, ...]
    ) -> None:
        certificate, certain = search.certificate(search.best, names, ()), not terms.random or self.rule is not None
        what = certificate.contradiction
        if not what:
            if search.stopped or ended is None or not (certain or self.epsilon is not None):
                return
            of = " splits of a configuration" if ended == "max_splits" else ""
            remedy = f"raise {ended}" if certain else f"raise {ended} or epsilon"
            what = f"undecided after {ended} = {getattr(terms, ended)}{of}; {certificate.known}; {remedy}"
        warnings.warn(f"{type(self).__name__}: {what}", ConvergenceWarning, stacklevel=2)
