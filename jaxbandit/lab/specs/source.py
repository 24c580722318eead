"""Reading the TOML of an experiment from a file or from the package, and changing it with `--set`."""

import os
import select
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from jaxbandit.base.refusals import SHOWN, nearest, reason, refuse

LARGEST = 2**28  # bytes of a text file; a device such as /dev/zero has no end
CHUNK = 2**20  # bytes
PIPE_SECONDS = 5.0  # within which somebody must write into a pipe


def embedded() -> dict[str, Path]:
    """Return the TOML files that come with the package, by name."""
    folder = Path(str(resources.files("jaxbandit.lab.papers") / "experiments"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def about(path: Path) -> str:
    """Return the paper that an embedded TOML reproduces, its title and year, or the comment on its first line.

    It adds whether none of the paper's claims was compared with its text.
    """
    if paper := read(path).get("paper"):
        quoted = not any("read" in claim for claim in paper["claim"])
        return f"{paper['title']} ({paper['year']})" + "; quoted, not verified" * quoted
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def locate(spec: str | Path) -> Path:
    """Return the path of a TOML file, or of the one of that name that comes with the package.

    Raises:
      BadInput: the name is neither that of a file nor of an experiment that comes with the package.
    """
    path = Path(spec)
    if path.suffix == ".toml" or os.path.exists(path) or len(path.parts) != 1:
        return path
    names = embedded()
    if str(spec) not in names:
        remedy = "give a TOML file, or an experiment that jaxbandit list --kind experiment names"
        refuse(str(spec), f": no such file; {remedy}{nearest(spec, names)}")
    return names[str(spec)]


def read(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises:
      BadInput: the file cannot be read or is not valid TOML.
    """
    content = text(path, "a TOML file")
    try:
        return tomllib.loads(content)
    except (ValueError, RecursionError) as error:
        refuse(str(path), f": not valid TOML: {_fault(error)}")


def text(path: Path, wanted: str) -> str:
    """Return the content of a text file in UTF-8, with or without a byte-order mark.

    Args:
      path: path of a file, or of a pipe or terminal.
      wanted: what the error message asks the user to give instead.

    Raises:
      BadInput: the file cannot be read, has no end, or is not text in UTF-8; or nobody writes into the pipe.
    """
    try:
        with open(_open_pipe(path) if path.is_fifo() else path, "rb") as file:
            data = b""
            while (part := file.read(CHUNK)) and len(data) <= LARGEST:  # a larger read would allocate as much at once
                data += part
    except OSError as error:
        refuse(str(path), f": cannot be read ({reason(error)}); give {wanted}")
    except ValueError as error:  # a null character
        refuse(ascii(str(path)), f": cannot be read ({error}); give {wanted}")
    if len(data) > LARGEST:
        refuse(str(path), f": has more than {LARGEST // 2**20} MiB; give {wanted}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = f"byte 0x{data[error.start]:02x} at position {error.start}"
        refuse(str(path), f": is not text in UTF-8 ({fault}); save it as UTF-8, or give {wanted}")


def _open_pipe(path: Path) -> int:
    """Return the descriptor of a named pipe; opening it in the usual way would wait forever for a writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not select.select([descriptor], [], [], PIPE_SECONDS)[0] and not os.read(descriptor, 1):
            refuse(str(path), f": is a pipe into which nobody has written for {PIPE_SECONDS:g} seconds; give a file")
    except BlockingIOError:  # somebody has opened it, and will write
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.set_blocking(descriptor, True)
    return descriptor


def override(data: dict[str, Any], text: str) -> None:
    """Change the content of a TOML file in place, as `--set` does.

    Args:
      data: the content.
      text: `key=value`, `algorithm.NAME.key=value` or `instance.NAME.key=value`, where NAME may also be the number of
        the table, from 0. It is TOML, so a name that contains a dot must be quoted; a bare word is read as a string.

    Raises:
      BadInput: the text is not of this form, or there is no table of that name.
    """
    where = f"--set {text if len(text) <= SHOWN else text[:SHOWN] + '...'}"
    key, equals, value = text.partition("=")
    if not equals:
        refuse(where, ": must be key=value, for instance algorithm.kl.c=3.0")
    word = value.strip()
    if word.replace("_", "").isalnum() and word[:1].isalpha() and not _is_toml(f"x={word}"):
        value = f'"{word}"'
    try:
        tree = tomllib.loads(f"{key}={value}")
    except (ValueError, RecursionError) as error:
        refuse(where, f": not valid TOML: {_fault(error)}; write for instance 3, 0.5 or [1, 2]")
    [(top, rest)] = tree.items() if len(tree) == 1 else refuse(where, ": must set one key")
    if top not in ("instance", "algorithm"):
        data[top] = rest
        return
    items = data.get(top, [])
    if not isinstance(rest, dict) or not isinstance(items, list):
        refuse(where, f": must be {top}.NAME.key=value, NAME being a name or number of [[{top}]]")
    [(name, keys)] = rest.items()
    names = [default_name(item) if isinstance(item, dict) else "" for item in items]
    if name in names:
        at = names.index(name)
    elif name.isdecimal() and int(name) < len(items):
        at = int(name)
    else:
        refuse(where, f": no {top} {name!r}, must be one of {', '.join(names)}{nearest(name, names)}")
    if not isinstance(keys, dict) or not isinstance(items[at], dict):
        refuse(where, f": must be {top}.{name}.key=value")
    items[at] |= keys


def default_name(table: Mapping[str, Any]) -> str:
    """Return the name of an [[instance]] or [[algorithm]]; without one, its type or the name of its outside factory."""
    type_ = str(table.get("type", ""))
    return str(table.get("name", type_ if type_.endswith(")") else type_.rpartition(":")[2]))


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _fault(error: Exception) -> str:
    """Return what is wrong with a TOML text; messages of the parser that are about Python are replaced."""
    if isinstance(error, RecursionError):
        return "tables or lists are nested too deep"
    return str(error) if isinstance(error, tomllib.TOMLDecodeError) else "an integer has thousands of digits"
