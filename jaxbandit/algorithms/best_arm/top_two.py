"""Top-two rules: each round a leader and a challenger are named, and a coin says which of the two is pulled.

Russo (2016), Top-Two Thompson Sampling; Shang et al. (2020), T3C; Jourdan et al. (2022), EB-TCI and its kin; Jourdan,
Degenne (2023), TTUCB; You et al. (2023), the information-directed coin.
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit import checks
from jaxbandit.algorithms.best_arm import comparison as compare
from jaxbandit.algorithms.best_arm.comparison import ArmStatistics
from jaxbandit.algorithms.best_arm.unknown_variance import LawName, LawThreshold, comparison
from jaxbandit.base import Algorithm, Arms, Promise
from jaxbandit.numerics import argmax, as_float, get_at, set_at
from jaxbandit.solvers.beta import draw_noise
from jaxbandit.types import Array, Key, Scalar

REDRAWS = 64  # draws of a posterior for another arm than the leader, before the transport cost names the challenger
OPTIMISM = 1.2 * 2.2  # of log t in the bonus of the leader "ucb", as in its paper's experiments


class TopTwoState(NamedTuple):
    """What is known of the arms."""

    pulls: Array  # int32[], of all arms together
    arms: ArmStatistics
    logs: Array | None  # float[num_arms], log of each arm's pulls, 0 before the first; None where not needed


class TopTwoNoise(NamedTuple):
    """The chance of one round."""

    coin: Array  # float[], uniform on [0, 1)
    words: Any  # uint32[num_arms], for the leader's draw; None where it draws none
    redraws: Any  # a key, for the challenger's draws; None where it draws none


def top_two(
    num_arms: int,
    *,
    leader: Literal["eb", "ts", "ucb"] = "eb",
    challenger: Literal["tc", "tci", "ts"] = "tci",
    beta: Scalar = 0.5,
    adaptive: bool = False,
    family: LawName = "bernoulli",
    threshold: LawThreshold = "kt",
    delta: Scalar = 0.05,
    sigma: Scalar = 1.0,
) -> Algorithm:
    """Return a top-two rule, which finds the best arm of a one-parameter family with a few operations an arm and round.

    The default is EB-TCI. Others by name: EB-TC ("eb", "tc"), T3C ("ts", "tc"), TS-TCI ("ts", "tci"), TTTS ("ts",
    "ts"), TTUCB ("ucb", "tc"). The run stops when Z_bj exceeds its threshold for all arms j but the best empirical mean
    b, Z_bj the generalised likelihood ratio of the pair. With a proved threshold P(the answer is wrong) <= delta,
    whatever the leader, the challenger and the coin.

    Args:
      num_arms: number of arms, >= 2, static.
      leader: the best empirical mean ("eb"), the best of a draw from the posterior ("ts"; of student rewards under the
        prior 1/sigma), or the best upper bound mean + sqrt(5.28 sigma^2 log t / n) ("ucb"; of bernoulli rewards sigma
        is 1/2 there, of student ones the empirical one; poisson and exponential ones have none); static.
      challenger: of the arms j other than the leader the one with the least Z_{leader, j} ("tc"), with the least
        Z_{leader, j} + log n_j ("tci"), or the best of a further draw from the posterior, repeated until it is not the
        leader ("ts": 64 times, then as "tc"); static.
      beta: probability that the leader is pulled, in (0, 1), traced.
      adaptive: instead of beta take the share of Z_{leader, challenger} that is the leader's, 1/2 where it is 0. Shares
        of pulls then tend to the optimal ones, and not to the best among those that give the best arm beta; static.
      family: of the rewards, "bernoulli", "gaussian", "poisson", "exponential", or "student": Gaussian rewards of
        unknown variances, one for each arm; static. Rewards in [0, 1] may be played as "bernoulli" ones, sub-Gaussian
        ones as "gaussian". "student" plays in float64 only.
      threshold: "heuristic" (not proved), "kk", "gauss" (of gaussian rewards) or "kt" (of bernoulli ones), see
        `pair_threshold`; of student ones "heuristic", "interval" (the best of the proved ones), "tbox" or "evbox", see
        `unknown_variance`; static.
      delta: allowed error rate, in (0, 1), traced.
      sigma: scale of gaussian rewards, > 0, traced; the other families do not read it.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Raises:
      ValueError: an argument is out of range, or the threshold or the leader is not one of the family.

    Source: Jourdan, Degenne, Baudry, de Heide, Kaufmann (2022), Top two algorithms revisited, NeurIPS.
    """
    where = "top_two"
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    checks.choice(where, "leader", leader, ("eb", "ts", "ucb"))
    checks.choice(where, "challenger", challenger, ("tc", "tci", "ts"))
    checks.number(where, "beta", beta, low=0.0, high=1.0, open_low=True, open_high=True)
    law = comparison(family, threshold, num_arms, delta, sigma, where=where)
    deviations: Any = law.deviations
    if leader == "ucb" and law.deviations is None:
        raise ValueError(f"{where}: leader = 'ucb', must be eb or ts with family = {family!r}, which has no sigma")

    def noise(key: Key) -> TopTwoNoise:
        alone = "ts" not in (leader, challenger)
        own = key if alone else jax.random.fold_in(key, num_arms)  # the arms' are below
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
        """The first of up to REDRAWS draws that is not the leader's, else the nearest arm."""

        def again(carry: tuple[Array, Array]) -> Array:
            return (carry[0] < REDRAWS) & (carry[1] == first)

        def once(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            words = draw_noise(jax.random.fold_in(key, carry[0]), num_arms)
            return carry[0] + 1, argmax(law.draw(words, state.arms))

        found = lax.while_loop(again, once, (jnp.int32(0), first))[1]
        return jnp.where(found == first, nearest, found)

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

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=lambda state: argmax(state.arms.means)[None],
        noise=noise,
        stop=lambda state: compare.separated(law, state.arms, state.pulls),
        verify=None if law.squares else lambda state: compare.verified(law, state.arms, state.pulls),
        promise=Promise(delta, proved=law.proved),
        arms=Arms(num_arms),
        rewards=law.rewards,
        name=where,
    )
