"""GLR-klUCB: Besson, Kaufmann, Maillard and Seznec (2022), Algorithm 1: kl-UCB with a change detector on each arm.

All splits are scanned (by `replan`) only when the test might raise an alarm: each arm has an upper bound of its
statistic that grows, at each split, by the likelihood ratio of the split where the most recent piece of rewards begins.
This changes no alarm.
"""

import math
from typing import Annotated, Literal, NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.non_stationary import tuned
from jaxbandit.algorithms.non_stationary.likelihood_ratio import split_ratio
from jaxbandit.algorithms.non_stationary.upper_index import forced_arm, restart_policy, upper_index
from jaxbandit.base.arguments import ClosedUnit, CountOfRounds, Delta, Horizon, NumArms, NumChanges, Positive
from jaxbandit.base.contract import Algorithm, Replan
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import add_at, argmax, as_float, exploration_level, get_at, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import recent_means as estimator
from jaxbandit.theory.estimators.recent_means import RecentMeans

KINDS = ("forced", "alarm")
MARKS = 512  # prefix sums per arm if there is no horizon that determines their number
SLACK = 1e-3  # allowance for rounding of the bound, relative to the level
# Scanning many runs together costs little more than scanning one. Every TOGETHER rounds, all runs scan whose bound has
# reached this fraction of the level, so that they seldom need a scan of their own.
TOGETHER, SOON = 64, 0.6
PIECE = 32  # number of splits evaluated per step of the scan, which ends with the rewards of the arm


class GlrKlUcbState(NamedTuple):
    """Statistics of each arm since its restart, and what its test needs, with C prefix sums per arm."""

    round: Array  # int32[], the round about to be played, from 1
    recent: RecentMeans
    restarts: Array  # int32[num_arms], rounds completed at the arm's last restart
    marks: Array  # float[num_arms * C], for each arm the sum of its first (j + 1) split_every rewards at j
    spacing: Array | None  # int32[num_arms], current split_every if marks can be thinned out; None if they cannot
    bounded: Array  # int32[num_arms], number of rewards for which the bound holds, those at the last split or scan
    bounded_sums: Array  # float[num_arms], their sum
    bounds: Array  # float[num_arms], upper bound on the largest likelihood ratio of a split of these rewards
    waiting: Array  # int32[], the arm that waits for a scan or for its marks to be thinned out; -1 if none does
    pulls: Array  # int32[num_arms]
    kinds: Array  # int32[2], rounds of forced exploration, and alarms


