"""Strict settings for every test, compiled code dropped after each module, and less compilation where a test allows it.

XLA never frees compiled code by itself.
"""

import gc

import jax
import pytest
from xla_options import QUICKLY, of_every_program

from jaxbandit.engine import compiled

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
gc.freeze()
gc.set_threshold(20_000, 20, 20)  # tracing makes many objects and little garbage: collecting took 7 % of a profile


@pytest.hookimpl(tryfirst=True)  # before fixtures, which compile too
def pytest_runtest_setup(item):
    quickly = item.get_closest_marker("quickly_compiled") is not None
    if jax.config.jax_disable_most_optimizations and not quickly:
        jax.clear_caches()  # JAX keeps programs without regard to these options
    jax.config.update("jax_disable_most_optimizations", quickly)
    of_every_program(QUICKLY if quickly else {})
    compiled.MORE_OPTIONS.clear()  # known to the engine, so that it keeps programs apart
    compiled.MORE_OPTIONS.update(QUICKLY if quickly else {})


@pytest.fixture(autouse=True, scope="module")
def _drop_compiled_code():
    yield
    compiled.forget()
    jax.clear_caches()
