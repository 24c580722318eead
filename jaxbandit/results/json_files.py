"""JSON files of results: written whole or not at all, read with an error that names the file."""

import json
from pathlib import Path
from typing import Any

from jaxbandit.engine import storage
from jaxbandit.refusals import BadInput


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically, keys in their order, without NaN."""
    storage.write_bytes(path, (json.dumps(plain(content), indent=1, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file holds; ValueError that names the file where it holds none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError:
        raise BadInput(f"{path}: damaged, not JSON; delete it and run again") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: damaged, not a JSON object; delete it and run again")
    return content


def plain(value: Any) -> Any:
    """Return `value` as JSON can hold it: NumPy scalars and arrays become Python numbers and lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value
