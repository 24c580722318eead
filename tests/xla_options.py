"""Options with which XLA compiles in about a quarter of its time: older emitters of kernels, code not optimised."""

import jax

from jaxbandit.engine.compiled import known_options

QUICKLY = known_options(
    {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0}, jax.devices("cpu")[0]
)
