"""Searches for scikit-learn: fixed folds, budgets, failures, several metrics, ranges and distributions."""

import pickle

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.integrations.sklearn import BanditRandomizedSearchCV, BanditSearchCV
from jaxbandit.decide.integrations.sklearn_folds import FoldSearch
from jaxbandit.decide.integrations.sklearn_races import SplitEvidence, SplitSearch
from jaxbandit.decide.integrations.sklearn_ranges import NO_RANGE, named_range, range_of
from jaxbandit.decide.integrations.sklearn_results import config_names, ranks
from jaxbandit.decide.tuning.criterion import Criterion, Stage
from jaxbandit.theory.comparisons.pairs import radius

X, Y = load_iris(return_X_y=True)
SMOOTHING = {"var_smoothing": [1e-9, 0.01, 0.03, 0.1, 0.3, 1.0]}


class Formula(ClassifierMixin, BaseEstimator):
    """A classifier whose score is a formula of its parameter and of the test part, and which fails on request."""

    def __init__(self, level=0.5, noise=0.02, fails=()):
        self.level, self.noise, self.fails = level, noise, fails

    def fit(self, X, y):
        if round(float(np.sum(X))) % 7 in self.fails:
            raise RuntimeError("cannot be fitted")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        return self.level + self.noise * np.sin(1e3 * float(np.sum(X)) + 20 * self.level)


def played(search, scores, budget=None):
    """Yield after each request of a search over fixed folds."""
    left = scores.size if budget is None else budget
    for request in search.requests():
        arms, folds = request.arms[:left], request.seeds[:left]
        search.enter(arms, folds, scores[arms, folds])
        left -= len(arms)
        yield
        if left <= 0:
            return


@pytest.mark.slow
@pytest.mark.parametrize("limits", [(0.0, 1.0), (-np.inf, 1.0), NO_RANGE])
def test_what_is_said_of_fixed_folds_is_certain(limits):
    """At every moment: bounds contain the means, and no regret exceeds what is achieved; at the end the first best."""
    rng, saved = np.random.default_rng(1), 0
    for case in range(60):
        count, num_folds = rng.integers(1, 9), rng.integers(1, 7)
        scores = np.round(1 - rng.random((count, num_folds)) * rng.random((count, 1)) ** 2, rng.integers(1, 4))
        epsilon = None if case % 3 else 0.1
        budget = None if case % 2 else int(rng.integers(1, scores.size + 1))
        search = FoldSearch(count, num_folds, limits, epsilon=epsilon, max_fits=budget, everything=False, seed=0)
        means = np.average(scores, axis=1)
        for _ in played(search, scores, budget):
            low, high = search.bounds()
            assert (low <= means + 1e-12).all() and (means <= high + 1e-12).all()
            regret = means.max() - means
            assert all(regret[arm] <= search.achieved(arm) + 1e-12 for arm in range(count))
            assert not search.excluded()[np.argmax(means)]
        if budget is None:
            assert search.stopped and search.achieved(search.best) <= (epsilon or 0.0)
            if epsilon is None:
                assert search.best == np.argmax(means)
            saved += scores.size - search.fits.sum()
        else:
            assert search.fits.sum() <= budget
    assert (saved > 120) == (limits[1] == 1.0)


def choices(scale, limits):
    """The fits, exclusions and choices of searches over fixed folds, with all scores multiplied by a power of two."""
    rng, made = np.random.default_rng(2), []
    for _ in range(16):
        scores = scale * np.round(-rng.random((5, 6)) * rng.random((5, 1)) ** 2, 2)
        own = tuple(end * scale if np.isfinite(end) and end else end for end in limits)
        search = FoldSearch(5, 6, own, epsilon=None, max_fits=None, everything=False, seed=0)
        for _ in played(search, scores):
            pass
        made.append((search.best, search.fits.tolist(), search.excluded().tolist()))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("limits", [(-np.inf, 0.0), (-1.0, 0.0)])
def test_fixed_folds_do_not_depend_on_the_scale_of_a_metric(limits):
    one = choices(1.0, limits)
    assert sum(sum(fits) for _, fits, _ in one) < 0.9 * 16 * 30  # fits are saved
    for power in (-83, -60, 100):  # 1e-25, 1e-18 and 1e30; a power of two rounds nothing
        assert choices(2.0**power, limits) == one


def test_a_score_outside_a_small_range_is_refused():
    search = BanditSearchCV(Formula(), {"level": [1e-18, 2e-18]}, cv=2, score_range=(0.0, 1e-17), scoring=fixed(1e-10))
    with pytest.raises(ValueError, match=r"^BanditSearchCV: the score of .* is 1e-10, must be in \[0, 1e-17\]"):
        search.fit(np.zeros((8, 1)), np.arange(8) % 2)


