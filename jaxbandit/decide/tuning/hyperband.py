"""Hyperband of Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar (2018).

Difference from the paper: the numbers of steps are integers, floor(max_steps / eta^i), whereas the paper divides
max_steps, which is a power of eta in its examples.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from jaxbandit.base.arguments import RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.decide.tuning import trainings
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.execution import RUNGS, check
from jaxbandit.decide.tuning.halving import Eta, Repeats, Steps, numbers, play_brackets
from jaxbandit.decide.tuning.result import TuneResult
from jaxbandit.decide.tuning.trainings import Trainee
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.support.types import Key, PyTree

Rungs = Literal["formula", "floor"]


class Sizes(NamedTuple):
    """One bracket of Hyperband."""

    configs: int
    steps: tuple[int, ...]


@checked
def hyperband(
    trainee: Trainee,
    sample: Callable[[Key, int], PyTree],
    *,
    max_steps: Steps = 81,
    eta: Eta = 3,
    rungs: Rungs = "formula",
    repeats: Repeats = 1,
    seed: RunSeed = 0,
    maximize: bool = True,
    execution: Execution = DEFAULT,
) -> TuneResult:
    """Run successive halving in brackets, from many configurations stopped early to few that are trained to the end.

    Let s_max be the largest s with eta^s <= max_steps. The brackets s = s_max, ..., 0 have rungs after
    floor(max_steps / eta^s), ..., floor(max_steps / eta), max_steps steps, and about the same cost. The best
    configuration over all brackets is chosen; among equal scores, the first.

    With rungs "formula", bracket s has ceil((s_max + 1) eta^s / (s + 1)) configurations, as in the paper. With "floor",
    it has floor((s_max + 1) / (s + 1)) eta^s, as in many implementations. For max_steps = 81 and eta = 3 these numbers
    are 81, 34, 15, 8, 5 and 81, 27, 9, 6, 5.

    Args:
      trainee: the training, as for `successive_halving`.
      sample: function (key, n) -> n random configurations, such as
        `lambda key, n: jb.space.random_configs(key, n, lr=jb.space.loguniform(1e-4, 1.0))`.
      max_steps: largest number of steps of a training.
      eta: one of eta configurations is kept at each rung.
      rungs: how the numbers of configurations are rounded, "formula" or "floor".
      repeats: as for `successive_halving`.
      seed: seed of the keys. Configurations are numbered across all brackets, so that no two trainings share a key.
      maximize: whether large scores are good.
      execution: as for `successive_halving`; the directory has one folder per bracket.

    Returns:
      A TuneResult without a guarantee, as for `successive_halving`, with the configurations of all brackets.

    Raises:
      ValueError: as for `successive_halving`, or `sample` fails or returns another number of configurations.

    Source: Li, Jamieson, DeSalvo, Rostamizadeh, Talwalkar (2018), Hyperband: a novel bandit-based approach to
    hyperparameter optimization, JMLR 18, Algorithm 1.
    """
    check(execution, RUNGS)
    sizes = brackets(max_steps, eta, rungs)
    drawn = [_drawn(sample, seed, i, size.configs) for i, size in enumerate(sizes)]
    parts = {f"bracket-{len(size.steps) - 1}": (d, size.steps) for size, d in zip(sizes, drawn, strict=True)}
    return play_brackets("hyperband", trainee, parts, execution, eta=eta, repeats=repeats, seed=seed, maximize=maximize)


def brackets(max_steps: int, eta: int, rungs: Rungs) -> list[Sizes]:
    """Return the brackets in the order in which they are played."""
    most = 0
    while eta ** (most + 1) <= max_steps:  # integer arithmetic, because math.log(243, 3) is below 5
        most += 1
    sizes = []
    for s in range(most, -1, -1):
        configs = -(-(most + 1) * eta**s // (s + 1)) if rungs == "formula" else (most + 1) // (s + 1) * eta**s
        sizes.append(Sizes(configs, tuple(max_steps // eta**i for i in range(s, -1, -1))))
    return sizes


def _drawn(sample: Callable[[Key, int], PyTree], seed: int, draw: int, count: int) -> Configs:
    configs = trainings.called("sample", sample, trainings.draw_key(seed, draw), count)
    known = numbers(configs)
    if known.count != count:
        raise ValueError(f"sample returns {known.count} configurations, must be the {count} that were requested")
    return known
