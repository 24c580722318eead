"""Times of an arm and a round beside a paper's: cells played again and again, in turn, so that a ratio has an interval.

Liu, Wang, Buccapatnam, Shroff (2018), Table 2.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandit.stats import intervals
from jaxbandit.text import align


def times(table: Mapping[str, Any], data: Mapping[str, Any], runs: int) -> list[dict[str, Any]]:
    """Return a row for each published time: ours, its ratio to the reference's, and the published ones.

    In each repetition every cell is played once, so that what else the machine does falls on all of them. The interval
    of a ratio is Student's, of the logarithm, over the repetitions; all hold together with the table's `confidence`.

    Args:
      table: `rows` with instance and `microseconds`, algorithm -> published; `reference`, an algorithm; `horizon` and
        `repetitions` >= 2 of a measurement; `confidence`.
      data: the paper's experiment.
      runs: of a cell in a repetition.
    """
    from jaxbandit.running.experiment import run_experiment
    from jaxbandit.specs.spec import parse

    reference, rows = table["reference"], []
    level = intervals.bonferroni(table["confidence"], sum(len(row["microseconds"]) - 1 for row in table["rows"]))
    experiments = [parse(_part(table, data, row, runs), data["name"]) for row in table["rows"]]
    taken: list[list[list[float]]] = [[] for _ in experiments]  # of each experiment, repetition and cell
    for _ in range(table["repetitions"]):
        for measured, experiment in zip(taken, experiments, strict=True):
            measured.append([nanoseconds(result) for result in run_experiment(experiment, None, progress=False)])
    for row, measured in zip(table["rows"], taken, strict=True):
        theirs = row["microseconds"]
        ours = dict(zip(theirs, np.transpose(measured), strict=True))
        for name, values in ours.items():
            found = {"instance": row["instance"], "variant": name, "nanoseconds": float(np.exp(np.log(values).mean()))}
            found |= {"published_microseconds": theirs[name], "published_ratio": theirs[name] / theirs[reference]}
            if name != reference:
                interval = intervals.student_of(np.log(values / ours[reference]), level)
                ratio = {"ratio": interval.value, "low": interval.low, "high": interval.high}
                found |= {key: float(np.exp(value)) for key, value in ratio.items()} | {"confidence": level}
                found |= {"what": f"{row['instance']}: time of {name} over that of {reference}"}
            rows.append(found)
    return rows


def _part(table: Mapping[str, Any], data: Mapping[str, Any], row: Mapping[str, Any], runs: int) -> dict[str, Any]:
    algorithms = {item["name"]: item for item in data["algorithm"]}
    return {
        "name": f"{data['name']}-times",
        "kind": "simulate",
        "seed": data["seed"],
        "runs": runs,
        "horizon": table["horizon"],
        "instance": [item for item in data["instance"] if item["name"] == row["instance"]],
        "algorithm": [algorithms[name] for name in row["microseconds"]],
    }


def nanoseconds(result: Any) -> float:
    """Return the time of one arm in one round of one run, over all cores together, without compilation."""
    return 1e9 * result.seconds["run"] / (result.run_steps * len(result.truth["means"]))


def times_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as text."""
    lines = [("instance", "algorithm", "ns", "ratio", "interval", "published us", "ratio")]
    for row in rows:
        ratio = [f"{row[key]:.2f}" for key in ("ratio", "low", "high")] if "ratio" in row else []
        lines.append(
            (
                row["instance"],
                row["variant"],
                f"{row['nanoseconds']:.2f}",
                ratio[0] if ratio else "1",
                f"[{ratio[1]}, {ratio[2]}]" if ratio else "",
                f"{row['published_microseconds']:g}",
                f"{row['published_ratio']:.3g}",
            )
        )
    return align(lines, right=(2, 3, 5, 6))
