"""Adaptive identification of the k best arms from sums of k rewards, by pulling informative super-arms.

Original to this library; it follows a question in the conclusion of Kuroki, Xu, Miyauchi, Honda and Sugiyama (2019). It
combines the greedy direction of LinGapE (Xu, Honda and Sugiyama 2017, equation 11), evaluated by linear oracles, with a
stopping rule that is valid for any choice of pulls (proof in docs/mathematics.md).
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.exploration.static_super_arms import in_order
from jaxbandit.algorithms.exploration.super_arms import NumSets, SupportSeed, super_arms, uniform_inverse
from jaxbandit.base.arguments import AboveOne, Count, Delta, Epsilon, PositiveUnit, SeveralArms, Sigma, TeamSize
from jaxbandit.base.batches import Batch, SetPulls
from jaxbandit.base.contract import Algorithm, Arms, Choice, Promise, Replan, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, matrix_vector, product, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import ordinary_least_squares as least_squares
from jaxbandit.theory.solvers.decision_classes import top_k
from jaxbandit.theory.solvers.lead import climb, coarse, lead_bound, starts

LOOK = {"starts": 16, "steps": 8}  # of the search for the rival at an evaluation of the stopping rule
CHOICE = {"starts": 4, "steps": 3}  # of the search for each further super-arm, which also starts from the last rival


class AdaptiveState(NamedTuple):
    """What has been observed, and the super-arms to pull before the next evaluation of the stopping rule."""

    rounds: Array  # int[], pulls so far
    together: Array  # int[n, n], pulls in which both arms were members
    response: Array  # float[n], mean over the pulls of r chi
    chosen: Array  # bool[choices, n], super-arms chosen at the last evaluation, pulled in addition to the support
    left: Array  # int[num_sets + choices], remaining pulls of each
    best: Array  # bool[n], the k arms to recommend, as of the last evaluation
    done: Array  # bool[]


@declare(
    question="confidence",
    setting="full-bandit",
    rewards="sub-Gaussian, scale given",
    cost="O(K^3) a batch of pulls",
    memory="O(K^2)",
    tries={"explore": (0.2, 1.0), "grid": (1.001, 1.5)},
    settings=({"choices": 2},),
)
def adaptive_full_bandit(
    num_arms: SeveralArms,
    *,
    k: TeamSize,
    num_sets: NumSets | None = None,
    support_seed: SupportSeed = 0,
    choices: Count = 32,
    bound: Literal["certified", "climbed"] = "certified",
    explore: PositiveUnit = 0.5,
    grid: AboveOne = 1.1,
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
) -> Algorithm:
    """The k best arms from sums of k, super-arms chosen adaptively, original to jaxbandit.

    It pulls every set of a random support once. Then it evaluates the stopping rule and, unless it stops, plans the
    pulls until the next evaluation: a fraction `explore` evenly over the support, and the rest over `choices`
    super-arms. Each of these is the set of k arms that correlates most with A^-1 (chi_M - chi_M_hat), the direction
    that distinguishes the rival M from the empirically best set M_hat, where A includes the super-arms chosen before
    it.

    Guarantee: The recommended sum is at most epsilon below the best, with probability 1 - delta; not with the bound
    "climbed".

    No bound on the number of samples is proved.

    Args:
      choices: number of super-arms chosen at each evaluation of the stopping rule.
      bound: the quantity that must be at most epsilon to stop. "certified" is an upper bound on how far any set is
        ahead of the recommended one. "climbed" is the largest lead found, which is a lower bound: it needs fewer
        samples and has no proof.
      explore: fraction of the pulls that goes to the support, so that the confidence ellipsoid shrinks whatever is
        chosen; 1 is static.
      grid: ratio between successive pull counts at which the stopping rule is evaluated.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, rewards float[] and recommendations int32[k] in
      increasing order. It requests its pulls in batches of SetPulls.

    Source:
      Original to this library, based on Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Polynomial-time algorithms for
      multiple-arm identification with full-bandit feedback, Neural Computation 32, and Xu, Honda and Sugiyama (2018), A
      fully adaptive algorithm for pure exploration in linear bandits, AISTATS.
    """
    support = super_arms(num_arms, k, num_sets=num_sets, support_seed=support_seed)
    assert support.sets is not None  # a random support is listed
    sets, size = support.sets, len(support.sets)
    promised = Promise(delta, epsilon, k, bound == "certified")
    family = top_k(num_arms, k)
    moment: Any = np.linalg.inv(uniform_inverse(num_arms, k))  # Lambda, and its log det
    volume = float(np.linalg.slogdet(moment)[1])

    def init(key: Key) -> AdaptiveState:
        zero = jnp.zeros((), int)
        return AdaptiveState(
            zero,
            jnp.zeros((num_arms, num_arms), int),
            jnp.zeros(num_arms),
            jnp.zeros((choices, num_arms), bool),
            (jnp.arange(size + choices, dtype=jnp.int32) < size).astype(int),
            jnp.arange(num_arms, dtype=jnp.int32) < k,
            jnp.zeros((), bool),
        )

    def planned(state: AdaptiveState) -> Array:
        return jnp.concatenate([jnp.asarray(sets), state.chosen])

    def select(noise: None, state: AdaptiveState, context: None) -> Choice:
        place = argmax(state.left)
        return Choice(planned(state)[place], place)

    def moved(state: AdaptiveState, rows: Array, counts: Array, gained: Array) -> AdaptiveState:
        """Return the state after `counts` pulls of `rows`, whose rewards r give sum r chi = gained."""
        count = jnp.sum(counts, dtype=int)
        rounds = state.rounds + count
        members = rows.astype(int)
        pairs = jnp.sum((counts[:, None] * members)[:, :, None] * members[:, None], 0, dtype=int)
        change = (gained - as_float(count) * state.response) / as_float(jnp.maximum(rounds, 1))
        return state._replace(rounds=rounds, together=state.together + pairs, response=state.response + change)

    def update(state: AdaptiveState, context: None, choice: Choice, reward: Array) -> AdaptiveState:
        action, place = choice
        after = moved(state, action[None], jnp.ones(1, int), jnp.where(action, reward, 0.0))
        return after._replace(left=set_at(state.left, place, get_at(state.left, place) - 1))

    def absorb(state: AdaptiveState, pulls: SetPulls, sums: Array) -> AdaptiveState:
        assert pulls.sets is not None
        gained = matrix_vector(as_float(pulls.sets).T, sums)
        return moved(state, pulls.sets, pulls.counts, gained)._replace(left=jnp.zeros_like(state.left))

    def due(state: AdaptiveState) -> Array:
        return ~state.done & (jnp.sum(state.left, dtype=int) == 0)

    def look(state: AdaptiveState) -> AdaptiveState:
        """Evaluate the stopping rule, and plan the next pulls unless it stops."""
        rounds = as_float(state.rounds)
        mean = as_float(state.together) / rounds  # A_t / t
        inverse = least_squares.inverse(mean)
        estimate = matrix_vector(inverse, state.response)
        best = family.best(estimate)
        doubled = jnp.maximum(jnp.floor(jnp.log2(rounds / (2 * size))), 0.0)  # j: V_j is in t Lambda [1/4, 1/2]
        share = 2.0**doubled * size / rounds
        prior = share * as_float(moment)  # V_j / t
        matrix = inverse + product(product(inverse, prior), inverse)
        logdet = jnp.sum(jnp.log(least_squares.pivots(mean + prior))) - volume - num_arms * jnp.log(share)
        level = jnp.sqrt(logdet + 2 * jnp.log((doubled + 1) * (doubled + 2) / as_float(delta)))
        radius = as_float(sigma) * level / jnp.sqrt(rounds)
        ellipsoid = family, estimate, matrix, radius, best
        rival = climb(*ellipsoid, starts(*ellipsoid, LOOK["starts"]), LOOK["steps"])
        lead = rival.lead if bound == "climbed" else lead_bound(*ellipsoid)
        done = lead <= as_float(epsilon)
        pulls = (as_float(grid) - 1) * rounds
        own = (1 - as_float(explore)) * pulls / choices

        def choose(i: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            inverse, rival, chosen = carry
            direction = coarse(matrix_vector(inverse, as_float(rival) - as_float(best)))
            high, low = family.best(direction), family.best(-direction)
            total = jnp.sum(jnp.where(high, direction, 0.0)) + jnp.sum(jnp.where(low, direction, 0.0))
            members = jnp.where(total >= 0, high, low)  # the sum with the larger absolute value
            column = matrix_vector(inverse, as_float(members))
            weight = own / rounds
            factor = weight / (1 + weight * jnp.sum(jnp.where(members, column, 0.0)))
            ellipsoid = family, estimate, inverse - factor * column[:, None] * column[None], radius, best
            begin = jnp.concatenate([starts(*ellipsoid, CHOICE["starts"]), rival[None]])
            rival = climb(*ellipsoid, begin, CHOICE["steps"]).members
            return ellipsoid[2], rival, jax.lax.dynamic_update_index_in_dim(chosen, members, i, 0)

        _, _, chosen = jax.lax.fori_loop(0, choices, choose, (inverse, rival.members, state.chosen))
        evenly = jnp.ceil(as_float(explore) * pulls / size)
        left = jnp.repeat(
            jnp.stack([evenly, jnp.ceil(own)]), np.array([size, choices]), total_repeat_length=size + choices
        )
        left = jnp.where(done, 0.0, left).astype(int)
        return state._replace(chosen=chosen, left=left, best=best, done=done)

    def verify(state: AdaptiveState) -> Array:
        again = look(state)
        return again.done & jnp.all(again.best == state.best)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        recommend=lambda state: in_order(state.best, k),
        stop=lambda state: state.done,
        replan=Replan(due, look),
        batch=Batch(lambda state: SetPulls(planned(state), state.left), absorb),
        verify=verify,
        promise=promised,
        arms=Arms(num_arms, k),
        rewards=Rewards(sigma=sigma),
        assumptions=("a set's mean is the sum of its arms' means",),
    )
