"""Best-arm identification with a fixed budget of pulls, one factory function per name.

In this package a factory shadows the submodule of the same name. To import anything else that such a module defines,
use the module's full path.
"""

from jaxbandit.algorithms.fixed_budget.budgeted_race import budgeted_race
from jaxbandit.algorithms.fixed_budget.sequential_halving import sequential_halving
from jaxbandit.algorithms.fixed_budget.successive_rejects import successive_rejects
from jaxbandit.algorithms.fixed_budget.ucb_e import ucb_e
from jaxbandit.algorithms.fixed_budget.ugape_b import ugape_b
from jaxbandit.algorithms.fixed_budget.uniform_allocation import uniform_allocation

__all__ = [
    "budgeted_race",
    "sequential_halving",
    "successive_rejects",
    "ucb_e",
    "ugape_b",
    "uniform_allocation",
]
