"""Theory about an instance: lower bounds, complexities and their parts. Each name is imported when it is first used."""

from typing import TYPE_CHECKING

from jaxbandit import lazy

if TYPE_CHECKING:
    from jaxbandit.bounds.adversarial import exp3_regret_bound, exp3_s_regret_bound, tsallis_inf_regret_bound
    from jaxbandit.bounds.best_arm import best_arm_lower_bound, characteristic_time
    from jaxbandit.bounds.exploration import (
        complexity_constants,
        linear_complexity,
        lingape_sample_bound,
        representations,
        sample_lower_bound,
        top_m_gaps,
    )
    from jaxbandit.bounds.fixed_budget import (
        h1,
        h2,
        sequential_halving_error,
        successive_rejects_error,
        uniform_allocation_error,
    )
    from jaxbandit.bounds.full_bandit import (
        full_bandit_complexity,
        icb_sample_bound,
        rho,
        rho_prime,
        saqm_sample_bound,
        uniform_design_matrix,
    )
    from jaxbandit.bounds.late_feedback import delay_regret_bound
    from jaxbandit.bounds.linear_regret import linear_regret_constant, minimax_linear_regret
    from jaxbandit.bounds.non_stationary import minimax_switching_regret, restarting_regret
    from jaxbandit.bounds.regret import (
        bernoulli_kl,
        bernoulli_regret_constant,
        beta_regret_constant,
        gaussian_kl,
        gaussian_regret_constant,
        k_inf,
        regret_lower_bound,
        table_regret_constant,
    )

__all__ = [
    "bernoulli_kl",
    "bernoulli_regret_constant",
    "best_arm_lower_bound",
    "beta_regret_constant",
    "characteristic_time",
    "complexity_constants",
    "delay_regret_bound",
    "exp3_regret_bound",
    "exp3_s_regret_bound",
    "full_bandit_complexity",
    "gaussian_kl",
    "gaussian_regret_constant",
    "h1",
    "h2",
    "icb_sample_bound",
    "k_inf",
    "linear_complexity",
    "linear_regret_constant",
    "lingape_sample_bound",
    "minimax_linear_regret",
    "minimax_switching_regret",
    "regret_lower_bound",
    "representations",
    "restarting_regret",
    "rho",
    "rho_prime",
    "sample_lower_bound",
    "saqm_sample_bound",
    "sequential_halving_error",
    "successive_rejects_error",
    "table_regret_constant",
    "top_m_gaps",
    "tsallis_inf_regret_bound",
    "uniform_allocation_error",
    "uniform_design_matrix",
]

# Where each name lives; a test holds this equal to the imports above.
_HOME = {
    "bernoulli_kl": "regret",
    "bernoulli_regret_constant": "regret",
    "best_arm_lower_bound": "best_arm",
    "beta_regret_constant": "regret",
    "characteristic_time": "best_arm",
    "complexity_constants": "exploration",
    "delay_regret_bound": "late_feedback",
    "exp3_regret_bound": "adversarial",
    "exp3_s_regret_bound": "adversarial",
    "full_bandit_complexity": "full_bandit",
    "gaussian_kl": "regret",
    "gaussian_regret_constant": "regret",
    "h1": "fixed_budget",
    "h2": "fixed_budget",
    "icb_sample_bound": "full_bandit",
    "k_inf": "regret",
    "linear_complexity": "exploration",
    "linear_regret_constant": "linear_regret",
    "lingape_sample_bound": "exploration",
    "minimax_linear_regret": "linear_regret",
    "minimax_switching_regret": "non_stationary",
    "regret_lower_bound": "regret",
    "representations": "exploration",
    "restarting_regret": "non_stationary",
    "rho": "full_bandit",
    "rho_prime": "full_bandit",
    "sample_lower_bound": "exploration",
    "saqm_sample_bound": "full_bandit",
    "sequential_halving_error": "fixed_budget",
    "successive_rejects_error": "fixed_budget",
    "table_regret_constant": "regret",
    "top_m_gaps": "exploration",
    "tsallis_inf_regret_bound": "adversarial",
    "uniform_allocation_error": "fixed_budget",
    "uniform_design_matrix": "full_bandit",
}

__getattr__, __dir__ = lazy.names(__name__, _HOME, __all__)
