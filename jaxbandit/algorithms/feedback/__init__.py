"""Wrappers that change when an algorithm receives its feedback, and algorithms made for batches.

In this package a factory shadows the submodule of the same name. To import anything else that such a module defines,
use the module's full path.
"""

from jaxbandit.algorithms.feedback.batched import batched
from jaxbandit.algorithms.feedback.batched_elimination import batched_elimination
from jaxbandit.algorithms.feedback.delayed import delayed
from jaxbandit.algorithms.feedback.grids import geometric_grid, minimax_grid

__all__ = ["batched", "batched_elimination", "delayed", "geometric_grid", "minimax_grid"]
