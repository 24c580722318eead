"""Batching with the run axis last equals vmap, operation by operation; what all runs share is found."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbandit.engine import batching

pytestmark = pytest.mark.quickly_compiled

LANES = 5
VECTOR = np.linspace(-1, 1, 4 * LANES, dtype=np.float32).reshape(4, LANES)  # [entries, lanes]
SCALAR = np.linspace(0.1, 2, LANES, dtype=np.float32)
INDEX = np.array([0, 3, 1, 1, 2], np.int32)
LONG = np.arange(100 * LANES, dtype=np.float32).reshape(100, LANES)


def key_of(seed):
    return jax.random.key(seed, impl="threefry4x32")


FUNCTIONS = {
    "elementwise": lambda v, s, i: jnp.exp(v) * s + jnp.where(v > 0, v, s) - 1.0,
    "scalar predicate": lambda v, s, i: jnp.where(i > 1, v, -v),
    "reductions": lambda v, s, i: (v.sum(), v.max(), jnp.argmax(v), jnp.argmin(v * s), jnp.any(v > 0), v.cumsum()),
    "lookup": lambda v, s, i: (v[i], v.at[i].get(mode="promise_in_bounds", wrap_negative_indices=False)),
    "negative lookup": lambda v, s, i: v[-i],
    "lookup out of range": lambda v, s, i: lax.dynamic_index_in_dim(v, i + 7, keepdims=False),
    "lookup in a shared table": lambda v, s, i: jnp.arange(4.0)[i],
    "set": lambda v, s, i: (v.at[i].set(s), v.at[i].add(s), v.at[i].set(0.0)),
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
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_vmap(name):
    function = FUNCTIONS[name]
    inputs = (VECTOR, SCALAR, INDEX)
    example = tuple(x[..., 0] for x in inputs)
    got = batching.batch_last(function, example, (True, True, True), True, LANES)(*inputs)
    want = jax.vmap(function, -1, -1)(*map(jnp.asarray, inputs))
    chex.assert_trees_all_equal_shapes_and_dtypes(got, want)
    # Fused loops may contract a multiply and an add; nothing else may differ.
    chex.assert_trees_all_close(got, want, rtol=1e-6, atol=1e-6)


def test_argmax_of_ties_and_nan():
    """Ties go to the lowest entry, a NaN wins, as without a batch."""
    x = np.array([[0, 1, 1], [2, 2, 2], [-np.inf] * 3, [0.0, -0.0, 0.0], [1, np.nan, np.nan]], np.float32).T
    for function in (jnp.argmax, jnp.argmin, lambda v: lax.argmax(v, 0, jnp.int32)):
        got = batching.batch_last(function, (x[:, 0],), (True,), True, x.shape[1])(x)
        np.testing.assert_array_equal(got, [function(jnp.asarray(column)) for column in x.T])


@pytest.mark.parametrize("vector", [VECTOR, LONG], ids=["select", "scatter"])
def test_one_entry_of_short_and_long_vectors(vector):
    def function(v, i, s):
        return v[i], v.at[i].set(s), v.at[i].add(s), v.at[i + 98].set(s, mode="drop")

    inputs = (vector, INDEX, SCALAR)
    got = batching.batch_last(function, tuple(x[..., 0] for x in inputs), (True,) * 3, True, LANES)(*inputs)
    for g, w in zip(got, jax.vmap(function, -1, -1)(*map(jnp.asarray, inputs)), strict=True):
        np.testing.assert_array_equal(g, w)


def test_layout_stays_run_last():
    """No operation of a round moves the run axis: the compiled text of an update has no transpose."""

    def function(v, i, s):
        return v.at[i].set(v[i] + s) * jnp.max(v) + jnp.argmax(v).astype(v.dtype)

    batched = batching.batch_last(function, (VECTOR[:, 0], INDEX[0], SCALAR[0]), (True,) * 3, True, LANES)
    assert "transpose" not in str(jax.make_jaxpr(batched)(VECTOR, INDEX, SCALAR))
    assert "transpose" in str(jax.make_jaxpr(jax.vmap(function, -1, -1))(VECTOR, INDEX, SCALAR))  # what vmap does


def test_varying_outputs():
    def function(state, x):
        count, table, value = state
        return (count + 1, jnp.where(count > 3, table, 0.0), value + x), count * 2, jnp.cos(value)

    flags = batching.varying_outputs(
        function, ((jnp.int32(0), jnp.zeros(3), jnp.float32(0)), jnp.float32(1)), ((False, False, False), True)
    )
    assert flags == ((False, False, True), False, False)


def test_splits_written_as_folds_give_the_same_keys():
    def function(seed):
        a, b, c = jax.random.split(jax.random.fold_in(key_of(7), seed), 3)
        grid = jax.random.split(a, (2, 2))
        return jax.random.uniform(b, (2,)), jax.random.normal(c), jax.vmap(jax.vmap(jax.random.bits))(grid)

    rewritten = batching.without_splits(function, (jnp.uint32(0),))
    assert "random_split" not in str(jax.make_jaxpr(rewritten)(jnp.uint32(3)))
    for a, b in zip(rewritten(jnp.uint32(3)), function(jnp.uint32(3)), strict=True):
        np.testing.assert_array_equal(a, b)
