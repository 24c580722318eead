"""Default hyperparameters as functions of the horizon T and the number of changes Y, computed on the host.

Each of them can be given to a factory in place of T and Y. It is then traced and can be swept.
"""

import math

from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.types import Scalar


def tuned_for(name: str, horizon: int | None, num_changes: int, *, below: bool = False) -> tuple[int, int]:
    """Return T and Y for a hyperparameter that was not given; raise ValueError if they are unknown or out of range."""
    if horizon is None:
        raise ValueError(f"{name} = None without a horizon, must be a number; or give horizon, the number of rounds")
    checks.take("horizon", horizon, integer(2 if below else 1))
    return horizon, checks.take("num_changes", num_changes, integer(1, horizon - 1 if below else horizon))


def discount(horizon: int, num_changes: int) -> float:
    """Return 1 - sqrt(Y / T) / 4, as in Garivier and Moulines (2011)."""
    return 1 - math.sqrt(num_changes / horizon) / 4


def window(horizon: int, num_changes: int, bound: float, num_arms: int) -> int:
    """Return floor(2 B sqrt(T log T / Y)), as in Garivier and Moulines (2011), but at least the number of arms."""
    return max(num_arms, math.floor(2 * bound * math.sqrt(horizon * math.log(horizon) / num_changes)))


def check_bound(bound: Scalar, index: str) -> None:
    """Raise ValueError if the largest reward is not 1 with the kl index, which is made for [0, 1]."""
    if index == "kl" and not checks.is_traced(bound) and bound != 1:
        raise ValueError(f'bound = {bound!r}, must be 1 with index = "kl", which is for rewards in [0, 1]')
