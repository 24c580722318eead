"""Checks of what an environment declares about its instance: what is known of it, and what is true."""

import math
from collections.abc import Callable
from typing import NoReturn

import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Arms, Environment
from jaxbandit.support.types import Array, PyTree

SHARE = 1e-5  # rounding error of a mean or a gap, relative to the largest


def check_values(environment: Environment, fail: Callable[[str], NoReturn]) -> None:
    """Check the functions that are called outside of tracing, apart from costly ones; `fail` raises an error."""
    truth, schedule = environment.truth, environment.schedule
    for name, function in {"known": environment.known, "truth.parameters": truth.parameters}.items():
        answer: object = function()
        if not isinstance(answer, dict) or not all(isinstance(key, str) and key.isidentifier() for key in answer):
            fail(f"{name} returns {answer!r:.40}, must return a dict with names of an algorithm's arguments as keys")
    constants: dict[str, Callable[[], float]] = {}
    if truth.regret_constant is not None and not truth.costly:
        constants["truth.regret_constant"] = truth.regret_constant
    if schedule is not None and (of_segment := schedule.regret_constant) is not None:
        constants["schedule.regret_constant"] = lambda: of_segment(np.asarray(schedule.means, np.float64)[0])
    for name, function in constants.items():
        value = float(function())
        if math.isnan(value) or value < 0:
            fail(f"{name} returns {value:g}, must be a number >= 0, the factor of log(t)")


def wanted_shape(arms: Arms) -> tuple[int, ...]:
    """Return the shape that the declared means must have."""
    return (arms.num_arms,) if arms.num_contexts is None else (arms.num_contexts, arms.num_arms)


def mean_of(means: Array, context: PyTree, action: Array) -> Array:
    """Return the mean of an action, or the sum of the members' means if it is a set of arms, float[]."""
    own = means if means.ndim == 1 else means[context]
    return jnp.sum(jnp.where(action, own, 0.0)) if action.ndim else own[action]


def check_means(means: np.ndarray, gaps: np.ndarray, fail: Callable[[str], NoReturn]) -> None:
    """Check that the means of the actions differ by their gaps, both float[samples, actions].

    A gap that is not finite is that of an action which the context does not have.
    """
    real = np.isfinite(gaps)
    if not np.isfinite(means[real]).all():
        fail(f"a mean is {means[real][~np.isfinite(means[real])][0]}, must be finite for every arm that has a gap")
    best = np.where(real, means + gaps, -np.inf)  # the mean of the best action, the same for all actions of a round
    slack = SHARE * max(np.abs(means[real]).max(initial=0.0), np.abs(gaps[real]).max(initial=0.0))
    wrong = real & (best.max(1, keepdims=True) - best > slack)
    if wrong.any():
        sample, i = (int(index) for index in np.argwhere(wrong)[0])
        j = int(best[sample].argmax())
        both = [f"{means[sample, a]:g} with gap {gaps[sample, a]:g}" for a in (i, j)]
        fail(f"action {i} has mean {both[0]} and action {j} {both[1]}; correct truth.means or regret")
