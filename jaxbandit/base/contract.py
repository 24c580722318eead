"""The two contracts, `Algorithm` and `Environment`, the records they use, and the outcome codes of a run.

Both are pure functions of a single run, without batch axis; the engine adds the batch axis and compiles the loop. A
factory closes over its arguments: `int`, `bool`, `Literal` and callables are static, `ArrayLike` and `Scalar` traced.
"""

import enum
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxbandit.base import arguments as arguments  # of the public module `jb.contract`, as all names here
from jaxbandit.base.batches import Batch, BatchRewards
from jaxbandit.base.batches import SetPulls as SetPulls
from jaxbandit.base.parameters import Arg as Arg
from jaxbandit.base.truth import Schedule, nothing
from jaxbandit.base.truth import Truth as Truth
from jaxbandit.support.checks import arrays as arrays
from jaxbandit.support.domains import integer as integer
from jaxbandit.support.domains import number as number
from jaxbandit.support.types import Array, Key, Numbers, PyTree, Scalar

State = PyTree
Noise = PyTree
Context = PyTree
Action = PyTree
Feedback = PyTree
Recommendation = PyTree


def none() -> Callable[[Key], None]:
    """Return a `noise` function that draws nothing, for a deterministic algorithm or environment."""
    return lambda key: None


def no_observation(state: State, noise: Noise) -> None:
    """Observe nothing: the default `observe`, of an environment without contexts."""


def no_context() -> Callable[[State, Noise], None]:
    """Return an `observe` function whose context is None, for an environment without contexts."""
    return no_observation


def never() -> None:
    """Return the `stop` of an algorithm that does not stop by itself: None, which is also the default."""


class Arms(NamedTuple):
    """The action space. The algorithm and the environment each declare it, and the engine raises if they differ.

    Attributes:
      num_arms: number of arms K, which is also what `pulls` counts. An action is an int32[] in [0, K); with contexts it
        is an arm of the round's action set. 0 if no arms are counted, as for actions that are floats.
      set_size: k, if an action is a set of k arms; it is then a bool[K] with k entries True. None for single arms.
      num_contexts: number of contexts M, if there are any. A context is then an int32[] in [0, M), the index of the
        round's action set.
      members: whether the feedback on a set of arms is the reward of each member (semi-bandit feedback, float[K] with
        zeros for the arms outside the set) instead of one number.
      context: shape of the float context of each round, if there is one: (d,) is a vector that all arms share, and
        (num_arms, d) has one row for each arm. It excludes `num_contexts`.
      available: whether the context is an `Offer`, because in some rounds not all arms may be pulled.
      action: shape and dtype of an action that is neither an arm nor a set, as a tree of `jax.ShapeDtypeStruct`: a
        float[] or float[p], an int32[M] of arms that are pulled together, an int32[k] list of arms.
      ordered: whether the entries of an action int32[k] differ, because it is a list in which each arm stands once.
      decision_class: the sets of arms one of which is recommended, a DecisionClass; None if they are all sets of k.
      num_candidates: number of candidates, if one of them is recommended in place of an arm, int32[1] in
        [0, num_candidates).
    """

    num_arms: int
    set_size: int | None = None
    num_contexts: int | None = None
    members: bool = False
    context: tuple[int, ...] | None = None
    available: bool = False
    action: Any = None
    ordered: bool = False
    decision_class: Any = None
    num_candidates: int | None = None


class Offer(NamedTuple):
    """The context of a round in which only some arms may be pulled. The regret is against the best of these.

    A run in which no arm is available, or an arm is pulled that is not, ends with the outcome `NONFINITE`.
    """

    available: PyTree  # bool[num_arms]
    features: PyTree = None  # the float context of the round as `Arms.context` declares it, or None


class Rewards(NamedTuple):
    """The rewards that an environment generates, or that an algorithm is designed for.

    The engine raises if the two do not match. A run in which the environment returns a reward outside its declared
    range ends with the outcome `OUT_OF_RANGE`. `sigma` and `family` are None if they are not declared.

    Attributes:
      low: smallest reward, inclusive.
      high: largest reward, inclusive.
      sigma: sub-Gaussian scale of the noise, one number or one per arm; of an algorithm, the largest it is made for.
      family: distribution family, such as "bernoulli" or "gaussian"; of an algorithm, the only one it is made for.
    """

    low: Scalar = -math.inf
    high: Scalar = math.inf
    sigma: Numbers | None = None
    family: str | None = None


class Choice(NamedTuple):
    """An action with additional information, which `select` may return instead of a plain action.

    The environment receives only the action, while `update` receives the whole `Choice`, such as with the leader, the
    kind of the round or the probability of the action.
    """

    action: Action
    info: PyTree


