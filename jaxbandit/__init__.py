"""Bandit algorithms in JAX: pure functions of one run, of which the engine plays thousands at once.

Public names are imported on first use, so that `import jaxbandit` alone is fast and does not import JAX.
"""

from typing import TYPE_CHECKING

from jaxbandit import lazy

if TYPE_CHECKING:
    from jaxbandit import algorithms, bounds, environments, numerics
    from jaxbandit.algorithms import (
        adaptive_full_bandit,
        batched,
        batched_elimination,
        bayes_ucb,
        bernstein_race,
        betting_race,
        budgeted_race,
        chernoff_racing,
        clucb,
        combinatorial_thompson,
        cucb,
        cusum_ucb,
        d_ucb,
        delayed,
        discounted_thompson,
        dmed,
        epsilon_greedy,
        escb,
        exhaustive,
        exp3,
        exp3_ix,
        exp3_s,
        g_static,
        geometric_grid,
        gifa,
        glr_klucb,
        greedy,
        icb,
        imed,
        kim_nelson,
        kl_lucb,
        kl_racing,
        kl_ucb,
        kl_ucb_empirical,
        lazy_track_and_stop,
        lil_ucb,
        lin_game,
        lin_ts,
        lin_ucb,
        lingape,
        lingifa,
        lucb,
        m_lingape,
        m_ucb,
        minimax_grid,
        moss,
        oam,
        oam_practical,
        oracle_restart,
        ossb,
        paired_race,
        rage,
        sa_foa,
        saqm,
        sequential_halving,
        student_race,
        successive_elimination,
        successive_rejects,
        sw_ucb,
        thompson,
        top_two,
        track_and_stop,
        tsallis_inf,
        ucb,
        ucb1,
        ucb1_auer,
        ucb_e,
        ucb_v,
        ucboost,
        ucboost_eps,
        ucboost_lb,
        ugape,
        ugape_b,
        uniform,
        uniform_allocation,
        xy_adaptive,
        xy_oracle,
        xy_static,
    )
    from jaxbandit.auditing.audit import audit
    from jaxbandit.base import (
        Algorithm,
        Arms,
        Batch,
        BatchRewards,
        Choice,
        Environment,
        Outcome,
        Phases,
        Promise,
        Replan,
        Rewards,
        Schedule,
        SetPulls,
        never,
        no_context,
        none,
    )
    from jaxbandit.conformance.check_algorithm import check_algorithm
    from jaxbandit.conformance.check_environment import check_environment
    from jaxbandit.engine.opened import Pulls
    from jaxbandit.engine.rollout import rollout, run_key, run_until_stop
    from jaxbandit.engine.session import Session, ask, pull_keys, session, tell, withdraw
    from jaxbandit.environments import (
        bernoulli,
        beta,
        constrained_adversary,
        crowd,
        crowd_answers,
        exponential,
        fiesta,
        full_bandit,
        full_bandit_random,
        gaussian,
        hpo_table,
        linear,
        linear_contextual,
        linear_contextual_classes,
        linear_contextual_random,
        linear_random,
        loss_table,
        piecewise_bernoulli,
        piecewise_gaussian,
        poisson,
        r6a,
        r6a_like,
        restless_bernoulli,
        semi_bandit,
        sinusoidal_bernoulli,
        soare,
        table,
        top_m_classic,
    )
    from jaxbandit.plotting.figures import plot
    from jaxbandit.refusals import RunsLeftOut
    from jaxbandit.reproduction.paper import reproduce
    from jaxbandit.results.base import Result
    from jaxbandit.results.compare import compare
    from jaxbandit.results.loading import load
    from jaxbandit.results.saving import save
    from jaxbandit.running.identify import identify
    from jaxbandit.running.run import run
    from jaxbandit.running.simulate import simulate
    from jaxbandit.running.sweep import sweep
    from jaxbandit.sessions.certificate import Certificate, certificate
    from jaxbandit.sessions.directory import session_directory
    from jaxbandit.sessions.saving import load_session, save_session
    from jaxbandit.tuning.grid import choice, grid, loguniform, random_configs, static, uniform_float, uniform_int
    from jaxbandit.tuning.halving import successive_halving
    from jaxbandit.tuning.hyperband import hyperband
    from jaxbandit.tuning.result import TuneResult
    from jaxbandit.tuning.trainings import Trainee
    from jaxbandit.tuning.tune import tune

__version__ = "0.2.0"

