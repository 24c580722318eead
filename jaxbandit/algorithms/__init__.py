"""The algorithms, and building blocks: the frame of an index policy, thresholds, and sets of arms.

Each name is imported when it is first used.
"""

from typing import TYPE_CHECKING

from jaxbandit import lazy

if TYPE_CHECKING:
    from jaxbandit.algorithms.adversarial.exp3 import exp3
    from jaxbandit.algorithms.adversarial.exp3_ix import exp3_ix
    from jaxbandit.algorithms.adversarial.exp3_s import exp3_s
    from jaxbandit.algorithms.adversarial.tsallis_inf import tsallis_inf
    from jaxbandit.algorithms.best_arm.bernstein_race import bernstein_race
    from jaxbandit.algorithms.best_arm.betting_race import betting_race
    from jaxbandit.algorithms.best_arm.chernoff_racing import chernoff_racing
    from jaxbandit.algorithms.best_arm.kim_nelson import kim_nelson
    from jaxbandit.algorithms.best_arm.kl_lucb import kl_lucb
    from jaxbandit.algorithms.best_arm.kl_racing import kl_racing, successive_elimination
    from jaxbandit.algorithms.best_arm.lil_ucb import lil_ucb
    from jaxbandit.algorithms.best_arm.paired_race import paired_race
    from jaxbandit.algorithms.best_arm.student_race import student_race
    from jaxbandit.algorithms.best_arm.thresholds import pair_threshold
    from jaxbandit.algorithms.best_arm.top_two import top_two
    from jaxbandit.algorithms.best_arm.track_and_stop import track_and_stop
    from jaxbandit.algorithms.combinatorial.clucb import clucb
    from jaxbandit.algorithms.combinatorial.combinatorial_thompson import combinatorial_thompson
    from jaxbandit.algorithms.combinatorial.cucb import cucb
    from jaxbandit.algorithms.combinatorial.escb import escb
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
    from jaxbandit.algorithms.exploration.super_arms import super_arms
    from jaxbandit.algorithms.exploration.thresholds import (
        det_threshold,
        heuristic_threshold,
        independent_threshold,
        lucb1_threshold,
        static_threshold,
        theory_threshold,
    )
    from jaxbandit.algorithms.exploration.xy_adaptive import xy_adaptive
    from jaxbandit.algorithms.exploration.xy_oracle import xy_oracle
    from jaxbandit.algorithms.feedback.batched import batched
    from jaxbandit.algorithms.feedback.batched_elimination import batched_elimination
    from jaxbandit.algorithms.feedback.delayed import delayed
    from jaxbandit.algorithms.feedback.grids import geometric_grid, minimax_grid
    from jaxbandit.algorithms.fixed_budget.budgeted_race import budgeted_race
    from jaxbandit.algorithms.fixed_budget.sequential_halving import sequential_halving
    from jaxbandit.algorithms.fixed_budget.successive_rejects import successive_rejects
    from jaxbandit.algorithms.fixed_budget.ucb_e import ucb_e
    from jaxbandit.algorithms.fixed_budget.ugape_b import ugape_b
    from jaxbandit.algorithms.fixed_budget.uniform_allocation import uniform_allocation
    from jaxbandit.algorithms.non_stationary.cusum_ucb import cusum_ucb
    from jaxbandit.algorithms.non_stationary.d_ucb import d_ucb
    from jaxbandit.algorithms.non_stationary.discounted_thompson import discounted_thompson
    from jaxbandit.algorithms.non_stationary.glr_klucb import glr_klucb
    from jaxbandit.algorithms.non_stationary.m_ucb import m_ucb
    from jaxbandit.algorithms.non_stationary.oracle_restart import oracle_restart
    from jaxbandit.algorithms.non_stationary.sw_ucb import sw_ucb
    from jaxbandit.algorithms.regret.bayes_ucb import bayes_ucb
    from jaxbandit.algorithms.regret.dmed import dmed
    from jaxbandit.algorithms.regret.epsilon_greedy import epsilon_greedy
    from jaxbandit.algorithms.regret.greedy import greedy
    from jaxbandit.algorithms.regret.imed import imed
    from jaxbandit.algorithms.regret.index_policy import IndexState, divergence_budget, index_policy
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
    "IndexState",
    "adaptive_full_bandit",
    "batched",
    "batched_elimination",
    "bayes_ucb",
    "bernstein_race",
    "betting_race",
    "budgeted_race",
    "chernoff_racing",
    "clucb",
    "combinatorial_thompson",
    "cucb",
    "cusum_ucb",
    "d_ucb",
    "delayed",
    "det_threshold",
    "discounted_thompson",
    "divergence_budget",
    "dmed",
    "epsilon_greedy",
    "escb",
    "exhaustive",
    "exp3",
    "exp3_ix",
    "exp3_s",
    "g_static",
    "geometric_grid",
    "gifa",
    "glr_klucb",
    "greedy",
    "heuristic_threshold",
    "icb",
    "imed",
    "independent_threshold",
    "index_policy",
    "kim_nelson",
    "kl_lucb",
    "kl_racing",
    "kl_ucb",
    "kl_ucb_empirical",
    "lazy_track_and_stop",
    "lil_ucb",
    "lin_game",
    "lin_ts",
    "lin_ucb",
    "lingape",
    "lingifa",
    "lucb",
    "lucb1_threshold",
    "m_lingape",
    "m_ucb",
    "minimax_grid",
    "moss",
    "oam",
    "oam_practical",
    "oracle_restart",
    "ossb",
    "pair_threshold",
    "paired_race",
    "rage",
    "sa_foa",
    "saqm",
    "sequential_halving",
    "static_threshold",
    "student_race",
    "successive_elimination",
    "successive_rejects",
    "super_arms",
    "sw_ucb",
    "theory_threshold",
    "thompson",
    "top_two",
    "track_and_stop",
    "tsallis_inf",
    "ucb",
    "ucb1",
    "ucb1_auer",
    "ucb_e",
    "ucb_v",
    "ucboost",
    "ucboost_eps",
    "ucboost_lb",
    "ugape",
    "ugape_b",
    "uniform",
    "uniform_allocation",
    "xy_adaptive",
    "xy_oracle",
    "xy_static",
]

