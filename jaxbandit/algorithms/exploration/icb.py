"""ICB: Kuroki, Xu, Miyauchi, Honda and Sugiyama (2019), Algorithm 4: an independent confidence interval for each arm.

The hardest rival is found by one call of a linear oracle. The default radius is that of Lemma 1; that of Proposition 1
reproduces Table 2 of the paper.
"""

import math
from typing import Literal

import jax.numpy as jnp

from jaxbandit.algorithms.exploration.static_super_arms import (
    Look,
    Rule,
    Schedule,
    Support,
    static_super_arms,
    static_task,
)
from jaxbandit.algorithms.exploration.super_arms import AllocationKind, NumSets, Sets, SupportKind, SupportSeed, Weights
from jaxbandit.algorithms.exploration.thresholds import independent_threshold
from jaxbandit.base.arguments import Delta, Epsilon, Grid, SeveralArms, Sigma, TeamSize
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.decision_classes import DecisionClass, challenger


@declare(
    question="confidence",
    setting="full-bandit",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2) a batch of pulls",
    memory="O(K)",
    concrete=("sets", "weights"),
    settings=({"support": "all"}, {"support": "all", "schedule": "every"}),
)
def icb(
    num_arms: SeveralArms,
    *,
    k: TeamSize,
    support: SupportKind = "random",
    num_sets: NumSets | None = None,
    support_seed: SupportSeed = 0,
    sets: Sets | None = None,
    allocation: AllocationKind = "uniform",
    weights: Weights | None = None,
    radius: Literal["lemma1", "prop1"] = "lemma1",
    decision_class: DecisionClass | None = None,
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    schedule: Schedule = "geometric",
    grid: Grid = 1.01,
) -> Algorithm:
    """The k best arms from sums of k, an interval for each arm, Kuroki et al. 2019.

    The pulls follow a static allocation over a support of super-arms (full-bandit feedback), and least squares estimate
    the single arms. The run stops when no other set can exceed the empirically best one by epsilon or more, given an
    independent confidence interval for each arm.

    Guarantee: The recommended sum is at most epsilon below the best, with probability 1 - delta.

    Args:
      radius: "lemma1" is a union bound over the n intervals of every round, sigma sqrt(2 log(6 t^2 n / (pi^2 delta))).
        "prop1" is a union bound over the K super-arms, and twice as wide in addition.
      decision_class: the sets of k arms that may be recommended, from `theory.solvers`, or None for all sets of k;
        static. The sets that are pulled need not belong to it. An environment that judges the recommendation must be
        given the same class.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, rewards float[] and recommendations int32[k] in
      increasing order. It requests its pulls in batches of SetPulls.

    Raises:
      ValueError: the support does not span all arms.

    Source:
      Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Polynomial-time algorithms for multiple-arm identification with
      full-bandit feedback, Neural Computation 32, Algorithm 4, Lemmas 1 and 3.
    """
    pulls = Support(support, num_sets, support_seed, sets, allocation, weights)
    task = static_task(num_arms, k, pulls, delta, epsilon, sigma, family=decision_class)
    family = task.family

    def radius_at(rounds: Array) -> Array:
        if radius == "prop1":
            return task.radius(rounds)
        level = independent_threshold(rounds, log_arms=math.log(num_arms), delta=delta)
        return as_float(sigma) * level / jnp.sqrt(rounds)

    def prepare(inverse: Array) -> Array:
        return jnp.sqrt(jnp.diagonal(inverse))

    def stop(look: Look) -> Array:
        best = family.best(look.estimate)
        rival = challenger(family, look.estimate, radius_at(look.rounds) * look.design, best)
        return rival.value - jnp.sum(jnp.where(best, look.estimate, 0.0)) < as_float(epsilon)

    return static_super_arms(task, Rule(prepare, stop), schedule, grid)
