"""Which devices play rounds in one kernel, and why a program does not."""

import functools
import logging

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.engine.kernels import rounding
from jaxbandit.engine.kernels.arms import ArmCode, Home
from jaxbandit.engine.kernels.launch import launch
from jaxbandit.engine.kernels.ptx import NoRule, const
from jaxbandit.engine.kernels.threads import kernel_of
from jaxbandit.engine.layout.jaxprs import UnknownForm
from jaxbandit.engine.layout.sizes import LANES_LEAST
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.support.types import Array, Device

ARITHMETIC = "kernel 1"  # in the identity of runs; another number where a rule changes a bit of a result
CAPABILITY = 8.0  # of the device, for all instructions
PROBES = 1 << 12

logger = logging.getLogger("jaxbandit")


def is_eligible(run: SingleRun, num_checkpoints: int, device: Device) -> bool:
    """Whether a device plays the rounds of a program in a kernel; a line of the log says why not.

    This is a property of the program and the device, so that no number depends on how many runs are played.
    """
    if device.platform != "gpu":
        return False
    reason = _fault_of(device)
    if reason is None and run.replans:
        reason = "its algorithm replans"
    if reason is None:
        try:
            kernel_of(run, LANES_LEAST, num_checkpoints)
        except (NoRule, UnknownForm) as error:
            reason = str(error)
    if reason is not None:
        logger.info("rounds are not played in one kernel: %s", reason)
    return reason is None


@functools.cache
def _fault_of(device: Device) -> str | None:
    """Why a device cannot execute kernels as they are written: a small one is compared with the CPU, once a process."""
    if float(getattr(device, "compute_capability", 0) or 0) < CAPABILITY:
        return f"the device {device.device_kind} is no NVIDIA GPU of compute capability {CAPABILITY} or more"
    random = np.random.default_rng(0)
    a, b = (np.ldexp(random.uniform(1, 2, PROBES), random.integers(-99, 99, PROBES)) for _ in range(2))
    given = [jax.device_put(x.astype(np.float32), device) for x in (a, b)]
    with np.errstate(over="ignore", under="ignore"):
        expected = np.float32(a) / np.float32(b) + np.sqrt(np.float32(b))
    try:
        found = np.asarray(jax.jit(_probe)(*given))
    except Exception as error:  # XLA's call is undocumented, and whatever it raises the engine's own loop remains
        return f"the device {device.device_kind} does not run a small kernel: {str(error).splitlines()[0]}"
    same = np.array_equal(found, expected)
    return None if same else f"a small kernel on {device.device_kind} has other numbers than the CPU"


def _probe(a: Array, b: Array) -> Array:
    """a / b + sqrt(b), in a kernel."""
    code = ArmCode()
    bases = [code.parameter(name) for name in "aby"]
    thread, block = code.special("%tid.x"), code.special("%ctaid.x")
    number = code.emit("mad.lo.s32", "u32", block, const("u32", 32), thread)
    places = [code.address(code.pointer(Home("global", base, 4), number)) for base in bases]
    x, y = (code.load("global", "f32", place) for place in places[:2])
    (quotient,), (root,) = rounding.compute(code, "div", [(x, y)]), rounding.compute(code, "sqrt", [(y,)])
    code.store("global", places[2], code.binary("add", quotient, root))
    shape = jax.ShapeDtypeStruct(a.shape, jnp.float32)
    (result,) = launch("probe", code.text("probe", "aby", 32), [a, b], [shape], a.size // 32, 32)
    return result
