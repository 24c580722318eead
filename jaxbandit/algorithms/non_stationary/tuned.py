"""Hyperparameters by their formulas from the horizon T and the number of changes Y: numbers, computed on the host.

Each may be given to a factory in place of T and Y, where it is then traced and can be swept.
"""

import math

from jaxbandit import checks
from jaxbandit.types import Scalar


def tuned_for(where: str, name: str, horizon: int | None, num_changes: int, *, below: bool = False) -> tuple[int, int]:
    """Return T and Y, for a hyperparameter that was not given; refuse, in one line, if they are not known.

    Args:
      where: who refuses.
      name: of the hyperparameter.
      horizon: T, rounds of a run.
      num_changes: Y, changes of the means within them.
      below: whether Y must be less than T.
    """
    if horizon is None:
        raise ValueError(
            f"{where}: {name} = None without a horizon, must be a number; or give horizon, the rounds played"
        )
    horizon = checks.integer(where, "horizon", horizon, 2 if below else 1)
    return horizon, checks.integer(where, "num_changes", num_changes, 1, horizon - 1 if below else horizon)


def discount(horizon: int, num_changes: int) -> float:
    """1 - sqrt(Y / T) / 4: Garivier and Moulines (2011)."""
    return 1 - math.sqrt(num_changes / horizon) / 4


def window(horizon: int, num_changes: int, bound: float, num_arms: int) -> int:
    """floor(2 B sqrt(T log T / Y)), at least the number of arms: Garivier and Moulines (2011)."""
    return max(num_arms, math.floor(2 * bound * math.sqrt(horizon * math.log(horizon) / num_changes)))


def check_bound(where: str, bound: Scalar, index: str) -> None:
    """Refuse a largest reward that is not positive, or not 1 beside an index made for [0, 1]."""
    checks.number(where, "bound", bound, low=0.0, open_low=True)
    if index == "kl" and not checks.is_traced(bound) and bound != 1:
        raise ValueError(f'{where}: bound = {bound!r}, must be 1 with index = "kl", which is for rewards in [0, 1]')
