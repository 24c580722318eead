"""The commands that change a session: report rewards, correct them, wait no longer for them, close and open arms."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from jaxbandit.lab.cli.endings import DONE, bad_input
from jaxbandit.lab.cli.session_commands import DIRECTORY, IMPORT, spec_of
from jaxbandit.support import decimals, reading
from jaxbandit.support.refusals import refuse, show

if TYPE_CHECKING:
    from jaxbandit.decide.sessions.directory import SessionDirectory

IDS = arg(metavar="ID")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A command that changes a session."""

    directory: Annotated[Positional[Path], DIRECTORY]
    """Directory of the session."""
    imports: Annotated[bool, IMPORT] = False
    """Import the module of a rule outside the package, as for ask."""
    no_import: bool = False
    """Do not import modules named in the file, as for ask."""
    no_cache: bool = False
    """Do not use the cache of compiled programs, as for ask."""

    def change(self, store: "SessionDirectory") -> None:
        """Change the session."""
        raise NotImplementedError

    def __call__(self) -> int:
        """Change the session in the directory, and print how many pulls are told and pending."""
        from jaxbandit.decide.sessions.directory import session_directory

        with bad_input():
            spec, _ = spec_of(self.directory, None, self.imports, not self.no_import)
            options = {"seed": spec.seed, "paired": spec.paired, "on_failure": spec.on_failure}
            with session_directory(self.directory, spec.build(), **options) as store:
                store.certifies |= spec.outside
                self.change(store)
                session = store.session
        pending = len(session.pending)
        print("stopped" if session.stopped else f"{session.num_told} pulls told, {pending} pending")
        return DONE


@dataclass(frozen=True, kw_only=True)
class Tell(Change):
    """Report the rewards of pulls and save them to disk. Reporting the same reward again changes nothing."""

    scores: Annotated[Positional[tuple[str, ...]], arg(metavar="FILE|ID=VALUE")]
    """A JSON file, {"ID": VALUE, ...} or [{"id": ID, "reward": VALUE}, ...]; or each reward as ID=VALUE."""
    amend: bool = False
    """Correct rewards that were reported before; the algorithm goes on as if these had been reported."""
    outside: bool = False
    """Report rewards of pulls that no ask returned, as ARM=VALUE, where ARM is the number of an arm."""

    def change(self, store: "SessionDirectory") -> None:
        """Report the rewards."""
        if self.amend and self.outside:
            refuse("tell", ": --amend and --outside are given, must be one of them")
        ids, rewards = _scores(self.scores)
        (store.amend if self.amend else store.tell_outside if self.outside else store.tell)(ids, rewards)


@dataclass(frozen=True, kw_only=True)
class Withdraw(Change):
    """Give back pulls that failed; ask prints them again, with the same ids and keys."""

    ids: Annotated[Positional[tuple[int, ...]], IDS]
    """Ids of pulls without a reward."""

    def change(self, store: "SessionDirectory") -> None:
        """Change the session."""
        store.withdraw(self.ids)


@dataclass(frozen=True, kw_only=True)
class Expire(Change):
    """Wait no longer for pulls whose rewards will never come, such as visitors who did not answer."""

    ids: Annotated[Positional[tuple[int, ...]], IDS] = ()
    """Ids of pulls without a reward."""
    before: int | None = None
    """All pulls without a reward whose ids are smaller than this one, in place of ids."""

    def change(self, store: "SessionDirectory") -> None:
        """Change the session."""
        store.expire(self.ids or None, before=self.before)


@dataclass(frozen=True, kw_only=True)
class Close(Change):
    """Close arms: they are neither asked for nor recommended until they are opened again."""

    arms: Annotated[Positional[tuple[int, ...]], arg(metavar="ARM")]
    """Numbers of the arms."""

    def change(self, store: "SessionDirectory") -> None:
        """Change the session."""
        store.close_arms(self.arms)


@dataclass(frozen=True, kw_only=True)
class Open(Change):
    """Open arms that were closed."""

    arms: Annotated[Positional[tuple[int, ...]], arg(metavar="ARM")]
    """Numbers of the arms."""

    def change(self, store: "SessionDirectory") -> None:
        """Change the session."""
        store.open_arms(self.arms)


def _scores(arguments: Sequence[str]) -> tuple[list[int], list[float]]:
    """Return the ids and rewards from a JSON file or from ID=VALUE."""
    if len(arguments) == 1 and "=" not in arguments[0]:
        return _scores_of_file(Path(arguments[0]))
    pairs = [item.partition("=") for item in arguments]
    return [_id(item, key) for item, (key, _, _) in zip(arguments, pairs, strict=True)], [
        _reward(item, value) for item, (_, _, value) in zip(arguments, pairs, strict=True)
    ]


def _scores_of_file(path: Path) -> tuple[list[int], list[float]]:
    shape = 'must be {"ID": VALUE, ...} or [{"id": ID, "reward": VALUE}, ...]'
    content = reading.text(str(path), path, "a JSON file, or ID=VALUE")
    try:
        data = reading.json_of(content, nan=True)
    except ValueError as error:
        refuse(str(path), f": not valid JSON ({error}); {shape}")
    if isinstance(data, dict):
        items = list(data.items())
    elif isinstance(data, list) and all(isinstance(x, dict) and x.keys() == {"id", "reward"} for x in data):
        items = [(x["id"], x["reward"]) for x in data]
    else:
        refuse(str(path), f": {shape}")
    return [_id(str(path), key) for key, _ in items], [_reward(f"{path}: id {key}", value) for key, value in items]


def _id(where: str, value: int | str) -> int:
    whole = decimals.integer(value) if isinstance(value, str) else value
    if type(whole) is int and abs(whole) < 2**62:
        return whole
    return refuse(where, f": id = {show(value)}, must be a whole number, as ID=VALUE")


def _reward(where: str, value: float | str | None) -> float:
    """Return a reward as a number; null and nan mean that there is none, which the session handles."""
    if value is None or str(value).strip().casefold() == "nan":
        return math.nan
    if isinstance(value, str):
        number = decimals.number(value.strip())
        if number is not None and not math.isnan(number):
            return number
    elif isinstance(value, int | float) and abs(value) < 2**1000:
        return float(value)
    return refuse(where, f": reward = {show(value)}, must be a number that a float64 can hold")
