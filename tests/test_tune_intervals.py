"""Whatever the scores: no interval that a search shows is empty or lacks its estimate."""

import re

import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.decide.integrations.sklearn_folds import FoldSearch
from jaxbandit.decide.integrations.sklearn_races import SplitSearch
from jaxbandit.decide.tuning.criterion import Criterion
from jaxbandit.support.refusals import BadInput

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
SHOWN = re.compile(r"(?:mean|median) score (\S+) \[(\S+), (\S+)\]")
LAWS = {
    "normal": lambda chance, shape: chance.standard_normal(shape),
    "heavy tails": lambda chance, shape: chance.standard_t(1.2, shape),
    "zeros and one jump": lambda chance, shape: 50.0 * (chance.random(shape) < 0.02),
    "rates": lambda chance, shape: (chance.random(shape) < 0.3).astype(float),
    "ties": lambda chance, shape: chance.integers(0, 2, shape) + 0.5,
    "drift": lambda chance, shape: np.cumsum(chance.standard_normal(shape), axis=1),
    "steps": lambda chance, shape: np.repeat(chance.standard_normal((shape[0], 4)), shape[1] // 4, axis=1),
    "growth": lambda chance, shape: 2.0 ** np.arange(shape[1]) * chance.random(shape),
    "tiny": lambda chance, shape: 1e-140 * chance.random(shape),
    "huge": lambda chance, shape: 1e15 + chance.standard_normal(shape),
    "constant": lambda chance, shape: np.repeat(chance.random((shape[0], 1)), shape[1], axis=1),
}
OPTIONS = (
    {},
    {"quantile": 0.5},
    {"maximize": False},
    {"resolution": 0.1},
    {"score_range": (-1e17, 1e17)},
    {"quantile": 0.9, "maximize": False},
    {"min_trainings": 1},
)


def check(low, mean, high):
    """Every interval has its ends in order, and its estimate between them up to 64 roundings."""
    low, mean, high = (np.asarray(x, float) for x in (low, mean, high))
    slack = 64 * np.finfo(float).eps * np.abs(mean)
    known = np.isfinite(mean)
    assert not (low > high).any()
    assert not (known & ((mean < low - slack) | (mean > high + slack))).any()


@pytest.mark.parametrize("law", LAWS)
def test_no_interval_of_a_search_is_empty_or_lacks_its_estimate(law):
    for number, options in enumerate(OPTIONS):
        for rule in (None, jb.algorithms.uniform(3)) if not number else (None,):
            scores = LAWS[law](np.random.default_rng([len(law), number]), (3, 24))
            try:
                result = jb.tune(
                    scores, rule=rule, **records(epsilon=None if rule else 0.0, max_trainings=72, **options)
                )
            except BadInput as error:
                assert "has the same score at all" in str(error)
                continue
            table, own = result.table, result.certificate
            value = table["quantile"] if "quantile" in table else table["mean"]
            check(table["low"], value, table["high"])
            check(own.low, own.means, own.high)
            for text in (str(result), repr(result)):
                if (shown := SHOWN.search(text)) and "unknown" not in shown[0]:
                    value, low, high = map(float, shown.groups())
                    assert low <= value <= high


@pytest.mark.parametrize("law", LAWS)
def test_no_interval_of_scikit_learn_is_empty_or_lacks_its_estimate(law):
    scores = LAWS[law](np.random.default_rng(7), (3, 24))
    arms, splits = np.indices(scores.shape)
    bounded = (scores.min() - 1.0, scores.max() + 1.0)
    for limits, criterion in (
        ((-np.inf, np.inf), Criterion(0.05, 0.0)),
        (bounded, Criterion(0.05, 0.0)),
        (bounded, Criterion(0.05, 0.0, score_range=bounded)),
    ):
        search = SplitSearch(3, criterion, limits, max_fits=None, seed=0)
        search.enter(arms.ravel(), splits.ravel(), scores.ravel())
        own = search.certificate(search.best, ("a", "b", "c"), ())
        check(own.low, own.means, own.high)
    folds = FoldSearch(3, 24, bounded, epsilon=None, max_fits=None, everything=False, seed=0)
    for request in folds.requests():
        folds.enter(request.arms, request.seeds, scores[request.arms, request.seeds])
        own = folds.certificate(folds.best, ("a", "b", "c"), ())
        assert not own.contradiction  # sums over folds are no statistics
        check(own.low, own.means, own.high)
