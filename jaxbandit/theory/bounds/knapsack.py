"""The linear program that bounds the reward of bandits with knapsacks."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from jaxbandit.support import checks


def knapsack_bound(rewards: ArrayLike, costs: ArrayLike, budget: float, horizon: int) -> float:
    """Return the most that a plan which knows all means can earn on average before the budget or the time is spent.

    It is the value of the linear program whose variables are the numbers of pulls, and an upper bound for every
    algorithm, in expectation.

    Args:
      rewards: float[num_arms] in [0, 1], mean rewards.
      costs: float[num_arms] or float[num_arms, num_resources] in [0, 1], mean costs.
      budget: units of every resource, >= 0.
      horizon: number of rounds, an integer >= 1.

    Source: Badanidiyuru, Kleinberg and Slivkins (2018), Bandits with knapsacks, Journal of the ACM 65, Section 3.
    """
    where = "knapsack_bound"
    r = checks.array(where, "rewards", rewards, low=0.0, high=1.0)
    c = checks.array(where, "costs", costs, ndim=1 + (checks.axes(costs) > 1), low=0.0, high=1.0)
    checks.number(where, "budget", budget, low=0.0)
    horizon = checks.integer(where, "horizon", horizon, 1)
    if len(c) != len(r):
        raise ValueError(f"{where}: costs has {len(c)} rows, must have {len(r)}, one for each arm")
    c = np.asarray(c, np.float64).reshape(len(r), -1)
    limits = np.append(np.full(c.shape[1], float(budget)), horizon)
    found = optimize.linprog(-np.asarray(r, np.float64), np.vstack([c.T, np.ones(len(r))]), limits)
    return -float(found.fun)
