"""Best-arm identification with fixed confidence for unstructured arms, one factory function per name.

In this package a factory shadows the submodule of the same name. To import anything else that such a module defines,
use the module's full path.
"""

from jaxbandit.algorithms.best_arm.bernstein_race import bernstein_race
from jaxbandit.algorithms.best_arm.betting_race import betting_race
from jaxbandit.algorithms.best_arm.chernoff_racing import chernoff_racing
from jaxbandit.algorithms.best_arm.kim_nelson import kim_nelson
from jaxbandit.algorithms.best_arm.kl_lucb import kl_lucb
from jaxbandit.algorithms.best_arm.kl_racing import kl_racing, successive_elimination
from jaxbandit.algorithms.best_arm.lil_ucb import lil_ucb
from jaxbandit.algorithms.best_arm.paired_race import paired_race
from jaxbandit.algorithms.best_arm.student_race import student_race
from jaxbandit.algorithms.best_arm.top_two import top_two
from jaxbandit.algorithms.best_arm.track_and_stop import track_and_stop

__all__ = [
    "bernstein_race",
    "betting_race",
    "chernoff_racing",
    "kim_nelson",
    "kl_lucb",
    "kl_racing",
    "lil_ucb",
    "paired_race",
    "student_race",
    "successive_elimination",
    "top_two",
    "track_and_stop",
]
