from . import algorithms as algorithms
from . import environments as environments
from .algorithms import *
from .base import *
from .decide import *
from .engine import *
from .environments import *
from .lab import *
from .running import *
from .theory import *

__version__: str
