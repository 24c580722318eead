from .cell import Batch as Batch
from .cell import Finding as Finding
from .cell import Limits as Limits
from .cell import audit_draws as audit_draws
