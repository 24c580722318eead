"""Names of results: instance/algorithm, with the parameters in which results of that name differ, as in it/kl?c=3."""

from collections.abc import Sequence
from typing import Any


def addresses(results: Sequence[Any]) -> list[str]:
    """Return a name for each result, instance/algorithm, with the values that a sweep gave its parameters."""
    return [f"{result.instance}/{name}" for result, name in zip(results, algorithms(results), strict=True)]


def algorithms(results: Sequence[Any], *, but: str = "") -> list[str]:
    """Return the algorithm of each result with the values of its swept parameters except `but`, as in kl?c=3."""
    first: dict[str, Any] = {}
    for result in results:
        first.setdefault(result.algorithm, result.params)
    swept = {
        (r.algorithm, name)
        for r in results
        for name in {*r.params, *first[r.algorithm]} - {but}
        if first[r.algorithm].get(name) != r.params.get(name)
    }
    labels = []
    for result in results:
        given = [f"{k}={shown(v)}" for k, v in result.params.items() if (result.algorithm, k) in swept]
        labels.append(result.algorithm + ("?" + "&".join(given) if given else ""))
    return labels


def found(results: Sequence[Any], address: str) -> list[Any]:
    """Return the results with a given address, instance/algorithm or instance/algorithm?parameter=value&..."""
    exact = [r for r, name in zip(results, addresses(results), strict=True) if name == address]
    if exact:
        return exact
    place, _, query = address.rpartition("?") if "?" in address else (address, "", "")
    given = [part.partition("=")[::2] for part in query.split("&")] if query else []
    some = [r for r in results if f"{r.instance}/{r.algorithm}" == place]
    return [r for r in some if all(k in r.params and _equal(r.params[k], v) for k, v in given)]


def shown(value: Any) -> str:
    """Return a parameter's value as it is written in a name."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)


def _equal(value: Any, text: str) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(text) == value
        except ValueError:
            return False
    return shown(value) == text
