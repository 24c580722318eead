"""Successive halving and Hyperband: promotions to the byte, rungs by the paper, resume, refusals."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from records import records
from reference.successive_halving import successive_halving as by_hand

import jaxbandit as jb
from jaxbandit.decide.tuning import configs as configurations
from jaxbandit.decide.tuning import rungs, trainings
from jaxbandit.decide.tuning.hyperband import brackets
from jaxbandit.engine.storage import files as storage

quickly = pytest.mark.quickly_compiled  # but where bits are compared: they are those of the code that users run

STEPS = 27
TABLE = np.random.default_rng(0).integers(0, 12, (20, STEPS + 1)) / 4  # few values: many ties


def replayed(table=TABLE):
    """A training whose score after t steps stands in a table."""
    values = jnp.asarray(table, jnp.float32)
    return jb.Trainee(
        init=lambda key, config: 0,  # a Python number: it becomes an array of a dtype of its own
        step=lambda state, key, config: state + 1,
        score=lambda state, config: values[config["row"], state],
    )


def rows(n=20):
    return {"row": np.arange(n)}


PLAYED = replayed()


def halving(trainee=PLAYED, configs=None, **more):
    given = records(**{"min_steps": 1, "max_steps": 9} | more)
    return jb.successive_halving(trainee, rows() if configs is None else configs, **given)


@quickly
@pytest.mark.parametrize(("eta", "least", "batch"), [(2, 1, 1), (3, 2, 4), (3, 27, 64), (4, 3, 3)])
def test_the_survivors_are_those_of_a_table(eta, least, batch):
    found = halving(min_steps=least, max_steps=STEPS, eta=eta, batch=batch)
    steps = [least]
    while steps[-1] * eta < STEPS:
        steps.append(steps[-1] * eta)
    steps = sorted({*steps, STEPS})
    alive, chosen = by_hand(TABLE, steps, eta)
    assert found.index == chosen and found.best_config == {"row": chosen} and found.certificate.guarantee is None
    for rung, expected in enumerate(alive):
        here = found.history["batch"] == rung
        assert found.history["config"][here].tolist() == expected
        assert set(found.history["steps"][here]) == {steps[rung]}
        assert found.history["score"][here].tolist() == [TABLE[c][steps[rung]] for c in expected]
    last = {c: steps[rung] for rung, survivors in enumerate(alive) for c in survivors}
    assert found.table["mean"].tolist() == [TABLE[c][last[c]] for c in range(20)]
    assert np.flatnonzero(found.table["survivor"]).tolist() == alive[-1]
    spent = sum(len(c) * (b - a) for c, a, b in zip(alive, [0, *steps], steps, strict=False))
    assert any(note.startswith(f"{spent:,} steps in total") for note in found.notes)


@quickly
def test_small_scores_are_good_where_asked_and_repeats_are_averaged():
    found = jb.successive_halving(PLAYED, rows(), min_steps=3, max_steps=STEPS, maximize=False)
    alive, chosen = by_hand(-TABLE, [3, 9, 27], 3)
    assert found.index == chosen and np.flatnonzero(found.table["survivor"]).tolist() == alive[-1]

    coin = jb.Trainee(
        init=lambda key, config: jax.random.uniform(key),
        step=lambda state, key, config: state,
        score=lambda state, config: state * config["a"],
    )
    found = jb.successive_halving(coin, {"a": np.array([-1.0, 1.0])}, min_steps=1, max_steps=1, repeats=40)
    scores = found.history["score"].reshape(2, 40)
    assert len(np.unique(np.abs(scores))) == 80  # a key each
    np.testing.assert_allclose(found.table["mean"], scores.mean(axis=1), rtol=1e-12)
    assert found.index == 1 and found.table["low"][1] < scores[1].mean() < found.table["high"][1]


NETWORK = (64, 32, 3)  # XLA rounds it otherwise one at a time and several at once
DATA = np.random.default_rng(1).normal(size=(200, NETWORK[0])).astype(np.float32)
LABELS = (DATA[:, 0] > 0) + (DATA[:, 1] > 0.5).astype(np.int32)


def network():
    """A small network trained by momentum on batches of its own; its state holds a key and a count of steps too."""

    def loss(weights, x, y):
        logits = jax.nn.relu(x @ weights["in"] + weights["bias"][None]) @ weights["out"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))

    def init(key, config):
        first, second, own = jax.random.split(key, 3)
        weights = {"in": jax.random.normal(first, NETWORK[:2]), "out": jax.random.normal(second, NETWORK[1:])}
        weights["bias"] = jnp.zeros(NETWORK[1])
        return {"weights": weights, "speed": jax.tree.map(jnp.zeros_like, weights), "key": own, "steps": 0}

    def step(state, key, config):
        at = jax.random.randint(key, (64,), 0, len(DATA))
        slope = jax.grad(loss)(state["weights"], jnp.asarray(DATA)[at], jnp.asarray(LABELS)[at])
        speed = jax.tree.map(lambda v, g: config["momentum"] * v - config["lr"] * g, state["speed"], slope)
        weights = jax.tree.map(jnp.add, state["weights"], speed)
        return {"weights": weights, "speed": speed, "key": state["key"], "steps": state["steps"] + 1}

    return jb.Trainee(init, step, lambda s, config: -loss(s["weights"], jnp.asarray(DATA), jnp.asarray(LABELS)))


DIVERGES = {"lr": np.array([0.3, 1e38, 0.1, 0.01, 0.03, 1.0]), "momentum": np.full(6, 0.5)}


def data(tree):
    """The bytes of every leaf."""
    return [leaf.tobytes() for leaf in jax.tree.leaves(tree)]


def played(trainee, configs, steps, repeats, batch, store=None, seed=0):
    known = configurations.read(configs, distinct=False)
    bracket = rungs.Bracket(known, 0, steps, 2, repeats, seed, True)
    return rungs.halve(bracket, trainings.programs(trainee, configs, batch), store, {})


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "repeats"), [(1, 2), (4, 1)])
def test_survivors_are_to_the_byte_those_of_a_training_without_interruption(batch, repeats):
    """Whatever their number, and whoever is beside them: one that diverges, too."""
    trainee = network()
    whole, halved, middle = (played(trainee, DIVERGES, s, repeats, batch) for s in ((11,), (2, 5, 11), (2, 5)))
    assert halved.trained.sum(axis=1).tolist() == [6, 3, 1] and halved.alive[0] in middle.alive
    for found, last in ((halved, whole), (middle, played(trainee, DIVERGES, (5,), repeats, batch))):
        rows = (found.alive[:, None] * repeats + np.arange(repeats)).ravel()
        assert data(found.states) == data(trainings.take(last.states, rows))
    assert np.isfinite(whole.scores[0, halved.alive]).all() and not np.isfinite(whole.scores[0, 1]).all()


@quickly
def test_keys_are_those_of_the_docstring():
    trainee = jb.Trainee(
        init=lambda key, config: jax.random.key_data(key),
        step=lambda state, key, config: state ^ jax.random.key_data(key),
        score=lambda state, config: jnp.float32(0),
    )
    states = played(trainee, {"a": np.zeros(2)}, (3,), 2, 3, seed=5).states
    root = jax.random.key(5, impl="threefry2x32")
    for c in range(2):
        for r in range(2):
            own = jax.random.fold_in(jax.random.fold_in(root, r), c)
            words = [np.asarray(jax.random.key_data(jax.random.fold_in(own, t))) for t in range(4)]
            assert np.array_equal(states[2 * c + r], words[0] ^ words[1] ^ words[2] ^ words[3])


@quickly
def test_a_score_that_is_not_finite_never_goes_on():
    table = np.ones((6, 10))
    table[[0, 2, 4], 1] = np.nan, np.inf, -np.inf
    table[3, 2] = np.nan
    trainee = replayed(table)
    found = halving(trainee, rows(6), eta=2, batch=1)
    rung = [found.history["config"][found.history["batch"] == i].tolist() for i in range(3)]
    assert rung == [[*range(6)], [1, 3, 5], [1]]
    assert found.index == 1
    assert any("4 of the configurations had a score that is not finite" in note for note in found.notes)
    assert "not finite" in str(found)
    table[:, 2] = np.nan
    words = r"after 2 steps no score is finite with \|score\| <= 1e150, of 3 configurations \(configuration 1:"
    with pytest.raises(ValueError, match=words):
        halving(replayed(table), rows(6), max_steps=4, eta=2, batch=1)


@pytest.mark.parametrize("eta", [2, 3, 5])
@pytest.mark.parametrize("most", [1, 2, 26, 27, 81, 100])
def test_brackets_are_those_of_the_paper(most, eta):
    """Algorithm 1 in floating point, away from the powers where its logarithm rounds down."""
    s_max = int(np.floor(np.log(most) / np.log(eta) + 1e-9))
    for rule in ("formula", "floor"):
        found = brackets(most, eta, rule)
        assert len(found) == s_max + 1
        for s, (n, steps) in zip(range(s_max, -1, -1), found, strict=True):
            share = (s_max + 1) / (s + 1)
            paper = np.ceil(share * eta**s - 1e-9) if rule == "formula" else np.floor(share) * eta**s
            assert n == paper and len(steps) == s + 1 and steps[-1] == most
            assert all(t == np.floor(most / eta**i + 1e-9) for t, i in zip(steps, range(s, -1, -1), strict=True))


@pytest.mark.slow
@quickly
def test_81_and_3_under_both_readings():
    """The two tables in print: R = 81, eta = 3."""
    for rule, sizes in (("formula", [81, 34, 15, 8, 5]), ("floor", [81, 27, 9, 6, 5])):
        found = brackets(81, 3, rule)
        assert [b.configs for b in found] == sizes
        assert [b.steps for b in found] == [(1, 3, 9, 27, 81), (3, 9, 27, 81), (9, 27, 81), (27, 81), (81,)]

    alive = {"formula": [[81, 27, 9, 3, 1], [34, 11, 3, 1], [15, 5, 1], [8, 2], [5]]}
    alive["floor"] = [[81, 27, 9, 3, 1], [27, 9, 3, 1], [9, 3, 1], [6, 2], [5]]
    trainee = jb.Trainee(
        init=lambda key, config: config["quality"],
        step=lambda state, key, config: state,
        score=lambda state, config: state,
    )
    for rule in ("formula", "floor"):
        found = jb.hyperband(trainee, sample, rungs=rule, execution=jb.Execution(batch=64))
        counts = np.bincount(found.history["batch"]).tolist()
        assert counts == [n for bracket in alive[rule] for n in bracket]
        assert found.index == np.argmax(found.configs.columns[0])
        assert found.table["mean"].tolist() == found.configs.columns[0].astype(np.float32).tolist()
        assert len(np.unique(found.configs.columns[0])) == sum(b[0] for b in alive[rule])  # each drawn anew


def sample(key, n):
    return {"quality": np.asarray(jax.random.uniform(key, (n,)))}


def drawn(key, n):
    return jb.space.random_configs(key, n, lr=jb.space.loguniform(1e-3, 1.0), momentum=jb.space.choice([0.5]))


class Killed(BaseException):
    pass


@quickly
@pytest.mark.slow
@pytest.mark.parametrize("search", ["successive_halving", "hyperband"])
def test_a_kill_at_any_rung_changes_nothing(tmp_path, monkeypatch, search):
    """Before a rung is stored and after; states hold keys and integers too."""
    trainee, write, wait = network(), storage.write_arrays, iter(())

    def play(directory):
        if search == "hyperband":
            return jb.hyperband(trainee, drawn, max_steps=4, eta=2, execution=jb.Execution(directory=directory))
        return halving(trainee, DIVERGES, max_steps=8, eta=2, repeats=2, batch=4, directory=directory)

    def killing(path, arrays):
        early, late = next(wait, (False, False))
        if early:
            raise Killed
        write(path, arrays)
        if late:
            raise Killed

    whole = play(None)
    monkeypatch.setattr(storage, "write_arrays", killing)
    for early in (True, False, True):  # each of these calls stores at most one rung
        wait = iter([(early, not early)])
        with pytest.raises(Killed):
            play(tmp_path)
    wait = iter(())
    again = play(tmp_path)
    for name, column in whole.history.items():
        assert column.tobytes() == again.history[name].tobytes()
    assert (whole.index, whole.notes) == (again.index, again.notes)
    monkeypatch.setattr(storage, "write_arrays", lambda *_: pytest.fail("a finished search is trained again"))
    assert play(tmp_path).index == whole.index


@quickly
def test_a_directory_of_another_search(tmp_path):
    def play(*given, **more):
        return halving(*given, **{"min_steps": 3, "batch": 64, "directory": tmp_path} | more)

    play()
    others = {
        "seed 0, here 1": {"seed": 1},
        "eta 3, here 4": {"eta": 4, "min_steps": 3, "max_steps": 9},
        "batch 64, here 2": {"batch": 2},
        "the program": {"trainee": replayed(TABLE + 1)},
        "configs ": {"configs": {"row": np.arange(20)[::-1].copy()}},
    }
    for said, other in others.items():
        with pytest.raises(ValueError, match=f"successive_halving: .* holds another search: .*{said}"):
            play(**other)
    stored = json.loads((tmp_path / rungs.IDENTITY).read_text())
    assert stored["steps"] == [3, 9] and stored["program"]
    (tmp_path / rungs.FILE).write_bytes(b"PK cut short")
    with pytest.raises(ValueError, match="damaged"):
        play()


def part(**functions):
    return PLAYED._replace(**functions)


BAD = {
    "min_steps": (lambda: halving(min_steps=0), r"min_steps = 0, must be an integer in \[1, 2147483646\]"),
    "max_steps": (lambda: halving(min_steps=3, max_steps=2), r"max_steps = 2, must be an integer in \[3, 2147483646\]"),
    "eta": (lambda: halving(eta=1), "eta = 1, must be an integer >= 2"),
    "eta of halves": (lambda: halving(eta=2.5), "eta = 2.5, must be an integer >= 2"),
    "repeats": (lambda: halving(repeats=0), "repeats = 0, must be"),
    "seed": (lambda: halving(seed=-1), "seed = -1, must be"),
    "batch": (lambda: halving(batch=0), "batch = 0, must be an integer >= 1"),
    "trainee": (lambda: halving(lambda key, config: 0.0), "trainee is a function, must be jb.Trainee"),
    "no configs": (lambda: halving(configs={"row": np.arange(0)}), "configs is empty"),
    "axes": (lambda: halving(configs={"row": np.arange(3), "b": np.arange(2)}), "columns of different lengths"),
    "static": (lambda: halving(configs={"row": np.array(["a", "b"])}), "configs: row is static, must be numbers"),
    "vector": (lambda: halving(part(score=lambda s, c: jnp.ones(3))), r"score returns float32\[3\], must return one"),
    "integer": (lambda: halving(part(score=lambda s, c: s)), r"score returns int32\[\], must return one real"),
    "raises": (lambda: halving(part(init=lambda key, c: c["rwo"])), "init fails: KeyError: 'rwo'"),
    "form": (
        lambda: halving(part(step=lambda s, k, c: jnp.float32(0))),
        r"\(state int32\[\] to state float32",
    ),
    "structure": (lambda: halving(part(step=lambda s, k, c: (s, s))), r"step changes the state \(.*\), must"),
    "hyperband": (lambda: jb.hyperband(PLAYED, sample, max_steps=0), r"hyperband: max_steps = 0, must be"),
    "rungs": (lambda: jb.hyperband(PLAYED, sample, rungs="flor"), "rungs = 'flor', .*did you mean 'floor'"),
    "sample": (lambda: jb.hyperband(PLAYED, lambda k, n: rows(3)), "sample returns 3 configurations, must be the 81"),
    "sample fails": (lambda: jb.hyperband(PLAYED, lambda k, n: 1 / [n]), "sample fails: TypeError"),
}


@quickly
@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_in_one_line(case):
    call, said = BAD[case]
    with pytest.raises(ValueError, match=said) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message and message.startswith(("successive_halving: ", "hyperband: ", "Execution: "))
