"""The two contracts, Algorithm and Environment, with their records, and the codes that say how a run ended.

Both are tuples of pure functions of ONE run: no batch axis, no jit, no classes. The engine adds the batch.
A factory `name(problem data, *, hyperparameters)` returns one and closes over its arguments; static or traced is
visible in the signature: `int`, `bool`, `Literal` and callables are static, `ArrayLike` and `Scalar` are traced.
"""

import enum
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxbandit.markup import html_table, view
from jaxbandit.types import Array, Key, Numbers, Scalar

State = Any
Noise = Any
Context = Any
Action = Any
Feedback = Any
Recommendation = Any


def none() -> Callable[[Key], None]:
    """Noise of something deterministic: nothing is drawn."""
    return lambda key: None


def no_context() -> Callable[[State, Noise], None]:
    """Observation of an environment without contexts."""
    return lambda state, noise: None


def never() -> Callable[[State], Array]:
    """Stopping rule of an algorithm that runs to the horizon."""
    return lambda state: jnp.zeros((), bool)


class Arms(NamedTuple):
    """What an action is; algorithm and environment each say it, and the engine refuses two that differ."""

    num_arms: int  # an action is int32[] in [0, num_arms), with contexts an arm of the round's set
    set_size: int | None = None  # k: an action is a set of k arms, bool[num_arms] in its place
    num_contexts: int | None = None  # M: a context is int32[] in [0, M), the number of the round's action set
    # With sets: the feedback is the reward of each member, float[num_arms], 0 elsewhere (semi-bandit), not one number.
    members: bool = False


class Rewards(NamedTuple):
    """Which rewards an environment gives, or an algorithm is made for; the engine refuses two that do not fit.

    An environment that gives a value outside [low, high] breaks its word: the run ends as OUT_OF_RANGE.
    """

    low: Scalar = -math.inf
    high: Scalar = math.inf
    # Sub-Gaussian scale of the noise, one for all arms or one an arm; of an algorithm, the largest it is made for.
    sigma: Numbers | None = None
    family: str | None = None  # "bernoulli", "gaussian", ...: the law; of an algorithm, the only one it is made for


class Choice(NamedTuple):
    """What `select` may return in place of an action: `update` gets both, the environment the action alone.

    For what both need and only one should say: a leader, a kind of round, the probability of the action.
    """

    action: Action
    info: Any


class Phases(NamedTuple):
    """Rounds by kind, such as exploration and exploitation: results show them like pulls."""

    names: tuple[str, ...]
    counts: Callable[[State], Array]  # int32[len(names)], rounds of each kind so far


class Replan(NamedTuple):
    """Rare heavy work: a run that is due plays no round until the engine has applied it, and then is not due.

    Within a fixed horizon, `replan_late` lets it play on a few rounds with the old plan.
    """

    due: Callable[[State], Array]  # bool[]
    apply: Callable[[State], State]


class SetPulls(NamedTuple):
    """A batch of pulls where an action is a set of arms, a super-arm: its reward is one number, the sum of its members.

    With `sets` None the pulls are spread evenly over all sets of the environment's size, which are too many to list:
    the environment then answers with sum_s r_s chi_s, float[num_arms], r_s the reward and chi_s the indicator of the
    set pulled at s.
    """

    sets: Array | None  # bool[num_sets, num_arms]
    counts: Array  # int[num_sets], pulls of each set; int[1] where sets is None


class Batch(NamedTuple):
    """Pulls fixed in advance, played in one draw: in place of noise, select and update where the engine may step so."""

    plan: Callable[[State], Any]  # int[num_arms], pulls of each arm until it looks again, sum >= 1; or SetPulls
    absorb: Callable[..., State]  # (state, pulls, sums), float[num_arms]; and sums of squares if it asks for them
    squares: bool = False  # whether absorb takes the sums of squares, float[num_arms], as a fourth argument


class BatchRewards(NamedTuple):
    """The rewards of a whole batch at once, in law exactly."""

    noise: Callable[[Key], Noise]
    sums: Callable[[State, Any, Noise], Array]  # of pulls[a] rewards of each arm, float[num_arms]; of each set of
    # SetPulls, float[num_sets]
    squares: Callable[[State, Any, Noise, Array], Array] | None = None  # their sums of squares, given the sums


class Promise(NamedTuple):
    """What a stopping rule guarantees: with probability 1 - delta the m arms that it names are epsilon-optimal."""

    delta: Scalar
    epsilon: Scalar = 0.0
    m: int = 1
    proved: bool = True  # False: a heuristic that is told delta and judged by it all the same


class Schedule(NamedTuple):
    """Means that stand still but for jumps, the same in all runs and whatever is played."""

    starts: tuple[int, ...]  # rounds played before each segment begins, increasing, the first 0
    means: Any  # float[segments, num_arms], traced values allowed


