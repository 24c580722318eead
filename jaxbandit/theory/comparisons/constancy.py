"""What the scores of arms, in their order, say against the assumption that those of an arm are independent and alike.

- The first half against the second, by the rank sum (Wilcoxon 1945), for each arm, and for all arms together by the sum
  of their rank sums, unless arms have common random numbers and so depend on each other.
- Neighbors, by the correlation of the ranks of successive scores (Wald and Wolfowitz 1943), unless these are skewed.
- Repeated rows: a block of scores that occurs twice, so long that chance has a probability of 1e-6 at most.

Each test has its level for any law of the scores, with ties. P-values are multiplied by the number of tests and by 1 +
log2 n. A remark has a level of 1e-3, and a contradiction one of 1e-6.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

REMARK, CONTRADICTION = 1e-3, 1e-6  # levels, for all tests of a call together
_SKEWED = 0.1  # skewness of a correlation that is taken for normal, at most
_MOVES = 0.01  # level of a change with time where shares move
_FEWEST = 20  # scores without which an arm is not tested
_NAMED = 3  # findings that are said, the clearest first


class Findings(NamedTuple):
    """What data say against the assumption that they do not change.

    Attributes:
      contradiction: what they contradict, for `contradiction(found=...)`; "" if nothing at the level of 1e-6.
      remarks: sentences about what is at the level of 1e-3, or worth a look.
    """

    contradiction: str
    remarks: tuple[str, ...]


def changes(
    samples: Sequence[np.ndarray],
    *,
    order: np.ndarray | None = None,
    together: bool = True,
    names: Sequence[str] | None = None,
    noun: str = "arm",
    what: str = "rewards",
) -> Findings:
    """Return what the scores of arms say against the assumption that those of an arm are independent and alike.

    Args:
      samples: float64[n] of each arm, in the order in which they were observed; NaN is left out.
      order: int[scores], the arm of each score, in the order of all of them. None: the shares are not looked at.
      together: whether a test adds up the scores of all arms, which needs arms that are independent of each other.
    """
    scores = [np.asarray(x, np.float64)[np.isfinite(x)] for x in samples]
    tested = [i for i, x in enumerate(scores) if len(x) >= _FEWEST and x.min() < x.max()]
    if not tested:
        return Findings("", ())
    from scipy import stats  # imported here because it takes a second, which a session need not wait for

    many = (2 * len(tested) + 1) * (1 + math.log2(max(len(scores[i]) for i in tested)))
    found: list[tuple[float, str]] = []
    surplus = variance = 0.0
    for i in tested:
        ranks, name = stats.rankdata(scores[i]), f"{noun} {i}" if names is None else names[i]
        apart, spread = _halves(ranks)
        surplus, variance = surplus + apart / len(ranks), variance + spread / len(ranks) ** 2
        middle = len(ranks) // 2
        early, late = scores[i][:middle].mean(), scores[i][-middle:].mean()
        words = f"the first half of the {what} of {name} has the mean {early:.4g}, and the second {late:.4g}"
        found.append((many * _p(apart, spread), words))
        if abs(stats.skew(ranks)) ** 4 <= _SKEWED**2 * len(ranks):
            r = float(np.corrcoef(ranks[:-1], ranks[1:])[0, 1])
            words = f"successive {what} of {name} depend on each other (rank correlation {r:.2f})"
            found.append((many * _p(r + 1 / len(ranks), 1 / len(ranks)), words))
    if together and len(tested) > 1:
        words = f"the {what} of the {noun}s together change from the first half to the second"
        found.append((many * _p(surplus, variance), words))
    found.sort(key=lambda each: each[0])
    hard = [f"{words} (p = {p:.1g})" for p, words in found if p <= CONTRADICTION]
    remarks = [f"{words} (p = {p:.1g})" for p, words in found if CONTRADICTION < p <= REMARK]
    if order is not None and (words := _change_of_shares(scores, np.asarray(order), names, noun)):
        remarks.insert(0, words)
    for i in tested:
        if length := _block_length(scores[i]):
            name = f"{noun} {i}" if names is None else names[i]
            hard.append(f"{length} successive {what} of {name} occur twice")
    return Findings(_summarize(hard), tuple(remarks[:_NAMED]))


def _summarize(lines: Sequence[str]) -> str:
    more = f", and {len(lines) - _NAMED:,} more findings" if len(lines) > _NAMED else ""
    return " and ".join(lines[:_NAMED]) + more


def _p(deviation: float, variance: float) -> float:
    """Return the probability of a larger deviation of a normal number from 0, on both sides."""
    return math.erfc(abs(deviation) / math.sqrt(2 * variance)) if variance > 0 else 1.0


def _halves(ranks: np.ndarray) -> tuple[float, float]:
    """Return the rank sum of the second half minus what is expected, and its variance; a middle score is left out."""
    half = len(ranks) // 2
    used = np.concatenate([ranks[:half], ranks[-half:]])
    apart = float(used[half:].sum() - half * used.mean())
    return apart, float(used.var() * half * half / (2 * half - 1))


def _change_of_shares(scores: Sequence[np.ndarray], order: np.ndarray, names: Sequence[str] | None, noun: str) -> str:
    """Return how the shares of the arms have moved with the scores, "" if they have not."""
    from scipy import stats

    halves = np.array([np.bincount(half, minlength=len(scores)) for half in np.array_split(order, 2)])
    used = np.flatnonzero(halves.all(axis=0)).tolist()
    if len(used) < 2:
        return ""
    test: Any = stats.chi2_contingency(halves[:, used], correction=False)
    surplus = variance = 0.0
    for i in used:
        n, later, ranks = len(scores[i]), int(halves[1, i]), stats.rankdata(scores[i])
        surplus += float(ranks[n - later :].mean() - ranks.mean()) * later / n
        variance += float(ranks.var()) * later * (n - later) / max(n - 1, 1) / n**2
    if test.pvalue > REMARK or _p(surplus, variance) > _MOVES:
        return ""
    shares = halves / halves.sum(axis=1, keepdims=True)
    most = int(np.argmax(np.abs(shares[1] - shares[0])))
    name = f"{noun} {most}" if names is None else names[most]
    early, late = shares[:, most]
    return (
        f"{name} has {early:.0%} of the first half of the pulls and {late:.0%} of the second, and something changed "
        f"between them: {noun}s are compared at different times"
    )


def _block_length(scores: np.ndarray) -> int:
    """Return the length of a block of scores that occurs twice without overlap, 0 if there is none so long."""
    n = len(scores)
    _, counts = np.unique(scores, return_counts=True)
    q = float((counts * (counts - 1.0)).sum()) / (n * (n - 1.0))
    if not 0 < q < 1:
        return 0
    length = max(math.ceil(math.log(2 * CONTRADICTION / n**2) / math.log(q)), 2)
    seen: dict[bytes, int] = {}
    for start in range(n - length + 1):
        if start - seen.setdefault(scores[start : start + length].tobytes(), start) >= length:
            return length
    return 0
