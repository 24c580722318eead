"""Damage to bytes, lines, arrays and plain data; each function draws one damage from a generator and names it."""

import copy
import io
import json
import random
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.engine.storage import files as storage

HUGE = 10**15
# Values that a reader of plain data may not expect.
ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    -(2**63),
    2**64,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "../../etc/passwd",
    "os:system",
    "\u202e\x1b[31m<b>",
    "é" * 5000,
    "\ud800",
    [],
    [[]],
    [None],
    {},
    {"": {}},
    {"sweep": [1]},
    [1, "a", None],
    [[1, 2], [3]],
]


def flipped(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    """One bit of one byte is another."""
    place, bit = chance.randrange(len(data)), chance.randrange(8)
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return bytes(changed), f"bit {bit} of byte {place} flipped"


def cut(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    """The end is missing."""
    place = chance.randrange(len(data))
    return data[:place], f"cut after {place} of {len(data)} bytes"


def overwritten(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    """A few bytes are zero, as in a page that never reached the disk, or random."""
    place, size = chance.randrange(len(data)), chance.choice([1, 8, 64, 512])
    new = chance.choice([bytes(size), chance.randbytes(size)])
    return data[:place] + new + data[place + size :], f"{size} bytes at {place} overwritten by {new[:4]!r}..."


def bytes_damaged(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    """Mostly one flipped bit, sometimes more."""
    return chance.choice([flipped] * 6 + [cut, overwritten])(data, chance)


def lines_damaged(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    """One line deleted, given twice, exchanged with another, torn, or one of its digits or bits is another."""
    lines = data.splitlines(keepends=True)
    i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.choice("flipped flipped flipped digit deleted twice again swapped torn joined blank".split())
    what = f"line {i + 1} of {len(lines)}: {kind}"
    if kind == "flipped":
        return flipped(data, chance)
    if kind == "digit":
        line = bytearray(lines[i])
        places = [p for p, byte in enumerate(line) if chr(byte).isdigit()]
        place = chance.choice(places or [0])
        line[place] = ord(chance.choice("0123456789"))
        lines[i], what = bytes(line), f"{what} {place}"
    elif kind == "deleted":
        del lines[i]
    elif kind == "twice":
        lines.insert(i, lines[i])
    elif kind == "again":
        lines.insert(j, lines[i])
    elif kind == "swapped":
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == "torn":
        lines[i] = lines[i][: chance.randrange(len(lines[i]))]
    elif kind == "joined":
        lines[i] = lines[i].rstrip(b"\n")
    else:
        lines.insert(i, chance.choice([b"\n", b"null\n", b"{}\n", b"[1]\n", b"[" * 100_000 + b"\n"]))
    return b"".join(lines), what


def odd(chance: random.Random) -> Any:
    """A value that nobody expects."""
    return chance.choice(ODD)


def tree_damaged(data: Any, chance: random.Random) -> tuple[Any, str]:
    """One place of plain data has another value, another type, is missing, or is there twice."""
    places = list(_places(data))
    place = chance.choice(places)
    value = data
    for key in place:
        value = value[key]
    kind = chance.choice(["odd", "odd", "odd", "missing", "renamed", "near", "wrapped"])
    if not place:
        kind = "odd"
    if kind == "near" and isinstance(value, int | float) and not isinstance(value, bool):
        new: Any = value + chance.choice([1, -1, 0.5, 1e-9])
    elif kind == "near" and isinstance(value, str):
        new = value[:-1] if chance.random() < 0.5 else value + chance.choice(["\n", "\x00", "é", "x", " "])
    elif kind == "near" and isinstance(value, list) and value:
        new = value[:-1] if chance.random() < 0.5 else [*value, value[0]]
    elif kind == "wrapped":
        new = chance.choice([[value], {"a": value}, str(value)])
    else:
        new = odd(chance)
    return _put(data, place, kind, new), f"{'.'.join(map(str, place)) or 'all'}: {kind} {ascii(new)[:60]}"


def json_damaged(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    """JSON whose values, keys or bytes are others."""
    kind = chance.choice(["tree"] * 7 + ["bytes", "bytes", "brackets", "number", "twice", "encoding"])
    if kind == "bytes":
        return bytes_damaged(data, chance)
    if kind == "brackets":
        return b"[" * 100_000, "100,000 brackets"
    if kind == "number":
        return b'{"a": ' + b"9" * 5000 + b"}", "a number of 5,000 digits"
    if kind == "twice":
        return data.rstrip().rstrip(b"}") + b',"a": 1, "a": 2}', "a key twice"
    if kind == "encoding":
        return data.decode().encode(chance.choice(["utf-16", "utf-8-sig"])), "another encoding"
    tree, what = tree_damaged(json.loads(data), chance)
    return json.dumps(tree).encode(), what


def array_file(chance: random.Random, data: bytes) -> tuple[bytes, str]:
    """An .npz that is none, or whose members are not what they are said to be; `data` is the good one."""
    with np.load(io.BytesIO(data), allow_pickle=False) as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    name = chance.choice(sorted(arrays))
    kind = chance.choice(list(CRAFTED))
    return CRAFTED[kind](arrays, name, chance), f"{kind} of {name}"


def _npz(arrays: dict[str, Any], more: dict[str, bytes] | None = None, **options: Any) -> bytes:
    """Arrays as .npz; `more` are members given as bytes, which come last and replace those of the same name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name, array in arrays.items():
            if name not in (more or {}):
                inner = io.BytesIO()
                np.lib.format.write_array(inner, np.asarray(array), allow_pickle=True)
                archive.writestr(f"{name}.npy", inner.getvalue())
        for name, content in (more or {}).items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def _sealed(arrays: dict[str, Any]) -> bytes:
    """Arrays as the package writes them, with whatever digest it gives them: made on purpose, not damaged."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "sealed.npz"
        storage.write_arrays(path, arrays)
        return path.read_bytes()


def _bomb(arrays: dict[str, Any], name: str) -> bytes:
    """An array of 128 MiB in a hundred kilobytes."""
    file = io.BytesIO(_npz({other: array for other, array in arrays.items() if other != name}))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive, archive.open(f"{name}.npy", "w") as member:
        member.write(_header("{'descr': '|u1', 'fortran_order': False, 'shape': (134217728,), }"))
        for _ in range(128):
            member.write(bytes(2**20))
    return file.getvalue()


def _header(text: str) -> bytes:
    body = text.encode("latin1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body) + 1) + body + b"\n"


def _shaped(shape: str, descr: str = "'<f8'") -> bytes:
    return _header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}") + bytes(64)


def _npy(arrays: dict[str, Any], name: str, chance: random.Random) -> bytes:
    file = io.BytesIO()
    np.save(file, arrays[name], allow_pickle=False)
    return file.getvalue()


class _Marker:
    """Executed where somebody unpickles it."""

    def __reduce__(self):
        return (print, ("unpickled",))


def _pickled(array: Any) -> Any:
    objects = np.empty(1, dtype=object)
    objects[0] = array
    return objects


def _twice(arrays: dict[str, Any], name: str) -> bytes:
    file = io.BytesIO(_npz(arrays))
    inner = io.BytesIO()
    np.save(inner, np.zeros_like(arrays[name]), allow_pickle=False)
    import warnings

    with warnings.catch_warnings(), zipfile.ZipFile(file, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(f"{name}.npy", inner.getvalue())
    return file.getvalue()


def _other(array: np.ndarray, chance: random.Random) -> np.ndarray:
    """The same values as another type, or with another shape."""
    ways = [
        lambda a: a.astype(str),
        lambda a: a.astype(">f8") if a.dtype.kind in "iuf" else a.astype("S3"),
        lambda a: a.astype(complex) if a.dtype.kind in "iufb" else np.zeros(3, complex),
        lambda a: a.reshape(-1)[:-1],
        lambda a: a[None],
        lambda a: np.concatenate([a.reshape(-1), a.reshape(-1)]),
        lambda a: np.zeros((0, *a.shape)),
        lambda a: np.zeros(a.shape, "M8[s]"),
        lambda a: np.zeros(a.shape, [("a", "<f8"), ("b", "<i4")]),
    ]
    return chance.choice(ways)(array)


CRAFTED: dict[str, Any] = {
    "an .npy in place of the file": _npy,
    "a shape of 10^15": lambda a, n, c: _npz(a, {n: _shaped("(1000000000000000,)")}),
    "a shape of 10^26": lambda a, n, c: _npz(a, {n: _shaped("(100000000000000000000000000,)")}),
    "a shape of 10^13 x 0": lambda a, n, c: _npz(a, {n: _shaped("(10000000000000, 0)")}),
    "a negative shape": lambda a, n, c: _npz(a, {n: _shaped("(-1,)")}),
    "33 axes": lambda a, n, c: _npz(a, {n: _shaped("(" + "1, " * 65 + ")")}),
    "a header that is no literal": lambda a, n, c: _npz(a, {n: _shaped("__import__('os')")}),
    "a header of 10^5 brackets": lambda a, n, c: _npz(a, {n: _header("(" * 60000)}),
    "a header cut short": lambda a, n, c: _npz(a, {n: _shaped("(1,)")[: c.randrange(1, 60)]}),
    "a header of other keys": lambda a, n, c: _npz(a, {n: _header("{'descr': '<f8'}")}),
    "an odd dtype": lambda a, n, c: _npz(a, {n: _shaped("(1,)", c.choice(["'<f7'", "'O'", "'V99999999999'", "[]"]))}),
    "a bomb": lambda a, n, c: _bomb(a, n),
    "a bomb beside": lambda a, n, c: _bomb(a, "extra"),
    "pickled objects": lambda a, n, c: _npz({**a, n: _pickled(_Marker())}),
    "a missing member": lambda a, n, c: _npz({name: array for name, array in a.items() if name != n}),
    "an extra member": lambda a, n, c: _npz({**a, c.choice(["extra", "../x", "a/b", ""]): np.zeros(3)}),
    "a duplicate": lambda a, n, c: _twice(a, n),
    "a missing member, with a digest": lambda a, n, c: _sealed({m: array for m, array in a.items() if m != n}),
    "an extra member, with a digest": lambda a, n, c: _sealed({**a, "extra": np.zeros(3)}),
    "another type, with a digest": lambda a, n, c: _sealed({**a, n: _other(a[n], c)}),
    "another type": lambda a, n, c: _npz({**a, n: _other(a[n], c)}),
    "nothing in it": lambda a, n, c: _npz({}),
    "an empty file": lambda a, n, c: b"",
    "text": lambda a, n, c: b"hello\n" * c.randrange(1, 99),
}


def _places(data: Any, place: tuple[Any, ...] = ()) -> Any:
    """The path of every value in a tree of dictionaries and lists."""
    yield place
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield from _places(value, (*place, key))


def _put(data: Any, place: tuple[Any, ...], kind: str, new: Any) -> Any:
    """A copy of the tree with another value at this place; `missing` and `renamed` change its key."""
    if not place:
        return new
    copied = copy.deepcopy(data)
    inner = copied
    for key in place[:-1]:
        inner = inner[key]
    key = place[-1]
    if kind == "missing":
        del inner[key]
    elif kind == "renamed" and isinstance(inner, dict):
        inner[f"{key}x"] = inner.pop(key)
    else:
        inner[key] = new
    return copied
