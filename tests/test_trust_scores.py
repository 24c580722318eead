"""Scores that no rule can use, trainings that end in odd ways, and what the searches say about them in one line."""

import decimal
import fractions
import itertools
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.decide.tuning import trainings
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled

SPACE = jb.space.grid(x=[0.0, 0.5, 1.0])
RULE = jb.algorithms.paired_race(3, epsilon=0.3)
REMEDY = "; set on_failure to the score that such a training should have"


def usual(key, config):
    """A score around x in plain Python, which JAX cannot trace."""
    words = np.asarray(jax.random.key_data(key)).tolist()
    return config["x"] + 0.1 * np.random.default_rng([*words, abs(int(10 * config["x"]))]).normal()


def odd_at_one(ending):
    """A training whose configuration 1 ends as `ending` says."""

    def train(key, config):
        return ending() if config["x"] == 0.5 else usual(key, config)

    return train


class Sullen(Exception):
    """An exception that cannot be written."""

    def __str__(self):
        raise RuntimeError("no words")


class Heavy:
    """An object that is no number."""

    def __float__(self):
        raise RuntimeError("not now")


def raises(error):
    def ending():
        raise error

    return ending


FAILED = {  # what a training returns or does -> what is said after the configuration
    "1e160": (lambda: 1e160, "returns 1e+160, |score| > 1e150" + REMEDY),
    "-1e151": (lambda: np.float64(-1e151), "returns -1e+151, |score| > 1e150" + REMEDY),
    "nan": (lambda: np.float32(np.nan), "returns nan" + REMEDY),
    "inf": (lambda: -np.inf, "returns -inf, |score| > 1e150" + REMEDY),
    "10**400": (lambda: 10**400, "returns inf, |score| > 1e150" + REMEDY),
    "fraction": (lambda: fractions.Fraction(-(10**400)), "returns -inf, |score| > 1e150" + REMEDY),
    "decimal": (lambda: decimal.Decimal("1e400"), "returns inf, |score| > 1e150" + REMEDY),
    "no words": (raises(Sullen()), "raises Sullen"),
    "exit": (lambda: sys.exit(5), "raises SystemExit: 5"),
    "exit at once": (lambda: sys.exit(), "raises SystemExit"),
    "generator": (raises(GeneratorExit()), "raises GeneratorExit"),
    "memory": (raises(MemoryError()), "raises MemoryError"),
    "iteration": (raises(StopIteration(3)), "raises StopIteration: 3"),
    "recursion": (raises(RecursionError("deep")), "raises RecursionError: deep"),
    "long": (raises(ValueError("x" * 10**5)), "raises ValueError: xxx"),
}
NO_SCORE = {
    "nothing": (lambda: None, "returns a NoneType, must return one number, the score"),
    "a string": (lambda: "0.5", "returns a str, must return one number"),
    "bytes": (lambda: b"1", "returns a bytes, must return one number"),
    "one entry": (lambda: np.ones(1), "returns a ndarray of shape (1,), must return one number"),
    "ragged": (lambda: [[1.0], [1.0, 2.0]], "returns a list, must return one number"),
    "complex": (lambda: 1 + 2j, "returns a complex, must return one number"),
    "complex of NumPy": (lambda: np.complex64(1), "returns a complex64, must return one number"),
    "complex array": (lambda: np.array(1 + 0j), "returns a ndarray, must return one number"),
    "no number": (Heavy, "returns a Heavy, must return one number"),
    "signal": (lambda: decimal.Decimal("sNaN"), "returns a Decimal, must return one number"),
    "a duration": (lambda: np.timedelta64(5, "s"), "returns a timedelta64, must return one number"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", [*FAILED, *NO_SCORE])
def test_an_odd_training_is_one_line_and_the_others_are_stored(case, tmp_path):
    ending, words = (FAILED | NO_SCORE)[case]
    with pytest.raises(BadInput) as refusal:
        jb.tune(odd_at_one(ending), SPACE, RULE, execution=jb.Execution(directory=tmp_path))
    line = str(refusal.value)
    assert line.startswith(f"tune: configuration 1 (x = 0.5) {words}"[:70]) and words in line
    assert "\n" not in line and len(line) < 700
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [line["config"] for line in lines if "seed" in line] == [[0]]  # the training before it
    if case in FAILED:
        best = jb.tune(odd_at_one(ending), SPACE, RULE, goal=jb.Goal(on_failure=-1.0))
        assert best.index == 2 and set(best.history["score"][best.history["config"] == 1]) == {-1.0}


@pytest.mark.slow
def test_numbers_of_every_kind_are_scores():
    kinds = itertools.cycle(
        [float, np.float32, np.array, jnp.float32, decimal.Decimal, lambda x: fractions.Fraction(float(x))]
    )
    best = jb.tune(lambda key, config: next(kinds)(usual(key, config)), SPACE, RULE)
    plain = jb.tune(usual, SPACE, RULE)
    assert best.index == plain.index == 2
    np.testing.assert_allclose(best.history["score"], plain.history["score"], rtol=1e-6)
    flips = jb.tune(lambda key, config: bool(usual(key, config) > 0.45), SPACE, RULE)
    assert set(flips.history["score"]) == {0.0, 1.0}


def own(key, config):
    return config["x"] + 0.1 * jax.random.normal(jax.random.fold_in(key, jnp.int32(10 * config["x"])))


def traced(key, config):
    return jnp.where(config["x"] == 0.5, 1e160, own(key, config))


@pytest.mark.slow
def test_a_huge_score_of_a_traced_training_ends_the_search():
    with jax.enable_x64(True):
        with pytest.raises(BadInput, match=r"configuration 1 \(x = 0.5\) returns 1e\+160, \|score\| > 1e150; set on"):
            jb.tune(traced, SPACE, RULE)
        assert jb.tune(traced, SPACE, RULE, goal=jb.Goal(on_failure=-1.0)).index == 2
        mirrored = jb.Goal(on_failure=2.0, maximize=False)
        assert jb.tune(lambda key, config: -traced(key, config), SPACE, RULE, goal=mirrored).index == 2


@pytest.mark.parametrize("loss", [1e149, 1e100])
def test_the_largest_scores_allowed_are_compared(loss):
    def diverges(key, config):
        return usual(key, config) * (loss if config["x"] == 1.0 else 1.0)

    best = jb.tune(diverges, SPACE, RULE, goal=jb.Goal(maximize=False))
    assert best.index == 0 and len(best.history["id"]) < 100 and np.isfinite(best.table["mean"]).all()


def test_a_session_and_its_options_have_the_same_limit():
    session, pulls = jb.ask(jb.session(RULE))
    for reward in (1e160, -1e160, 10**400, [10**400]):
        with pytest.raises(
            ValueError, match=r"^tell: id = 0: reward = .*, must be finite with \|reward\| <= 1e150; on"
        ):
            jb.tell(session, pulls.id[0], reward)
    assert jb.tell(session, pulls.id, [1e150, -1e150, 0.0]).num_told == 3
    with pytest.raises(ValueError, match=r"on_failure = 1e\+160, must be a number in \[-1e\+150, 1e\+150\]"):
        jb.session(RULE, on_failure=1e160)
    filled, pulls = jb.ask(jb.session(RULE, on_failure=0.5))
    filled = jb.tell(filled, pulls.id, [1e160, 10**400, 0.1])
    assert filled.totals.means.tolist() == [0.5, 0.5, 0.1]


@pytest.mark.slow
def test_a_score_outside_the_range_of_the_rule_names_the_configuration(tmp_path):
    rule = jb.algorithms.betting_race(3, delta=0.1)
    with pytest.raises(BadInput) as refusal:
        given = records(on_failure=0.0, directory=tmp_path)
        jb.tune(odd_at_one(lambda: 1.5), jb.space.grid(x=[0.4, 0.5, 0.6]), rule, **given)
    assert str(refusal.value) == (
        "tune: configuration 1 (x = 0.5) returns 1.5, must be in [0, 1], for which betting_race is made"
    )
    coin = jb.tune(lambda key, config: float(usual(key, config) > 0.3), jb.space.grid(x=[-1.0, 1.0, -2.0]), rule)
    assert coin.index == 1 and set(coin.history["score"]) == {0.0, 1.0}  # the ends of the range are inside
    positive = RULE._replace(rewards=jb.Rewards(0.0, np.inf), name="mine")
    with pytest.raises(
        BadInput, match=r"configuration 1 \(x = 0.5\) returns 0.5, must be in \(-inf, 0\], for which mine"
    ):
        jb.tune(odd_at_one(lambda: 0.5), jb.space.grid(x=[-0.6, 0.5, -0.7]), positive, goal=jb.Goal(maximize=False))
    with pytest.raises(
        BadInput, match=r"configuration 1 \(x = 0.5\) returns -0.5, must be in \[0, inf\), for which mine"
    ):
        jb.tune(odd_at_one(lambda: -0.5), jb.space.grid(x=[0.6, 0.5, 0.7]), positive)


def test_a_training_that_changes_its_configuration_changes_no_other():
    space = {"x": np.array([0.0, 0.5, 1.0]), "w": np.ones((3, 2))}

    def train(key, config):
        assert config["w"].tolist() == [1.0, 1.0]
        score = usual(key, config)
        config["w"] *= 0
        space["w"] *= 0
        config.clear()
        return score

    best = jb.tune(train, space, RULE)
    assert best.index == 2 and best.best_config["w"].tolist() == [1.0, 1.0]


def grows(scale):
    """A trainee whose score is its x, times `scale` for configuration 2."""
    return jb.Trainee(
        lambda key, config: jnp.zeros(()),
        lambda state, key, config: state + 1,
        lambda state, config: config["x"] * jnp.where(config["x"] == 1.0, scale, 1.0) + 0 * state,
    )


GROWS = grows(1.0)


def draws(key, n):
    return jb.space.random_configs(key, n, x=jb.space.uniform(0.0, 1.0))


def fails(x):
    raise RuntimeError("no card")


@pytest.mark.parametrize("method", ["sequential", None])
def test_a_step_that_fails_while_it_runs_is_one_line(method):
    def step(state, key, config):
        return state + jax.pure_callback(fails, jax.ShapeDtypeStruct((), jnp.float32), config["x"], vmap_method=method)

    with pytest.raises(BadInput, match=r"^successive_halving: trainings fail between step 0 and step 1: [JN]"):
        jb.successive_halving(GROWS._replace(step=step), SPACE, min_steps=1, max_steps=4)


@pytest.mark.slow
def test_a_traced_score_is_a_real_number_or_a_truth_value():
    with pytest.raises(BadInput, match=r"^tune: train returns complex64\[\], must return one number, the score"):
        jb.tune(lambda key, config: jax.lax.complex(own(key, config), 1.0), SPACE, RULE)
    flips = jb.tune(lambda key, config: own(key, config) > 0.45, SPACE, RULE)
    assert set(flips.history["score"]) == {0.0, 1.0} and not any("traced" in note for note in flips.notes)


def test_a_training_that_cannot_be_vmapped_is_one_line():
    def train(key, config):
        shape = jax.ShapeDtypeStruct((), jnp.float32)
        return own(key, config) + jax.pure_callback(lambda x: np.float32(x), shape, config["x"])

    with pytest.raises(BadInput, match=r"^tune: train can be traced, but not vmapped over configurations: NotImpl"):
        jb.tune(train, SPACE, RULE)


@pytest.mark.slow
def test_halving_drops_a_huge_score():
    with jax.enable_x64(True):
        best = jb.successive_halving(grows(1e160), SPACE, min_steps=1, max_steps=4, eta=2)
    assert best.index == 1 and any("|score| > 1e150" in note for note in best.notes)


def test_functions_of_halving_that_exit_or_say_nothing_are_one_line():
    for ending, words in ((lambda: sys.exit(5), "SystemExit: 5"), (raises(Sullen()), "Sullen")):
        trainee = GROWS._replace(init=lambda key, config, ending=ending: ending())
        with pytest.raises(ValueError, match=f"^successive_halving: init fails: {words}$"):
            jb.successive_halving(trainee, SPACE, min_steps=1, max_steps=4)
        with pytest.raises(ValueError, match=f"^hyperband: sample fails: {words}$"):
            jb.hyperband(GROWS, lambda key, n, ending=ending: ending(), max_steps=4)


@pytest.mark.parametrize("directory", [True, False])
def test_an_interrupt_says_how_to_resume(directory, tmp_path, monkeypatch):
    calls = iter(range(100))

    def train(key, config):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return usual(key, config)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(trainings, "in_batches", interrupted)
    for i, call in enumerate(
        (
            lambda **place: jb.tune(train, SPACE, RULE, **records(**place)),
            lambda **place: jb.successive_halving(GROWS, SPACE, min_steps=1, max_steps=2, **records(**place)),
            lambda **place: jb.hyperband(GROWS, draws, max_steps=2, **records(**place)),
        )
    ):
        with pytest.raises(KeyboardInterrupt) as interrupt:
            call(**({"directory": tmp_path / f"d{i}"} if directory else {}))
        [note] = interrupt.value.__notes__
        said = f"{tmp_path / f'd{i}'}; the same call resumes" if directory else "nothing is saved without directory"
        assert said in note and "\n" not in note
