"""The linear program that bounds the reward of bandits with knapsacks."""

from typing import Annotated, Any

import numpy as np
from scipy import optimize

from jaxbandit.base.arguments import Horizon, NonNegative, UnitVector
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import arrays, axes

Costs = Annotated[
    Any, Arg(lambda given: arrays(ndim=1 + (axes(given["costs"]) > 1), low=0, high=1), within="entries in [0, 1]")
]


@checked
def knapsack_bound(rewards: UnitVector, costs: Costs, budget: NonNegative, horizon: Horizon) -> float:
    """Return the most that a plan which knows all means can earn on average before the budget or the time is spent.

    It is the value of the linear program whose variables are the numbers of pulls, and an upper bound for every
    algorithm, in expectation.

    Args:
      rewards: float[num_arms], mean rewards.
      costs: float[num_arms] or float[num_arms, num_resources], mean costs.
      budget: units of every resource.

    Source: Badanidiyuru, Kleinberg and Slivkins (2018), Bandits with knapsacks, Journal of the ACM 65, Section 3.
    """
    if len(costs) != len(rewards):
        raise ValueError(f"costs has {len(costs)} rows, must have {len(rewards)}, one for each arm")
    c = np.asarray(costs, np.float64).reshape(len(costs), -1)
    limits = np.append(np.full(c.shape[1], float(budget)), horizon)
    found = optimize.linprog(-np.asarray(rewards, np.float64), np.vstack([c.T, np.ones(len(c))]), limits)
    return -float(found.fun)
