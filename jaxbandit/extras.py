"""The extra `lab`: packages for figures, tables, progress bars and the command line, which the rest does without."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


class MissingExtra(ModuleNotFoundError):
    """A package of an extra is not installed; the message is one line that names the extra and installs it."""


@contextmanager
def lab() -> Iterator[None]:
    """Import packages of the extra `lab` inside; a missing one is refused in one line.

    Raises:
      MissingExtra: the package, the extra, and what to do.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in LAB:
            raise
        remedy = f"pip install {' '.join(LAB.values())}"
        raise MissingExtra(f"{name} is not installed, part of the extra lab: {remedy}", name=error.name) from None


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
