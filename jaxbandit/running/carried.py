"""An algorithm and an environment that can travel: calls of factories by their names, with plain arguments."""

import functools
import importlib
import json
import socket
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxbandit.refusals import BadInput, refuse
from jaxbandit.running.cell import Make, fixed, swept


def made(given: Any) -> Any:
    """Return an algorithm or an environment; one given as functools.partial of its factory is made."""
    return given() if isinstance(given, functools.partial) else given


def of_pair(where: str, algorithm: Any, environment: Any) -> dict[str, Any]:
    """Return two calls of factories as plain data; refuse what cannot travel."""
    return {
        "algorithm": _call(where, "algorithm", algorithm, "kl_ucb, 9"),
        "environment": _call(where, "environment", environment, "bernoulli, means"),
    }


def player(call: Mapping[str, Any]) -> Callable[..., Any]:
    """Return what plays runs of two calls, given the options of the engine.

    `arguments` of a call are traced hyperparameters, which the factory of the algorithm is given by keyword.
    """
    make = _make(json.dumps([call["algorithm"], call["environment"]]), bool(call["arguments"]))
    arguments = {name: np.float64(value) for name, value in call["arguments"].items()}
    if call["kind"] == "simulate":
        from jaxbandit.engine.horizon import simulate_cell

        return functools.partial(simulate_cell, make, arguments, **call["options"])
    from jaxbandit.engine.identify import identify_cell

    return functools.partial(identify_cell, make, arguments, **call["options"])


@functools.lru_cache(maxsize=8)  # what an earlier task of the same words compiled is found again
def _make(calls: str, traced: bool) -> Make:
    algorithm, environment = map(_partial, json.loads(calls))
    return swept(algorithm, environment()) if traced else fixed(algorithm(), environment())


def _call(where: str, name: str, given: Any, example: str) -> dict[str, Any]:
    factory, args, keywords = getattr(given, "func", None), getattr(given, "args", ()), getattr(given, "keywords", {})
    if not isinstance(given, functools.partial) or not callable(factory):
        refuse(
            where, f": executor given, and {name} is an object, which cannot travel; give functools.partial({example})"
        )
    module, qualname = getattr(factory, "__module__", ""), getattr(factory, "__qualname__", "")
    if module == "__main__" or "<" in qualname or not qualname:
        told = qualname or type(factory).__name__
        refuse(
            where, f": executor given, and {name} is made by {told}, must be a function of a module workers can import"
        )
    told = f"{where}: an argument of {name}, {qualname}"
    plain = [_plain(value, told) for value in args], {key: _plain(value, told) for key, value in keywords.items()}
    return {"factory": f"{module}:{qualname}", "args": plain[0], "keywords": plain[1]}


def _plain(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return {"sequence": [_plain(item, where) for item in value], "tuple": isinstance(value, tuple)}
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return {"array": array.tolist(), "dtype": array.dtype.str, "shape": array.shape}
    raise BadInput(f"{where}, is a {type(value).__name__}, which cannot travel; must be numbers, text, lists or arrays")


def _value(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return np.array(plain["array"], plain["dtype"]).reshape(plain["shape"])
    items = [_value(item) for item in plain["sequence"]]
    return tuple(items) if plain["tuple"] else items


def _partial(call: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the factory of a call with its arguments, not yet called."""
    module, _, name = call["factory"].partition(":")
    try:
        factory: Any = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise BadInput(f"a worker on {socket.gethostname()} cannot import {call['factory']} ({error})") from None
    keywords = {key: _value(value) for key, value in call["keywords"].items()}
    return functools.partial(factory, *map(_value, call["args"]), **keywords)
