"""Bandit algorithms as pure functions of one run, thousands of independent runs at once.

Public names are imported when they are first used: `import jaxbandit` alone costs nothing, not even JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbandit.algorithms.exploration.adaptive_full_bandit import adaptive_full_bandit
    from jaxbandit.algorithms.exploration.exhaustive import exhaustive
    from jaxbandit.algorithms.exploration.gifa import gifa
    from jaxbandit.algorithms.exploration.icb import icb
    from jaxbandit.algorithms.exploration.lazy_track_and_stop import lazy_track_and_stop
    from jaxbandit.algorithms.exploration.lin_game import lin_game
    from jaxbandit.algorithms.exploration.presets import lingape, lingifa, lucb, m_lingape, ugape
    from jaxbandit.algorithms.exploration.rage import rage
    from jaxbandit.algorithms.exploration.sa_foa import sa_foa
    from jaxbandit.algorithms.exploration.saqm import saqm
    from jaxbandit.algorithms.exploration.static_designs import g_static, xy_static
    from jaxbandit.algorithms.exploration.xy_adaptive import xy_adaptive
    from jaxbandit.algorithms.exploration.xy_oracle import xy_oracle
    from jaxbandit.algorithms.regret.bayes_ucb import bayes_ucb
    from jaxbandit.algorithms.regret.dmed import dmed
    from jaxbandit.algorithms.regret.epsilon_greedy import epsilon_greedy
    from jaxbandit.algorithms.regret.greedy import greedy
    from jaxbandit.algorithms.regret.imed import imed
    from jaxbandit.algorithms.regret.kl_ucb import kl_ucb
    from jaxbandit.algorithms.regret.kl_ucb_empirical import kl_ucb_empirical
    from jaxbandit.algorithms.regret.lin_ts import lin_ts
    from jaxbandit.algorithms.regret.lin_ucb import lin_ucb
    from jaxbandit.algorithms.regret.moss import moss
    from jaxbandit.algorithms.regret.oam import oam
    from jaxbandit.algorithms.regret.oam_practical import oam_practical
    from jaxbandit.algorithms.regret.ossb import ossb
    from jaxbandit.algorithms.regret.thompson import thompson
    from jaxbandit.algorithms.regret.ucb import ucb, ucb1
    from jaxbandit.algorithms.regret.ucb_v import ucb_v
    from jaxbandit.algorithms.regret.ucboost import ucboost, ucboost_eps, ucboost_lb
    from jaxbandit.algorithms.regret.uniform import uniform
    from jaxbandit.base import Algorithm, Environment, Outcome, SetPulls, never, no_context, none
    from jaxbandit.conformance.check_algorithm import check_algorithm
    from jaxbandit.environments.bernoulli import bernoulli
    from jaxbandit.environments.beta import beta
    from jaxbandit.environments.crowd import crowd
    from jaxbandit.environments.crowd_answers import crowd_answers
    from jaxbandit.environments.full_bandit import full_bandit
    from jaxbandit.environments.full_bandit_random import full_bandit_random
    from jaxbandit.environments.gaussian import gaussian
    from jaxbandit.environments.linear import linear
    from jaxbandit.environments.linear_contextual import linear_contextual
    from jaxbandit.environments.linear_contextual_classes import linear_contextual_classes
    from jaxbandit.environments.linear_contextual_random import linear_contextual_random
    from jaxbandit.environments.linear_random import linear_random
    from jaxbandit.environments.r6a import r6a
    from jaxbandit.environments.r6a_like import r6a_like
    from jaxbandit.environments.soare import soare
    from jaxbandit.environments.table import table
    from jaxbandit.environments.top_m_classic import top_m_classic
    from jaxbandit.plotting.figures import plot
    from jaxbandit.refusals import RunsLeftOut
    from jaxbandit.results.base import Result
    from jaxbandit.results.compare import compare
    from jaxbandit.results.loading import load
    from jaxbandit.results.saving import save
    from jaxbandit.running.identify import identify
    from jaxbandit.running.simulate import simulate
    from jaxbandit.running.sweep import sweep

__version__ = "0.2.0.dev0"

__all__ = [
    "Algorithm",
    "Environment",
    "Outcome",
    "Result",
    "RunsLeftOut",
    "SetPulls",
    "__version__",
    "adaptive_full_bandit",
    "bayes_ucb",
    "bernoulli",
    "beta",
    "check_algorithm",
    "compare",
    "crowd",
    "crowd_answers",
    "dmed",
    "epsilon_greedy",
    "exhaustive",
    "full_bandit",
    "full_bandit_random",
    "g_static",
    "gaussian",
    "gifa",
    "greedy",
    "icb",
    "identify",
    "imed",
    "kl_ucb",
    "kl_ucb_empirical",
    "lazy_track_and_stop",
    "lin_game",
    "lin_ts",
    "lin_ucb",
    "linear",
    "linear_contextual",
    "linear_contextual_classes",
    "linear_contextual_random",
    "linear_random",
    "lingape",
    "lingifa",
    "load",
    "lucb",
    "m_lingape",
    "moss",
    "never",
    "no_context",
    "none",
    "oam",
    "oam_practical",
    "ossb",
    "plot",
    "r6a",
    "r6a_like",
    "rage",
    "sa_foa",
    "saqm",
    "save",
    "simulate",
    "soare",
    "sweep",
    "table",
    "thompson",
    "top_m_classic",
    "ucb",
    "ucb1",
    "ucb_v",
    "ucboost",
    "ucboost_eps",
    "ucboost_lb",
    "ugape",
    "uniform",
    "xy_adaptive",
    "xy_oracle",
    "xy_static",
]

# Where each name lives; a test holds this equal to the imports above.
_HOME = {
    "Algorithm": "base",
    "Environment": "base",
    "Outcome": "base",
    "Result": "results.base",
    "RunsLeftOut": "refusals",
    "SetPulls": "base",
    "adaptive_full_bandit": "algorithms.exploration.adaptive_full_bandit",
    "bayes_ucb": "algorithms.regret.bayes_ucb",
    "bernoulli": "environments.bernoulli",
    "beta": "environments.beta",
    "check_algorithm": "conformance.check_algorithm",
    "compare": "results.compare",
    "crowd": "environments.crowd",
    "crowd_answers": "environments.crowd_answers",
    "dmed": "algorithms.regret.dmed",
    "epsilon_greedy": "algorithms.regret.epsilon_greedy",
    "exhaustive": "algorithms.exploration.exhaustive",
    "full_bandit": "environments.full_bandit",
    "full_bandit_random": "environments.full_bandit_random",
    "g_static": "algorithms.exploration.static_designs",
    "gaussian": "environments.gaussian",
    "gifa": "algorithms.exploration.gifa",
    "greedy": "algorithms.regret.greedy",
    "icb": "algorithms.exploration.icb",
    "identify": "running.identify",
    "imed": "algorithms.regret.imed",
    "kl_ucb": "algorithms.regret.kl_ucb",
    "kl_ucb_empirical": "algorithms.regret.kl_ucb_empirical",
    "lazy_track_and_stop": "algorithms.exploration.lazy_track_and_stop",
    "lin_game": "algorithms.exploration.lin_game",
    "lin_ts": "algorithms.regret.lin_ts",
    "lin_ucb": "algorithms.regret.lin_ucb",
    "linear": "environments.linear",
    "linear_contextual": "environments.linear_contextual",
    "linear_contextual_classes": "environments.linear_contextual_classes",
    "linear_contextual_random": "environments.linear_contextual_random",
    "linear_random": "environments.linear_random",
    "lingape": "algorithms.exploration.presets",
    "lingifa": "algorithms.exploration.presets",
    "load": "results.loading",
    "lucb": "algorithms.exploration.presets",
    "m_lingape": "algorithms.exploration.presets",
    "moss": "algorithms.regret.moss",
    "never": "base",
    "no_context": "base",
    "none": "base",
    "oam": "algorithms.regret.oam",
    "oam_practical": "algorithms.regret.oam_practical",
    "ossb": "algorithms.regret.ossb",
    "plot": "plotting.figures",
    "r6a": "environments.r6a",
    "r6a_like": "environments.r6a_like",
    "rage": "algorithms.exploration.rage",
    "sa_foa": "algorithms.exploration.sa_foa",
    "saqm": "algorithms.exploration.saqm",
    "save": "results.saving",
    "simulate": "running.simulate",
    "soare": "environments.soare",
    "sweep": "running.sweep",
    "table": "environments.table",
    "thompson": "algorithms.regret.thompson",
    "top_m_classic": "environments.top_m_classic",
    "ucb": "algorithms.regret.ucb",
    "ucb1": "algorithms.regret.ucb",
    "ucb_v": "algorithms.regret.ucb_v",
    "ucboost": "algorithms.regret.ucboost",
    "ucboost_eps": "algorithms.regret.ucboost",
    "ucboost_lb": "algorithms.regret.ucboost",
    "ugape": "algorithms.exploration.presets",
    "uniform": "algorithms.regret.uniform",
    "xy_adaptive": "algorithms.exploration.xy_adaptive",
    "xy_oracle": "algorithms.exploration.xy_oracle",
    "xy_static": "algorithms.exploration.static_designs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jaxbandit' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"jaxbandit.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
