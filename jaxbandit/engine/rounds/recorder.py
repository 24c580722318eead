"""What is recorded of a run besides the states: regret, metrics, invalid feedback, and pulls if nobody counts them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm, Environment, Offer
from jaxbandit.engine.rounds import actions, fit
from jaxbandit.engine.rounds.metrics import Carries, Metrics, checkpoint_of
from jaxbandit.engine.rounds.step import ContractError, Played, called
from jaxbandit.support.numerics import kahan_pair
from jaxbandit.support.types import Array, PyTree

MISCOUNTED = "algorithm.pulls does not sum to the number of rounds played: it must count every pull exactly once"
REPORTED = ("pulls", "kinds")  # vectors of integers that are reported for every run


class Tally(NamedTuple):
    """Quantities accumulated over the rounds of one run; a field that is not needed is None."""

    # The largest excess of the feedback over its range, which is above 0 if any was outside, and NaN if any was NaN.
    # float[]; with batches it has the shape of their sums, which saves a reduction per step.
    watch: Array
    total: PyTree = None  # float[2], cumulative regret (or feedback) and its rounding error (Kahan summation)
    pulls: Array | None = None  # int32[counted]
    always: PyTree = None  # float[2, num_arms], as `total`, but the regret of always pulling each arm
    # int32[], rounds so far; as a negative number once a round had no arm available, or one was pulled that was not
    unavailable: Array | None = None
    metrics: Carries | None = None
    lasted: Array | None = None  # int32[], rounds before the run was over, if the environment says when it is


class Measured(NamedTuple):
    """What is recorded of one run at a checkpoint."""

    regret: Array | None  # float[], cumulative, or the feedback if regret is not defined; None if neither is recorded
    hindsight: Array | None  # float[], the regret against the best fixed arm in hindsight, if it is recorded
    metrics: tuple[Array, ...]  # float[] each


class Recorder(NamedTuple):
    """Which quantities are recorded; all fields are static."""

    # "regret", "feedback", or None, because runs with a stopping rule are not measured, or only by metrics
    measure: str | None
    from_pulls: bool = False  # regret is the sum of pulls times gaps, so nothing is accumulated
    counted: int | None = None  # number of pull counts kept here, if the algorithm does not count pulls
    num_arms: int | None = None
    sizes: tuple[int, ...] = (1,)  # numbers of pulls that a round may count; () if nothing is known of them
    joint: bool = False  # whether an action is a vector of arms, each of which is pulled
    indexed: bool = False  # whether the context is the index of an action set, so that pulls are counted for each set
    offers: bool = False  # whether the context says which arms are available
    ends: bool = False  # whether a run may be over before the horizon
    hindsight: bool = False
    watches: bool = True  # whether feedback is checked; False if it is always valid, or if `keeper` reveals faults
    watched: tuple[int, ...] = ()  # shape of `watch`
    keeper: int | None = None  # index of a leaf of the state that stays non-finite once any feedback is non-finite
    metrics: Metrics = Metrics()

    def empty(self) -> Tally:
        """The tally before the first round."""
        return Tally(
            watch=jnp.zeros(self.watched),
            total=None if self.measure is None or self.from_pulls else jnp.zeros(2),
            pulls=None if self.counted is None else jnp.zeros(self.counted, jnp.int32),
            always=jnp.zeros((2, self.num_arms or 0)) if self.hindsight else None,
            unavailable=jnp.zeros((), jnp.int32) if self.offers else None,
            metrics=self.metrics.empty(),
            lasted=jnp.zeros((), jnp.int32) if self.ends else None,
        )

    def after(self, environment: Environment, world: PyTree, state: PyTree, tally: Tally, played: Played) -> Tally:
        """The tally after a round that was played in these states of the environment and the algorithm."""
        watch = tally.watch
        if self.watches:
            watch = jnp.maximum(watch, fit.excess(environment.rewards, played.feedback))
        unavailable = tally.unavailable
        if unavailable is not None:
            unavailable = _continued(unavailable, _is_available(played.context, played.action))
        total, pulls, always, metrics = tally.total, tally.pulls, tally.always, tally.metrics
        if total is not None:
            total = kahan_pair(total, played.feedback if played.regret is None else played.regret)
        if pulls is not None:
            pulls = pulls + self._pulled(played)
        if always is not None:
            always = kahan_pair(always, self._gaps(environment, world, played.context))
        if metrics is not None:
            metrics = self.metrics.after(metrics, state, world, played)
        lasted = None if tally.lasted is None else tally.lasted + 1
        return Tally(watch, total, pulls, always, unavailable, metrics, lasted)

    def measured(
        self, algorithm: Algorithm, environment: Environment, world: PyTree, state: PyTree, tally: Tally
    ) -> Measured:
        """What is recorded at a checkpoint."""
        metrics = self.metrics.values(tally.metrics, lambda: checkpoint_of(algorithm, environment, world, state))
        if self.measure is None:
            return Measured(None, None, metrics)
        if self.from_pulls:
            gaps, pulls = self._gaps(environment, world, None), algorithm.pulls
            assert pulls is not None
            value = jnp.sum(pulls(state).astype(gaps.dtype) * gaps)
        else:
            value = tally.total[0]
        return Measured(value, value - jnp.min(tally.always[0]) if self.hindsight else None, metrics)

    def is_finite(self, state: PyTree, tally: Tally) -> Array:
        """Whether every feedback so far was finite, bool[]."""
        values = tally.watch if self.keeper is None else jax.tree.leaves(state)[self.keeper]
        return jnp.isfinite(values).all()

    def judged(self, result: dict[str, Array], state: PyTree, tally: Tally, played: Array | None) -> dict[str, Array]:
        """Add to a report whether feedback was invalid, and whether the pulls sum to the number of rounds played."""
        finite = self.is_finite(state, tally)
        outside = (tally.watch > 0).any()
        result = result | {"nonfinite": result["nonfinite"] | ~finite, "out_of_range": finite & outside}
        if tally.unavailable is not None:
            result["unavailable"] = jnp.maximum(-tally.unavailable, 0)
            result["nonfinite"] |= tally.unavailable < 0
        if tally.pulls is not None:
            result["pulls"] = tally.pulls
        if played is not None and tally.lasted is not None:
            played = tally.lasted
        if played is not None and self.sizes and "pulls" in result:
            total = jnp.sum(result["pulls"], dtype=played.dtype)
            result["miscounted"] = jnp.stack([total != size * played for size in set(self.sizes)]).all()
        return result

    def _pulled(self, played: Played) -> Array:
        """How often a round pulls each arm, int32[counted]: every member of a set and entry of a list counts."""
        if played.action.ndim == 1 and not self.joint:
            return played.action.astype(jnp.int32)
        place = played.context * self.num_arms + played.action if self.indexed else played.action
        if self.joint:
            return jnp.sum(jnp.arange(self.counted, dtype=jnp.int32)[:, None] == place[None], 1, dtype=jnp.int32)
        return (jnp.arange(self.counted, dtype=jnp.int32) == place).astype(jnp.int32)

    def _gaps(self, environment: Environment, world: PyTree, context: PyTree) -> Array:
        regret: Any = environment.regret
        return jax.vmap(lambda arm: regret(world, context, arm))(jnp.arange(self.num_arms or 0, dtype=jnp.int32))


def recorder_of(
    algorithm: Algorithm,
    environment: Environment,
    played: Played,
    pulls: jax.ShapeDtypeStruct | None,
    *,
    measures: bool,
    hindsight: bool,
    metrics: Metrics,
) -> Recorder:
    """Return the recorder of an algorithm and an environment; raise a one-line error if nothing can be recorded."""
    known, contextual = played.regret is not None, played.context is not None
    arms, action = environment.arms, played.action
    integral = hasattr(action, "dtype") and jnp.issubdtype(action.dtype, jnp.integer)
    single = integral and action.shape == ()
    if played.regret is not None and played.regret.shape:
        raise ContractError(f"environment.regret returns {_named(played.regret)}, must return one number, float[]")
    measure = None if not measures else "regret" if known else "feedback"
    if measure == "feedback" and getattr(played.feedback, "shape", None) != ():
        if not metrics.names:
            raise ContractError(
                "environment.regret is None and the feedback is not a number: there is nothing to record; give metrics"
            )
        measure = None
    if pulls is not None and (pulls.ndim != 1 or not jnp.issubdtype(pulls.dtype, jnp.integer)):
        raise ContractError(f"algorithm.pulls returns {_named(pulls)}, must return int32[num_arms]")
    from_pulls = measures and known and pulls is not None and not contextual and single and not environment.transition
    num_arms = arms.num_arms if arms else None
    counted = None
    joint = actions.is_list(arms)
    if pulls is None and arms is not None and arms.num_arms > 0 and (single or joint or arms.set_size):
        counted = arms.num_arms * (arms.num_contexts or 1)
    if hindsight and not (measures and known and single and num_arms is not None):
        raise ValueError(
            "simulate: hindsight = True, must have an environment with arms and regret, and actions that are int32[]"
        )
    return Recorder(
        measure=measure,
        from_pulls=from_pulls,
        counted=counted,
        num_arms=pulls.shape[0] if from_pulls and pulls is not None else num_arms,
        sizes=actions.pulls_of_a_round(arms or algorithm.arms),
        joint=joint,
        indexed=contextual and arms is not None and arms.num_contexts is not None,
        offers=isinstance(played.context, Offer)
        and hasattr(action, "dtype")
        and not jnp.issubdtype(action.dtype, jnp.floating),
        ends=environment.over is not None,
        hindsight=hindsight,
        metrics=metrics,
    )


def has_nan(state: PyTree) -> Array:
    """Whether any number of the state is NaN, bool[]."""
    leaves = [x for x in jax.tree.leaves(state) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.stack([jnp.isnan(x).any() for x in leaves]).any() if leaves else jnp.zeros((), bool)


def report(algorithm: Algorithm, state: PyTree, recommended: PyTree) -> dict[str, Array]:
    """The results of a run that are computed from its state."""
    result = {"nonfinite": has_nan(state)}
    if recommended is not None:
        result["recommendation"] = recommended
    if algorithm.pulls is not None:
        result["pulls"] = called("algorithm.pulls", algorithm.pulls, state)
    if algorithm.phases is not None:
        result["kinds"] = called("algorithm.phases.counts", algorithm.phases.counts, state)
    return result


def _is_available(offer: Offer, action: Array) -> Array:
    """Whether every arm of an action is available, bool[]."""
    if action.dtype == bool:
        return jnp.all(offer.available | ~action)
    return jnp.all(offer.available[action])


def _continued(rounds: Array, right: Array) -> Array:
    """The number of rounds, int32[], that becomes negative in the first round that is not right, and stays so."""
    return jnp.where(rounds < 0, rounds, jnp.where(right, rounds + 1, -rounds - 1))


def _named(x: Any) -> str:
    return f"{x.dtype}{list(x.shape)}"
