"""Elementary functions in float32 by correctly rounded operations, so that their bits do not depend on the GPU.

Their largest errors against float64 are .94 ulp (log), 1.03 (exp), 1.4 (log1p), 2.4 (expm1, logistic), 3.5 (erf_inv),
and 1e-7 absolutely (sin, cos). Coefficients without a source were fitted by least squares of the relative error,
reweighted towards the smallest maximum, on Chebyshev nodes.
"""

from collections.abc import Sequence

import numpy as np

from jaxbandit.engine.kernels.operations import Code
from jaxbandit.engine.kernels.ptx import Atom, Value, const

# (log(1 + r) - r + r^2 / 2) / r^3 for |r| <= 1/3, and (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2.
LOG = (0.33333224, -0.24999689, 0.20010044, -0.16685468, 0.1401092, -0.12115106, 0.13962461, -0.13191688)
EXP = (0.5, 0.16666518, 0.041666206, 0.008368888, 0.0013950482)
# Giles: for w = -log(1 - x^2), polynomials of w - 2.5 below 5, and of sqrt(w) - 3 above.
ERF_INV_CENTRE = (
    *(1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087),
    *(-4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08),
)
ERF_INV_TAIL = (
    *(2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773),
    *(-0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257),
)
# (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4 as polynomials of r^2 for |r| <= pi / 4.
SIN = (-0.16666667, 0.0083333291, -0.00019839335, 2.7183114e-06)
COS = (0.041666668, -0.0013888883, 2.4799519e-05, -2.7210234e-07)
HALF_PI = (1.5703125, 4.8351287841796875e-4, 3.1391647e-07)  # products of the first two with an integer are exact
FARTHEST = 2.0**14
# log(2) in two parts, of which the first has so few bits that its products with exponents are exact.
LOG2_HIGH = 0.693359375
LOG2_LOW = -2.1219444e-4
SMALLEST_NORMAL = 2.0**-126


def _f(x: float) -> Atom:
    return const("f32", x)


def _i(x: int) -> Atom:
    return const("s32", x)


def polynomial(code: Code, coefficients: Sequence[float], x: Value) -> Value:
    """The polynomial by Horner's rule."""
    total: Value = _f(coefficients[-1])
    for c in coefficients[-2::-1]:
        total = code.fma(total, x, _f(c))
    return total


def log(code: Code, x: Value) -> Value:
    """The natural logarithm, of subnormal numbers too; 0 -> -inf, negative -> NaN, inf -> inf."""
    small = code.compare("lt", x, _f(SMALLEST_NORMAL))
    scaled = code.select(small, code.binary("mul", x, _f(2.0**23)), x)
    bits = code.bitcast(scaled, "s32")
    exponent = code.binary("and", code.binary("sub", bits, _i(0x3F2AAAAB)), _i(-0x800000))
    mantissa = code.bitcast(code.binary("sub", bits, exponent), "f32")  # in [2/3, 4/3)
    k = code.fma(code.convert(exponent, "f32"), _f(2.0**-23), code.select(small, _f(-23.0), _f(0.0)))
    r = code.binary("sub", mantissa, _f(1.0))
    rest = code.fma(polynomial(code, LOG, r), r, _f(-0.5))
    rest = code.fma(rest, code.binary("mul", r, r), r)
    y = code.fma(k, _f(LOG2_HIGH), code.fma(k, _f(LOG2_LOW), rest))
    positive = code.compare("gt", x, _f(0.0))
    usual = code.binary("and", positive, code.compare("lt", x, _f(np.inf)))
    unusual = code.select(positive, _f(np.inf), _f(np.nan))
    return code.select(usual, y, code.select(code.compare("eq", x, _f(0.0)), _f(-np.inf), unusual))


