"""PrimalDualBwK in NumPy, from the paper: weights are multiplied, not added as logarithms."""

import numpy as np


def radius(mean, pulls, c):
    return np.sqrt(c * mean / pulls) + c / pulls


def play(rewards, costs, budget, horizon, c=1.0):
    """`rewards[t, a]` and `costs[t, a, i]` of each round; returns the arms until a cost exceeds what is left."""
    rounds, num_arms, resources = costs.shape
    pulls, paid, spent = np.zeros(num_arms), np.zeros(num_arms), np.zeros((num_arms, resources))
    weights = np.ones(resources + 1)
    eps, a_round = np.sqrt(np.log(resources + 1) / budget), budget / horizon
    arms = []
    for t in range(rounds):
        if t < num_arms:
            arm = t
        else:
            mean, price = paid / pulls, spent / pulls[:, None]
            upper = np.minimum(mean + radius(mean, pulls, c), 1)
            lower = np.maximum(price - radius(price, pulls[:, None], c), 0)
            y = weights / weights.sum()
            arm = int(np.argmax(upper / (lower @ y[:-1] + a_round * y[-1])))
            weights *= (1 + eps) ** np.append(lower[arm], a_round)
        if spent.sum(0).max() + 1 > budget:
            break
        pulls[arm] += 1
        paid[arm] += rewards[t, arm]
        spent[arm] += costs[t, arm]
        arms.append(arm)
    return np.array(arms)
