"""The registry of algorithms and environments by name, and what an algorithm may know about an environment."""

from jaxbandit.base.parameters import Parameter
from jaxbandit.lab.specs import references
from jaxbandit.lab.specs.declared import Declared
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.lab.specs.wrappers import WRAPPERS, parts, wrapped

__all__ = [
    "ALGORITHMS",
    "ENVIRONMENTS",
    "FILLED",
    "KNOWABLE",
    "PROBLEM_DATA",
    "WRAPPERS",
    "Entry",
    "Parameter",
    "algorithm",
    "environment",
]

ALGORITHMS = Declared("algorithms", lambda entry: bool(entry.question))
ENVIRONMENTS = Declared("environments")
PROBLEM_DATA = (
    "num_arms",
    "theta",
)  # arguments that only the instance determines; they cannot be given under [[algorithm]]
KNOWABLE = (
    "num_arms",
    "features",
    "mask",
    "sigma",
    "theta_norm",
    "m",
    "k",
)  # what an algorithm may know about an instance
FILLED = (*KNOWABLE, "horizon")  # arguments of an algorithm that are filled unless they are given


def algorithm(type_: str) -> Entry:
    """Return the entry of an algorithm that is registered or outside the package, or of a wrapper around one."""
    if around := parts(type_):
        return wrapped(type_, around[0], algorithm(around[1]))
    return references.entry(type_) if references.is_reference(type_) else ALGORITHMS[type_]


def environment(type_: str) -> Entry:
    """Return the entry of an environment that is registered or outside the package."""
    return references.entry(type_) if references.is_reference(type_) else ENVIRONMENTS[type_]
