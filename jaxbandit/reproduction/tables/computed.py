"""Tables of a paper in which nothing is pulled: which are wanted, their rows kept on the disk, claims on them, as text.

[paper.complexity.NAME] is one. What is in it, by its kind: complexity.py and full_bandit.py.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.reproduction import verdict
from jaxbandit.reproduction.tables import complexity, full_bandit
from jaxbandit.results import json_files


def wanted(paper: Mapping[str, Any], target: str, *, quick: bool, runs: int | None) -> tuple[dict[str, int], list[str]]:
    """Return the computed tables to compute, with the number of instances, and a line for each left out.

    Args:
      paper: the table [paper]; [paper.complexity.NAME] is such a table, with `instances` where it has any.
      target: name of a table, which then has `alone` instances; or of a figure (then no table is wanted); default: all.
      quick: `quick` instances, absent being none; of the target `instances`.
      runs: number of instances instead.
    """
    sizes, lines = {}, []
    for name, table in paper.get("complexity", {}).items():
        if target not in ("", name):
            continue
        if "instances" not in table:
            sizes[name] = 0
            continue
        size = {(False, ""): "instances", (False, name): "alone", (True, ""): "quick", (True, name): "instances"}
        if number := runs or table.get(size[quick, target], 0):
            sizes[name] = number
        else:
            lines.append(f"{table['title']}: not run, not with --quick")
    return sizes, lines


def evaluate(paper: Mapping[str, Any], directory: Path, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the computed tables named in `sizes`, as JSON holds them.

    Each is kept in `directory`; one that is found there with the same request is not computed again.
    """
    instances = {table["name"]: table for table in paper.get("instance", [])}
    found = []
    for name, size in sizes.items():
        table = paper["complexity"][name]
        request = json_files.plain({"name": name, "size": size, "confidence": paper["confidence"]} | table)
        path = directory / f"{name}.json"
        stored = json_files.read_json(path) if path.exists() else {}
        if stored.get("request") != request:
            start = time.perf_counter()
            if table["kind"] == "shares":
                rows = complexity.shares(table, instances=size, confidence=paper["confidence"])
            elif table["kind"] == "values":
                rows = complexity.values(table, instances)
            else:
                rows = full_bandit.KINDS[table["kind"]](table, instances, size)
            about = {key: table[key] for key in ("kind", "title", "source")}
            content = {"name": name, **about, "rows": rows, "seconds": time.perf_counter() - start}
            stored = json_files.plain({"request": request, "table": content})
            json_files.write_json(path, stored)
        found.append(stored["table"])
    return found


def judge(claims: Sequence[Mapping[str, Any]], tables: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the claims on shares with their verdicts: each of the rows of `variant` is below, or above, `value`.

    The interval of a row is the one in its table. A claim on a table that is not there is left out.
    """
    judged = []
    for claim in claims:
        rows = [row for table in tables if table["name"] == claim["table"] for row in table["rows"]]
        rows = [row for row in rows if row["variant"] == claim["variant"]]
        checks = []
        for row in rows:
            low, high = row["low"] - claim["value"], row["high"] - claim["value"]
            above = claim.get("relation", "below") == "above"
            what = row.get("what") or f"K = {row['num_arms']}, N = {row['dim']}, D = {row['variance']:g}: share"
            what += f" {'>' if above else '<'} {claim['value']:g}"
            check = {"statement": what, "difference": row["rate"] - claim["value"], "low": low, "high": high}
            checks.append(
                check | {"confidence": row["confidence"], "verdict": verdict.side(low, high, 1 if above else -1)}
            )
        if checks:
            together = verdict.together([check["verdict"] for check in checks])
            judged.append({**claim, "quantity": "share", "checks": checks, "verdict": together})
    return judged


def text(table: Mapping[str, Any]) -> str:
    """Return a table as text for people."""
    known = {"shares": complexity.shares_text, "values": complexity.values_text}
    found = known[table["kind"]](table["rows"]) if table["kind"] in known else full_bandit.text(table)
    return f"{table['title']}\n{found}"
