"""What an environment declares to be true of its instance, as plain numbers for results, tables and figures."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxbandit.base.contract import Environment
from jaxbandit.support import checks


def truth_of(environment: Environment, *, stops: bool = False, costly: bool = False) -> dict[str, Any]:
    """Return the true means and the theoretical constants of an instance that are the same in all runs.

    These are `means` in the order of the arms, or `sorted_means` if each run has its own order; `prior`, the names of
    the arguments that each run draws; `candidates`, the means of candidates, one of which is recommended in place of an
    arm, empty if they are unknown; for a fixed horizon (not `stops`) also `dim` and `regret_constant`, which may take
    seconds (`costly`), and for means that change `moves` and `schedule`. What is not declared, or differs between runs,
    is left out.
    """
    declared, means = environment.truth, _shared_means(environment)
    ordered = sorted_means_of(environment) if means is None else None
    truth: dict[str, Any] = {"means": means.tolist() if means is not None and means.ndim == 1 else None}
    truth |= {"sorted_means": ordered, "prior": None if declared.prior is None else list(declared.prior.names)}
    truth["candidates"] = candidates_of(environment)
    if not stops:
        known = (costly or not declared.costly) and _holds(environment, means, ordered)
        constant = _number(declared.regret_constant) if known else None
        truth |= {"dim": declared.dim, "regret_constant": constant} | clock_of(environment)
    return {key: value for key, value in truth.items() if value is not None}


def means_of(environment: Environment) -> list[float] | None:
    """Return the true means in the order of the arms; None if undeclared, or if they change or differ between runs."""
    means = _shared_means(environment)
    return None if means is None or means.ndim != 1 else means.tolist()


def candidates_of(environment: Environment) -> list[float] | None:
    """Return the true means of the candidates, one of which is recommended, [] if unknown; None if arms are."""
    if environment.arms is None or environment.arms.num_candidates is None:
        return None
    means = environment.truth.candidates
    return [] if means is None else np.asarray(means(), np.float64).tolist()


def sorted_means_of(environment: Environment) -> list[float] | None:
    """Return the means in decreasing order if runs differ only in the order of the arms, judged by three keys."""
    import jax

    from jaxbandit.support.numerics import lapack_lock

    if environment.truth.means is None or environment.truth.prior or environment.transition is not None:
        return None
    with lapack_lock(), jax.enable_x64(True):
        drawn = [environment.truth.means(environment.init(jax.random.key(i))) for i in range(3)]
        means = [np.sort(np.asarray(mean, np.float64))[::-1] for mean in drawn]
    same = means[0].ndim == 1 and all(np.array_equal(means[0], mean) for mean in means)
    return means[0].tolist() if same else None


def means_of_rows(environment: Environment) -> list[np.ndarray]:
    """Return the declared means that are the same in all runs, up to the order of the arms, by segment or context."""
    schedule = environment.schedule
    if schedule is not None:
        return [] if checks.is_traced(schedule.means) else list(np.asarray(schedule.means, np.float64))
    means = _shared_means(environment)
    if means is not None:
        return list(np.atleast_2d(means))
    ordered = sorted_means_of(environment)
    return [] if ordered is None else [np.asarray(ordered)]


def characteristic_time_of(environment: Environment) -> float | None:
    """Return T*, of which a lower bound is certified; None if it is not declared or two arms are best."""
    means = _shared_means(environment)
    if not _holds(environment, means, sorted_means_of(environment) if means is None else None):
        return None
    time = _number(environment.truth.characteristic_time)
    return time if time is not None and np.isfinite(time) else None


def clock_of(environment: Environment) -> dict[str, Any]:
    """Return whether the environment changes over time, and its schedule of means with their regret constants."""
    arms = environment.arms
    contextual = arms is not None and (arms.context is not None or arms.available)
    if environment.transition is None or contextual:
        return {}
    schedule = environment.schedule
    if schedule is None or checks.is_traced(schedule.means):
        return {"moves": True}
    means = np.asarray(schedule.means, np.float64)
    facts: dict[str, Any] = {"starts": list(schedule.starts), "means": means.tolist()}
    if schedule.regret_constant is not None and means.shape[1] > 1:
        facts["regret_constants"] = [float(schedule.regret_constant(row)) for row in means]
    return {"moves": True, "schedule": facts}


def _holds(environment: Environment, means: Any, ordered: Any) -> bool:
    """Return whether the declared constants hold in every run, given the means or ordered means that all runs share."""
    declared = environment.truth.means is not None
    return environment.transition is None and not (declared and means is None and ordered is None)


def _number(constant: Callable[[], float] | None) -> float | None:
    from jaxbandit.support.numerics import lapack_lock

    with lapack_lock():
        return None if constant is None else float(constant())


def _shared_means(environment: Environment) -> np.ndarray | None:
    """Return the declared means in float64 if they are the same in all runs, with the arms in the same order."""
    from jaxbandit.engine.layout.compiled import Same

    return _means_of_object(Same(environment))


@functools.lru_cache(maxsize=8)  # because every value of a sweep asks for those of the same object
def _means_of_object(same: Any) -> np.ndarray | None:
    import jax

    from jaxbandit.engine.layout.batching import varying_outputs
    from jaxbandit.support.numerics import lapack_lock

    environment: Environment = same.value
    if environment.truth.means is None or environment.truth.prior or environment.transition is not None:
        return None
    declared = environment.truth.means
    with lapack_lock(), jax.enable_x64(True):  # so that 0.1 is stored as 0.1
        key = jax.random.wrap_key_data(jax.numpy.zeros(2, "uint32"))  # random.key(0), which takes longer
        if varying_outputs(lambda key: declared(environment.init(key)), (key,), (True,)):
            return None
        return np.asarray(declared(environment.init(key)), np.float64)