def fixed(value):
    def scorer(estimator, X, y):
        return value

    return scorer


def test_everything_is_scored_on_request_and_a_failure_is_no_best():
    scores = np.array([[0.9, 0.9], [0.1, 0.1], [1.0, np.nan]])
    search = FoldSearch(3, 2, (0.0, 1.0), epsilon=None, max_fits=None, everything=True, seed=0)
    assert len(list(played(search, scores))) == 2
    assert search.fits.tolist() == [2, 2, 2] and search.best == 0 and search.stopped
    assert search.achieved(0) == 0 and search.achieved(1) == pytest.approx(0.8) and search.achieved(2) == np.inf
    search = FoldSearch(3, 2, (0.0, 1.0), epsilon=None, max_fits=None, everything=False, seed=0)
    list(played(search, np.array([[0.9, 0.9], [0.1, 0.1], [np.nan, 1.0]])))
    assert search.fits.tolist() == [2, 1, 1] and search.failed.tolist() == [False, False, True]


FIXED = {
    "int": 5,
    "KFold": KFold(4, shuffle=True, random_state=0),
    "repeated": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=1),
    "ShuffleSplit": ShuffleSplit(4, random_state=0),
    "iterable": list(StratifiedKFold(3).split(X, Y)),
}


@pytest.mark.parametrize("cv", FIXED.values(), ids=FIXED)
def test_on_fixed_folds_the_choice_is_that_of_a_grid_search(cv):
    grid = GridSearchCV(GaussianNB(), SMOOTHING, cv=cv, return_train_score=True).fit(X, Y)
    found = BanditSearchCV(GaussianNB(), SMOOTHING, cv=cv, return_train_score=True).fit(X, Y)
    assert found.best_params_ == grid.best_params_ and found.best_score_ == grid.best_score_
    assert found.n_splits_ == grid.n_splits_ and found.cv_results_.keys() == grid.cv_results_.keys() | {"n_splits"}
    fits = found.cv_results_["n_splits"]
    assert found.n_splits_ == fits.max() and fits.sum() < len(fits) * grid.n_splits_
    for i in range(found.n_splits_):
        for part in ("test", "train"):
            known, column = i < fits, f"split{i}_{part}_score"
            np.testing.assert_array_equal(found.cv_results_[column][known], grid.cv_results_[column][known])
            assert np.isnan(found.cv_results_[column][~known]).all()
    proof = found.certificate_
    assert proof.over == "folds" and proof.achieved == 0 and proof.stopped
    assert proof.names[0] == "var_smoothing=1e-09" and "with certainty" in proof.known
    assert (proof.low <= grid.cv_results_["mean_test_score"] + 1e-12).all()
    assert (proof.high >= grid.cv_results_["mean_test_score"] - 1e-12).all()
    again = Certificate.from_json(proof.to_json())
    assert again.known == proof.known and again.promise == proof.promise and str(again) == str(proof)
    assert again.unseen is None and proof.rare_events() == []  # nothing is drawn at random
    assert str(pickle.loads(pickle.dumps(found)).certificate_) == str(proof)


def test_fewer_folds_and_fewer_fits():
    found = BanditSearchCV(GaussianNB(), SMOOTHING, cv=5, max_splits=2).fit(X, Y)
    assert found.n_splits_ == 2 and found.certificate_.achieved == 0
    with pytest.warns(
        ConvergenceWarning, match=r"undecided after max_fits = 8; the recommended arm is within 0\.\d+ of"
    ):
        found = BanditSearchCV(GaussianNB(), SMOOTHING, cv=5, max_fits=8, scoring="accuracy").fit(X, Y)
    assert found.certificate_.pulls.sum() == 8 and 0 < found.certificate_.achieved < 1
    with pytest.warns(ConvergenceWarning, match="the range of their scores is not known"):
        found = BanditSearchCV(Formula(), {"level": [0.1, 0.5, 0.9]}, cv=3, max_fits=5).fit(X, Y)
    assert found.best_params_ == {"level": 0.9} and found.certificate_.achieved == np.inf
    with pytest.warns(ConvergenceWarning):
        found = BanditSearchCV(Formula(), {"level": [0.1, 0.5, 0.9]}, cv=3, max_fits=2, random_state=0).fit(X, Y)
    assert found.certificate_.pulls.sum() == 2


