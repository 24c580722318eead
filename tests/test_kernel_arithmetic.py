"""Every rule of the GPU kernel's generator by itself: small functions in the emulator against JAX and NumPy."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from kernel_parts import differences, evaluate, kernel_of_step, subnormal_numbers  # noqa: F401
from scipy import special

from jaxbandit.engine.kernels.eligible import ARITHMETIC

SPECIAL = np.float32(
    [0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 3e38, -3e38, 2**24 + 2, 2**31]
)
LIMITS = np.int32([0, 1, -1, 2, 3, 31, 32, 33, 40, 2**31 - 1, -(2**31), -(2**31) + 1, 2**30, 2**24 + 1])
LANES = 512


def floats(seed, *shape):
    """Numbers of many sizes, of which every third is special."""
    r = np.random.default_rng(seed)
    x = np.ldexp(r.uniform(-2, 2, shape), r.integers(-20, 20, shape)).astype(np.float32)
    return np.where(r.random(shape) < 0.3, r.choice(SPECIAL, shape), x)


def integers(seed, *shape):
    r = np.random.default_rng(seed)
    x = r.integers(-(2**31), 2**31, shape) >> r.integers(0, 30, shape)
    return np.where(r.random(shape) < 0.4, r.choice(LIMITS, shape), x).astype(np.int32)


def comparisons(x, y):
    return jnp.stack([f(x, y) for f in (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge)])


def test_floats():
    functions = {
        "neg": lambda x, y: -x,
        "abs": lambda x, y: jnp.abs(x),
        "sign": lambda x, y: jnp.sign(x),
        "floor": lambda x, y: jnp.floor(x),
        "ceil": lambda x, y: jnp.ceil(x),
        "round": lambda x, y: jnp.round(x),
        "square": lambda x, y: jnp.square(x),
        "power": lambda x, y: lax.integer_pow(x, 2),
        "is_finite": lambda x, y: jnp.isfinite(x),
        "sqrt": lambda x, y: jnp.sqrt(x),
        "add": lax.add,
        "sub": lax.sub,
        "mul": lax.mul,
        "div": lax.div,
        "a constant divided": lambda x, y: 3 / x,
        "max": lax.max,
        "min": lax.min,
        "clamp": lambda x, y: lax.clamp(-1.0, x, 2.0),
        "compare": comparisons,
        "select": lambda x, y: jnp.where(x < y, x, y),
        "bits": lambda x, y: lax.bitcast_convert_type(x, jnp.int32),
        "to int32": lambda x, y: x.astype(jnp.int32),
        "to bool": lambda x, y: x.astype(bool),
        "bool to float": lambda x, y: (x < y).astype(jnp.float32),
        "complex": lambda x, y: jnp.real(lax.complex(x, y)) - jnp.imag(lax.complex(y, x)),
    }
    assert differences(functions, floats(0, LANES), floats(1, LANES)) == {}


def test_integers():
    both = {
        "add": lax.add,
        "sub": lax.sub,
        "mul": lax.mul,
        "div": lax.div,
        "rem": lax.rem,
        "div by constants": lambda x, y: jnp.stack([x // 3, x // 8, x % 5]),
        "max": lax.max,
        "min": lax.min,
        "and": lax.bitwise_and,
        "or": lax.bitwise_or,
        "xor": lax.bitwise_xor,
        "not": lambda x, y: ~x,
        "shift_left": lax.shift_left,
        "shift_right_logical": lax.shift_right_logical,
        "shift_right_arithmetic": lax.shift_right_arithmetic,
        "compare": comparisons,
        "clamp": lambda x, y: jnp.clip(x, 3, 1000),
        "power": lambda x, y: lax.integer_pow(x, 3),
        "to float": lambda x, y: x.astype(jnp.float32),
        "to bool": lambda x, y: x.astype(bool),
        "select": lambda x, y: jnp.where(x < y, x, y),
        "sign": lambda x, y: lax.sign(x),
    }
    signed = {
        "abs": lambda x, y: jnp.abs(x),
        "neg": lambda x, y: -x,
        "to unsigned": lambda x, y: x.astype(jnp.uint32),
        "shift of a constant": lambda x, y: (
            lax.shift_left(jnp.int32(-5), y) ^ lax.shift_right_logical(jnp.int32(-5), y)
        ),
        "shift by constants": lambda x, y: jnp.stack([lax.shift_left(x, jnp.int32(n)) for n in (0, 31, 32, -1)]),
        "constants": lambda x, y: jnp.stack([x & 0, x | 0, x ^ 0, x + 0, x * 0, x * 1]),
    }
    x, y = integers(0, LANES), integers(1, LANES)
    assert differences(both | signed, x, y) == {}
    assert differences(both, x.view(np.uint32), y.view(np.uint32)) == {}


def test_no_sign_is_left_to_the_assembler():
    """That of CUDA 13.0 loses the sign of -b in the largest of a, -b and c as int32, and in no other form."""
    x = np.ones(LANES, np.int32)
    text = kernel_of_step(lambda s: (s[0], jnp.maximum(jnp.maximum(s[0], -s[1]), s[1])), (x, x)).text
    assert "max.u32" in text
    assert "max.s32" not in text


def test_booleans():
    every = np.array(np.meshgrid(*[[False, True]] * 3)).reshape(3, -1)
    functions = {
        "and": lambda p, q, r: p & q,
        "or": lambda p, q, r: p | q,
        "xor": lambda p, q, r: p ^ q,
        "not": lambda p, q, r: ~p,
        "max": lambda p, q, r: lax.max(p, q),
        "min": lambda p, q, r: lax.min(p, q),
        "select": lambda p, q, r: jnp.where(p, q, r),
        "compare": lambda p, q, r: comparisons(p, q),
        "constants": lambda p, q, r: jnp.stack([p & True, p & False, p | True, p | False, p ^ True, p ^ False]),
        "to numbers": lambda p, q, r: p.astype(jnp.int32) + q.astype(jnp.uint32).astype(jnp.int32),
        "reductions": lambda p, q, r: jnp.stack([f(jnp.stack([p, q, r])) for f in (jnp.any, jnp.all)]),
        "argmax": lambda p, q, r: jnp.argmax(jnp.stack([p, q, r])),
    }
    assert differences(functions, *every) == {}


def bits(x):
    """Bits, with one NaN."""
    return np.where(np.isnan(x), 0x7FC00000, np.asarray(x, np.float32).view(np.int32))


def ieee(x, y):
    """What XLA changes on a CPU: subnormal numbers are 0, x + 0 is x, and for x / 3 it multiplies."""
    some = [x + y, x - y, x * y, x / y, x + 0, x - 0, x - -0.0, 0 - x, x * 1, x * 0, x / 1, x / 3, x / 8, 3 / x]
    return [*some, x / (y + 1), (x + 1) / y, -x / y, x / 1e30, 1e30 / x]


def test_arithmetic_is_that_of_ieee():
    r = np.random.default_rng(0)
    words = r.integers(0, 2**32, (2, 4000), np.uint32)
    words[:, ::3] &= 0x80FFFFFF  # subnormal numbers and the smallest normal ones
    for x, y in (words.view(np.float32), (floats(4, LANES), floats(5, LANES))):
        found = evaluate(lambda x, y: [*ieee(x, y), jnp.sqrt(x)], x, y)
        with np.errstate(all="ignore"):
            exact = [*ieee(x, y), np.sqrt(x)]
        for number, (ours, theirs) in enumerate(zip(found, exact, strict=True)):
            np.testing.assert_array_equal(bits(ours), bits(theirs), str(number))


def test_quotients_and_roots_are_correctly_rounded():
    r, lanes = np.random.default_rng(1), 100_000
    x, y = r.integers(2**23, 2**24, (2, lanes)) * r.choice([-1, 1], (2, lanes))
    x, y = (np.ldexp(x, r.integers(-80, 40, lanes)).astype(np.float32) for x in (x, y))
    quotient, root = evaluate(lambda x, y: (x / y, jnp.sqrt(jnp.abs(x))), x, y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(quotient, x / y)
    np.testing.assert_array_equal(root, np.sqrt(np.abs(x)))


def exact(name, x):
    """The function of float64."""
    functions = {"erf_inv": special.erfinv, "logistic": special.expit}
    with np.errstate(all="ignore"):
        return functions.get(name, getattr(np, name, None))(x.astype(np.float64))


# The largest errors in units of the last place (of sin and cos: in those of 1), and where: near 1, small, of all sizes.
# In millions of samples they were 0.937, 1.030, 1.36, 2.38, 3.495, 2.35, and 0.77 and 0.77.
BOUNDS = {
    "log": (0.95, "near wide"),
    "exp": (1.05, "line small"),
    "log1p": (1.45, "small wide"),
    "expm1": (2.45, "small line"),
    "erf_inv": (3.55, "small unit"),
    "logistic": (2.45, "few line"),
    "sin": (0.85, "small few turns"),
    "cos": (0.85, "small few turns"),
}


def samples(where, number):
    r = np.random.default_rng(2)
    x = {
        "near": 1 + r.uniform(-0.4, 0.5, number),
        "wide": np.exp(r.uniform(-87, 88, number)),
        "line": r.uniform(-87, 88, number),
        "small": r.choice([-1, 1], number) * np.exp(r.uniform(-20, -0.1, number)),
        "unit": np.float32(1) - np.exp(r.uniform(-16, 0, number)),
        "few": r.uniform(-6, 6, number),
        "turns": r.uniform(-16_000, 16_000, number),
    }
    return x[where].astype(np.float32)


@pytest.mark.parametrize("name", BOUNDS)
def test_transcendental_functions_have_their_accuracy(name):
    bound, places = BOUNDS[name]
    for where in places.split():
        x = samples(where, 100_000)
        found, theirs = evaluate(getattr(lax, name), x), exact(name, x)
        unit = 2.0**-23 if name in ("sin", "cos") else np.spacing(np.abs(theirs.astype(np.float32)))
        error = np.abs(found - theirs) / unit
        assert error.max() < bound, (where, x[error.argmax()])


def test_transcendental_functions_at_their_limits():
    x = np.float32([0, -0.0, 1, -1, -2, np.inf, -np.inf, np.nan, 1e-40, 3e38, -3e38, -104, 89, 1e-8, -1e-8, 2.0**-126])
    found = evaluate(lambda x: {name: getattr(lax, name)(x) for name in BOUNDS}, x)
    for name, ours in found.items():
        with np.errstate(all="ignore"):
            theirs = exact(name, x).astype(np.float32)
        if name in ("sin", "cos"):
            theirs[np.abs(x) > 2**14] = np.nan
        with np.errstate(all="ignore"):
            same = (bits(ours) == bits(theirs)) | (np.abs(ours - theirs) <= 4 * np.spacing(np.abs(theirs)))
        assert same.all(), (name, x[~same], ours[~same], theirs[~same])


# Of the numbers of each function and sum in each arithmetic that was ever used. Runs store its name, so that none goes
# on with another.
DIGESTS = {
    "kernel 1": {
        "log": "3f9c0895432a",
        "exp": "9de699a16884",
        "log1p": "61932069b6cb",
        "expm1": "68711e1aa716",
        "erf_inv": "61947c26ea58",
        "logistic": "cc4aa305fe50",
        "sin": "9669d89b134a",
        "cos": "421c187e91cd",
        "sum": "362cdaf6f782",
        "dot": "127eeb3927ec",
    }
}


def test_other_bits_have_another_name():
    """If this fails on purpose, `eligible.ARITHMETIC` must change, and its digests be added."""
    found = {}
    for name, (_, places) in BOUNDS.items():
        found[name] = [bits(evaluate(getattr(lax, name), samples(where, 1000))) for where in places.split()]
    x = samples("wide", 100 * 32).reshape(100, 32)
    for name, function in {"sum": jnp.sum, "dot": lambda x: jnp.dot(x, x)}.items():
        found[name] = [bits(evaluate(lambda x, f=function: f(jnp.log(x)), x[:k], arms=k, width=4)) for k in (13, 100)]
    digests = {name: hashlib.sha256(np.concatenate(x)).hexdigest()[:12] for name, x in found.items()}
    assert digests == DIGESTS[ARITHMETIC]


def test_random_words_are_those_of_jax():
    words = np.random.default_rng(0).integers(0, 2**32, (4, 64), np.uint32)
    number = integers(3, 64)

    def every(words, number):
        key = jax.random.wrap_key_data(words, impl="threefry4x32")
        folded = jax.random.fold_in(key, number)
        return {
            "bits": jax.random.bits(key, (), jnp.uint32),
            "many bits": jax.random.bits(folded, (2, 2), jnp.uint32),
            "fold_in": jax.random.key_data(folded),
            "split": jax.random.key_data(jax.random.split(key, 3)[1]),
            "uniform": jax.random.uniform(folded, (2,)),
        }

    ours = evaluate(every, words, number)
    theirs = jax.jit(jax.vmap(every, -1, -1))(words, number)
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], name)
