"""The part of check_algorithm for batches of pulls, which must have the same effect as the same pulls one by one."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm, action_of
from jaxbandit.engine.rounds.step import stops
from jaxbandit.lab.conformance.check_case import Case, as_arrays, explained, make_key, recommended, settled
from jaxbandit.support.types import Array, PyTree

BATCHES = 6  # number of batches to check
MOST_PULLS = 5000  # largest batch that is also played one by one


class _Step(NamedTuple):
    """The results of one batch and of the same pulls one by one, from the same state."""

    state: PyTree  # after the batch
    pulls: Array  # int[num_arms]
    over: Array  # bool[], whether it had stopped, or the batch is too large to be checked
    early: Array  # bool[], whether it would have stopped inside the batch
    together: dict[str, PyTree]  # decisions after the batch
    single: dict[str, PyTree]  # decisions after the same pulls one by one


def check_batches(case: Case) -> None:
    """Play the first batches both ways, on rewards that depend on the arm only, so that their order does not matter."""
    algorithm = case.make(case.num_arms, **case.hyper[0])
    if algorithm.batch is None:
        return
    begin = jax.jit(lambda hyper: _begin(case.make(case.num_arms, **hyper)))
    step = jax.jit(lambda hyper, state: _step(case.make(case.num_arms, **hyper), state, case.num_arms))
    for hyper in case.hyper:
        arrays = as_arrays(case, hyper)
        state = begin(arrays)
        for batch in range(BATCHES):
            with explained(case, "a batch"):
                out = jax.device_get(step(arrays, state))
            if out.over:
                break
            where = f"batch {batch} of {out.pulls.tolist()} pulls"
            if out.pulls.min() < 0 or out.pulls.sum() < 1:
                case.fail("batches of pulls", f"{where}: must be at least 0 for each arm and at least 1 in total")
            if out.early:
                case.fail(
                    "batches of pulls", f"{where}: stop is True inside it; it must end where stop may become True"
                )
            for name, one in out.single.items():
                if not np.array_equal(out.together[name], one):
                    case.fail(
                        "batches of pulls",
                        f"{where}: {name} is {out.together[name]} after batch.absorb, {one} after the same pulls "
                        "one by one; both must lead to the same decisions",
                    )
            state = out.state


def _begin(algorithm: Algorithm) -> PyTree:
    return settled(algorithm, algorithm.init(make_key()))


def _step(algorithm: Algorithm, state: PyTree, num_arms: int) -> _Step:
    rule = algorithm.batch
    assert rule is not None
    values = jnp.linspace(0.1, 0.9, num_arms)
    pulls = rule.plan(state)
    total = jnp.sum(pulls, dtype=jnp.int32)
    over = stops(algorithm, state) | (total > MOST_PULLS)
    n = pulls.astype(values.dtype)
    whole = rule.absorb(state, pulls, n * values, *((n * values * values,) if rule.squares else ()))

    def turn(i: Array, carry: tuple[PyTree, PyTree, Array]) -> tuple[PyTree, PyTree, Array]:
        together, before, early = carry
        early |= (i > 1) & stops(algorithm, before)
        action = algorithm.select(algorithm.noise(jax.random.fold_in(make_key(), i)), before, None)
        one = algorithm.update(before, None, action, values[action_of(action)])
        # Turn 0 is the whole batch, so that a new plan, which is most of the program, is compiled only once.
        after = settled(algorithm, _choose(i == 0, whole, one))
        return _choose(i == 0, after, together), _choose(i == 0, before, after), early

    turns = jnp.where(over, 0, 1 + total)
    together, single, early = jax.lax.fori_loop(0, turns, turn, (state, state, jnp.zeros((), bool)))

    def decisions(after: PyTree) -> dict[str, PyTree]:
        pulled = {} if algorithm.pulls is None else {"pulls": algorithm.pulls(after)}
        return {**pulled, "stop": stops(algorithm, after), "recommend": recommended(algorithm, after)}

    return _Step(together, pulls, over, early, decisions(together), decisions(single))


def _choose(first: Array, one: PyTree, other: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(first, a, b), one, other)
