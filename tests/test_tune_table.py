"""`tune` with a table of recorded scores, known scores of a function, and what an error keeps."""

import contextlib

import jax
import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.decide.tuning.criterion import Criterion, Stage
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled

NOISE = 0.05 * np.random.default_rng(0).standard_normal((3, 30))
TABLE = np.array([0.5, 0.6, 0.7])[:, None] + NOISE
CLOSE = np.array([0.5, 0.7, 0.7001])[:, None] + NOISE


def entered(result):
    """The scores that entered a search, by configuration and column."""
    return {
        (c, s): x for c, s, x in zip(*(result.history[k].tolist() for k in ("config", "seed", "score")), strict=True)
    }


def test_a_table_is_searched_column_by_column_until_the_best_is_known():
    result = jb.tune(TABLE)
    assert (result.index, result.why, result.certificate.achieved) == (2, "epsilon", 0.0)
    assert entered(result) == {(c, s): TABLE[c, s] for c in range(3) for s in range(14)}  # 14 is min_trainings
    assert (result.history["attempts"] == 1).all()
    assert "48 further scores of the table were not used" in result.notes
    assert any("infinite population of seeds from which the 30 seeds" in note for note in result.notes)


@pytest.mark.parametrize("columns", [1, 2, 6, 30])
@pytest.mark.parametrize("options", [{}, {"epsilon": 1e-9}, {"quantile": 0.5}, {"score_range": (-9, 9)}])
def test_a_table_that_cannot_decide_ends_with_its_last_score(columns, options):
    result = jb.tune(CLOSE[:, :columns], **records(**options))
    assert result.why == "table" and result.certificate.achieved > 0
    assert entered(result) == {(c, s): CLOSE[c, s] for c, s in entered(result)}
    assert result.table["pulls"][result.index] == columns
    assert any(note.startswith("the table has ended: it has no more scores of the") for note in result.notes)


@pytest.mark.parametrize("budget", [1, 2, 5, 20, 89, 10**6])
def test_a_table_with_a_budget_has_no_more_than_its_scores(budget):
    halves = pytest.warns(UserWarning, match="sequential halving") if budget < 36 else contextlib.nullcontext()
    with halves:
        result = jb.tune(CLOSE, budget=budget)
    assert len(result.history["id"]) == len(entered(result)) <= min(budget, CLOSE.size)


@pytest.mark.slow
def test_a_rule_that_asks_for_more_than_the_table_has_ends_there():
    result = jb.tune(CLOSE, rule=jb.algorithms.paired_race(3, epsilon=1e-9, delta=0.05))
    assert result.why == "table" and not result.certificate.stopped
    assert result.table["pulls"].max() == 30


@pytest.mark.slow
def test_what_a_rule_drops_is_no_survivor():
    dropped = jb.tune(TABLE, rule=jb.algorithms.paired_race(3, delta=0.05)).certificate
    assert dropped.survivors.tolist() == [False, False, True] and dropped.stopped
    kept = jb.tune(TABLE, rule=jb.algorithms.uniform(3), budget=12).certificate  # this rule drops nothing
    assert kept.survivors is not None and kept.survivors[2]


