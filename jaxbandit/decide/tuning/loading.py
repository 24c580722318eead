"""Reading the result of a search that `TuneResult.save` wrote."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.result import STORED, TuneResult
from jaxbandit.decide.tuning.saving import REMEDY, RESULT, SCHEMA
from jaxbandit.decide.tuning.search_result import SearchResult
from jaxbandit.decide.tuning.stored_values import configs_of, decoded, losses, stored_columns
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.support.refusals import BadInput, refuse
from jaxbandit.support.types import Json

NUMBERS = ("index", "pulls", "mean", "low", "high", "survivor")  # columns of a table
SHOWN = 5  # texts of a warning


def holds_search(directory: Path) -> bool:
    """Return whether a directory holds the result of a search, complete or not."""
    return (directory / RESULT).exists() or (directory / "table.npz").exists()


def load(directory: Path) -> TuneResult:
    """Return the result in a directory; a warning names what is code, and therefore is not restored."""
    path = directory / RESULT
    if not path.exists():
        remedy = "save the result again, or run the search again, which does not repeat trainings in its directory"
        refuse(str(path), f": missing, so the result was not saved to its end, or by an early version; {remedy}")
    about = read_json(path, REMEDY, SCHEMA)
    try:
        result = _result(directory, about)
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise BadInput(f"{path}: damaged ({reason}); {REMEDY}") from None
    if lost := losses([about["configs"], about.get("proposed")]):
        named = f"{', '.join(lost[:SHOWN])}{' and more' * (len(lost) > SHOWN)}"
        warnings.warn(f"{path}: files hold no code, so that only the text is restored of {named}", stacklevel=3)
    return result


def _result(directory: Path, about: Json) -> TuneResult:
    configs = configs_of(about["configs"])
    table = _own(_arrays(directory, about, "table"), configs)
    history = _arrays(directory, about, "history")
    index = about["index"]
    if type(index) is not int or not 0 <= index < configs.count:
        raise ValueError(f"index = {index}, but there are {configs.count} configurations")
    _require_columns(directory / "table.npz", table, NUMBERS, configs.count)
    _require_columns(directory / "history.npz", history, ("batch", "config"))
    fields: dict[str, Any] = {name: about[name] for name in STORED} | {"notes": tuple(about["notes"])}
    fields |= {
        "best_config": configs.row(index),
        "index": index,
        "table": table,
        "history": history,
        "configs": configs,
    }
    fields["certificate"] = Certificate.from_json(about["certificate"])
    if "proposed" not in about:
        return TuneResult(**fields)
    proposed = configs_of(about["proposed"])
    proposals = _own(_arrays(directory, about, "proposals"), proposed)
    _require_columns(directory / "proposals.npz", proposals, ("proposal", "score", "attempts"), proposed.count)
    more = {"proposals": proposals, "proposed": proposed, "proposer": about["proposer"]}
    return SearchResult(**fields, **more, further=np.array(decoded(about["further"]), np.float64))


def _arrays(directory: Path, about: Json, name: str) -> dict[str, np.ndarray]:
    path = directory / f"{name}.npz"
    try:
        return storage.read_arrays(path, REMEDY, str(about["sha256"][name]))
    except FileNotFoundError:
        raise BadInput(f"{path}: missing; {REMEDY}") from None


def _own(columns: Mapping[str, np.ndarray], configs: Configs) -> dict[str, np.ndarray]:
    """The columns without those of the hyperparameters."""
    return {name: column for name, column in columns.items() if name not in stored_columns(configs)}


def _require_columns(path: Path, arrays: Mapping[str, np.ndarray], names: Sequence[str], count: int | None = None):
    """Raise BadInput unless arrays have these columns of numbers, of equal length, which is `count` if given."""
    columns = [arrays.get(name, np.zeros(())) for name in names]
    numbers = all(column.dtype.kind in "biuf" and column.ndim == 1 and len(column) for column in columns)
    if not numbers or {len(column) for column in columns} != {len(columns[0]) if count is None else count}:
        raise BadInput(f"{path}: does not belong to {RESULT}; {REMEDY}")
