"""The super-arms that static full-bandit algorithms pull, and how often, as a period of whole pulls that is repeated.

With p_M = c_M / N for integers c_M, the order of Kuroki et al. (2019), M_t = argmin T_M / p_M with ties to the lowest
index, repeats after N pulls, and after each period A_t = t Lambda_p exactly. Everything here is NumPy on concrete
arguments.
"""

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

import numpy as np

from jaxbandit.base.parameters import Arg
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.types import ArrayLike

LISTED = 5000  # up to this number of super-arms, "all" lists the sets; beyond, the closed form of Lambda is used
FINENESS = 20  # average number of pulls per super-arm in a period, for designs that must be rounded to whole pulls

SupportKind = Annotated[
    Literal["random", "all", "given"],
    Arg(
        meaning='super-arms that are pulled: "random" draws `num_sets` of them from `support_seed`, the first n '
        'linearly independent; "all" uses every set of k, which beyond 5000 are not listed, so that A_t is taken to be '
        't Lambda; "given" uses `sets`. Stopping times vary up to fifty-fold with the support'
    ),
]
AllocationKind = Annotated[
    Literal["uniform", "g", "given"],
    Arg(
        meaning='fractions of the pulls of the super-arms: "uniform"; "g" for the G-optimal design on the support, '
        'rounded to whole pulls; or "given" for `weights`'
    ),
]
NumSets = Annotated[
    int,
    Arg(
        integer(1),
        "number of sets of a random support; None means 2 n, or all if there are fewer",
        within="an integer in [n, K], where K is the number of sets of k",
    ),
]
SupportSeed = Annotated[int, Arg(integer(0), "number of the random support")]
Sets = Annotated[
    ArrayLike, Arg(meaning="concrete [m, n] of 0 and 1 with k ones per row, for a given support, which spans all arms")
]
Weights = Annotated[
    ArrayLike, Arg(meaning="concrete float[m] >= 0. Whole numbers are used as the numbers of pulls in a period")
]


class SuperArms(NamedTuple):
    """A support with its allocation."""

    num_arms: int
    k: int
    sets: np.ndarray | None  # bool[m, n]; None means all sets of k equally often, without listing them
    counts: np.ndarray  # int32[m], pulls of each set in a period; [1] if sets is None
    order: np.ndarray  # int32[period], the set that is pulled in each round of a period
    inverse: np.ndarray  # float64[n, n], the inverse of Lambda, the mean of chi chi' over a period
    first: int  # number of rounds after which the least-squares estimate exists

    @property
    def period(self) -> int:
        """Number of pulls in a period."""
        return len(self.order)


def super_arms(
    num_arms: int,
    k: int,
    *,
    support: SupportKind = "random",
    num_sets: int | None = None,
    support_seed: int = 0,
    sets: ArrayLike | None = None,
    allocation: AllocationKind = "uniform",
    weights: ArrayLike | None = None,
) -> SuperArms:
    """Validate the arguments and return the support and the allocation.

    Args:
      support: "random" draws num_sets different sets from support_seed, the first n linearly independent. "all" uses
        every set of k; beyond LISTED of them they are not listed, and A_t is taken to be t Lambda. "given" uses `sets`.
      num_sets: number of sets of a random support, in [n, K]; None means 2 n, or K if that is smaller.
      support_seed: number of the random support, >= 0.
      sets: [m, n] of 0 and 1 with k ones per row, different rows and rank n; for "given" only.
      allocation: "uniform"; "g" for the G-optimal design on the support, rounded to a period of FINENESS pulls per set;
        or "given" for `weights`.
      weights: float[m] >= 0 for the sets of the support; for "given" only. Whole numbers are used as the numbers of
        pulls in a period; others are rounded as for "g". Sets with weight 0 are left out.
    """
    for name, value, choice in (("sets", sets, support), ("weights", weights, allocation)):
        if (value is not None) != (choice == "given"):
            what = "support" if name == "sets" else "allocation"
            verb = "needs" if value is None else "has"
            raise ValueError(f'{name} {verb} {what} = "given", got {what} = {choice!r}')
    total = math.comb(num_arms, k)
    if support == "given":
        chosen = _given(sets, num_arms, k)
    elif support == "all":
        if total > LISTED:
            if allocation != "uniform":
                raise ValueError(
                    f'allocation = {allocation!r}, must be "uniform" on all {total} super-arms: more than '
                    f"{LISTED} are not listed"
                )
            return _unlisted(num_arms, k)
        chosen = _all(num_arms, k)
    else:
        size = min(2 * num_arms, total) if num_sets is None else num_sets
        size = checks.take("num_sets", size, integer(num_arms, total))
        chosen = _random(num_arms, k, size, support_seed)
    _spanning(chosen)
    counts = _counts(chosen, allocation, weights)
    chosen, counts = chosen[counts > 0], counts[counts > 0]
    _spanning(chosen)
    x = chosen.astype(np.float64)
    inverse = np.linalg.inv((x * counts[:, None]).T @ x / counts.sum())
    return SuperArms(
        num_arms, k, chosen, counts.astype(np.int32), _order(counts), (inverse + inverse.T) / 2, int(counts.sum())
    )


def uniform_inverse(num_arms: int, k: int) -> np.ndarray:
    """Return the inverse of Lambda, the mean of chi chi' over all sets of k: (I - b / (a + n b) J) / a."""
    both = k * (k - 1) / (num_arms * (num_arms - 1))
    single = k / num_arms - both
    return (np.eye(num_arms) - both / (single + num_arms * both)) / single


