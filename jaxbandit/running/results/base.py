"""Results of one cell, which is one algorithm on one instance, and sets of results.

`saving.py` writes them to files, and `loading.py` reads them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.engine.rounds.states import STATE
from jaxbandit.running.results import frames, names, report, saving
from jaxbandit.running.results.doubts import FAULTS, left_out, skewed
from jaxbandit.running.results.judging import means_of_choices
from jaxbandit.support.document import Describable, Document, plain
from jaxbandit.support.extras import lab
from jaxbandit.support.version import __version__, version_of
from jaxbandit.theory import intervals


@dataclass(frozen=True, eq=False, repr=False)
class Result(Describable):
    """The result of one cell, which is one algorithm on one instance: its arrays, labels, provenance and run time."""

    kind: ClassVar[str]
    faults: ClassVar[Mapping[Outcome, str]] = FAULTS  # outcomes of runs that are left out of the means, in words
    array_names: ClassVar[tuple[str, ...]]

    instance: str
    algorithm: str
    params: dict[str, Any]
    seed: int
    precision: str
    runs: int
    arrays: dict[str, np.ndarray] = field(repr=False)
    seconds: dict[str, float]
    run_steps: int
    devices: list[str]
    versions: dict[str, str]
    truth: dict[str, Any] = field(default_factory=dict)
    identity: dict[str, Any] = field(default_factory=dict)  # what the numbers depend on, by name; empty if unknown
    any_rewards: bool = False  # whether the rewards are ones that the algorithm is not designed for
    any_context: bool = False  # whether the algorithm ignores the contexts
    states_like: Any = field(default=None, kw_only=True)  # the tree of the names of the arrays of last states, if known

    @classmethod
    def from_record(
        cls,
        record: Any,
        *,
        instance: str,
        algorithm: str,
        params: dict[str, Any],
        seed: int,
        precision: str,
        truth: dict[str, Any],
        instances: Mapping[str, np.ndarray] = MappingProxyType({}),
        **more: Any,
    ) -> Self:
        """Return the result of a record of the engine with the given labels.

        `instances` are the arrays of what each run has drawn from a prior.
        """
        arrays = {name: np.asarray(value) for name in cls.array_names if (value := getattr(record, name)) is not None}
        arrays |= {**record.more, **instances}
        for array in arrays.values():
            if array.flags.writeable:
                array.setflags(write=False)
        return cls(
            instance=instance,
            algorithm=algorithm,
            params=plain(params),
            seed=int(seed),
            precision=precision,
            runs=len(arrays["outcome"]),
            arrays=arrays,
            seconds={"compile": float(record.compile_seconds), "run": float(record.run_seconds)},
            run_steps=int(record.run_steps),
            devices=[str(device) for device in record.devices],
            versions=versions(),
            truth=plain(truth),
            identity=plain(dict(record.identity)),
            **more,
        )

    @property
    def prior(self) -> tuple[str, ...]:
        """Names of the instance's arguments that each run draws from a prior; empty if all runs have one instance."""
        return tuple(self.truth.get("prior", ()))

    @property
    def states(self) -> Any:
        """The last states that `keep` asked for, as a tree of arrays [runs, ...]; None if there are none.

        A result that was read from files, or joined from parts, has them in a dictionary by the names of the fields.
        """
        if self.states_like is not None:
            import jax

            return jax.tree.map(lambda name: self.arrays[name], self.states_like)
        return {name.removeprefix(STATE): x for name, x in self.arrays.items() if name.startswith(STATE)} or None

    def outcomes(self) -> dict[str, int]:
        """Return the number of runs with each outcome, by the name of the outcome in lower case."""
        count = np.bincount(self.arrays["outcome"], minlength=len(Outcome))
        return {outcome.name.lower(): int(count[outcome]) for outcome in Outcome}

    def ended(self, *outcomes: Outcome) -> np.ndarray:
        """Return which runs ended with one of the given outcomes, bool[runs]."""
        return np.isin(self.arrays["outcome"], outcomes)

    def counts(self) -> np.ndarray:
        """Return which runs are included in the means, bool[runs]; failed runs are not."""
        return ~self.ended(*self.faults)

    @property
    def counted(self) -> int:
        """Number of runs in the means."""
        return int(self.counts().sum())

    @property
    def left_out(self) -> str:
        """How many runs are left out of the means and why, "91 of 500 runs left out: not finite"; "" if none is."""
        return left_out(self.runs, self.outcomes(), self.faults)

    def limits(self, what: str | None) -> tuple[float, float]:
        """Return the least and the largest value that a metric can have, which are infinite if they are not known."""
        least, most = self.identity.get("limits", {}).get(what, (-np.inf, np.inf))
        means = means_of_choices(self.truth)
        return least, (np.inf if means is None else max(means) - min(means)) if most == "gap" else most

    def mean_pulls(self) -> intervals.Interval[np.ndarray] | None:
        """Return the mean pulls of each arm with their 95 % interval, float64[K]; None if they are unknown.

        The ends are NaN if only the mean over runs was kept, if one run counts, or if all runs pulled equally often.
        """
        counts = self.counts()
        pulls = self.arrays["pulls"][counts].astype(np.float64) if "pulls" in self.arrays else np.zeros((0, 0))
        mean = pulls.mean(axis=0) if len(pulls) else self.arrays.get("pulls_mean")
        if mean is None or not counts.any():
            return None
        if len(pulls) < 2:
            return intervals.Interval(mean, *np.full((3, len(mean)), np.nan))
        interval = intervals.student(mean, pulls.var(axis=0, ddof=1), len(pulls), limits=(0, np.inf))
        known = np.isfinite(interval.high)
        return interval._replace(low=np.where(known, interval.low, np.nan), high=np.where(known, interval.high, np.nan))

    def averaged(self) -> np.ndarray:
        """Return the numbers of single runs whose mean has a Student interval, float64[...]; none if not kept."""
        return np.zeros(0)

    def doubts(self, what: str | None = None) -> list[str]:
        """Return why a mean or its interval is doubtful, one line each; `what` is as for `notes`."""
        return skewed(self.averaged(), self.counted)

    def notes(self, what: str | None = None) -> list[str]:
        """Return notes for the foot of a table or a figure, one line each; `what` is the one curve that is shown."""
        lines = [f"{self.algorithm} was run on rewards that it is not designed for"] if self.any_rewards else []
        lines += [f"{self.algorithm} ignored the context"] if self.any_context else []
        lines += [f"{self.algorithm}: runs of different machines, {kind}" for kind in self.identity.get("mixed", [])]
        lines += [f"{self.algorithm}: {line}" for line in self.doubts(what)]
        return [f"{self.algorithm}: {self.left_out}", *lines] if self.left_out else lines

    def headline(self) -> str:
        """Return the result in one line."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "; ".join([self.headline(), *filter(None, [self.left_out]), *self.doubts()])

    __str__ = __repr__

    def describe(self, *, detail: bool = False) -> Document:
        """Return what the result shows."""
        return Document(repr(self), report.blocks([self]), self.to_json())

    def content(self) -> dict[str, Any]:
        """Return the entries of the summary other than labels and run times."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the summary of the cell that `--json` prints; keys that do not apply are absent."""
        labels = {name: getattr(self, name) for name in ("instance", "algorithm", "params", "runs")}
        marked = {"any_rewards": True} if self.any_rewards else {}
        marked |= {"any_context": True} if self.any_context else {}
        marked |= {"prior": self.prior} if self.prior else {}
        marked |= {"notes": notes} if (notes := self.notes()) else {}
        return plain(labels | self.content() | marked | {"seconds": self.seconds, "run_steps": self.run_steps})

    def save(self, directory: str | Path, *, replace: bool = False) -> None:
        """Write this result to a directory that `load` reads; other results there are deleted only if `replace`."""
        saving.save(self, directory, replace=replace)

    def to_xarray(self) -> Any:
        """Return an xarray Dataset of the arrays with the dimensions run, checkpoint and arm."""
        return frames.to_xarray(self)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with one row per checkpoint (regret), per run (stopping rules) or per budget."""
        raise NotImplementedError

    def plot(self, ax: Any = None, *, what: str | None = None) -> Any:
        """Draw the result on `ax` or on a new figure and return the matplotlib Axes. See `plot`."""
        from jaxbandit.running.plotting.figures import plot

        return plot(self, ax, what=what)


R = TypeVar("R", bound=Result)


@dataclass(frozen=True, eq=False, repr=False)
class ResultSet(Describable, Sequence[R]):
    """The results of one experiment, in the order of its cells.

    `results["instance", "algorithm"]` returns one result, and `results["instance", "algorithm?parameter=value"]`
    returns one result of a sweep.
    """

    name: str
    results: tuple[R, ...]
    spec: str = field(default="", repr=False)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[R]:
        return iter(self.results)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | slice):
            return self.results[key]
        wanted = key if isinstance(key, str) else "/".join(key)
        matches = names.found(self.results, wanted)
        if len(matches) != 1:
            known = ", ".join(names.addresses(self.results))
            raise KeyError(f"{wanted} names {len(matches)} results, must name one of {known}")
        return matches[0]

    def __repr__(self) -> str:
        lines = [f"{self.name}: {len(self)} result{'s' * (len(self) != 1)}", *map(repr, self.results)]
        return "\n  ".join(lines)

    __str__ = __repr__

    def describe(self, *, detail: bool = False) -> Document:
        """Return what the results show."""
        title = f"{self.name}: {len(self)} result{'s' * (len(self) != 1)}"
        return Document(title, report.blocks(self.results), self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the summary that `--json` prints."""
        return saving.summary(self.name, self.results)

    def to_dataframe(self) -> Any:
        """Return the concatenated pandas DataFrames of all results."""
        with lab():
            import pandas

        return pandas.concat([result.to_dataframe() for result in self.results], ignore_index=True)

    def plot(self, ax: Any = None, *, instance: str | None = None, what: str | None = None, **look: Any) -> Any:
        """Draw all algorithms on one instance, by default the first, and return the matplotlib Axes. See `plot`."""
        from jaxbandit.running.plotting.figures import plot

        return plot(self, ax, what=what, instance=instance, **look)

    def save(self, directory: str | Path, *, replace: bool = False) -> None:
        """Write the results to a directory that `load` reads; other results there are deleted only if `replace`."""
        saving.save(self, directory, replace=replace)


def versions() -> dict[str, str]:
    """Return the versions of the packages on which results may depend."""
    return {"jaxbandit": __version__, "jax": version_of("jax"), "numpy": np.__version__}
