"""Computed tables of a paper (constants, costs and times): which ones to compute, their rows, claims and text.

Each table [paper.complexity.NAME] of a paper's TOML file specifies one. Its `kind` is one of KINDS, belongs to a single
paper, and is implemented in another file of this directory.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage import json_files
from jaxbandit.lab.papers import verdict
from jaxbandit.lab.papers.tables import complexity, full_bandit_costs, full_bandit_figures, times
from jaxbandit.support.types import Json, Table

Rows = Callable[..., list[Json]]


def sizes_of(paper: Table, target: str, *, quick: bool, runs: int | None) -> tuple[dict[str, int], list[str]]:
    """Return the tables to compute, each with its size, and a line for each table that is left out.

    A table [paper.complexity.NAME] may have a `size`, the number of instances or whatever else its kind counts; `quick`
    is that of a quick call, and without it the table is left out then. A table that is the `target` has the size
    `alone`, or `size` in a quick call; if the target is a figure, no table is computed, and "" computes all. `runs` is
    the size to use instead, or None.
    """
    sizes, lines = {}, []
    for name, table in paper.get("complexity", {}).items():
        if target not in ("", name):
            continue
        if "size" not in table:
            sizes[name] = 0
            continue
        size = {(False, ""): "size", (False, name): "alone", (True, ""): "quick", (True, name): "size"}
        if number := runs or table.get(size[quick, target], 0):
            sizes[name] = number
        else:
            lines.append(f"{table['title']}: not run, available only without --quick")
    return sizes, lines


def evaluate(data: Table, paper: Table, directory: Path, sizes: Mapping[str, int]) -> list[Json]:
    """Return the tables named in `sizes` as plain data.

    A table that is stored in the directory with the same request is not computed again. `data` is the paper's
    experiment, and `paper` the table [paper].
    """
    tables = []
    for name, size in sizes.items():
        table = paper["complexity"][name]
        request = json_files.plain({"name": name, "size": size, "confidence": paper["confidence"]} | table)
        path = directory / f"{name}.json"
        stored = json_files.read_json(path, storage.RECOMPUTE) if path.exists() else {}
        if stored.get("request") != request:
            start = time.perf_counter()
            instances = {instance["name"]: instance for instance in paper.get("instance", [])}
            rows = KINDS[table["kind"]][0]({"confidence": paper["confidence"], **table}, data, instances, size)
            about = {key: table[key] for key in ("kind", "title", "source")}
            content = {"name": name, **about, "rows": rows, "seconds": time.perf_counter() - start}
            stored = json_files.plain({"request": request, "table": content})
            json_files.write_json(path, stored)
        tables.append(stored["table"])
    return tables


def judge(claims: Sequence[Table], tables: Sequence[Table]) -> list[Json]:
    """Return the claims [[paper.share]] about rows of computed tables, with their verdicts.

    A claim states that all rows of `variant` are below, or above, `value`, and may restrict them to one or several
    instances. The interval of a row is the one in its table. A claim about a table that was not computed is left out.
    """
    judged = []
    for claim in claims:
        rows = [row for table in tables if table["name"] == claim["table"] for row in table["rows"]]
        rows = [row for row in rows if row["variant"] == claim["variant"]]
        rows = [row for row in rows if row.get("instance") in claim.get("instance", [row.get("instance")])]
        above = claim.get("relation", "below") == "above"
        checks = []
        for row in rows:
            low, high = row["low"] - claim["value"], row["high"] - claim["value"]
            value = row["rate"] if "rate" in row else row["ratio"]
            check = {"statement": f"{row['what']} {'>' if above else '<'} {claim['value']:g}"}
            check |= {"difference": value - claim["value"], "low": low, "high": high, "confidence": row["confidence"]}
            checks.append(check | {"verdict": verdict.side(low, high, 1 if above else -1)})
        if checks:
            judged.append(verdict.conclusion({"quantity": "share", **claim}, checks))
    return judged


def text(table: Table) -> str:
    """Return a table as plain text."""
    return f"{table['title']}\n{KINDS[table['kind']][1](table['rows'])}"


def _of_instances(rows: Rows) -> Rows:
    return lambda table, data, instances, size: rows(table, instances, size)


# The rows of a table, from the table, the paper's experiment, the paper's own instances by name and the size, and their
# text.
KINDS: dict[str, tuple[Rows, Callable[[Sequence[Table]], str]]] = {
    "shares": (
        lambda table, data, instances, size: complexity.shares(table, instances=size, confidence=table["confidence"]),
        complexity.shares_text,
    ),
    "values": (lambda table, data, instances, size: complexity.values(table, instances), complexity.values_text),
    "times": (lambda table, data, instances, size: times.times(table, data, size), times.times_text),
    "costs": (_of_instances(full_bandit_costs.costs), full_bandit_costs.costs_text),
    "crowd_sets": (_of_instances(full_bandit_costs.crowd_sets), full_bandit_costs.crowd_sets_text),
    "approximation": (_of_instances(full_bandit_figures.approximation), full_bandit_figures.approximation_text),
    "run_time": (_of_instances(full_bandit_figures.run_time), full_bandit_figures.run_time_text),
}
