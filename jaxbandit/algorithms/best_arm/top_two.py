"""Top-two rules: each round has a leader and a challenger, and a random draw decides which of the two is pulled."""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.best_arm import comparison as compare
from jaxbandit.algorithms.best_arm.comparison import ArmStatistics
from jaxbandit.algorithms.best_arm.unknown_variance import LawName, LawThreshold, comparison
from jaxbandit.base.arguments import Delta, FamilySigma, OpenUnit, Positive, SeveralArms
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.solvers.beta import draw_noise

REDRAWS = 64  # posterior draws in search of an arm other than the leader, before the transport cost decides
OPTIMISM = 1.2 * 2.2  # factor of log t in the bonus of the leader "ucb", as in the experiments of its paper


class TopTwoState(NamedTuple):
    """What is known about the arms."""

    pulls: Array  # int32[], of all arms together
    arms: ArmStatistics
    logs: Array | None  # float[num_arms], log of each arm's pulls, 0 before the first; None if not needed


class TopTwoNoise(NamedTuple):
    """All randomness of one round."""

    coin: Array  # float[], uniform on [0, 1)
    words: Any  # uint32[num_arms], for the leader's posterior draw; None if it makes none
    redraws: Any  # a key, for the challenger's posterior draws; None if it makes none


@declare(
    question="confidence",
    rewards="of a known one-parameter family, or Gaussian with unknown variances",
    cost="O(K)",
    memory="O(K)",
    tries={"beta": (0.5, 0.3)},
)
def top_two(
    num_arms: SeveralArms,
    *,
    leader: Literal["eb", "ts", "ucb"] = "eb",
    challenger: Literal["tc", "tci", "ts"] = "tci",
    beta: OpenUnit = 0.5,
    adaptive: bool = False,
    family: LawName = "bernoulli",
    threshold: LawThreshold | None = None,
    delta: Delta = 0.05,
    epsilon: Positive | None = None,
    sigma: FamilySigma = 1.0,
) -> Algorithm:
    """Compares a leader with a challenger, Russo 2016, Jourdan et al. 2022.

    Each round pulls the leader with probability beta and the challenger otherwise. The default is EB-TCI. Other rules
    of the literature are, as (leader, challenger): EB-TC ("eb", "tc"), T3C ("ts", "tc"), TS-TCI ("ts", "tci"), TTTS
    ("ts", "ts") and TTUCB ("ucb", "tc"). The run stops when the generalized likelihood ratio statistic Z_bj of the arm
    b with the best empirical mean exceeds its threshold for all other arms j.

    Guarantee: The error rate is at most delta; for the rules and families of the papers and means that differ, the
    expected number of pulls is asymptotically the least possible if the best arm receives the share beta (Jourdan et
    al. 2022).

    In detail, the error rate holds with a proved threshold, whatever the leader, the challenger and beta. With
    `epsilon` it is that of an arm that is more than epsilon below the best one. Jourdan, Degenne and Kaufmann (2023)
    also bound the simple regret of EB-TC_eps at any time, for shares that are tracked; here they are drawn, which is
    not covered.

    Args:
      leader: "eb" is the arm with the best empirical mean. "ts" is the best arm of a draw from the posterior (for
        student rewards, under the prior 1/sigma). "ucb" is the arm with the largest upper bound mean + sqrt(5.28
        sigma^2 log t / n), where sigma is 1/2 for bernoulli and the empirical standard deviation for student rewards;
        it is not available for poisson and exponential rewards.
      challenger: "tc" is the arm j other than the leader with the smallest Z_{leader, j}; "tci" is that with the
        smallest Z_{leader, j} + log n_j. "ts" is the best arm of a further posterior draw, repeated until it is not the
        leader (at most 64 times, then as "tc").
      beta: probability of pulling the leader.
      adaptive: whether beta is replaced by the fraction of Z_{leader, challenger} that is due to the leader, or 1/2 if
        that statistic is 0, so that the proportions of pulls tend to the optimal ones.
      family: family of the reward distributions, "bernoulli", "gaussian", "poisson", "exponential", or "student" for
        Gaussian rewards with an unknown variance per arm; static. "bernoulli" is also valid for any rewards in [0, 1],
        and "gaussian" for sub-Gaussian rewards. "student" runs in float64 only.
      threshold: static. None is the smallest proved one: "kt" for Bernoulli rewards (only), "gauss" for Gaussian
        rewards (only), otherwise "kk", see `pair_threshold`; and "interval" for student rewards, whose others are
        "tbox" and "evbox", see `unknown_variance`. "heuristic" has no proof.
      epsilon: slack in units of the reward, for the rule EB-TC_eps ("eb", "tc") and family "gaussian" only: an arm that
        is within epsilon of the best one is enough, and costs and the statistic of the stopping rule are (mean_b -
        mean_j + epsilon)^2 / (2 sigma^2 (1 / n_b + 1 / n_j)). None is the best arm itself.

    Raises:
      ValueError: the threshold, the leader or an epsilon is not available for the family.

    Source:
      Jourdan, Degenne, Baudry, de Heide and Kaufmann (2022), Top two algorithms revisited, NeurIPS; Russo (2016),
      Simple Bayesian algorithms for best arm identification, COLT; Shang, de Heide, Menard, Kaufmann and Valko (2020),
      Fixed-confidence guarantees for Bayesian best-arm identification, AISTATS; Jourdan and Degenne (2023),
      Non-asymptotic analysis of a UCB-based top two algorithm, NeurIPS; Jourdan, Degenne and Kaufmann (2023), An
      epsilon-best-arm identification algorithm for fixed-confidence and beyond, NeurIPS; You, Qin, Wang and Yang
      (2023), Information-directed selection for top-two algorithms, COLT.
    """
    law = comparison(family, threshold, num_arms, delta, sigma)
    if epsilon is not None:
        if family != "gaussian":
            raise ValueError(f"epsilon = {epsilon}, must be None with family = {family!r}: it is for gaussian rewards")
        law = compare.with_slack(law, epsilon)
    deviations: Any = law.deviations
    if leader == "ucb" and law.deviations is None:
        raise ValueError(f"leader = 'ucb', must be eb or ts with family = {family!r}, which has no sigma")

    def noise(key: Key) -> TopTwoNoise:
        coin_only = "ts" not in (leader, challenger)
        own = key if coin_only else jax.random.fold_in(key, num_arms)  # the arms use the numbers below
        coin = as_float(jax.random.uniform(own, dtype=jnp.float32))
        words = draw_noise(key, num_arms) if leader == "ts" else None
        return TopTwoNoise(coin, words, jax.random.fold_in(key, num_arms + 1) if challenger == "ts" else None)

    def init(key: Key) -> TopTwoState:
        logs = jnp.zeros(num_arms) if challenger == "tci" else None
        return TopTwoState(jnp.zeros((), jnp.int32), compare.nothing_seen(law, num_arms), logs)

    def lead(noise: TopTwoNoise, state: TopTwoState) -> Array:
        if leader == "eb":
            return argmax(state.arms.means)
        if leader == "ts":
            return argmax(law.draw(noise.words, state.arms))
        n = as_float(jnp.maximum(state.arms.counts, 1))
        bonus = jnp.sqrt(2 * OPTIMISM * jnp.log(as_float(jnp.maximum(state.pulls, 1))) / n)
        return argmax(state.arms.means + deviations(state.arms) * bonus)

    def challenge(noise: TopTwoNoise, state: TopTwoState, first: Array) -> Array:
        cost = law.evidence(state.arms, first)
        if state.logs is not None:
            cost = cost + state.logs
        others = jnp.arange(num_arms, dtype=jnp.int32) != first
        nearest = argmax(jnp.where(others, -cost, -jnp.inf))
        return nearest if challenger != "ts" else redrawn(noise.redraws, state, first, nearest)

    def redrawn(key: Key, state: TopTwoState, first: Array, nearest: Array) -> Array:
        """Return the best arm of the first of REDRAWS draws that differs from the leader, or else the nearest arm."""

        def again(carry: tuple[Array, Array]) -> Array:
            return (carry[0] < REDRAWS) & (carry[1] == first)

        def once(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            words = draw_noise(jax.random.fold_in(key, carry[0]), num_arms)
            return carry[0] + 1, argmax(law.draw(words, state.arms))

        other = lax.while_loop(again, once, (jnp.int32(0), first))[1]
        return jnp.where(other == first, nearest, other)

    def select(noise: TopTwoNoise, state: TopTwoState, context: None) -> Array:
        first = lead(noise, state)
        second = challenge(noise, state, first)
        share = law.split(state.arms, first, second) if adaptive else as_float(beta)
        chosen = jnp.where(noise.coin < share, first, second)
        return jnp.where(state.pulls < law.first * num_arms, state.pulls % num_arms, chosen)

    def update(state: TopTwoState, context: None, action: Array, reward: Array) -> TopTwoState:
        arms, logs = compare.seen(law, state.arms, action, reward), state.logs
        if logs is not None:
            logs = set_at(logs, action, jnp.log(as_float(get_at(arms.counts, action))))
        return TopTwoState(state.pulls + 1, arms, logs)

    return compare.identification(
        law, num_arms, delta, 0.0 if epsilon is None else epsilon, init=init, select=select, update=update, noise=noise
    )
