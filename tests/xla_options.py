"""Options with which XLA compiles in about a quarter of its time: older emitters of kernels, code not optimised."""

import jax

from jaxbandit.engine.layout.compiled import known_options
from jaxbandit.engine.layout.whole_loops_option import options_module

QUICKLY = known_options(
    {
        "xla_cpu_use_fusion_emitters": False,
        "xla_backend_optimization_level": 0,
        "xla_cpu_parallel_codegen_split_count": 1,
    },
    jax.devices("cpu")[0],
)
compiler = options_module()  # nothing public sets a compiler's options for what is compiled by jax.jit
_options_of_jax = None if compiler is None else compiler.get_compile_options


def of_every_program(more):
    """From now on, compile every program of this process with these options, except where it has its own."""
    if _options_of_jax is None:  # another JAX: what jax.jit compiles takes longer
        return

    def with_more(*arguments, **named):
        options = _options_of_jax(*arguments, **named)
        own = dict(options.env_option_overrides)
        options.env_option_overrides = [*((k, v) for k, v in more.items() if k not in own), *own.items()]
        return options

    compiler.get_compile_options = with_more if more else _options_of_jax


def flags(options):
    """The options as a process of its own takes them, in XLA_FLAGS."""
    return " ".join(f"--{option}={value}".lower() for option, value in options.items())
