"""Pulls that are fixed in advance and whose rewards are drawn at once: what the two contracts say of such batches."""

from collections.abc import Callable
from typing import NamedTuple

from jaxbandit.support.types import Array, Key, PyTree


class SetPulls(NamedTuple):
    """A batch of pulls of sets of arms (super-arms), where the reward of a set is the sum over its members.

    If `sets` is None, the pulls are spread evenly over all sets of the environment's size, which are too many to list:
    the environment then returns sum_s r_s chi_s, float[num_arms], with the indicators chi_s of the sets.
    """

    sets: Array | None  # bool[num_sets, num_arms], or None for all sets
    counts: Array  # int[num_sets], the number of pulls of each set; int[1] if `sets` is None


class Batch(NamedTuple):
    """Pulls that an algorithm fixes in advance, so that the engine can draw all their rewards at once.

    Where the environment has a matching `BatchRewards`, the engine may use them instead of `select` and `update`.

    Attributes:
      plan: `(state) -> int[num_arms]`, the pulls of each arm until the stopping rule is next evaluated, with sum >= 1;
        or `(state) -> SetPulls`.
      absorb: `(state, pulls, sums) -> state`, where `sums` is float[num_arms], the sum of the rewards of each arm.
      squares: whether `absorb` takes the sums of squared rewards, float[num_arms], as a fourth argument.
    """

    plan: Callable[[PyTree], PyTree]
    absorb: Callable[..., PyTree]
    squares: bool = False


class BatchRewards(NamedTuple):
    """Sums of the rewards of a whole batch of pulls, drawn at once from their exact distribution.

    `sums(state, pulls, noise)` returns the sum of `pulls[a]` rewards of each arm a, float[num_arms]; for `SetPulls` it
    returns the sum of the rewards of each set, float[num_sets]. `squares(state, pulls, noise, sums)` returns the sums
    of the squared rewards given the sums of the rewards.
    """

    noise: Callable[[Key], PyTree]
    sums: Callable[[PyTree, PyTree, PyTree], Array]
    squares: Callable[[PyTree, PyTree, PyTree, Array], Array] | None = None
