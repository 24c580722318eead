"""One HTML file about what a directory holds: results of an experiment or a paper, an audit, a search, or a session."""

from pathlib import Path

from jaxbandit.decide.tuning.loading import holds_search
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.lab.report import experiments, provenance
from jaxbandit.lab.report.page import MARK, html_of
from jaxbandit.running.plotting.style import count_of_runs
from jaxbandit.running.results.loading import load_results
from jaxbandit.running.results.saving import PROVENANCE
from jaxbandit.support import reading
from jaxbandit.support.document import Document, Notes, Section
from jaxbandit.support.refusals import refuse, unwritable

NAME = "report.html"
KINDS = {
    "simulate": "Regret over a fixed horizon",
    "identify": "Identification with a stopping rule",
    "budget": "Identification with a fixed budget",
}


def write_report(directory: str | Path, out: str | Path | None = None) -> Path:
    """Write an HTML file about the results in a directory, atomically, and return its path.

    The file refers to nothing outside itself. Nothing that the directory names is imported, so a report on results that
    somebody sent runs no code of theirs.

    Args:
      directory: path of a directory that `jaxbandit run`, `reproduce`, `audit` or `tune` wrote, or of a session, or of
        a file that `save_session` wrote.
      out: path of the file. Default: report.html in the directory, or the name of the session's file with the suffix
        .html. An existing report is replaced.

    Raises:
      ValueError: the directory holds no results, a file in it is damaged, or `out` is an existing file that is not a
        report.
    """
    directory = Path(directory)
    saved = directory.is_file()
    default = directory.with_suffix(".html") if saved else directory / NAME
    path = default if out is None else Path(out)
    if not saved and not directory.is_dir():
        refuse(
            str(directory), ": does not exist; give a directory that jaxbandit run, reproduce, audit, tune or ask wrote"
        )
    _replaceable(path)
    return write_page(_saved(directory) if saved else _document(directory), path)


def write_page(document: Document, path: Path) -> Path:
    """Write the report of a document to a file, atomically, and return its path; refuse to replace another file."""
    _replaceable(path)
    try:
        storage.write_bytes(path, html_of(document))
    except OSError as error:
        unwritable(str(path), error, "give another -o")
    return path


def _replaceable(path: Path) -> None:
    """Raise BadInput if the path exists and is not a report."""
    if path.is_dir():
        refuse(str(path), ": is a directory, must be a file; give another -o")
    if not path.exists():
        return
    with reading.opened(str(path), path, "another -o") as file:
        there = file.read(len(MARK))
    if there != MARK.encode():
        refuse(str(path), ": is not a report, so it is not replaced; give another -o")


def _document(directory: Path) -> Document:
    if holds_search(directory):
        from jaxbandit.lab.report import searches

        return searches.page_of(directory)
    path = directory / "summary.json"
    summary = read_json(path, storage.RECOMPUTE) if path.exists() else {}
    if isinstance(summary.get("paper"), dict):
        from jaxbandit.lab.report import reproductions

        return reproductions.page_of(directory, summary)
    if summary or any(directory.glob("cell-*.json")):
        return _experiment(directory)
    if (directory / "audit.json").exists():
        from jaxbandit.lab.report import audits

        return audits.page_of(directory)
    if (directory / "audit").is_dir():
        refuse(str(directory), ": its audit has not finished; run jaxbandit audit again to resume it")
    if (directory / "scores.json").exists():
        refuse(str(directory), ": its search has not finished; run jaxbandit tune again to resume it")
    if (directory / "session.json").exists():
        return _session(directory)
    return refuse(
        str(directory), ": holds no results; give a directory that jaxbandit run, reproduce, audit, tune or ask wrote"
    )


def _experiment(directory: Path) -> Document:
    results = load_results(directory)
    algorithms = len({(r.algorithm, str(r.params)) for r in results})
    instances = len({r.instance for r in results})
    kind = KINDS[results[0].kind]
    what = f"{kind}: {_count(algorithms, 'algorithm')} on {_count(instances, 'instance')}"
    about = [f"{what}, {count_of_runs(results)} of each, seed {results[0].seed}."]
    path = directory / PROVENANCE
    order = read_json(path, storage.RECOMPUTE).get("order", []) if path.exists() else []
    if len(order) > len(results):
        about.append(
            f"Not finished: {len(results):,} of {len(order):,} cells are available; run the command again to resume."
        )
    sources = Section("Provenance", provenance.of_results(results, directory))
    sections = [*experiments.sections(results), provenance.warnings_of(results), sources]
    return Document(results.name, [Notes(about), *sections])


def _session(directory: Path) -> Document:
    from jaxbandit.lab.report import session_logs

    return session_logs.page_of(directory)


def _saved(path: Path) -> Document:
    from jaxbandit.lab.report import session_logs

    return session_logs.page_of_file(path)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
