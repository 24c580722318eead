"""The policy of an algorithm in one state: the probability with which it takes each arm in the rows of a log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import Count, RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Choice, Chosen, Offer, action_of
from jaxbandit.decide.logs.arms import listed
from jaxbandit.decide.logs.log import Log
from jaxbandit.support import checks
from jaxbandit.support.columns import refuse_first
from jaxbandit.support.refusals import refuse
from jaxbandit.support.types import Array, PyTree

WHERE = "policy_of"
AT_ONCE = 2**16  # draws that one step computes


@dataclass(frozen=True, eq=False)
class AlgorithmPolicy:
    """What an algorithm does in a state that does not change, as `policy_of` returns it."""

    algorithm: Algorithm
    state: PyTree
    trained_on: tuple[Log, ...]
    draws: int
    seed: int

    @property
    def name(self) -> str:
        """The name of the algorithm."""
        return self.algorithm.name

    def on_log(self, log: Log) -> np.ndarray:
        """Return the probability of each arm in each row, float64[n, num_arms].

        Raises:
          BadInput: the state was trained on rows of this log, or the algorithm is not one for its arms and contexts.
        """
        name, arms = name_of_rule(self.algorithm), self.algorithm.arms
        refuse_own_rows(WHERE, f"the state of {name}", self.trained_on, log)
        if arms is not None and arms.num_arms != log.num_arms:
            refuse(WHERE, f": {name} has {arms.num_arms} arms, must have {log.num_arms}, as the log has: "
                   f"{listed(log.arms)}; if these are not all, read it with arms or num_arms")  # fmt: skip
        with jax.enable_x64(True):
            return _probabilities(self, log)


def refuse_own_rows(where: str, who: str, trained_on: Sequence[Log], log: Log) -> None:
    """Raise BadInput if a policy was trained on rows of a log."""
    if shared := max((log.shared(other) for other in trained_on), default=0):
        refuse(where, f": {who} was trained on {shared:,} of these {len(log):,} rows, on which its value is too high; "
               "evaluate on other rows, or give in_sample = True")  # fmt: skip


def name_of_rule(algorithm: Algorithm) -> str:
    """Return what messages call an algorithm."""
    return algorithm.name or "the algorithm"


@checked
def policy_of(
    algorithm: Algorithm,
    state: PyTree,
    *,
    trained_on: Log | Sequence[Log] = (),
    in_sample: bool = False,
    draws: Count = 100,
    seed: RunSeed = 0,
) -> AlgorithmPolicy:
    """Return the policy of an algorithm in one state, for `evaluate`: it does not learn from the rows.

    A deterministic rule takes one arm with probability 1. Of a rule that draws, `draws` actions are drawn for each row:
    the share of each arm is its probability, unless the rule says the probability of what it draws (`Chosen`). Then
    that is taken, and the arms that were never drawn share what remains evenly.

    Args:
      algorithm: an algorithm whose actions are single arms.
      state: its state in one run, such as `session.state`, or the state that a replay returns.
      trained_on: the logs from whose rows the state learned. On these rows, and on the rows of `log[..]` of the same
        log, the policy is refused.
      in_sample: whether it may be evaluated on these rows all the same, which is optimistic.
      draws: number of actions drawn for each row.
      seed: seed of the draws.

    Raises:
      BadInput: when it is evaluated, the policy was trained on rows of that log.
    """
    logs: tuple[Any, ...] = tuple(trained_on) if isinstance(trained_on, list | tuple) else (trained_on,)
    for each in logs:
        if not isinstance(each, Log):
            checks.wrong("trained_on", each, "a Log or a list of them")
    return AlgorithmPolicy(algorithm, state, () if in_sample else logs, draws, seed)


def _probabilities(policy: AlgorithmPolicy, log: Log) -> np.ndarray:
    """Return the probabilities of the rows, computed in float64."""
    algorithm = policy.algorithm
    state = jax.tree.map(_widened, policy.state)
    if algorithm.replan is not None and bool(algorithm.replan.due(state)):
        state = algorithm.replan.apply(state)
    context = contexts_of(algorithm, log)
    key = jax.random.key(policy.seed)
    drawn = policy.draws if jax.tree.leaves(jax.eval_shape(algorithm.noise, key)) else 1

    def row(number: Array, context: PyTree, offered: Array) -> Array:
        def one(key: Array) -> tuple[Any, Any]:
            chosen: Any = algorithm.select(algorithm.noise(key), state, context)
            known = isinstance(chosen, Choice) and isinstance(chosen.info, Chosen)
            return action_of(chosen), chosen.info.probability if known else jnp.nan

        actions, chances = jax.vmap(one)(jax.random.split(jax.random.fold_in(key, number), drawn))
        if actions.shape != (drawn,):
            refuse(WHERE, f": {name_of_rule(algorithm)} takes actions of shape {actions.shape[1:]}, must take arms")
        counts = jnp.zeros(log.num_arms).at[actions].add(1.0)
        said = jnp.zeros(log.num_arms).at[actions].max(chances)
        unseen = (offered & (counts == 0)).astype(counts.dtype)
        exact = said + unseen * jnp.maximum(1 - said.sum(), 0.0) / jnp.maximum(unseen.sum(), 1.0)
        return jnp.where(jnp.isnan(chances).any(), counts / drawn, exact / exact.sum())

    offered = np.ones((len(log), log.num_arms), bool) if log.available is None else log.available
    rows = (np.arange(len(log)), context, offered)
    mapped = jax.jit(lambda rows: jax.lax.map(lambda r: row(*r), rows, batch_size=max(AT_ONCE // drawn, 1)))
    return np.asarray(mapped(rows))


def _widened(leaf: Any) -> Any:
    """Return a leaf of a state with floats in float64; keys and integers as they are."""
    floats = hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)
    return jnp.asarray(leaf, jnp.float64) if floats else leaf


def contexts_of(algorithm: Algorithm, log: Log, where: str = WHERE) -> PyTree:
    """Return the contexts of all rows as the algorithm receives them."""
    arms, context, name = algorithm.arms, log.context, name_of_rule(algorithm)
    if arms is not None and arms.context is not None and (context is None or context.shape[1:] != arms.context):
        has = "no contexts" if context is None else f"contexts float{list(context.shape[1:])}"
        refuse(where, f": {name} needs contexts float{list(arms.context)}, the log has {has}")
    if arms is not None and arms.num_contexts is not None:
        most = arms.num_contexts - 1
        if context is None or context.shape[1:] != (1,):
            refuse(where, f": {name} needs the index of an action set below {most + 1}, so the log must have one "
                   "context column")  # fmt: skip
        given, context = context[:, 0], context[:, 0].astype(np.int32)
        allowed = f"the index of an action set of {name}, a whole number in [0, {most}]"
        bad = (given != context) | (given < 0) | (given > most)
        refuse_first(bad, lambda row: f"{where}: row {row}: context", given, allowed)
    return context if log.available is None else Offer(log.available, context)  # pyright: ignore[reportArgumentType]
