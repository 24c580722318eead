"""Running times per arm and round, next to those of a paper, and intervals of their ratios from repetitions.

Source: Liu, Wang, Buccapatnam, Shroff (2018), Table 2.
"""

from collections.abc import Sequence

import numpy as np

from jaxbandit.running.results.base import Result
from jaxbandit.support.text import tabulate
from jaxbandit.support.types import Json, Table
from jaxbandit.theory import intervals


def times(table: Table, data: Table, runs: int) -> list[Json]:
    """Return one row for each published time, with our time, the ratio to the reference, and the published ones.

    In each repetition every cell (one algorithm on one instance) is played once, so that other load on the machine
    affects all cells alike. The interval of a ratio is Student's interval for its logarithm over the repetitions. All
    intervals hold jointly with the `confidence` of the table.

    Args:
      table: the table of the TOML file: `rows` with instance and `microseconds` (algorithm -> published time),
        `reference` (an algorithm), `horizon` and `repetitions` (>= 2) of the measurement, and `confidence`.
      data: the paper's experiment.
      runs: number of runs of a cell in each repetition.
    """
    from jaxbandit.engine.driver.execution import Execution
    from jaxbandit.lab.experiments.experiment import run_experiment
    from jaxbandit.lab.specs.spec import parse

    reference, rows = table["reference"], []
    level = intervals.bonferroni(table["confidence"], sum(len(row["microseconds"]) - 1 for row in table["rows"]))
    experiments = [parse(_part(table, data, row, runs), data["name"]) for row in table["rows"]]
    measurements: list[list[list[float]]] = [[] for _ in experiments]  # by experiment, repetition and cell
    quiet = Execution(progress=False)
    for _ in range(table["repetitions"]):
        for measured, experiment in zip(measurements, experiments, strict=True):
            measured.append([nanoseconds(result) for result in run_experiment(experiment, None, execution=quiet)])
    for row, measured in zip(table["rows"], measurements, strict=True):
        theirs = row["microseconds"]
        ours = dict(zip(theirs, np.transpose(measured), strict=True))
        for name, values in ours.items():
            entry = {"instance": row["instance"], "variant": name, "nanoseconds": float(np.exp(np.log(values).mean()))}
            entry |= {"published_microseconds": theirs[name], "published_ratio": theirs[name] / theirs[reference]}
            if name != reference:
                interval = intervals.student_of(np.log(values / ours[reference]), level)
                ratio = {"ratio": interval.value, "low": interval.low, "high": interval.high}
                entry |= {key: float(np.exp(value)) for key, value in ratio.items()} | {"confidence": level}
                entry |= {"what": f"{row['instance']}: time of {name} over that of {reference}"}
            rows.append(entry)
    return rows


def _part(table: Table, data: Table, row: Table, runs: int) -> Json:
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


def nanoseconds(result: Result) -> float:
    """Return the nanoseconds per arm, round and run, summed over all cores and without compilation."""
    return 1e9 * result.seconds["run"] / (result.run_steps * len(result.truth["means"]))


def times_text(rows: Sequence[Table]) -> str:
    """Return the rows as text."""
    return tabulate(
        rows,
        ("instance", "{instance}"),
        ("algorithm", "{variant}"),
        ("ns", "{nanoseconds:.2f}"),
        ("ratio", lambda row: f"{row['ratio']:.2f}" if "ratio" in row else "1"),
        ("<interval", "[{low:.2f}, {high:.2f}]"),
        ("published us", "{published_microseconds:g}"),
        ("ratio", "{published_ratio:.3g}"),
        labels=2,
    )
