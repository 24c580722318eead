"""Batching with the run axis last equals vmap, operation by operation; what all runs share is found."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback
from jax.extend import core
from jax.interpreters import batching as interpreters
from jax.interpreters import mlir

from jaxbandit.algorithms import kl_ucb, lucb, ucb1
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout import batching, compiled, replay, whole_loops
from jaxbandit.environments.stationary.bernoulli import bernoulli

pytestmark = pytest.mark.quickly_compiled

LANES = 5
VECTOR = np.linspace(-1, 1, 4 * LANES, dtype=np.float32).reshape(4, LANES)  # [entries, lanes]
SCALAR = np.linspace(0.1, 2, LANES, dtype=np.float32)
CONSTANT = np.linspace(1, 2, 4, dtype=np.float32)
INDEX = np.array([0, 3, 1, 1, 2], np.int32)
LONG = np.arange(100 * LANES, dtype=np.float32).reshape(100, LANES)


def key_of(seed):
    return jax.random.key(seed, impl="threefry4x32")


@jax.custom_jvp
def own_jvp(x):
    return jnp.sin(x) + CONSTANT


@own_jvp.defjvp
def _(primals, tangents):
    return own_jvp(*primals), jnp.cos(*primals) * tangents[0]


@jax.custom_vjp
def own_vjp(x, y):
    return x * y * CONSTANT[0]


own_vjp.defvjp(lambda x, y: (own_vjp(x, y), (x, y)), lambda kept, g: (g * kept[1], g * kept[0]))


@jax.custom_batching.custom_vmap
def own_batching(x, y):
    return x * y


@own_batching.def_vmap
def _(size, batched, x, y):
    return jax.vmap(lambda a, b: a * b, [0 if flag else None for flag in batched])(x, y), True


def of_another_scope(i):
    """Draws under either way to count, of the same key."""
    key = jax.random.fold_in(jax.random.key(0, impl="threefry2x32"), i)
    shared = jax.random.key(1, impl="threefry2x32")
    with jax.threefry_partitionable(False):
        there = jax.random.uniform(key, (4,)), jax.random.uniform(shared, (4,))
    return *there, jax.random.uniform(key, (4,)), jax.random.uniform(shared, (4,))


FUNCTIONS = {
    "elementwise": lambda v, s, i: jnp.exp(v) * s + jnp.where(v > 0, v, s) - 1.0,
    "scalar predicate": lambda v, s, i: jnp.where(i > 1, v, -v),
    "reductions": lambda v, s, i: (v.sum(), v.max(), jnp.argmax(v), jnp.argmin(v * s), jnp.any(v > 0), v.cumsum()),
    "lookup": lambda v, s, i: (v[i], v.at[i].get(mode="promise_in_bounds", wrap_negative_indices=False)),
    "negative lookup": lambda v, s, i: v[-i],
    "lookup at one index of all runs": lambda v, s, i: lax.dynamic_index_in_dim(v[:, None] * v[None], INDEX[4] + 0),
    "update at one index of all runs": lambda v, s, i: (
        lax.dynamic_update_index_in_dim(v, s, INDEX[4] + 0, 0),
        lax.dynamic_update_index_in_dim(jnp.zeros((4, 4)), v, INDEX[1] + 0, 0),
    ),
    "lookup out of range": lambda v, s, i: lax.dynamic_index_in_dim(v, i + 7, keepdims=False),
    "lookup in a shared table": lambda v, s, i: jnp.arange(4.0)[i],
    "set": lambda v, s, i: (v.at[i].set(s), v.at[i].add(s), v.at[i].set(0.0)),
    "set of flags": lambda v, s, i: (jnp.zeros(4, bool).at[i].set(True), (v > 0).at[i].set(False), (v > 0).at[1].get()),
    "set out of range": lambda v, s, i: v.at[i + 2].set(s, mode="drop"),
    "set clipped": lambda v, s, i: v.at[i + 2].set(s, mode="clip"),
    "min and multiply": lambda v, s, i: (v.at[i].min(s), v.at[i].multiply(s)),
    "shapes": lambda v, s, i: (v.reshape(2, 2), v[None], jnp.concatenate([v, jnp.ones(1)]), v[1:3], v[::2], v.T),
    "matrix": lambda v, s, i: (v[:, None] * v[None]).sum(1) + jnp.outer(v, v)[i],
    "row of a matrix": lambda v, s, i: tuple(
        lax.dynamic_index_in_dim(v[:, None] * jnp.arange(1.0, 4.0)[None], i + j, keepdims=False) for j in (-2, 0, 2)
    ),
    "dot": lambda v, s, i: (v @ v, jnp.outer(v, v) @ v),
    "sort": lambda v, s, i: (jnp.sort(v * s), jnp.argsort(-v)),
    "cond": lambda v, s, i: lax.cond(i > 1, lambda: v * 2, lambda: v - s),
    "loop": lambda v, s, i: lax.fori_loop(0, i, lambda j, x: x * s + j, v),
    "scan": lambda v, s, i: lax.scan(lambda c, x: (c + x, c * s), s, v),
    "clip": lambda v, s, i: jnp.clip(v, -s, s),
    "jitted": lambda v, s, i: jax.jit(lambda x: x * s + jax.nn.softplus(x))(v),
    "keys": lambda v, s, i: jax.random.uniform(jax.random.fold_in(key_of(0), i), (3,)),
    "split": lambda v, s, i: jax.random.normal(jax.random.split(jax.random.fold_in(key_of(0), i))[1]),
    "shared": lambda v, s, i: (jnp.arange(3.0), jnp.float32(2) * 3),
    "reshape by columns": lambda v, s, i: lax.reshape(jnp.outer(v, jnp.arange(3.0)), (12,), (1, 0)),
    "custom derivatives": lambda v, s, i: (own_jvp(v), own_vjp(v, s), jax.nn.relu(v), jax.grad(own_vjp, 1)(v[0], s)),
    "remat": lambda v, s, i: jax.checkpoint(lambda x: jnp.sin(x) * s)(v),
    "closed over": lambda v, s, i: (
        lax.scan(lambda c, x: (c * s + v[i], x + c), s, v)[0],
        lax.while_loop(lambda c: c < s + 3, lambda c: c + v.max() + 1, s),
        lax.switch(i, [lambda: v + s, lambda: v * s, lambda: v]),
    ),
    "linear solve": lambda v, s, i: lax.custom_linear_solve(
        lambda x: x * (2 + s), v, lambda matvec, b: b / (2 + s), symmetric=True
    ),
    "root": lambda v, s, i: lax.custom_root(lambda x: x - s, 0.0, lambda f, x: x - f(x), lambda g, y: y / g(1.0)),
    "map": lambda v, s, i: lax.map(lambda x: x * s, v),
    "callback": lambda v, s, i: jax.pure_callback(np.sin, v, v * s, vmap_method="sequential"),
    "own batching": lambda v, s, i: own_batching(v, s),
    "another scope's keys": lambda v, s, i: of_another_scope(i),
}


@pytest.mark.parametrize("reading", [True, False], ids=["replayed", "vmapped"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_vmap(name, reading, monkeypatch):
    monkeypatch.setattr(batching, "READING", reading)
    function = FUNCTIONS[name]
    inputs = (VECTOR, SCALAR, INDEX)
    example = tuple(x[..., 0] for x in inputs)
    got = jax.jit(batching.batch_last(function, example, (True, True, True), True, LANES))(*inputs)
    same(got, by_vmap(name))


@functools.cache
def by_vmap(name):
    return jax.jit(jax.vmap(FUNCTIONS[name], -1, -1))(VECTOR, SCALAR, INDEX)


def same(got, want):
    chex.assert_trees_all_equal_shapes_and_dtypes(got, want)
    # Fused loops may contract a multiply and an add; nothing else may differ.
    chex.assert_trees_all_close(got, want, rtol=1e-6, atol=1e-6)


class Odd(core.Primitive):
    """Twice its operand, in a form of our own: what is bound is not what is written."""

    broken = False

    def get_bind_params(self, params):
        if self.broken:
            raise NotImplementedError("another form")
        return {"factor": params["written"]}


def odd_primitive(broken):
    odd = Odd("odd")
    odd.broken = broken

    def bound(x, *, written=None, factor=None):
        assert broken or factor == 2
        return x * 2

    odd.def_impl(bound)
    odd.def_abstract_eval(lambda x, **params: x)
    mlir.register_lowering(odd, mlir.lower_fun(bound, multiple_results=False))
    interpreters.primitive_batchers[odd] = lambda args, axes, **params: (odd.bind(*args, **params), axes[0])
    return odd


def test_a_primitive_is_bound_as_jax_does():
    odd = odd_primitive(broken=False)

    def function(v, s):
        return odd.bind(v, written=2) + s, odd.bind(jnp.float32(3), written=2)

    got = batching.batch_last(function, (VECTOR[:, 0], SCALAR[0]), (True, True), True, LANES)(VECTOR, SCALAR)
    same(got, (VECTOR * 2 + SCALAR, jnp.full(LANES, 6.0)))


@pytest.mark.slow
def test_a_form_that_is_not_known_goes_through_vmap_with_one_warning():
    """A whole algorithm with such an operation in it plays as without."""
    odd = odd_primitive(broken=True)

    def plain(means):
        return ucb1(3), bernoulli(means)

    def strange(means):
        def update(state, context, action, reward):
            return ucb1(3).update(state, context, action, odd.bind(reward, written=2) / 2)

        return ucb1(3)._replace(update=update), bernoulli(means)

    means = np.array([0.4, 0.5, 0.6])
    options = {"horizon": 100, "num_runs": 70}
    with pytest.warns(RuntimeWarning, match="form that this version does not know .* by jax.vmap") as said:
        found = simulate_cell(strange, means, **options)
    [warning] = [each for each in said if each.category is RuntimeWarning]  # JAX may warn of its cache
    assert "\n" not in str(warning.message)
    whole = simulate_cell(plain, means, **options)
    assert found.pulls.tobytes() == whole.pulls.tobytes()
    np.testing.assert_allclose(found.regret, whole.regret, rtol=1e-6)


def test_an_error_of_the_function_itself_is_its_own():
    @jax.custom_batching.custom_vmap
    def refuses(x):
        return x

    @refuses.def_vmap
    def _(size, batched, x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        batching.batch_last(refuses, (SCALAR[0],), (True,), True, LANES)(SCALAR)


def test_an_error_of_our_own_is_not_taken_for_another_form(monkeypatch):
    def broken(*arguments):
        raise AttributeError("ours")

    monkeypatch.setattr(replay, "_rule", broken)
    with pytest.raises(AttributeError, match="ours"):
        batching.batch_last(jnp.sin, (SCALAR[0],), (True,), True, LANES)(SCALAR)


# Operations of random programs by the kind of their result; {f} is a vector of floats, {s} a scalar, {i} an index and
# {b} a vector of flags, each of which is any value so far.
OPERATIONS = {
    "f": "{f}+{f} {f}*{s} {f}-1.5 jnp.where({b},{f},{s}) jnp.where({i}>1,{f},-{f}) {f}.at[{i}].set({s}) jnp.tanh({f}) "
    "{f}.at[{i}].add({s}) {f}.at[{i}].set(1.0) {f}[::-1] jnp.clip({f},-1,{s}) {b}.astype(jnp.float32) jnp.cumsum({f}) "
    "jnp.concatenate([{f}[1:],{f}[:1]]) jnp.outer({f},{f})[{i}] jnp.maximum({f},{s}) jnp.zeros(4).at[{i}].set({s}) "
    "jax.jit(lambda_x:x*{s}+1)({f}) lax.fori_loop(0,2,lambda_j,x:x*0.5+{f},{f})",
    "s": "{f}.sum() {f}.max() {f}[{i}] {s}*{s} {s}+1.5 jnp.where({i}>1,{s},2.0) jnp.abs({s}) {f}[2] "
    "{i}.astype(jnp.float32) jnp.where({b},{f},0.0).sum() lax.cond({s}>0,lambda:{s},lambda:{f}.min())",
    "i": "jnp.argmax({f}).astype(jnp.int32) jnp.argmin({f}).astype(jnp.int32) ({i}+1)%4 {b}.sum(dtype=jnp.int32)%4 "
    "jnp.clip({i}-1,0,3) jnp.where({s}>0,{i},0) jnp.argmax({b}).astype(jnp.int32)",
    "b": "{f}>{s} {f}<={f} {b}&{b} ~{b} {b}.at[{i}].set(True) {b}.at[{i}].set(False) "
    "jnp.zeros(4,bool).at[{i}].set(True) jnp.arange(4)==({i}) jnp.isfinite({f})|{b} jnp.ones(4,bool)",
}


def random_program(seed):
    """A function of (vector, scalar, index) that computes six values of each kind from earlier ones, as its text."""
    rng = np.random.default_rng(seed)
    names = {"f": ["v"], "s": ["s"], "i": ["i"], "b": ["(v>0)"]}
    lines = []
    for number, kind in enumerate(rng.permutation([*"fsib"] * 3)):
        text = rng.choice(OPERATIONS[kind].split()).replace("lambda_", "lambda ")
        while (place := text.find("{")) >= 0:
            text = text[:place] + str(rng.choice(names[text[place + 1]])) + text[place + 3 :]
        names[kind].append(f"x{number}")
        lines.append(f"x{number} = {text}")
    found = {"jax": jax, "jnp": jnp, "lax": lax}
    results = ", ".join(name for kind in names.values() for name in kind[1:])
    exec("\n ".join(["def program(v, s, i):", *lines, f"return {results}"]), found)
    return found["program"], "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", [range(10), pytest.param(range(10, 100), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_random_programs_give_the_same_numbers_with_and_without_reading(seeds, monkeypatch):
    """A hundred, operation by operation, with no warning that one of them is in a form that is not known."""
    for seed in seeds:
        program, text = random_program(seed)
        found = []
        for reading in (True, False):
            monkeypatch.setattr(batching, "READING", reading)
            example = VECTOR[:, 0], SCALAR[0], INDEX[0]
            found.append(batching.batch_last(program, example, (True,) * 3, True, LANES)(VECTOR, SCALAR, INDEX))
        chex.assert_trees_all_equal_shapes_and_dtypes(*found)
        for left, right in zip(*found, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5, err_msg=text)


@pytest.mark.slow
def test_without_reading_programs_the_numbers_are_the_same(monkeypatch):
    def fixed(means):
        return kl_ucb(3), bernoulli(means)

    def stopping(means):
        return lucb(3, delta=0.1), bernoulli(means)

    means = np.array([0.2, 0.5, 0.8])
    found = []
    for reading in (True, False):
        monkeypatch.setattr(batching, "READING", reading)
        compiled.forget()
        found.append(
            (simulate_cell(fixed, means, horizon=100, num_runs=70), identify_cell(stopping, means, num_runs=70))
        )
    compiled.forget()
    (regret, stopped), (plain_regret, plain_stopped) = found
    np.testing.assert_array_equal(regret.pulls, plain_regret.pulls)
    np.testing.assert_allclose(regret.regret, plain_regret.regret, rtol=1e-6)
    for name in ("samples", "outcome", "recommendation", "pulls"):
        np.testing.assert_array_equal(getattr(stopped, name), getattr(plain_stopped, name))


def test_a_callback_is_called_as_often_as_it_is_written():
    calls = []

    def draw(x):
        calls.append(x)
        return np.float32(len(calls))

    def function(s):
        first, second = (io_callback(draw, jnp.float32(0), jnp.float32(1), ordered=True) for _ in range(2))
        return second - first + 0 * s

    got = batching.batch_last(function, (SCALAR[0],), (True,), True, LANES)(SCALAR)
    assert len(calls) == 2 and (got == 1).all()


def test_argmax_on_a_gpu_is_one_reduction_of_what_is_not_stored():
    """And the same result as the two reductions on a CPU, with ties and NaN: `test_argmax_of_ties_and_nan`."""
    batched = batching.batch_last(lambda v: jnp.argmax(v * 2), (jnp.zeros(3),), (True,), True, 8)
    traced = jax.jit(batched).trace(jnp.zeros((3, 8)))
    texts = {name: traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda")}
    counts = {
        name: [text.count(f"stablehlo.{op}") for op in ("optimization_barrier", "reduce")]
        for name, text in texts.items()
    }
    assert counts == {"cpu": [1, 2], "cuda": [0, 1]}


@pytest.mark.slow
def test_argmax_of_ties_and_nan():
    """Ties go to the lowest entry, a NaN wins, as without a batch."""
    x = np.array([[0, 1, 1], [2, 2, 2], [-np.inf] * 3, [0.0, -0.0, 0.0], [1, np.nan, np.nan]], np.float32).T
    for function in (jnp.argmax, jnp.argmin, lambda v: lax.argmax(v, 0, jnp.int32)):
        got = batching.batch_last(function, (x[:, 0],), (True,), True, x.shape[1])(x)
        np.testing.assert_array_equal(got, [function(jnp.asarray(column)) for column in x.T])


@pytest.mark.slow
@pytest.mark.parametrize("vector", [VECTOR, LONG], ids=["select", "scatter"])
def test_one_entry_of_short_and_long_vectors(vector):
    def function(v, i, s):
        return v[i], v.at[i].set(s), v.at[i].add(s), v.at[i + 98].set(s, mode="drop")

    inputs = (vector, INDEX, SCALAR)
    got = batching.batch_last(function, tuple(x[..., 0] for x in inputs), (True,) * 3, True, LANES)(*inputs)
    for g, w in zip(got, jax.vmap(function, -1, -1)(*map(jnp.asarray, inputs)), strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("whole", [None, "narrow", "wide"])
@pytest.mark.parametrize("entries", [3, 4, 16, 17, 100])
def test_entries_are_found_to_the_bit_and_those_out_of_range_are_not_set(entries, whole, monkeypatch):
    vector = np.resize(np.array([-0.0, 0.0, 1e-3, -np.inf, np.inf, -7], np.float32), (entries, 8))
    inside = np.array([0, entries - 1, 1, 1, 0, 2, 1, 2], np.int32)
    index = np.array([0, entries - 1, -1, -entries, -entries - 1, entries, -(2**31), 2**31 - 1], np.int32)

    def function(x, i, j):
        return x[i], x.at[j].set(5.0), x.at[j].add(5.0)

    if whole:
        monkeypatch.setattr(whole_loops, "searches_arms", lambda: True)
        monkeypatch.setattr(whole_loops, "has_wide_vectors", lambda: whole == "wide")
    batched = batching.batch_last(function, (vector[:, 0], inside[0], index[0]), (True, True, True), True, 8)
    limit = {None: replay.SELECT_LIMIT, "narrow": replay.WHOLE_SELECT_LIMIT, "wide": replay.WIDE_SELECT_LIMIT}[whole]
    assert ("scatter" in str(jax.make_jaxpr(batched)(vector, inside, index))) == (entries > limit)
    found, replaced, added = map(np.asarray, jax.jit(batched)(vector, inside, index))
    np.testing.assert_array_equal(found.view(np.int32), vector[inside, range(8)].view(np.int32))
    want, more = vector.copy(), vector.copy()
    for lane, k in enumerate([0, entries - 1, entries - 1, 0]):  # a negative index counts from the end, once
        want[k, lane], more[k, lane] = 5.0, more[k, lane] + 5.0
    np.testing.assert_array_equal(replaced, want)
    np.testing.assert_array_equal(added, more)


@pytest.mark.slow
@pytest.mark.parametrize("vector", [VECTOR, LONG], ids=["select", "gather"])
def test_several_entries_of_short_and_long_vectors(vector):
    """A list of places, that of a run or of all, in a vector of a run or of all; nothing is moved."""
    places = np.random.default_rng(1).integers(-2, len(vector) + 2, (7, LANES)).astype(np.int32)

    table = np.asarray(vector[:, 0])  # a constant of the program, which JAX may keep as an array of NumPy

    def function(v, w, i):
        constant = jnp.asarray(table)[i]
        return v[i], w[i], v[jnp.array([2, 0, 2])], v.at[i].get(mode="clip"), w.at[i].get(mode="fill"), constant

    inputs, own = (vector, vector[:, 0], places), (True, False, True)
    batched = batching.batch_last(function, (vector[:, 0], vector[:, 0], places[:, 0]), own, True, LANES)
    for g, w in zip(batched(*inputs), jax.vmap(function, (-1, None, -1), -1)(*map(jnp.asarray, inputs)), strict=True):
        np.testing.assert_array_equal(g, w)
    lookup = batching.batch_last(lambda v, i: v[i], (vector[:, 0], places[:, 0]), (True, True), True, LANES)
    assert "transpose" not in str(jax.make_jaxpr(lookup)(vector, places))


@pytest.mark.slow
@pytest.mark.parametrize("arms", [17, 20, 33])
def test_many_arms_are_searched_one_by_one(arms):
    """As argmax of the whole vector: ties to the lowest, infinities, scalars and shared vectors, any rest of turns."""
    rng = np.random.default_rng(arms)
    values = rng.integers(-3, 4, (arms, LANES)).astype(np.float32)  # many ties
    values[3, 0], values[5, 1], values[:, 2], values[4, 3] = np.inf, -np.inf, -np.inf, np.nan
    shared = jnp.asarray(rng.integers(0, 2, arms).astype(np.float32))

    def search(v, s):
        return (
            jnp.argmax(jnp.where(v > -2, v + shared * s, jnp.inf) * jnp.float32(2)),
            jnp.argmin(v * 2 - 1),
            jnp.argmax(v),
        )

    def batched(v, s):
        return batching.batch_last(search, (values[:, 0], SCALAR[0]), (True, True), True, LANES)(v, s)

    plain = jax.jit(batched)(values, SCALAR)
    with whole_loops.whole(True, searches=True):
        lowered = jax.jit(lambda v, s: batched(v, s)).lower(values, SCALAR)
        assert lowered.as_text().count("stablehlo.while") == 2
        got = lowered.compile()(values, SCALAR)
    same(got, plain)


def test_layout_stays_run_last():
    """No operation of a round moves the run axis: the compiled text of an update has no transpose."""

    def function(v, i, s):
        return v.at[i].set(v[i] + s) * jnp.max(v) + jnp.argmax(v).astype(v.dtype)

    batched = batching.batch_last(function, (VECTOR[:, 0], INDEX[0], SCALAR[0]), (True,) * 3, True, LANES)
    assert "transpose" not in str(jax.make_jaxpr(batched)(VECTOR, INDEX, SCALAR))
    assert "transpose" in str(jax.make_jaxpr(jax.vmap(function, -1, -1))(VECTOR, INDEX, SCALAR))  # what vmap does


def test_what_depends_on_the_platform_keeps_its_layout():
    """Each platform's program is replayed, with the run axis last; this processor's gives the numbers."""

    def function(x, y):
        return lax.platform_dependent(x, y, tpu=lambda x, y: x - y, default=lambda x, y: x[::-1] * 2 + y)

    batched = batching.batch_last(function, (VECTOR[:, 0], SCALAR[0]), (True, False), True, LANES)
    np.testing.assert_array_equal(batched(VECTOR, SCALAR[0]), VECTOR[::-1] * 2 + SCALAR[0])
    assert "transpose" not in str(jax.make_jaxpr(batched)(VECTOR, SCALAR[0]))


def test_varying_outputs():
    def function(state, x):
        count, table, value = state
        return (count + 1, jnp.where(count > 3, table, 0.0), value + x), count * 2, jnp.cos(value)

    flags = batching.varying_outputs(
        function, ((jnp.int32(0), jnp.zeros(3), jnp.float32(0)), jnp.float32(1)), ((False, False, False), True)
    )
    assert flags == ((False, False, True), False, False)


@pytest.mark.slow
def test_splits_written_as_folds_give_the_same_keys():
    def function(seed):
        a, b, c = jax.random.split(jax.random.fold_in(key_of(7), seed), 3)
        grid = jax.random.split(a, (2, 2))
        return jax.random.uniform(b, (2,)), jax.random.normal(c), jax.vmap(jax.vmap(jax.random.bits))(grid)

    rewritten = batching.without_splits(function, (jnp.uint32(0),))
    assert "random_split" not in str(jax.make_jaxpr(rewritten)(jnp.uint32(3)))
    for a, b in zip(jax.jit(rewritten)(jnp.uint32(3)), jax.jit(function)(jnp.uint32(3)), strict=True):
        np.testing.assert_array_equal(a, b)
