"""Serialization of an algorithm and an environment as calls of named factories with plain arguments."""

import functools
import importlib
import json
import socket
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxbandit.base.refusals import BadInput, refuse
from jaxbandit.running.cell import Make, fixed, swept


def made(given: Any) -> Any:
    """Return an algorithm or an environment; a functools.partial of a factory is called."""
    return given() if isinstance(given, functools.partial) else given


def of_pair(where: str, algorithm: Any, environment: Any) -> dict[str, Any]:
    """Return the calls of two factories as plain data.

    Raises:
      BadInput: an object or an argument cannot be serialized.
    """
    return {
        "algorithm": _call(where, "algorithm", algorithm, "kl_ucb, 9"),
        "environment": _call(where, "environment", environment, "bernoulli, means"),
    }


def player(call: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function that plays runs of two serialized factory calls, given the options of the engine.

    The entry `arguments` of `call` holds traced hyperparameters, which are passed to the factory of the algorithm by
    keyword.
    """
    make = _make(json.dumps([call["algorithm"], call["environment"]]), bool(call["arguments"]))
    arguments = {name: np.float64(value) for name, value in call["arguments"].items()}
    if call["kind"] == "simulate":
        from jaxbandit.engine.driver.horizon import simulate_cell

        return functools.partial(simulate_cell, make, arguments, **call["options"])
    from jaxbandit.engine.driver.identify import identify_cell

    return functools.partial(identify_cell, make, arguments, **call["options"])


@functools.lru_cache(maxsize=8)  # so that an equal task reuses what an earlier one compiled
def _make(calls: str, traced: bool) -> Make:
    algorithm, environment = map(_partial, json.loads(calls))
    return swept(algorithm, environment()) if traced else fixed(algorithm(), environment())


def _call(where: str, name: str, given: Any, example: str) -> dict[str, Any]:
    factory, args, keywords = getattr(given, "func", None), getattr(given, "args", ()), getattr(given, "keywords", {})
    if not isinstance(given, functools.partial) or not callable(factory):
        refuse(
            where,
            f": with an executor, {name} must be serializable, but it is an object; give functools.partial({example})",
        )
    module, qualname = getattr(factory, "__module__", ""), getattr(factory, "__qualname__", "")
    if module == "__main__" or "<" in qualname or not qualname:
        told = qualname or type(factory).__name__
        refuse(
            where,
            f": with an executor, the factory of {name} must be a function of a module that workers can import, but it "
            f"is {told}",
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
    raise BadInput(
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
    module, _, name = call["factory"].partition(":")
    try:
        factory: Any = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise BadInput(f"a worker on {socket.gethostname()} cannot import {call['factory']} ({error})") from None
    keywords = {key: _value(value) for key, value in call["keywords"].items()}
    return functools.partial(factory, *map(_value, call["args"]), **keywords)