def exp(code: Code, x: Value) -> Value:
    """The exponential; it underflows to 0 and overflows to inf as the exact one does."""
    bounded = code.binary("min", code.binary("max", x, _f(-104.0)), _f(89.0))
    j = code.round_to("rni", code.binary("mul", bounded, _f(1.4426950408889634)))
    r = code.fma(j, _f(-LOG2_LOW), code.fma(j, _f(-LOG2_HIGH), bounded))
    p = code.fma(polynomial(code, EXP, r), code.binary("mul", r, r), r)
    p = code.binary("add", p, _f(1.0))
    n = code.convert(j, "s32")
    half = code.shift("shr", n, _i(1))  # 2^n in two factors, because it may not be a normal number

    def power_of_two(k: Value) -> Value:
        return code.bitcast(code.shift("shl", code.binary("add", k, _i(127)), _i(23)), "f32")

    return code.binary("mul", code.binary("mul", p, power_of_two(half)), power_of_two(code.binary("sub", n, half)))


def log1p(code: Code, x: Value) -> Value:
    """log(u) for u = 1 + x as rounded, with the correction (x - (u - 1)) / u (Kahan)."""
    one = _f(1.0)
    u = code.binary("add", one, x)
    rest = code.binary("div", code.binary("sub", x, code.binary("sub", u, one)), u)
    value = code.binary("add", log(code, u), code.select(_is_usual(code, u), rest, _f(0.0)))
    return code.select(code.compare("eq", u, one), x, value)


def expm1(code: Code, x: Value) -> Value:
    """(u - 1) x / log(u) for u = exp(x) as rounded (Kahan)."""
    one = _f(1.0)
    u = exp(code, x)
    less = code.binary("sub", u, one)
    value = code.binary("mul", less, code.binary("div", x, log(code, u)))
    return code.select(code.compare("eq", u, one), x, code.select(_is_usual(code, u), value, less))


def _is_usual(code: Code, u: Value) -> Value:
    return code.binary("and", code.compare("gt", u, _f(0.0)), code.compare("lt", u, _f(np.inf)))


def logistic(code: Code, x: Value) -> Value:
    """1 / (1 + exp(-x))."""
    return code.binary("div", _f(1.0), code.binary("add", _f(1.0), exp(code, code.unary("neg", x))))


def erf_inv(code: Code, x: Value) -> Value:
    """The inverse of the error function (Giles 2010, table 5); 1 -> inf, -1 -> -inf, larger -> NaN."""
    w = code.unary("neg", log(code, code.fma(code.unary("neg", x), x, _f(1.0))))  # 1 - x^2 with one rounding
    centre = polynomial(code, ERF_INV_CENTRE, code.binary("sub", w, _f(2.5)))
    tail = polynomial(code, ERF_INV_TAIL, code.binary("sub", code.unary("sqrt", w), _f(3.0)))
    y = code.binary("mul", code.select(code.compare("lt", w, _f(5.0)), centre, tail), x)
    ends = code.compare("eq", code.unary("abs", x), _f(1.0))
    return code.select(ends, code.binary("mul", x, _f(np.inf)), y)


def sin(code: Code, x: Value) -> Value:
    """The sine, NaN beyond FARTHEST, where the reduction to a quarter of a turn would lose bits."""
    return _sine(code, x, 0)


def cos(code: Code, x: Value) -> Value:
    """The cosine, NaN beyond FARTHEST."""
    return _sine(code, x, 1)


def _sine(code: Code, x: Value, quarters: int) -> Value:
    """The sine of x + quarters pi / 2."""
    j = code.round_to("rni", code.binary("mul", x, _f(2 / np.pi)))
    r = x
    for part in HALF_PI:
        r = code.fma(j, _f(-part), r)
    z = code.binary("mul", r, r)
    sine = code.fma(code.binary("mul", r, z), polynomial(code, SIN, z), r)
    cosine = code.fma(code.binary("mul", z, z), polynomial(code, COS, z), code.fma(z, _f(-0.5), _f(1.0)))
    turn = code.binary("add", code.convert(j, "s32"), _i(quarters))

    def has(bit: int) -> Value:
        return code.compare("ne", code.binary("and", turn, _i(bit)), _i(0))

    y = code.select(has(1), cosine, sine)
    y = code.select(has(2), code.unary("neg", y), y)
    return code.select(code.compare("le", code.unary("abs", x), _f(FARTHEST)), y, _f(np.nan))
