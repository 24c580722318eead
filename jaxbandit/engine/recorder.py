"""What is kept of a run besides the states: regret, pulls if the algorithm counts none, the feedback's faults."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base import Algorithm, Environment
from jaxbandit.engine import fit
from jaxbandit.engine.rounds import ContractError, Played, called
from jaxbandit.types import Array, PyTree

MISCOUNTED = "algorithm.pulls sums to another number than the rounds played: it must count every pull, each once"
REPORTED = ("pulls", "kinds")  # vectors of integers that are reported of every run


class Tally(NamedTuple):
    """What grows with the rounds of one run; a field that is not needed is None."""

    # The largest excess of a feedback over its range, above 0 if outside; NaN once one is NaN. float[]; of batches one
    # an entry of their sums, which spares a reduction a step.
    watch: Array
    total: Any = None  # float[2], regret (or feedback) so far and its rounding error (Kahan)
    pulls: Any = None  # int32[counted]
    always: Any = None  # float[2, num_arms], as total, of the regret of each arm if it were always pulled


class Recorder(NamedTuple):
    """Which of it is kept: all of it static."""

    measure: str | None  # "regret", "feedback", or None: runs that stop by themselves are not measured
    from_pulls: bool = False  # regret is pulls times gaps: nothing is accumulated
    counted: int | None = None  # pulls that are counted here, as the algorithm does not
    num_arms: int | None = None
    set_size: int | None = None
    hindsight: bool = False
    watches: bool = True  # False: no feedback can be at fault, or `keeper` shows it
    watched: tuple[int, ...] = ()  # shape of `watch`
    keeper: int | None = None  # leaf of the algorithm's state that is not finite, for ever, once a feedback is not

    def empty(self) -> Tally:
        """The tally before the first round."""
        return Tally(
            watch=jnp.zeros(self.watched),
            total=None if self.measure is None or self.from_pulls else jnp.zeros(2),
            pulls=None if self.counted is None else jnp.zeros(self.counted, jnp.int32),
            always=jnp.zeros((2, self.num_arms or 0)) if self.hindsight else None,
        )

    def after(self, environment: Environment, world: PyTree, tally: Tally, played: Played) -> Tally:
        """The tally after a round that met the state `world`."""
        watch = tally.watch
        if self.watches:
            watch = jnp.maximum(watch, fit.excess(environment.rewards, played.feedback))
        total, pulls, always = tally.total, tally.pulls, tally.always
        if total is not None:
            total = _added(total, played.feedback if played.regret is None else played.regret)
        if pulls is not None:
            pulls = pulls + self._pulled(played)
        if always is not None:
            always = _added(always, self._gaps(environment, world, played.context))
        return Tally(watch, total, pulls, always)

    def measured(
        self, algorithm: Algorithm, environment: Environment, world: PyTree, state: PyTree, tally: Tally
    ) -> tuple[Array, Array | None]:
        """Regret (or feedback) so far; and regret against the best fixed arm in hindsight where it is asked for."""
        if self.from_pulls:
            gaps, pulls = self._gaps(environment, world, None), algorithm.pulls
            assert pulls is not None
            value = jnp.sum(pulls(state).astype(gaps.dtype) * gaps)
        else:
            value = tally.total[0]
        return value, value - jnp.min(tally.always[0]) if self.hindsight else None

    def is_finite(self, state: PyTree, tally: Tally) -> Array:
        """Whether every feedback was, bool[]."""
        kept = tally.watch if self.keeper is None else jax.tree.leaves(state)[self.keeper]
        return jnp.isfinite(kept).all()

    def judged(self, result: dict[str, Array], state: PyTree, tally: Tally, played: Array | None) -> dict[str, Array]:
        """A report with what the tally says: the feedback's faults, and whether pulls are those of `played` rounds."""
        finite = self.is_finite(state, tally)
        outside = (tally.watch > 0).any()
        result = result | {"nonfinite": result["nonfinite"] | ~finite, "out_of_range": finite & outside}
        if tally.pulls is not None:
            result["pulls"] = tally.pulls
        if played is not None and "pulls" in result:
            total, sizes = jnp.sum(result["pulls"], dtype=played.dtype), {1, self.set_size or 1}
            result["miscounted"] = jnp.stack([total != size * played for size in sizes]).all()
        return result

    def _pulled(self, played: Played) -> Array:
        """One pull of the action, int32[counted]; of each member of a set."""
        if played.action.ndim == 1:
            return played.action.astype(jnp.int32)
        place = played.action if played.context is None else played.context * self.num_arms + played.action
        return (jnp.arange(self.counted, dtype=jnp.int32) == place).astype(jnp.int32)

    def _gaps(self, environment: Environment, world: PyTree, context: PyTree) -> Array:
        regret: Any = environment.regret
        return jax.vmap(lambda arm: regret(world, context, arm))(jnp.arange(self.num_arms or 0, dtype=jnp.int32))


