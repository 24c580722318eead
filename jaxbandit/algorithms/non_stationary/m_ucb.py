"""M-UCB: Cao, Wen, Kveton and Xie (2019), Algorithms 1 and 2: the two halves of each arm's last rewards are compared.

Difference: besides the UCB index of the paper there is a kl index.
"""

import math
from typing import Annotated, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.non_stationary import tuned
from jaxbandit.algorithms.non_stationary.upper_index import Index, forced_arm, restart_policy, upper_index
from jaxbandit.base.arguments import ClosedUnit, Horizon, NumArms, NumChanges, Positive
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import add_at, argmax, as_float, exploration_level, get_at, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import recent_means as estimator
from jaxbandit.theory.estimators.recent_means import RecentMeans

KINDS = ("forced", "alarm")


class MUcbState(NamedTuple):
    """Statistics since the last restart, and the last rewards of each arm in a ring buffer."""

    round: Array  # int32[], the round about to be played, from 1
    restart: Array  # int32[], rounds completed at the last restart
    recent: RecentMeans
    rings: Array  # float[num_arms * window], for each arm its reward i since the restart at i mod window
    differences: Array  # float[num_arms], newer half minus older half, valid after `window` rewards
    halves: Array  # float[num_arms], sums of rewards since the count was last a multiple of window / 2
    before: Array  # float[num_arms], sums of rewards of the window / 2 pulls before these
    pulls: Array  # int32[num_arms]
    kinds: Array  # int32[2], rounds of forced exploration, and rounds that raised an alarm


@declare(
    question="regret",
    setting="changing",
    rewards="in [0, 1]",
    cost="O(K)",
    memory="O(K W), for a window of W rewards",
    concrete=("threshold",),
    tries={"threshold": (1.5, 0.5), "gamma": (0.0, 0.5), "xi": (2.0, 0.5)},
    settings=({"window": 4}, {"window": 4, "index": "kl"}),
)
def m_ucb(
    num_arms: NumArms,
    *,
    window: Annotated[int, Arg(integer(2, 2**31 - 1))] | None = None,
    index: Index = "ucb",
    threshold: Positive | None = None,
    gamma: ClosedUnit | None = None,
    xi: Positive = 2.0,
    horizon: Horizon | None = None,
    num_changes: NumChanges = 1,
) -> Algorithm:
    """UCB restarted when the two halves of a window differ, Cao et al. 2019.

    Return M-UCB, which restarts all arms when the sums of the newer and the older half of an arm's last `window`
    rewards differ by more than the threshold. A fraction gamma of the rounds pulls each arm in turn, and the others
    pull the arm with the largest index mean_a + sqrt(xi log(t - tau) / N_a), where tau is the number of rounds before
    the last restart. The kl index is the largest q with kl(mean_a, q) <= log(t - tau) / N_a.

    Guarantee: Regret O(sqrt(K Y T log T)) when Y is known, the window is long enough for the smallest change, and
    changes are far enough apart for it (Cao et al. 2019); not with the index "kl".

    In detail, this is for piecewise-stationary rewards in [0, 1] and hyperparameters tuned for T and Y.

    Args:
      window: number w of rewards of an arm that are compared, even; None means 50 num_arms.
      index: "ucb" or "kl"; static.
      threshold: threshold b; None means sqrt(w / 2 log(2 K T^2)) for the horizon T.
      gamma: fraction of the rounds that pull each arm in turn; None means min(1, sqrt(Y K (2 b + 3 sqrt(w)) / (2 T)))
        for Y changes. With 0, an arm that is not pulled is never tested.
      xi: factor of the logarithm in the UCB index.
      horizon: number of rounds T of a run; only for the defaults of threshold and gamma.

    Returns:
      Without alarms and with gamma = 0, its kl form is bit for bit `kl_ucb`. It recommends the arm pulled most since
      the restart, and counts rounds by kind (forced, alarm). Its state grows with the window.

    Raises:
      ValueError: a default requires a horizon that is not given, or the default of gamma is used with a traced
        threshold.

    Source:
      Cao, Wen, Kveton and Xie (2019), Nearly optimal adaptive procedure with change detection for piecewise-stationary
      bandit, AISTATS, Algorithms 1 and 2.
    """
    size = 50 * num_arms if window is None else window
    if size % 2:
        raise ValueError(f"window = {size}, must be even, because its halves are compared")
    if threshold is None:
        rounds, _ = tuned.tuned_for("threshold", horizon, num_changes)
        threshold = math.sqrt(size / 2 * math.log(2 * num_arms * rounds**2))
    if gamma is None:
        if checks.is_traced(threshold):
            raise ValueError("threshold is traced and gamma = None; give gamma, whose default depends on it")
        rounds, changes = tuned.tuned_for("gamma", horizon, num_changes)
        b = float(threshold)  # pyright: ignore[reportArgumentType]
        gamma = min(1.0, math.sqrt(changes * num_arms * (2 * b + 3 * math.sqrt(size)) / (2 * rounds)))
    half = size // 2

    def init(key: Key) -> MUcbState:
        zeros, none = jnp.zeros(num_arms), jnp.zeros(num_arms, jnp.int32)
        return MUcbState(
            round=jnp.ones((), jnp.int32),
            restart=jnp.zeros((), jnp.int32),
            recent=estimator.init(num_arms),
            rings=jnp.zeros(num_arms * size),
            differences=zeros,
            halves=zeros,
            before=zeros,
            pulls=none,
            kinds=jnp.zeros(len(KINDS), jnp.int32),
        )

    def forced(state: MUcbState) -> tuple[Array, Array]:
        return forced_arm(state.round - 1 - state.restart, num_arms, gamma)

    def select(noise: None, state: MUcbState, context: None) -> Array:
        level = exploration_level(state.round - state.restart)
        best = argmax(upper_index(index, state.recent.means, level, state.recent.inverse_sqrt_counts, xi))
        now, arm = forced(state)
        return jnp.where(now, arm, best)

    def update(state: MUcbState, context: None, action: Array, reward: Array) -> MUcbState:
        count = get_at(state.recent.counts, action)
        newest, middle = action * size + count % size, action * size + (count + half) % size
        # A restart need not clear the ring, because the first difference compared is computed from the halves' sums.
        moved = reward - 2 * get_at(state.rings, middle) + get_at(state.rings, newest)
        difference = get_at(state.differences, action) + moved

        recent = estimator.update(state.recent, action, reward)
        latest, before = get_at(state.halves, action) + reward, get_at(state.before, action)
        whole = (count + 1) % half == 0
        difference = jnp.where(whole, latest - before, difference)
        alarm = (count + 1 >= size) & (jnp.abs(difference) > as_float(threshold))

        def unless_alarm(new: Array) -> Array:
            return jnp.where(alarm, 0.0, new)

        return MUcbState(
            round=state.round + 1,
            restart=jnp.where(alarm, state.round, state.restart),
            recent=estimator.forget(recent, alarm),
            rings=set_at(state.rings, newest, reward),
            differences=unless_alarm(set_at(state.differences, action, difference)),
            halves=unless_alarm(set_at(state.halves, action, jnp.where(whole, 0.0, latest))),
            before=unless_alarm(set_at(state.before, action, jnp.where(whole, latest, before))),
            pulls=add_at(state.pulls, action, 1),
            kinds=state.kinds + jnp.stack([forced(state)[0], alarm]).astype(jnp.int32),
        )

    return restart_policy(num_arms, init, select, update, kinds=KINDS)