@pytest.mark.slow
def test_a_budget_of_random_splits_ends_with_what_is_known():
    levels = {"level": [0.3, 0.5, 0.51, 0.9]}
    found = BanditSearchCV(Formula(), levels, random_state=0).fit(X, Y)
    assert found.best_params_ == {"level": 0.9} and found.certificate_.achieved == 0 and found.certificate_.stopped
    assert found.certificate_.pulls.sum() <= 80 and "min_splits = 10" in str(found.certificate_)
    near = {"level": [0.5, 0.51, 0.9, 0.92]}
    found = BanditSearchCV(Formula(noise=0.3), near, max_fits=101, random_state=0).fit(X, Y)
    assert found.certificate_.pulls.sum() == 101 and 0 < found.certificate_.achieved < 0.2
    assert not found.certificate_.stopped and "known now: the recommended arm is within" in str(found.certificate_)
    with pytest.warns(ConvergenceWarning, match=r"undecided after max_fits = 101; .*; raise max_fits or epsilon$"):
        BanditSearchCV(Formula(noise=0.3), near, max_fits=101, epsilon=1e-5, random_state=0).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="a race begins at 48 fits"):
        found = BanditSearchCV(Formula(), levels, max_fits=13, random_state=0).fit(X, Y)
    assert found.certificate_.achieved == np.inf and found.certificate_.rule == "sequential_halving"
    assert found.best_params_ == {"level": 0.9} and found.certificate_.pulls.tolist() == [1, 1, 4, 4]
    with pytest.warns(ConvergenceWarning):
        found = BanditSearchCV(Formula(), levels, max_fits=2, random_state=0).fit(X, Y)
    assert found.certificate_.pulls.sum() == 2
    found = BanditSearchCV(Formula(), levels, epsilon=0.05, min_splits=17, random_state=0).fit(X, Y)
    assert found.certificate_.stopped and found.certificate_.pulls.min() == 17
    assert found.certificate_.guarantee.epsilon == 0.05
    alone = BanditSearchCV(Formula(), {"level": [0.5]}, random_state=0).fit(X, Y)
    assert alone.best_index_ == 0 and alone.certificate_.achieved == 0 and alone.n_splits_ == 10


@pytest.mark.parametrize("budget", [3, 8, 10, 13, 15, 23, 24, 47])
def test_a_small_budget_is_used(budget):
    """Halving of 8 needs 24; with less, each survivor of a round gets one split, until the budget ends."""
    search = SplitSearch(8, Criterion(0.05, None), NO_RANGE, max_fits=budget, seed=0)
    for request in search.requests():
        arms, seeds = (column[: budget - search.fits.sum()] for column in request[:2])
        search.enter(arms, seeds, arms / 10 + 0.01 * seeds)
    spent = search.fits.sum()
    assert spent <= budget and spent > 0.6 * budget and not search.stopped
    assert search.best == (7 if budget >= 8 else np.flatnonzero(search.fits).max())


def test_intervals_share_delta_among_both_sides_of_all_configurations():
    found = BanditSearchCV(Formula(), {"level": [0.3, 0.9]}, max_fits=60, random_state=0).fit(X, Y)
    proof, scores = found.certificate_, found.cv_results_
    sd, n = scores["std_test_score"], proof.pulls.astype(float)
    np.testing.assert_allclose(proof.high - proof.means, sd * radius(n, np.log(np.array([0.0125] * 2))), rtol=1e-6)


def test_intervals_move_with_the_range_of_scores():
    scores = np.random.default_rng(0).random((2, 30))
    arms, numbers = (index.ravel() for index in np.indices(scores.shape))

    def intervals(low, high):
        search = SplitSearch(2, Criterion(0.05, 0.0, score_range=(low, high)), (low, high), max_fits=None, seed=0)
        search.enter(arms, numbers, (low + (high - low) * scores).ravel())
        found = search.certificate(search.best, ("a", "b"), ())
        return np.array([found.low, found.high])

    np.testing.assert_allclose(intervals(2.0, 5.0), 2.0 + 3.0 * intervals(0.0, 1.0), rtol=1e-9)


def test_ties_end_a_search():
    found = BanditSearchCV(Formula(), {"level": [0.5, 0.5]}, epsilon=0.01, random_state=0).fit(X, Y)
    assert found.best_index_ == 0 and found.certificate_.stopped and found.certificate_.achieved == 0


