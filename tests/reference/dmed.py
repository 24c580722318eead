"""DMED for Bernoulli arms in Python, with the paper's three lists: Honda and Takemura (2010), Algorithm 1."""

import math

import numpy as np
from scipy.special import rel_entr


def kl(p, q):
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def play(rewards):
    rounds, num_arms = rewards.shape
    pulls, sums, means, actions = np.zeros(num_arms), np.zeros(num_arms), np.zeros(num_arms), []

    def pull(arm):
        if len(actions) < rounds:
            pulls[arm] += 1
            sums[arm] += rewards[len(actions), arm]
            means[arm] = sums[arm] / pulls[arm]
            actions.append(arm)

    for arm in range(num_arms):
        pull(arm)
    current, left, following = list(range(num_arms)), set(range(num_arms)), set()
    while len(actions) < rounds:
        for arm in current:
            pull(arm)
            left.remove(arm)
            for j in set(range(num_arms)) - left:
                if pulls[j] * kl(means[j], means.max()) <= math.log(len(actions)) - math.log(pulls[j]):
                    following.add(j)
        current, left, following = sorted(following), set(following), set()
    return np.array(actions)
