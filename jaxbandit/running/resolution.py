"""Whether float32 can hold what an environment declares: the gaps between its means, and its rates.

An instance that float32 cannot hold is played in float64 if nobody asked for float32, and is refused in float32.
"""

import numpy as np

from jaxbandit.base.contract import Environment
from jaxbandit.running.truth import means_of_rows
from jaxbandit.support import checks

SHARE = 0.05  # by which share float32 may change a gap or a rate: less than the sampling error of most experiments
WORDS = 2.0**23  # uniform numbers of float32 are multiples of one over this


def precision_for(environment: Environment, precision: str | None, name: str, rounds: int) -> str:
    """Return the precision in which runs are played: as given, or the default for so many rounds on this instance.

    `name` is the argument that sets `rounds`. A ValueError is raised for float32 beyond 2^24 rounds, and for an
    instance whose gaps or rates float32 cannot hold.
    """
    chosen = checks.precision(precision, name, rounds)
    if chosen != "float32" or not (reason := beyond_float32(environment)):
        return chosen
    if precision is not None:
        raise ValueError(f'precision = "float32", must be "float64" for this environment: {reason}')
    return "float64"


def beyond_float32(environment: Environment) -> str:
    """Return what of an instance float32 cannot hold, in words, or "" if there is nothing or it is not known."""
    if not isinstance(environment, Environment):
        return ""  # the engine says what it is
    rates = _rates(environment)
    if rates is not None:
        inside = rates[(rates > 0) & (rates < 1)]
        lost = inside[np.abs(_played_rates(inside) - inside) > SHARE * np.minimum(inside, 1 - inside)]
        if lost.size:
            return f"a probability is {lost[0]:.10g}, and random numbers of float32 are multiples of 2^-23"
    for means in means_of_rows(environment):
        means = means[np.isfinite(means)]
        versions = [_rounded(means)]
        versions += [_played_rates(means)] if rates is not None and np.array_equal(rates.ravel(), means) else []
        best = means.max(initial=-np.inf)
        for played in versions:
            if not np.isfinite(played).all():
                return f"a mean is {means[~np.isfinite(played)][0]!s}, beyond the largest number of float32"
            gaps, held = best - means, played.max(initial=-np.inf) - played
            lost = np.flatnonzero(np.abs(held - gaps) > SHARE * gaps)
            if lost.size:
                near = means[lost[0]]
                return f"means of {near!s} and {best!s} differ by {gaps[lost[0]]:.3g}, which float32 cannot hold"
    return ""


def _rounded(numbers: np.ndarray) -> np.ndarray:
    """Return numbers as float32 holds them, float64."""
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


def _played_rates(rates: np.ndarray) -> np.ndarray:
    """Return with which probability a uniform number of float32 is below each rate."""
    return np.ceil(_rounded(rates) * WORDS) / WORDS


def _rates(environment: Environment) -> np.ndarray | None:
    """Return the probabilities of events as declared, or those of rewards 0 and 1, or -1 and 1; None if unknown."""
    family = None if environment.rewards is None else environment.rewards.family
    if environment.truth.rates is not None:
        return np.asarray(environment.truth.rates(), np.float64)
    if family not in ("bernoulli", "sign"):
        return None
    rows = means_of_rows(environment)
    if not rows:
        return None
    means = np.concatenate([np.ravel(row) for row in rows])
    return means if family == "bernoulli" else (1 + means) / 2
