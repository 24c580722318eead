"""The machine and the versions with which a figure was measured."""

import os
import platform
from importlib import metadata
from typing import Any


def machine() -> dict[str, Any]:
    """Return the processor, its cores, JAX's devices and the versions."""
    import jax

    from jaxbandit.engine.layout.compiled import cores

    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), model)
    return {
        "processor": model,
        "cores": cores(),
        "devices": [str(device) for device in jax.devices()],
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("jax", "jaxlib", "numpy")},
    }


def text(about: dict[str, Any]) -> str:
    """Return it as one line."""
    versions = ", ".join(f"{name} {about[name]}" for name in ("python", "jax", "jaxlib", "numpy"))
    return f"{about['processor']}, {about['cores']} cores, {', '.join(about['devices'])}; {versions}"
