"""Options with which XLA compiles in about a quarter of its time: older emitters of kernels, code not optimised."""

import jax


def _is_known(option: str, value: bool | int) -> bool:
    """Whether this version of XLA has the option."""
    try:
        jax.jit(lambda: 0).lower().compile(compiler_options={option: value})
    except jax.errors.JaxRuntimeError:
        return False
    return True


_WANTED: dict[str, bool | int] = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0}
QUICKLY = {option: value for option, value in _WANTED.items() if _is_known(option, value)}
