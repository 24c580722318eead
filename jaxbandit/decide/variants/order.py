"""Whether the rows of a log can be in the order of arrival, and what is done if they cannot.

A file that was sorted, grouped, or put together from exports has fewer runs, that is, sequences of equal neighbors,
than a random permutation of variants or of outcomes.
"""

import numpy as np

from jaxbandit.decide.variants.visitors import OF_A_ROW, Visitors
from jaxbandit.support import special

LEVEL = 1e-6  # probability with which rows in random order are taken for sorted, for each test
FEWEST = 40  # rows without which nothing is tested
LONG_RUN = 20  # rows: visitors of one variant follow one another so often only where rows are sorted or grouped
_SEED = 0  # of the permutations, so that the same table leads to the same result


def with_known_order(log: Visitors) -> Visitors:
    """Return visitors in the order of arrival, or without an order, with a note that says so.

    Rows of equal times are put into a random order if they are sorted by something else; without times, the outcomes of
    each variant are. The permutation is always the same for the same outcomes. Visitors of a block stay together.
    """
    what = grouped_variants(log) or ("" if log.block is not None else grouped_outcomes(log))
    if not what:
        return log
    if log.time is not None:
        if np.any(np.diff(log.time) == 0):
            return within_times(log).noted(f"{what}, although the times are in order: rows of equal times are shuffled")
        return log.noted(f"{what}, in the order of their times: visitors may have changed, which is assumed not to be")
    how = "" if log.block is not None else ", and visitors are paired at random"
    found = log._replace(ordered=False) if log.block is not None else without_order(log)
    if not grouped_variants(log) and not _sorted(log):
        found = found._replace(given=log.outcome)
    return found.noted(
        f"{what}: their order is not that of arrival, or visitors changed over time; the log is taken as ended, and "
        f"what is stated holds for one look{how}; name the column of the times, if there is one"
    )


def grouped_variants(log: Visitors) -> str:
    """Return how the rows are sorted or grouped by variant, as the beginning of a sentence, or ""."""
    if len(log.variant) < FEWEST or not (_too_few_runs(log.variant, LEVEL) and _grouped(log.variant)):
        return ""
    runs = 1 + int(np.count_nonzero(np.diff(log.variant)))
    return f"the rows are {'sorted' if runs == len(log.names) else 'grouped'} by variant"


def grouped_outcomes(log: Visitors) -> str:
    """Return the variant whose outcomes above the median, and the others, come in groups, in a sentence, or ""."""
    for v, name in enumerate(log.names):
        y = log.outcome[(log.variant == v) & np.isfinite(log.outcome)]
        if len(y) >= FEWEST:
            middle = np.median(y)
            apart = y > middle if np.any(y > middle) else y < middle
            if apart.any() and _too_few_runs(apart.astype(np.int64), LEVEL / len(log.names)):
                return f"the outcomes of {name} are sorted or come in groups"
    return ""


def _sorted(log: Visitors) -> bool:
    """Return whether the outcomes of each variant are in increasing or in decreasing order."""
    steps = [np.diff(log.outcome[log.variant == v]) for v in range(len(log.names))]
    return all(np.all(step >= 0) or np.all(step <= 0) for step in steps)


def _grouped(variant: np.ndarray) -> bool:
    """Return whether two variants have most of their rows in long runs, which a changing split does to one at most."""
    starts = np.flatnonzero(np.diff(variant, prepend=-1))
    length = np.diff(starts, append=len(variant))
    of = variant[starts]
    long = np.bincount(of, length * (length >= LONG_RUN))
    return int(np.sum(long > np.bincount(of, length) / 2)) >= 2


def _too_few_runs(labels: np.ndarray, level: float) -> bool:
    """Return whether labels have fewer runs than a random permutation of them has, but for a probability of `level`.

    Source: Mood (1940), "The distribution theory of runs", for the mean and variance with any number of labels.
    """
    n, counts = len(labels), np.bincount(labels).astype(np.float64)
    second, third = (counts**2).sum(), (counts**3).sum()
    runs = 1 + np.count_nonzero(np.diff(labels))
    mean = n + 1 - second / n
    variance = (second * (second + n * (n + 1.0)) - 2 * n * third - float(n) ** 3) / (float(n) ** 2 * (n - 1))
    return bool(variance > 0 and runs - mean < special.ndtri(level) * np.sqrt(variance))


def without_order(log: Visitors) -> Visitors:
    """Return a log in which the outcomes of each variant are in a random order that depends on nothing but its name."""
    columns = {name: x.copy() for name in OF_A_ROW if (x := getattr(log, name)) is not None}
    for v, name in enumerate(log.names):
        rows = np.flatnonzero(log.variant == v)
        rng = np.random.default_rng([_SEED, *name.encode()])  # the same for two variants would pair equal ranks
        keys = [key for x in columns.values() for key in x[rows].reshape(len(rows), -1).T]
        found = rows[rng.permutation(np.lexsort(keys))]
        for key, x in columns.items():
            x[rows] = getattr(log, key)[found]
    return log._replace(**columns, ordered=False)


def within_times(log: Visitors) -> Visitors:
    """Return a log with rows of equal times in a random order; further rows do not change that of earlier ones."""
    assert log.time is not None
    return log.taken(np.lexsort((np.random.default_rng(_SEED).random(len(log.time)), log.time)))
