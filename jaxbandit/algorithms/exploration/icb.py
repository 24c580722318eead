"""ICB: Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Algorithm 4: an independent confidence interval an arm.

The intervals add up over the arms in which two super-arms differ, so that the hardest rival is one call of a linear
oracle: any decision class that has one will do. The radius of Lemma 1 is the default, Proposition 1's the option that
reproduces the paper's Table 2.
"""

import math
from typing import Literal

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.exploration.static_super_arms import Look, Rule, Schedule, promise, static_super_arms
from jaxbandit.algorithms.exploration.super_arms import AllocationKind, SupportKind, super_arms
from jaxbandit.algorithms.exploration.thresholds import independent_threshold
from jaxbandit.base import Algorithm
from jaxbandit.numerics import as_float
from jaxbandit.solvers.decision_classes import DecisionClass, challenger, top_k
from jaxbandit.types import Array, ArrayLike, Scalar


def icb(
    num_arms: int,
    *,
    k: int,
    support: SupportKind = "random",
    num_sets: int | None = None,
    support_seed: int = 0,
    sets: ArrayLike | None = None,
    allocation: AllocationKind = "uniform",
    weights: ArrayLike | None = None,
    radius: Literal["lemma1", "prop1"] = "lemma1",
    decision_class: DecisionClass | None = None,
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    schedule: Schedule = "geometric",
    grid: Scalar = 1.01,
) -> Algorithm:
    """Return ICB, independent confidence bounds, for the k best arms from their sums; it is (epsilon, delta)-PAC.

    Args:
      num_arms: n, single arms, >= 2, static.
      k: arms in a super-arm, in [1, num_arms - 1], static.
      support, num_sets, support_seed, sets, allocation, weights: as of saqm.
      radius: "lemma1": a union over the n intervals of every round, sigma sqrt(2 log(6 t^2 n / (pi^2 delta))).
        "prop1": over the K super-arms, twice as wide beyond that. Static.
      decision_class: the sets that may be recommended, of k arms each, from jaxbandit.solvers; static. None: all of k.
        The support is another matter: sets that are pulled need not belong to it. The environment takes the same
        class, or else it judges by all sets of k.
      delta, epsilon, sigma, schedule, grid: as of saqm.

    Returns, Raises, Source: as of saqm; Algorithm 4, Lemmas 1 and 3.
    """
    where = "icb"
    arms = super_arms(
        where,
        num_arms,
        k,
        support=support,
        num_sets=num_sets,
        support_seed=support_seed,
        sets=sets,
        allocation=allocation,
        weights=weights,
    )
    checks.choice(where, "radius", radius, ("lemma1", "prop1"))
    promised = promise(where, delta, epsilon, sigma, k)
    family = top_k(num_arms, k) if decision_class is None else decision_class
    checks.decision_class(where, family, num_arms, k)

    def level(rounds: Array) -> Array:
        if radius == "prop1":
            return 2 * independent_threshold(rounds, log_arms=family.log_size, delta=delta)
        return independent_threshold(rounds, log_arms=math.log(num_arms), delta=delta)

    def prepare(inverse: Array) -> Array:
        return jnp.sqrt(jnp.diagonal(inverse))

    def stop(look: Look) -> Array:
        best = family.best(look.estimate)
        widths = as_float(sigma) * level(look.rounds) / jnp.sqrt(look.rounds) * look.design
        rival = challenger(family, look.estimate, widths, best)
        return rival.value - jnp.sum(jnp.where(best, look.estimate, 0.0)) < as_float(epsilon)

    rule = Rule(prepare, stop, family.best)
    return static_super_arms(where, arms, rule, grid, schedule, promised, sigma)
