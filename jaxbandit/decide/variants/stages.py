"""Variants that enter while the others are running: stages of entry, and how delta is divided among stages.

The comparisons of a variant of stage g with earlier ones have a share delta_g of the error probability, and use only
visitors after its entry, so that all statements ever made hold together with probability at least 1 - sum delta_g.
"""

from typing import NamedTuple

import numpy as np

PATIENCE = 50  # rows for each variant seen so far, without a new one: then the next new one is taken to have come later


class Stages(NamedTuple):
    """When each variant entered."""

    entry: np.ndarray  # int64[variants], row of the first visitor
    stage: np.ndarray  # int64[variants]
    level: np.ndarray  # float64[stages], delta_g


def stages(variant: np.ndarray, num_variants: int, delta: float, late: list[int] | None, growth: bool) -> Stages:
    """Return the stages of the variants of a log, in the order of arrival.

    Args:
      variant: int64[rows], variant of each visitor.
      num_variants: number of variants, all of which occur.
      delta: error probability of all statements together.
      late: variants that were added after looking. None: those before whose first visitor nobody new came during 50
        visitors per earlier variant.
      growth: whether it was said in advance that variants may be added, so that levels do not depend on it.
    """
    entry = np.unique(variant, return_index=True)[1]
    order = np.argsort(entry)
    stage = np.zeros(num_variants, np.int64)
    now, last = 0, 0  # stage, and row of the latest entry
    for seen, v in enumerate(order.tolist()):
        if late is not None and v not in late:
            continue
        first_late = late is not None and now == 0
        now += bool(seen) and (first_late or entry[v] - last > PATIENCE * seen)
        stage[v], last = now, int(entry[v])
    g = np.arange(stage.max() + 1)
    level = np.full(1, delta) if len(g) == 1 and not growth else delta / ((g + 1.0) * (g + 2.0))
    return Stages(entry, stage, level)


def pair_levels(found: Stages, share: np.ndarray) -> np.ndarray:
    """Return the error probability of each pair, float64[variants, variants]: delta_g over the share of its stage.

    The stage of a pair is that of its later member; `share` is float64[stages].
    """
    later = np.maximum(found.stage[:, None], found.stage)
    return found.level[later] / np.maximum(share[later], 1)
