"""`BanditSearchCV` in the place of `GridSearchCV`, with scikit-learn itself."""

import functools
import io
import re
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_regression
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import check_estimator

import jaxbandit as jb
from jaxbandit.sklearn import BanditSearchCV

pytestmark = pytest.mark.quickly_compiled

X, Y = load_iris(return_X_y=True)
SMOOTHING = {"var_smoothing": [1e-9, 0.03, 0.3, 1.0]}


@functools.cache
def few_rounds(num_arms):
    return jb.algorithms.paired_race(num_arms, epsilon=0.02)


def search(**changed):
    given = {"rule": few_rounds, "random_state": 3, "cv": StratifiedShuffleSplit(test_size=0.4)}
    return BanditSearchCV(**({"estimator": GaussianNB(), "param_grid": SMOOTHING} | given | changed))


@pytest.fixture(scope="module")
def fitted():
    return search().fit(X, Y)


@pytest.mark.slow
def test_it_has_what_a_fitted_grid_search_has(fitted):
    grid = GridSearchCV(GaussianNB(), SMOOTHING).fit(X, Y)

    def keys(results):
        return {re.sub(r"\d+", "#", key) for key in results}

    def public(estimator):
        return {name for name in dir(estimator) if not name.startswith("_")}

    assert keys(fitted.cv_results_) == keys(grid.cv_results_) | {"n_splits"}
    assert public(fitted) >= public(grid)
    assert fitted.cv_results_["params"] == grid.cv_results_["params"]
    assert fitted.cv_results_["param_var_smoothing"].tolist() == SMOOTHING["var_smoothing"]
    assert fitted.best_params_ == fitted.cv_results_["params"][fitted.best_index_]
    assert fitted.best_score_ == fitted.cv_results_["mean_test_score"][fitted.best_index_]
    alone = GaussianNB(**fitted.best_params_).fit(X, Y)
    for method in ("predict", "predict_proba", "predict_log_proba"):
        np.testing.assert_array_equal(getattr(fitted, method)(X), getattr(alone, method)(X))
    assert fitted.score(X, Y) == alone.score(X, Y)
    assert fitted.classes_.tolist() == [0, 1, 2] and fitted.n_features_in_ == 4 and fitted.refit_time_ > 0


def test_every_score_is_that_of_the_split_of_its_number(fitted):
    """Drawn here by hand: split i is the splitter's first, from the seed and i, for every configuration."""
    seed = int(check_random_state(3).randint(2**31))
    results, counts = fitted.cv_results_, fitted.certificate_.pulls
    assert counts.max() == fitted.n_splits_ > counts.min() >= 2
    for i in range(fitted.n_splits_):
        generator = np.random.RandomState(np.random.MT19937(np.random.SeedSequence((seed, i))))
        train, test = next(StratifiedShuffleSplit(test_size=0.4, random_state=generator).split(X, Y))
        for arm, params in enumerate(results["params"]):
            score = results[f"split{i}_test_score"][arm]
            if i >= counts[arm]:
                assert np.isnan(score)
            elif i % 3 == 0:
                assert score == GaussianNB(**params).fit(X[train], Y[train]).score(X[test], Y[test])
    scores = np.stack([results[f"split{i}_test_score"] for i in range(fitted.n_splits_)], 1)
    np.testing.assert_allclose(results["mean_test_score"], np.nanmean(scores, 1), rtol=1e-14)
    np.testing.assert_allclose(results["std_test_score"], np.nanstd(scores, 1), rtol=1e-12)
    np.testing.assert_allclose(fitted.certificate_.means, np.nanmean(scores, 1), rtol=1e-14)
    assert results["n_splits"].tolist() == counts.tolist()


def test_the_rule_decides_and_the_certificate_says_what_was_measured(fitted):
    seed = int(check_random_state(3).randint(2**31))
    session = jb.session(few_rounds(4), seed=seed)
    while not session.stopped:
        session, pulls = jb.ask(session)
        rewards = [fitted.cv_results_[f"split{i}_test_score"][a] for a, i in zip(pulls.arm, pulls.index, strict=True)]
        session = jb.tell(session, pulls.id, rewards)
    assert fitted.best_index_ == session.recommendation[0] and fitted.certificate_.stopped
    assert "random split of this data set" in fitted.certificate_.assumptions[-1]
    ranks, counts = fitted.cv_results_["rank_test_score"], fitted.cv_results_["n_splits"]
    assert sorted(ranks) == [1, 2, 3, 4] and ranks[fitted.best_index_] == 1
    order = np.argsort(ranks)[1:]
    assert [*zip(counts[order], fitted.cv_results_["mean_test_score"][order], strict=True)] == sorted(
        zip(counts[order], fitted.cv_results_["mean_test_score"][order], strict=True), reverse=True
    )


