"""What is registered: algorithms and environments by name, and what the one may know of the other."""

from jaxbandit.specs.algorithms import ALGORITHMS, super_arms
from jaxbandit.specs.entry import Entry, Parameter
from jaxbandit.specs.environments import ENVIRONMENTS

__all__ = ["ALGORITHMS", "ENVIRONMENTS", "KNOWABLE", "PROBLEM_DATA", "Entry", "Parameter", "super_arms"]

PROBLEM_DATA = ("num_arms", "theta")  # what only the instance can fill: never written under [[algorithm]]
KNOWABLE = (
    "num_arms",
    "features",
    "mask",
    "sigma",
    "theta_norm",
    "m",
    "k",
)  # what an algorithm may know of an instance
