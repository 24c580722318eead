"""The compiled part of fixed-horizon runs on a GPU that plays whole calls in one kernel (`engine/kernels`)."""

import jax.numpy as jnp

from jaxbandit.engine.driver.tile_loop import Carry, TileLoop
from jaxbandit.engine.kernels.threads import kernel_of
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.support.types import Array, PyTree


class KernelLoop(TileLoop):
    """A TileLoop whose rounds, their noise and what is measured at checkpoints are one kernel."""

    def __init__(self, run: SingleRun, num_checkpoints: int, platform: str = "gpu"):
        super().__init__(run, num_checkpoints, platform)
        self.lane_bytes = run.bytes(run.state, run.state_varies)  # the noise of a round is in registers
        self.run_bytes = self.lane_bytes + self._kept_bytes()

    def advance(self, arguments: PyTree, carry: Carry, last: Array, checkpoints: Array) -> Carry:
        """Play up to and including round `last`; checkpoints is int32[num_checkpoints], increasing."""
        kernel = kernel_of(self.run, carry.words[0].shape[-1], self.num_checkpoints)
        states, rounds = (carry.world, carry.state, carry.tally), (carry.round, last, carry.row, checkpoints)
        (world, state, tally), measured = kernel(arguments, carry.words, states, carry.measured, rounds)
        return carry._replace(
            round=last + 1,
            row=jnp.searchsorted(checkpoints, last, side="right").astype(jnp.int32),
            world=world,
            state=state,
            tally=tally,
            measured=measured,
        )
