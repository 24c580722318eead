"""The traced functions of one run with a stopping rule, which `driver/lane_loop.py` batches."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm, Environment, Outcome
from jaxbandit.engine.layout import batching
from jaxbandit.engine.rounds import fit
from jaxbandit.engine.rounds import step as rounds
from jaxbandit.engine.rounds.metrics import METRIC
from jaxbandit.engine.rounds.recorder import Recorder, Tally, has_nan
from jaxbandit.engine.rounds.single import Make, SingleRun
from jaxbandit.engine.rounds.step import ContractError
from jaxbandit.support.types import Array, PyTree

EMPTY = -2  # a lane without a run
LIVE = -1  # a lane with a run in progress; any other status is the Outcome of a run


class StoppingRun(SingleRun):
    """A run of make(arguments) until it stops, in batches of pulls if algorithm and environment support them."""

    measures = False
    verifies = judges = False

    def __init__(
        self,
        make: Make,
        arguments: PyTree,
        implementation: str,
        *,
        any_rewards: bool = False,
        given: tuple[tuple[str, Any], ...] = (),
        keep: Callable[[PyTree], PyTree] | None = None,
    ):
        super().__init__(make, arguments, implementation, any_rewards=any_rewards, given=given, keep=keep)
        # Runs are at different steps, so they share only leaves that `init` sets to equal values and no step changes.
        world, state, tally = self._changed()
        self.world_varies = batching.either(self.begin_varies[0], world)
        self.state_varies = batching.either(batching.either(self.begin_varies[1], state), self.replan_changes)
        self.tally_varies = batching.either(self.tally_varies, tally)
        self.frozen = self._frozen()
        self.number = jax.ShapeDtypeStruct((), jnp.int32)
        self.count = jax.ShapeDtypeStruct((), rounds.count_dtype() if self.batches else jnp.int32)

    def draw(self, arguments: PyTree, words: tuple[Array, Array], round: Array) -> tuple[PyTree, PyTree]:
        """All randomness of one step."""
        if not self.batches:
            return super().draw(arguments, words, round)
        return rounds.draw_batch(self.make(arguments)[1], words, round, self.implementation), None

    def play(
        self, arguments: PyTree, world: PyTree, state: PyTree, tally: Tally, noise: tuple[PyTree, PyTree]
    ) -> tuple[PyTree, PyTree, Tally]:
        """The states and the tally after one step."""
        return self._counted(arguments, world, state, tally, noise)[0]

    def step(
        self,
        arguments: PyTree,
        world: PyTree,
        state: PyTree,
        tally: Tally,
        noise: tuple[PyTree, PyTree],
        status: Array,
        pulls: Array,
        limit: Array,
    ) -> tuple[PyTree, PyTree, Tally, Array, Array, Array]:
        """Evaluate the stopping rule and, if the run continues, take a step; the last output is whether it took one."""
        algorithm, environment = self.make(arguments)
        live = status == LIVE
        if algorithm.replan is not None:
            live &= ~algorithm.replan.due(state)
        # Counts are set to 0 in lanes without a live run, because a stopping rule may take long if its answer is True.
        looked = jax.tree.map(partial(_nothing_pulled, live), state, self.state_varies) if self.batches else state
        stopped = live & rounds.stops(algorithm, looked)
        (moved, after, counted), count = self._counted(arguments, world, state, tally, noise)
        over = (count > limit - pulls) | (count < 0)  # negative if the batch is too large to be counted exactly
        if (ended := rounds.is_over(environment, world)) is not None:
            over |= ended
        played = live & ~stopped & ~over
        status = jnp.where(stopped, int(Outcome.STOPPED), jnp.where(live & over, int(Outcome.MAX_ROUNDS), status))

        def next_value(old: Array, new: Array, varies: bool, frozen: bool = True) -> Array:
            if not varies:
                return old
            return jnp.where(played, new, old) if frozen else new

        state_after = jax.tree.map(next_value, state, after, self.state_varies, self.frozen)
        world = jax.tree.map(next_value, world, moved, self.world_varies)
        tally = jax.tree.map(next_value, tally, counted, self.tally_varies)
        return world, state_after, tally, status, jnp.where(played, pulls + count, pulls), played

    def broken(self, state: PyTree, tally: Tally) -> Array:
        """Whether a run in progress has failed because a number is not finite, bool[]."""
        return has_nan(state) | ~self.recorder.is_finite(state, tally)

    def verdict(self, arguments: PyTree, world: PyTree, state: PyTree, tally: Tally) -> dict[str, Array]:
        """The results of a run."""
        leaves = zip(jax.tree.leaves(state), jax.tree.leaves(self.frozen), strict=True)
        lasting = has_nan([leaf for leaf, frozen in leaves if frozen])
        result = self.report(arguments, state, tally, None)
        unavailable = result.pop("unavailable", jnp.zeros((), jnp.int32)) > 0
        result = result | {"nonfinite": lasting | unavailable | ~self.recorder.is_finite(state, tally)}
        values = self.measured(arguments, world, state, tally).metrics
        result |= {METRIC + name: x for name, x in zip(self.recorder.metrics.names, values, strict=True)}
        judge: Any = self.make(arguments)[1].simple_regret
        if not self.judges:
            return result
        named = "environment.simple_regret"
        return {**result, "shortfall": rounds.called(named, judge, world, result["recommendation"])}

    def examples(self) -> list[tuple[Callable, tuple]]:
        """The functions of any run, and those of a run with a stopping rule."""
        run = (self.arguments, self.world, self.state, self.tally)
        more: list = [(self._verify, (self.arguments, self.state))] if self.verifies else []
        return [
            *super().examples(),
            (self.step, (*run, self.noise, self.number, self.count, self.count)),
            (self.verdict, run),
            *more,
        ]

    def _verify(self, arguments: PyTree, state: PyTree) -> Array:
        verify: Any = self.make(arguments)[0].verify
        return verify(state)

    def _pair(self, any_rewards: bool) -> tuple[Algorithm, Environment]:
        algorithm, environment = super()._pair(any_rewards)
        if not rounds.recommends(algorithm):
            why = "algorithm.recommend and algorithm.pulls are both None: nothing is recommended, must have one of them"
            if algorithm.pulls is not None:
                why = "algorithm.recommend is None and an action is neither an arm nor a set: must have recommend"
            raise ContractError(why)
        self.batches = rounds.plays_batches(algorithm, environment)
        rough = jnp.result_type(float) == jnp.float32
        if rough and algorithm.verify is None:
            name = algorithm.name or "the algorithm"
            raise ContractError(f"identify: precision = 'float32', {name} cannot verify its runs: must be 'float64'")
        self.verifies = rough  # the final states are then verified on the host in float64
        fit.check_recommendations(algorithm, environment)
        self.judges = environment.simple_regret is not None
        return algorithm, environment

    def _recorder(self, algorithm: Algorithm, environment: Environment, hindsight: bool) -> Recorder:
        run_recorder = super()._recorder(algorithm, environment, hindsight)
        if not self.batches:
            return run_recorder
        if self.given:
            name = algorithm.name or "the algorithm"
            why = f"{name} pulls in batches here, and a metric sees single rounds: must have no metrics"
            raise ContractError(f"identify: metrics, {why}")

        def batch(arguments: PyTree, words: PyTree, world: PyTree, state: PyTree) -> tuple[Array, Array]:
            pair = self.make(arguments)
            noise = rounds.draw_batch(pair[1], words, jnp.int32(1), self.implementation)
            return rounds.play_batch(*pair, world, state, noise)[1:]

        sums, _ = jax.eval_shape(batch, self.arguments, self.words, self.world, self.state)
        run_recorder = run_recorder._replace(counted=None)  # the recorder counts single pulls only
        keeper = self._keeper(sums)
        return (
            run_recorder._replace(watched=sums.shape)
            if keeper is None
            else run_recorder._replace(watches=False, keeper=keeper)
        )

    def _keeper(self, sums: jax.ShapeDtypeStruct) -> int | None:
        """Index of the smallest leaf of the state that stays non-finite once a batch's sums were, or None.

        It is checked instead of the sums, because a compiler may compute twice what a loop reads twice.
        """
        if self.replans:
            return None

        def absorbed(state: PyTree, sums: Array, arguments: PyTree, squares: Array) -> PyTree:
            rule: Any = self.make(arguments)[0].batch
            pulls = rounds.called("algorithm.batch.plan", rule.plan, state)
            more = (squares,) if rule.squares else ()
            return rounds.called("algorithm.batch.absorb", rule.absorb, state, pulls, sums, *more)

        in_state = jax.tree.leaves(batching.keeps_faults(absorbed, self.state, sums, self.arguments, sums))
        sizes = [(leaf.size, i) for i, leaf in enumerate(jax.tree.leaves(self.state)) if in_state[i]]
        return min(sizes)[1] if sizes else None

    def _counted(
        self, arguments: PyTree, world: PyTree, state: PyTree, tally: Tally, noise: tuple[PyTree, PyTree]
    ) -> tuple[tuple[PyTree, PyTree, Tally], Array]:
        """The states and the tally after one step, and the number of its pulls, int[]."""
        if not self.batches:
            return super().play(arguments, world, state, tally, noise), jnp.int32(1)
        after, sums, count = rounds.play_batch(*self.make(arguments), world, state, noise[0])
        if self.recorder.watches:
            tally = tally._replace(watch=jnp.maximum(tally.watch, sums - sums))  # 0, or NaN
        return (world, after, tally), count

    def _frozen(self) -> PyTree:
        """A tree of bools like the state: True where a leaf must keep its value after the end of its run."""
        if self.replans or self.verifies:  # a run may pause and continue later, or `verify` reads the whole state
            return batching.constant_flags(self.state, True)

        def read(state: PyTree, arguments: PyTree, world: PyTree, tally: Tally) -> PyTree:
            result = self.report(arguments, state, tally, None)
            judge = self.make(arguments)[1].simple_regret
            del result["nonfinite"]
            shortfall = None if judge is None else judge(world, result["recommendation"])
            return result, shortfall, self.recorder.is_finite(state, tally)

        return batching.needed(read, self.state, self.arguments, self.world, self.tally)

    def _changed(self) -> tuple[PyTree, PyTree, PyTree]:
        """Trees of bools like world, state and tally: True where a step may change a leaf."""

        def stepped(carry: tuple, arguments: PyTree, noise: PyTree) -> PyTree:
            world, state, tally = carry
            return self.play(arguments, world, state, tally, noise)

        return batching.changed(stepped, (self.world, self.state, self.tally), self.arguments, self.noise)


def _nothing_pulled(live: Array, x: Array, varies: bool) -> Array:
    """A leaf of the state, with integers replaced by 0 unless the run is live."""
    return jnp.where(live, x, 0) if varies and jnp.issubdtype(x.dtype, jnp.signedinteger) else x
