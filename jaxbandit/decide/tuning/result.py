"""The result of a search: the chosen configuration, a table of configurations, and a history of trainings."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.core.wording import rare_heading
from jaxbandit.decide.tuning import saving
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.result_charts import by_batch, scores
from jaxbandit.decide.tuning.stored_values import data_of, stored_columns
from jaxbandit.decide.tuning.values import as_data
from jaxbandit.running.results.base import versions
from jaxbandit.support import extras
from jaxbandit.support.document import Describable, Document, Facts, Notes, Section, Table, fold
from jaxbandit.support.types import ArrayLike, PyTree
from jaxbandit.theory.intervals import CONFIDENCE, student

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SHOWN, LISTED = 10, 1000  # rows of the table in a text and in a report
UNPROVED = "the choice carries no guarantee, and each interval is a Student interval for a single configuration"

STORED = ("maximize", "notes", "seconds", "why", "reused", "spare", "versions")  # fields that are plain data


@dataclass(frozen=True, eq=False, repr=False)
class TuneResult(Describable):
    """The result of `tune`, `successive_halving` or `hyperband`; `str` has the best rows, and `repr` one line."""

    best_config: PyTree  # the chosen configuration, as it was given
    index: int  # its number
    certificate: Certificate  # what is known of the choice; without intervals and a guarantee if nothing is
    # One row per configuration: index, pulls (its number of trainings), of `tune` attempts (with those that were
    # repeated) and failed (trainings without success), mean, low, high (NaN if there is no interval), survivor. For
    # quantiles also `quantile`, for the mean of the worst share `worst`, and low and high are its bounds.
    table: dict[str, np.ndarray]
    # One row per training in the order of id: id, config (index of the configuration), seed (number of the seed),
    # score (NaN if it failed and has none), batch (number of the decision that used it); of `tune` also attempts and
    # failed; of halving also steps, the step after which it was scored.
    history: dict[str, np.ndarray]
    configs: Configs = field(repr=False)
    maximize: bool
    notes: tuple[str, ...]  # remarks that belong to the numbers
    seconds: dict[str, float]  # "total", and "trainings" as a part of it
    # What ended `tune`: "epsilon", "max_trainings", "timeout", "rule" if the rule has stopped, or "alone" if all other
    # configurations that were given are excluded, but some of the directory are not, "table" if a table of scores has
    # no more of them, or "contradiction" if the data contradict an assumption.
    why: str = ""
    reused: int = 0  # trainings whose scores were in the directory before
    spare: int = 0  # further trainings, which were begun while scores were missing, and which no decision needed
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def is_certified(self) -> bool:
        """Whether something is known of the choice, as by `tune`, and not by halving."""
        return self.certificate.coverage is not None

    def columns(self) -> dict[str, np.ndarray]:
        """Return the table with the hyperparameters of each configuration, as `config.NAME`."""
        return {**self.table, **stored_columns(self.configs)}

    def to_dataframe(self) -> "DataFrame":
        """Return the table as a pandas DataFrame with one row per configuration, including its hyperparameters."""
        with extras.lab():
            import pandas

        columns = {name: c if c.ndim == 1 else list(c) for name, c in self.columns().items()}
        return pandas.DataFrame(columns)

    def plot(self) -> "Figure":
        """Return a matplotlib figure of the remaining configurations, the means with intervals, and the trainings."""
        from jaxbandit.running.plotting.tuning import plot_tuning

        return plot_tuning(self)

    def ranking(self) -> np.ndarray:
        """Return the indices of the configurations: survivors first, then by score; those without a score come last."""
        value = self.table[self._column()] * (1 if self.maximize else -1)
        value = np.where(np.isnan(value), -np.inf, value)
        return np.lexsort((self.table["index"], -value, ~self.table["survivor"]))

    def describe(self, *, detail: bool = False) -> Document:
        """Return what the result shows; its data are what `jaxbandit tune --json` prints and summary.json holds."""
        about = {
            "score": "larger is better" if self.maximize else "smaller is better",
            "versions": ", ".join(f"{name} {version}" for name, version in self.versions.items()),
            "seconds": ", ".join(f"{seconds:,.2f} {name}" for name, seconds in self.seconds.items()),
        }
        title, *others = [*filter(None, [self.certificate.contradiction]), self._chosen()]
        folded = fold("where these numbers come from", Facts(about))
        blocks = [Notes([*others, *self._promise(), self._spent()]), self._rows(SHOWN), Notes(self.notes), folded]
        if detail:
            promise, of = (
                self.certificate.facts(self._rare_events()),
                f"{self.certificate.statistic.capitalize()} scores",
            )
            blocks = [
                Notes([*others, self._spent()]),
                Section("Certificate", [*promise, Notes(self.notes)]),
                Section("Configurations by batch", by_batch(self.history, self.configs.count)),
                Section(of, [scores(self.table, self.ranking(), self.index, of), self._rows(LISTED)]),
                folded,
            ]
        return Document(title, blocks, self._data())

    def _data(self) -> dict[str, Any]:
        certificate, rare = self.certificate, self._rare_events()
        return {
            "kind": "tune",
            **({"contradiction": certificate.contradiction} if certificate.contradiction else {}),
            **{name: version for name, version in self.versions.items() if name != "numpy"},
            "chosen": self._row(self.index),
            "trainings": self._trainings(),
            **({"ended_by": self.why} if self.why else {}),
            "maximize": self.maximize,
            "certificate": {**certificate.to_json(), **({"rare_events": rare} if rare else {})},
            "notes": list(self.notes),
            "configurations": [self._row(int(i)) for i in self.ranking()],
        }

    def save(self, directory: str | Path) -> None:
        """Write the result to a directory that `load` reads; tables and summary can be read without this package too.

        Args:
          directory: the directory, which is created if it does not exist.

        Raises:
          ValueError: a file cannot be written.
          Unfinished: the disk is full.
        """
        saving.save(Path(directory), self.to_json(), self._arrays(), self._about())

    def _arrays(self) -> dict[str, dict[str, np.ndarray]]:
        """The arrays that are saved, by the name of the file."""
        return {"history": self.history, "table": self.columns()}

    def _about(self) -> dict[str, Any]:
        """All other fields, as plain data."""
        fields = {name: getattr(self, name) for name in STORED}
        more = {"certificate": self.certificate.to_json(), "configs": data_of(self.configs)}
        return {**fields, "index": self.index, **more}

    def __repr__(self) -> str:
        first = f"{self.certificate.contradiction}; " if self.certificate.contradiction else ""
        return f"{first}{self._chosen()} after {self._spent()}"

    def _chosen(self) -> str:
        row = self._row(self.index)
        low, high = (f"{row[end]:.5g}" if end in row else "unknown" for end in ("low", "high"))
        interval = f" [{low}, {high}]" if {"low", "high"} & row.keys() else ""
        scored = f"{self.certificate.statistic} score {row.get(self._column(), math.nan):.5g}{interval}"
        what = scored if self._column() in row else "not scored"
        return f"configuration {self.index}: {self.configs.text(self.index)}; {what}"

    def _column(self) -> str:
        """The name of the column of what is compared."""
        return next((name for name in ("quantile", "worst") if name in self.table), "mean")

    def _trainings(self) -> int:
        """The number of trainings, with the attempts that failed."""
        return int(self.history["attempts"].sum()) if "attempts" in self.history else len(self.history["id"])

    def _promise(self) -> list[str]:
        if not self.is_certified:
            return []
        certificate, rare = self.certificate, self._rare_events()
        heading = [f"{rare_heading(certificate.coverage)}:"] if rare else []
        lines = [certificate.known] if certificate.known and not certificate.contradiction else []
        if self.why in ("", "rule"):  # else what is known now is the guarantee
            lines += [f"{certificate.rule}: {certificate.promise}"]
        return [*lines, *heading, *rare, *certificate.notes]

    def _rare_events(self) -> list[str]:
        whole = len(self.certificate.pulls) == self.configs.count
        names = [f"configuration {i}" for i in range(self.configs.count)] if whole else self.certificate.names
        return self.certificate.rare_events(names, "trainings")

    def _spent(self) -> str:
        why = f", ended by {self.why}" if self.why else ""
        reused = f" ({self.reused:,} of them from the directory)" if self.reused else ""
        spare = f", and {self.spare:,} that were begun ahead and not needed" if self.spare else ""
        return f"{self._trainings():,} trainings{reused}{self._of()}{why}{spare}"

    def _of(self) -> str:
        """What was trained."""
        return f" of {self.configs.count:,} configurations"

    def _row(self, index: int) -> dict[str, Any]:
        """One configuration as plain data, without the entries that are unknown."""
        numbers = {name: column[index].item() for name, column in self.table.items() if name != "index"}
        known = {name: value for name, value in numbers.items() if np.isfinite(value)}
        return {"index": index, "config": as_data(self.configs.row(index)), **known}

    def _rows(self, most: int) -> Table:
        """The best rows of the table, and a line with the number of rows that are not shown."""
        order = self.ranking()[:most]
        first = {"first score": "first_score"} if "first_score" in self.table else {}  # of `search`
        numeric = {**first, self.certificate.statistic: self._column(), "low": "low", "high": "high"}
        extra = [name for name in ("attempts", "failed") if name in self.table and self._differs(name)]
        head, rows = ("", "trainings", *extra, *numeric, "survivor", "configuration"), []
        for i in map(int, order):
            numbers = [self.table[name][i] for name in numeric.values()]
            cells = ["" if np.isnan(number) else f"{number:.5g}" for number in numbers]
            left = "chosen" if i == self.index else "yes" if self.table["survivor"][i] else ""
            counts = [f"{self.table[name][i]:,}" for name in ("pulls", *extra)]
            rows.append((str(i), *counts, *cells, left, self.configs.text(i)))
        more = self.configs.count - len(order)
        notes = [f"and {more:,} more"] if more else []
        return Table(head, rows, right=range(len(head) - 2), labels=0, caption="Configurations", notes=notes)

    def _differs(self, name: str) -> bool:
        """Whether a column of counts says more than the number of trainings."""
        return bool((self.table[name] != (self.table["pulls"] if name == "attempts" else 0)).any())


def tune_result(
    configs: Configs,
    index: int,
    history: Mapping[str, ArrayLike],
    *,
    survivors: ArrayLike,
    certificate: Certificate | str,
    intervals: tuple[np.ndarray, np.ndarray] | None = None,
    counted: ArrayLike | None = None,
    location: np.ndarray | None = None,
    locates: str = "quantile",
    maximize: bool = True,
    notes: tuple[str, ...] = (),
    seconds: Mapping[str, float] | None = None,
    why: str = "",
    reused: int = 0,
    spare: int = 0,
) -> TuneResult:
    """Return the result of a search.

    Args:
      configs: the configurations that were searched.
      index: index of the chosen configuration.
      history: columns with one row per training, at least id, config, seed, score and batch, as in `TuneResult`.
      survivors: bool[configs.count], which configurations had not been dropped at the end.
      certificate: what is known of the choice; or, if nothing is, which a note then states, what has chosen.
      intervals: low and high of each mean. None uses Student's intervals of the scores of each configuration.
      counted: bool[rows], which rows enter the means, such as those of a configuration's last rung. None means all.
      location: what is compared of each configuration's scores, if it is not their mean.
      locates: the column that has it, "quantile" or "worst".
      maximize, notes, seconds, why, reused, spare: as in `TuneResult`.
    """
    order = np.argsort(np.asarray(history["id"]), kind="stable")
    columns = {name: np.asarray(column)[order] for name, column in history.items()}
    rows = np.ones(len(order), bool) if counted is None else np.asarray(counted)[order]
    rows &= ~np.isnan(columns["score"]) if "failed" in columns else True  # failed trainings have no score
    arm, score = columns["config"][rows], columns["score"][rows]
    pulls, scored = (np.bincount(arms, minlength=configs.count) for arms in (columns["config"], arm))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(arm, score, configs.count) / scored
        variance = np.bincount(arm, (score - mean[arm]) ** 2, configs.count) / (scored - 1)
    if intervals is None:
        low, high = np.full((2, configs.count), np.nan)
        for n in np.unique(scored[scored > 1]):
            of = scored == n
            interval = student(mean[of], variance[of], int(n), CONFIDENCE)
            low[of], high[of] = interval.low, interval.high
    else:
        low, high = (np.asarray(end, np.float64) for end in intervals)
    table = {
        "index": np.arange(configs.count),
        "pulls": pulls,
        **{
            name: np.bincount(columns["config"], columns[name], configs.count).astype(np.int64)
            for name in ("attempts", "failed")
            if name in columns
        },
        "mean": mean,
        **({} if location is None else {locates: location}),
        "low": np.where(np.isfinite(low), low, np.nan),
        "high": np.where(np.isfinite(high), high, np.nan),
        "survivor": np.asarray(survivors, bool),
    }
    known = {"best_config": configs.row(index), "index": int(index), "table": table, "history": columns}
    if isinstance(certificate, str):
        left, choice = table["survivor"], np.array([index], np.int32)
        blank = dict.fromkeys(("guarantee", "means", "low", "high", "coverage"))
        certificate = Certificate(
            certificate, stopped=True, recommendation=choice, pulls=pulls, survivors=left, assumptions=(), **blank
        )
        notes = (UNPROVED, *notes)
    known |= {"certificate": certificate, "configs": configs, "maximize": maximize, "notes": notes}
    return TuneResult(**known, seconds=dict(seconds or {}), why=why, reused=reused, spare=spare)