# fmt: off
__all__ = [
    "Algorithm", "Arms", "Batch", "BatchRewards", "Certificate", "Choice", "Environment", "Outcome", "Phases",
    "Promise", "Pulls", "Replan", "Result", "Rewards", "RunsLeftOut", "Schedule", "Session", "SetPulls", "Trainee",
    "TuneResult", "__version__", "adaptive_full_bandit", "algorithms", "ask", "audit", "batched", "batched_elimination",
    "bayes_ucb", "bernoulli", "bernstein_race", "beta", "betting_race", "bounds", "budgeted_race", "certificate",
    "check_algorithm", "check_environment", "chernoff_racing", "choice", "clucb", "combinatorial_thompson", "compare",
    "constrained_adversary", "crowd", "crowd_answers", "cucb", "cusum_ucb", "d_ucb", "delayed", "discounted_thompson",
    "dmed", "environments", "epsilon_greedy", "escb", "exhaustive", "exp3", "exp3_ix", "exp3_s", "exponential",
    "fiesta", "full_bandit", "full_bandit_random", "g_static", "gaussian", "geometric_grid", "gifa", "glr_klucb",
    "greedy", "grid", "hpo_table", "hyperband", "icb", "identify", "imed", "kim_nelson", "kl_lucb", "kl_racing",
    "kl_ucb", "kl_ucb_empirical", "lazy_track_and_stop", "lil_ucb", "lin_game", "lin_ts", "lin_ucb", "linear",
    "linear_contextual", "linear_contextual_classes", "linear_contextual_random", "linear_random", "lingape", "lingifa",
    "load", "load_session", "loguniform", "loss_table", "lucb", "m_lingape", "m_ucb", "minimax_grid", "moss", "never",
    "no_context", "none", "numerics", "oam", "oam_practical", "oracle_restart", "ossb", "paired_race",
    "piecewise_bernoulli", "piecewise_gaussian", "plot", "poisson", "pull_keys", "r6a", "r6a_like", "rage",
    "random_configs", "reproduce", "restless_bernoulli", "rollout", "run", "run_key", "run_until_stop", "sa_foa",
    "saqm", "save", "save_session", "semi_bandit", "sequential_halving", "session", "session_directory", "simulate",
    "sinusoidal_bernoulli", "soare", "static", "student_race", "successive_elimination", "successive_halving",
    "successive_rejects", "sw_ucb", "sweep", "table", "tell", "thompson", "top_m_classic", "top_two", "track_and_stop",
    "tsallis_inf", "tune", "ucb", "ucb1", "ucb1_auer", "ucb_e", "ucb_v", "ucboost", "ucboost_eps", "ucboost_lb",
    "ugape", "ugape_b", "uniform", "uniform_allocation", "uniform_float", "uniform_int", "withdraw", "xy_adaptive",
    "xy_oracle", "xy_static",
]
# fmt: on

# The module that defines each name. A test checks that this agrees with the imports above.
_NAMES = {
    "": "algorithms bounds environments numerics",
    "algorithms": (
        "adaptive_full_bandit batched batched_elimination bayes_ucb bernstein_race betting_race budgeted_race "
        "chernoff_racing clucb combinatorial_thompson cucb cusum_ucb d_ucb delayed discounted_thompson dmed "
        "epsilon_greedy escb exhaustive exp3 exp3_ix exp3_s g_static geometric_grid gifa glr_klucb greedy icb imed "
        "kim_nelson kl_lucb kl_racing kl_ucb kl_ucb_empirical lazy_track_and_stop lil_ucb lin_game lin_ts lin_ucb "
        "lingape lingifa lucb m_lingape m_ucb minimax_grid moss oam oam_practical oracle_restart ossb paired_race "
        "rage sa_foa saqm sequential_halving student_race successive_elimination successive_rejects sw_ucb thompson "
        "top_two track_and_stop tsallis_inf ucb ucb1 ucb1_auer ucb_e ucb_v ucboost ucboost_eps ucboost_lb ugape "
        "ugape_b uniform uniform_allocation xy_adaptive xy_oracle xy_static"
    ),
    "auditing.audit": "audit",
    "base": (
        "Algorithm Arms Batch BatchRewards Choice Environment Outcome Phases Promise Replan Rewards Schedule SetPulls "
        "never no_context none"
    ),
    "conformance.check_algorithm": "check_algorithm",
    "conformance.check_environment": "check_environment",
    "engine.opened": "Pulls",
    "engine.rollout": "rollout run_key run_until_stop",
    "engine.session": "Session ask pull_keys session tell withdraw",
    "environments": (
        "bernoulli beta constrained_adversary crowd crowd_answers exponential fiesta full_bandit full_bandit_random "
        "gaussian hpo_table linear linear_contextual linear_contextual_classes linear_contextual_random linear_random "
        "loss_table piecewise_bernoulli piecewise_gaussian poisson r6a r6a_like restless_bernoulli semi_bandit "
        "sinusoidal_bernoulli soare table top_m_classic"
    ),
    "plotting.figures": "plot",
    "refusals": "RunsLeftOut",
    "reproduction.paper": "reproduce",
    "results.base": "Result",
    "results.compare": "compare",
    "results.loading": "load",
    "results.saving": "save",
    "running.identify": "identify",
    "running.run": "run",
    "running.simulate": "simulate",
    "running.sweep": "sweep",
    "sessions.certificate": "Certificate certificate",
    "sessions.directory": "session_directory",
    "sessions.saving": "load_session save_session",
    "tuning.grid": "choice grid loguniform random_configs static uniform_float uniform_int",
    "tuning.halving": "successive_halving",
    "tuning.hyperband": "hyperband",
    "tuning.result": "TuneResult",
    "tuning.trainings": "Trainee",
    "tuning.tune": "tune",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__getattr__, __dir__ = lazy.names(__name__, _HOME, __all__)