@pytest.mark.slow
def test_equal_seeds_give_equal_searches_whatever_the_workers(fitted):
    with joblib.parallel_config("threading"):
        again = search(n_jobs=2).fit(X, Y)
    for key, column in fitted.cv_results_.items():
        if "test_score" in key:
            np.testing.assert_array_equal(again.cv_results_[key], column)
    other = search(random_state=4).fit(X, Y)
    assert other.cv_results_["split0_test_score"].tolist() != fitted.cv_results_["split0_test_score"].tolist()


def test_clone_parameters_and_joblib(fitted):
    copy = clone(fitted).set_params(estimator__priors=None, max_splits=5)
    assert copy.get_params()["max_splits"] == 5 and not hasattr(copy, "best_params_")
    assert set(copy.get_params(deep=False)) == set(search().get_params(deep=False))
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    loaded = joblib.load(file)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert str(loaded.certificate_) == str(fitted.certificate_)


# Accuracies of neighboring smoothings tie on many splits, so that they are not normal, and one of the three says so.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:BanditSearchCV. the data contradict:sklearn.exceptions.ConvergenceWarning")
def test_a_certain_part_of_a_pipeline_and_of_a_cross_validation():
    scores = cross_val_score(make_pipeline(StandardScaler(), search()), X, Y, cv=3)
    assert scores.min() > 0.8


def test_regression_groups_and_a_scorer():
    x, y = make_regression(60, 4, noise=5.0, random_state=0)
    groups = np.repeat(np.arange(12), 5)
    penalties = {"alpha": [1e-2, 10.0, 1e3]}
    given = {"scoring": "neg_mean_absolute_error", "cv": GroupShuffleSplit(test_size=0.25), "random_state": 0}
    found = BanditSearchCV(Ridge(), penalties, epsilon=1.0, **given).fit(x, y, groups=groups)
    assert found.best_params_ == {"alpha": 1e-2} and found.best_score_ < 0
    assert found.score(x, y) == get_scorer("neg_mean_absolute_error")(found.best_estimator_, x, y)
    generator = np.random.MT19937(np.random.SeedSequence((int(check_random_state(0).randint(2**31)), 0)))
    splitter = GroupShuffleSplit(test_size=0.25, random_state=np.random.RandomState(generator))
    train, test = next(splitter.split(x, y, groups))
    by_hand = np.mean(np.abs(y[test] - Ridge(alpha=1e3).fit(x[train], y[train]).predict(x[test])))
    assert found.cv_results_["split0_test_score"][2] == pytest.approx(-by_hand, rel=1e-12)


def test_without_refit_and_cut_off():
    with pytest.warns(ConvergenceWarning, match="undecided after max_splits = 3"):
        found = search(refit=False, max_splits=3).fit(X, Y)
    assert not hasattr(found, "best_estimator_") and found.best_params_ in found.cv_results_["params"]
    assert not found.certificate_.stopped and found.n_splits_ == 3


class Fragile(GaussianNB):
    """Fails, or scores NaN, with its last configuration."""

    def __init__(self, var_smoothing=1e-9, nan=False):
        super().__init__(var_smoothing=var_smoothing)
        self.nan = nan

    def fit(self, X, y):
        if self.var_smoothing == 1.0 and not self.nan:
            raise RuntimeError("too smooth")
        return super().fit(X, y)

    def score(self, X, y):
        return np.nan if self.var_smoothing == 1.0 else super().score(X, y)


def test_a_fit_that_fails_ends_the_search_or_scores_what_was_said():
    with pytest.raises(RuntimeError, match="too smooth"):
        search(estimator=Fragile(), error_score="raise").fit(X, Y)
    with pytest.warns(FitFailedWarning, match="will be set to 0.0") as given:
        found = search(estimator=Fragile(), error_score=0.0).fit(X, Y)
    assert len(given) == 1
    assert found.cv_results_["mean_test_score"][3] == 0.0 and found.best_index_ != 3


def test_scores_of_single_precision_will_do():
    def score(estimator, x, y):
        return np.float32(estimator.score(x, y))

    assert search(scoring=score, error_score=np.float32(0.5), max_splits=40).fit(X, Y).certificate_.stopped


def several(estimator, X, y):
    return {"one": 1.0, "two": 2.0}


