"""The programs of a session: an algorithm's functions for one run, on the host's CPU, in float64, compiled once."""

import functools
import pickle
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.batches import SetPulls
from jaxbandit.base.contract import Algorithm, Choice, Offer, action_of
from jaxbandit.decide.sessions.forms import as_array, device, form_of
from jaxbandit.engine.layout import compiling
from jaxbandit.engine.layout.compiled import compile_program, remember
from jaxbandit.engine.rounds import actions, fit, keys
from jaxbandit.engine.rounds import step as rounds
from jaxbandit.engine.rounds.step import ContractError, called, same_state, without_notes
from jaxbandit.engine.storage import identity
from jaxbandit.running.structures import value_key
from jaxbandit.support.types import Array, PyTree

IMPLEMENTATION = "threefry4x32"  # the engine's default, so that a session has the random draws of the engine's run
Kind = Literal["batch", "draws", "single"]


class Decision(NamedTuple):
    """What the rule decides before its next pulls: the results of `replan`, `stop` and `Batch.plan`."""

    state: PyTree  # after `replan`, if it was due
    stopped: Any  # bool; while JAX traces an array bool[], or None of a rule that never stops
    plan: Any  # result of Batch.plan, None if pulls are chosen one by one


class RulePrograms:
    """The compiled functions of one algorithm, which is the rule of a session.

    `kind` is "batch" if the algorithm plans pulls ahead, "draws" if it is randomized, so that several draws from one
    state may differ, and "single" if its state determines the next pull.
    """

    def __init__(self, algorithm: Algorithm):
        self.algorithm = algorithm
        if algorithm.arms is not None and algorithm.arms.action is not None:
            name, action = algorithm.name or "the algorithm", actions.described(algorithm.arms)
            raise ContractError(f"session: {name} chooses {action}, must choose an arm or a set of arms; use rollout")
        if algorithm.arms is not None and (count := algorithm.arms.num_candidates) is not None:
            name = algorithm.name or "the algorithm"
            raise ContractError(
                f"session: {name} recommends one of {count} candidates, must recommend an arm; use run_until_stop"
            )
        self._compiled: dict[Any, Callable] = {}
        with self.scope(), without_notes():
            words = jax.eval_shape(lambda: jax.random.key_data(keys.root_key(0, IMPLEMENTATION)))
            self._words = jax.ShapeDtypeStruct((), jnp.uint32), jax.ShapeDtypeStruct((), jnp.int32)
            self._key = words
            self.state = jax.eval_shape(self._init, *self._words)
            noise = jax.eval_shape(self.noise, words, self._words[1])
            self.needs_context = self._needs_context(noise)
            self.draws = bool(jax.tree.leaves(noise))
            self.kind: Kind = self._kind()
            self.num_arms, self.set_size = self._arms()
            self.arm_dtype = self._arm_dtype(noise)
            if self.algorithm.replan is not None:
                same_state("algorithm.replan.apply", "state", self.state, jax.eval_shape(self._replanned, self.state))

    def __deepcopy__(self, memo: object) -> "RulePrograms":
        """Itself, because compiled functions are shared by all sessions of the rule, and nothing changes them."""
        return self

    def __reduce__(self) -> Any:
        """The rule, from which they are compiled again, if pickle knows its functions by name."""
        try:
            pickle.dumps(self.algorithm)
        except (pickle.PicklingError, AttributeError, TypeError):
            raise pickle.PicklingError(
                f"a session of {self.algorithm.name or 'the rule'} cannot be pickled, because its rule is made of "
                "functions; write it with save_session(path, session), and read it with load_session(path, rule)"
            ) from None
        return rule_programs, (self.algorithm,)

    @staticmethod
    def scope() -> Any:
        """Context manager that enables float64 within its block only, not in the whole process."""
        return jax.enable_x64(True)

    def begin(self, seed: int, run: int) -> tuple[np.ndarray, Decision]:
        """Key words of the run's random draws, and the rule before its first pull."""
        with self.scope():
            words, decision = self.call("begin", self._begin_and_decide, np.uint32(seed), np.int32(run))
            return np.asarray(words), _read(decision)

    def select(self, words: np.ndarray, round: int, state: PyTree, context: PyTree) -> Any:
        """What `select` returns in a round: an action or a Choice."""
        with self.scope():
            return self.call(("select", form_of(context)), self.selected, words, np.int32(round), state, context)

    def update(self, state: PyTree, context: PyTree, choice: Any, feedback: float, donate: bool = False) -> Decision:
        """The rule after one reward; with `donate` in the buffers of the state, which nobody may use any more."""
        with self.scope():
            given, key = (state, context, choice, np.float64(feedback)), ("update", form_of(context), donate)
            return _read(self.call(key, self._update_and_decide, *given, donate=(0,) if donate else ()))

    def absorb(self, state: PyTree, plan: Any, sums: np.ndarray, squares: np.ndarray) -> Decision:
        """The rule after a whole batch."""
        rule: Any = self.algorithm.batch
        with self.scope():
            more = (squares,) if rule.squares else ()
            return _read(self.call("absorb", self._absorb_and_decide, state, plan, sums, *more))

    def recommendation(self, state: PyTree) -> np.ndarray | None:
        """The recommended arms, int32[m], or None; the arm pulled most, their default, means nothing with contexts."""
        if self.algorithm.recommend is None and (self.algorithm.pulls is None or self.needs_context):
            return None
        with self.scope():
            result = self.call("recommend", lambda state: rounds.recommendation(self.algorithm, state), state)
            return np.atleast_1d(np.asarray(result))

    def survivors(self, state: PyTree) -> np.ndarray | None:
        """The arms that have not been eliminated, bool[num_arms]; None if the rule eliminates none."""
        function = self.algorithm.survivors
        if function is None:
            return None
        with self.scope():
            return np.asarray(self.call("survivors", function, state))

    @functools.cached_property
    def limits(self) -> tuple[float, float]:
        """The least and the largest reward for which the rule is made."""
        return fit.limits(self.algorithm.rewards)

    @functools.cached_property
    def digest(self) -> str:
        """Digest of everything that the rule's decisions depend on, including its arguments."""
        with self.scope():
            noise = jax.eval_shape(self.noise, self._key, self._words[1])
            examples: list = [(self._begin, self._words), (self._decide, (self.state,))]
            if self.kind == "batch":
                rule: Any = self.algorithm.batch
                plan = jax.eval_shape(rule.plan, self.state)
                sums = jax.ShapeDtypeStruct(counts_of(plan).shape, jnp.float64)
                examples += [(self._absorb, (self.state, plan, sums, *((sums,) if rule.squares else ())))]
            elif not self.needs_context or self.context_shape() is not None:
                context = self.context_shape()
                choice = jax.eval_shape(self.algorithm.select, noise, self.state, context)
                number = jax.ShapeDtypeStruct((), jnp.float64)
                examples += [(self.algorithm.select, (noise, self.state, context))]
                examples += [(self._update, (self.state, context, choice, number))]
            return identity.of_program(examples)

    # Each program decides in the state that it has computed, because a call takes as long as a small program.
    def _begin_and_decide(self, seed: Array, run: Array) -> tuple[Array, Decision]:
        words, state = self._begin(seed, run)
        return words, self._decision(state)

    def _update_and_decide(self, *given: Any) -> Decision:
        return self._decision(self._update(*given))

    def _absorb_and_decide(self, *given: Any) -> Decision:
        return self._decision(self._absorb(*given))

    def _decision(self, state: PyTree) -> Decision:
        """What the rule decides in a state, while JAX traces; a result that is always False would cost two copies."""
        decision = self._decide(state)
        return decision._replace(stopped=None) if self.algorithm.stop is None else decision

    def _begin(self, seed: Array, run: Array) -> tuple[Array, PyTree]:
        return self._run_words(seed, run), self._init(seed, run)

    def _run_words(self, seed: Array, run: Array) -> Array:
        root = jax.random.key(seed, impl=IMPLEMENTATION)
        return keys.run_words(jax.random.fold_in(root, run))[1]

    def _init(self, seed: Array, run: Array) -> PyTree:
        key = keys.round_key(self._run_words(seed, run), jnp.uint32(0), IMPLEMENTATION)
        return called("algorithm.init", self.algorithm.init, key)

    def noise(self, words: Array, round: Array) -> PyTree:
        """The random draws of a round, while JAX traces."""
        return called("algorithm.noise", self.algorithm.noise, keys.round_key(words, round, IMPLEMENTATION))

    def selected(self, words: Array, round: Array, state: PyTree, context: PyTree) -> Any:
        """What `select` returns, while JAX traces."""
        return called("algorithm.select", self.algorithm.select, self.noise(words, round), state, context)

    def _update(self, state: PyTree, context: PyTree, choice: Any, feedback: Array) -> PyTree:
        after = called("algorithm.update", self.algorithm.update, state, context, choice, feedback)
        same_state("algorithm.update", "state", self.state, after)
        return after

    def _absorb(self, state: PyTree, plan: Any, sums: Array, *squares: Array) -> PyTree:
        rule: Any = self.algorithm.batch
        after = called("algorithm.batch.absorb", rule.absorb, state, plan, sums, *squares)
        same_state("algorithm.batch.absorb", "state", self.state, after)
        return after

    def _decide(self, state: PyTree) -> Decision:
        state = self._replanned(state)
        stopped = rounds.stops(self.algorithm, state)
        rule: Any = self.algorithm.batch
        plan = called("algorithm.batch.plan", rule.plan, state) if self.kind == "batch" else None
        return Decision(state, stopped, plan)

    def _replanned(self, state: PyTree) -> PyTree:
        replan = self.algorithm.replan
        if replan is None:
            return state
        return jax.lax.cond(called("algorithm.replan.due", replan.due, state), replan.apply, lambda same: same, state)

    def _kind(self) -> Kind:
        rule = self.algorithm.batch
        if rule is not None and not self.needs_context:
            plan = jax.eval_shape(rule.plan, self.state)
            # If the plan is spread over all sets, which are too many to list, pulls are drawn one by one instead.
            if not isinstance(plan, SetPulls) or plan.sets is not None:
                return "batch"
        return "draws" if self.draws else "single"

    def _needs_context(self, noise: PyTree) -> bool:
        """Whether `select` needs a context."""
        arms = self.algorithm.arms
        if arms is not None and (arms.num_contexts is not None or arms.context is not None or arms.available):
            return True
        try:
            jax.eval_shape(self.algorithm.select, noise, self.state, None)
        except (TypeError, ValueError, IndexError, AttributeError, jax.errors.JAXTypeError):
            return True
        return False

    @property
    def repeats(self) -> bool:
        """Whether the rule is a race: it plans pulls of its survivors again and again, as many as it takes."""
        rule = self.algorithm
        return self.kind == "batch" and rule.survivors is not None and rule.budget is None and rule.replan is None

    @property
    def each_asks(self) -> bool:
        """Whether each ask gets a draw of its own: the rule draws, and learns from any arm, in whatever state drawn."""
        return self.kind == "draws" and self.arm_dtype is not None

    def with_arm(self, words: np.ndarray, round: int, state: PyTree, arm: int) -> Any:
        """What `update` takes for a pull of this arm in a round, if `arm_dtype` is not None."""
        assert self.arm_dtype is not None
        action = np.asarray(arm, self.arm_dtype)
        return Choice(action, self.select(words, round, state, None).info) if self._informs else action

    def _arm_dtype(self, noise: PyTree) -> Any:
        """The dtype of an arm, if `update` takes any arm; None if it takes batches, or `Choice.info` on the state."""
        if self.kind == "batch" or self.needs_context or self.set_size is not None:
            return None
        choice = jax.eval_shape(self.algorithm.select, noise, self.state, None)
        action = action_of(choice)
        if (
            not isinstance(action, jax.ShapeDtypeStruct)
            or action.shape
            or not jnp.issubdtype(action.dtype, jnp.integer)
        ):
            return None
        self._informs = isinstance(choice, Choice)
        if self._informs:
            two = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((2, *leaf.shape), leaf.dtype), self.state)
            info = jax.vmap(lambda state, noise: self.algorithm.select(noise, state, None).info, (0, None), None)
            try:
                jax.eval_shape(info, two, noise)
            except ValueError:  # the information differs between states
                return None
        return action.dtype

    def choice(self, context: PyTree) -> Any:
        """What `select` returns in such a context, without its values."""
        with self.scope():
            return jax.eval_shape(self.selected, self._key, self._words[1], self.state, context)

    def context_shape(self) -> Any:
        """The context that the rule declares, without its values; None if it declares none."""
        arms, shape = self.algorithm.arms, None
        if arms is not None and arms.num_contexts is not None:
            shape = jax.ShapeDtypeStruct((), jnp.int32)
        elif arms is not None and arms.context is not None:
            shape = jax.ShapeDtypeStruct(arms.context, jnp.float64)
        if arms is not None and arms.available:
            shape = Offer(jax.ShapeDtypeStruct((arms.num_arms,), bool), shape)
        return shape

    def _arms(self) -> tuple[int, int | None]:
        pulls = self.algorithm.pulls
        arms = fit.arms_of(self.algorithm, None if pulls is None else jax.eval_shape(pulls, self.state))
        if arms is None:
            raise ContractError(
                "session: the algorithm declares neither arms nor pulls, must declare arms = Arms(num_arms)"
            )
        return arms.num_arms, arms.set_size

    def call(self, key: Any, function: Callable, *given: Any, donate: tuple[int, ...] = ()) -> Any:
        """Call the compiled function, compiling it once per key: its name and, with contexts, their form."""
        compiled = self._compiled.get(key)
        if compiled is None:
            with compiling.named(self.algorithm.name or "the rule"), without_notes(), jax.default_device(device()):
                examples = jax.tree.map(as_array, given)
                compiled = self._compiled[key] = compile_program(function, device(), *examples, donate=donate)
        return compiled(*given)


def _read(decision: Decision) -> Decision:
    """The decision with `stopped` as a bool, which JAX's own conversion reads six times as slowly as NumPy."""
    state, stopped, plan = decision
    return Decision(state, stopped is not None and bool(np.asarray(stopped)), plan)


def rule_programs(algorithm: Algorithm) -> RulePrograms:
    """The compiled functions of an algorithm, cached for later sessions of one that was made alike."""
    fit.check_kind("algorithm", algorithm, Algorithm)
    return remember(("session", value_key(algorithm)), lambda: RulePrograms(algorithm))


def counts_of(plan: Any) -> Any:
    """The pulls of each arm, or of each set, that a result of `Batch.plan` has."""
    return plan.counts if isinstance(plan, SetPulls) else plan
