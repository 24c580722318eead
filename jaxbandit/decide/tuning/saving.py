"""Writing the result of a search: its summary, its arrays, and last what a reader needs besides them.

summary.json   what `jaxbandit tune --json` prints, the same however often the search was interrupted
table.npz, history.npz, of `search` also proposals.npz   the arrays, which NumPy alone can read
result.json    the rest of the fields, and the digests of the arrays; a directory without it is not complete
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from jaxbandit.decide.tuning.store import ABOUT
from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json, write_json
from jaxbandit.support.refusals import unwritable
from jaxbandit.support.types import Json

SUMMARY, RESULT = "summary.json", "result.json"
SCHEMA = 1
REMEDY = f"{storage.RESTORE}, or run the search again, which does not repeat trainings whose scores a directory holds"


def save(
    directory: Path, summary: Json, arrays: Mapping[str, Mapping[str, np.ndarray]], about: Mapping[str, object]
) -> None:
    """Write the files of a result, each of them atomically."""
    try:
        with directories.locked(directory, ABOUT, SUMMARY):  # the directory of the search, or of a result
            for path in (directory / SUMMARY, directory / RESULT):
                if path.exists():
                    read_json(path, REMEDY)  # raises if it is somebody else's
            (directory / RESULT).unlink(missing_ok=True)  # while the others are replaced
            write_json(directory / SUMMARY, {"schema": SCHEMA, **summary})
            digests = {}
            for name, columns in arrays.items():
                storage.write_arrays(directory / f"{name}.npz", columns)
                digests[name] = storage.digest(directory / f"{name}.npz")
            write_json(directory / RESULT, {"schema": SCHEMA, **about, "sha256": digests})
    except OSError as error:
        unwritable(f"{directory}: the result", error, "give another directory")
