"""Settings of JAX in the environment with which no command can work, told in one line in place of JAX's traceback."""

import os

from jaxbandit.support.refusals import error_line, show

PLATFORMS, NO_JIT, CACHE = "JAX_PLATFORMS", "JAX_DISABLE_JIT", "JAX_ENABLE_COMPILATION_CACHE"


def fault(error: Exception) -> str | None:
    """Return in one line which setting has caused an error of a command; None if none has."""
    said = error_line(error)
    if "for environment 'JAX_" in said:  # a value that JAX cannot read
        return f"{said.partition(': ')[2]}; unset it, or give a value that JAX takes"
    platforms = os.environ.get(PLATFORMS)
    if platforms and (reason := _no_platform()):
        return f"{PLATFORMS} = {show(platforms)}: JAX cannot start it here ({reason}); unset it, or install JAX for it"
    return without_jit()


def without_jit() -> str | None:
    """Return in one line that programs cannot be compiled; None if they can. JAX is imported only if it was told so."""
    if NO_JIT not in os.environ:
        return None
    import jax

    if not jax.config.jax_disable_jit:  # pyright: ignore[reportAttributeAccessIssue]
        return None
    return f"{NO_JIT} = {show(os.environ[NO_JIT])}: jaxbandit plays compiled programs only; unset it"


def without_cache() -> None:
    """Keep no compiled program of this process and of those that it starts. Must be called before JAX is imported."""
    os.environ[CACHE] = "0"


def _no_platform() -> str:
    """Return why JAX has none of its platforms, '' if it has one."""
    import jax

    try:
        jax.default_backend()
    except Exception as error:  # of any type, also a bare AssertionError
        return error_line(error)
    return ""
