"""Optional dependencies: figures, tables, progress bars, the command line, and adapters to other libraries."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import Any

from jaxbandit.support.text import in_jupyter

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
    """An optional package is not installed. The message names it, the extra it belongs to and the pip command."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Return a context in which packages of an extra are imported; a MissingExtra says which one is not installed."""
    packages = EXTRAS[name]
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in packages:
            raise
        remedy = f"pip install {' '.join(packages.values())}"
        raise MissingExtra(f"{module} is not installed; the extra {name} needs it: {remedy}", name=error.name) from None


def lab() -> AbstractContextManager[None]:
    """Return a context in which packages of the extra `lab` are imported."""
    return extra("lab")


def bar(show: bool | None) -> Any:
    """Return tqdm if a progress bar is to be shown, and None otherwise.

    None shows one if stderr is a terminal and tqdm is installed, or in Jupyter if ipywidgets are. True raises a
    MissingExtra without tqdm.
    """
    # Without ipywidgets tqdm warns, and writes into the red box of errors.
    if show is not False and in_jupyter() and find_spec("ipywidgets") and find_spec("tqdm"):
        from tqdm.notebook import tqdm

        return tqdm
    if sys.stderr is None or not (sys.stderr.isatty() if show is None else show):  # None if it was closed
        return None
    try:
        with lab():
            from tqdm import tqdm
    except MissingExtra:
        if show:
            raise
        return None
    return tqdm
