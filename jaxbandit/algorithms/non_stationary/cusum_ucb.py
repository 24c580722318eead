"""CUSUM-UCB: Liu, Lee and Shroff (2018), Algorithms 1 and 2: a two-sided CUSUM test on each arm restarts it.

Difference: besides the UCB index of the paper there is a kl index.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.algorithms.non_stationary import tuned
from jaxbandit.algorithms.non_stationary.upper_index import Index, restart_policy, upper_index
from jaxbandit.base.arguments import ClosedUnit, CountOfRounds, Horizon, NonNegative, NumArms, NumChanges, Positive
from jaxbandit.base.contract import Algorithm, Choice
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import uniform_arm
from jaxbandit.support.numerics import add_at, argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import recent_means as estimator
from jaxbandit.theory.estimators.recent_means import RecentMeans

KINDS = ("forced", "alarm")


class CusumUcbState(NamedTuple):
    """Statistics and test of each arm since its last restart."""

    recent: RecentMeans
    references: Array  # float[num_arms], mean of the first min_pulls rewards
    falls: Array  # float[num_arms], g+, which grows while rewards are below the reference
    rises: Array  # float[num_arms], g-, which grows while they are above
    pulls: Array  # int32[num_arms]
    kinds: Array  # int32[2], rounds of forced exploration, and rounds that raised an alarm


@declare(
    question="regret",
    setting="changing",
    rewards="in [0, 1]",
    cost="O(K)",
    memory="O(K)",
    tries={"threshold": (2.0, 0.5), "alpha": (0.1, 0.5), "epsilon": (0.1, 0.0), "xi": (1.0, 2.0)},
    settings=({"min_pulls": 3}, {"min_pulls": 3, "index": "kl"}),
)
def cusum_ucb(
    num_arms: NumArms,
    *,
    index: Index = "ucb",
    alpha: ClosedUnit | None = None,
    threshold: Positive | None = None,
    epsilon: NonNegative = 0.1,
    min_pulls: CountOfRounds = 100,
    xi: Positive = 1.0,
    horizon: Horizon | None = None,
    num_changes: NumChanges = 1,
) -> Algorithm:
    """UCB restarted by two-sided CUSUM tests, Liu et al. 2018.

    Return CUSUM-UCB, whose arms restart one by one. The first min_pulls rewards of an arm since its restart give its
    reference mean u. From then on a reward x updates g+ = max(0, g+ + u - x - epsilon) and g- = max(0, g- + x - u -
    epsilon), and the arm restarts when either reaches the threshold. With probability alpha a round pulls a uniformly
    random arm, and otherwise the arm with the largest index mean_a + sqrt(xi log n / N_a), where n is the sum of the
    current counts N_a; the kl index is the largest q with kl(mean_a, q) <= log n / N_a.

    Guarantee: For 0 or 1 rewards, known Y, changes of at least 3 epsilon that are far enough apart, and alpha and
    threshold with the constants of the paper, which depend on epsilon, regret O(sqrt(T Y log(T / Y))) (Liu, Lee and
    Shroff 2018).

    In detail, this is for the UCB index; those constants are 1 in the defaults.

    Args:
      index: "ucb" or "kl"; static.
      alpha: probability of pulling a uniformly random arm; None means sqrt(Y / T log(T / Y)) for the horizon T and Y
        changes. With 0, changes of arms that are not pulled are never detected.
      threshold: threshold h of the test; None means log(T / Y).
      epsilon: change of a mean that the test tolerates. It must be smaller than the changes to be detected.
      min_pulls: number of rewards M that determine the reference mean.
      xi: factor of the logarithm in the UCB index.
      horizon: number of rounds T of a run, above num_changes; only for the defaults of alpha and threshold.

    Returns:
      Without alarms and with alpha = 0 it is UCB with the level log(t - 1), whereas `kl_ucb` has log t. It recommends
      the arm with the largest current count, and counts rounds by kind (forced, alarm).

    Raises:
      ValueError: a default requires a horizon that is not given.

    Source:
      Liu, Lee and Shroff (2018), A change-detection based framework for piecewise-stationary multi-armed bandit
      problem, AAAI, Algorithms 1 and 2.
    """
    if threshold is None:
        threshold = _log_ratio(*tuned.tuned_for("threshold", horizon, num_changes, below=True))
    if alpha is None:
        rounds, changes = tuned.tuned_for("alpha", horizon, num_changes, below=True)
        alpha = math.sqrt(changes / rounds * _log_ratio(rounds, changes))

    def init(key: Key) -> CusumUcbState:
        zeros = jnp.zeros(num_arms)
        none, kinds = jnp.zeros(num_arms, jnp.int32), jnp.zeros(len(KINDS), jnp.int32)
        return CusumUcbState(estimator.init(num_arms), zeros, zeros, zeros, none, kinds)

    def noise(key: Key) -> Array:
        return jax.random.uniform(key, (2,))  # whether to explore, and which arm

    def select(noise: Array, state: CusumUcbState, context: None) -> Choice:
        """Return the action, and whether it was forced exploration."""
        recent = state.recent
        level = jnp.log(as_float(jnp.maximum(jnp.sum(recent.counts, dtype=jnp.int32), 1)))
        best = argmax(upper_index(index, recent.means, level, recent.inverse_sqrt_counts, xi))
        forced = noise[0] < as_float(alpha)
        return Choice(jnp.where(forced, uniform_arm(None, noise[1], num_arms), best), forced)

    def update(state: CusumUcbState, context: None, choice: Choice, reward: Array) -> CusumUcbState:
        action, forced = choice
        recent = estimator.update(state.recent, action, reward)
        refers = get_at(recent.counts, action) <= min_pulls
        reference = jnp.where(refers, get_at(recent.means, action), get_at(state.references, action))
        off = reference - reward

        def grown(sums: Array, step: Array) -> Array:
            return jnp.where(refers, 0.0, jnp.maximum(0.0, get_at(sums, action) + step - as_float(epsilon)))

        fall, rise = grown(state.falls, off), grown(state.rises, -off)
        alarm = ~refers & (jnp.maximum(fall, rise) >= as_float(threshold))
        arms = jnp.arange(num_arms, dtype=jnp.int32) == action
        return CusumUcbState(
            recent=estimator.forget(recent, arms & alarm),
            references=set_at(state.references, action, reference),
            falls=set_at(state.falls, action, fall),
            rises=set_at(state.rises, action, rise),
            pulls=add_at(state.pulls, action, 1),
            kinds=state.kinds + jnp.stack([forced, alarm]).astype(jnp.int32),
        )

    return restart_policy(num_arms, init, select, update, kinds=KINDS, noise=noise)


def _log_ratio(horizon: int, num_changes: int) -> float:
    return math.log(horizon / num_changes)
