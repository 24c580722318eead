"""The delta audit: does a stopping rule keep its error probability."""

from jaxbandit.support import lazy_names

__getattr__, __dir__, __all__ = lazy_names.attach_stub(__name__, __file__)
