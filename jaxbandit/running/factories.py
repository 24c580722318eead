"""An algorithm and an environment as two objects, as factories of them, and as plain data that name the factories.

The engine compiles once per `make` function, so equal pairs and factories must get the same function again.
"""

import functools
import importlib
import json
import socket
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.metrics import Metric
from jaxbandit.base.origin import origin_of
from jaxbandit.engine.layout.compiled import Same
from jaxbandit.engine.rounds.single import Make
from jaxbandit.running.structures import program_of
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import PyTree


class Pair(NamedTuple):
    """An algorithm and the environment that it is played on."""

    make: Make  # compiled once, with traced arguments
    arguments: PyTree
    algorithm: Algorithm  # the concrete values of make(arguments)
    environment: Environment
    given: tuple[Any, Any]  # both as the caller gave them; an executor needs functools.partial of factories
    params: Mapping[str, float] = MappingProxyType({})  # values of swept hyperparameters
    values: Mapping[str, Any] = MappingProxyType({})  # arguments of the algorithm's factory beside those in `given`


def pair_of(algorithm: Any, environment: Any) -> Pair:
    """Return the pair of two objects, or of factories without further arguments."""
    one, other = built(algorithm), built(environment)
    return Pair(*program_of(one, other), one, other, (algorithm, environment))


def swept(factory: Callable[..., Any], environment: Environment | None) -> Make:
    """Return the `make` function of a factory of algorithms, or of pairs if `environment` is None."""
    return _swept(factory, Same(environment))


@functools.lru_cache(maxsize=32)
def _swept(factory: Callable[..., Any], environment: Same) -> Make:
    if environment.value is None:
        return lambda arguments: factory(**arguments)
    return lambda arguments: (factory(**arguments), environment.value)


def pair_at(factory: Callable[..., Any], environment: Any, values: Mapping[str, Any]) -> Pair:
    """Return the pair of a factory at some values; they are traced where it is not known how the objects were made."""
    world = built(environment)
    make = swept(factory, world)
    algorithm, other = make(values)
    known = origin_of(algorithm) and (world is not None or origin_of(other))
    arguments = {name: np.asarray(value, np.float64) for name, value in values.items()}
    program = program_of(algorithm, other) if known else (make, arguments)
    return Pair(*program, algorithm, other, (factory, environment), values=values)


def built(given: Any) -> Any:
    """Return an algorithm or an environment; a functools.partial of a factory is called."""
    return given() if isinstance(given, functools.partial) else given


def of_pair(pair: Pair) -> dict[str, Any]:
    """Return the calls of two factories as plain data; raise ValueError if that is impossible."""
    algorithm, environment = pair.given
    return {
        "algorithm": _call("algorithm", algorithm, "kl_ucb, 9"),
        "environment": _call("environment", environment, "bernoulli, means"),
        "arguments": {name: _plain(value, f"the value of {name}") for name, value in pair.values.items()},
    }


def pair_of_call(call: Mapping[str, Any]) -> Pair:
    """Return the pair of two serialized factory calls; `arguments` are values of swept hyperparameters by keyword."""
    calls = json.dumps([call["algorithm"], call["environment"]])
    values = {name: _value(value) for name, value in call["arguments"].items()}
    return pair_at(*_factories(calls), values) if values else _pair(calls)


@functools.lru_cache(maxsize=8)  # so that an equal task reuses what an earlier one compiled
def _factories(calls: str) -> tuple[Callable[..., Any], Environment]:
    algorithm, environment = map(_partial, json.loads(calls))
    return algorithm, environment()


@functools.lru_cache(maxsize=8)
def _pair(calls: str) -> Pair:
    algorithm, environment = _factories(calls)
    return pair_of(algorithm(), environment)


def _call(name: str, given: Any, example: str) -> dict[str, Any]:
    factory, args, keywords = getattr(given, "func", None), getattr(given, "args", ()), getattr(given, "keywords", {})
    if not isinstance(given, functools.partial) or not callable(factory):
        raise ValueError(
            f"with an executor, {name} must be serializable, but it is an object; give functools.partial({example})",
        )
    reference = reference_of(f"the factory of {name}", factory)
    place = f"an argument of {name}, {reference.partition(':')[2]}"
    plain = [_plain(value, place) for value in args], {key: _plain(value, place) for key, value in keywords.items()}
    return {"factory": reference, "args": plain[0], "keywords": plain[1]}


def reference_of(what: str, thing: Any) -> str:
    """Return "module:name" of a function, or of a Metric that stands in a module, or raise ValueError."""
    module, qualname = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    if isinstance(thing, Metric):
        module = thing.step.__module__
        qualname = next((k for k, x in vars(sys.modules.get(module, object)).items() if x is thing), "")
    if module == "__main__" or "<" in qualname or not qualname:
        raise ValueError(
            f"with an executor, {what} must be a function of a module that workers can import, but it "
            f"is {qualname or type(thing).__name__}",
        )
    return f"{module}:{qualname}"


def referenced(reference: str) -> Any:
    """Return what "module:name" names; raise BadInput if it cannot be imported on this machine."""
    module, _, name = reference.partition(":")
    try:
        return functools.reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise BadInput(f"a worker on {socket.gethostname()} cannot import {reference} ({error})") from None


def _plain(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return {"sequence": [_plain(item, where) for item in value], "tuple": isinstance(value, tuple)}
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return {"array": array.tolist(), "dtype": array.dtype.str, "shape": array.shape}
    raise ValueError(
        f"{where}, is a {type(value).__name__}, which cannot be serialized; must be numbers, text, lists or arrays"
    )


def _value(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return np.array(plain["array"], plain["dtype"]).reshape(plain["shape"])
    items = [_value(item) for item in plain["sequence"]]
    return tuple(items) if plain["tuple"] else items


def _partial(call: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the factory of a serialized call as a functools.partial with its arguments."""
    factory = referenced(call["factory"])
    keywords = {key: _value(value) for key, value in call["keywords"].items()}
    return functools.partial(factory, *map(_value, call["args"]), **keywords)
