"""Whether the states of an environment fit into the memory of this machine, which is decided before the first round."""

import os
from typing import Any

import jax

from jaxbandit.base.contract import Environment
from jaxbandit.engine.layout.batching import varying_outputs
from jaxbandit.engine.layout.sizes import CPU
from jaxbandit.engine.rounds.keys import root_key
from jaxbandit.running import sizes
from jaxbandit.support.refusals import refuse


def check(where: str, environment: Environment, num_runs: int) -> None:
    """Raise BadInput if the environment's own state of each run needs more than a quarter of this machine's memory.

    Leaves that all runs share are stored once, and only the runs that are played at once count.

    Args:
      where: the place of the number of runs in what the user gave, and its value.
      environment: the environment.
      num_runs: number of runs.
    """
    there, at_once = sizes.memory(), min(num_runs, CPU.tile_most * (os.cpu_count() or 1))
    key = jax.eval_shape(lambda: root_key(0))
    leaves = jax.tree.leaves(jax.eval_shape(environment.init, key))
    if there is None or 4 * at_once * sum(map(_bytes, leaves)) <= there:
        return
    varies = jax.tree.leaves(varying_outputs(environment.init, (key,), (True,)))
    each = sum(_bytes(leaf) for leaf, own in zip(leaves, varies, strict=True) if own)
    if 4 * at_once * each > there:
        what = f": the state of {environment.name or 'the environment'} takes {sizes.text(each)} in each run, "
        what += f"{sizes.text(at_once * each)} at once, above a quarter of this machine's {sizes.text(there)} of memory"
        refuse(where, f'{what}; ask for fewer runs, or for a smaller state, such as that of order = "draw"')


def _bytes(leaf: Any) -> int:
    return leaf.size * getattr(leaf.dtype, "itemsize", 0)
