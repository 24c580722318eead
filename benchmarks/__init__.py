"""Measures the library against C, NumPy and other solvers in the same process, and against another of its revisions.

Run `python -m benchmarks` from the repository. The installed package does not contain it. Its stub lists the
parts that `python -m benchmarks` runs; they are imported on first use, since they import JAX.
"""

from benchmarks import bare

bare.stand_in()

import lazy_loader  # noqa: E402

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
