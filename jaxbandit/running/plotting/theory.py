"""Theory in figures of regret: lower bounds, the asymptote of an oracle, and the rounds at which the means change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.running.plotting.style import GRAY, INK, single
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.typing import LineStyleType as LineStyle

    Curve = tuple[str, str, np.ndarray, LineStyle]  # name, label, values at the checkpoints, style


SLOPE, MINIMAX, ORACLE, CHANGE = "asymptotic slope", "minimax", "asymptote of a restarting oracle", "change"
APART = 0.008  # smallest distance between the lines of two changes, as a fraction of the axes
DASHED, DOTTED = (0, (6, 3)), ":"
EARLY = "The dashed lower bound is asymptotic: after finitely many rounds, mean regret can lie below it."


def lines(results: Sequence[Any], what: str, minimax: bool) -> list[Curve]:
    """Return each line that theory gives for the instance: name, label, values at the checkpoints, and line style."""
    if what == "hindsight" or results[0].moves:
        return _of_a_world_that_moves(results[0], what, minimax)
    if what != "regret":
        return []
    curves = []
    known = [(r.truth["regret_constant"], b) for r in results if (b := r.lower_bound()) is not None]
    if known:
        constant, bound = known[0]
        curves.append((SLOPE, f"asymptotic slope {number(constant)} log t", bound, DASHED))
    if minimax:
        dim = next((d for r in results if (d := r.truth.get("dim")) is not None), None)
        if dim is None:
            raise BadInput(f"plot: minimax: instance {results[0].instance} has no features")
        from jaxbandit.theory.bounds.linear_regret import minimax_linear_regret

        rate = minimax_linear_regret(dim, results[0].arrays["checkpoints"])
        curves.append((MINIMAX, f"d √t, minimax order  {rate[-1]:,.1f}", rate, DOTTED))
    return curves


def _of_a_world_that_moves(result: Any, what: str, minimax: bool) -> list[Curve]:
    curves = []
    if what == "regret" and (oracle := result.oracle()) is not None:
        curves.append((ORACLE, f"{ORACLE}  {oracle[-1]:,.1f}", oracle, DASHED))
    if minimax and what in ("regret", "hindsight"):
        from jaxbandit.theory.bounds.non_stationary import minimax_switching_regret

        starts = result.truth.get("schedule", {}).get("starts", [0]) if what == "regret" else [0]
        rate = minimax_switching_regret(len(result.arrays["pulls_mean"]), starts, result.arrays["checkpoints"])
        root = "√(K V t)" if len(starts) > 1 else "√(K t)"
        curves.append((MINIMAX, f"{root} / 20, minimax lower bound  {rate[-1]:,.1f}", rate, DOTTED))
    return curves


def notes(results: Sequence[Any], name: str, bound: np.ndarray) -> list[str]:
    """Return the explanation that a figure needs if the asymptotic bound ends above a mean that is drawn."""
    above = any(bound[-1] > result.moments("regret")[0][-1] for result in results if result.counted)
    return [EARLY] if name == SLOPE and above else []


def draw(ax: Axes, result: Any, name: str, bound: np.ndarray, style: LineStyle) -> Line2D:
    """Draw one of `lines`; return its matplotlib line."""
    rounds = result.arrays["checkpoints"]
    look = single(len(rounds))
    return ax.plot(rounds, bound, color=INK, linewidth=1.1, linestyle=style, zorder=1.5, label=name, **look)[0]


def mark_changes(ax: Axes, result: Any) -> None:
    """Draw a vertical line at each change of the means, except those too close to the previous line."""
    last = -1.0
    for change in result.changes():
        place = ax.transAxes.inverted().transform(ax.transData.transform((change, 0.0)))[0]
        if 0 < place < 1 and place - last >= APART:
            ax.axvline(
                change, color=GRAY, linewidth=0.9, linestyle=(0, (1, 2)), zorder=0.5, gid=CHANGE, label="_change"
            )
            last = place