def recorder_of(
    algorithm: Algorithm, environment: Environment, played: Played, pulls: Any, *, measures: bool, hindsight: bool
) -> Recorder:
    """Return the recorder of a pair; refuse in one line what it could not record.

    Args:
      algorithm: and environment: the pair.
      environment: see algorithm.
      played: shapes of what one round leaves.
      pulls: the shape of the algorithm's pulls, or None.
      measures: whether regret (or feedback) is asked for.
      hindsight: whether regret against the best fixed arm in hindsight is.
    """
    known, contextual = played.regret is not None, played.context is not None
    arms, action = environment.arms, played.action
    integral = hasattr(action, "dtype") and jnp.issubdtype(action.dtype, jnp.integer)
    single = integral and action.shape == ()
    if played.regret is not None and played.regret.shape:
        raise ContractError(f"environment.regret gives {_named(played.regret)}, must be one number, float[]")
    if measures and not known and getattr(played.feedback, "shape", None) != ():
        raise ContractError("environment.regret is None and the feedback is no number: there is nothing to record")
    if pulls is not None and (pulls.ndim != 1 or not jnp.issubdtype(pulls.dtype, jnp.integer)):
        raise ContractError(f"algorithm.pulls gives {_named(pulls)}, must be int32[num_arms]")
    from_pulls = measures and known and pulls is not None and not contextual and single and not environment.transition
    num_arms = arms.num_arms if arms else None
    counted = None
    if pulls is None and arms is not None and (single or arms.set_size) and (not contextual or arms.num_contexts):
        counted = arms.num_arms * ((arms.num_contexts if contextual else None) or 1)
    if hindsight and not (measures and known and single and num_arms is not None):
        raise ValueError(
            "simulate: hindsight = True, needs an environment that says its arms and its regret, and actions int32[]"
        )
    return Recorder(
        measure=None if not measures else "regret" if known else "feedback",
        from_pulls=from_pulls,
        counted=counted,
        num_arms=pulls.shape[0] if from_pulls and pulls is not None else num_arms,
        set_size=arms.set_size if arms else None,
        hindsight=hindsight,
    )


def has_nan(state: PyTree) -> Array:
    """Whether any number of the state is NaN, bool[]."""
    leaves = [x for x in jax.tree.leaves(state) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.stack([jnp.isnan(x).any() for x in leaves]).any() if leaves else jnp.zeros((), bool)


def report(algorithm: Algorithm, state: Any, recommended: PyTree) -> dict[str, Array]:
    """What a run leaves behind, read off its state."""
    result = {"nonfinite": has_nan(state)}
    if recommended is not None:
        result["recommendation"] = recommended
    if algorithm.pulls is not None:
        result["pulls"] = called("algorithm.pulls", algorithm.pulls, state)
    if algorithm.phases is not None:
        result["kinds"] = called("algorithm.phases.counts", algorithm.phases.counts, state)
    return result


def _added(total: Array, value: Array) -> Array:
    """A sum and its rounding error, float[2, ...], after one more number: Kahan's compensation."""
    addend = value - total[1]
    summed = total[0] + addend
    return jnp.stack([summed, (summed - total[0]) - addend])


def _named(x: Any) -> str:
    return f"{x.dtype}{list(x.shape)}"
