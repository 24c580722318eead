"""The arguments that several algorithms take, and no environment: each said once, see `jaxbandit.base.arguments`."""

from typing import Annotated

from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import arrays
from jaxbandit.support.domains import integer, number
from jaxbandit.support.types import ArrayLike, Scalar
from jaxbandit.theory.solvers.families import FamilyName

_POSITIVE = number(0, open_low=True)

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
