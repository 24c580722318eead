"""The configurations among which a sampler for Optuna chooses: a list of different dicts of parameters."""

import json
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any


def read(configs: Any) -> list[dict[str, Any]]:
    """Return the configurations as a list of two or more different dicts."""
    each = "a dict of parameters, such as {'lr': 0.1}"
    if isinstance(configs, Mapping | str | bytes) or not isinstance(configs, Iterable):
        grid = "; for a grid: [dict(zip(grid, values)) for values in itertools.product(*grid.values())]"
        more = grid if isinstance(configs, Mapping) else ""
        raise ValueError(f"configs is a {type(configs).__name__}, must be a list of configurations, each {each}{more}")
    listed, places = list(configs), dict[str, int]()
    if len(listed) < 2:
        raise ValueError(f"configs has {len(listed)} configurations, must have at least 2")
    for i, config in enumerate(listed):
        if not isinstance(config, Mapping) or not config or not all(isinstance(name, str) for name in config):
            raise ValueError(f"configs[{i}] = {reprlib.repr(config)}, must be {each}")
        first = places.setdefault(key(config), i)
        if first != i:
            raise ValueError(f"configs[{i}] equals configs[{first}], {reprlib.repr(config)}; must be different")
    return [dict(config) for config in listed]


def key(config: Mapping[str, Any]) -> str:
    """Return a text that is the same for equal configurations."""
    return json.dumps(plain(dict(config)), sort_keys=True)


def plain(value: Any) -> Any:
    """Return `value` as it is after a round trip through JSON."""
    return json.loads(json.dumps(value, default=lambda x: x.item() if hasattr(x, "item") else repr(x)))
