"""The identity of a simulation: everything that the numbers of its runs depend on, by name.

A call resumes stored runs only if their identity equals its own.
"""

import dataclasses
import enum
import functools
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.engine.layout import jaxprs
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import PyTree
from jaxbandit.support.version import __version__, version_of

Identity = Mapping[str, Any]  # plain data, because it is stored as JSON

# Messages for parts whose values, such as digests, mean nothing to a reader.
_UNSHOWN = {
    "program": "the program (algorithm, environment or their constants) differs",
    "arguments": "the arguments of algorithm or environment differ",
    "checkpoints": "the recorded rounds (checkpoints) differ",
}
# Parts that may differ only because another part differs; the message then names only the other part.
_FOLLOWS = {
    "program": ("engine", "precision", "generator", "jax", "jaxlib", "jaxbandit"),
    "arguments": ("precision",),
    "checkpoints": ("engine", "horizon"),
}


def surroundings(platform: str) -> dict[str, str]:
    """The part of an identity that does not depend on arguments; `platform` is that of the devices, such as "cpu"."""
    versions = {"jax": jax.__version__, "jaxlib": version_of("jaxlib"), "jaxbandit": __version__}
    return {"platform": platform, **versions}


def differences(stored: Identity, here: Identity) -> list[str]:
    """Return a description of each difference, such as "seed 1, here 0"; empty if there is none."""
    names = [name for name in {**here, **stored} if stored.get(name) != here.get(name)]
    own = [name for name in names if not set(_FOLLOWS.get(name, ())) & set(names)]
    return [_UNSHOWN.get(name, f"{name} {stored.get(name)}, here {here.get(name)}") for name in own]


def require(where: object, stored: Identity, here: Identity) -> None:
    """Raise a one-line ValueError that names the differences; `where` is the place of the stored runs."""
    if changed := differences(stored, here):
        raise BadInput(f"{where}: of another simulation: {'; '.join(changed)}; give another directory or delete it")


def of_arrays(tree: PyTree) -> str:
    """Digest of the dtypes, shapes and bytes of the arrays of a tree."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        digest.update(_array(leaf))
    return digest.hexdigest()


def of_program(functions: Sequence[tuple[Callable, tuple]]) -> str:
    """Digest of the jaxprs of functions, traced with the given examples, including the constants they close over."""
    digest, walk = hashlib.sha256(), _Walk()
    for function, example in functions:
        digest.update(walk.digest(jaxprs.trace(function, *example)[0]))
    return digest.hexdigest()


class _Walk:
    """Digests of the parts of equations. Only values of types internal to JAX are digested by their repr."""

    def __init__(self):
        self._known: dict[int, tuple[Any, bytes]] = {}  # by id of a jaxpr, which stays alive and its id unique

    def digest(self, value: Any) -> bytes:
        if id(value) in self._known:
            return self._known[id(value)][1]
        if (program := jaxprs.program_of(value)) is not None:
            self._known[id(value)] = value, joined(self._program(program), *map(_array, program.constants))
            return self._known[id(value)][1]
        return joined(type(value).__name__, *self._parts(value))

    def _parts(self, value: Any) -> list[bytes | str]:
        if isinstance(value, Mapping):
            return [self.digest(x) for key in sorted(value, key=str) for x in (str(key), value[key])]
        if isinstance(value, (tuple, list)):
            return [self.digest(x) for x in value]
        if isinstance(value, (set, frozenset)):
            return sorted(self.digest(x) for x in value)
        if isinstance(value, enum.Enum):
            return [value.name]
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.dtype)):
            return [repr(value)]
        if hasattr(value, "__array__"):
            return [_array(value)]
        if isinstance(value, functools.partial):
            return [self.digest(x) for x in (value.func, value.args, value.keywords)]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return [self.digest(getattr(value, field.name)) for field in dataclasses.fields(value)]
        if hasattr(value, "__qualname__"):
            return [str(value.__module__), value.__qualname__]
        return [re.sub("0x[0-9a-f]+", "", repr(value))]  # addresses differ between processes

    def _program(self, program: jaxprs.Program) -> bytes:
        numbers: dict[Any, int] = {}

        def place(atom: Any, type_: Any) -> bytes:
            if isinstance(atom, jaxprs.Literal):
                return joined("literal", _type(type_), self.digest(atom.value))
            number = numbers.setdefault(atom, len(numbers))
            return joined(str(number), _type(type_))

        def places(atoms: Sequence[Any], types: Sequence[Any]) -> list[bytes]:
            return list(map(place, atoms, types))

        given = places(program.variables, program.variable_types) + places(program.inputs, program.input_types)
        parts = [joined("inputs", *given)]
        for equation in program.equations:
            inputs = joined(*places(equation.operands, equation.inputs))
            outputs = joined(*places(equation.results, equation.outputs))
            split = str(getattr(equation.context, "threefry_partitionable", None))
            parts.append(joined(equation.name, inputs, outputs, self.digest(dict(equation.params)), split))
        return joined("jaxpr", *parts, joined("outputs", *places(program.outputs, program.output_types)))


def joined(*parts: bytes | str) -> bytes:
    """Digest of parts, each prefixed by its length, so that different divisions have different digests."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def _type(value: Any) -> bytes:
    known = [str(getattr(value, name, None)) for name in ("shape", "dtype", "weak_type")]
    return joined(type(value).__name__, *known)


def _array(value: Any) -> bytes:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return joined(str(value.dtype), _array(jax.random.key_data(value)))
    array = np.asarray(value)
    return joined(str(array.dtype), str(array.shape), array.tobytes())
