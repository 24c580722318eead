"""The environments, and readers of recorded data.

Names are imported when they are first used.
"""

from typing import Any

import lazy_loader

_imported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _imported(name)
    from jaxbandit.support.refusals import nearest  # only needed for an error message

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{nearest(name, __all__)}")
