from .identify import identify as identify
from .plotting import style as style
from .plotting.figures import plot as plot
from .results.base import Result as Result
from .results.compare import compare as compare
from .results.saving import save as save
from .simulate import simulate as simulate
from .sweep import sweep as sweep
