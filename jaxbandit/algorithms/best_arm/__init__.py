"""Algorithms that find the best of arms that say nothing of each other, at a given confidence; one factory a name.

A factory shadows the submodule of the same name here: for what else a module holds, import from its full path.
"""

from jaxbandit.algorithms.best_arm.chernoff_racing import chernoff_racing
from jaxbandit.algorithms.best_arm.kl_lucb import kl_lucb
from jaxbandit.algorithms.best_arm.kl_racing import kl_racing, successive_elimination
from jaxbandit.algorithms.best_arm.lil_ucb import lil_ucb

__all__ = ["chernoff_racing", "kl_lucb", "kl_racing", "lil_ucb", "successive_elimination"]
