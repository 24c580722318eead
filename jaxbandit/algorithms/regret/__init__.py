"""Algorithms that minimize regret, one factory function per name.

In this package a factory shadows the submodule of the same name. To import anything else that such a module defines,
use the module's full path.
"""

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
from jaxbandit.algorithms.regret.ucb import ucb, ucb1, ucb1_auer
from jaxbandit.algorithms.regret.ucb_v import ucb_v
from jaxbandit.algorithms.regret.ucboost import ucboost, ucboost_eps, ucboost_lb
from jaxbandit.algorithms.regret.uniform import uniform

__all__ = [
    "bayes_ucb",
    "dmed",
    "epsilon_greedy",
    "greedy",
    "imed",
    "kl_ucb",
    "kl_ucb_empirical",
    "lin_ts",
    "lin_ucb",
    "moss",
    "oam",
    "oam_practical",
    "ossb",
    "thompson",
    "ucb",
    "ucb1",
    "ucb1_auer",
    "ucb_v",
    "ucboost",
    "ucboost_eps",
    "ucboost_lb",
    "uniform",
]