# Where each name lives; a test holds this equal to the imports above.
_HOME = {
    "IndexState": "regret.index_policy",
    "adaptive_full_bandit": "exploration.adaptive_full_bandit",
    "batched": "feedback.batched",
    "batched_elimination": "feedback.batched_elimination",
    "bayes_ucb": "regret.bayes_ucb",
    "bernstein_race": "best_arm.bernstein_race",
    "betting_race": "best_arm.betting_race",
    "budgeted_race": "fixed_budget.budgeted_race",
    "chernoff_racing": "best_arm.chernoff_racing",
    "clucb": "combinatorial.clucb",
    "combinatorial_thompson": "combinatorial.combinatorial_thompson",
    "cucb": "combinatorial.cucb",
    "cusum_ucb": "non_stationary.cusum_ucb",
    "d_ucb": "non_stationary.d_ucb",
    "delayed": "feedback.delayed",
    "det_threshold": "exploration.thresholds",
    "discounted_thompson": "non_stationary.discounted_thompson",
    "divergence_budget": "regret.index_policy",
    "dmed": "regret.dmed",
    "epsilon_greedy": "regret.epsilon_greedy",
    "escb": "combinatorial.escb",
    "exhaustive": "exploration.exhaustive",
    "exp3": "adversarial.exp3",
    "exp3_ix": "adversarial.exp3_ix",
    "exp3_s": "adversarial.exp3_s",
    "g_static": "exploration.static_designs",
    "geometric_grid": "feedback.grids",
    "gifa": "exploration.gifa",
    "glr_klucb": "non_stationary.glr_klucb",
    "greedy": "regret.greedy",
    "heuristic_threshold": "exploration.thresholds",
    "icb": "exploration.icb",
    "imed": "regret.imed",
    "independent_threshold": "exploration.thresholds",
    "index_policy": "regret.index_policy",
    "kim_nelson": "best_arm.kim_nelson",
    "kl_lucb": "best_arm.kl_lucb",
    "kl_racing": "best_arm.kl_racing",
    "kl_ucb": "regret.kl_ucb",
    "kl_ucb_empirical": "regret.kl_ucb_empirical",
    "lazy_track_and_stop": "exploration.lazy_track_and_stop",
    "lil_ucb": "best_arm.lil_ucb",
    "lin_game": "exploration.lin_game",
    "lin_ts": "regret.lin_ts",
    "lin_ucb": "regret.lin_ucb",
    "lingape": "exploration.presets",
    "lingifa": "exploration.linear_top_m",
    "lucb": "exploration.presets",
    "lucb1_threshold": "exploration.thresholds",
    "m_lingape": "exploration.linear_top_m",
    "m_ucb": "non_stationary.m_ucb",
    "minimax_grid": "feedback.grids",
    "moss": "regret.moss",
    "oam": "regret.oam",
    "oam_practical": "regret.oam_practical",
    "oracle_restart": "non_stationary.oracle_restart",
    "ossb": "regret.ossb",
    "pair_threshold": "best_arm.thresholds",
    "paired_race": "best_arm.paired_race",
    "rage": "exploration.rage",
    "sa_foa": "exploration.sa_foa",
    "saqm": "exploration.saqm",
    "sequential_halving": "fixed_budget.sequential_halving",
    "static_threshold": "exploration.thresholds",
    "student_race": "best_arm.student_race",
    "successive_elimination": "best_arm.kl_racing",
    "successive_rejects": "fixed_budget.successive_rejects",
    "super_arms": "exploration.super_arms",
    "sw_ucb": "non_stationary.sw_ucb",
    "theory_threshold": "exploration.thresholds",
    "thompson": "regret.thompson",
    "top_two": "best_arm.top_two",
    "track_and_stop": "best_arm.track_and_stop",
    "tsallis_inf": "adversarial.tsallis_inf",
    "ucb": "regret.ucb",
    "ucb1": "regret.ucb",
    "ucb1_auer": "regret.ucb",
    "ucb_e": "fixed_budget.ucb_e",
    "ucb_v": "regret.ucb_v",
    "ucboost": "regret.ucboost",
    "ucboost_eps": "regret.ucboost",
    "ucboost_lb": "regret.ucboost",
    "ugape": "exploration.presets",
    "ugape_b": "fixed_budget.ugape_b",
    "uniform": "regret.uniform",
    "uniform_allocation": "fixed_budget.uniform_allocation",
    "xy_adaptive": "exploration.xy_adaptive",
    "xy_oracle": "exploration.xy_oracle",
    "xy_static": "exploration.static_designs",
}

__getattr__, __dir__ = lazy.names(__name__, _HOME, __all__)
