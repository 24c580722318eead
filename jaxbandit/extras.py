"""The extras: packages for figures, tables, progress bars and the command line, and of other libraries' adapters.

The rest of the package does without them.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

LAB = {  # module: package
    "xarray": "xarray",
    "h5netcdf": "h5netcdf",
    "pandas": "pandas",
    "matplotlib": "matplotlib",
    "tqdm": "tqdm",
    "tyro": "tyro",
    "tomli_w": "tomli-w",
}
EXTRAS = {
    "lab": LAB,
    "sklearn": {"sklearn": "scikit-learn"},
    "optuna": {"optuna": "optuna"},
    "dask": {"dask": "dask", "distributed": "distributed"},
    "slurm": {"submitit": "submitit"},
}


class MissingExtra(ModuleNotFoundError):
    """A package of an extra is not installed; the message is one line that names the extra and installs it."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import packages of an extra inside; a missing one is refused in one line.

    Raises:
      MissingExtra: the package, the extra, and what to do.
    """
    packages = EXTRAS[name]
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in packages:
            raise
        remedy = f"pip install {' '.join(packages.values())}"
        raise MissingExtra(f"{module} is not installed, part of the extra {name}: {remedy}", name=error.name) from None


def lab() -> AbstractContextManager[None]:
    """Import packages of the extra `lab` inside."""
    return extra("lab")


def bar(show: bool | None) -> Any:
    """Return tqdm where a bar is to be shown, else None; only a bar that was asked for is missed.

    Args:
      show: whether a bar is to be shown; None: where stderr is a terminal and tqdm is installed.
    """
    if not (sys.stderr.isatty() if show is None else show):
        return None
    try:
        with lab():
            from tqdm import tqdm
    except MissingExtra:
        if show:
            raise
        return None
    return tqdm
