"""Arrays of one run, as NumPy arrays of values. The axis of the arms, if there is one, has a single entry: a vector."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jaxbandit.engine.kernels.arms import Arm, ArmCode
from jaxbandit.engine.kernels.ptx import TYPES, Atom, NoRule, Vector, compound, const
from jaxbandit.support.types import ArrayLike

Values = Any  # NumPy array of `Value`
Shape = Sequence[int]
MOST = 4096  # largest number of entries of an array that is written out
UNPACKED = 64  # largest number of arms that are written out for an operation that has no rule for vectors


def axis_of_arms(code: ArmCode, shape: Shape) -> int | None:
    """The axis along the arms."""
    return tuple(shape).index(code.arms) if code.arms in shape else None


def physical(code: ArmCode, shape: Shape) -> tuple[int, ...]:
    """The shape of the array of values for an array of this shape."""
    if sum(size == code.arms for size in shape) > 1:
        raise NoRule(f"an array of shape {list(shape)}, with two axes of arms")
    return tuple(1 if size == code.arms else size for size in shape)


def array(shape: Shape, entry: Callable[[tuple[int, ...]], Any]) -> Values:
    """The array with these entries."""
    if math.prod(shape) > MOST:
        raise NoRule(f"an array of shape {list(shape)}")
    out = np.empty(tuple(shape), object)
    for index in np.ndindex(*shape):
        out[index] = entry(index)
    return out


def apply(function: Callable[..., Any], *arrays: Values) -> Values:
    """A function of the entries of arrays, which are broadcast."""
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    arrays = tuple(np.broadcast_to(a, shape) for a in arrays)
    return array(shape, lambda i: function(*(a[i] for a in arrays)))


def type_of(described: Any) -> str:
    """The type in PTX of what has a dtype; complex64 and key<fry4> are compounds."""
    name = str(described.dtype)
    if name in ("complex64", "key<fry4>"):
        return name
    if name.startswith("key<") or np.dtype(described.dtype) not in TYPES:
        raise NoRule(f"numbers of type {name}")
    return TYPES[np.dtype(described.dtype)]


def constant(code: ArmCode, x: ArrayLike) -> Values:
    """An array of constants."""
    x = np.asarray(x)
    x = x.astype(jax.dtypes.canonicalize_dtype(x.dtype))  # JAX keeps a number of Python as it is
    type = type_of(x)
    return pack(code, array(x.shape, lambda i: const(type, x[i])))


def pack(code: ArmCode, x: Values) -> Values:
    """An array whose axis of arms is written out, with vectors for it."""
    axis = axis_of_arms(code, x.shape)
    if axis is None:
        return x
    physical(code, x.shape)
    rows = np.moveaxis(x, axis, -1)

    def vector(index: tuple[int, ...]) -> Any:
        row = rows[index]
        if isinstance(row[0].value, tuple):
            return compound(row[0].type, [code.table(part) for part in zip(*(a.value for a in row), strict=True)])
        return code.table(list(row))

    return np.expand_dims(array(rows.shape[:-1], vector), axis)


def unpack(code: ArmCode, x: Values, shape: Shape) -> Values:
    """An array of this shape with its axis of arms written out."""
    axis = axis_of_arms(code, shape)
    if axis is None:
        return x
    assert code.arms is not None
    if code.arms > UNPACKED:
        raise NoRule("an operation along many arms")
    arms = [Arm(None, k) for k in range(code.arms)]

    def entries(a: Any) -> list[Atom]:
        if isinstance(a.value, tuple):
            return [compound(a.type, parts) for parts in zip(*map(entries, a.value), strict=True)]
        return code.values([a], arms)[0] if isinstance(a, Vector) else [a] * len(arms)

    x = x.squeeze(axis)
    out = np.empty((*x.shape, code.arms), object)
    for i in np.ndindex(*x.shape):
        out[i] = entries(x[i])
    return np.moveaxis(out, -1, axis)
