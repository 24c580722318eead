"""The rewards of a session: in the order of ids, in totals by arm, and the checks of new ones."""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.support.columns import LARGEST
from jaxbandit.support.types import ArrayLike

History = tuple[np.ndarray, ...]  # one entry per id, in order, in arrays whose lengths are decreasing powers of two


class Totals(NamedTuple):
    """Sums by arm, of deviations from the arm's first reward to avoid cancellation if rewards differ by little."""

    counts: np.ndarray  # int64[num_arms], number of pulls
    origin: np.ndarray  # float64[num_arms], the arm's first reward, 0 before it has one
    sums: np.ndarray  # float64[num_arms], sum of the deviations from it
    squares: np.ndarray  # float64[num_arms], sum of the squared deviations

    @property
    def means(self) -> np.ndarray:
        """Mean reward of each arm, NaN without a pull."""
        return np.where(self.counts > 0, self.origin + self.sums / np.maximum(self.counts, 1), np.nan)

    @property
    def variances(self) -> np.ndarray:
        """Variance of each arm's rewards, with divisor n, NaN without a pull."""
        n = np.maximum(self.counts, 1)
        return np.where(self.counts > 0, np.maximum(self.squares / n - (self.sums / n) ** 2, 0.0), np.nan)


def no_totals(num_arms: int) -> Totals:
    """Totals before the first pull."""
    return Totals(np.zeros(num_arms, np.int64), *np.zeros((3, num_arms)))


def with_rewards(totals: Totals, arms: np.ndarray, values: np.ndarray) -> Totals:
    """Totals after adding the rewards of these pulls in order; for sets, bool[n, num_arms], only counts are kept."""
    if arms.dtype == bool:
        return totals._replace(counts=totals.counts + arms.sum(axis=0, dtype=np.int64))
    counts, origin, sums, squares = (x.copy() for x in totals)
    if len(arms) == 1:  # the same, at a quarter of the time
        arm, value = int(arms[0]), float(values[0])
        if not counts[arm]:
            origin[arm] = value
        deviation = value - float(origin[arm])
        counts[arm] += 1
        sums[arm] += deviation
        squares[arm] += deviation * deviation
        return Totals(counts, origin, sums, squares)
    new = counts[arms] == 0
    if some(new):
        seen, first = np.unique(arms[new], return_index=True)
        origin[seen] = values[new][first]
    deviations = values - origin[arms]
    np.add.at(counts, arms, 1)
    np.add.at(sums, arms, deviations)
    np.add.at(squares, arms, deviations * deviations)
    return Totals(counts, origin, sums, squares)


def some(mask: np.ndarray) -> bool:
    """Whether an entry of a mask is True: `mask.any()` at a fifth of the time where there are few."""
    return b"\1" in mask.tobytes()


def longer(history: History, values: np.ndarray) -> History:
    """The history with further entries, each of which is copied only a logarithmic number of times."""
    if not len(values):
        return history
    before = sum(map(len, history))
    if len(values) == 1 and not before & 1:
        return (*history, values)  # what follows, at a tenth of the time
    total = before + len(values)
    bits, kept = (before ^ total).bit_length(), len(history)  # all parts above the highest bit that changes stay
    while kept and len(history[kept - 1]) >> bits == 0:
        kept -= 1
    rest, parts, start = np.concatenate([*history[kept:], values]), [], 0
    for bit in reversed(range(bits)):
        if total >> bit & 1:
            parts.append(rest[start : start + (1 << bit)])
            start += 1 << bit
    return (*history[:kept], *parts)


def array_of(history: History, dtype: type) -> np.ndarray:
    """The whole history as one array."""
    return np.concatenate([np.zeros(0, dtype), *history])


def between(history: History, start: int, stop: int) -> np.ndarray:
    """The entries of the ids from `start` to `stop` - 1, which are all in the history."""
    parts, begin = [], sum(map(len, history))
    for part in reversed(history):  # because the last ones are wanted most often
        if begin <= start:
            break
        begin -= len(part)
        if begin < stop:
            parts.append(part[max(start - begin, 0) : stop - begin])
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *reversed(parts)])


def values_of(history: History, ids: np.ndarray) -> np.ndarray:
    """Rewards of ids that are all in the history."""
    values, start = np.empty(len(ids)), 0
    for part in history:
        here = (ids >= start) & (ids < start + len(part))
        values[here] = part[ids[here] - start]
        start += len(part)
    return values


def replaced(history: History, ids: np.ndarray, values: np.ndarray) -> History:
    """The history with other entries of some ids."""
    parts, start = [], 0
    for part in history:
        here = (ids >= start) & (ids < start + len(part))
        if here.any():
            part = part.copy()
            part[ids[here] - start] = values[here]
        parts.append(part)
        start += len(history[len(parts) - 1])
    return tuple(parts)