class Chosen(NamedTuple):
    """The information of a `Choice` by a rule that draws its action and knows with which probability."""

    probability: Array  # float[] in (0, 1], of the action that was drawn, given the state and the context


class Phases(NamedTuple):
    """Counts of rounds by kind, such as exploration and exploitation, which results report next to the pulls."""

    names: tuple[str, ...]
    counts: Callable[[State], Array]  # int32[len(names)], the number of rounds of each kind so far


class Replan(NamedTuple):
    """Expensive work that a run needs only in rare rounds, such as recomputing an optimal design.

    A run whose work is due plays no further round until the engine has applied it. After `apply`, `due` must be False.
    Whoever calls `select` and `update` by hand has to do so before each round, as `jb.step` does.

    Attributes:
      due: `(state) -> bool[]`, whether the work is due.
      apply: `(state) -> state`, the work.
      late: largest number of rounds by which `simulate` may delay the work, >= 0, static; 0 is exact. Runs whose work
        is due are looked for every (late + 1) rounds, so that more of them do it together.
    """

    due: Callable[[State], Array]
    apply: Callable[[State], State]
    late: int = 0


class Promise(NamedTuple):
    """The guarantee of a stopping rule: with probability >= 1 - delta, the m recommended arms are epsilon-optimal.

    Attributes:
      delta: error probability, in (0, 1).
      epsilon: tolerated simple regret, >= 0, in units of the reward.
      m: number of arms that the rule recommends.
      proved: whether it is proved. False for a heuristic whose measured error rate is compared with delta all the same.
      quantile: p, if arms are compared by the p-quantiles of their rewards. None: by their means.
    """

    delta: Scalar
    epsilon: Scalar = 0.0
    m: int = 1
    proved: bool = True
    quantile: Scalar | None = None


class Algorithm(NamedTuple):
    """A bandit algorithm as a named tuple of pure functions of one run.

    The state is a NamedTuple that holds what the next round needs and nothing else. The engine reads no field of it by
    name. `init`, `select`, `update` and `pulls` are enough for a complete policy; everything else is optional.

    Attributes:
      init: `(key) -> state`, the state before the first round.
      select: `(noise, state, context) -> action`, the action of one round, or a `Choice`. The context is None in an
        environment without contexts.
      update: `(state, context, action, feedback) -> state`, where `action` is what `select` returned.
      pulls: `(state) -> int32[num_arms]`, the number of pulls of each arm so far (any integer type if pulls come in
        batches); with contexts int32[num_contexts * num_arms], padding included, where arm a of context m is at index
        m num_arms + a. Results report the pulls, and the regret is computed from them where that is exact.
      recommend: `(state) -> recommendation`. None recommends the arm with the most pulls.
      noise: `(key) -> noise`, all randomness that `select` uses in one round.
      stop: `(state) -> bool[]`, whether the run stops. None for an algorithm that does not stop by itself.
      phases: counts of rounds by kind, or None.
      replan: expensive work that is needed only in rare rounds, or None.
      batch: pulls that are fixed in advance, or None.
      survivors: `(state) -> bool[num_arms]`, the arms that have not been eliminated. None without elimination.
      verify: `(state) -> bool[]`, evaluated in float64: whether the state of a stopped float32 run is consistent with
        its integer counts. False gives the run the outcome `PRECISION`.
      promise: the guarantee of the stopping rule. None if nothing is guaranteed.
      budget: number of pulls after which a fixed-budget rule stops and recommends; may be traced. None for a rule
        without a budget.
      arms: the action space. None if not declared; `num_arms` is then the length of `pulls`.
      rewards: the rewards that the algorithm is designed for. None if not declared.
      assumptions: sentences that certificates show, what the promise assumes beyond `rewards` and independent pulls.
      length: number of rounds for which the state has room, of a rule that keeps rewards; a longer horizon is an error.
        None if there is no limit.
      name: name used in results and figures.
    """

    init: Callable[[Key], State]
    select: Callable[[Noise, State, Context], Action]
    update: Callable[[State, Context, Action, Feedback], State]
    pulls: Callable[[State], Array] | None = None
    recommend: Callable[[State], Recommendation] | None = None
    noise: Callable[[Key], Noise] = none()
    stop: Callable[[State], Array] | None = None
    phases: Phases | None = None
    replan: Replan | None = None
    batch: Batch | None = None
    survivors: Callable[[State], Array] | None = None
    verify: Callable[[State], Array] | None = None
    promise: Promise | None = None
    budget: Scalar | None = None
    arms: Arms | None = None
    rewards: Rewards | None = None
    assumptions: tuple[str, ...] = ()
    length: int | None = None
    name: str = ""

    def named(self, name: str) -> "Algorithm":
        """Return the algorithm with another name in results and figures."""
        return self._replace(name=name)

    def __repr__(self) -> str:
        return f"<Algorithm {self.name or 'without a name'}>"

    def _repr_html_(self) -> str:
        from jaxbandit.base import describing  # only a notebook shows HTML

        return describing.algorithm(self)


