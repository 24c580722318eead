from .driver.execution import Execution as Execution
from .rounds.rollout import rollout as rollout
from .rounds.rollout import run_key as run_key
from .rounds.rollout import run_until_stop as run_until_stop
from .rounds.rollout import step as step
