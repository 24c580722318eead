"""Numerical solvers: functions of arrays that know nothing about bandits.

Names are imported when they are first used.
"""

from jaxbandit.support import lazy_names

__getattr__, __dir__, __all__ = lazy_names.attach_stub(__name__, __file__)
