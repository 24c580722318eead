"""Results: what one cell (an instance under an algorithm) produced, and a directory of them.

saving.py writes them, loading.py reads them back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from jaxbandit.base import Outcome
from jaxbandit.extras import lab
from jaxbandit.results import frames, saving
from jaxbandit.results.json_files import plain


@dataclass(frozen=True, eq=False)
class Result:
    """One cell: arrays by name, what they were made from, what they cost.

    Of a fixed horizon it is a RegretResult, of stopping rules a StoppingResult: they say what is in `arrays`.
    """

    kind: ClassVar[str]
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
        **more: Any,
    ) -> Self:
        """Return the result that a record of the engine and its labels make."""
        arrays = {name: np.asarray(value) for name in cls.array_names if (value := getattr(record, name)) is not None}
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
            **more,
        )

    def outcomes(self) -> dict[str, int]:
        """Return how many runs ended in which way."""
        count = np.bincount(self.arrays["outcome"], minlength=len(Outcome))
        return {outcome.name.lower(): int(count[outcome]) for outcome in Outcome}

    def content(self) -> dict[str, Any]:
        """Return what the cell says beside its labels and costs."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """Return the cell as `--json` prints it; keys that do not apply are absent."""
        labels = {name: getattr(self, name) for name in ("instance", "algorithm", "params", "runs")}
        return plain(labels | self.content() | {"seconds": self.seconds, "run_steps": self.run_steps})

    def save(self, directory: str | Path) -> None:
        """Write this one result as a directory that `load` reads."""
        saving.save(self, directory)

    def to_xarray(self) -> Any:
        """Return an xarray Dataset of the arrays over the dimensions run, checkpoint and arm."""
        return frames.to_xarray(self)

    def to_dataframe(self) -> Any:
        """Return a pandas frame: a row a checkpoint of regret, or a row a run that stopped."""
        raise NotImplementedError

    def plot(self, ax: Any = None, *, what: str | None = None) -> Any:
        """Draw the result on `ax` (or a new figure), labelled for a legend; return the matplotlib Axes.

        `what`: "regret"; of runs that stop "stopping" (default), "samples", "error" or "pulls".
        """
        from jaxbandit.plotting.figures import draw

        return draw([self], ax, what, alone=True)


@dataclass(frozen=True, eq=False)
class ResultSet(Sequence[Result]):
    """The results of one experiment in the order of its cells; `results["instance", "algorithm"]` is one."""

    name: str
    results: tuple[Result, ...]
    spec: str = field(default="", repr=False)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | slice):
            return self.results[key]
        found = [r for r in self.results if (r.instance, r.algorithm) == tuple(key)]
        if len(found) != 1:
            known = ", ".join(f"{r.instance}/{r.algorithm}" for r in self.results)
            raise KeyError(f"{'/'.join(key)} names {len(found)} results, must name one of {known}")
        return found[0]

    def summary(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        first = self.results[0]
        return saving.summary(self.name, first.kind, first.seed, first.precision, self.results)

    def to_dataframe(self) -> Any:
        """Return the frames of all results, one below the other."""
        with lab():
            import pandas

        return pandas.concat([result.to_dataframe() for result in self.results], ignore_index=True)

    def plot(self, ax: Any = None, *, instance: str | None = None, what: str | None = None, **look: Any) -> Any:
        """Draw every algorithm on one instance (the first unless named); return the matplotlib Axes.

        `what` as for `Result.plot`; `look`, of regret: bands = "95 %" or "standard error", minimax, log.
        """
        from jaxbandit.plotting.figures import draw

        instance = self.results[0].instance if instance is None else instance
        return draw([r for r in self.results if r.instance == instance], ax, what, **look)


def versions() -> dict[str, str]:
    """Return the versions that a number may depend on."""
    from jaxbandit import __version__

    return {"jaxbandit": __version__, "jax": metadata.version("jax"), "numpy": np.__version__}
