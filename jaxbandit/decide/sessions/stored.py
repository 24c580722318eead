"""The spec that is stored in a session directory, and the names of its arms."""

from pathlib import Path

from jaxbandit.base.refusals import refuse
from jaxbandit.decide.sessions.directory import ABOUT, read_about
from jaxbandit.lab.specs import session
from jaxbandit.lab.specs.session import SessionSpec


def stored_spec(directory: Path, *, imports: bool = True) -> SessionSpec:
    """Return the spec with which the session of a directory was begun.

    Args:
      directory: path of the session directory.
      imports: whether a `type` may name a factory outside the package. Importing its module runs its code.

    Raises:
      ValueError: the directory holds no session, or one that was begun in Python.
    """
    if not (directory / ABOUT).exists():
        refuse(str(directory), ": holds no session; begin one with jaxbandit ask DIR SPEC.toml")
    kept = read_about(directory)["meta"].get("spec")
    if not isinstance(kept, dict):
        refuse(str(directory), ": its session was begun in Python, where its rule is defined; continue it there")
    return session.parse(kept, str(directory / ABOUT), directory, imports=imports)


def arm_labels(spec: SessionSpec) -> list[str]:
    """Return the label of each arm: its name, or its number and configuration."""
    if spec.configs is None:
        return list(spec.names)
    return [f"{i}: " + ", ".join(f"{k}={v}" for k, v in config.items()) for i, config in enumerate(spec.configs)]
