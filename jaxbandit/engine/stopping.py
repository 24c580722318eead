"""One run that stops by its own rule, traced: what lanes.py batches."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandit.base import Algorithm, Environment, Outcome, SetPulls
from jaxbandit.engine import batching, keys
from jaxbandit.engine.single import SingleRun, has_nan
from jaxbandit.types import Array, PyTree

EMPTY = -2  # a lane without a run
LIVE = -1  # otherwise a lane's status is the Outcome of its run


class StoppingRun(SingleRun):
    """A run of make(arguments) until it stops; steps are single pulls, or blocks where both parts know them."""

    def __init__(
        self,
        make: Callable[[PyTree], tuple[Algorithm, Environment]],
        arguments: PyTree,
        implementation: str,
    ):
        self.blocks = self.verifies = self.judges = False

        def look(arguments: PyTree) -> None:
            algorithm, environment = make(arguments)
            self.blocks = algorithm.block is not None and environment.block_reward is not None
            # In float32 the final states go to the host, to be verified in float64.
            self.verifies = algorithm.verify is not None and jnp.result_type(float) == jnp.float32
            self.judges = environment.shortfall is not None

        jax.eval_shape(look, arguments)
        super().__init__(make, arguments, implementation)
        # Runs are at different steps: they share only what init gives to all alike and nothing changes.
        flags = (self.shared, (True, True))
        self.begin_varies = batching.varying_outputs(self.begin, (self.arguments, self.words), flags)
        self.state_varies = batching.either(self.begin_varies[1], self._changed())
        self.frozen = self._frozen()
        self.number = jax.ShapeDtypeStruct((), jnp.int32)

    def draw(self, arguments: PyTree, words: tuple[Array, Array], round: Array) -> tuple[PyTree, PyTree]:
        """All the chance of one step."""
        if not self.blocks:
            return super().draw(arguments, words, round)
        environment: Any = self.make(arguments)[1]
        return environment.block_noise(keys.round_key(words[0], round, self.implementation)), None

    def observe(self, arguments: PyTree, world: PyTree, noise: tuple[PyTree, PyTree]) -> PyTree:
        """The step's context; none where arms are pulled in blocks."""
        return None if self.blocks else super().observe(arguments, world, noise)

    def play(self, arguments: PyTree, world: PyTree, state: PyTree, noise: tuple[PyTree, PyTree]) -> tuple:
        """One step: the algorithm's next state and the number of pulls, int32[]."""
        algorithm, environment = self.make(arguments)
        if self.blocks:
            block: Any = (algorithm.block, algorithm.update_block, environment.block_reward)
            pulls = block[0](state)
            count = jnp.sum(pulls.counts if isinstance(pulls, SetPulls) else pulls, dtype=jnp.int32)
            return block[1](state, pulls, block[2](world, pulls, noise[0])), count
        context = environment.observe(world, noise[0])
        action = algorithm.select(noise[1], state, context)
        reward = environment.reward(world, context, action, noise[0])
        return algorithm.update(state, context, action, reward), jnp.int32(1)

    def step(
        self,
        arguments: PyTree,
        world: PyTree,
        state: PyTree,
        noise: tuple[PyTree, PyTree],
        status: Array,
        pulls: Array,
        limit: Array,
    ) -> tuple[PyTree, Array, Array, Array]:
        """State, status and pulls after a look and, if the run goes on, a step; and whether it took one, bool[]."""
        algorithm = self.make(arguments)[0]
        live = status == LIVE
        if algorithm.needs_refresh is not None:
            live &= ~algorithm.needs_refresh(state)
        # Where no run is, nothing counts as pulled: a rule may take long to say yes, and say it each time.
        looked = jax.tree.map(partial(_nothing_pulled, live), state, self.state_varies) if self.blocks else state
        stopped = live & algorithm.stop(looked)
        after, count = self.play(arguments, world, state, noise)
        over = (count > limit - pulls) | (count < 0)  # below 0: a block too large for int32
        played = live & ~stopped & ~over
        status = jnp.where(stopped, int(Outcome.STOPPED), jnp.where(live & over, int(Outcome.MAX_ROUNDS), status))

        def next_value(old: Array, new: Array, varies: bool, frozen: bool) -> Array:
            if not varies:
                return old
            return jnp.where(played, new, old) if frozen else new

        kept = jax.tree.map(next_value, state, after, self.state_varies, self.frozen)
        return kept, status, jnp.where(played, pulls + count, pulls), played

    def verdict(self, arguments: PyTree, world: PyTree, state: PyTree) -> dict[str, Array]:
        """What a run leaves behind."""
        leaves = zip(jax.tree.leaves(state), jax.tree.leaves(self.frozen), strict=True)
        result = {**self.report(arguments, state), "nonfinite": has_nan([leaf for leaf, frozen in leaves if frozen])}
        judge: Any = self.make(arguments)[1].shortfall
        return {**result, "shortfall": judge(world, result["recommendation"])} if self.judges else result

    def examples(self) -> list[tuple[Callable, tuple]]:
        """As of any run, and the functions of one that stops."""
        step = (self.arguments, self.world, self.state, self.noise, self.number, self.number, self.number)
        return [
            *super().examples(),
            (self.step, step),
            (self.verdict, (self.arguments, self.world, self.state)),
        ]

    def _frozen(self) -> PyTree:
        """True where a leaf must keep its value once its run has ended: the verdict reads it.

        The others go on changing until their lane is refilled: masking their updates would cost more than the updates.
        """
        if self.refreshes or self.verifies:  # a run may wait and then go on, or all of its state is looked at
            return batching.constant_flags(self.state, True)

        def read(state: PyTree, arguments: PyTree, world: PyTree) -> PyTree:
            result = self.report(arguments, state)
            judge = self.make(arguments)[1].shortfall
            del result["nonfinite"]
            return result, None if judge is None else judge(world, result["recommendation"])

        return batching.needed(read, self.state, self.arguments, self.world)

    def _changed(self) -> PyTree:
        """True where a step or a refresh may give a leaf of the state another value."""

        def stepped(state: PyTree, arguments: PyTree, world: PyTree, noise: PyTree) -> PyTree:
            return self.play(arguments, world, state, noise)[0]

        by_step = batching.changed(stepped, self.state, self.arguments, self.world, self.noise)
        return batching.either(by_step, self.refresh_changes)


def _nothing_pulled(live: Array, x: Array, varies: bool) -> Array:
    """A leaf of the state as it is for a live run, and 0 counts otherwise."""
    return jnp.where(live, x, 0) if varies and jnp.issubdtype(x.dtype, jnp.signedinteger) else x
