"""Ground truth of an instance for tables, figures and scoring, and warnings about wrongly informed algorithms."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.contract import Environment
from jaxbandit.lab.specs.registry import ENVIRONMENTS, Entry
from jaxbandit.lab.specs.spec import Cell, Experiment, InstanceSpec
from jaxbandit.running.promises import guarantee_of

MOST_NUMBERS = 1000  # largest number of feature entries for which the regret constant is computed within seconds
TIE = 1e-12  # means that differ by less, relative to the largest mean, are tied, as in the environments


def means_of(environment: Environment) -> list[float] | None:
    """Return the true means of the arms if the environment's state has a field `means` of one axis.

    Returns None if `init` draws the means, so that each run has its own, and if the environment changes over time.
    """
    import jax

    from jaxbandit.base.numerics import lapack_lock
    from jaxbandit.engine.layout.batching import varying_outputs

    with lapack_lock(), jax.enable_x64(True):  # so that 0.1 is stored as 0.1
        key = jax.random.key(0)
        means = getattr(jax.eval_shape(environment.init, key), "means", None)
        if means is None or len(means.shape) != 1 or environment.transition is not None:
            return None
        if varying_outputs(lambda key: environment.init(key).means, (key,), (True,)):
            return None
        return np.asarray(environment.init(key).means, np.float64).tolist()


def given_means_of(instance: InstanceSpec) -> list[float] | None:
    """Return `means_of` an instance in the order of its arguments, even if each run permutes the arms."""
    return means_of(instance.entry.build({k: v for k, v in instance.arguments.items() if k != "permute"}))


def sorted_means_of(environment: Environment) -> list[float] | None:
    """Return the means in decreasing order if runs differ only in the order of the arms, judged by three keys."""
    import jax

    from jaxbandit.base.numerics import lapack_lock

    if environment.transition is not None:
        return None
    with lapack_lock(), jax.enable_x64(True):
        drawn = [getattr(environment.init(jax.random.key(i)), "means", None) for i in range(3)]
        means = [np.sort(np.asarray(mean, np.float64))[::-1] for mean in drawn if mean is not None]
    same = len(means) == len(drawn) and means[0].ndim == 1 and all(np.array_equal(means[0], mean) for mean in means)
    return means[0].tolist() if same else None


def regret_constant_of(environment: Environment, means: Sequence[float] | None) -> float | None:
    """Return the constant of the asymptotic lower bound on regret, or None if the environment's family has none."""
    entry, rewards = ENVIRONMENTS.get(environment.name), environment.rewards
    if means is None or entry is None or entry.regret_constant is None or rewards is None:
        return None
    if rewards.family is None or not entry.regret_constant.startswith(rewards.family):
        return None
    from jaxbandit.theory.bounds import regret

    sigma = {} if rewards.family != "gaussian" else {"sigma": np.asarray(rewards.sigma, np.float64)}
    return float(getattr(regret, entry.regret_constant)(np.asarray(means), **sigma))


def clock_of(environment: Environment) -> dict[str, Any]:
    """Return whether the environment changes over time, and its schedule of means with their regret constants."""
    if environment.transition is None:
        return {}
    schedule, rewards = environment.schedule, environment.rewards
    if schedule is None or checks.is_traced(schedule.means):
        return {"moves": True}
    means = np.asarray(schedule.means, np.float64)
    told: dict[str, Any] = {"starts": list(schedule.starts), "means": means.tolist()}
    if rewards is not None and rewards.family in ("bernoulli", "gaussian") and means.shape[1] > 1:
        from jaxbandit.theory.bounds import regret

        sigma = {} if rewards.family == "bernoulli" else {"sigma": np.asarray(rewards.sigma, np.float64)}
        constant = getattr(regret, f"{rewards.family}_regret_constant")
        told["regret_constants"] = [float(constant(row, **sigma)) for row in means]
    return {"moves": True, "schedule": told}


def truth_of(instance: InstanceSpec, kind: str, *, best_arm: bool = False) -> dict[str, Any]:
    """Return the means of the arms and the theoretical constants of the instance.

    If each run permutes the arms, the means are left out, but the constants that do not depend on the order are
    included. For a fixed horizon these are the constant of the lower bound on regret and, for arms with features, their
    dimension, on which the worst-case regret depends. For runs that stop it is the characteristic time T* if
    `best_arm`. The numeric arguments of the instance are included as well, so that a figure can use one as its x axis.
    """
    environment = instance.build()
    means = means_of(environment)
    truth: dict[str, Any] = {} if means is None else {"means": means}
    if means is None and (found := sorted_means_of(environment)) is not None:
        truth["sorted_means"] = found
        # In the order of the arguments, because other arguments, such as sigma, are given in that order.
        means = given_means_of(instance) if instance.arguments.get("permute") else None
    if kind == "identify":
        numbers = {k: v for k, v in instance.arguments.items() if isinstance(v, int | float)}
        truth["arguments"] = {k: v for k, v in numbers.items() if not isinstance(v, bool)}
        time = characteristic_time(instance, means) if best_arm else None
        return truth | ({} if time is None else {"characteristic_time": time})
    constant = regret_constant_of(environment, means)
    truth |= ({} if constant is None else {"regret_constant": constant}) | clock_of(environment)
    return truth | _of_features(instance)


