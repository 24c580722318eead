"""The GPU kernel's vectors along the arms: reductions, look-ups and changes, for any number of threads of a run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from kernel_parts import differences, evaluate, repeat, subnormal_numbers  # noqa: F401
from test_kernel_arithmetic import bits, floats, integers

from jaxbandit.engine.kernels.kernel import SHARED
from jaxbandit.engine.kernels.ptx import NoRule

pytestmark = pytest.mark.quickly_compiled
LANES = 64
quick = [(5, 1), (17, 4), (100, 32)]
slow = [(k, w) for k in (3, 5, 13, 17, 100) for w in (1, 4, 32) if (k, w) not in quick]
sizes = pytest.mark.parametrize("arms, width", [*quick, *(pytest.param(*x, marks=pytest.mark.slow) for x in slow)])


def extremes(seed, arms):
    """Rows with ties of the largest and smallest, of 0 and -0 too, with NaN in some places, and of NaN or inf alone."""
    r = np.random.default_rng(seed)
    x = r.integers(-2, 3, (arms, LANES)).astype(np.float32) * r.choice(np.float32([0.5, -0.0]), LANES)
    x[:, 8:24] = np.where(r.random((arms, 16)) < 0.2, np.float32(np.nan), x[:, 8:24])
    x[r.integers(0, arms, 8), np.arange(24, 32)] = np.nan
    x[:, 32:36] = np.float32([np.nan, np.inf, -np.inf, 0])
    x[:, 36:] = floats(seed, arms, LANES - 36)
    return x


def operands(arms):
    """A vector of floats and one of integers, an index that may be out of range, and a number."""
    r = np.random.default_rng(arms)
    outside = r.choice(np.int32([-1, arms, 2**31 - 1, -(2**31)]), LANES)
    index = np.where(np.arange(LANES) % 4 == 3, outside, r.integers(0, arms, LANES))
    return extremes(1, arms), integers(3, arms, LANES), index.astype(np.int32), floats(6, LANES)


def of_more(function):
    """`function` with a second vector of floats and one of booleans: the state has room for few arrays of many arms."""

    def call(x, m, k, s):
        y = ((m & 0xFFFF0) >> 4).astype(jnp.float32) / 256 - 128
        return function(x, y, m, m & 1 == 1, k, s)

    return call


def unsigned(x):
    """0 for -0: XLA takes either for the larger."""
    return jnp.where(x == 0, 0.0, x)


def numbers(x):
    """0 for NaN, which XLA loses in the largest of many numbers on a CPU."""
    return jnp.where(x == x, x, 0.0)


ELEMENTWISE = {
    "arithmetic": lambda x, y, m, b, k, s: jnp.stack([x + y, x * s[None], s[None] - y, jnp.floor(y)]),
    "quotients": lambda x, y, m, b, k, s: x / y,
    "roots": lambda x, y, m, b, k, s: jnp.sqrt(jnp.abs(y)),
    "choice": lambda x, y, m, b, k, s: jnp.where(b, x, y),
    "choice of a number": lambda x, y, m, b, k, s: jnp.where(b & (x > y), s[None], y),
    "choice by a number": lambda x, y, m, b, k, s: jnp.where((s > 0)[None], x, y),
    "integers": lambda x, y, m, b, k, s: (m * 3 + k[None]) ^ lax.shift_right_arithmetic(m, jnp.int32(3)),
    "conversions": lambda x, y, m, b, k, s: m.astype(jnp.float32) + b.astype(jnp.float32),
    "bits": lambda x, y, m, b, k, s: lax.bitcast_convert_type(x, jnp.int32),
    "numbers of arms": lambda x, y, m, b, k, s: (jnp.arange(m.size, dtype=k.dtype) == k[None]) | b,
    "table": lambda x, y, m, b, k, s: jnp.asarray(np.linspace(-1, 2, x.shape[0]), jnp.float32) * s[None],
    "branch": lambda x, y, m, b, k, s: lax.cond(s > 0, lambda: x, lambda: y),
    "rows": lambda x, y, m, b, k, s: jnp.concatenate([jnp.stack([x, y]), y[None]])[1:, :],
    "padded rows": lambda x, y, m, b, k, s: jnp.pad(x[None], ((1, 0), (0, 0)), constant_values=2.0),
    "a row by its number": lambda x, y, m, b, k, s: lax.dynamic_index_in_dim(jnp.stack([x, y]), k, keepdims=False),
}  # fmt: skip
REDUCTIONS = {
    "max": lambda x, y, m, b, k, s: unsigned(numbers(x).max()),
    "min": lambda x, y, m, b, k, s: unsigned(numbers(x).min()),
    "argmax": lambda x, y, m, b, k, s: jnp.argmax(x),
    "argmin": lambda x, y, m, b, k, s: jnp.argmin(x),
    "argmax of numbers": lambda x, y, m, b, k, s: jnp.argmax(numbers(x)),
    "argmin of numbers": lambda x, y, m, b, k, s: jnp.argmin(numbers(x)),
    "argmax of few integers": lambda x, y, m, b, k, s: jnp.stack([jnp.argmax(m & 3), jnp.argmin(m & 3)]),
    "argmax of integers": lambda x, y, m, b, k, s: jnp.stack([jnp.argmax(m), jnp.argmin(m)]),
    "argmax of bools": lambda x, y, m, b, k, s: jnp.stack([jnp.argmax(b), jnp.argmin(b)]),
    "argmax of equals": lambda x, y, m, b, k, s: jnp.argmax(jnp.broadcast_to(s, x.shape)),
    "integers": lambda x, y, m, b, k, s: jnp.stack([m.sum(dtype=jnp.int32), m.max(), m.min(), m.prod(dtype=jnp.int32)]),
    "bools": lambda x, y, m, b, k, s: jnp.stack([b.any(), b.all(), (b | ~b).all(), (b & ~b).any()]),
    "count": lambda x, y, m, b, k, s: (x > y).sum(dtype=jnp.int32),
    "rows": lambda x, y, m, b, k, s: unsigned(jnp.stack([numbers(x), y]).max(1)),
    "columns": lambda x, y, m, b, k, s: unsigned(jnp.stack([numbers(x), y]).min(0).max()),
    "sum of a number": lambda x, y, m, b, k, s: jnp.broadcast_to(jnp.floor(jnp.clip(s, -8, 8)), x.shape).sum(),
    "exact product": lambda x, y, m, b, k, s: jnp.dot(jnp.where(b, 1.0, -2.0), (m & 255).astype(jnp.float32)),
}  # fmt: skip
LOOKUPS = {
    "entry": lambda x, y, m, b, k, s: x[k],
    "entry by a sum": lambda x, y, m, b, k, s: jnp.where(jnp.arange(x.size) == k, m, 0).sum(dtype=k.dtype),
    "clip": lambda x, y, m, b, k, s: (x + 1).at[k].get(mode="clip"),
    "fill": lambda x, y, m, b, k, s: jnp.stack([x.at[k].get(mode="fill"), y.at[k].get(mode="fill", fill_value=7.0)]),
    "fill of integers": lambda x, y, m, b, k, s: m.at[k].get(mode="fill"),
    "in bounds": lambda x, y, m, b, k, s: x.at[jnp.clip(k, 0, x.shape[0] - 1)].get(mode="promise_in_bounds"),
    "slice": lambda x, y, m, b, k, s: lax.dynamic_slice_in_dim(x, k, 1),
    "of rows": lambda x, y, m, b, k, s: jnp.stack([x, y], 1)[k],
    "of another place": lambda x, y, m, b, k, s: unsigned(numbers(jnp.take(x, m & 3, mode="clip")).max()),
    "set": lambda x, y, m, b, k, s: x.at[k].set(s),
    "set or drop": lambda x, y, m, b, k, s: x.at[k].set(s, mode="drop"),
    "add": lambda x, y, m, b, k, s: x.at[k].add(s),
    "clip and add": lambda x, y, m, b, k, s: x.at[k].add(s, mode="clip"),
    "set two": lambda x, y, m, b, k, s: m.at[k].set(7, mode="clip").at[2].add(k),
    "update": lambda x, y, m, b, k, s: lax.dynamic_update_slice(x, s[None], (k,)),
    "update of a row": lambda x, y, m, b, k, s: lax.dynamic_update_slice(jnp.stack([x, y]), s[None, None], (1, k)),
    "then look": lambda x, y, m, b, k, s: x.at[k].set(s, mode="clip")[jnp.minimum(k, 1)],
    "then search": lambda x, y, m, b, k, s: jnp.argmax(x.at[k].set(s, mode="clip")),
}  # fmt: skip
WRITTEN_OUT = {
    "constant place": lambda x, y, m, b, k, s: x[1] - y[x.shape[0] - 1],
    "axes": lambda x, y, m, b, k, s: jnp.stack([x, y], 1).T[1:, :].reshape(1, -1),
    "reshape": lambda x, y, m, b, k, s: jnp.stack([x, y]).reshape(-1, 2),
    "roll": lambda x, y, m, b, k, s: jnp.concatenate([x[1:], x[:1]]),
    "pad": lambda x, y, m, b, k, s: jnp.pad(x, 1),
    "cumulative": lambda x, y, m, b, k, s: jnp.cumsum(m, dtype=jnp.int32) + lax.cummin(lax.cummax(m), reverse=True),
    "part": lambda x, y, m, b, k, s: unsigned(numbers(x[1:]).max()),
    "two slices": lambda x, y, m, b, k, s: lax.dynamic_slice_in_dim(x, k, 2),
    "strides": lambda x, y, m, b, k, s: m[::2].sum(dtype=jnp.int32),
}  # fmt: skip


def parts(functions, given, room):
    """The functions, a few at a time, so that their results fit into the room for arrays along the arms."""
    part, size = {}, 0
    for name, function in functions.items():
        results = jax.tree.leaves(jax.eval_shape(function, *(x[..., 0] for x in given)))
        more = sum(x.size for x in results)
        if more > room:  # with 100 arms in one thread
            continue
        if size + more > room or len(part) == 12:
            yield part
            part, size = {}, 0
        part[name], size = function, size + more
    yield part


@pytest.mark.slow
@sizes
def test_vectors_are_computed_as_by_jax(arms, width):
    given = operands(arms)
    some = ELEMENTWISE | REDUCTIONS | LOOKUPS | (WRITTEN_OUT if arms < 20 else {})
    room = SHARED // 4 * width // 32 - 2 * arms
    wrong = {}
    for part in parts({name: of_more(function) for name, function in some.items()}, given, room):
        wrong |= differences(part, *given, arms=arms, width=width)
    assert wrong == {}


@sizes
def test_the_largest_and_the_smallest_of_nan_are_nan(arms, width):
    x = extremes(1, arms)
    found = evaluate(lambda x: (x.max(), x.min(), jnp.argmax(x), jnp.argmin(x)), x, arms=arms, width=width)
    for ours, theirs in zip(found, (x.max(0), x.min(0), x.argmax(0), x.argmin(0)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@sizes
def test_quotients_and_roots_of_vectors_are_correctly_rounded(arms, width):
    x, s = floats(7, arms, LANES), floats(8, LANES)

    functions = (lambda x, s: x / s[None], lambda x, s: s[None] / x, lambda x, s: jnp.sqrt(jnp.abs(x)))
    with np.errstate(all="ignore"):
        exact = x / s, s / x, np.sqrt(np.abs(x))
    for function, theirs in zip(functions, exact, strict=True):
        np.testing.assert_array_equal(bits(evaluate(function, x, s, arms=arms, width=width)), bits(theirs))


@sizes
def test_a_sum_is_accurate_and_the_same_for_every_number_of_threads(arms, width):
    r = np.random.default_rng(arms)
    x = np.ldexp(r.uniform(-1, 1, (arms, LANES)), r.integers(-10, 10, (arms, LANES))).astype(np.float32)

    def function(x):
        more = {"prod": (1 + x / 4096).prod(), "rows": jnp.stack([x, -x]).sum(1)}
        return {"sum": x.sum(), "dot": jnp.dot(x, x), "mean": x.mean(), **more}

    found = evaluate(function, x, arms=arms, width=width)
    alone = evaluate(function, x, arms=arms)
    for name in found:
        np.testing.assert_array_equal(found[name].view(np.int32), alone[name].view(np.int32), name)
    error, wide = arms * 2.0**-24, x.astype(np.float64)
    assert np.all(np.abs(found["sum"] - wide.sum(0)) <= error * np.abs(wide).sum(0))
    assert np.all(np.abs(found["rows"][1] + wide.sum(0)) <= error * np.abs(wide).sum(0))
    assert np.all(np.abs(found["dot"] / (wide**2).sum(0) - 1) <= error + 2.0**-23)
    assert np.all(np.abs(found["prod"] / (1 + wide / 4096).prod(0) - 1) <= 3 * error)
    assert np.all(np.abs(found["mean"] * arms - wide.sum(0)) <= 2 * error * np.abs(wide).sum(0))


def entries(state):
    """Two entries are set, perhaps the same one, after all threads have searched."""
    x, m, total = state
    best, worst = jnp.argmax(x), jnp.argmin(x)
    place = jnp.where(jnp.floor(total / 2) * 2 == total, best, worst)
    x = x.at[best].set(-total - 5, mode="promise_in_bounds").at[place].set(total - 2, mode="promise_in_bounds")
    return x, m, jnp.floor(total / 2 + x[best] + x[worst]) - 1


def whole(state):
    """All entries of one array are set, and an entry of the other."""
    x, m, total = state
    best = jnp.argmax(x)
    x = x.at[best].add(-jnp.abs(total) - 1, mode="promise_in_bounds")
    m = jnp.where(m % 3 == 0, m + 1, m * 2 + best.astype(jnp.int32)[None])
    return x, m, jnp.floor(total + x[best] / 2)


@sizes
@pytest.mark.parametrize("step", [entries, whole])
def test_the_state_of_arms_is_changed_in_place(step, arms, width):
    """Over several rounds; without barriers, threads would read what others have written."""
    x, m, *_ = operands(arms)
    state = (np.floor(np.nan_to_num(x, posinf=9, neginf=-9).clip(-9, 9)), m, np.zeros(LANES, np.float32))
    found = repeat(step, state, 7, arms, width)
    for _ in range(7):
        state = jax.jit(jax.vmap(step, -1, -1))(state)
    for ours, theirs in zip(found, state, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("width", [1, 4, 32])
def test_random_words_of_arms_are_those_of_jax(width):
    words = np.random.default_rng(0).integers(0, 2**32, (4, LANES), np.uint32)

    def function(words):
        key = jax.random.wrap_key_data(words, impl="threefry4x32")
        rows = jax.random.bits(jax.random.fold_in(key, 1), (17, 2), jnp.uint32)
        return jax.random.bits(key, (17,), jnp.uint32), rows, jax.random.uniform(key, (2, 17))

    ours, theirs = evaluate(function, words, arms=17, width=width), jax.jit(jax.vmap(function, -1, -1))(words)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_branches_and_loops_are_those_of_one_run():
    def function(x, s, k):
        half = lax.while_loop(lambda c: c[0] > 1, lambda c: (c[0] // 2, c[1] + 1), (jnp.abs(k), jnp.int32(0)))
        nested = lax.cond(s > 0, lambda: lax.cond(k > 0, lambda: s * 2, lambda: s - 1), lambda: -s)
        swapped = lax.while_loop(lambda c: c[2] < 3, lambda c: (c[1], c[0], c[2] + 1), (s, s + 1, jnp.int32(0)))
        scan, rows = lax.scan(lambda c, y: (c + y, c * y), s, jnp.stack([s, s + 1, x[0]]), reverse=True)
        fixed = lax.fori_loop(0, 6, lambda i, c: c + i * k, k)
        return half, nested, swapped[:2], scan, rows, fixed, lax.cond(k > 0, lambda: x.max(), lambda: x.min())

    x, _, k, s = operands(5)
    ours, theirs = evaluate(function, x, s, k, arms=5), jax.jit(jax.vmap(function, -1, -1))(x, s, k)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(a, b)


REFUSED = {
    "sort": lambda x, s, k: jnp.sort(x),
    "remainder": lambda x, s, k: lax.rem(s, jnp.float32(3)),
    "two axes of arms": lambda x, s, k: (x[:, None] * x[None, :]).min(),
    "loop that carries arms": lambda x, s, k: lax.while_loop(lambda c: c.max() < 9, lambda c: c + 1, x),
    "halves away from zero": lambda x, s, k: lax.round(s),
    "switch": lambda x, s, k: lax.switch(k, [lambda: s, lambda: -s, lambda: s + 1]),
    "double": lambda x, s, k: jax.random.uniform(jax.random.key(0, impl="threefry2x32")),
    "several entries": lambda x, s, k: x.at[jnp.stack([k, k + 1])].set(s),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused(name):
    x, _, k, s = operands(5)
    with pytest.raises(NoRule):
        evaluate(REFUSED[name], x, s, k, arms=5)


def test_what_threads_of_a_run_cannot_do_together_is_refused_or_right():
    """A run in one branch must not wait for threads of a run in the other."""
    x, _, k, s = operands(5)
    for function in (
        lambda x, s, k: lax.cond(s > 0, lambda: x.max(), lambda: s),
        lambda x, s, k: lax.while_loop(lambda c: c[1] < 5, lambda c: (c[0] + x.max(), c[1] + 1), (s, k & 3))[0],
    ):
        try:
            found = evaluate(function, x, s, k, arms=5, width=4)
        except NoRule:
            continue
        np.testing.assert_array_equal(found, jax.jit(jax.vmap(function, -1, -1))(x, s, k))