def earlier(actions: np.ndarray) -> np.ndarray:
    """For each entry of a vector, the number of equal entries before it, int64[n]."""
    if len(actions) == 1:
        return np.zeros(1, np.int64)
    order = np.argsort(actions, kind="stable")
    sorted_actions = actions[order]
    counts = np.empty(len(actions), np.int64)
    counts[order] = np.arange(len(actions)) - np.searchsorted(sorted_actions, sorted_actions, side="left")
    return counts


def usable(rewards: ArrayLike) -> np.ndarray:
    """Whether rules can compute with these rewards, or scores: finite numbers of modulus at most 1e150."""
    return np.abs(rewards) <= np.float64(LARGEST)  # and not the nearest float32


def as_float(number: Any) -> float:
    """A number as a float, infinite where it is an integer or a fraction beyond float64."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def check_ids(ids: ArrayLike, name: str = "id") -> np.ndarray:
    """One or several ids, or arms, as int64[n]; an error is raised if they are not integers."""
    if hasattr(ids, "_fields"):  # the pulls themselves
        raise ValueError(f"{name}s is a {type(ids).__name__}, must be one {name} or a list of them; give pulls.{name}")
    whole = np.asarray(ids)
    if whole.size == 0:
        return np.zeros(0, np.int64)
    if whole.ndim > 1 or whole.dtype.kind not in "iu":
        raise ValueError(f"{name}s = {whole.dtype}{list(whole.shape)}, must be one {name} or a list of them")
    return whole.reshape(-1).astype(np.int64)


def check_rewards(
    ids: ArrayLike,
    rewards: ArrayLike,
    on_failure: float | None,
    low: float,
    high: float,
    name: str = "id",
) -> tuple[np.ndarray, np.ndarray]:
    """Ids and as many rewards, all in [low, high] after `on_failure` has replaced those that are not usable."""
    ids = check_ids(ids, name)
    try:
        try:
            values = np.asarray(rewards, np.float64)
        except OverflowError:
            values = np.frompyfunc(as_float, 1, 1)(np.asarray(rewards, object))
            values = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"rewards = {str(rewards)[:60]!r}, must be numbers, one for each {name}") from None
    if values.ndim > 1 or values.size != len(ids):
        which = f"{name} = {ids[0]}: " if len(ids) == 1 else ""
        raise ValueError(
            f"{which}rewards have shape {list(values.shape)}, must be one number for each of {len(ids)} {name}s"
        )
    values = values.flatten()
    if not some(~((values >= max(low, -LARGEST)) & (values <= min(high, LARGEST)))):  # and none is NaN
        return ids, values
    bad = ~usable(values)
    if bad.any() and on_failure is None:
        at = int(np.argmax(bad))
        remedy = "on_failure = value replaces it, and withdraw gives the pull back"
        allowed = f"must be finite with |reward| <= 1e150; {remedy}"
        raise ValueError(f"{name} = {ids[at]}: reward = {values[at]}, {allowed}")
    values = np.where(bad, on_failure if on_failure is not None else 0.0, values)
    outside = (values < low) | (values > high)
    if outside.any():
        at = int(np.argmax(outside))
        left, right = "(" if low == -math.inf else "[", ")" if high == math.inf else "]"
        allowed = f"{left}{low:g}, {high:g}{right}"
        raise ValueError(
            f"{name} = {ids[at]}: reward = {float(values[at])!r}, must be in {allowed}, for which the rule is made"
        )
    return ids, values


def require_asked(ids: np.ndarray, end: int) -> None:
    """Raise an error if an id is outside [0, end)."""
    unknown = (ids < 0) | (ids >= end)
    if some(unknown):
        allowed = f"in [0, {end - 1}], the ids that were asked" if end else "one that was asked, but none was"
        raise ValueError(f"id = {ids[unknown][0]} is unknown, must be {allowed}")


def require_arms(arms: np.ndarray, num_arms: int) -> None:
    """Raise an error if one of the arms does not exist."""
    wrong = (arms < 0) | (arms >= num_arms)
    if wrong.any():
        raise ValueError(f"arm = {arms[wrong][0]}, must be in [0, {num_arms - 1}]")


def each_once(ids: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids, each once and sorted, and their rewards; raise an error if an id is given two different ones."""
    if len(ids) == 1:
        return ids, values
    unique, places = np.unique(ids, return_index=True)
    value = values[places]
    same(ids, values, value[np.searchsorted(unique, ids)], "was reported before; an id has one reward")
    return unique, value


def same(ids: np.ndarray, values: np.ndarray, before: np.ndarray, reason: str) -> None:
    """Raise an error if one of the rewards is not the one before."""
    other = values != before
    if other.any():
        at = int(np.argmax(other))
        raise ValueError(f"id = {ids[at]}: reward = {float(values[at])!r}, but {float(before[at])!r} {reason}")
