"""Bandit algorithms as pure functions of one run, thousands of independent runs at once.

Public names are imported when they are first used: `import jaxbandit` alone costs nothing, not even JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbandit.algorithms.regret.bayes_ucb import bayes_ucb
    from jaxbandit.algorithms.regret.dmed import dmed
    from jaxbandit.algorithms.regret.epsilon_greedy import epsilon_greedy
    from jaxbandit.algorithms.regret.imed import imed
    from jaxbandit.algorithms.regret.kl_ucb import kl_ucb
    from jaxbandit.algorithms.regret.kl_ucb_empirical import kl_ucb_empirical
    from jaxbandit.algorithms.regret.moss import moss
    from jaxbandit.algorithms.regret.thompson import thompson
    from jaxbandit.algorithms.regret.ucb import ucb, ucb1
    from jaxbandit.algorithms.regret.ucb_v import ucb_v
    from jaxbandit.algorithms.regret.ucboost import ucboost, ucboost_eps, ucboost_lb
    from jaxbandit.algorithms.regret.uniform import uniform
    from jaxbandit.base import Algorithm, Environment, Outcome, never, no_context, none
    from jaxbandit.environments.bernoulli import bernoulli
    from jaxbandit.environments.beta import beta
    from jaxbandit.environments.crowd import crowd
    from jaxbandit.environments.gaussian import gaussian
    from jaxbandit.environments.table import table
    from jaxbandit.experiments.check import check_algorithm
    from jaxbandit.experiments.compare import compare
    from jaxbandit.experiments.result import Result, load
    from jaxbandit.experiments.simulate import simulate, sweep

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "Environment",
    "Outcome",
    "Result",
    "__version__",
    "bayes_ucb",
    "bernoulli",
    "beta",
    "check_algorithm",
    "compare",
    "crowd",
    "dmed",
    "epsilon_greedy",
    "gaussian",
    "imed",
    "kl_ucb",
    "kl_ucb_empirical",
    "load",
    "moss",
    "never",
    "no_context",
    "none",
    "simulate",
    "sweep",
    "table",
    "thompson",
    "ucb",
    "ucb1",
    "ucb_v",
    "ucboost",
    "ucboost_eps",
    "ucboost_lb",
    "uniform",
]

# Where each name lives; a test holds this equal to the imports above.
_HOME = {
    "Algorithm": "base",
    "Environment": "base",
    "Outcome": "base",
    "Result": "experiments.result",
    "bayes_ucb": "algorithms.regret.bayes_ucb",
    "bernoulli": "environments.bernoulli",
    "beta": "environments.beta",
    "check_algorithm": "experiments.check",
    "compare": "experiments.compare",
    "crowd": "environments.crowd",
    "dmed": "algorithms.regret.dmed",
    "epsilon_greedy": "algorithms.regret.epsilon_greedy",
    "gaussian": "environments.gaussian",
    "imed": "algorithms.regret.imed",
    "kl_ucb": "algorithms.regret.kl_ucb",
    "kl_ucb_empirical": "algorithms.regret.kl_ucb_empirical",
    "load": "experiments.result",
    "moss": "algorithms.regret.moss",
    "never": "base",
    "no_context": "base",
    "none": "base",
    "simulate": "experiments.simulate",
    "sweep": "experiments.simulate",
    "table": "environments.table",
    "thompson": "algorithms.regret.thompson",
    "ucb": "algorithms.regret.ucb",
    "ucb1": "algorithms.regret.ucb",
    "ucb_v": "algorithms.regret.ucb_v",
    "ucboost": "algorithms.regret.ucboost",
    "ucboost_eps": "algorithms.regret.ucboost",
    "ucboost_lb": "algorithms.regret.ucboost",
    "uniform": "algorithms.regret.uniform",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jaxbandit' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"jaxbandit.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
