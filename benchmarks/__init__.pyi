from . import adversarial as adversarial
from . import allocation as allocation
from . import baselines as baselines
from . import best_arm as best_arm
from . import cluster as cluster
from . import contexts as contexts
from . import coverage as coverage
from . import decisions as decisions
from . import first_command as first_command
from . import fixed_features as fixed_features
from . import full_bandit as full_bandit
from . import goals as goals
from . import halving as halving
from . import linear as linear
from . import non_stationary as non_stationary
from . import offpolicy as offpolicy
from . import one_run as one_run
from . import other_settings as other_settings
from . import regret as regret
from . import scaling as scaling
from . import skewed as skewed
from . import stopping as stopping
from . import sweeps as sweeps
from . import teams as teams
from . import tune as tune
from . import worlds as worlds

__all__: list[str]
