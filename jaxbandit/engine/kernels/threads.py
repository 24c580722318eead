"""The number of threads of a run, on which no number depends."""

from jaxbandit.engine.kernels.kernel import FEW_THREADS, SEPARATE, Kernel
from jaxbandit.engine.kernels.ptx import NoRule
from jaxbandit.engine.rounds.single import SingleRun

LIGHT = 40  # number of operations on vectors below which it is not worth it that threads share the arms


def kernel_of(run: SingleRun, lanes: int, num_checkpoints: int) -> Kernel:
    """Return the kernel of a program. Whether there is one depends on the program, and not on the number of lanes.

    One thread a run is best for many runs, and for few if their rounds are light; else threads share the arms.
    """
    arms, reasons = run.recorder.num_arms, []

    def attempt(arms: int | None, width: int) -> Kernel | None:
        try:
            return Kernel(run, lanes, num_checkpoints, arms, width)
        except NoRule as error:
            reasons.append(str(error))
            return None

    if arms is not None and arms not in SEPARATE:
        alone = attempt(arms, 1)
        if alone is not None and (lanes >= FEW_THREADS or len(alone.code.vectors) < LIGHT):
            return alone
        widths = [1 << k for k in range(1, 6) if 1 << k < 2 * arms]
        enough = next((width for width in widths if lanes * width >= FEW_THREADS), widths[-1])
        for width in sorted(widths, key=lambda width: (width < enough, abs(width - enough))):
            if (kernel := attempt(arms, width)) is not None:
                return kernel
        if alone is not None:
            return alone
    if (kernel := attempt(None, 1)) is not None:
        return kernel
    raise NoRule("; ".join(dict.fromkeys(reasons)))