def test_a_data_frame_names_its_configurations_and_gaps_come_last():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(CLOSE[:, :8], index=["a", "b", "c"])
    frame.iloc[1, 3] = np.nan
    result = jb.tune(frame)
    assert result.best_config == {"config": "c"} and list(result.configs.row(0).values()) == ["a"]
    assert entered(result) == {(c, s): CLOSE[c, s] for c in range(3) for s in range(8) if (c, s) != (1, 3)}
    assert any("must not depend on the scores" in note for note in result.notes)
    numbered = jb.tune(pandas.DataFrame(TABLE), jb.space.grid(lr=[0.1, 0.2, 0.3]))
    assert numbered.best_config == {"lr": 0.3} and numbered.why == "epsilon"


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (TABLE.T[:, :2], {"configs": jb.space.grid(a=[1.0, 2.0, 3.0])}, "train has 30 rows for 3 configurations"),
        (TABLE.T, {"configs": jb.space.grid(a=[1.0, 2.0, 3.0])}, "give the transposed table"),
        (TABLE[0], {}, r"train has shape \[30\], must be scores\[configs, seeds\]"),
        ([["x", 1.0], [2.0, 3.0]], {}, "train is not a table of numbers"),
        (np.where(TABLE[1, 2] == TABLE, np.inf, TABLE), {}, r"train\[1, 2\] = inf, must be a finite number"),
        (TABLE, {"directory": "somewhere"}, "directory=.* means nothing for a table of scores"),
        (TABLE, {"retries": 2}, "retries=2. means nothing for a table of scores"),
        (7, {}, "tune: train = 7, must be a function"),
        (TABLE[:1], {}, "configs holds 1 configuration"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(given, options, message):
    with pytest.raises(BadInput, match=message) as caught:
        jb.tune(given, **records(**options))
    assert "\n" not in str(caught.value)


class Counted:
    """A training without JAX that raises an exception at its last call."""

    def __init__(self, calls, error):
        self.left, self.error = calls, error

    def __call__(self, seed: int, config: dict) -> float:
        if self.left == 0:
            raise self.error
        self.left -= 1
        return config["a"] + 0.1 * float(np.random.default_rng(seed).standard_normal())


GRID = jb.space.grid(a=[1.0, 1.01, 2.0])


def test_an_error_keeps_the_scores_and_a_search_goes_on_with_them():
    whole = jb.tune(Counted(-1, None), GRID, budget=90)
    with pytest.raises(BadInput, match=r"raises OSError: lost; set on_failure") as caught:
        jb.tune(Counted(20, OSError("lost")), GRID, budget=90)
    known = caught.value.scores
    assert (~np.isnan(known)).sum() == 20 and any("the 20 scores so far" in note for note in caught.value.__notes__)
    rest = jb.tune(Counted(70, OSError("too many")), GRID, scores=known, budget=90)
    assert entered(rest) == entered(whole) and rest.reused == 20
    np.testing.assert_equal(rest.certificate.to_json(), whole.certificate.to_json())
    with pytest.raises(KeyboardInterrupt) as interrupted:
        jb.tune(Counted(5, KeyboardInterrupt()), GRID, budget=90)
    assert (~np.isnan(interrupted.value.scores)).sum() == 5


def test_known_scores_enter_a_directory_once_and_may_not_contradict_it(tmp_path):
    known = np.full((3, 2), 5.0)
    options = {"max_trainings": 60, "directory": tmp_path / "d", "same_train": True}
    first = jb.tune(Counted(-1, None), GRID, scores=known, **records(**options))
    again = jb.tune(Counted(0, OSError("lost")), GRID, scores=known, **records(**options))
    assert entered(first) == entered(again) and [entered(again)[c, s] for c in range(3) for s in range(2)] == [5.0] * 6
    with pytest.raises(BadInput, match=r"scores\[2, 1\] = 6, but the directory has 5 for a = 2 at seed 1"):
        scores = [[5.0, 5.0], [5.0, 5.0], [5.0, 6.0]]
        jb.tune(Counted(0, OSError("lost")), GRID, scores=scores, **records(**options))


@pytest.mark.parametrize("error", [IndexError, KeyError, TypeError, NameError, AttributeError, ModuleNotFoundError])
def test_a_mistake_in_a_program_is_not_advised_to_be_counted_as_a_failure(error):
    for search in (
        lambda train: jb.tune(train, GRID, budget=90),
        lambda train: jb.search(train, {"a": jb.space.uniform(0.0, 1.0)}, "random", budget=90),
    ):
        with pytest.raises(BadInput, match=f"raises {error.__name__}.*; mend train") as caught:
            search(Counted(20, error("seven")))
        assert "on_failure" not in str(caught.value)
        assert ("called as train(seed, config)" in str(caught.value)) == (error is TypeError)


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (0.5, "train must draw its random numbers from its seed; if the scores are rounded or constant, give reso"),
        (
            1e6,
            "scores of 1e+06 differ by less than float32 can show (0.06) if they are computed in float32: ret",
        ),
        (1e6 + 0.01, "train must draw its random numbers from its seed"),  # is no float32
    ],
)
def test_constant_scores_name_the_cause_and_what_compares_them(score, said):
    with pytest.raises(BadInput, match="has the same score at all 14 seeds") as caught:
        jb.tune(np.full((2, 20), score), goal=1e-9)
    assert said in str(caught.value) and "give resolution= or quantile=" in str(caught.value)
    assert jb.tune(np.full((2, 20), score), goal=jb.Goal(epsilon=1e-9, quantile=0.5)).why in ("table", "epsilon")
    assert jb.tune(np.full((2, 20), score), goal=jb.Goal(epsilon=1e-9, resolution=1e-3)).why == "table"
    assert jb.tune(np.full((2, 1), score), goal=1e-9).why == "table"  # one score is not constant


