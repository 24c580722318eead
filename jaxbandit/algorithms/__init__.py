"""The algorithms, and building blocks: the frame of an index policy, thresholds, and sets of arms.

Names are imported when they are first used.
"""

from jaxbandit.support import lazy_names

__getattr__, __dir__, __all__ = lazy_names.attach_stub(__name__, __file__)
