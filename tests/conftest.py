"""Strict settings for every test, compiled code dropped after each module, and less compilation where a test allows it.

XLA never frees compiled code by itself.
"""

import gc

import jax
import pytest
from jax._src import compiler  # there is no public way to set the options of every program
from xla_options import QUICKLY

from jaxbandit.engine import compiled

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
gc.freeze()
gc.set_threshold(20_000, 20, 20)  # tracing makes many objects and little garbage: collecting took 7 % of a profile

_options: dict[str, bool | int] = {}  # of the test that runs
_get_compile_options = compiler.get_compile_options


def _with_options(*args, env_options_overrides=None, **kwargs):
    return _get_compile_options(*args, env_options_overrides=_options | (env_options_overrides or {}), **kwargs)


compiler.get_compile_options = _with_options


@pytest.hookimpl(tryfirst=True)  # before fixtures, which compile too
def pytest_runtest_setup(item):
    _options.clear()
    if item.get_closest_marker("quickly_compiled"):
        _options.update(QUICKLY)


@pytest.fixture(autouse=True, scope="module")
def _drop_compiled_code():
    yield
    compiled._kept.clear()  # another module may be compiled otherwise
    jax.clear_caches()
