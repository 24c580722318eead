"""The figure of an off-policy evaluation: the value of each policy with its intervals, beside the mean reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.running.plotting.style import COLORS, GRAY, INK, new_axes, plain_text, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDTH, HEIGHT, ROW = 8.4, 1.7, 0.42  # inches: width, height without rows, and height per policy


def plot_values(evaluation: Any, ax: Axes | None = None) -> Axes:
    """Draw the values of policies on a log; return the Axes.

    A point with a thick line is the headline with its interval; a thin line is the betting interval where it is not the
    headline; the last row and the dashed line are the rewards of the log as they were. An open point has no interval.
    """
    shown = [*evaluation.policies, evaluation.log]
    if ax is None:
        ax = new_axes((WIDTH, HEIGHT + ROW * len(shown)))
    ax.axvline(evaluation.log.value, color=GRAY, linestyle=(0, (4, 3)), linewidth=1.0)
    for row, policy in enumerate(shown):
        color = GRAY if policy is evaluation.log else COLORS[0]
        betting = policy.betting
        if betting is not None and betting is not policy.headline:
            ax.plot([betting.low, betting.high], [row, row], color=color, linewidth=1.0)
        surely = np.isfinite(policy.low)
        if surely:
            ax.plot([policy.low, policy.high], [row, row], color=color, linewidth=4.0, solid_capstyle="butt")
        ax.plot([policy.value], [row], "o", color=INK, markersize=5.5, fillstyle="full" if surely else "none")
        ax.annotate(policy.by, (1.02, row), xycoords=("axes fraction", "data"), fontsize=8.5, color=GRAY, va="center",
                    annotation_clip=False)  # fmt: skip
    ax.set_yticks(range(len(shown)), [policy.name for policy in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel("mean reward of a row")
    quiet(ax, f"Value of each policy, from {evaluation.num_rows:,} rows of a log", along="x")
    ax.tick_params(axis="y", length=0)
    plain_text(ax.figure)  # pyright: ignore[reportArgumentType]
    return ax
