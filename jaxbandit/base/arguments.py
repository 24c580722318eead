"""The arguments that many algorithms and environments take, each said once: what it may be and what it means.

A factory writes `delta: Delta = 0.05`. Its docstring says under Args only what is peculiar to it; `declare` adds the
rest and checks every call.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import arrays
from jaxbandit.support.domains import Domain, integer, number
from jaxbandit.support.types import ArrayLike, Scalar

INT32 = 2**31 - 1  # the most arms, because actions are int32
ARMS = ("num_arms", "features", "means", "weights")  # arguments that tell the number of arms

# Numbers
Finite = Annotated[Scalar, Arg(number())]
Positive = Annotated[Scalar, Arg(number(0, open_low=True))]
NonNegative = Annotated[Scalar, Arg(number(0))]
AtLeastOne = Annotated[Scalar, Arg(number(1))]
AboveOne = Annotated[Scalar, Arg(number(1, open_low=True))]
OpenUnit = Annotated[Scalar, Arg(number(0, 1, open_low=True, open_high=True))]  # (0, 1)
ClosedUnit = Annotated[Scalar, Arg(number(0, 1))]  # [0, 1]
PositiveUnit = Annotated[Scalar, Arg(number(0, 1, open_low=True))]  # (0, 1]
Whole = Annotated[int, Arg(integer(0))]
Count = Annotated[int, Arg(integer(1))]
CountOfRounds = Annotated[int, Arg(integer(1, INT32))]

# Sizes
NumArms = Annotated[int, Arg(integer(1, most=INT32), "number of arms K")]
SeveralArms = Annotated[int, Arg(integer(2, most=INT32), "number of arms K")]
Dim = Annotated[int, Arg(integer(1), "dimension")]
Horizon = Annotated[int, Arg(integer(1), "number of rounds T")]
Seed = Annotated[int, Arg(integer(0), "number of the instance")]


def _some_arms(given: Mapping[str, Any]) -> Domain:
    """Return the sizes of a set of arms that is not all of them."""
    return integer(1, max(_num_arms(given) - 1, 1))


def _num_arms(given: Mapping[str, Any]) -> int:
    return next(given[key] if key == "num_arms" else len(given[key]) for key in ARMS if key in given)


M = Annotated[int, Arg(_some_arms, "number of arms to find", within="an integer in [1, num_arms - 1]")]
TeamSize = Annotated[int, Arg(_some_arms, "number of arms in a team", within="an integer in [1, num_arms - 1]")]

ListSize = Annotated[
    int, Arg(lambda given: integer(1, _num_arms(given)), "length of a list", within="an integer in [1, num_arms]")
]
Permute = Annotated[bool, Arg(meaning="whether each run has the arms in a random order of its own")]
Deviation = Annotated[Scalar, Arg(number(0, open_low=True), "standard deviation of the rewards")]

# Arrays
Vector = Annotated[ArrayLike, Arg(arrays())]
NonNegativeVector = Annotated[ArrayLike, Arg(arrays(low=0))]
PositiveVector = Annotated[ArrayLike, Arg(arrays(low=0, open_low=True))]
UnitVector = Annotated[ArrayLike, Arg(arrays(low=0, high=1))]  # entries in [0, 1]
Matrix = Annotated[ArrayLike, Arg(arrays(ndim=2))]
UnitMatrix = Annotated[ArrayLike, Arg(arrays(ndim=2, low=0, high=1))]  # entries in [0, 1]
ContextSets = Annotated[
    ArrayLike,
    Arg(
        arrays(ndim=3),
        "float[num_contexts, num_arms, dim]; row a of set m has the features of arm a of context m",
    ),
]
Mask = Annotated[
    np.ndarray,
    Arg(
        meaning="bool with the leading axes of features, False for rows that only pad a shorter set; None means no "
        "padding"
    ),
]
