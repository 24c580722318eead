"""One door to everything that has `save`: what a directory holds is told by the files in it."""

from pathlib import Path

from jaxbandit.decide.sessions import stored
from jaxbandit.decide.tuning import loading as searches
from jaxbandit.decide.tuning import store
from jaxbandit.decide.tuning.result import TuneResult
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.loading import load_results
from jaxbandit.support.refusals import refuse

# What else a directory may hold, by the file that marks it, and what can be done with it.
OTHERS = {
    stored.ABOUT: ("a session", "session_directory(path, rule) opens it"),
    store.ABOUT: ("scores of a search without its result", "the same search with this directory returns the result"),
    "paper.json": ("the reproduction of a paper", "load the directories of results in it"),
    "audit.json": ("an audit", "jaxbandit report DIR shows it"),
    "identity.json": ("a simulation or search that has not ended", "the call that began it resumes it"),
}


def load(directory: str | Path) -> ResultSet | TuneResult:
    """Read what `save` wrote: results of simulations, or the result of a search.

    Args:
      directory: path of a directory that the `save` of a result, of several, or of a search wrote, or the commands
        `jaxbandit run` and `jaxbandit tune`.

    Returns:
      A ResultSet with one Result per cell; of a search its TuneResult, or SearchResult. A loaded result has the numbers
      and texts of the saved one. What is code in a configuration, such as a function, is not restored: its text stands
      in its place, and a warning names it. So do the classes of configurations other than dictionaries and tuples,
      which become dictionaries; arrays of JAX become arrays of NumPy.

    Raises:
      ValueError: the directory holds something else, or a file is missing or damaged. The message names the file.
    """
    directory = Path(directory)
    if directory.is_file():
        refuse(str(directory), ": is a file, must be a directory; load_session(path, rule) reads a session in a file")
    if searches.holds_search(directory):
        return searches.load(directory)
    mark = next((name for name in OTHERS if (directory / name).exists()), None)
    if mark is not None and not any(directory.glob("cell-*.json")):
        what, remedy = OTHERS[mark]
        refuse(str(directory), f": holds {what}, must hold results or a search that were saved; {remedy}")
    return load_results(directory)
