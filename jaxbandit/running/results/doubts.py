"""Why a mean or its interval is doubtful, in words: runs that are left out, and too few runs of a skewed number."""

from collections.abc import Mapping

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.theory import intervals

FAULTS: dict[Outcome, str] = {  # outcomes that are left out of all means, in words
    Outcome.NONFINITE: "not finite",
    Outcome.PRECISION: "failed the float64 check",
    Outcome.OUT_OF_RANGE: "rewards out of range",
}


def left_out(runs: int, outcomes: Mapping[str, int], faults: Mapping[Outcome, str] = FAULTS) -> str:
    """Return how many runs are left out of the means and why, or "" if none is."""
    faulty = {words: outcomes.get(outcome.name.lower(), 0) for outcome, words in faults.items()}
    given = {words: count for words, count in faulty.items() if count}
    if not given:
        return ""
    why = [words if len(given) == 1 else f"{count:,} {words}" for words, count in given.items()]
    return f"{sum(given.values()):,} of {runs:,} runs left out: {', '.join(why)}"


def skewed(values: np.ndarray, runs: int, name: str = "", what: str = "runs") -> list[str]:
    """Return a line that says from how many runs on the interval of a skewed mean is right, if there are fewer."""
    skewness, enough = intervals.enough_runs(values)
    if enough <= runs:
        return []
    start = f"{name} is skewed" if name else "skewed"
    return [f"{start} ({skewness:.1f}), the interval is right from {np.ceil(enough):,.0f} {what} on"]
