"""Wrappers that change when an algorithm sees its feedback, and algorithms made for batches.

A factory shadows the submodule of the same name here: for what else a module holds, import from its full path.
"""

from jaxbandit.algorithms.feedback.batched import batched
from jaxbandit.algorithms.feedback.batched_elimination import batched_elimination
from jaxbandit.algorithms.feedback.delayed import delayed
from jaxbandit.algorithms.feedback.grids import geometric_grid, minimax_grid

__all__ = ["batched", "batched_elimination", "delayed", "geometric_grid", "minimax_grid"]
