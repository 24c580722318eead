"""The traced functions of one run that the engine batches, and which leaves of their states differ between runs."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandit.base import side_by_side
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.engine.layout import batching, jaxprs, whole_loops
from jaxbandit.engine.rounds import actions, contexts, fit, metrics, recorder, states
from jaxbandit.engine.rounds import step as rounds
from jaxbandit.engine.rounds.recorder import Measured, Recorder, Tally
from jaxbandit.engine.rounds.step import Played, same_state
from jaxbandit.support import checks
from jaxbandit.support.domains import INT32, integer
from jaxbandit.support.types import Array, PyTree

Make = Callable[[PyTree], tuple[Algorithm, Environment]]  # of traced arguments


class SingleRun:
    """A run of make(arguments) as pure functions, with examples of their arguments.

    `words` are the key words of the environment and of the algorithm, uint32[words] each. `given` are the metrics by
    name, and `keep` is what is kept of the last state, or None.
    """

    measures = True  # whether regret is recorded, or feedback if regret is not defined
    batches = False  # whether a step is a batch of pulls

    def __init__(
        self,
        make: Make,
        arguments: PyTree,
        implementation: str,
        *,
        any_rewards: bool = False,
        hindsight: bool = False,
        given: tuple[tuple[str, Any], ...] = (),
        keep: Callable[[PyTree], PyTree] | None = None,
    ):
        self.make, self.implementation, self.given, self.keep = make, implementation, given, keep
        self.traces: dict[Any, Any] = {}  # of `jaxprs.trace`
        self.arguments = jax.eval_shape(lambda: arguments)
        self.words = jax.eval_shape(lambda: (jax.random.key_data(jax.random.key(0, impl=implementation)),) * 2)
        self.round = jax.ShapeDtypeStruct((), jnp.int32)
        self.flag = jax.ShapeDtypeStruct((), bool)
        algorithm, environment = self._pair(any_rewards)
        self.lengths = fit.lengths(algorithm, environment)
        self.replans, self.moves = algorithm.replan is not None, environment.transition is not None
        late = 0 if algorithm.replan is None else algorithm.replan.late
        self.late = checks.take("replan.late", late, integer(0, INT32 - 1))
        self.phases = algorithm.phases.names if algorithm.phases else ()
        self.world, self.state = jaxprs.trace(self.begin, self.arguments, self.words)[1]
        self.recorder = self._recorder(algorithm, environment, hindsight)
        self.tally = jax.eval_shape(self.recorder.empty)
        self.noise = jaxprs.trace(self.draw, self.arguments, self.words, self.round)[1]

        self.shared = batching.constant_flags(self.arguments, False)
        self.noise_varies = batching.constant_flags(self.noise, True)
        # Runs are replanned in different rounds, so the leaves that `replan` changes differ between runs.
        self.replan_changes = self._replan_changes()
        self.begin_varies = batching.varying_outputs(
            self.begin, (self.arguments, self.words), (self.shared, (True, True))
        )
        self.world_varies, self.state_varies, self.tally_varies = self._varying()

    def begin(self, arguments: PyTree, words: tuple[Array, Array]) -> tuple[PyTree, PyTree]:
        """States of the environment and of the algorithm before the first round."""
        return rounds.begin(*self.make(arguments), words, self.implementation)

    def first(self, arguments: PyTree) -> tuple[PyTree, PyTree]:
        """The states before the first round of some run, so that what is equal in all runs is computed once."""
        return self.begin(arguments, tuple(jnp.zeros(w.shape, jnp.uint32) for w in self.words))  # pyright: ignore[reportArgumentType]

    def draw(self, arguments: PyTree, words: tuple[Array, Array], round: Array) -> tuple[PyTree, PyTree]:
        """All randomness of one round, of the environment and of the algorithm."""
        with side_by_side.declared():
            return rounds.draw(*self.make(arguments), words, round, self.implementation)

    def play(
        self, arguments: PyTree, world: PyTree, state: PyTree, tally: Tally, noise: tuple[PyTree, PyTree]
    ) -> tuple[PyTree, PyTree, Tally]:
        """The states and the tally after one round."""
        algorithm, environment = self.make(arguments)
        played = rounds.play(algorithm, environment, world, state, noise)
        after = played.world, played.state, self.recorder.after(environment, world, state, tally, played)
        return rounds.unless(rounds.is_over(environment, world), after, (world, state, tally))

    def waits(self, arguments: PyTree, state: PyTree, live: Array) -> Array:
        """Whether a live run must be replanned before its next round."""
        replan: Any = self.make(arguments)[0].replan
        return live & rounds.called("algorithm.replan.due", replan.due, state)

    def replanned(self, arguments: PyTree, state: PyTree, live: Array) -> tuple[PyTree, Array]:
        """The state of a live run after `replan`, if it is due, and whether it is still due, which is forbidden."""
        due = self.waits(arguments, state, live)
        fresh = self._replan(arguments, state)
        state_after = jax.tree.map(
            lambda old, new, varies: jnp.where(due, new, old) if varies else old, state, fresh, self.replan_changes
        )
        return state_after, due & self.waits(arguments, fresh, live)

    def measured(self, arguments: PyTree, world: PyTree, state: PyTree, tally: Tally) -> Measured:
        """What is recorded at a checkpoint."""
        return self.recorder.measured(*self.make(arguments), world, state, tally)

    def report(self, arguments: PyTree, state: PyTree, tally: Tally, played: Array | None) -> dict[str, Array]:
        """The results of a run besides its regret, after `played` rounds."""
        algorithm = self.make(arguments)[0]
        results = recorder.report(algorithm, state, rounds.recommendation(algorithm, state))
        if self.keep is not None:
            results |= states.kept(rounds.called("keep", self.keep, state))
        return self.recorder.judged(results, state, tally, played)

    def operations(self) -> int:
        """The number of elementary operations of a step, without its noise, which is drawn for many steps at once."""
        return batching.operations(self.play, self.arguments, self.world, self.state, self.tally, self.noise)

    def examples(self) -> list[tuple[Callable, tuple]]:
        """The functions that determine every number of the run, with examples of their arguments."""
        run = (self.arguments, self.world, self.state, self.tally)
        more: list = [(self.replanned, (self.arguments, self.state, self.flag))] if self.replans else []
        if self.given:
            more.append((self.recorder.empty, ()))
        if self.measures:
            more += [(self.measured, run), (self.report, (self.arguments, self.state, self.tally, self.round))]
        return [
            (self.begin, (self.arguments, self.words)),
            (self.draw, (self.arguments, self.words, self.round)),
            (self.play, (*run, self.noise)),
            *more,
        ]

    def _pair(self, any_rewards: bool) -> tuple[Algorithm, Environment]:
        """The algorithm and the environment, of which only static parts are used; an error if they do not fit."""
        pair: list = []

        def look(arguments: PyTree) -> None:
            algorithm, environment = self.make(arguments)
            fit.check_pair(algorithm, environment, any_rewards)
            pair.extend((algorithm, environment))

        jax.eval_shape(look, self.arguments)
        return pair[0], pair[1]

    def _recorder(self, algorithm: Algorithm, environment: Environment, hindsight: bool) -> Recorder:
        """Trace one round for its shapes; raise an error if a compiled loop cannot carry the states."""

        def one_round(arguments: PyTree, words: PyTree, world: PyTree, state: PyTree) -> tuple:
            pair = self.make(arguments)
            noise = rounds.draw(*pair, words, jnp.int32(1), self.implementation)
            played, pulls = rounds.play(*pair, world, state, noise), pair[0].pulls
            return played, None if pulls is None else rounds.called("algorithm.pulls", pulls, state)

        shapes = jax.eval_shape(one_round, self.arguments, self.words, self.world, self.state)
        played, pulls = shapes
        same_state("algorithm.update", "state", self.state, played.state)
        same_state("environment.transition", "state", self.world, played.world)
        if self.replans:
            after = jax.eval_shape(self._replan, self.arguments, self.state)
            same_state("algorithm.replan.apply", "state", self.state, after)
        fit.check_arms(algorithm, environment, pulls, played.context is not None)
        actions.check_selected(algorithm, environment, played.action)
        contexts.check_observed(algorithm, environment, played.context)
        example = metrics.round_of(self.state, self.world, played, self.round)
        run_recorder = recorder.recorder_of(
            algorithm,
            environment,
            played,
            pulls,
            measures=self.measures,
            hindsight=hindsight,
            metrics=metrics.metrics_of(self.given, example, self._checkpoint),
        )
        return run_recorder._replace(watches=not self._is_certain(environment, played))

    def _checkpoint(self) -> Any:
        """The shapes of what metrics see at a checkpoint; an error if nobody can judge what is recommended."""

        def look(arguments: PyTree, world: PyTree, state: PyTree) -> Any:
            pair = self.make(arguments)
            fit.check_recommendations(*pair)
            return metrics.checkpoint_of(*pair, world, state)

        return jax.eval_shape(look, self.arguments, self.world, self.state)

    def _is_certain(self, environment: Environment, played: Played) -> bool:
        """Whether every reward is a conversion of a boolean and both 0 and 1 are in range, so that all are valid."""
        if not fit.allows_both(environment.rewards):
            return False

        def reward(arguments: PyTree, words: PyTree, world: PyTree, context: PyTree, action: PyTree) -> PyTree:
            pair = self.make(arguments)
            noise, _ = rounds.draw(*pair, words, jnp.int32(1), self.implementation)
            return pair[1].reward(world, context, action, noise)

        return batching.is_from_boolean(reward, self.arguments, self.words, self.world, played.context, played.action)

    def _replan(self, arguments: PyTree, state: PyTree) -> PyTree:
        replan: Any = self.make(arguments)[0].replan
        return rounds.called("algorithm.replan.apply", replan.apply, state)

    def _replan_changes(self) -> PyTree:
        """A tree of bools like the state: True where `replan` may change a leaf."""
        if not self.replans:
            return batching.constant_flags(self.state, False)
        return batching.changed(lambda state, arguments: self._replan(arguments, state), self.state, self.arguments)

    def _varying(self) -> tuple[PyTree, PyTree, PyTree]:
        """Which leaves of world, state and tally may differ between runs in any round: a fixed-point iteration."""
        world, state = self.begin_varies
        tally = batching.constant_flags(self.tally, False)
        varies = (world, batching.either(state, self.replan_changes), tally)
        example = (self.arguments, self.world, self.state, self.tally, self.noise)
        while True:
            flags = (self.shared, *varies, self.noise_varies)
            grown = batching.either(varies, batching.varying_outputs(self.play, example, flags))
            if grown == varies:
                return varies
            varies = grown

    @property
    def whole_loops(self) -> bool:
        """Whether the loops of this run should be compiled whole, if that is possible (`layout/whole_loops.py`)."""
        most = whole_loops.BATCH_STATE_BYTES if self.batches else whole_loops.STATE_BYTES
        return self.bytes(self.state, self.state_varies) <= most

    def bytes(self, tree: PyTree, varies: PyTree) -> int:
        """Size in bytes of those leaves of one run that are not shared between runs."""
        leaves = zip(jax.tree.leaves(tree), jax.tree.leaves(varies), strict=True)
        return sum(leaf.size * leaf.dtype.itemsize for leaf, flag in leaves if flag)
