"""The summary of a reproduction: cells, published numbers and claims, each with its verdict."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxbandit.engine.storage import json_files
from jaxbandit.lab.papers import open_readings, origins, published, verdict
from jaxbandit.lab.papers.figure_experiments import Figure
from jaxbandit.running.results.base import ResultSet, versions
from jaxbandit.running.results.saving import SCHEMA, summary
from jaxbandit.support.types import Json, Table
from jaxbandit.theory import intervals

ABOUT = ("title", "authors", "year", "url", "confidence", "notes")


def assess(results: ResultSet, paper: Table, shown: Sequence[Figure]) -> Json:
    """Return the summary of `results` with the paper's `published` numbers, `claims`, `untested` and `figures`."""
    claims = [narrow(claim, results) for claim in open_readings.each_reading(paper)]
    confidence = paper["confidence"]
    theirs = published.numbers(paper.get("published", []), results)
    verified = sum(not origins.is_quoted(n) for n in theirs)
    judged = verdict.judge(claims, results, confidence=confidence, others=verified)
    level = intervals.bonferroni(confidence, verdict.num_intervals(judged) + verified)
    beside = [published.judge(n, results[n["instance"], n["algorithm"]], level) for n in theirs]
    first = results[0]
    content = summary(
        results.name,
        results,
        paper=_about(paper),
        figures=[dataclasses.asdict(figure) for figure in shown],
        published=beside,
        claims=judged,
        untested=list(paper.get("untested", [])),
    )
    content["claims"] += published.judge_together(paper.get("near", []), paper.get("published", []), beside)
    readings = open_readings.table(paper, judged)
    content |= {} if readings is None else {"readings": readings}
    # If several numbers are published for a cell, the cell contains the first one.
    sums = [e for e in beside if e["quantity"] in ("samples", "regret", "hindsight")]
    totals = {(e["instance"], e["algorithm"]): e for e in reversed(sums)}
    for cell, result in zip(content["cells"], results, strict=True):
        if first.kind != "simulate" and "pulls" in cell and result.counted > 1:
            pulls = result.arrays["pulls"][result.counts()].astype(np.float64)
            most = float(getattr(result, "max_rounds", np.inf))  # of any other kind of result the pulls are not known
            moments = pulls.mean(axis=0), pulls.var(axis=0, ddof=1)
            interval = intervals.student(*moments, result.counted, limits=(0, most))
            cell["pulls"] |= {"se": interval.se, "low": interval.low, "high": interval.high}
        if (entry := totals.get((result.instance, result.algorithm))) is not None:
            rest = {k: v for k, v in entry.items() if k not in ("instance", "algorithm", "verdict")}
            cell |= {"published": rest} | ({"verdict": entry["verdict"]} if "verdict" in entry else {})
    return json_files.plain(content)


def narrow(claim: Table, results: ResultSet) -> Json:
    """Return a claim restricted to the instances and algorithms that were run, with `in_part` if some are missing."""
    played = {"instance": {r.instance for r in results}, "algorithm": {r.algorithm for r in results}}
    played["against"] = played["algorithm"]
    lists = {k: [v for v in claim[k] if v in played[k]] for k in played if isinstance(claim.get(k), list)}
    narrow = {k: values for k, values in lists.items() if values}
    return dict(claim) | narrow | ({"in_part": True} if any(len(narrow[k]) < len(claim[k]) for k in narrow) else {})


def without_cells(data: Table, paper: Table) -> Json:
    """Return the summary of a reproduction that runs no experiment."""
    head = {"schema": SCHEMA} | {key: data[key] for key in ("name", "kind", "seed")}
    head |= {key: value for key, value in versions().items() if key in ("jaxbandit", "jax")}
    empty = {"cells": [], "figures": [], "published": [], "claims": [], "untested": []}
    return json_files.plain({**head, "devices": [], "precision": "float64", "paper": _about(paper), **empty})


def _about(paper: Table) -> Json:
    return {key: paper[key] for key in ABOUT if key in paper}
