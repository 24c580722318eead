"""Published means within a number of standard errors of ours: a rule, where published.py has an interval.

A claim [[paper.near]] names the `published` numbers by their source, and `errors`, how many standard errors of the
difference, theirs and ours together, they may be apart. Being a rule, it is never undecided. A censored run counts as
if it had stopped at `max_rounds`, and the check says how many there are: few stuck runs would hide all others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandit.reproduction import verdict
from jaxbandit.results.base import ResultSet
from jaxbandit.text import number


def judge(
    claims: Sequence[Mapping[str, Any]], published: Sequence[Mapping[str, Any]], results: ResultSet
) -> list[dict[str, Any]]:
    """Return the claims with their checks and verdicts; one on no number of the cells that are there is left out."""
    cells = {(r.instance, r.algorithm): r for r in results}
    judged = []
    for claim in claims:
        entries = [e for e in published if e["source"] == claim["published"]]
        known = [e for e in entries if (e["instance"], e["algorithm"]) in cells]
        checks = [_check(e, cells[e["instance"], e["algorithm"]], claim["errors"]) for e in known]
        if checks:
            part = {"in_part": True} if len(known) < len(entries) else {}
            together = verdict.together([check["verdict"] for check in checks])
            judged.append({**claim, **part, "quantity": "samples", "checks": checks, "verdict": together})
    return judged


def _check(entry: Mapping[str, Any], result: Any, errors: float) -> dict[str, Any]:
    times = result.samples()
    ours, error = float(times.mean()), float(np.sqrt(times.var(ddof=1) / len(times) + entry["sd"] ** 2 / entry["runs"]))
    difference = ours - entry["value"]
    apart = abs(difference) / error
    where = f"{entry['algorithm']} in {entry['instance']}"
    censored = f" ({result.censored:,} censored)" * (result.censored > 0)
    numbers = f"{number(ours)}{censored} against {number(entry['value'])}"
    return {
        "statement": f"{where}: {numbers}, {apart:.1f} standard errors apart",
        "difference": difference,
        "error": error,
        "apart": apart,
        "verdict": "agrees" if apart <= errors else "disagrees",
    }
