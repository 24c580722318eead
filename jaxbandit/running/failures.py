"""Runs that no mean counts: said in one line, and an error where there are more than the caller allows."""

import warnings
from collections.abc import Sequence

from jaxbandit.base import Outcome
from jaxbandit.refusals import BadInput, RunsLeftOut
from jaxbandit.results.base import Result

FAILED = (Outcome.NONFINITE, Outcome.OUT_OF_RANGE)  # PRECISION is no fault of the run: float64 carries it


def check_share(where: str, max_failed: float) -> None:
    """Refuse what is no share of the runs."""
    if isinstance(max_failed, bool | str) or not 0 <= max_failed <= 1:
        raise BadInput(f"{where}: max_failed = {max_failed!r}, must be in [0, 1], a share of the runs")


def judge(results: Sequence[Result], max_failed: float) -> None:
    """Warn, a line each, of the results that leave runs out; refuse the first with more than a share of failed runs."""
    for result in results:
        failed = int(result.ended(*FAILED).sum())
        if failed > max_failed * result.runs:
            share = "none" if max_failed == 0 else f"a share of {max_failed:g}"
            raise BadInput(
                f"{result.instance}/{result.algorithm}: {result.left_out}; max_failed = {max_failed:g} allows {share}"
            )
        if result.left_out:
            warnings.warn(f"{result.instance}/{result.algorithm}: {result.left_out}", RunsLeftOut, stacklevel=2)