@pytest.mark.slow
def test_a_known_range_makes_the_comparison_one_for_any_distribution():
    levels = {"level": [0.1, 0.9]}
    found = BanditSearchCV(Formula(), levels, epsilon=0.01, score_range=(0, 1), random_state=0).fit(X, Y)
    assert found.certificate_.rule == "bounded paired_race" and found.certificate_.stopped
    assert not any("normal" in line for line in found.certificate_.assumptions)
    assert (found.certificate_.low >= 0).all() and (found.certificate_.high <= 1).all()
    assert (found.certificate_.low < found.certificate_.means).all()
    # Intervals of normal scores end where the range of a metric does.
    easy = BanditSearchCV(GaussianNB(), SMOOTHING, scoring="roc_auc_ovr", max_fits=90, random_state=0).fit(X, Y)
    assert easy.certificate_.high.max() == 1.0 and easy.certificate_.rule == "paired_race"


@pytest.mark.filterwarnings("ignore:One or more of the test scores")  # as scikit-learn says
def test_a_configuration_that_fails_is_neither_the_best_nor_a_rival():
    grid = [{"level": [0.5, 0.9], "fails": [()]}, {"level": [0.95], "fails": [(0, 1, 2)]}]
    for options in ({"cv": 5}, {"epsilon": 0.05, "random_state": 0}):
        with pytest.warns(FitFailedWarning) as given:
            found = BanditSearchCV(Formula(), grid, **options).fit(X, Y)
        assert sum(issubclass(one.category, FitFailedWarning) for one in given) == 1
        assert found.best_params_ == {"level": 0.9, "fails": ()} and found.certificate_.achieved <= 0.05
        assert np.isnan(found.cv_results_["mean_test_score"][2]) and found.cv_results_["rank_test_score"][2] == 3
        assert "of fails=(0, 1, 2), level=0.95 failed: it is not recommended" in str(found.certificate_)
    # All fits of a later round fail: scikit-learn would give up.
    lonely = [{"level": [0.1], "fails": [()]}, {"level": [0.9], "fails": [(0, 1, 2, 3, 4, 5)]}]
    with pytest.warns(FitFailedWarning):
        found = BanditSearchCV(Formula(), lonely, scoring=lambda e, X, y: e.score(X, y), random_state=2).fit(X, Y)
    assert found.best_params_["level"] == 0.1
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        BanditSearchCV(Formula(fails=tuple(range(7))), {"level": [0.1, 0.9]}, random_state=0).fit(X, Y)


def test_what_a_failed_configuration_excluded_is_a_rival_again():
    evidence = SplitEvidence(Criterion(0.05, None), [Stage(3, 0, True)])
    noise = np.random.default_rng(0).normal(0, 0.001, (3, 20))
    for seed in range(20):
        evidence.enter(np.arange(3), np.full(3, seed), np.array([0.5, 0.8, 0.9]) + noise[:, seed])
    assert evidence.excluded().tolist() == [True, True, False]
    evidence.enter(np.array([2]), np.array([20]), np.array([np.nan]))
    assert evidence.excluded().tolist() == [True, False, True]
    assert evidence.recommended(evidence.failures == 0) == 1 and evidence.achieved(1) == 0
    assert np.isnan(evidence.location()).tolist() == [False, False, True]


@pytest.mark.slow
def test_statements_about_random_splits_are_wrong_at_most_as_often_as_delta():
    """80 searches of 4 normal arms at delta = 0.2: more than 26 wrong ones have probability 0.003 if delta holds."""
    wrong, means = 0, np.array([0.5, 0.5, 0.49, 0.4])
    for run in range(80):
        rng = np.random.default_rng((7, run))
        search = SplitSearch(4, Criterion(0.2, None, min_trainings=2), NO_RANGE, max_fits=None, seed=run)
        false = False
        for request in search.requests():
            search.enter(request.arms, request.seeds, means[request.arms] + rng.normal(0, 0.05, len(request.arms)))
            false |= any(means.max() - means[arm] > search.achieved(arm) for arm in range(4))
            if search.fits.max() == 25:
                break
        wrong += false
    assert wrong <= 26


@pytest.mark.slow
def test_several_metrics_and_a_function_that_chooses():
    scoring = ["accuracy", "f1_macro"]
    single = BanditSearchCV(GaussianNB(), SMOOTHING, cv=3, scoring="f1_macro").fit(X, Y)
    several = BanditSearchCV(GaussianNB(), SMOOTHING, cv=3, scoring=scoring, refit="f1_macro").fit(X, Y)
    assert several.best_index_ == single.best_index_ and several.multimetric_ and not single.multimetric_
    assert str(several.certificate_) == str(single.certificate_)
    assert "rank_test_accuracy" in several.cv_results_ and several.score(X, Y) == single.score(X, Y)
    nothing = BanditSearchCV(GaussianNB(), SMOOTHING, cv=3, scoring=scoring, refit=False).fit(X, Y)
    assert nothing.cv_results_["n_splits"].tolist() == [3] * 6 and not hasattr(nothing, "best_index_")
    third = BanditSearchCV(GaussianNB(), SMOOTHING, cv=3, scoring="accuracy", refit=lambda results: 2).fit(X, Y)
    means = third.cv_results_["mean_test_score"]
    assert third.best_index_ == 2 == third.certificate_.recommendation[0]
    assert third.certificate_.achieved == pytest.approx(means.max() - means[2])