@declare(
    question="regret",
    setting="changing",
    rewards="in [0, 1]",
    cost="O(K); a test scans up to T / split_every marks",
    memory="O(K T / split_every), or O(K marks)",
    tries={"alpha": (0.1, 0.5), "scale": (1.0, 2.0)},
    settings=(
        {"horizon": 60, "test_every": 2, "split_every": 1},
        {"horizon": 60, "test_every": 2, "split_every": 1, "restart": "global"},
        {"horizon": 60, "test_every": 2, "split_every": 1, "marks": 4},
    ),
)
def glr_klucb(
    num_arms: NumArms,
    *,
    restart: Literal["local", "global"] = "local",
    alpha: ClosedUnit | None = None,
    delta: Delta | None = None,
    scale: Positive = 1.0,
    test_every: CountOfRounds = 10,
    split_every: CountOfRounds = 10,
    marks: Annotated[int, Arg(integer(2))] | None = None,
    horizon: Horizon | None = None,
    num_changes: NumChanges = 1,
) -> Algorithm:
    """kl-UCB restarted by likelihood ratio tests, Besson et al. 2022.

    Return GLR-klUCB. The m rewards of an arm since its restart are tested whenever m is a multiple of test_every, over
    the splits s that are multiples of split_every. The test raises an alarm if the largest value over s of s
    kl(mean_1:s, mean_1:m) + (m - s) kl(mean_s+1:m, mean_1:m) is at least log(3 m^1.5 / delta). A fraction alpha of the
    rounds pulls each arm in turn.

    Guarantee: None for the defaults, the paper's experimental choices; with a larger test threshold, an index with c =
    3, every split tested, known Y and changes that are large and far enough apart, regret O(sqrt(K Y T log T)) (Besson
    et al. 2022).

    In detail, this is for piecewise-stationary rewards in [0, 1], with alpha and delta tuned for T and Y.

    Args:
      restart: "local" restarts the arm of the alarm, "global" restarts all arms.
      alpha: fraction of the rounds that pull each arm in turn; None means min(1, .05 sqrt(A Y log(T) / T)) for the
        horizon T and Y changes, where A is num_arms for local and 1 for global restarts. With 0, an arm that is not
        pulled is never tested.
      delta: probability of a false alarm of a test; None means min(1/2, 1 / sqrt(A Y T)).
      scale: factor of the logarithm in the index.
      test_every: number of pulls of an arm between its tests.
      split_every: spacing of the splits that are tested.
      marks: number of prefix sums stored per arm, an even integer >= 2; static. An arm that has filled its marks keeps
        every second one, and from then on its splits are twice as far apart. None means horizon / split_every, enough
        for all splits up to the horizon (later rounds are tested at these splits only), or without a horizon 512,
        thinned out when full.
      horizon: number of rounds T of a run; None if unknown, in which case alpha and delta must be given.

    Returns:
      Without alarms, with alpha = 0 and scale = 1, it is bit for bit `kl_ucb`. It recommends the arm with the largest
      current count, counts rounds by kind (forced, alarm), and replans to scan splits. Its state grows with num_arms *
      marks.

    Raises:
      ValueError: a default requires a horizon that is not given.

    Source:
      Besson, Kaufmann, Maillard and Seznec (2022), Efficient change-point detection for tackling piecewise-stationary
      bandits, JMLR 23, Algorithm 1.
    """
    tested = num_arms if restart == "local" else 1
    if alpha is None:
        rounds, changes = tuned.tuned_for("alpha", horizon, num_changes)
        alpha = min(1.0, 0.05 * math.sqrt(tested * changes * math.log(rounds) / rounds))
    if delta is None:
        rounds, changes = tuned.tuned_for("delta", horizon, num_changes)
        delta = min(0.5, 1 / math.sqrt(tested * changes * rounds))
    thins = marks is not None or horizon is None
    if marks is not None:
        size = marks
        if size % 2:
            raise ValueError(f"marks = {size}, must be even: when they are full, every second one is kept")
    else:
        size = MARKS if horizon is None else -(-horizon // split_every)

    piece = min(PIECE, size)

    def init(key: Key) -> GlrKlUcbState:
        zeros, none = jnp.zeros(num_arms), jnp.zeros(num_arms, jnp.int32)
        return GlrKlUcbState(
            round=jnp.ones((), jnp.int32),
            recent=estimator.init(num_arms),
            restarts=none,
            marks=jnp.zeros(num_arms * size),
            spacing=jnp.full(num_arms, split_every, jnp.int32) if thins else None,
            bounded=none,
            bounded_sums=zeros,
            bounds=zeros,
            waiting=jnp.full((), -1, jnp.int32),
            pulls=none,
            kinds=jnp.zeros(len(KINDS), jnp.int32),
        )

    def forced(state: GlrKlUcbState) -> tuple[Array, Array]:
        return forced_arm(state.round - 1 - jnp.max(state.restarts), num_arms, alpha)

    def select(noise: None, state: GlrKlUcbState, context: None) -> Array:
        level = as_float(scale) * exploration_level(state.round - state.restarts)
        best = argmax(upper_index("kl", state.recent.means, level, state.recent.inverse_sqrt_counts))
        now, arm = forced(state)
        return jnp.where(now, arm, best)

    def level_of(count: Array) -> Array:
        return math.log(3) + 1.5 * jnp.log(as_float(count)) - jnp.log(as_float(delta))

    def spacing_of(state: GlrKlUcbState, arm: Array) -> Array | int:
        return split_every if state.spacing is None else get_at(state.spacing, arm)

    def update(state: GlrKlUcbState, context: None, action: Array, reward: Array) -> GlrKlUcbState:
        recent = estimator.update(state.recent, action, reward)
        count, total = get_at(recent.counts, action), get_at(recent.arms.sums, action)
        spacing = spacing_of(state, action)
        # The mark after the last complete one holds the sum so far; it is complete at the next split.
        mark = (count - 1) // spacing
        place = jnp.where(mark < size, action * size + mark, num_arms * size)
        split = (count % spacing == 0) & (mark < size)

        since = get_at(state.bounded, action), get_at(state.bounded_sums, action)
        bound = get_at(state.bounds, action) + split_ratio(*since, count, total)
        # Without the barrier XLA recomputes these for each arm and each use.
        bound, level, total = lax.optimization_barrier((bound, level_of(count), total))
        tests = (count % test_every == 0) & (bound >= level * (1 - SLACK))
        soon = (state.round % TOGETHER == 0) & (bound >= level * SOON)
        waits = tests | soon
        if thins:
            waits = waits | (split & (count == size * spacing))
        return GlrKlUcbState(
            round=state.round + 1,
            recent=recent,
            restarts=state.restarts,
            marks=state.marks.at[place].set(total, mode="drop", wrap_negative_indices=False),
            spacing=state.spacing,
            bounded=set_at(state.bounded, action, jnp.where(split, count, since[0])),
            bounded_sums=set_at(state.bounded_sums, action, jnp.where(split, total, since[1])),
            bounds=set_at(state.bounds, action, jnp.where(split, bound, get_at(state.bounds, action))),
            waiting=jnp.where(waits, action, -1),
            pulls=add_at(state.pulls, action, 1),
            kinds=state.kinds + jnp.stack([forced(state)[0], jnp.zeros((), bool)]).astype(jnp.int32),
        )

    def apply(state: GlrKlUcbState) -> GlrKlUcbState:
        """Scan the splits of one arm and act on the result, and thin out its marks if they are full."""
        arm = jnp.maximum(state.waiting, 0)
        recent, spacing = state.recent.arms, spacing_of(state, arm)
        count, total = get_at(recent.counts, arm), get_at(recent.sums, arm)
        live = jnp.where(state.waiting >= 0, count, 0)

        def scanned(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            start, largest = carry
            first = jnp.minimum(start, size - piece)
            sums = lax.dynamic_slice(state.marks, (arm * size + first,), (piece,))
            firsts = spacing * (first + jnp.arange(1, piece + 1, dtype=jnp.int32))
            ratios = split_ratio(firsts, sums, jnp.broadcast_to(count, piece), jnp.broadcast_to(total, piece))
            return start + piece, jnp.maximum(largest, jnp.max(ratios))

        most = jnp.minimum(live // spacing, size)
        _, largest = lax.while_loop(lambda c: c[0] < most, scanned, (jnp.zeros((), jnp.int32), jnp.zeros(())))

        alarm = (count > 0) & (count % test_every == 0) & (largest >= level_of(jnp.maximum(count, 1)))
        own = jnp.arange(num_arms, dtype=jnp.int32) == arm
        restarted = own & alarm if restart == "local" else jnp.broadcast_to(alarm, num_arms)
        cleared = jnp.where(restarted, 0.0, 1.0)
        state = state._replace(
            recent=estimator.forget(state.recent, restarted),
            restarts=jnp.where(restarted, state.round - 1, state.restarts),
            bounded=jnp.where(restarted, 0, set_at(state.bounded, arm, count)),
            bounded_sums=set_at(state.bounded_sums, arm, total) * cleared,
            bounds=set_at(state.bounds, arm, largest) * cleared,
            waiting=jnp.full((), -1, jnp.int32),
            kinds=state.kinds + jnp.stack([jnp.zeros((), bool), alarm]).astype(jnp.int32),
        )
        if state.spacing is None:
            return state
        rows = state.marks.reshape(num_arms, size)
        row = lax.dynamic_index_in_dim(rows, arm, 0, keepdims=False)
        full = count == size * spacing
        thinned = jnp.concatenate([row[1::2], row[size // 2 :]])
        marks = jnp.where((own & full)[:, None], thinned[None], rows).reshape(-1)
        wider = jnp.where(own & full, 2 * state.spacing, state.spacing)
        return state._replace(marks=marks, spacing=jnp.where(restarted, split_every, wider))

    scan = Replan(lambda state: state.waiting >= 0, apply)
    return restart_policy(num_arms, init, select, update, kinds=KINDS, replan=scan)
