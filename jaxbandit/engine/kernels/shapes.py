"""How operations on shapes are written: what is moved, cut out, looked up and replaced, with or without vectors."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxbandit.engine.kernels.arms import ArmCode, choice
from jaxbandit.engine.kernels.arrays import Shape, Values, apply, array, axis_of_arms, physical, type_of
from jaxbandit.engine.kernels.ptx import Atom, NoRule, Value, Vector, const
from jaxbandit.engine.kernels.reductions import reduce
from jaxbandit.engine.kernels.rules import Operands, rule
from jaxbandit.engine.layout.jaxprs import Equation

FILL: dict[str, Any] = {"f32": np.nan, "s32": -(2**31), "u32": 2**32 - 1, "pred": True}  # for what is out of range
CUMULATIVE = {"cumsum": "add", "cummax": "max", "cummin": "min", "cumprod": "mul"}


def _slice(e: Equation, x: np.ndarray) -> np.ndarray:
    starts, limits, steps = (e.params[name] for name in ("start_indices", "limit_indices", "strides"))
    return x[tuple(map(slice, starts, limits, steps or [1] * x.ndim))]


def _pad(e: Equation, x: np.ndarray, value: np.ndarray) -> np.ndarray:
    padding, whole = e.params["padding_config"], np.full(e.outputs[0].shape, value)
    if any(low < 0 or high < 0 or between for low, high, between in padding):
        raise NoRule("a pad that cuts or spreads")
    whole[tuple(slice(low, low + n) for (low, _, _), n in zip(padding, x.shape, strict=True))] = x
    return whole


def _broadcast(e: Equation, x: np.ndarray) -> np.ndarray:
    shape, axes = e.outputs[0].shape, e.params["broadcast_dimensions"]
    return np.broadcast_to(np.expand_dims(x, [i for i in range(len(shape)) if i not in axes]), shape)


# Operations that only move entries: their results as functions of the operation and arrays of NumPy.
MOVES: dict[str, Callable[..., Sequence[np.ndarray]]] = {
    "broadcast_in_dim": lambda e, x: [_broadcast(e, x)],
    "reshape squeeze expand_dims": lambda e, x: [x.reshape(e.outputs[0].shape)],
    "transpose": lambda e, x: [x.transpose(e.params["permutation"])],
    "concatenate": lambda e, *xs: [np.concatenate(xs, e.params["dimension"])],
    "stack": lambda e, *xs: [np.stack(xs, e.params["axis"])],
    "unstack": lambda e, x: list(np.moveaxis(x, e.params["axis"], 0)),
    "slice": lambda e, x: [_slice(e, x)],
    "pad": lambda e, x, value: [_pad(e, x, value)],
}


def _move(code: ArmCode, e: Equation, xs: Operands, move: Callable[..., Sequence[np.ndarray]]) -> list[Values] | None:
    """Moves integers that stand for the operands: n (arms + 1) for value n, and k + 1 more for arm k of a vector.

    A row of the result along the arms is value n if all its integers have this n, and each arm is at its place or none.
    """
    base, pool, given, first = (code.arms or 0) + 1, np.concatenate([x.reshape(-1) for x in xs]), [], 0
    for x, described in zip(xs, e.inputs, strict=True):
        given.append(np.arange(first, first + x.size).reshape(x.shape) * base + _arms(code, described.shape))
        first += x.size
    results = []
    for result in move(e, *given):
        number, arm = np.divmod(result, base)
        row = number[tuple(map(slice, physical(code, result.shape)))]
        if not np.all((number == row) & ((arm == 0) | (arm == _arms(code, result.shape)))):
            return None
        results.append(pool[row.reshape(-1)].reshape(row.shape))
    return results


def _arms(code: ArmCode, shape: Shape) -> Any:
    """Along the axis of the arms 1, 2, ..., or 0 without it."""
    axis = axis_of_arms(code, shape)
    return 0 if axis is None else np.indices(shape, sparse=True)[axis] + 1


for _names, _function in MOVES.items():
    rule(*_names.split())(functools.partial(_move, move=_function))


@rule("iota")
def _iota(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    (out,), axis = e.outputs, e.params["dimension"]
    type, along = type_of(out), axis == axis_of_arms(code, out.shape)
    shape = physical(code, out.shape)
    return [array(shape, lambda i: code.convert(code.index(), type) if along else const(type, i[axis]))]


@rule("dot_general")
def _dot(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    """Products are added in their order with one rounding each; over the arms they are summed as every sum."""
    (left, right), (batch, _) = e.params["dimension_numbers"]
    if batch or type_of(e.outputs[0]) != "f32":
        raise NoRule("a product of batches, or of integers")
    (x, y), along = xs, axis_of_arms(code, e.inputs[0].shape) in left
    rest = [[i for i in range(a.ndim) if i not in axes] for a, axes in ((x, left), (y, right))]
    a = x.transpose(*rest[0], *left).reshape(*[x.shape[i] for i in rest[0]], -1)
    b = y.transpose(*rest[1], *right).reshape(*[y.shape[i] for i in rest[1]], -1)

    def entry(i: tuple[int, ...]) -> Value:
        row, column = a[i[: len(rest[0])]], b[i[len(rest[0]) :]]
        total = code.binary("mul", row[0], column[0])
        for u, v in zip(row[1:], column[1:], strict=True):
            total = code.fma(u, v, total)
        return reduce(code, "add", total) if along else total

    return [array((*a.shape[:-1], *b.shape[:-1]), entry)]


@rule("dynamic_slice")
def _dynamic_slice(code: ArmCode, e: Equation, xs: Operands) -> list[Values] | None:
    x, along = xs[0], axis_of_arms(code, e.inputs[0].shape)
    for axis, (start, size) in enumerate(zip(xs[1:], e.params["slice_sizes"], strict=True)):
        if axis != along:
            x = _rows(code, x, axis, code.clip(start[()], x.shape[axis] - size), size)
        elif size == 1:
            place = code.clip(start[()], e.inputs[0].shape[axis] - 1)
            x = apply(lambda a, place=place: code.at(a, place), x)
        elif size != code.arms:
            return None
    return [x]


@rule("dynamic_update_slice")
def _dynamic_update_slice(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    x, new, *starts = xs
    whole, part = e.inputs[0].shape, e.inputs[1].shape
    cut = [axis for axis in range(x.ndim) if part[axis] != whole[axis]]
    if any(part[axis] != 1 for axis in cut):
        raise NoRule("an update of several rows")
    places = {axis: code.clip(starts[axis][()], whole[axis] - 1) for axis in cut}
    along = next((axis for axis in cut if whole[axis] == code.arms), None)

    def entry(i: tuple[int, ...]) -> Value:
        value = new[tuple(0 if axis in cut else i[axis] for axis in range(x.ndim))]
        hit = const("pred", True)
        for axis in cut:
            if axis != along:
                here = code.compare("eq", places[axis], const(places[axis].type, i[axis]))
                hit = code.binary("and", hit, here)
        if along is None or (hit.value is not None and not hit.value):
            return code.select(hit, value, x[i])
        value = value if hit.value is not None else code.select(hit, value, code.at(x[i], places[along]))
        return code.vector(x[i].type, "update", x[i], places[along], value)

    return [array(x.shape, entry)]


@rule("gather")
def _gather(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    x, index = xs
    shape, out, d, mode = e.inputs[0].shape, e.outputs[0].shape, e.params["dimension_numbers"], _mode(e)
    axes = d.start_index_map
    if d.operand_batching_dims or len(axes) != 1 or tuple(d.collapsed_slice_dims) not in ((), tuple(axes)):
        raise NoRule("a gather of several axes")
    (axis,) = axes
    if tuple(e.params["slice_sizes"]) != (*shape[:axis], 1, *shape[axis + 1 :]):
        raise NoRule("a gather of parts")
    index = index[..., 0]

    def row(place: Any) -> Values:
        inside = place if mode == "PROMISE_IN_BOUNDS" else code.clip(place, shape[axis] - 1)
        if shape[axis] != code.arms:
            if isinstance(inside, Vector):
                raise NoRule("another place for every arm")
            values = _rows(code, x, axis, inside, 1)
        elif isinstance(inside, Vector):
            values = apply(lambda a: code.vector(a.type, "at", a, inside) if isinstance(a, Vector) else a, x)
        else:
            values = apply(lambda a: code.at(a, inside), x)
        values = values.squeeze(axis) if d.collapsed_slice_dims else values
        if mode != "FILL_OR_DROP":
            return values
        valid = code.compare("eq", inside, place)
        given = e.params["fill_value"]
        return apply(lambda a: code.select(valid, a, const(a.type, FILL[a.type] if given is None else given)), values)

    rows = {i: row(index[i]) for i in np.ndindex(*index.shape)}
    batch = [i for i in range(len(out)) if i not in d.offset_dims]

    def entry(i: tuple[int, ...]) -> Value:
        return rows[tuple(i[axis] for axis in batch)][tuple(i[axis] for axis in d.offset_dims)]

    return [array(physical(code, out), entry)]


@rule("scatter", "scatter-add")
def _scatter(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    x, index, new = xs
    shape, d, mode, adds = e.inputs[0].shape, e.params["dimension_numbers"], _mode(e), e.name == "scatter-add"
    axes = d.scatter_dims_to_operand_dims
    if d.operand_batching_dims or len(axes) != 1 or tuple(d.inserted_window_dims) != tuple(axes) or index.shape != (1,):
        raise NoRule("a scatter of several entries")
    (axis,), place = axes, index[0]
    if isinstance(place, Vector):
        raise NoRule("a scatter to every arm")
    if mode == "CLIP":
        place = code.clip(place, shape[axis] - 1)
    along = shape[axis] == code.arms

    def entry(i: tuple[int, ...]) -> Value:
        value = new[tuple(v for a, v in enumerate(i) if a != axis)]
        if along and mode != "FILL_OR_DROP":
            value = code.binary("add", code.at(x[i], place), value) if adds else value
            return code.vector(x[i].type, "update", x[i], place, value)
        number = code.index() if along else const(place.type, i[axis])  # no update if it is out of range
        hit = code.compare("eq", code.convert(number, place.type), place)
        return code.select(hit, code.binary("add", x[i], value) if adds else value, x[i])

    return [array(x.shape, entry)]


@rule(*CUMULATIVE)
def _cumulative(code: ArmCode, e: Equation, xs: Operands) -> list[Values] | None:
    axis = e.params["axis"]
    if axis == axis_of_arms(code, e.inputs[0].shape):
        return None
    x = np.moveaxis(xs[0], axis, 0)[:: -1 if e.params["reverse"] else 1]
    rows = [x[:1]]
    for k in range(1, len(x)):
        rows.append(apply(lambda a, b: code.binary(CUMULATIVE[e.name], a, b), rows[-1], x[k : k + 1]))
    return [np.moveaxis(np.concatenate(rows)[:: -1 if e.params["reverse"] else 1], 0, axis)]


def _mode(e: Equation) -> str:
    """What happens to an index out of range: CLIP, FILL_OR_DROP, PROMISE_IN_BOUNDS."""
    return str(e.params["mode"]).rsplit(".", 1)[-1]


def _rows(code: ArmCode, x: Values, axis: int, start: Atom, size: int) -> Values:
    """x[start : start + size] along an axis, for a start in range."""
    number = x.shape[axis] - size + 1
    if number == 1:
        return x
    parts = [np.take(x, range(s, s + size), axis) for s in range(number)]
    return array(parts[0].shape, lambda i: choice(code, start, [part[i] for part in parts]))
