"""Failed runs are excluded from every mean; a one-line warning counts them, and too many of them are an error."""

import warnings
from collections.abc import Sequence

from jaxbandit.base.contract import Outcome
from jaxbandit.base.refusals import BadInput, RunsLeftOut
from jaxbandit.running.results.base import Result

FAILED = (Outcome.NONFINITE, Outcome.OUT_OF_RANGE)  # a run with outcome PRECISION has not failed; float64 solves it


def check_share(where: str, max_failed: float) -> None:
    """Raise BadInput unless `max_failed` is a fraction of the runs."""
    if isinstance(max_failed, bool | str) or not 0 <= max_failed <= 1:
        raise BadInput(f"{where}: max_failed = {max_failed!r}, must be in [0, 1], a fraction of the runs")


def judge(results: Sequence[Result], max_failed: float) -> None:
    """Warn about each result that leaves runs out, and raise for the first one with too many failed runs."""
    for result in results:
        failed = int(result.ended(*FAILED).sum())
        if failed > max_failed * result.runs:
            share = "none" if max_failed == 0 else f"a fraction of {max_failed:g}"
            raise BadInput(
                f"{result.instance}/{result.algorithm}: {result.left_out}; max_failed = {max_failed:g} allows {share}"
            )
        if result.left_out:
            warnings.warn(f"{result.instance}/{result.algorithm}: {result.left_out}", RunsLeftOut, stacklevel=2)