class Environment(NamedTuple):
    """A bandit problem as a named tuple of pure functions of one run.

    The state holds the ground truth, such as the arms' true means, which the algorithm never sees. The reward is a
    deterministic function of the state, the action and the round's noise. `noise` depends on neither the action nor
    the state, so the engine can draw it for a block of rounds at once, and two algorithms share random draws (common
    random numbers) for the same (seed, run, round). A reward distribution that cannot be written in this way takes a
    PRNG key as its noise.

    Attributes:
      init: `(key) -> state`, the state before the first round.
      reward: `(state, context, action, noise) -> feedback`, a float[] or any pytree that the algorithm accepts.
      noise: `(key) -> noise`, all randomness of a round.
      observe: `(state, noise) -> context`, the context of the round; None without contexts.
      regret: `(state, context, action) -> float[] >= 0`, the gap of the action in the round's state. Only the recorder
        reads it. None if the gaps are unknown.
      transition: `(state, context, action, noise) -> state`, the state of the next round, computed after the reward.
        None if the state is constant.
      over: `(state) -> bool[]`, whether the run is over before a round, for instance because a budget is spent. What is
        played after that counts nothing: regret, pulls, states and metrics stay as they are. With a stopping rule such
        a run is right-censored, `MAX_ROUNDS`. It needs a transition. None if runs end at the horizon.
      simple_regret: `(state, recommendation) -> float[] >= 0`. A recommendation is an error if it exceeds epsilon.
      batch: sums of the rewards of many pulls at once, or None.
      arms: the action space. None if not declared.
      rewards: the range and the distribution of the rewards. None if not declared.
      schedule: piecewise-constant means with known change points, which results and figures show, or None.
      known: `() -> dict`, what an algorithm may know about the instance besides `arms`, such as features and sigma, by
        the name of an algorithm's argument. Called outside of tracing where its values are needed.
      truth: what is true of the instance and hidden from algorithms: means, lower bounds, parameters.
      length: number of rounds that the environment has; a longer horizon is an error. None if there is no limit.
      name: name used in results and figures.
    """

    init: Callable[[Key], State]
    reward: Callable[[State, Context, Action, Noise], Feedback]
    noise: Callable[[Key], Noise] = none()
    observe: Callable[[State, Noise], Context] = no_context()
    regret: Callable[[State, Context, Action], Array] | None = None
    transition: Callable[[State, Context, Action, Noise], State] | None = None
    over: Callable[[State], Array] | None = None
    simple_regret: Callable[[State, Recommendation], Array] | None = None
    batch: BatchRewards | None = None
    arms: Arms | None = None
    rewards: Rewards | None = None
    schedule: Schedule | None = None
    known: Callable[[], dict[str, Any]] = nothing
    truth: Truth = Truth()
    length: int | None = None
    name: str = ""

    def named(self, name: str) -> "Environment":
        """Return the environment with another name in results and figures."""
        return self._replace(name=name)

    def __repr__(self) -> str:
        return f"<Environment {self.name or 'without a name'}>"

    def _repr_html_(self) -> str:
        from jaxbandit.base import describing

        return describing.environment(self)


class Outcome(enum.IntEnum):
    """How one run ended. Runs with one of the last three outcomes are left out of every mean.

    Attributes:
      STOPPED: the run reached its stopping rule, its budget or its horizon.
      MAX_ROUNDS: the run reached the maximum number of rounds before its rule stopped it, and is right-censored.
      NONFINITE: a feedback, a state or a regret was not finite.
      PRECISION: a float32 run stopped, but its state fails the float64 check (`Algorithm.verify`).
      OUT_OF_RANGE: a feedback was outside the range that the environment declares.
    """

    STOPPED = 0
    MAX_ROUNDS = 1
    NONFINITE = 2
    PRECISION = 3
    OUT_OF_RANGE = 4


def action_of(selected: Action | Choice) -> Action:
    """Return the action that the environment receives, given what `select` returned."""
    return selected.action if isinstance(selected, Choice) else selected
