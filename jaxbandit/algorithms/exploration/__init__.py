"""Algorithms that stop by themselves: the best arm, or the m best, at a given confidence; one factory a name.

A factory shadows the submodule of the same name here: for what else a module holds, import from its full path.
"""

from jaxbandit.algorithms.exploration.gifa import gifa
from jaxbandit.algorithms.exploration.presets import lingape, lingifa, lucb, m_lingape, ugape

__all__ = ["gifa", "lingape", "lingifa", "lucb", "m_lingape", "ugape"]
