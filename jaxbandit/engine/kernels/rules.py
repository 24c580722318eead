"""How an operation that JAX traces is written: elementwise operations, reductions and random words.

A rule takes the code, the operation and its operands, and returns its results, all as arrays of values, or None if it
has none for vectors of arms. What has no rule at all raises `NoRule`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from jaxbandit.engine.kernels import libm, random, rounding
from jaxbandit.engine.kernels.arms import ArmCode
from jaxbandit.engine.kernels.arrays import Values, apply, array, axis_of_arms, physical, type_of
from jaxbandit.engine.kernels.ptx import NoRule, Value, Vector, compound, const
from jaxbandit.engine.kernels.reductions import argmax, fold, reduce
from jaxbandit.engine.layout.jaxprs import Equation

Operands = list[Values]
Rule = Callable[[ArmCode, Equation, Operands], Sequence[Values] | None]
RULES: dict[str, Rule] = {}
REDUCTIONS = {"reduce_sum": "add", "reduce_prod": "mul"} | {f"reduce_{x}": x for x in ("max", "min", "and", "or")}
ROUNDINGS = {"floor": "rmi", "ceil": "rpi", "round": "rni"}
TO_EVEN = 1  # a rounding method of `round`
SHIFTS = {"shift_left": ("shl", None), "shift_right_logical": ("shr", "u32"), "shift_right_arithmetic": ("shr", "s32")}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Return a decorator that registers a rule for operations of these names."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def _power(code: ArmCode, a: Value, n: int) -> Value:
    if n < 0:
        return code.binary("div", const(a.type, 1), _power(code, a, -n))
    if n < 2:
        return a if n else const(a.type, 1)
    half = _power(code, a, n // 2)
    square = code.binary("mul", half, half)
    return code.binary("mul", square, a) if n % 2 else square


def _round(code: ArmCode, e: Equation, a: Value) -> Value:
    if e.name == "round" and int(e.params["rounding_method"]) != TO_EVEN:
        raise NoRule("rounding of halves away from zero")
    return code.round_to(ROUNDINGS[e.name], a)


def _sign(code: ArmCode, e: Equation, a: Value) -> Value:
    zero = const(a.type, 0)
    positive = code.select(code.compare("gt", a, zero), const(a.type, 1), a)  # 0, -0 and NaN as they are
    return positive if a.type == "u32" else code.select(code.compare("lt", a, zero), const(a.type, -1), positive)


def _shift(code: ArmCode, e: Equation, a: Value, b: Value) -> Value:
    if a.type not in ("s32", "u32"):
        raise NoRule(f"{e.name} of {a.type}")
    name, type = SHIFTS[e.name]
    return code.convert(code.shift(name, code.convert(a, type or a.type), b), a.type)


# Operations by name, as functions of the code, the operation and one entry of each operand.
ENTRIES: dict[str, Callable[..., Value]] = {
    "neg abs not": lambda code, e, a: code.unary(e.name, a),
    "add sub mul max min and or xor": lambda code, e, a, b: code.binary(e.name, a, b),
    "eq ne lt le gt ge": lambda code, e, a, b: code.compare(e.name, a, b),
    "log exp log1p expm1 logistic erf_inv sin cos": lambda code, e, a: getattr(libm, e.name)(code, a),
    "square": lambda code, e, a: code.binary("mul", a, a),
    "integer_pow": lambda code, e, a: _power(code, a, e.params["y"]),
    "rsqrt": lambda code, e, a: code.binary("div", const("f32", 1), code.unary("sqrt", a)),
    "floor ceil round": _round,
    "sign": _sign,
    "is_finite": lambda code, e, a: code.compare("lt", code.unary("abs", a), const(a.type, np.inf)),
    "convert_element_type": lambda code, e, a: code.convert(a, type_of(e.outputs[0])),
    "bitcast_convert_type": lambda code, e, a: code.bitcast(a, type_of(e.outputs[0])),
    "clamp": lambda code, e, low, a, high: code.binary("min", code.binary("max", a, low), high),
    "shift_left shift_right_logical shift_right_arithmetic": _shift,
    "complex": lambda code, e, real, imaginary: compound("complex64", (real, imaginary)),
    "real imag": lambda code, e, a: a.value[e.name == "imag"],
}


def _by_entries(function: Callable[..., Value]) -> Rule:
    return lambda code, e, xs: [apply(lambda *each: function(code, e, *each), *xs)]


for _names, _function in ENTRIES.items():
    rule(*_names.split())(_by_entries(_function))


@rule("stop_gradient", "copy", "copy_p", "optimization_barrier")
def _same(code: ArmCode, e: Equation, xs: Operands) -> Operands:
    return xs


@rule("rem")
def _remainder(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    if type_of(e.outputs[0]) == "f32":
        raise NoRule("the remainder of floating-point numbers")
    return [apply(lambda a, b: _integer_division(code, "rem", a, b), *xs)]


@rule("div", "sqrt")
def _quotient_or_root(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    if type_of(e.outputs[0]) != "f32":
        return [apply(lambda a, b: _integer_division(code, "div", a, b), *xs)]
    shape = physical(code, e.outputs[0].shape)
    operands = list(zip(*(np.broadcast_to(x, shape).flat for x in xs), strict=True))
    if any(isinstance(x, Vector) for each in operands for x in each):
        return [apply(lambda *each: (code.binary if len(each) == 2 else code.unary)(e.name, *each), *xs)]
    done = iter(rounding.compute(code, e.name, operands))
    return [array(shape, lambda _: next(done))]


@rule("select_n")
def _select(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    if len(xs) != 3 or type_of(e.inputs[0]) != "pred":
        raise NoRule("a choice among more than two arrays")
    return [apply(lambda p, no, yes: code.select(p, yes, no), *xs)]


@rule(*REDUCTIONS)
def _reduce(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    x, axes, name = xs[0], tuple(e.params["axes"]), REDUCTIONS[e.name]
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = physical(code, e.outputs[0].shape)
    rows = x.transpose(*kept, *axes).reshape(*shape, -1)
    done = array(shape, lambda i: fold(code, name, list(rows[i])))
    along = axis_of_arms(code, e.inputs[0].shape) in axes
    return [apply(lambda a: reduce(code, name, a), done) if along else done]


@rule("argmax", "argmin")
def _argmax(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    (axis,), largest, type = e.params["axes"], e.name == "argmax", type_of(e.outputs[0])
    rows, along = np.moveaxis(xs[0], axis, -1), axis_of_arms(code, e.inputs[0].shape)
    if along == axis:
        return [array(rows.shape[:-1], lambda i: argmax(code, rows[i][0], largest, type))]
    return [array(rows.shape[:-1], lambda i: _argmax_of_few(code, rows[i], largest, type))]


@rule("random_wrap")
def _wrap(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    if str(getattr(e.params["impl"], "tag", e.params["impl"])) not in ("fry4", random.KEY):
        raise NoRule("keys of another generator than threefry4x32")
    return [random.wrap(xs[0])]


@rule("random_unwrap")
def _unwrap(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    _check_keys(e)
    return [array((*xs[0].shape, 4), lambda i: xs[0][i[:-1]].value[i[-1]])]


@rule("random_fold_in")
def _fold_in(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    _check_keys(e)
    return [random.fold_in(code, *xs)]


@rule("random_split", "random_bits")
def _words(code: ArmCode, e: Equation, xs: Operands) -> list[Values]:
    _check_keys(e)
    if e.inputs[0].shape or e.params.get("bit_width", 32) != 32:
        raise NoRule("several keys, or bits of another width")
    function = random.split if e.name == "random_split" else random.bits
    return [function(code, xs[0][()], e.params["shape"])]


def _check_keys(e: Equation) -> None:
    if type_of(e.inputs[0]) != random.KEY:
        raise NoRule("keys of another generator than threefry4x32")


def _integer_division(code: ArmCode, name: str, a: Value, b: Value) -> Value:
    """The quotient or remainder towards 0; of 0 they are -1 and a, as XLA defines them, and of -1 nothing overflows."""
    zero = code.compare("eq", b, const(b.type, 0))
    unusual = zero if b.type == "u32" else code.binary("or", zero, code.compare("eq", b, const(b.type, -1)))
    usual = code.binary(name, a, code.select(unusual, const(b.type, 1), b))
    if name == "div":
        if b.type != "u32":
            usual = code.select(unusual, code.unary("neg", a), usual)
        return code.select(zero, const(b.type, -1 if b.type == "s32" else 2**32 - 1), usual)
    return code.select(zero, a, code.select(unusual, const(b.type, 0), usual))


def _argmax_of_few(code: ArmCode, row: Values, largest: bool, type: str) -> Value:
    """The number of the first extreme entry of a row that is written out; the first NaN is the extreme."""
    best, index = row[0], const(type, 0)
    for k, x in list(enumerate(row))[1:]:
        ahead = code.compare("gt" if largest else "lt", x, best)
        if best.type == "f32":
            ahead = code.binary("or", ahead, code.compare("ne", x, x))
            ahead = code.binary("and", ahead, code.compare("eq", best, best))
        best, index = code.select(ahead, x, best), code.select(ahead, const(type, k), index)
    return index
