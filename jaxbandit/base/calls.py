"""Calls of public functions whose arguments say of themselves what they may be: the decorator `checked`.

Only concrete values can be checked; a traced value passes.
"""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar, cast

from jaxbandit.base import docstrings, origin
from jaxbandit.base.parameters import Parameter, parameters_of, plain
from jaxbandit.support import checks, domains
from jaxbandit.support.refusals import BadArgument, nearest, python

SECTIONS = re.compile(r"^(Args|Returns|Raises):\n((  .*)?(\n|$))*", re.MULTILINE)
SOURCE = re.compile(r"^(Sources?|References?|Notes?|Examples?|See also):", re.MULTILINE)
RAISES = "ValueError: an argument is out of range"

Function = TypeVar("Function", bound=Callable[..., Any])
Record = TypeVar("Record", bound=type)
RECORDS: dict[str, tuple[str, Collection[str]]] = {}  # names and fields, by the arguments that take them


def checked(function: Function, *, name: str = "", returns: str = "", maker: bool = False) -> Function:
    """Return a function that checks its arguments by their annotations, `Arg`, bool and Literal, before it is called.

    Arguments are converted, such as lists to arrays. A refusal begins with the name of the function, also a ValueError
    that is raised within the call. The docstring is completed by what annotations say.

    Args:
      name: what refusals begin with; by default the name of the function.
      returns: sentence that its docstring has in front of what it says itself under Returns.
      maker: whether it is a factory. Its name also replaces those of the factories that it calls, and names what it
        returns without a name.
    """
    signature, name = inspect.signature(function), name or function.__name__
    own, parameters = signature.parameters, parameters_of(function)
    places = [key for key, p in own.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    nameless = {key for key, p in own.items() if p.kind is p.POSITIONAL_ONLY}
    required = [(key, places.index(key) if key in places else len(own)) for key, p in parameters.items() if p.required]
    defaults = {key: p.default for key, p in parameters.items() if not p.required}
    said = {key: p for key, p in parameters.items() if p.arg.domain or p.kind in ("boolean", "choice")}
    fixed = {key: _domain(p, {}, maker) for key, p in said.items() if not callable(p.arg.domain)}
    names = [key for key in parameters if key not in nameless and key not in ("self", "_cls")]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in own.values())

    @functools.wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        for key in keywords:
            if not takes_any and key not in names:
                unknown(name, key, names)
        missing = [key for key, at in required if at >= len(args) and (key not in keywords or key in nameless)]
        if missing:
            raise TypeError(f"{name}: {'; '.join(_missing(parameters[key]) for key in missing)}")
        with under_name(name, maker=maker):
            if said:
                args, keywords = convert(args, keywords)
            made = function(*args, **keywords)
        if not maker:
            return made
        made = made._replace(name=name) if getattr(made, "name", None) == "" else made
        if not nameless and len(args) <= len(places) and keywords.keys() <= parameters.keys():
            origin.note(called, defaults | dict(zip(places, args, strict=False)) | keywords, made)
        return made

    def convert(args: tuple, keywords: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments as their domains take them."""
        many = nameless & keywords.keys()  # of `**many`, whatever they are called
        given = dict(zip(places, args, strict=False)) | {key: keywords[key] for key in keywords if key not in many}
        bound = defaults | given
        for key, parameter in said.items():
            if key in given or key not in fixed:
                bound[key] = _taken(parameter, fixed.get(key) or _domain(parameter, bound, maker), bound[key])
        named = {key: value if key in many else bound[key] for key, value in keywords.items()}
        return (*(bound[key] for key in places[: len(args)]), *args[len(places) :]), named

    shown = [p.replace(annotation=plain(p.annotation)) for p in own.values()]
    called.__dict__["__signature__"] = signature.replace(parameters=shown)
    called.__doc__ = _completed(function.__doc__, parameters, returns, maker)
    return cast(Function, called)


def unknown(where: str, name: str, known: Collection[str]) -> NoReturn:
    """Raise a TypeError for an argument that a function lacks; one of a field of a record says where it belongs."""
    for argument, (record, fields) in RECORDS.items():
        if argument in known and name in fields:
            raise TypeError(f"{where}: {name} is no argument; give {argument}=jb.{record}({name}=...)")
    raise TypeError(f"{where}: {name} is no argument, must be one of {', '.join(known)}{nearest(name, known)}")


@contextmanager
def under_name(name: str, *, maker: bool = False) -> Iterator[None]:
    """Put the name of a function in front of a ValueError that is raised within; `maker` is as for `checked`."""
    try:
        yield
    except ValueError as error:
        if isinstance(error, BadArgument) and maker:
            what = error.what
        elif type(error) is ValueError:
            what = " ".join(str(error).split()).removeprefix(f"{name}: ")
        else:
            raise
        refusal = BadArgument(name, what)
        refusal.__dict__.update(error.__dict__ | refusal.__dict__)  # notes, and what a search has found so far
        raise refusal.with_traceback(error.__traceback__) from error.__cause__


def record(kind: Record) -> Record:
    """Return a NamedTuple or a dataclass whose fields are checked by their annotations when it is made.

    A verb takes it as the argument of its name, such as `Goal` as `goal`.
    """
    made: Any = kind
    RECORDS[kind.__name__.lower()] = kind.__name__, kind.__annotations__
    if issubclass(kind, tuple):  # a NamedTuple, whose own `_replace` would not check
        made.__new__ = checked(made.__new__, name=made.__name__)
        made._replace = lambda self, **fields: made(**{**self._asdict(), **fields})
    else:
        made.__init__ = checked(made.__init__, name=made.__name__)
    return kind


def take_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a function's annotations take them, for a caller that passes them on."""
    bound = dict(given)
    for key, parameter in parameters_of(function).items():
        if key in given and parameter.domain(bound):
            bound[key] = _taken(parameter, _domain(parameter, bound, False), given[key])
    return bound


def _completed(doc: str | None, parameters: Mapping[str, Parameter], returns: str, maker: bool) -> str | None:
    """Return a docstring with all arguments; as it is if no annotation says anything of one."""
    if not doc or not any(p.arg.domain or p.arg.meaning for p in parameters.values()):
        return doc
    doc = inspect.cleandoc(doc)
    own, rest = docstrings.sections(doc), SECTIONS.sub("", doc)
    said = " ".join(own.get("Returns", "").split())
    stars = [": ".join(item) for item in docstrings.meanings(own.get("Args", "")).items() if item[0].startswith("*")]
    raised = docstrings.meanings(own.get("Raises", ""))
    why = raised.pop("ValueError", "").removesuffix(".")
    blocks = {
        "Args": [f"{key}: {text}" for key, p in parameters.items() if (text := p.text if maker else p.words())] + stars,
        "Returns": [said if said.startswith("An ") else f"{returns} {said}".strip()],
        "Raises": [
            ", or ".join(filter(None, (RAISES, why))) + ".",
            *(f"{key}: {text}" for key, text in raised.items()),
        ],
    }
    at = match.start() if (match := SOURCE.search(rest)) else len(rest)
    lines = [rest[:at].rstrip()]
    for title, entries in blocks.items():
        if any(entries):
            hanging = "  " if title == "Returns" else "    "
            lines += ["", f"{title}:"]
            for entry in entries:
                lines += textwrap.wrap(entry, 116, initial_indent="  ", subsequent_indent=hanging)
    return "\n".join([*lines, "", rest[at:]]).strip()


def _domain(parameter: Parameter, given: Mapping[str, Any], maker: bool) -> domains.Domain:
    domain = parameter.domain(given)
    assert domain is not None
    return checks.scalars(domain) if parameter.kind == "scalar" and (maker or not parameter.real) else domain


def _taken(parameter: Parameter, domain: domains.Domain, value: Any) -> Any:
    if value is None and parameter.optional:
        return value
    return domains.check(parameter.name, value, domain, written=python, error=ValueError)


def _missing(parameter: Parameter) -> str:
    """Return that an argument is missing, and the first words about it."""
    what = parameter.meaning.partition(";")[0].partition(". ")[0].removesuffix(".")
    return f"{parameter.name} is missing" + (f", must be the {what.removeprefix('the ')}" if what else "")
