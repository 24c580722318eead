"""The spec of a session that a directory keeps, and names for its arms."""

from pathlib import Path

from jaxbandit.refusals import refuse
from jaxbandit.sessions.directory import ABOUT, read_about
from jaxbandit.specs import session
from jaxbandit.specs.session import SessionSpec


def stored_spec(directory: Path, *, imports: bool = True) -> SessionSpec:
    """Return the spec with which the session of a directory was begun.

    Args:
      directory: of the session.
      imports: whether a `type` may name a factory outside the package, whose module is then imported and so runs.

    Raises:
      ValueError: the directory holds no session, or one that was begun in Python.
    """
    if not (directory / ABOUT).exists():
        refuse(str(directory), ": holds no session; begin one with jaxbandit ask DIR SPEC.toml")
    kept = read_about(directory)["meta"].get("spec")
    if not isinstance(kept, dict):
        refuse(str(directory), ": its session was begun in Python, which alone knows its rule; go on there")
    return session.parse(kept, str(directory / ABOUT), directory, imports=imports)


def arm_labels(spec: SessionSpec) -> list[str]:
    """Return a name for each arm: its own, or its configuration."""
    if spec.configs is None:
        return list(spec.names)
    return [f"{i}: " + ", ".join(f"{k}={v}" for k, v in config.items()) for i, config in enumerate(spec.configs)]
