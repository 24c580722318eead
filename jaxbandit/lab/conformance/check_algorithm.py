"""The function `check_algorithm`, which checks the properties that the engine assumes of an algorithm."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax

from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.declaration import declaration_of
from jaxbandit.lab.conformance import check_batches, check_play, check_trace
from jaxbandit.lab.conformance.check_case import Case, CheckFailed
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.types import Numbers

__all__ = ["PROPERTIES", "CheckFailed", "Report", "check_algorithm"]

PROPERTIES = {
    "traceable": "JAX can trace the functions, with every listed hyperparameter traced",
    "types": "the state keeps its tree, shapes and dtypes; actions int32[] or as declared, stop bool[], pulls and "
    "m arms int32",
    "precision": "floats are float32, and float64 inside enable_x64, without silent promotion",
    "chance": "every key is derived from the run's key, in noise or in init; noise draws something or is none()",
    "pure": "nothing is stored in Python, so that tracing again gives the same program",
    "range": "actions and recommendations are in [0, num_arms), and recommended or ordered arms are distinct",
    "finite": "the state and the actions hold no NaN, and no NaN reaches an argmax after the first num_arms rounds",
    "stop": "stop is False before the first pull",
    "replan": "after a new plan, no other plan is due",
    "batches of pulls": "a batch leads to the same pulls, stop and recommendation as its pulls one by one",
    "pulls": "the function pulls, if it is given, returns the true numbers of pulls",
    "side by side": "the decisions of a run are the same alone and at any place of a batch",
    "compiled once": "other values with the same shapes do not trace again",
}


class Report(NamedTuple):
    """The properties that were checked. A failed check raises an exception instead."""

    name: str
    num_arms: tuple[int, ...]
    traced: tuple[str, ...]
    properties: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: num_arms {self.num_arms}, traced {self.traced or 'nothing'}"]
        return "\n".join(lines + [f"  {name}: {PROPERTIES[name]}" for name in self.properties])


@checked
def check_algorithm(
    make: Callable[..., Algorithm],
    num_arms: int | Sequence[int] = (1, 2, 5),
    *,
    traced: Mapping[str, Sequence[Numbers]] | None = None,
    environment: Callable[[int], Environment] | None = None,
    rounds: int = 60,
    strict: bool = True,
) -> Report:
    """Check that `make(num_arms, **hyperparameters)` satisfies the contract on which the engine relies.

    Without an environment, the rewards are those of tied Bernoulli arms, uniform rewards, and the constants 0, 1 and
    1/2. The regret is not examined.

    Args:
      make: the factory. Bind static arguments with functools.partial. Wrap an algorithm that takes something other
        than a number of arms, as in `lambda num_arms, **hyper: mine(features[:num_arms], **hyper)`.
      num_arms: numbers of arms to check. The largest is checked most thoroughly.
      traced: at least one value for every traced hyperparameter, as in {"epsilon": [0.1, 0.2]}. The first is the
        default in the other checks. None means what the factory declares as `tries` (see `declare`), apart from what
        is bound.
      environment: function (num_arms) -> Environment that provides contexts and feedback, for algorithms that need a
        context, or whose feedback is not one number, or whose action is neither an arm nor a set. With several action
        sets, contexts are int32[], pulls and recommendations give arm a of set m the index num_arms m + a, and an
        action that a set lacks has the regret NaN.
      rounds: length of the runs, more than twice the largest number of arms.
      strict: whether JAX may not promote dtypes by itself, which finds an int32 that became a float64. False for an
        algorithm that calls a library which relies on promotion, such as Optax or Equinox. That the state keeps its
        dtypes is checked either way.

    Returns:
      A Report that lists the properties that were checked.

    Raises:
      CheckFailed: a property does not hold. It is an AssertionError whose one-line message names the contract
        violation and says what to do.
      ValueError: an argument of this function is wrong.
    """
    arms = [num_arms] if isinstance(num_arms, int) else list(num_arms)
    arms = sorted({checks.take("num_arms", k, integer(1)) for k in arms})
    if not arms:
        raise ValueError("num_arms is empty, must hold at least one number of arms")
    checks.take("rounds", rounds, integer(2 * arms[-1] + 1))
    if traced is None and (declared := declaration_of(make)):
        bound = make.keywords if isinstance(make, functools.partial) else {}
        traced = {name: some for name, some in declared.tries.items() if name not in bound}
    values = {name: list(some) for name, some in (traced or {}).items()}
    for name, some in values.items():
        if not some:
            raise ValueError(f"traced[{name!r}] is empty, must hold at least one value")
    base = {name: some[0] for name, some in values.items()}
    hyper = [base] + [{**base, name: value} for name, some in values.items() for value in some[1:]]
    inner = make.func if isinstance(make, functools.partial) else make
    name = getattr(inner, "__name__", type(inner).__name__)
    # With four or more arms, a single run is compiled to a vector loop and a remainder, which may break ties otherwise.
    lone = max((k for k in arms if k < 4), default=arms[-1])
    for x64, sizes in ((False, arms), (True, arms[-1:])):
        for k in sizes:
            check_case(Case(name, make, k, hyper, environment, rounds), x64, not x64 and k == lone, strict)
    return Report(name, tuple(arms), tuple(values), tuple(PROPERTIES))


def check_case(case: Case, x64: bool, single_runs: bool, strict: bool = True) -> None:
    """Check one number of arms in one precision, and with `single_runs` that a run alone decides the same."""
    try:
        with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict" if strict else "standard"):
            programs = check_trace.check_programs(case, check_trace.check_types(case))
            check_play.check_plays(case, single_runs=single_runs)
            if x64:  # the precision in which algorithms that stop are run
                check_batches.check_batches(case)
            check_trace.check_same(case, programs)
    except CheckFailed as error:
        # A new exception, because JAX adds notes to one that passes through it.
        raise CheckFailed(str(error)) from error.__cause__
