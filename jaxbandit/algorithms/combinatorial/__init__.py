"""Algorithms whose action is a team of arms and whose feedback is the reward of each member: semi-bandits.

A factory shadows the submodule of the same name here: for what else a module holds, import from its full path.
"""

from jaxbandit.algorithms.combinatorial.clucb import clucb
from jaxbandit.algorithms.combinatorial.combinatorial_thompson import combinatorial_thompson
from jaxbandit.algorithms.combinatorial.cucb import cucb
from jaxbandit.algorithms.combinatorial.escb import escb

__all__ = ["clucb", "combinatorial_thompson", "cucb", "escb"]
