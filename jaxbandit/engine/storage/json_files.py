"""JSON files of ours, with a digest of their content as the last key, which notices every change of a byte."""

import hashlib
import json
from pathlib import Path
from typing import Any

from jaxbandit.engine.storage import files as storage
from jaxbandit.support import reading
from jaxbandit.support.document import plain
from jaxbandit.support.refusals import BadInput

DIGEST = "json_sha256"


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON atomically, with the keys in their given order and the digest last; NaN is not allowed."""
    storage.write_bytes(path, _encoded({**content, DIGEST: _digest(content)}))


def read_json(path: Path, remedy: str, schema: int | None = None) -> dict[str, Any]:
    """Return what `write_json` wrote, without the digest; raise a BadInput that names the file if a byte differs.

    With a `schema` it is also raised if the file has another one.
    """
    try:
        data = storage.read_bytes(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    try:
        content = reading.json_of(data)
    except ValueError:
        raise BadInput(f"{path}: damaged, not JSON; {remedy}") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: damaged, not a JSON object; {remedy}")
    digest = content.pop(DIGEST, None)
    if digest is None:
        raise BadInput(f"{path}: damaged, it has no digest, or another version wrote it; {remedy}")
    try:
        same = data == _encoded({**content, DIGEST: _digest(content)})
    except ValueError:  # NaN, which we do not write
        same = False
    if not same:
        raise BadInput(f"{path}: damaged, its digest differs from its content; {remedy}")
    if schema is not None and content.get("schema") != schema:
        raise BadInput(f"{path}: has schema {content.get('schema')}, must have {schema}; use the version that wrote it")
    return content


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(_encoded(content)).hexdigest()


def _encoded(content: Any) -> bytes:
    return (json.dumps(plain(content), indent=1, allow_nan=False) + "\n").encode()
