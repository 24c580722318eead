"""A policy learned from the rows of a log that another policy wrote."""

import copy
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Choice, Chosen
from jaxbandit.decide.logs import reward_models
from jaxbandit.decide.logs.log import Log
from jaxbandit.decide.logs.policy_of import AlgorithmPolicy, contexts_of, name_of_rule, refuse_own_rows
from jaxbandit.decide.logs.replay import environment_of
from jaxbandit.engine.layout.compiled import compile_program, remember
from jaxbandit.engine.rounds import fit as fitting
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.fit import Allow
from jaxbandit.engine.rounds.step import called
from jaxbandit.running.structures import value_key
from jaxbandit.support import checks
from jaxbandit.support.refusals import refuse
from jaxbandit.support.types import Array, PyTree

WHERE = "fit"
IMPLEMENTATION = "threefry4x32"


@dataclass(frozen=True, eq=False)
class ScorePolicy:
    """The arm with the largest score in each row, by a regression of doubly robust scores, as `fit` returns it."""

    name: str
    regression: Any  # with predict(contexts), float[m, num_arms]
    arms: tuple[Any, ...]
    trained_on: tuple[Log, ...]

    def on_log(self, log: Log) -> np.ndarray:
        """Return the probability of each arm in each row, float64[n, num_arms], 0 or 1.

        Raises:
          BadInput: it was learned from rows of this log, or the log has other arms.
        """
        refuse_own_rows(WHERE, self.name, self.trained_on, log)
        if log.arms != self.arms:
            refuse(WHERE, f": {self.name} was learned for the arms {list(self.arms)}, the log has {list(log.arms)}; "
                   "read both with the same arms = [..]")  # fmt: skip
        scores = np.asarray(self.regression.predict(_rows(log)), np.float64).reshape(len(log), log.num_arms)
        if log.available is not None:
            scores = np.where(log.available, scores, -np.inf)
        return np.eye(log.num_arms)[np.argmax(scores, axis=1)]


@checked
def fit(learner: Any, log: Log, *, in_sample: bool = False, allow: Allow = (), seed: RunSeed = 0) -> Any:
    """Learn a policy from the rows of a log that another policy wrote, for `evaluate` on other rows.

    An algorithm gets all rows in their order, as if it had chosen their actions itself: `update` is called with the
    context, action and reward of each. A rule whose model is the mean reward given the context and the arm, as that of
    the linear, logistic and neural rules, learns from rows of any logging policy; where the model is wrong it is best
    where logging took an arm often. A rule that needs to know with which probability the action was taken gets the
    propensity of the row. One that needs something else about a choice of its own, such as EXP3, is refused. The policy
    is what the rule does after the last row, exploration included.

    A regression learns the doubly robust scores of all arms: for row i and arm a the prediction q(x_i, a) of a ridge
    regression of the other two thirds of the rows, plus (r_i - q(x_i, a)) / p_i for the arm that was taken. The policy
    takes the arm with the largest prediction. Its class is that of the regression, linear or a tree, and it is not
    the best of this class, but as good as the regression is accurate.

    Args:
      learner: an algorithm with the contexts of the log; or "linear", least squares of the scores on (1, x) with a
        penalty of 1; or a regression of several outputs with `fit(x, scores)` and `predict(x)`, such as
        scikit-learn's `DecisionTreeRegressor(max_depth=3)`, of which a copy is trained.
      log: the rows to learn from, such as the first half of a log, log[:n // 2].
      in_sample: whether the policy may be evaluated on these rows all the same, which is optimistic.
      allow: in what an algorithm need not fit the log, as for `simulate`, such as "context".
      seed: seed of the first state of an algorithm, and of the draws with which its policy is evaluated.

    Returns:
      A policy for `evaluate`, which refuses the rows of `log`: an `AlgorithmPolicy`, which has the `state`, or a
      `ScorePolicy`.

    Raises:
      ValueError: the algorithm is not one for the arms, contexts or rewards of the log, or cannot learn from actions of
        another; a regression is given a log without propensities or contexts.

    Source: Dudik, Langford and Li (2011), "Doubly robust policy evaluation and learning", Section 4, with the reduction
    to regression of Beygelzimer and Langford (2009), "The offset tree for learning with partial labels", Section 3.
    """
    if not isinstance(log, Log):
        checks.wrong("log", log, "a Log, as read_log returns it")
    trained_on = () if in_sample else (log,)
    if isinstance(learner, Algorithm):
        context = contexts_of(learner, log, WHERE)
        fitting.marks_of(learner, environment_of(learner, log, context), allow)
        return AlgorithmPolicy(learner, _state(learner, log, context, seed), trained_on, 100, seed)
    if learner != "linear" and not (hasattr(learner, "fit") and hasattr(learner, "predict")):
        checks.wrong("learner", learner, 'an algorithm, "linear", or a regression with fit and predict')
    name = "linear" if isinstance(learner, str) else type(learner).__name__
    if log.propensity is None or log.context is None:
        missing = "propensities" if log.propensity is None else "contexts"
        refuse(WHERE, f": the log has no {missing}, which the doubly robust scores of {name} need")
    regression = reward_models.Ridge() if isinstance(learner, str) else copy.deepcopy(learner)
    regression.fit(_rows(log), _scores(log))
    return ScorePolicy(name, regression, log.arms, trained_on)


