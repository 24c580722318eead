"""The instances of the runs of an environment with a prior, drawn again on the host: to judge them, and for results."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Environment
from jaxbandit.base.truth import Prior
from jaxbandit.engine.layout.compiled import Same, compile_program, remember
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.keys import IMPLEMENTATIONS
from jaxbandit.support.types import Array

DRAWN = "drawn/"  # before the name of a drawn argument, in the arrays of a result
GAP = "gap"  # name of the array of gaps
RUNS = 4096  # number of runs at a time
WORDS = 4  # of a key of the generator


def instances_of(
    environment: Environment, *, seed: int, num_runs: int, precision: str, first_run: int = 0, store: bool = True
) -> dict[str, np.ndarray]:
    """Return what each run has drawn, as arrays `drawn/NAME` [runs, ...], and `gap` float[runs]; {} without a prior.

    The gap is the difference between the two largest means, where an instance has one mean an arm, and arms are
    recommended. Only with `store` are they returned.

    Raises:
      ValueError: the factory refuses the arguments of a run. Of each argument the smallest and the largest number of
        every 4096 runs are judged, and the first run.
    """
    prior = environment.truth.prior
    if prior is None:
        return {}
    parts = []
    with jax.enable_x64(precision == "float64"):
        device = jax.local_devices()[0]
        program = remember((Same(environment), "instances"), lambda: _program(environment, device))
        for start in range(first_run, first_run + num_runs, RUNS):
            words, _ = keys.compiled_run_keys(seed, IMPLEMENTATIONS[0], np.arange(start, start + RUNS))
            some = {name: np.asarray(x)[: first_run + num_runs - start] for name, x in program(words).items()}
            _judge(prior, some, start)
            parts += [some] if store else []
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}


def _program(environment: Environment, device: Any) -> Any:
    """Return the compiled function of the arrays of `RUNS` runs, of the key words of the environment."""
    prior: Any = environment.truth.prior

    def instance(words: Array) -> dict[str, Array]:
        state = environment.init(keys.round_key(words, jnp.int32(0), IMPLEMENTATIONS[0]))
        found = {DRAWN + name: x for name, x in prior.arguments(state).items()}
        means = environment.truth.means and environment.truth.means(state)
        others = environment.arms is not None and environment.arms.num_candidates is not None
        if means is None or means.ndim != 1 or len(means) < 2 or others:
            return found
        best = jax.lax.top_k(means, 2)[0]
        return found | {GAP: best[0] - best[1]}

    def instances(words: Array) -> dict[str, Array]:
        return jax.vmap(instance, -1)(words)

    return compile_program(instances, device, jax.ShapeDtypeStruct((WORDS, RUNS), jnp.uint32))


def _judge(prior: Prior, some: dict[str, np.ndarray], first_run: int) -> None:
    """Raise ValueError if the factory refuses the first run, or one with the smallest or the largest number."""
    rows = {0}
    for name in prior.names:
        each = some[DRAWN + name].reshape(len(some[DRAWN + name]), -1)
        rows |= {int(place) // each.shape[1] for place in (each.argmin(), each.argmax())}  # also a NaN
    for row in sorted(rows):
        try:
            prior.instance(**{name: some[DRAWN + name][row] for name in prior.names})
        except ValueError as error:
            raise ValueError(f"run {first_run + row} draws what its factory refuses: {error}") from None
