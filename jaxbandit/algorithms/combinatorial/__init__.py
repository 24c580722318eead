"""Semi-bandit algorithms: the action is a set of arms, and the feedback is the reward of each member.

In this package a factory shadows the submodule of the same name. To import anything else that such a module defines,
use the module's full path.
"""

from jaxbandit.algorithms.combinatorial.clucb import clucb
from jaxbandit.algorithms.combinatorial.combinatorial_thompson import combinatorial_thompson
from jaxbandit.algorithms.combinatorial.cucb import cucb
from jaxbandit.algorithms.combinatorial.escb import escb

__all__ = ["clucb", "combinatorial_thompson", "cucb", "escb"]
