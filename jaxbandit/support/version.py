"""The version of the package, which results and checkpoints store."""

import functools
from importlib import metadata

__version__ = "0.2.0"


@functools.cache
def version_of(package: str) -> str:
    """Return the version of an installed package, which is read from its files once per process."""
    return metadata.version(package)
