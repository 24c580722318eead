"""Metrics as TOML names them: "switches", "cost(0)", or "package.module:name" for a function or a Metric of your own.

A name may be followed by arguments in parentheses; it is then that of a function that returns the metric.
"""

import functools
from collections.abc import Sequence
from typing import Any

from jaxbandit.lab.specs import references
from jaxbandit.support import reading
from jaxbandit.support.refusals import BadInput, nearest, refuse, show


def check(where: str, texts: Sequence[str], imports: bool) -> None:
    """Raise BadInput unless every text of the list `where` names a metric, and no two of them have the same name.

    `imports` says whether a text may name a metric outside the package; importing its module runs its code.
    """
    from jaxbandit.engine.rounds.metrics import metrics_by_name

    for i, text in enumerate(texts):
        at = f"{where}[{i}]"
        if references.is_reference(text):
            references.require_trust(at, text, imports)
        try:
            metric = _metric(text)
        except BadInput as error:
            refuse(at, f" = {show(text)}, {error}")
        try:
            metrics_by_name({name_of(text): metric})
        except ValueError as error:
            refuse(at, str(error).removeprefix("metrics"))
        if (first := [name_of(other) for other in texts].index(name_of(text))) < i:
            refuse(at, f" = {show(text)}, must differ in its name from metrics[{first}]")


def by_name(texts: Sequence[str]) -> dict[str, Any]:
    """Return the metrics that were checked, by the names that results give them."""
    return {name_of(text): _metric(text) for text in texts}


def name_of(text: str) -> str:
    """Return the name of a metric in results: what is after the colon, if there is one."""
    return text.rpartition(":")[2] if references.is_reference(text) else text


def sources(text: str) -> dict[str, str]:
    """Return the digest of the source of each module that a metric outside the package comes from, by module name."""
    if not references.is_reference(text):
        return {}
    module, _, thing = references.find(text.partition("(")[0])
    return references.digests(module.__name__, getattr(getattr(thing, "step", thing), "__module__", None))


@functools.cache  # so that the cells of an experiment share a compilation
def _metric(text: str) -> Any:
    """Return the metric that a text names; raise BadInput, without a location, if it names none."""
    from jaxbandit.base.metrics import BUILT_IN, FACTORIES

    name, opened, rest = text.partition("(")
    if references.is_reference(text):
        _, _, thing = references.find(name)
    elif name in BUILT_IN:
        thing = BUILT_IN[name]
        if (name in FACTORIES) != bool(opened):
            raise BadInput(f"must be {name}(NUMBER)" if name in FACTORIES else f"must be {name}, without arguments")
    else:
        known = [f"{each}(NUMBER)" if each in FACTORIES else each for each in BUILT_IN]
        raise BadInput(f'must be one of {", ".join(known)}, or "package.module:name"{nearest(name, BUILT_IN)}')
    if not opened:
        return thing
    try:
        given = reading.json_of(f"[{rest.removesuffix(')')}]")
    except ValueError:
        given = None
    if given is None or not rest.endswith(")"):
        raise BadInput("must have its arguments in parentheses, numbers or texts separated by commas, as cost(0)")
    return references.call("", name, lambda: thing(*given))
