"""Logarithm, normal quantile, normals from words, products, loops one by one: against NumPy and SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandit.engine.layout.compiled import compile_program
from jaxbandit.support.numerics import log, matrix_vector, normal_of_words, normal_quantile, one_by_one, standard_normal


@pytest.mark.slow
def test_log_is_right_to_one_unit_of_rounding():
    rng = np.random.default_rng(0)
    near = 1 + rng.choice([-1, 1], 50_000) * 10 ** rng.uniform(-16, -0.3, 50_000)
    x = np.concatenate([np.exp(rng.uniform(-700, 700, 50_000)), near, 2.0 ** np.arange(-1000, 1000), [1.0]])
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(log)(x))
    exact = np.log(x.astype(np.longdouble))
    unit = np.spacing(np.abs(exact.astype(float)))
    # Beside log 1 = 0, the least normal number: a processor that was told so takes smaller ones for 0.
    np.testing.assert_array_less(np.abs(got - exact).astype(float), unit + np.finfo(float).tiny)


@pytest.mark.slow
@pytest.mark.parametrize("x64", [False, True])
def test_log_at_the_edges(x64):
    with jax.enable_x64(x64):
        x = jnp.asarray([0.0, 1.0, np.inf, -1.0, -np.inf, np.nan], float)
        np.testing.assert_array_equal(log(x), [-np.inf, 0.0, np.inf, np.nan, np.nan, np.nan])


def test_on_a_tpu_no_float64_is_taken_apart():
    """XLA emulates a float64 there by two float32, and a bitcast would return the bits of these."""
    words, x = jax.ShapeDtypeStruct((3,), np.uint32), jax.ShapeDtypeStruct((3,), np.float64)
    with jax.enable_x64(True):
        for function, given in ((log, x), (normal_of_words, words)):
            traced = jax.jit(function).trace(given)
            assert "xf64>) -> tensor<3xi64>" in traced.lower(lowering_platforms=("cpu",)).as_text()
            assert "xf64>) -> tensor<3xi64>" not in traced.lower(lowering_platforms=("tpu",)).as_text()


def test_normal_quantile():
    tail = np.geomspace(1e-10, 0.5, 4000)
    with jax.enable_x64(True):
        got = np.asarray(normal_quantile(jnp.asarray(tail)))
    np.testing.assert_allclose(got, stats.norm.isf(tail), rtol=0, atol=5e-8)


@pytest.mark.parametrize(("x64", "atol"), [(False, 3e-6), (True, 5e-8)])  # of float32 with its rounding at |z| = 6
def test_words_give_the_normal_law(x64, atol):
    count = 2**16
    words = ((np.arange(count) * 2 + 1) * 2**15).astype(np.uint32)  # the middles of equal parts of all words
    centered = words.astype(np.int32) + 0.5
    expected = np.sign(centered) * stats.norm.isf(np.abs(centered) / 2**32)
    edges = np.array([0, 2**31 - 1, 2**31, 2**32 - 1], np.uint32)
    with jax.enable_x64(x64):
        # One call and one program: each operation outside jit is a compilation.
        every = np.asarray(jax.jit(normal_of_words)(jnp.asarray(np.concatenate([words, edges]))))
    z, (first, middle, opposite, last) = every[:count], every[count:]
    # A float32 tail probability near one half has lost up to 2^-25, 1.5e-7 in z: far below atol.
    np.testing.assert_allclose(z, expected, rtol=0, atol=atol)
    np.testing.assert_allclose(np.sort(z), stats.norm.ppf((np.arange(count) + 0.5) / count), rtol=0, atol=1e-5)
    np.testing.assert_allclose([first, last], np.array([1, -1]) * stats.norm.isf(2.0**-33), rtol=1e-6)
    assert abs(middle) < 1e-6 and abs(opposite) < 1e-6


@pytest.mark.slow
def test_standard_normal_is_of_the_scopes_type_and_of_the_key():
    key = jax.random.key(3, impl="threefry4x32")
    word = jax.random.bits(key, (), jnp.uint32)
    for x64 in (False, True):
        with jax.enable_x64(x64):
            z = jax.jit(standard_normal)(key)
            assert z.dtype == jnp.result_type(float) and z == jax.jit(normal_of_words)(word)


@pytest.mark.slow
def test_matrix_vector_is_the_same_to_the_bit_in_every_batch():
    rng = np.random.default_rng(0)
    matrix, vectors = rng.normal(size=(5, 19)), rng.normal(size=(128, 19))
    with jax.enable_x64(True):
        many, few = [  # as the engine compiles, without calls of a library whose sums depend on the batch
            np.asarray(compile_program(jax.vmap(matrix_vector, (None, 0)), jax.devices()[0], matrix, x)(matrix, x))
            for x in (vectors, vectors[64:])
        ]
    np.testing.assert_allclose(many, vectors @ matrix.T, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(many[64:], few)


def test_one_by_one_is_vmap():
    """A loop whose length depends on the batched argument; the other one is shared."""

    def doubled(start, limit):
        return jax.lax.while_loop(lambda x: x[0] < limit, lambda x: (2 * x[0], x[1] + 1), (start, jnp.int32(0)))

    starts = jnp.array([1.0, 9.0, 3.0])
    value, times = jax.jit(jax.vmap(one_by_one(doubled), (0, None)))(starts, 8.0)
    np.testing.assert_array_equal(value, [8, 9, 12])
    np.testing.assert_array_equal(times, [3, 0, 2])
    assert [float(x) for x in one_by_one(doubled)(5.0, 8.0)] == [10, 1]
