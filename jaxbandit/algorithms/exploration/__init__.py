"""Pure exploration with fixed confidence in linear bandits and combinatorial bandits, one factory function per name.

In this package a factory shadows the submodule of the same name. To import anything else that such a module defines,
use the module's full path.
"""

from jaxbandit.algorithms.exploration.adaptive_full_bandit import adaptive_full_bandit
from jaxbandit.algorithms.exploration.exhaustive import exhaustive
from jaxbandit.algorithms.exploration.gifa import gifa
from jaxbandit.algorithms.exploration.icb import icb
from jaxbandit.algorithms.exploration.lazy_track_and_stop import lazy_track_and_stop
from jaxbandit.algorithms.exploration.lin_game import lin_game
from jaxbandit.algorithms.exploration.linear_top_m import lingifa, m_lingape
from jaxbandit.algorithms.exploration.presets import lingape, lucb, ugape
from jaxbandit.algorithms.exploration.rage import rage
from jaxbandit.algorithms.exploration.sa_foa import sa_foa
from jaxbandit.algorithms.exploration.saqm import saqm
from jaxbandit.algorithms.exploration.static_designs import g_static, xy_static
from jaxbandit.algorithms.exploration.xy_adaptive import xy_adaptive
from jaxbandit.algorithms.exploration.xy_oracle import xy_oracle

__all__ = [
    "adaptive_full_bandit",
    "exhaustive",
    "g_static",
    "gifa",
    "icb",
    "lazy_track_and_stop",
    "lin_game",
    "lingape",
    "lingifa",
    "lucb",
    "m_lingape",
    "rage",
    "sa_foa",
    "saqm",
    "ugape",
    "xy_adaptive",
    "xy_oracle",
    "xy_static",
]
