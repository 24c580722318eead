"""Failed runs are excluded from every mean; a one-line warning counts them, and too many of them are an error."""

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from jaxbandit.base.contract import Outcome
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.names import shown
from jaxbandit.support.refusals import SHOWN, BadInput, RunsLeftOut

FAILED = (Outcome.NONFINITE, Outcome.OUT_OF_RANGE)  # a run with outcome PRECISION has not failed; float64 solves it


def judge(results: Sequence[Result], max_failed: float, params: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Warn about each result that leaves runs out, and raise for the first one with too many failed runs.

    The line names the result as instance/algorithm, with the values of `params`, as in it/kl?c=3.
    """
    given = "&".join(f"{name}={shown(value)}" for name, value in params.items())
    given = given if len(given) <= SHOWN else given[: SHOWN - 3] + "..."
    for result in results:
        place = f"{result.instance}/{result.algorithm}" + ("?" + given if given else "")
        failed = int(result.ended(*FAILED).sum())
        if failed > max_failed * result.runs:
            share = "none" if max_failed == 0 else f"a fraction of {max_failed:g}"
            raise BadInput(f"{place}: {result.left_out}; max_failed = {max_failed:g} allows {share}")
        if result.left_out:
            warnings.warn(f"{place}: {result.left_out}", RunsLeftOut, stacklevel=2)
