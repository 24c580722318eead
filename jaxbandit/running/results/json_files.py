"""JSON files of results, which are written atomically and read with an error message that names the file."""

import hashlib
import json
from pathlib import Path
from typing import Any

from jaxbandit.base.refusals import BadInput
from jaxbandit.engine.storage import files as storage

SEAL = "json_sha256"


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically, with the keys in their given order; NaN is not allowed."""
    storage.write_bytes(path, _encoded(content))


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; raise a ValueError that names the file if it does not hold one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise BadInput(f"{path}: damaged, not JSON; delete it and run again") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: damaged, not a JSON object; delete it and run again")
    return content


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """Write JSON like `write_json`, with a digest of the content as the last key."""
    write_json(path, {**content, SEAL: _digest(content)})


def read_sealed(path: Path) -> dict[str, Any]:
    """Return what `write_sealed` wrote, without the digest; raise a ValueError if any byte of the file has changed."""
    content = read_json(path)
    seal = content.pop(SEAL, None)
    if seal != _digest(content) or path.read_bytes() != _encoded({**content, SEAL: seal}):
        raise BadInput(f"{path}: damaged, its digest differs from its content; delete it and run again")
    return content


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(_encoded(content)).hexdigest()


def _encoded(content: Any) -> bytes:
    return (json.dumps(plain(content), indent=1, allow_nan=False) + "\n").encode()


def plain(value: Any) -> Any:
    """Return `value` as plain data for JSON: NumPy scalars and arrays become Python numbers and lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value
