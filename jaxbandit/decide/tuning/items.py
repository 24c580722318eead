"""Items of which each is scored at most once for each configuration, in a random order that all of them share."""

from typing import Any, NamedTuple

import numpy as np

from jaxbandit.base.parameters import Arg
from jaxbandit.decide.tuning.digests import NoDigest, value_digest
from jaxbandit.support.domains import INT32, Domain, Outside, integer

ORDER = 0x85EBCA6B  # of the seeds of the order of the items
ALLOWED = "the number of items, >= 2, or a list of 2 or more"
WITHOUT = "which compares means over all items; leave it out"


class Items(NamedTuple):
    """The items of a search."""

    items: list[Any] | None  # None if items are the numbers 0, .., count - 1
    order: np.ndarray  # int64[count], number of the item that each seed is

    def item(self, seed: int) -> Any:
        """Return the item that takes the place of a seed."""
        number = int(self.order[seed])
        return number if self.items is None else self.items[number]

    def digest(self) -> str:
        """Return what tells the items from others in a directory."""
        try:
            return f"{len(self.order)} items {'' if self.items is None else value_digest(self.items)}".strip()
        except NoDigest as error:
            what = "which has no content that could be stored; give its name and look it up in train"
            raise ValueError(f"pool holds {error}, {what}") from None


def _take(value: Any) -> Any:
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        if len(value) < 2:
            raise Outside(value, ALLOWED)
        return list(value)
    try:
        return integer(2, INT32).take(value)
    except Outside:
        raise Outside(value, ALLOWED) from None


POOL = Arg(Domain(ALLOWED, _take), tries=(2,))


def items_of(pool: int | list[Any], seed: int) -> Items:
    """Return the items of a pool in the order of a seed."""
    items, count = (None, pool) if isinstance(pool, int) else (pool, len(pool))
    draws = np.random.default_rng((seed, ORDER)).random(count)
    return Items(items, np.argsort(draws, kind="stable"))


def check(given: dict[str, Any]) -> None:
    """Raise a ValueError if something is given that has no meaning with a pool, by its name."""
    for name, value in given.items():
        if value:
            raise ValueError(f"{name} is given with pool, {WITHOUT}")
