"""The events of a session: what changed it, in order, from which it can be computed again."""

import base64
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar, cast

import jax
import numpy as np

from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Offer
from jaxbandit.support.types import Json, PyTree

# The events as plain data: the lists that each kind has, the first of which is named after it, and what it may have.
COLUMNS: dict[str, tuple[str, ...]] = {"ask": ("arms",)}  # of new pulls; `change` adds the other kinds
OPTIONS = ("limit", "context", "contexts")  # of an ask, where they were given
CHANGES: dict[str, Callable[..., Any]] = {}  # by kind, the function from a session and the lists to the next session
DTYPES = {"float16": "<f2", "float32": "<f4", "float64": "<f8"}  # as which the floats of a context are stored
FEW = 4  # numbers of a context that are written in decimals
F = TypeVar("F", bound=Callable[..., Any])


def change(function: F) -> F:
    """Declare a function of a session: its name is a kind of events, and its positional arguments are their lists."""
    _, *arguments = inspect.signature(function).parameters.values()
    COLUMNS[function.__name__] = tuple(each.name for each in arguments if each.kind is each.POSITIONAL_OR_KEYWORD)
    CHANGES[function.__name__] = checked(function)
    return cast(F, CHANGES[function.__name__])


class Event(NamedTuple):
    """A change of a session: what is known of it before it is applied, and in the session's events all of it."""

    kind: str  # "ask", or the name of the function that was called
    ids: Any = None  # int64[n], of the pulls; those of ask and tell_outside are the next ones
    arms: Any = None  # int32[n], or bool[n, num_arms] where an action is a set of arms
    rewards: Any = None  # float64[n]
    limit: int | None = None  # of ask
    context: PyTree = None  # of ask
    contexts: PyTree = None  # of ask, with a leading axis

    @property
    def contextual(self) -> bool:
        """Whether it is an ask with contexts."""
        return self.context is not None or self.contexts is not None


def with_one_more(parts: tuple[tuple[Any, ...], ...], row: Any) -> tuple[tuple[Any, ...], ...]:
    """Return rows and one more, in parts whose lengths are decreasing powers of two, so that few are copied."""
    part = (row,)
    while parts and len(parts[-1]) == len(part):
        parts, part = parts[:-1], (*parts[-1], *part)
    return (*parts, part)


class Events:
    """The events so far, in parts as `with_one_more` makes them.

    All are equal, as static parts of a pytree have to be.
    """

    __slots__ = ("_parts", "_past")

    def __init__(self, parts: tuple[tuple[Event, ...], ...] = (), past: Any = None):
        self._parts = parts
        self._past = past  # those before, if they are read from a log when they are wanted (`snapshot.Past`)

    def more(self, event: Event) -> "Events":
        """The events with one more."""
        return Events(with_one_more(self._parts, event), self._past)

    @property
    def last(self) -> Event:
        """The last event."""
        return self._parts[-1][-1]

    def __len__(self) -> int:
        return sum(map(len, self._parts)) + (self._past.lines if self._past else 0)

    def __iter__(self) -> Iterator[Event]:
        yield from self._past.events() if self._past else ()
        yield from (event for part in self._parts for event in part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Events)

    def __hash__(self) -> int:
        return 0


def plain(event: Event) -> Json:
    """Return an event as plain data for JSON."""
    first, *more = COLUMNS[event.kind]
    lists = {
        event.kind: plain_column(getattr(event, first)),
        **{name: plain_column(getattr(event, name)) for name in more},
    }
    given = {name: value for name in OPTIONS if (value := getattr(event, name)) is not None}
    return lists | {name: value if name == "limit" else plain_context(value) for name, value in given.items()}


def plain_column(column: np.ndarray) -> list[Any]:
    """Return a column as plain data; a set of arms as its members."""
    return [np.flatnonzero(row).tolist() for row in column] if column.dtype == bool else column.tolist()


def event_of(entry: Json) -> Event:
    """Return the event of an entry of a log, with lists as columns."""
    kind = next(kind for kind in COLUMNS if kind in entry)
    first, *more = COLUMNS[kind]
    given: Json = {name: context_of(entry[name]) for name in ("context", "contexts") if name in entry}
    lists = {first: entry[kind], **{name: entry[name] for name in more}}
    return Event(kind, **lists, **given, limit=entry.get("limit"))


def plain_context(context: PyTree) -> Any:
    """Return a context as plain data, from which `context_of` rebuilds it."""
    if context is None or type(context) in (bool, int, float):
        return context
    if isinstance(context, dict):
        return {key: plain_context(value) for key, value in context.items()}
    if isinstance(context, Offer):
        return {"offer": [plain_context(context.available), plain_context(context.features)]}
    if isinstance(context, tuple):
        return {"tuple": [plain_context(value) for value in context]}
    if isinstance(context, list):
        found = numbers_of(context)
        return [plain_context(value) for value in context] if found is None else _plain_array(found)
    return _plain_array(np.asarray(context))


def numbers_of(nested: list[Any]) -> np.ndarray | None:
    """The array of a list, or of lists in a list, of numbers some of which are floats; None of any other list."""
    kinds = set(map(type, jax.tree.leaves(nested)))
    if float not in kinds or not kinds <= {float, int}:
        return None
    try:
        return np.asarray(nested, np.float64)
    except (ValueError, OverflowError):  # rows of several lengths, or an integer beyond float64
        return None


def _plain_array(array: np.ndarray) -> Json:
    """An array as plain data: more than a few floats as the bytes of the shortest dtype that has these numbers."""
    if array.dtype.kind != "f" or array.size <= FEW:
        return {"array": array.tolist(), "dtype": str(array.dtype)}
    found = array.astype("<f8")
    with np.errstate(over="ignore"):
        for dtype in ("<f4", "<f2"):
            shorter = found.astype(dtype)
            if not (shorter == found).all():
                break
            found = shorter
    return {"base64": base64.b64encode(found.tobytes()).decode(), "dtype": found.dtype.name, "shape": list(array.shape)}


def context_of(plain: Any) -> PyTree:
    """Return the context that `plain_context` returned as plain data."""
    if isinstance(plain, list):
        return [context_of(value) for value in plain]
    if not isinstance(plain, dict):
        return plain
    if plain.keys() == {"array", "dtype"}:
        return np.array(plain["array"], plain["dtype"])
    if plain.keys() == {"base64", "dtype", "shape"}:
        stored = np.frombuffer(base64.b64decode(plain["base64"], validate=True), DTYPES[plain["dtype"]])
        return stored.reshape(plain["shape"]).astype(np.float64)
    if plain.keys() == {"offer"}:
        return Offer(*(context_of(value) for value in plain["offer"]))
    if plain.keys() == {"tuple"}:
        return tuple(context_of(value) for value in plain["tuple"])
    return {key: context_of(value) for key, value in plain.items()}
