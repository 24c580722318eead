"""The environments, and what is known of their instances. Names are imported when they are first used."""

from typing import TYPE_CHECKING

from jaxbandit import lazy

if TYPE_CHECKING:
    from jaxbandit.environments.bernoulli import bernoulli
    from jaxbandit.environments.beta import beta
    from jaxbandit.environments.constrained_adversary import constrained_adversary
    from jaxbandit.environments.crowd import crowd, describe_crowd
    from jaxbandit.environments.crowd_answers import crowd_answers, describe_crowd_answers, read_answers
    from jaxbandit.environments.exponential import exponential
    from jaxbandit.environments.fiesta import describe_fiesta, fiesta
    from jaxbandit.environments.full_bandit import describe_full_bandit, full_bandit
    from jaxbandit.environments.full_bandit_random import describe_full_bandit_random, full_bandit_random
    from jaxbandit.environments.gaussian import describe_gaussian, gaussian
    from jaxbandit.environments.hpo_table import describe_hpo_table, hpo_table
    from jaxbandit.environments.linear import describe_linear, linear
    from jaxbandit.environments.linear_contextual import describe_linear_contextual, linear_contextual
    from jaxbandit.environments.linear_contextual_classes import (
        describe_linear_contextual_classes,
        linear_contextual_classes,
    )
    from jaxbandit.environments.linear_contextual_random import (
        describe_linear_contextual_random,
        linear_contextual_random,
    )
    from jaxbandit.environments.linear_random import describe_linear_random, linear_random
    from jaxbandit.environments.loss_table import loss_table
    from jaxbandit.environments.piecewise_bernoulli import describe_piecewise_bernoulli, piecewise_bernoulli
    from jaxbandit.environments.piecewise_gaussian import describe_piecewise_gaussian, piecewise_gaussian
    from jaxbandit.environments.poisson import poisson
    from jaxbandit.environments.r6a import describe_r6a, r6a, read_click_log
    from jaxbandit.environments.r6a_like import describe_r6a_like, r6a_like
    from jaxbandit.environments.restless_bernoulli import restless_bernoulli
    from jaxbandit.environments.semi_bandit import describe_semi_bandit, semi_bandit
    from jaxbandit.environments.sinusoidal_bernoulli import sinusoidal_bernoulli
    from jaxbandit.environments.soare import describe_soare, soare
    from jaxbandit.environments.table import describe_table, table
    from jaxbandit.environments.top_m_classic import describe_top_m_classic, top_m_classic

__all__ = [
    "bernoulli",
    "beta",
    "constrained_adversary",
    "crowd",
    "crowd_answers",
    "describe_crowd",
    "describe_crowd_answers",
    "describe_fiesta",
    "describe_full_bandit",
    "describe_full_bandit_random",
    "describe_gaussian",
    "describe_hpo_table",
    "describe_linear",
    "describe_linear_contextual",
    "describe_linear_contextual_classes",
    "describe_linear_contextual_random",
    "describe_linear_random",
    "describe_piecewise_bernoulli",
    "describe_piecewise_gaussian",
    "describe_r6a",
    "describe_r6a_like",
    "describe_semi_bandit",
    "describe_soare",
    "describe_table",
    "describe_top_m_classic",
    "exponential",
    "fiesta",
    "full_bandit",
    "full_bandit_random",
    "gaussian",
    "hpo_table",
    "linear",
    "linear_contextual",
    "linear_contextual_classes",
    "linear_contextual_random",
    "linear_random",
    "loss_table",
    "piecewise_bernoulli",
    "piecewise_gaussian",
    "poisson",
    "r6a",
    "r6a_like",
    "read_answers",
    "read_click_log",
    "restless_bernoulli",
    "semi_bandit",
    "sinusoidal_bernoulli",
    "soare",
    "table",
    "top_m_classic",
]

# Where each name lives; a test holds this equal to the imports above.
_HOME = {
    "bernoulli": "bernoulli",
    "beta": "beta",
    "constrained_adversary": "constrained_adversary",
    "crowd": "crowd",
    "crowd_answers": "crowd_answers",
    "describe_crowd": "crowd",
    "describe_crowd_answers": "crowd_answers",
    "describe_fiesta": "fiesta",
    "describe_full_bandit": "full_bandit",
    "describe_full_bandit_random": "full_bandit_random",
    "describe_gaussian": "gaussian",
    "describe_hpo_table": "hpo_table",
    "describe_linear": "linear",
    "describe_linear_contextual": "linear_contextual",
    "describe_linear_contextual_classes": "linear_contextual_classes",
    "describe_linear_contextual_random": "linear_contextual_random",
    "describe_linear_random": "linear_random",
    "describe_piecewise_bernoulli": "piecewise_bernoulli",
    "describe_piecewise_gaussian": "piecewise_gaussian",
    "describe_r6a": "r6a",
    "describe_r6a_like": "r6a_like",
    "describe_semi_bandit": "semi_bandit",
    "describe_soare": "soare",
    "describe_table": "table",
    "describe_top_m_classic": "top_m_classic",
    "exponential": "exponential",
    "fiesta": "fiesta",
    "full_bandit": "full_bandit",
    "full_bandit_random": "full_bandit_random",
    "gaussian": "gaussian",
    "hpo_table": "hpo_table",
    "linear": "linear",
    "linear_contextual": "linear_contextual",
    "linear_contextual_classes": "linear_contextual_classes",
    "linear_contextual_random": "linear_contextual_random",
    "linear_random": "linear_random",
    "loss_table": "loss_table",
    "piecewise_bernoulli": "piecewise_bernoulli",
    "piecewise_gaussian": "piecewise_gaussian",
    "poisson": "poisson",
    "r6a": "r6a",
    "r6a_like": "r6a_like",
    "read_answers": "crowd_answers",
    "read_click_log": "r6a",
    "restless_bernoulli": "restless_bernoulli",
    "semi_bandit": "semi_bandit",
    "sinusoidal_bernoulli": "sinusoidal_bernoulli",
    "soare": "soare",
    "table": "table",
    "top_m_classic": "top_m_classic",
}

__getattr__, __dir__ = lazy.names(__name__, _HOME, __all__)
