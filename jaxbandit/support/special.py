"""The functions of `scipy.special`, which is imported when the first of them is called and not while a service starts.

Its import takes a third of a second.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    from scipy import special

    return getattr(special, name)
