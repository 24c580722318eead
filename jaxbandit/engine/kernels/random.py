"""Random words of the generator threefry4x32 (Salmon et al. 2011), as `jax.random` derives them from keys."""

import math
from collections.abc import Sequence

from jaxbandit.engine.kernels.arms import ArmCode
from jaxbandit.engine.kernels.arrays import Shape, Values, apply, array, physical
from jaxbandit.engine.kernels.ptx import Atom, Value, compound, const

ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
KEY = "key<fry4>"
PARITY = 0x1BD11BDA
ZERO = const("u32", 0)


def threefry4x32(code: ArmCode, key: Sequence[Value], counter: Sequence[Value]) -> list[Value]:
    """Twenty rounds of the cipher: four words of four words of key and four of counter."""
    parity: Value = const("u32", PARITY)
    for word in key:
        parity = code.binary("xor", word, parity)
    keys = [*key, parity]
    x = [code.binary("add", c, k) for c, k in zip(counter, key, strict=True)]
    for n in range(20):
        for (i, j), by in zip(((0, 1), (2, 3)) if n % 2 == 0 else ((0, 3), (2, 1)), ROTATIONS[n % 8], strict=True):
            x[i] = code.binary("add", x[i], x[j])
            x[j] = code.binary("xor", x[i], code.rotate(x[j], by))
        if n % 4 == 3:
            s = n // 4 + 1
            x = [code.binary("add", word, keys[(s + i) % 5]) for i, word in enumerate(x)]
            x[3] = code.binary("add", x[3], const("u32", s))
    return x


def wrap(words: Values) -> Values:
    """Keys, whose words are along the last axis."""
    return array(words.shape[:-1], lambda i: compound(KEY, words[i]))


def fold_in(code: ArmCode, keys: Values, data: Values) -> Values:
    """Keys, each from a key and an integer."""

    def key(key: Atom, data: Value) -> Atom:
        return compound(KEY, threefry4x32(code, key.value, [ZERO, ZERO, ZERO, code.convert(data, "u32")]))

    return apply(key, keys, data)


def split(code: ArmCode, key: Atom, shape: Shape) -> Values:
    """Keys of this shape, from one."""
    counters = _counters(code, shape)
    return apply(lambda n: compound(KEY, threefry4x32(code, key.value, [ZERO, ZERO, ZERO, n])), counters)


def bits(code: ArmCode, key: Atom, shape: Shape) -> Values:
    """Random words, u32, in an array of this shape."""

    def word(number: Value) -> Value:
        a, b, c, d = threefry4x32(code, key.value, [ZERO, number, ZERO, ZERO])
        return code.binary("xor", code.binary("xor", a, b), code.binary("xor", c, d))

    return apply(word, _counters(code, shape))


def _counters(code: ArmCode, shape: Shape) -> Values:
    """The numbers 0, 1, ... of the entries of an array of this shape."""

    def number(index: tuple[int, ...]) -> Value:
        total: Value = ZERO
        for axis, size in enumerate(shape):
            at = code.convert(code.index(), "u32") if size == code.arms else const("u32", index[axis])
            step = const("u32", math.prod(shape[axis + 1 :]))
            total = code.binary("add", total, code.binary("mul", at, step))
        return total

    return array(physical(code, shape), number)
