"""The arguments that many algorithms and environments take, each said once: what it may be and what it means.

A factory writes `delta: Delta = 0.05`. Its docstring says under Args only what is peculiar to it; `declare` adds the
rest and checks every call.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import STARTS, arrays, of_list, one_or_each
from jaxbandit.support.domains import INT32, MOST_PULLS, MOST_ROUNDS, UINT32, Domain, integer, number, several
from jaxbandit.support.types import ArrayLike, FamilyName, Numbers, Scalar

ARMS = ("num_arms", "features", "means", "typical", "weights")  # arguments that tell the number of arms

_POSITIVE = number(0, open_low=True)

# Numbers
Finite = Annotated[Scalar, Arg(number())]
Positive = Annotated[Scalar, Arg(_POSITIVE)]
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


# Floats that are never traced
Share = Annotated[float, Arg(number(0, 1, open_low=True, open_high=True))]
Distance = Annotated[float, Arg(number(0))]

FRACTION = number(0, 1)

# Runs
HorizonOfRuns = Annotated[int, Arg(integer(1, MOST_ROUNDS), "number of rounds of a run")]
MostPulls = Annotated[int, Arg(integer(1, MOST_PULLS))]
NumRuns = Annotated[
    int,
    Arg(
        integer(1, INT32),
        "number of independent runs. Run r depends only on (seed, r), not on the number of runs",
    ),
]
FirstRun = Annotated[int, Arg(lambda given: integer(0, INT32 - given["num_runs"]), "index of the first run")]
RunNumber = Annotated[int, Arg(integer(0, INT32), "index of the run of that seed")]
RunSeed = Annotated[
    int,
    Arg(
        integer(0, UINT32),
        "number of the random draws; two algorithms with the same seed share them (common random numbers), so that "
        "`compare` can pair their runs",
    ),
]
Checkpoints = Annotated[
    Sequence[int],
    Arg(
        lambda given: of_list(several(integer(1, given["horizon"]), "a list of rounds", increasing=True, empty=True)),
        "increasing rounds at which the regret is recorded, of which the horizon is always one. Default: about 100 "
        "logarithmically spaced rounds",
    ),
]
MaxFailed = Annotated[float, Arg(FRACTION, "fraction of the runs that may fail. If more fail, an error is raised")]


def _some_arms(given: Mapping[str, Any]) -> Domain:
    """Return the sizes of a set of arms that is not all of them."""
    return integer(1, max(_num_arms(given) - 1, 1))


def _num_arms(given: Mapping[str, Any]) -> int:
    return next(given[key] if key == "num_arms" else len(given[key]) for key in ARMS if key in given)


SomeArms = Annotated[int, Arg(_some_arms, within="an integer in [1, num_arms - 1]")]
M = Annotated[int, Arg(_some_arms, "number of arms to find", within="an integer in [1, num_arms - 1]")]
TeamSize = Annotated[int, Arg(_some_arms, "number of arms in a team", within="an integer in [1, num_arms - 1]")]

ListSize = Annotated[
    int, Arg(lambda given: integer(1, _num_arms(given)), "length of a list", within="an integer in [1, num_arms]")
]
Starts = Annotated[Sequence[int], Arg(STARTS, "number of rounds before each segment, increasing from 0")]
Permute = Annotated[bool, Arg(meaning="whether each run has the arms in a random order of its own")]
Deviation = Annotated[Scalar, Arg(number(0, open_low=True), "standard deviation of the rewards")]


def per_arm(**limits: Any) -> Arg:
    """Return what is said of a number that may also be given for each arm, within limits as for `arrays`."""
    one = number(**limits).allowed.removeprefix("a ")
    return Arg(lambda given: one_or_each(_num_arms(given), **limits), within=f"one {one} or one per arm")


Deviations = Annotated[Numbers, per_arm(low=0, open_low=True)]

# Arrays
SeveralMeans = Annotated[ArrayLike, Arg(arrays(min_size=2), "float[num_arms], num_arms >= 2, the means of the arms")]
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

# What is to be found, with which guarantee and effort
Delta = Annotated[
    Scalar, Arg(number(0, 1, open_low=True, open_high=True), "allowed error probability", tries=(0.05, 0.5))
]
Epsilon = Annotated[
    Scalar, Arg(number(0), "tolerated simple regret, in the unit of the rewards", tries=(0.1, 0.0, 1.0))
]
Budget = Annotated[Scalar, Arg(None, "number of pulls", (30.0, 41.0), within="a whole number >= num_arms")]
Grid = Annotated[
    Scalar,
    Arg(
        number(1),
        "ratio between successive pull counts at which the stopping rule is evaluated; 1 evaluates it after every pull",
        (1.001, 1.5),
    ),
]
NumChanges = Annotated[
    int, Arg(integer(1), "number of changes Y of the means within the horizon; only for defaults that depend on it")
]
LogLogWeight = Annotated[Scalar, Arg(number(0), "weight of log log t", (0.0, 3.0))]

# What is assumed of the rewards
Family = Annotated[
    FamilyName,
    Arg(
        meaning='family of the rewards, "bernoulli", "gaussian", "poisson" or "exponential"; "bernoulli" is also valid '
        "for any rewards in [0, 1]"
    ),
]
Sigma = Annotated[
    Scalar,
    Arg(
        _POSITIVE,
        "standard deviation, or sub-Gaussian scale, of the noise (1/2 for rewards in [0, 1])",
        tries=(0.2, 1.0),
    ),
]
FamilySigma = Annotated[
    Scalar,
    Arg(
        _POSITIVE,
        'standard deviation, or sub-Gaussian scale, of "gaussian" rewards; the other families do not use it',
        tries=(0.2, 1.0),
    ),
]
PriorAlpha = Annotated[Scalar, Arg(number(0.5, 1e6), 'prior number of successes of "bernoulli" rewards', (1.0, 0.5))]
PriorBeta = Annotated[Scalar, Arg(number(0.5, 1e6), 'prior number of failures of "bernoulli" rewards', (1.0, 2.5))]

# Features and linear models
Features = Annotated[
    ArrayLike, Arg(arrays(ndim=2, min_size=2), "features of the arms, float[num_arms, dim] with num_arms >= 2")
]
Candidates = Annotated[
    ArrayLike,
    Arg(
        arrays(ndim=2, min_size=2),
        "features of the candidates, float[num_candidates, dim] with num_candidates >= 2, one of which is recommended "
        "in place of an arm; None means the arms themselves",
    ),
]
FeatureSets = Annotated[
    ArrayLike,
    Arg(
        meaning="finite float[num_contexts, num_arms, dim], one set of arms for each context, or float[num_arms, dim] "
        "for one set"
    ),
]
Shape = Annotated[
    tuple[int, ...],
    Arg(
        meaning="shape of the context, (dim,) for a vector that all arms share, with a model for each arm, or "
        "(num_arms, dim) for a row for each arm, with one model"
    ),
]
Intercept = Annotated[
    bool,
    Arg(
        meaning="whether a constant 1 is appended to each row. Without it every model is fixed at x = 0, and rewards "
        "of another level there cost linear regret"
    ),
]
Regularization = Annotated[Scalar, Arg(_POSITIVE, "lambda of the regularized least squares", (1.0, 0.01))]
PriorPrecision = Annotated[
    Scalar, Arg(_POSITIVE, "lambda, precision of the prior N(0, I / lambda) of the weights", (1.0, 0.1))
]
ThetaNorm = Annotated[
    Scalar, Arg(number(0), "upper bound S on the Euclidean norm of theta, for thresholds that need it", (1.0, 2.0))
]
Zeta = Annotated[
    Scalar,
    Arg(
        number(0),
        "the allocation is solved again when det G has grown by the factor 1 + zeta; 0 solves it in every round",
        (1.2, 0.5),
    ),
]
