"""The Yahoo! R6A click log as a linear instance: Xu, Honda and Sugiyama (2018, LinGapE), Section 7.2 and Appendix A.

The log is licensed by Yahoo! Webscope (R6A, files ydata-fp-td-clicks-v1_0.200905DD.gz) and is not distributed here; the
user gives the path of one of its files.
"""

import functools
import gzip
import math
import os
import warnings
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from jaxbandit.base.arguments import AtLeastOne, Seed, SeveralArms
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.environments.linear_arms.linear import linear
from jaxbandit.environments.recorded.r6a_like import MinGap, choose, products
from jaxbandit.support import decimals, reading
from jaxbandit.support.domains import number

_PLACE = {b"%d" % fid: fid - 1 for fid in range(1, 7)}  # feature identifier -> position; the first is the constant 1
_LOST = ("bad_width", "bad_token", "displayed_not_in_pool")
_BATCH = 1 << 16  # number of pairs whose 36 products are held in memory at once
_LONGEST = 2**20  # bytes of a line
_HEAD, _ARTICLE = 10, 7  # number of tokens before the articles, and per article (its identifier and six features)


class ClickLog(NamedTuple):
    """The visits of a log that could be read, and how many lines could not.

    In `counts`, read = kept + bad_width + bad_token + displayed_not_in_pool; windows_line_ends are kept too.
    """

    timestamp: np.ndarray  # int64[kept], seconds
    displayed: np.ndarray  # int64[kept], identifier of the article shown
    click: np.ndarray  # bool[kept]
    user: np.ndarray  # float64[kept, 6], features of the user by identifier; feature 1, the constant, comes first
    article: np.ndarray  # float64[kept, 6], features of the article shown
    counts: dict[str, int]


def read_click_log(path: str | os.PathLike[str]) -> ClickLog:
    """Read a click log line by line; a file whose name ends in .gz is decompressed while reading.

    A line that does not have the right format is skipped and counted under the first reason that applies: bad_width
    (not 10 + 7 n tokens), bad_token (one that cannot be parsed) or displayed_not_in_pool. A file without a good line is
    an error.
    """
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path = {path!r}, must be the name of a click log")
    counts: dict[str, int] = dict.fromkeys(("read", "kept", *_LOST, "windows_line_ends"), 0)
    whole, user, article = array("q"), array("d"), array("d")
    where = f"r6a: path = {str(path)!r}"
    try:
        with (
            reading.opened(where, Path(path), "a click log") as file,
            gzip.open(file) if str(path).endswith(".gz") else file as lines,
        ):
            while line := lines.readline(_LONGEST):
                if len(line) == _LONGEST:
                    raise ValueError(f"{where}: line {counts['read'] + 1}: is longer than that of a click log can be")
                counts["read"] += 1
                counts["windows_line_ends"] += line.endswith(b"\r\n")
                tokens = line.split()
                try:
                    *numbers, visitor, shown = _visit(tokens)
                    whole.extend(numbers)
                except _Dirt as dirt:
                    counts[str(dirt)] += 1
                    continue
                user.extend(visitor)
                article.extend(shown)
                counts["kept"] += 1
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{where}, must be a click log that can be read ({error})") from None
    if not counts["kept"]:
        entries = ", ".join(f"{name} {n}" for name, n in counts.items() if n) or "no line at all"
        raise ValueError(f"{where}, must contain visits; it contains none ({entries})")
    timestamp, displayed, click = np.frombuffer(whole, np.int64).reshape(-1, 3).T
    visitor, shown = (np.frombuffer(values).reshape(-1, len(_PLACE)) for values in (user, article))
    return ClickLog(timestamp, displayed, click == 1, visitor, shown, counts)


class _Dirt(Exception):
    """Raised for a line with the wrong format; its text is the name of the count that it adds to."""


def _visit(tokens: Sequence[bytes]) -> tuple[int, int, int, Sequence[float], Sequence[float]]:
    """Return timestamp, displayed article, click, and the features of the user and of that article."""
    if len(tokens) < _HEAD or (len(tokens) - _HEAD) % _ARTICLE:
        raise _Dirt("bad_width")
    timestamp, displayed, click = map(_integer, tokens[:3])
    if click > 1 or tokens[3] != b"|user":
        raise _Dirt("bad_token")
    user = _features(tuple(tokens[4:_HEAD]))
    shown = None
    for start in range(_HEAD, len(tokens), _ARTICLE):
        if not tokens[start].startswith(b"|"):
            raise _Dirt("bad_token")
        features = _features(tuple(tokens[start + 1 : start + _ARTICLE]))
        if _integer(tokens[start][1:]) == displayed:
            shown = features
    if shown is None:
        raise _Dirt("displayed_not_in_pool")
    return timestamp, displayed, click, user, shown


