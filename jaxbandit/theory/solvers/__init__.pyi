from .kl import kl_upper as kl_upper
from .semidistance import DISTANCES as DISTANCES
from .semidistance import UPPER as UPPER
from .semidistance import upper_eps as upper_eps
from .semidistance import upper_minimum as upper_minimum