def _rows(log: Log) -> np.ndarray:
    """The contexts, float64[n, d]."""
    return np.zeros((len(log), 0)) if log.context is None else log.context.reshape(len(log), -1)


def _scores(log: Log) -> np.ndarray:
    """The doubly robust scores of all arms, float64[n, num_arms], for rewards in units of their range."""
    low, high = log.rewards
    rows, unit = np.arange(len(log)), (log.reward - low) / (high - low)
    scores = reward_models.cross_fitted(log, unit, None)
    assert log.propensity is not None
    scores[rows, log.action] += (unit - scores[rows, log.action]) / log.propensity
    return scores


def _state(algorithm: Algorithm, log: Log, context: PyTree, seed: int) -> PyTree:
    """The state of an algorithm after all rows, in float64."""
    propensity = np.full(len(log), np.nan) if log.propensity is None else log.propensity
    rows = context, log.action, log.reward, propensity

    def play(root: Array, rows: PyTree) -> PyTree:
        own = keys.run_keys(root, jnp.zeros(1, jnp.int32))[1].T[0]
        first = called("algorithm.init", algorithm.init, keys.round_key(own, jnp.uint32(0), IMPLEMENTATION))
        noise = algorithm.noise(keys.round_key(own, jnp.uint32(1), IMPLEMENTATION))
        one = jax.tree.map(lambda x: x[0], rows[0])
        chosen: Any = jax.eval_shape(algorithm.select, noise, first, one)
        if isinstance(chosen, Choice) and not isinstance(chosen.info, Chosen):
            refuse(WHERE, f": {name_of_rule(algorithm)} learns from what it knows of its own choice, which the log "
                   "does not have of another's; jb.replay(..) gives it the rows whose action it chooses")  # fmt: skip

        def step(state: PyTree, row: PyTree) -> tuple[PyTree, None]:
            context, arm, reward, chance = row
            action = Choice(arm, Chosen(chance)) if isinstance(chosen, Choice) else arm
            if (replan := algorithm.replan) is not None:
                state = jax.lax.cond(replan.due(state), replan.apply, lambda state: state, state)
            return called("algorithm.update", algorithm.update, state, context, action, reward), None

        return jax.lax.scan(step, first, rows)[0]

    with jax.enable_x64(True):
        root = keys.compiled_root_key(seed, IMPLEMENTATION)
        form = jax.tree.structure(rows), tuple((x.shape, str(x.dtype)) for x in jax.tree.leaves(rows))
        program = remember(
            (WHERE, value_key(algorithm), form), lambda: compile_program(play, jax.devices()[0], root, rows)
        )
        state = jax.tree.map(np.asarray, program(root, rows))
    if any(np.isnan(x).any() for x in jax.tree.leaves(state) if x.dtype.kind == "f"):
        without = " and the log has no propensities" * (log.propensity is None)
        refuse(WHERE, f": the state of {name_of_rule(algorithm)} has NaN after the rows{without}")
    return state