def _unlisted(num_arms: int, k: int) -> SuperArms:
    one = np.ones(1, np.int32)
    return SuperArms(num_arms, k, None, one, one - 1, uniform_inverse(num_arms, k), num_arms)


def _given(sets: ArrayLike | None, num_arms: int, k: int) -> np.ndarray:
    rows = checks.take("sets", sets, checks.arrays(ndim=2))
    if rows.shape[1] != num_arms:
        raise ValueError(f"sets has {rows.shape[1]} columns, must have {num_arms}, one per arm")
    odd = np.flatnonzero(((rows != 0) & (rows != 1)).any(1) | (rows.sum(1) != k))
    if odd.size:
        raise ValueError(f"sets[{odd[0]}] is not a super-arm, must contain 0 and 1 with {k} ones")
    chosen = rows == 1
    if len(np.unique(chosen, axis=0)) < len(chosen):
        raise ValueError("sets contains a super-arm twice, must contain each once; use weights instead")
    return chosen


def _all(num_arms: int, k: int) -> np.ndarray:
    members = np.array(list(itertools.combinations(range(num_arms), k)))
    sets = np.zeros((len(members), num_arms), bool)
    np.put_along_axis(sets, members, True, 1)
    return sets


@functools.lru_cache(maxsize=32)
def _random(num_arms: int, k: int, size: int, seed: int) -> np.ndarray:
    """Return `size` different sets, the first num_arms of them linearly independent."""
    if size == math.comb(num_arms, k):
        pool = _all(num_arms, k)
        pool = iter(pool[np.random.default_rng(seed).permutation(size)])
    else:
        pool = _drawn(num_arms, k, seed)
    basis, independent, others, seen = np.zeros((0, num_arms)), [], [], set()
    while len(independent) < num_arms or len(independent) + len(others) < size:
        chosen = next(pool)
        if chosen.tobytes() in seen:
            continue
        seen.add(chosen.tobytes())
        rest = chosen.astype(np.float64)
        for _ in range(2):  # the second pass removes what rounding left
            rest -= basis.T @ (basis @ rest)
        length = np.linalg.norm(rest)
        if length > 1e-6:
            independent.append(chosen)
            basis = np.vstack([basis, rest / length])
        elif len(others) < size - num_arms:
            others.append(chosen)
    # Sets drawn after the first num_arms independent ones are also in `others`, in the order drawn.
    return np.array(independent + others)


def _drawn(num_arms: int, k: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    while True:
        chosen = np.zeros(num_arms, bool)
        chosen[rng.permutation(num_arms)[:k]] = True
        yield chosen


def _spanning(sets: np.ndarray) -> None:
    rank, num_arms = int(np.linalg.matrix_rank(sets.astype(np.float64))), sets.shape[1]
    if rank < num_arms:
        raise ValueError(
            f"the support's {len(sets)} super-arms span {rank} of {num_arms} dimensions, must span them all, "
            "or some arms cannot be distinguished (as with disjoint blocks, or windows in a circle if k and num_arms "
            'have a common divisor); add sets, or use support = "random"'
        )


def _counts(sets: np.ndarray, allocation: AllocationKind, weights: ArrayLike | None) -> np.ndarray:
    if allocation == "uniform":
        return np.ones(len(sets), np.int64)
    if allocation == "g":
        return _rounded(_g_design(sets.tobytes(), sets.shape))
    shares = checks.take("weights", weights, checks.arrays(low=0.0))
    if shares.shape[0] != len(sets):
        raise ValueError(f"weights has {shares.shape[0]} entries, must have {len(sets)}, one per set")
    if not shares.any():
        raise ValueError("weights are all 0, must be positive for super-arms that span all arms")
    if (shares == np.round(shares)).all() and shares.sum() < 2**24:
        return shares.astype(np.int64)
    return _rounded(shares / shares.sum())


@functools.lru_cache(maxsize=32)
def _g_design(sets: bytes, shape: tuple[int, ...]) -> np.ndarray:
    import jax

    from jaxbandit.support.numerics import lapack_lock
    from jaxbandit.theory.solvers.design import g_design

    x = np.frombuffer(sets, bool).reshape(shape).astype(np.float64)
    with lapack_lock(), jax.ensure_compile_time_eval(), jax.enable_x64(True):
        weights = np.array(jax.jit(lambda rows: g_design(rows).weights)(x))
    weights[weights < 1e-6 / len(weights)] = 0.0  # residues of the solver for sets outside the design
    return weights / weights.sum()


def _rounded(weights: np.ndarray) -> np.ndarray:
    import jax

    from jaxbandit.theory.solvers.rounding import round_design

    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        total = jax.numpy.asarray(FINENESS * np.count_nonzero(weights), np.int32)
        return np.array(round_design(jax.numpy.asarray(weights), total), np.int64)


def _order(counts: np.ndarray) -> np.ndarray:
    """Return the sets in the order of argmin T_M / c_M, ties to the lowest index: pull j of M comes at j / c_M."""
    index = np.repeat(np.arange(len(counts)), counts)
    turn = np.arange(len(index)) - np.repeat(np.cumsum(counts) - counts, counts)
    return index[np.lexsort((index, turn / counts[index]))].astype(np.int32)
