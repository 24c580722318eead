"""Squared deviations of the differences of pairs of arms, for races that compare rewards of one round."""

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.best_arm.racing import Look
from jaxbandit.types import Array

MOST_ARMS = 5000  # num_arms^2 numbers a run: 200 MB in float64


def few_arms(where: str, num_arms: int, instead: str) -> int:
    """Return num_arms; raise ValueError, in one line, unless it is an integer >= 2 whose pairs fit the memory."""
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    if num_arms > MOST_ARMS:
        raise ValueError(
            f"{where}: num_arms = {num_arms}, must be at most {MOST_ARMS}, since every pair of arms is kept; {instead} "
            "keeps an interval an arm"
        )
    return num_arms


def more_squares(squares: Array, look: Look) -> Array:
    """Sums of squared deviations of X_l - X_i from their mean, float[num_arms, num_arms], with one round more.

    Welford's update of a pair is (n - 1)/n (z_l - z_i)^2, where z is a reward less the arm's mean of the rounds before:
    nothing cancels, and rewards that all arms of a round share leave no trace.
    """
    apart = jnp.where(look.survivors, look.rewards - look.before, 0.0)
    return squares + (apart[:, None] - apart[None]) ** 2 * ((look.rounds - 1) / look.rounds)
