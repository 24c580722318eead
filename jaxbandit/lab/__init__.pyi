from . import auditing as auditing
from .auditing.audit import audit as audit
from .conformance.check_algorithm import check_algorithm as check_algorithm
from .conformance.check_environment import check_environment as check_environment
from .experiments.run import run as run
from .papers.paper import reproduce as reproduce
