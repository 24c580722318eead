"""The environments. Each name is imported when it is first used."""

from typing import TYPE_CHECKING

from jaxbandit import lazy

if TYPE_CHECKING:
    from jaxbandit.environments.bernoulli import bernoulli
    from jaxbandit.environments.beta import beta
    from jaxbandit.environments.constrained_adversary import constrained_adversary
    from jaxbandit.environments.crowd import crowd
    from jaxbandit.environments.crowd_answers import crowd_answers
    from jaxbandit.environments.exponential import exponential
    from jaxbandit.environments.fiesta import fiesta
    from jaxbandit.environments.full_bandit import full_bandit
    from jaxbandit.environments.full_bandit_random import full_bandit_random
    from jaxbandit.environments.gaussian import gaussian
    from jaxbandit.environments.hpo_table import hpo_table
    from jaxbandit.environments.linear import linear
    from jaxbandit.environments.linear_contextual import linear_contextual
    from jaxbandit.environments.linear_contextual_classes import linear_contextual_classes
    from jaxbandit.environments.linear_contextual_random import linear_contextual_random
    from jaxbandit.environments.linear_random import linear_random
    from jaxbandit.environments.loss_table import loss_table
    from jaxbandit.environments.piecewise_bernoulli import piecewise_bernoulli
    from jaxbandit.environments.piecewise_gaussian import piecewise_gaussian
    from jaxbandit.environments.poisson import poisson
    from jaxbandit.environments.r6a import r6a
    from jaxbandit.environments.r6a_like import r6a_like
    from jaxbandit.environments.restless_bernoulli import restless_bernoulli
    from jaxbandit.environments.semi_bandit import semi_bandit
    from jaxbandit.environments.sinusoidal_bernoulli import sinusoidal_bernoulli
    from jaxbandit.environments.soare import soare
    from jaxbandit.environments.table import table
    from jaxbandit.environments.top_m_classic import top_m_classic

__all__ = [
    "bernoulli",
    "beta",
    "constrained_adversary",
    "crowd",
    "crowd_answers",
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
    "restless_bernoulli": "restless_bernoulli",
    "semi_bandit": "semi_bandit",
    "sinusoidal_bernoulli": "sinusoidal_bernoulli",
    "soare": "soare",
    "table": "table",
    "top_m_classic": "top_m_classic",
}

__getattr__, __dir__ = lazy.names(__name__, _HOME, __all__)
