"""Plays programs with the text of their GPU kernel in the emulator: runs, and plain functions of JAX."""

import ctypes
import platform
import sys
from types import SimpleNamespace

import emulate
import jax
import numpy as np
import pytest
from jax import lax

from jaxbandit.engine.kernels.kernel import Kernel


@pytest.fixture(autouse=True)
def subnormal_numbers():
    """NumPy computes with subnormal numbers again: XLA's CPU programs may leave them off in the thread of a test."""
    if sys.platform == "linux" and platform.machine() == "x86_64":
        default = ctypes.c_void_p(-1)  # FE_DFL_ENV
        assert ctypes.CDLL("libm.so.6").fesetenv(default) == 0
    assert np.float32(1e-38) * np.float32(0.1) > 0


def launch(kernel, leaves, first, last, row=0, checkpoints=(0,), measured=()):
    """The leaves of (arguments, words, world, state, tally), and those of `measured`, as XLA calls the kernel.

    What runs do not share is written where it was read.
    """
    leaves, rows = [np.array(x) for x in leaves], [np.array(x) for x in measured]
    results = [leaves[i] if kernel.varies[i] else np.zeros_like(leaves[i]) for i in kernel.carried]
    numbers = [np.array(x, np.int32).reshape(-1) for x in (first, last, row, checkpoints)]
    arrays = [*leaves, *numbers, *rows, *results, *rows]
    emulate.Machine(kernel.text, -(-kernel.lanes // kernel.runs), kernel.threads, arrays, kernel.shared_bytes).run()
    for i, x in zip(kernel.carried, results, strict=True):
        leaves[i] = x
    return leaves, rows


def kernel_of_step(step, state, arms=None, width=1, threads=0):
    """The kernel of a state whose arrays have the runs along the last axis, and of a function of one run's state."""
    lanes = jax.tree.leaves(state)[0].shape[-1]
    example = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), state)
    words = (jax.ShapeDtypeStruct((4,), np.uint32),) * 2
    run = SimpleNamespace(arguments=(), words=words, world=(), state=example, tally=(), noise=(), shared=())
    run.round = jax.ShapeDtypeStruct((), np.int32)
    run.world_varies, run.state_varies, run.tally_varies = (), jax.tree.map(lambda _: True, state), ()
    run.draw = lambda arguments, words, round: ()
    run.play = lambda arguments, world, state, tally, noise: ((), step(state), ())
    run.measured = lambda arguments, world, state, tally: ()
    return Kernel(run, lanes, 1, arms, width, threads)


def repeat(step, state, rounds, arms=None, width=1, threads=0):
    """The state after so many rounds of a function of one run's state."""
    leaves, structure = jax.tree.flatten(state)
    words = np.zeros((4, leaves[0].shape[-1]), np.uint32)
    kernel = kernel_of_step(step, state, arms, width, threads)
    after, _ = launch(kernel, [words, words, *leaves], 1, rounds)
    return jax.tree.unflatten(structure, after[2:])


def evaluate(function, *arrays, arms=None, width=1):
    """function(*arrays) of every run; booleans and unsigned integers pass through memory as int32."""
    example = [jax.ShapeDtypeStruct(x.shape[:-1], x.dtype) for x in arrays]
    results = jax.eval_shape(function, *example)

    def step(state):
        given = [_restore(x, e.dtype) for x, e in zip(state[0], example, strict=True)]
        return state[0], jax.tree.map(_as_stored, function(*given))

    def room(x):
        return np.zeros((*x.shape, arrays[0].shape[-1]), np.float32 if x.dtype == np.float32 else np.int32)

    given = tuple(x.view(np.int32) if x.dtype == np.uint32 else x.astype(room(x[..., 0]).dtype) for x in arrays)
    after = repeat(step, (given, jax.tree.map(room, results)), 1, arms, width)[1]
    return jax.tree.map(lambda x, y: x.astype(bool) if y.dtype == bool else x.view(y.dtype), after, results)


def _restore(x, dtype):
    if dtype == np.uint32:
        return lax.bitcast_convert_type(x, dtype)
    return x != 0 if dtype == np.bool_ else x


def _as_stored(x):
    x = x.astype(np.int32) if x.dtype == np.bool_ else x
    return lax.bitcast_convert_type(x, np.int32) if x.dtype == np.uint32 else x


def differences(functions, *arrays, arms=None, width=1):
    """The names of the functions whose bits are not JAX's on this CPU; a NaN is a NaN, and subnormal numbers are 0.

    XLA's CPU compiler takes subnormal numbers for 0, and the kernel does not.
    """

    def whole(*xs):
        return {name: function(*xs) for name, function in functions.items()}

    ours = evaluate(whole, *arrays, arms=arms, width=width)
    theirs = jax.jit(jax.vmap(whole, -1, -1))(*arrays)
    return {name: _examples(ours[name], np.asarray(theirs[name]), arrays) for name in functions
            if not _same(ours[name], np.asarray(theirs[name])).all()}  # fmt: skip


def _flush(x):
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def _same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    if a.dtype != np.float32:
        return a == b
    return (_flush(a).view(np.int32) == _flush(b).view(np.int32)) | (np.isnan(a) & np.isnan(b))


def _examples(a, b, arrays):
    """Ours, theirs and the operands at the first difference."""
    lane = int(np.flatnonzero(~_same(a, b).reshape(-1, a.shape[-1]).all(0))[0])
    return [x[..., lane].tolist() for x in (a, b, *arrays)]
