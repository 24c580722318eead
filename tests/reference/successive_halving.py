"""Successive halving from a table of scores, written from Li et al. (2020), Algorithm 1."""

import numpy as np


def successive_halving(scores, steps, eta):
    """Return the configurations of every rung, and the choice; scores[c][t] is the score of c after t steps."""
    alive, rungs = list(range(len(scores))), []
    for t in steps:
        rungs.append(alive)
        order = sorted((c for c in alive if np.isfinite(scores[c][t])), key=lambda c: (-scores[c][t], c))
        alive = sorted(order[: max(1, len(alive) // eta)])
    return rungs, order[0]
