"""Whatever the data: no interval is empty or lacks its estimate, and nobody who is left is never "the best".

Each producer below plays hostile scores of two arms and returns what it prints. To add one, write a function of
float64[2, n] that returns a list of `Shown`, and put it into PRODUCERS.
"""

import functools
import math
import re
from typing import NamedTuple

import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.integrations.sklearn_folds import FoldSearch
from jaxbandit.decide.integrations.sklearn_races import SplitSearch
from jaxbandit.decide.tuning.criterion import Criterion

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]


class Shown(NamedTuple):
    """Intervals with their estimates, and what is said to be known of the choice."""

    low: np.ndarray
    estimate: np.ndarray
    high: np.ndarray
    achieved: float | None = None
    excluded: np.ndarray | None = None
    contradiction: str = ""
    first_line: str = ""


def of_certificate(found: Certificate) -> list[Shown]:
    again = Certificate.from_json(found.to_json())
    assert str(again.to_json()) == str(found.to_json())
    if found.coverage is None or found.means is None:
        return []
    first = str(found).splitlines()[0]
    return [Shown(found.low, found.means, found.high, found.achieved, found.excluded, found.contradiction, first)]


def laws(seed):
    """Scores of two arms, float64[2, n] each, by name."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(2, 100))
    half = np.repeat([0.0, 1.0], 50)
    yield "normal", normal
    yield "constant", np.full((2, 60), 0.3)
    yield "two constants", np.full((2, 60), [[0.3], [0.7]])
    yield "flip", normal * 0.1 + np.stack([half, 1 - half])
    yield "flip, the best for long", normal * 0.1 + np.stack([half[::-1], 0.3 + 0 * half])
    yield "huge", 1e12 + normal
    yield "huge and tiny", np.stack([1e140 * normal[0], 1e-140 * normal[1]])
    yield "heavy tails", rng.standard_cauchy((2, 100))
    yield "sorted", np.sort(normal, axis=1)
    yield "two rows", normal[:, :2]
    yield "rare", (rng.random((2, 100)) < 0.03) * 50.0
    yield "walk", np.cumsum(normal, axis=1)
    yield "warm-up", normal * 0.01 + np.stack([np.linspace(0, 1, 100), np.linspace(0.5, 0.7, 100)])
    yield "rates", (rng.random((2, 60)) < 0.3) + 0.0
    yield "ties", rng.integers(0, 2, (2, 60)) + 0.5
    yield "steps", np.repeat(normal[:, :4], 15, axis=1)
    yield "growth", 2.0 ** np.arange(60) * rng.random((2, 60))
    yield "tiny", 1e-140 * rng.random((2, 60))


@functools.cache
def rule(name):
    return {
        "uniform": lambda: jb.algorithms.uniform(2),
        "student_race": lambda: jb.algorithms.student_race(2),
        "paired_race": lambda: jb.algorithms.paired_race(2),
        "quantile_race": lambda: jb.algorithms.quantile_race(2),
        "bernstein_race": lambda: jb.algorithms.bernstein_race(2),
        "bounded": lambda: jb.algorithms.uniform(2)._replace(rewards=jb.Rewards(0.0, 1.0)),
    }[name]()


def session(name, paired, scores):
    """A session that is told all of the scores, as far as it asks for them."""
    if name in ("bernstein_race", "bounded"):
        low, high = scores.min(), scores.max()
        scores = np.clip((scores - low) / (high - low), 0, 1) if high > low else np.zeros_like(scores)
    state, shown, at_once = jb.session(rule(name), paired=paired), [], name in ("uniform", "bounded")
    while True:
        state, pulls = jb.ask(state, limit=2 * scores.shape[1] if at_once else 80)
        left = pulls.index < scores.shape[1]
        if not left.any():
            return shown + of_certificate(jb.certificate(state))
        state = jb.tell(state, pulls.id[left], scores[pulls.arm[left], pulls.index[left]])
        if (~left).any() or at_once:
            return shown + of_certificate(jb.certificate(state))
        shown += of_certificate(jb.certificate(state))


def tuned(scores, **given):
    numbers: list[dict[int, int]] = [{}, {}]  # of the seeds of each configuration, in the order in which they come

    def train(seed: int, config: dict) -> float:
        places = numbers[config["arm"]]
        return float(scores[config["arm"], places.setdefault(seed, len(places)) % scores.shape[1]])

    configs = [{"arm": 0}, {"arm": 1}]
    found = jb.tune(train, configs, **records(max_trainings=2 * scores.shape[1], progress=False, **given))
    return of_certificate(found.certificate)


SHOWN = re.compile(r"(?:mean|median) score (\S+) \[(\S+), (\S+)\]")


def recorded(scores, rule=None, **given):
    """A search in a table of 24 scores each, its certificate, and what its texts show."""
    result = jb.tune(scores[:, :24], rule=rule, **records(epsilon=None if rule else 0.0, max_trainings=48, **given))
    table, found = result.table, of_certificate(result.certificate)
    found.append(Shown(table["low"], table["quantile" if "quantile" in table else "mean"], table["high"]))
    for text in (str(result), repr(result)):
        if (said := SHOWN.search(text)) and "unknown" not in said[0]:
            value, low, high = map(float, said.groups())
            assert low <= value <= high
    return found


def split(scores):
    """Searches over random splits: without a range, with that of the metric, and with a promise of it."""
    bounded, found = (scores.min() - 1.0, scores.max() + 1.0), []
    for limits, known in (((-np.inf, np.inf), None), (bounded, None), (bounded, bounded)):
        search = SplitSearch(2, Criterion(0.05, 0.0, score_range=known), limits, max_fits=None, seed=0)
        search.enter(*(index.ravel() for index in np.indices(scores[:, :24].shape)), scores[:, :24].ravel())
        found += of_certificate(search.certificate(search.best, ("a", "b"), ()))
    return found


def folded(scores):
    """Every moment of a search over fixed folds, of whose sums nothing is a statistic."""
    bounded, scores, found = (scores.min() - 1.0, scores.max() + 1.0), scores[:, :24], []
    folds = FoldSearch(2, scores.shape[1], bounded, epsilon=None, max_fits=None, everything=False, seed=0)
    for request in folds.requests():
        folds.enter(request.arms, request.seeds, scores[request.arms, request.seeds])
        found += of_certificate(folds.certificate(folds.best, ("a", "b"), ()))
    assert not any(shown.contradiction for shown in found)
    return found


def ab(scores):
    names = np.tile(["A", "B"], scores.shape[1])
    log = {"variant": names, "outcome": scores.T.ravel()}
    found = jb.ab(log, control="A")
    sides = [(v.low, v.mean, v.high) for v in found.variants]
    sides += [(v.difference_low, v.difference, v.difference_high) for v in found.variants if v.name != "A"]
    low, estimate, high = map(np.array, zip(*sides, strict=True))
    excluded = np.array([v.excluded for v in found.variants])
    return [Shown(low, estimate, high, found.costs_at_most, excluded)]


def crossvalidated(scores):
    pytest.importorskip("sklearn")
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import ShuffleSplit

    from jaxbandit.decide.integrations.sklearn import BanditSearchCV

    taken = [0, 0]

    class Recorded(BaseEstimator):
        def __init__(self, arm=0):
            self.arm = arm

        def fit(self, X, y=None):
            return self

        def score(self, X, y=None):
            taken[self.arm] += 1
            return float(scores[self.arm, (taken[self.arm] - 1) % scores.shape[1]])

    search = BanditSearchCV(Recorded(), {"arm": [0, 1]}, cv=ShuffleSplit(), max_fits=60, refit=False, random_state=0)
    return of_certificate(search.fit(np.zeros((20, 1)), np.zeros(20)).certificate_)


def evaluated(scores):
    action = np.tile([0, 1], scores.shape[1])
    reward = scores.T.ravel()
    low, high = float(reward.min()), float(reward.max())
    log = jb.read_log(
        action=action,
        reward=reward,
        propensity=np.full(len(action), 0.5),
        rewards=(low, high if high > low else low + 1),
        num_arms=2,
    )
    found = [jb.evaluate(log, policy).only.headline for policy in ("uniform", "arm:1")]
    sides = [(each.low, each.value, each.high) for each in found]
    return [Shown(*map(np.array, zip(*sides, strict=True)))]


def studied(scores):
    optuna = pytest.importorskip("optuna")
    from jaxbandit.decide.integrations.optuna import BanditSampler, certificate

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    scores, taken = scores[:, ::5], [0, 0]

    def objective(trial):
        arm = trial.suggest_categorical("arm", [0, 1])
        taken[arm] += 1
        return float(scores[arm, (taken[arm] - 1) % scores.shape[1]])

    study = optuna.create_study(direction="maximize", sampler=BanditSampler([{"arm": 0}, {"arm": 1}]))
    study.optimize(objective, n_trials=2 * scores.shape[1])
    return of_certificate(certificate(study))


SESSIONS = {
    f"session, {name}{', paired' * paired}": functools.partial(session, name, paired)
    for name in ("uniform", "student_race", "paired_race", "quantile_race", "bernstein_race", "bounded")
    for paired in (False, True)
}
OPTIONS = (
    *({}, {"quantile": 0.5}, {"maximize": False}, {"resolution": 0.1}, {"score_range": (-1e17, 1e17)}),
    *({"quantile": 0.9, "maximize": False}, {"min_trainings": 1}),
)
PRODUCERS = {
    **SESSIONS,
    **{f"table, {options}": functools.partial(recorded, **options) for options in OPTIONS},
    "table, a rule": lambda scores: recorded(scores, rule("uniform")),
    "splits": split,
    "folds": folded,
    "tune": tuned,
    "tune, apart": functools.partial(tuned, paired=False),
    "evaluate": evaluated,
    "Optuna": studied,
    "tune, median": functools.partial(tuned, quantile=0.5),
    "ab": ab,
    "scikit-learn": crossvalidated,
}


def check(shown: Shown) -> None:
    low, estimate, high = shown.low, shown.estimate, shown.high
    known = ~(np.isnan(low) | np.isnan(high))
    assert (low[known] <= high[known]).all()
    beside = known & np.isfinite(estimate)
    sizes = np.maximum.reduce([np.abs(np.where(np.isfinite(x), x, 0.0)) for x in shown[:3]])
    rounding = 1e-13 * sizes  # of a mean of some hundred numbers of this size
    assert (low - rounding <= estimate)[beside].all() and (estimate <= high + rounding)[beside].all()
    if shown.excluded is not None:
        assert not shown.excluded.all() and not np.isnan(shown.achieved or 0.0)
    if shown.contradiction:
        assert shown.achieved in (None, math.inf) and shown.first_line == shown.contradiction


@pytest.mark.filterwarnings("ignore::UserWarning")  # budgets that are too small for a race
@pytest.mark.parametrize("name", PRODUCERS)
def test_no_interval_is_empty_or_lacks_its_estimate_whatever_the_data(name):
    known = set()  # laws of which something is said
    for law, scores in laws(0):
        try:
            found = PRODUCERS[name](scores)
        except ValueError as refused:  # refused in one line is no number
            assert "\n" not in str(refused)
            continue
        for shown in found:
            try:
                check(shown)
            except AssertionError as error:
                raise AssertionError(f"{law}: {shown}") from error
            if np.isfinite(shown.low).all() or np.isfinite(shown.high).all():
                known.add(law)
    assert known & {"normal", "rates"}  # wrong intervals are withdrawn, so they would be found nowhere above


@pytest.mark.parametrize("name", ["session, uniform, paired", "session, paired_race, paired", "session, uniform"])
def test_a_flip_is_said_in_the_first_line(name):
    _, scores = list(laws(0))[3]
    lines = [shown.contradiction for shown in PRODUCERS[name](scores)]
    assert any(lines) or name == "session, paired_race, paired"  # which has ended before