class Algorithm(NamedTuple):
    """A bandit algorithm: pure functions of one run.

    State is a NamedTuple that holds what the next round needs and nothing else; no field means anything by its name.
    `init`, `select`, `update` and `pulls` are a complete policy.
    """

    init: Callable[[Key], State]
    select: Callable[[Noise, State, Context], Action]  # an action, or a Choice
    update: Callable[[State, Context, Action, Feedback], State]  # the third argument is what select returned
    # Pulls of each arm so far, int32[num_arms], or int[num_arms] where they come in batches; with contexts
    # int32[num_contexts * num_arms], arm a of context m at m num_arms + a, padding included. Results show them, and
    # regret is read off them where that is exact.
    pulls: Callable[[State], Array] | None = None
    recommend: Callable[[State], Recommendation] | None = None  # None: the arm pulled most, by `pulls`
    noise: Callable[[Key], Noise] = none()  # the chance that one round's select uses
    stop: Callable[[State], Array] = never()  # bool[]
    phases: Phases | None = None
    replan: Replan | None = None
    batch: Batch | None = None
    survivors: Callable[[State], Array] | None = None  # bool[num_arms], the arms still in question; None: it drops none
    # In float32: whether a stopped run's state agrees with its integer counts. Evaluated in float64.
    verify: Callable[[State], Array] | None = None  # bool[]; False makes the outcome PRECISION
    promise: Promise | None = None  # None: nothing is guaranteed
    # The pulls that a rule is given, after which it stops and recommends; traced values allowed. None: it has no such
    # limit, and if it stops it is because it knows enough.
    budget: Scalar | None = None
    arms: Arms | None = None  # None: not said; num_arms is then that of `pulls`
    rewards: Rewards | None = None  # None: not said
    name: str = ""  # in results and figures

    def __repr__(self) -> str:
        return f"<Algorithm {self.name or 'without a name'}>"

    def _repr_html_(self) -> str:
        stops = self.stop is not Algorithm._field_defaults["stop"]
        facts = {
            "actions": _actions(self.arms),
            "rewards it is made for": _rewards(self.rewards),
            "stops": "when its budget is spent" if self.budget is not None else "by its own rule" if stops else "never",
            "guarantee": _guarantee(self.promise),
            "budget": "none" if self.budget is None else f"{_number(self.budget)} pulls",
            "pulls": "in batches" if self.batch is not None else "one at a time",
        }
        return view(repr(self), html_table((), facts.items()))


class Environment(NamedTuple):
    """A bandit problem: it owns the truth, and its reward is deterministic given the round's noise.

    `noise` does not depend on the action or the state, so that the engine draws it for a block of rounds at once and
    two algorithms on the same (seed, run, round) meet the same chance. A reward law that cannot be written so takes a
    key as its noise.
    """

    init: Callable[[Key], State]
    reward: Callable[[State, Context, Action, Noise], Feedback]  # float[], or any tree that algorithms understand
    noise: Callable[[Key], Noise] = none()
    observe: Callable[[State, Noise], Context] = no_context()
    # float[] >= 0, the gap of an action at the state that it met; seen by the recorder alone. None: nobody knows it.
    regret: Callable[[State, Context, Action], Array] | None = None
    # The clock: the next round's state, after the reward. None: the state is constant.
    transition: Callable[[State, Context, Action, Noise], State] | None = None
    # float[] >= 0: how far a recommendation falls short of the best; it errs if this exceeds epsilon. Ties are right.
    simple_regret: Callable[[State, Recommendation], Array] | None = None
    batch: BatchRewards | None = None
    arms: Arms | None = None  # None: not said
    rewards: Rewards | None = None  # None: not said
    schedule: Schedule | None = None  # of means that jump at known rounds: results and figures show it
    length: int | None = None  # rounds that there are of it: a longer horizon is refused. None: any number
    name: str = ""  # in results and figures

    def __repr__(self) -> str:
        return f"<Environment {self.name or 'without a name'}>"

    def _repr_html_(self) -> str:
        moving = "at known rounds" if self.schedule is not None else "every round" if self.transition else "never"
        facts = {
            "actions": _actions(self.arms),
            "rewards": _rewards(self.rewards),
            "means change": moving,
            "regret": "not known" if self.regret is None else "known",
            "identification": "not judged" if self.simple_regret is None else "judged by simple regret",
            "rounds": "any number" if self.length is None else f"at most {self.length:,}",
        }
        return view(repr(self), html_table((), facts.items()))


class Outcome(enum.IntEnum):
    """How one run ended. MAX_ROUNDS is censoring, and is reported as such; no mean counts the last three."""

    STOPPED = 0
    MAX_ROUNDS = 1
    NONFINITE = 2  # a feedback, a state or a regret that is not finite
    PRECISION = 3
    OUT_OF_RANGE = 4  # a feedback outside what the environment says it gives


def action_of(selected: Any) -> Action:
    """The action that the environment sees of what `select` returned."""
    return selected.action if isinstance(selected, Choice) else selected


def _number(value: Any) -> str:
    """A number as text; one that is being traced, or an array, as JAX or NumPy prints it."""
    try:
        return f"{float(value):,.6g}"
    except TypeError:
        return str(value)


def _actions(arms: Arms | None) -> str:
    if arms is None:
        return "not declared"
    said = f"one of {arms.num_arms:,} arms" if arms.set_size is None else f"{arms.set_size} of {arms.num_arms:,} arms"
    said += " with the reward of each of them" if arms.members else ""
    return said if arms.num_contexts is None else f"{said} in each of {arms.num_contexts:,} contexts"


def _rewards(rewards: Rewards | None) -> str:
    if rewards is None:
        return "not declared"
    said = [f"in [{_number(rewards.low)}, {_number(rewards.high)}]"]
    said += [] if rewards.sigma is None else [f"sub-Gaussian noise with sigma = {_number(rewards.sigma)}"]
    return ", ".join(said + ([] if rewards.family is None else [f"{rewards.family} family"]))


def _guarantee(promise: Promise | None) -> str:
    if promise is None:
        return "none"
    arms = "the best arm" if promise.m == 1 else f"the {promise.m} best arms"
    said = f"{arms} up to epsilon = {_number(promise.epsilon)} with error rate at most delta = {_number(promise.delta)}"
    return said if promise.proved else f"{said} (heuristic: not proved)"
