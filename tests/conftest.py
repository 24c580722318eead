"""Strict settings for every test, and compiled code dropped after each module: XLA never frees it by itself."""

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture(autouse=True, scope="module")
def _drop_compiled_code():
    yield
    jax.clear_caches()