BAD = {  # what is changed -> what the line must hold
    "delta": ({"rule": None, "delta": 1.5}, "delta = 1.5, must be a number in (0, 1)"),
    "epsilon": ({"rule": None, "epsilon": -1}, "epsilon = -1, must be a number in [0, inf)"),
    "two deltas": ({"delta": 0.01}, "with rule = paired_race, which has delta = 0.05; give it to the rule only"),
    "max_splits": ({"max_splits": 0}, "max_splits = 0, must be an integer >= 1"),
    "rule, an algorithm": ({"rule": few_rounds(4)}, "rule = <Algorithm paired_race>, must be a function of num_arms"),
    "rule's arms": ({"rule": lambda n: few_rounds(3)}, "rule has 3 arms, must have one for each of 4 configurations"),
    "a rule for fixed folds": ({"cv": KFold(3)}, "cv = KFold(n_splits=3, random_state=None, shuffle=False) has fixed"),
    "no score that decides": ({"scoring": several, "refit": False}, "2 scores (one, two); set refit to the one that"),
    "max_fits": ({"max_fits": 0}, "max_fits = 0, must be an integer >= 1"),
    "min_splits": ({"min_splits": 1.5}, "min_splits = 1.5, must be an integer >= 1"),
    "two minima": ({"min_splits": 5}, "min_splits = 5 is given with a rule; leave one of them out"),
    "score_range": ({"rule": None, "score_range": (1, 0)}, "score_range = (1, 0), must be two numbers in ascending"),
    "half a range": ({"rule": None, "score_range": (-np.inf, 0)}, "score_range = (-inf, 0), must be two numbers in"),
    "error_score": ({"rule": None, "score_range": (0, 1), "error_score": -1.0}, "must be in score_range = (0, 1), or"),
    "a score": ({"rule": None, "score_range": (0, 0.5)}, ", must be in [0, 0.5], which is score_range"),
    "NaN": ({"estimator": Fragile(nan=True)}, "the score of {'var_smoothing': 1.0} on split 0 is nan, must be finite"),
    "a huge score": (
        {"scoring": lambda *_: 1e160},
        "is 1e+160, must be finite with |score| <= 1e150; give error_score",
    ),
    "a score of the rule": (
        {"scoring": lambda *_: 1.5, "rule": jb.algorithms.betting_race},
        "{'var_smoothing': 1e-09} on split 0 is 1.5, must be in [0, 1], for which betting_race is made",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_used_is_refused_in_one_line(case):
    changed, words = BAD[case]
    with pytest.raises(ValueError, match=rf"^BanditSearchCV: .*{re.escape(words)}.*$") as refusal:
        search(**changed).fit(X, Y)
    assert "\n" not in str(refusal.value)


def test_shuffled_folds_will_do():
    found = search(cv=KFold(3, shuffle=True), max_splits=4, rule=lambda n: few_rounds(n))
    with pytest.warns(ConvergenceWarning, match=r"undecided after max_splits = 4 splits .*; raise max_splits$"):
        assert found.fit(X, Y).n_splits_ == 4


# GridSearchCV fails this one too: of an estimator that takes several outputs no search says so.
FAILS_AS_WELL = {"check_supervised_y_2d"}
CHECKED = {
    "classifier": (GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, set()),
    "regressor": (Ridge(), {"alpha": [0.1, 1.0]}, FAILS_AS_WELL),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CHECKED)
def test_it_passes_the_checks_of_estimators(case):
    estimator, grid, expected = CHECKED[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            BanditSearchCV(estimator, grid, rule=few_rounds, max_splits=2, error_score="raise"),
            on_fail=None,
            on_skip=None,
        )
    assert sum(one["status"] == "passed" for one in found) > 45
    assert {one["check_name"] for one in found if one["status"] == "failed"} == expected


@pytest.mark.slow
def test_in_place_of_a_grid_search_on_breast_cancer():
    x, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.001, 0.01, 0.1]}
    found = BanditSearchCV(model, grid, delta=0.05, epsilon=0.01, random_state=0).fit(x, y)
    assert found.certificate_.stopped and found.certificate_.guarantee.delta == 0.05
    assert found.decision_function(x).shape == (569,) and found.score(x, y) > 0.97
    # The promise, on 40 fresh splits: within epsilon of the best, up to three standard errors of the paired difference.
    # The certificate is wrong in at most 5 % of all seeds, and the comparison in 0.2 % besides.
    rivals = GridSearchCV(model, grid, cv=ShuffleSplit(40, test_size=0.2, random_state=1), refit=False).fit(x, y)
    fresh = np.stack([rivals.cv_results_[f"split{i}_test_score"] for i in range(40)])
    lead = fresh[:, rivals.best_index_] - fresh[:, found.best_index_]
    assert lead.mean() <= 0.01 + 3 * lead.std(ddof=1) / np.sqrt(40)
