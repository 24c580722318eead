"""What was measured is never told to be deleted: the messages about damaged files, and whoever reads one says which."""

import ast
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import write_json
from jaxbandit.support.refusals import BadInput

RULE = jb.algorithms.paired_race(3, delta=0.1, epsilon=0.1)
TRAINEE = jb.Trainee(
    lambda key, config: config["x"], lambda state, key, config: state + config["x"], lambda state, config: state
)


def _saved(place):
    session = jb.session(RULE)
    session, pulls = jb.ask(session)
    jb.save_session(place / "s.session", jb.tell(session, pulls.id, np.arange(len(pulls.id)) / 8))
    return lambda: jb.load_session(place / "s.session", RULE)


def _directory(place):
    def use():
        with jb.session_directory(place, RULE) as store:
            pulls = store.ask()
            store.tell(pulls.id, np.arange(len(pulls.id)) / 8)

    use()
    return use


def _searched(place):
    def use():
        return jb.tune(
            lambda seed, config: config["x"] + seed % 7,
            {"x": np.arange(2.0)},
            budget=30,
            execution=jb.Execution(directory=place),
        )

    use()
    return use


def _halved(place):
    def use():
        configs = {"x": jnp.arange(3.0)}
        return jb.successive_halving(
            TRAINEE, configs, min_steps=1, max_steps=2, execution=jb.Execution(directory=place)
        )

    use()
    return use


MEASURED = {
    "session in a file": (_saved, "s.session"),
    "session": (_directory, "session.json"),
    "log of a session": (_directory, "log.jsonl"),
    "search": (_searched, "scores.json"),
    "log of a search": (_searched, "scores.jsonl"),
    "trainings of a halving": (_halved, "rungs.npz"),
    "their identity": (_halved, "identity.json"),
}


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("damage", ["cut", "changed"])
@pytest.mark.parametrize("kind", MEASURED)
def test_what_was_measured_is_kept_when_its_file_is_damaged(kind, damage, tmp_path):
    begin, name = MEASURED[kind]
    use = begin(tmp_path)
    file = tmp_path / name
    data = file.read_bytes()
    # A log that ends within a line has lost what was never confirmed, so that it is cut inside its first line.
    bad = data[: len(data) // 2] if not name.endswith(".jsonl") else data[5:]
    bad = bad if damage == "cut" else data[:20] + bytes([data[20] ^ 1]) + data[21:]
    file.write_bytes(bad)
    with pytest.raises(BadInput, match="restore it from a copy") as error:
        use()
    assert "delete" not in str(error.value) and name in str(error.value) and "\n" not in str(error.value)
    assert file.read_bytes() == bad


@pytest.mark.quickly_compiled
def test_another_search_in_a_directory_is_not_told_to_be_deleted(tmp_path):
    _halved(tmp_path)
    with pytest.raises(BadInput, match=r"holds another search: .*give another directory$"):
        jb.successive_halving(
            TRAINEE, {"x": jnp.arange(3.0)}, min_steps=1, max_steps=3, execution=jb.Execution(directory=tmp_path)
        )


def test_what_can_be_computed_again_says_so(tmp_path):
    jb.simulate(jb.algorithms.ucb1(2), jb.environments.bernoulli([0.9, 0.1]), horizon=4, num_runs=2).save(tmp_path)
    for name in ("summary.json", "cell-000.npz", "cell-000.json"):
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[:-9])
        with pytest.raises(BadInput, match=rf"{name}: damaged.*; delete it (to compute it again|and cell-000.json)"):
            jb.load(tmp_path)
        (tmp_path / name).write_bytes(data)


def test_whoever_reads_a_file_says_what_its_loss_means(tmp_path):
    """The argument has no default, and nothing that was measured is read with the words for what can be computed."""
    write_json(tmp_path / "a.json", {})
    for read in (storage.read_arrays, storage.read_text):
        with pytest.raises(TypeError, match="remedy"):
            read(tmp_path / "a.json")
    computed = {  # the certificate of a log, which its next close writes again
        "sessions/stored.py": 1
    }
    found = {}
    root = Path(jb.__file__).parent / "decide"
    for path in sorted(root.rglob("*.py")):
        names = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if _recompute(node)]
        if names:
            found[path.relative_to(root).as_posix()] = len(names)
    assert found == computed


def _recompute(node):
    return getattr(node, "attr", getattr(node, "id", "")) == "RECOMPUTE"
