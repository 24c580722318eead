"""The registry of algorithms and environments by name, and what an algorithm may know about an environment."""

from jaxbandit.lab.specs.declared import Declared
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.lab.specs.wrappers import WRAPPERS

__all__ = [
    "ALGORITHMS",
    "ENVIRONMENTS",
    "FILLED",
    "KNOWABLE",
    "PROBLEM_DATA",
    "WRAPPERS",
    "Entry",
]

ALGORITHMS = Declared("algorithms", lambda entry: bool(entry.question))
ENVIRONMENTS = Declared("environments")
PROBLEM_DATA = (
    "num_arms",
    "theta",
)  # arguments that only the instance determines; they cannot be given under [[algorithm]]
KNOWABLE = (
    "num_arms",
    "dim",
    "shape",
    "features",
    "candidates",
    "mask",
    "sigma",
    "theta_norm",
    "m",
    "k",
    "num_resources",
)  # what an algorithm may know about an instance
FILLED = (*KNOWABLE, "horizon")  # arguments of an algorithm that are filled unless they are given