@pytest.mark.slow
def test_a_traced_training_that_float32_rounds_to_a_constant_names_float32():
    def train(key, config):
        return 1e6 + 1e-3 * (config["a"] + jax.random.normal(key))

    with pytest.raises(BadInput, match=r"scores of 1e\+06 differ by less than float32 can show \(0\.06\)"):
        jb.tune(train, GRID, goal=1e-9)


def test_a_small_table_needs_no_more_columns_than_it_has_and_halving_goes_on_without_those_it_lacks():
    ten = jb.tune(TABLE[:, :10])
    assert ten.index == 2 and np.isfinite(ten.certificate.achieved)  # 14 columns would be needed by default
    with pytest.warns(UserWarning, match="sequential halving"):
        halved = jb.tune(TABLE[:, :2], budget=20)
    assert halved.why == "max_trainings" and halved.index == 2 and len(entered(halved)) == 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_race_of_a_search_and_the_rule_of_compiled_runs_are_the_same(seed):
    chance = np.random.default_rng(seed)
    table = 0.3 * chance.standard_normal((4, 300)) + 0.1 * np.arange(4)[:, None] + chance.standard_normal(300)
    rule = jb.algorithms.paired_race(4, delta=0.05, epsilon=0.05, min_pulls=14)
    by_rule = jb.tune(table, rule=rule)
    race = jb.tune(table, goal=jb.Goal(delta=0.05, epsilon=0.05, min_trainings=14))
    assert by_rule.why == "rule" and race.why == "epsilon" and by_rule.index == race.index
    np.testing.assert_equal(by_rule.history, race.history)


def test_a_quantile_of_losses_is_that_of_the_scores_themselves():
    table = np.random.default_rng(3).standard_normal((2, 20))
    found = jb.tune(table, goal=jb.Goal(quantile=0.75, maximize=False))
    assert found.why == "table" and found.table["pulls"].tolist() == [20, 20]
    np.testing.assert_array_equal(found.table["quantile"], np.sort(table)[:, 15])  # 15 of 20 scores are below it


@pytest.mark.parametrize("p", [0.5, 0.2])
def test_the_quantiles_of_a_search_have_the_bounds_of_the_rule_of_compiled_runs(p):
    table = np.random.default_rng(5).standard_normal((3, 60)) + 0.02 * np.arange(3)[:, None]
    session = jb.session(jb.algorithms.quantile_race(3, p=p, delta=0.06, max_pulls=100))
    for row in table.T:
        session, pulls = jb.ask(session)
        session = jb.tell(session, pulls.id, row[pulls.arm])
    assert session.survivors is not None and session.survivors.all()  # so that no bound stands still
    evidence = Evidence(Criterion(0.06, quantile=p), [Stage(3, 0, False)])
    evidence.enter(*(index.ravel() for index in np.indices(table.shape)), table.ravel())
    np.testing.assert_array_equal(evidence.bounds(), session.state.statistic.interval)
