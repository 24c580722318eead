"""What the system says about its processor, where it has /proc/cpuinfo."""

from collections.abc import Collection
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def lines(names: Collection[str]) -> list[str]:
    """Return the lines of these entries for the first core; raise an OSError if there is no such file."""
    first = CPUINFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    return [line for line in first.splitlines() if line.partition(":")[0].strip() in names]
