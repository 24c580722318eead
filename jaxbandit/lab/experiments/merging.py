"""Running parts of an experiment on independent machines, and merging the parts afterwards."""

import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandit.engine.driver import parts
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.parts import Part
from jaxbandit.engine.storage import directories, json_files
from jaxbandit.engine.storage import files as storage
from jaxbandit.lab.experiments import beginning, directory, forecast, playing
from jaxbandit.lab.experiments.experiment import Job, bar
from jaxbandit.lab.specs import spec
from jaxbandit.lab.specs.spec import Cell, Experiment
from jaxbandit.running import failures
from jaxbandit.running.distribution import division, hosts, tasks
from jaxbandit.running.results.saving import PROVENANCE
from jaxbandit.support.refusals import refuse, wrong


def part_of(text: str) -> tuple[int, int]:
    """Return (i, n) for the text "i/n", which is part i of n, counted from 0."""
    first, slash, last = text.partition("/")
    if not (slash and first.isdecimal() and last.isdecimal() and 0 <= int(first) < int(last)):
        wrong("--part", text, "I/N with 0 <= I < N, such as 3/40 for the fourth of forty")
    return int(first), int(last)


def run_part(experiment: Experiment, out: Path, part: tuple[int, int]) -> list[str]:
    """Run or resume part i of n of every cell, in a directory to which other processes may write as well.

    `part` is (i, n), where i counts from 0. The line that is returned describes what the directory now holds.
    """
    place, number = part
    forecast.check_size(experiment, out)
    with directory.disk(out):
        directories.require_ours(out, PROVENANCE)
        out.mkdir(parents=True, exist_ok=True)
        numbers, done = directory.claim(out, experiment)
        with bar([experiment], None, 1 / number, f" part {place}/{number}") as advance:
            for cell in experiment.cells():
                first = done[cell.index].runs if cell.index in done else 0
                first, end = hosts.share(first, experiment.runs, place, number)
                folder = out / division.FOLDER / f"{numbers[cell.index]:03d}"
                path = folder / tasks.file_name(first, end)
                if first == end or path.exists():
                    continue
                state = folder / f"state-{first:010d}-{end:010d}"
                execution = Execution(progress=advance, directory=state)
                runs = {"first_run": first, "num_runs": end - first}
                with directory.one_line():
                    record = playing.record_of(experiment, cell, **runs, execution=execution)
                storage.write_bytes(path, parts.encoded(parts.part_of(record, first)))
                shutil.rmtree(state, ignore_errors=True)
    return [f"part {place}/{number} is in {out}; `jaxbandit merge {out}` joins all {number} once they are there"]


def merge(
    directories: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    mixed: bool = False,
    imports: bool = False,
) -> tuple[Experiment, list[Any]]:
    """Merge the parts of one experiment into the directory that a single call would have written.

    Args:
      directories: directories of one experiment that `run --part` wrote.
      out: directory of the results. Default: the first of `directories`.
      mixed: whether parts may come from machines with different platforms, processors and versions of JAX. Identical
        results are guaranteed on one platform only, and the results record the mixture.
      imports: whether the experiment may name factories outside the package; importing their modules runs their code.

    Returns:
      The experiment, and one Result per cell.

    Raises:
      BadInput: the directories belong to different experiments, or parts overlap, are missing, are damaged, or come
        from different kinds of machines. Nothing is written in this case.
    """
    places = [Path(item) for item in directories]
    if not places:
        refuse("merge", ": no directory is given; give those that `run --part` wrote to")
    experiment = _experiment(places, imports)
    out = places[0] if out is None else Path(out)
    stored = {cell.index: _parts(experiment, cell, places) for cell in experiment.cells()}
    with beginning.opened(out):
        numbers, done = directory.claim(out, experiment)
        job = Job(experiment, out, numbers, done)
        for cell in experiment.cells():  # all are checked before the first is written
            if cell.index in job.shares:
                _judge(job.shares[cell.index], stored[cell.index], mixed)
        for cell in experiment.cells():
            if cell.index in job.shares:
                done[cell.index] = job.join(cell, stored[cell.index], mixed)
            failures.judge([done[cell.index]], experiment.max_failed)
        results = [done[cell.index] for cell in experiment.cells()]
        json_files.write_json(out / "summary.json", directory.summary_of(experiment, results))
        directory.tidy(out)
    return experiment, results


def _experiment(places: Sequence[Path], imports: bool) -> Experiment:
    """Return the experiment to which all directories belong."""
    for place in places:
        if not (place / "spec.toml").is_file():
            refuse(
                str(place),
                ": has no spec.toml, so it holds no parts of an experiment; give what `run --part` wrote to",
            )
    whole = [spec.load(place / "spec.toml", imports=imports) for place in places]
    for (a, one), (b, other) in itertools.pairwise(zip(places, whole, strict=True)):
        if difference := directory.difference(one.to_dict(), other.to_dict()):
            refuse(f"{a} and {b}", f": belong to different experiments: {difference}; merge each separately")
        first, second = (json_files.read_json(place / PROVENANCE, storage.RECOMPUTE) for place in (a, b))
        for key, what in (("sources", "the source of module"), ("files", "the content of")):
            changed = [n for n in first.get(key, {}) if second.get(key, {}).get(n) != first[key][n]]
            if changed:
                refuse(f"{a} and {b}", f": {what} {changed[0]} is not the same; run one of them again")
    return whole[0]


def _parts(experiment: Experiment, cell: Cell, places: Sequence[Path]) -> list[Part]:
    """Return the parts of a cell in the order of their runs."""
    stored, label = [], directory.label(cell)
    for place in places:
        known = json_files.read_json(place / PROVENANCE, storage.RECOMPUTE).get("cells", [])
        if label in known:
            folder = place / division.FOLDER / f"{known.index(label):03d}"
            stored += [division.read(folder, *runs) for runs in division.found(folder)]
    with directory.one_line():
        return parts.in_order(stored, f"{experiment.name}: {cell.instance.name}/{cell.algorithm.name}")


def _judge(share: division.Share, some: Sequence[Part], mixed: bool) -> None:
    """Raise BadInput if the parts of a cell lack runs or cannot be joined."""
    if missing := parts.gaps(some, share.first, share.end):
        text = ", ".join(parts.said(*runs) for runs in missing[:3]) + (" and more" if len(missing) > 3 else "")
        refuse(share.what, f": {text} in none of the directories; run the part that contains them and merge again")
    if over := [part for part in some if part.end > share.end or part.first_run < share.first]:
        refuse(
            over[0].where,
            f": has runs other than those of the experiment, {share.first} to {share.end - 1}; leave it out",
        )
    division.record_of(some, mixed)
