"""How runs are played: one round of one run, the layout of many runs, the driver, and storage.

Names are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