@pytest.mark.slow
def test_distributions_give_the_configurations_of_a_randomized_search():
    space = {"var_smoothing": loguniform(1e-9, 1)}
    theirs = RandomizedSearchCV(GaussianNB(), space, n_iter=7, random_state=3, cv=3).fit(X, Y)
    found = BanditRandomizedSearchCV(GaussianNB(), space, n_iter=7, random_state=3, cv=3).fit(X, Y)
    assert found.cv_results_["params"] == theirs.cv_results_["params"] and found.best_index_ == theirs.best_index_
    assert found.get_params()["n_iter"] == 7 and found.get_params()["cv"] == 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in metrics.get_scorer_names() if named_range(name) != NO_RANGE])
def test_scores_are_in_the_range_of_their_name(name):
    low, high = named_range(name)
    assert low < high and range_of(None, metrics.get_scorer(name), False) in ((low, high), NO_RANGE)
    rng, score = np.random.default_rng(2), metrics.get_scorer(name)._score_func
    numbers, labels = rng.random(40), np.arange(40) % 2
    for true, guess in ((numbers, rng.normal(size=40)), (labels, rng.integers(0, 2, 40)), (labels, labels)):
        try:
            value = metrics.get_scorer(name)._sign * score(true, guess, **metrics.get_scorer(name)._kwargs)
        except (ValueError, TypeError):
            continue  # for other targets
        assert low <= value <= high
        assert guess is not true or value == pytest.approx(high)  # a guess that is right has the best score


def test_ranges_of_estimators_and_scorers():
    assert range_of(make_pipeline(SVC()), None, False) == (0, 1) and range_of(SVC(), None, True) == NO_RANGE
    assert range_of(Ridge(), None, False) == (-np.inf, 1) and range_of(Formula(), None, False) == NO_RANGE
    assert named_range("matthews_corrcoef") == (-1, 1)  # a correlation
    loss = metrics.make_scorer(metrics.mean_squared_error, greater_is_better=False)
    assert range_of(SVC(), loss, False) == (-np.inf, 0) and range_of(SVC(), lambda e, x, y: 5.0, False) == NO_RANGE
    adjusted = metrics.make_scorer(metrics.balanced_accuracy_score, adjusted=True)
    assert range_of(SVC(), adjusted, False) == NO_RANGE == named_range("positive_likelihood_ratio")


def test_ranks_and_names():
    count, means = np.array([3, 3, 2, 3, 1, 1]), np.array([0.5, 0.7, 0.9, 0.7, np.nan, np.inf])
    assert ranks(count, means, None).tolist() == [3, 1, 4, 1, 5, 5]
    assert ranks(count, means, 2).tolist() == [4, 2, 1, 2, 5, 5] and ranks(count, means, 4).tolist()[1] == 1
    configs = [{"a__C": 1, "b__C": 2}, {"svc__C": "x" * 60}, {"C": 1}, {"d__C": 1}, {}]
    assert config_names(configs)[0] == "a__C=1, b__C=2" and config_names(configs)[1] == "C=" + "x" * 37 + "..."
    assert config_names(configs)[2:] == ("2: C=1", "3: C=1", "configuration 4")


@pytest.mark.slow
def test_a_splitter_with_a_random_state_of_its_own_draws_at_random():
    cv = StratifiedShuffleSplit(test_size=0.3, random_state=np.random.RandomState(0))
    found = BanditSearchCV(GaussianNB(), SMOOTHING, cv=cv, max_fits=90, random_state=0).fit(X, Y)
    again = BanditSearchCV(GaussianNB(), SMOOTHING, cv=cv, max_fits=90, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(found.certificate_.means, again.certificate_.means)
    assert not found.certificate_.over


class Inconsistent(KFold):
    """Says that it has two folds, and has three."""

    def get_n_splits(self, *arguments, **options):
        return 2


def test_a_splitter_that_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match=r"cv = Inconsistent\(.*\) yields 3 splits, but its get_n_splits says 2"):
        BanditSearchCV(GaussianNB(), SMOOTHING, cv=Inconsistent(3)).fit(X, Y)
