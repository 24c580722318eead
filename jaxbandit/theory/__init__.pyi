from . import bounds as bounds
from . import intervals as intervals
from . import solvers as solvers