def _of_features(instance: InstanceSpec) -> dict[str, Any]:
    """Return the dimension of the features, and the regret constant if theta is fixed and the noise Gaussian."""
    known = instance.known
    if "features" not in known:
        return {}
    dim = {"dim": int(np.shape(known["features"])[-1])}
    gaussian = instance.entry.gaussian and instance.arguments.get("noise", "gaussian") == "gaussian"
    if "theta" not in known or not gaussian or np.size(known["features"]) > MOST_NUMBERS:
        return dim
    from jaxbandit.base.numerics import lapack_lock
    from jaxbandit.theory.bounds.linear_regret import linear_regret_constant

    with lapack_lock():
        found = float(linear_regret_constant(known["features"], known["theta"], mask=known.get("mask")).bound)
    return dim | {"regret_constant": found * float(known["sigma"]) ** 2}


def guarantee(cell: Cell) -> dict[str, Any]:
    """Return the guarantee of a cell's algorithm as numbers."""
    return dict(_guarantee(cell.algorithm.entry, tuple(cell.arguments.items())))


@functools.lru_cache(maxsize=256)  # calling a factory may be expensive
def _guarantee(entry: Entry, given: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    from jaxbandit.base.numerics import lapack_lock

    with lapack_lock():
        return guarantee_of(entry.build(dict(given)))


def seeks_best_arm(cell: Cell) -> bool:
    """Return whether a cell's algorithm guarantees the single best arm, so that T* is a lower bound on its samples."""
    promised = guarantee(cell)
    return promised.get("m") == 1 and promised["epsilon"] == 0


def characteristic_time(instance: InstanceSpec, means: Any) -> float | None:
    """Return a certified lower bound on T* for the best arm; None if two arms are best or T* is not available.

    T* is available for arms with features and Gaussian noise, and for unrelated arms of a one-parameter family.
    """
    from jaxbandit.base.numerics import lapack_lock

    if means is None or len(means) < 2:
        return None
    with lapack_lock():
        time = _of_linear_arms(instance, means) if "features" in instance.known else _of_arms(instance, means)
    return time if np.isfinite(time) else None


def _of_linear_arms(instance: InstanceSpec, means: Any) -> float:
    import jax

    from jaxbandit.theory.solvers.best_arm import best_arm_design

    known = instance.known
    if not instance.entry.gaussian or instance.arguments.get("noise", "gaussian") != "gaussian":
        return float("nan")
    with jax.enable_x64(True):
        features = np.asarray(known["features"])
        return float(jax.jit(best_arm_design)(features, np.asarray(means), sigma=known["sigma"]).bound)


def _of_arms(instance: InstanceSpec, means: Any) -> float:
    from jaxbandit.theory.bounds import best_arm
    from jaxbandit.theory.solvers.families import FAMILIES

    environment = instance.build()
    arms, rewards = environment.arms, environment.rewards
    if rewards is None or rewards.family not in FAMILIES or arms is None or arms.set_size or arms.num_contexts:
        return float("nan")
    sigma = {"sigma": rewards.sigma} if rewards.family == "gaussian" else {}
    return best_arm.characteristic_time(means, family=rewards.family, **sigma)


def cautions(cell: Cell, means: Sequence[float] | None) -> list[str]:
    """Return warnings, one line each, that an algorithm's guarantee may fail on this instance or it may never stop."""
    told, known = cell.arguments, cell.instance.known
    where = f"{cell.instance.name}/{cell.algorithm.name}: "
    if cell.instance.build().transition is not None:
        return [f"{where}the means change from round to round, so no arm is the best one and nothing is guaranteed"]
    lines = []
    for name, what in (("theta_norm", "the norm of theta"), ("sigma", "the noise")):
        if name in told and name in known and told[name] < known[name] * (1 - TIE):
            lines.append(
                f"{where}{name} = {told[name]:g}, but {what} of the instance is {known[name]:g}; delta is guaranteed "
                f"only for {name} >= {known[name]:g}"
            )
    promised = guarantee(cell)
    if means is not None and promised["epsilon"] == 0 and (m := promised.get("m", len(means))) < len(means):
        ordered = np.sort(means)[::-1]
        near = TIE * np.abs(ordered).max()
        tied = np.abs(means - ordered[m]) <= near
        # The algorithm knows that arms with equal features have equal means, so that any of them is correct.
        alike = "features" in told and len(np.unique(np.asarray(told["features"])[tied], axis=0)) == 1
        if ordered[m - 1] - ordered[m] <= near and not alike:
            lines.append(
                f"{where}epsilon = 0, but the arms of rank {m} and {m + 1} are tied at {ordered[m]:g}, so that no rule "
                "with a guarantee stops; give epsilon > 0 or a small max_rounds"
            )
    return lines


def warnings_of(experiment: Experiment) -> list[str]:
    """Return the warnings of all cells of an experiment, each line once."""
    if experiment.kind != "identify":
        return []
    means = {i.name: given_means_of(i) for i in experiment.instances}
    lines = [line for cell in experiment.cells() for line in cautions(cell, means[cell.instance.name])]
    return list(dict.fromkeys(lines))
