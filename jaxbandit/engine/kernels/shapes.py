"""How operations on shapes are written: what is moved, cut out, looked up and replaced, with or without vectors."""

from typing import Any

import numpy as np

from jaxbandit.engine.kernels.arms import ArmCode, choice
from jaxbandit.engine.kernels.arrays import Values, apply, array, axis_of_arms, physical, type_of
from jaxbandit.engine.kernels.ptx import Atom, NoRule, Value, Vector, const
from jaxbandit.engine.kernels.reductions import reduce
from jaxbandit.engine.kernels.rules import Operands, rule
from jaxbandit.engine.layout.jaxprs import Equation

FILL: dict[str, Any] = {"f32": np.nan, "s32": -(2**31), "u32": 2**32 - 1, "pred": True}  # for what is out of range
CUMULATIVE = {"cumsum": "add", "cummax": "max", "cummin": "min", "cumprod": "mul"}


def _along(code: ArmCode, e: Equation) -> tuple[int | None, int | None]:
    """The axes of arms of the first operand and of the result."""
    return axis_of_arms(code, e.inputs[0].shape), axis_of_arms(code, e.outputs[0].shape)


def _written_out(code: ArmCode, e: Equation) -> bool:
    """Whether no operand and no result has an axis of arms, or all are written out."""
    return all(axis_of_arms(code, x.shape) is None for x in (*e.inputs, *e.outputs))


@rule("broadcast_in_dim")
def _broadcast(code: ArmCode, e: Equation, xs: Operands) -> list[Values] | None:
    shape, axes = physical(code, e.outputs[0].shape), e.params["broadcast_dimensions"]
    of, to = _along(code, e)
    if of is not None and axes[of] != to:
        return None
    inner = [1] * len(shape)
    for axis, size in zip(axes, xs[0].shape, strict=True):
        inner[axis] = size
    return [np.broadcast_to(xs[0].reshape(inner), shape)]


@rule("reshape", "squeeze", "expand_dims")
def _reshape(code: ArmCode, e: Equation, xs: Operands) -> list[Values] | None:
    of, to = _along(code, e)
    return None if (of is None) != (to is None) else [xs[0].reshape(physical(code, e.outputs[0].shape))]


@rule("transpose")
def _transpose(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    return [xs[0].transpose(e.params["permutation"])]


@rule("concatenate")
def _concatenate(code: ArmCode, e: Equation, xs: Operands) -> list[Values] | None:
    axis, shape = e.params["dimension"], physical(code, e.outputs[0].shape)
    if axis in (axis_of_arms(code, x.shape) for x in (*e.inputs, *e.outputs)):
        return None
    whole = [np.broadcast_to(x, (*shape[:axis], x.shape[axis], *shape[axis + 1 :])) for x in xs]
    return [np.concatenate(whole, axis)]


@rule("stack")
def _stack(code: ArmCode, e: Equation, xs: Operands) -> list[Values] | None:
    axis = e.params["axis"]
    return None if _along(code, e)[1] == axis else [np.stack(xs, axis)]


@rule("slice")
def _slice(code: ArmCode, e: Equation, xs: Operands) -> list[Values] | None:
    of, to = _along(code, e)
    if of != to:
        return None
    starts, limits = e.params["start_indices"], e.params["limit_indices"]
    steps = e.params["strides"] or [1] * len(starts)
    parts = [slice(None) if i == of else slice(*each) for i, each in enumerate(zip(starts, limits, steps, strict=True))]
    return [xs[0][tuple(parts)]]


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


@rule("pad")
def _pad(code: ArmCode, e: Equation, xs: Operands) -> list[Values] | None:
    if not _written_out(code, e):
        return None
    padding = e.params["padding_config"]
    if any(low < 0 or high < 0 or between for low, high, between in padding):
        raise NoRule("a pad that cuts or spreads")
    whole = np.broadcast_to(xs[1], e.outputs[0].shape).copy()
    whole[tuple(slice(low, low + n) for (low, _, _), n in zip(padding, xs[0].shape, strict=True))] = xs[0]
    return [whole]


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


@rule("unstack")
def _unstack(code: ArmCode, e: Equation, xs: Operands) -> list[Values] | None:
    axis = e.params["axis"]
    if axis == axis_of_arms(code, e.inputs[0].shape):
        return None
    return [
        np.take(xs[0], k, axis) if xs[0].ndim > 1 else xs[0][k : k + 1].reshape(()) for k in range(xs[0].shape[axis])
    ]


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