def _integer(token: bytes) -> int:
    if not token.isdigit() or len(token) > 18:
        raise _Dirt("bad_token")
    return int(token)


@functools.lru_cache(maxsize=4096)  # the articles of a day recur in every line
def _features(tokens: tuple[bytes, ...]) -> tuple[float, ...]:
    values = dict.fromkeys(range(len(_PLACE)), math.nan)
    for token in tokens:
        identifier, _, value = token.partition(b":")
        try:
            number = decimals.number(value.decode("ascii"))
            values[_PLACE[identifier]] = math.nan if number is None else number
        except (KeyError, ValueError):
            raise _Dirt("bad_token") from None
    # A feature that is missing, because another one occurred twice, is still NaN.
    if not all(map(math.isfinite, values.values())):
        raise _Dirt("bad_token")
    return tuple(values.values())


@declare(concrete=("min_gap", "penalty"))
def r6a(
    path: str | Path,
    num_arms: SeveralArms,
    *,
    instance_seed: Seed = 0,
    min_gap: MinGap = 0.05,
    penalty: Annotated[float, Arg(number(0, open_low=True))] = 0.01,
    sigma: AtLeastOne = 2.0,
) -> Environment:
    """Arms fitted to a Yahoo! R6A click log.

    An arm is the pair of a visit's user and the article shown; its features are all products of their features, x in
    R^36. Theta is the ridge fit of clicks coded as 1 and -1. The best arm is the best of num_arms random visits, among
    those that exceed enough other visits by min_gap; the other arms are random ones of these. Visits with x' theta
    outside [-1, 1], of which the paper's day has none, are not drawn.

    Args:
      path: path of the log, relative to the working directory; .gz is decompressed. Static. Reading a day takes
        minutes, once per process.
      penalty: penalty of the ridge regression.
      sigma: sub-Gaussian scale that algorithms are told. The paper uses 2, see `linear`.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] -1 and 1, as `linear` with sign noise.

    Raises:
      ValueError: the log cannot be read, or it does not have num_arms visits with such a gap.

    Source:
      Xu, Honda and Sugiyama (2018), A fully adaptive algorithm for pure exploration in linear bandits, AISTATS, Section
      7.2 and Appendix A.
    """
    instance = _instance(path, num_arms, instance_seed, min_gap, penalty)
    return linear(*instance, noise="sign", sigma=sigma)._replace(name="r6a")


def _instance(
    path: str | Path, num_arms: int, instance_seed: int, min_gap: float, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    log, theta, means = _fitted(path, _stamp(path), penalty)
    valid = np.flatnonzero(np.abs(means) <= 1)  # sign noise is defined for these means only
    arms = valid[choose(means[valid], num_arms, min_gap, np.random.default_rng(instance_seed))]
    return products(log.user[arms], log.article[arms]), theta


def _stamp(path: str | Path) -> tuple[int, int]:
    """Return the modification time and size of the file, or zeros if it cannot be examined."""
    try:
        status = os.stat(path)
    except (OSError, TypeError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=1)  # shared by the environment, its description and other instances of one log
def _fitted(path: str | Path, stamp: tuple[int, int], penalty: float) -> tuple[ClickLog, np.ndarray, np.ndarray]:
    """Return the log, theta, and x' theta of every visit."""
    log = read_click_log(path)
    lost = ", ".join(f"{name} {log.counts[name]}" for name in _LOST if log.counts[name])
    if lost:
        warnings.warn(f"r6a: {path}: {log.counts['kept']} of {log.counts['read']} lines kept ({lost})", stacklevel=2)
    theta = ridge(log.user, log.article, np.where(log.click, 1.0, -1.0), penalty)
    return log, theta, (log.user @ theta.reshape(6, 6) * log.article).sum(axis=1)


def ridge(user: np.ndarray, article: np.ndarray, reward: np.ndarray, penalty: float) -> np.ndarray:
    """Return float64[36], the minimizer over theta of sum (reward - x' theta)^2 + penalty theta' theta."""
    size = user.shape[1] * article.shape[1]
    gram, moment = penalty * np.eye(size), np.zeros(size)
    for start in range(0, len(user), _BATCH):
        part = slice(start, start + _BATCH)
        x = products(user[part], article[part])
        gram += x.T @ x
        moment += x.T @ reward[part]
    return np.linalg.solve(gram, moment)
