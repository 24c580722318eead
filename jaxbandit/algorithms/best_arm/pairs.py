"""Squared deviations of the differences between pairs of arms, for races that compare the rewards of one round."""

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.racing import Look
from jaxbandit.base import checks
from jaxbandit.base.types import Array

MOST_ARMS = 5000  # num_arms^2 numbers per run, which are 200 MB in float64


def few_arms(where: str, num_arms: int, instead: str) -> int:
    """Return num_arms; raise ValueError unless it is an integer >= 2 whose pairs fit into memory."""
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    if num_arms > MOST_ARMS:
        raise ValueError(
            f"{where}: num_arms = {num_arms}, must be at most {MOST_ARMS}, because all pairs of arms are "
            f"kept; {instead} keeps one interval per arm"
        )
    return num_arms


def more_squares(squares: Array, look: Look) -> Array:
    """Return the sums of squared deviations of X_l - X_i, float[num_arms, num_arms], after one more round.
    Welford's update for a pair is (n - 1)/n (z_l - z_i)^2, where z is a reward minus the arm's mean over the earlier
    rounds. There is no cancellation, and a term that all arms share in a round has no effect.
    """
    apart = jnp.where(look.survivors, look.rewards - look.before, 0.0)
    return squares + (apart[:, None] - apart[None]) ** 2 * ((look.rounds - 1) / look.rounds)
