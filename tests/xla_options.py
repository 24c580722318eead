"""Options with which XLA compiles in about a quarter of its time: older emitters of kernels, code not optimised.

Printed as XLA_FLAGS for a process of its own: there they hold for every program, not for the engine's alone.
"""

import jax

from jaxbandit.engine.compiled import known_options

QUICKLY = known_options(
    {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0}, jax.devices("cpu")[0]
)


def flags(options):
    return " ".join(f"--{option}={value}".lower() for option, value in options.items())


if __name__ == "__main__":
    print(flags(QUICKLY))
