"""The computed tables of full-bandit top-k, which need no pulls: the functions for their rows and text, by kind.

Source: Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Section 5.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxbandit.base.text import align
from jaxbandit.lab.papers.tables.full_bandit_costs import costs, crowd_sets
from jaxbandit.lab.papers.tables.full_bandit_looks import ABOVE, approximation, run_time


def _costs_text(rows: Sequence[Mapping[str, Any]]) -> str:
    modes = ("fixed", "certified", "theorem")
    head = ("instance", "n", "sets", "seed", *(f"alpha {m}" for m in modes), *(f"SAQM {m}" for m in modes), "printed")
    lines: list[tuple[str, ...]] = [(*head, "Theorem 3", "ICB", "Lemma 3")]
    for row in rows:
        samples = [row["samples"][mode] for mode in (*modes, "printed")]
        values = [*samples, row["theorem_3"], row["samples"]["ICB"], row["lemma_3"]]
        known = [str(row[key]) for key in ("instance", "num_arms", "num_sets", "support_seed")]
        alphas = [f"{row['alpha'][mode]:.3g}" for mode in modes]
        lines.append((*known, *alphas, *(f"{value:.3g}" for value in values)))
    return align(lines, right=range(1, len(head) + 3))


def _sets_text(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [("instance", "workers", "average", "best", "published", "")]
    for row in rows:
        theirs = "{}, {:.2f}, {:.2f}".format(*row["published"])
        ours = str(row["workers"]), f"{row['average']:.3f}", f"{row['best']:.3f}"
        lines.append((row["instance"], *ours, theirs, row["verdict"]))
    return align(lines, right=range(1, 4))


def _ratios_text(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [("rule", "gap", "t", "supports", "mean ratio", "smallest", f"above {ABOVE}", "interval")]
    for row in rows:
        numbers = f"{row['mean']:.3f}", f"{row['least']:.3f}", f"{row['rate']:.2f}"
        place = row["variant"], str(row["gap"]), str(row["rounds"]), str(row["supports"])
        lines.append((*place, *numbers, f"[{row['low']:.2f}, {row['high']:.2f}]"))
    return align(lines, right=range(1, 7))


def _time_text(rows: Sequence[Mapping[str, Any]]) -> str:
    rules = ("ICB", "SAQM", "SA-FOA", "Exhaustive")
    lines: list[tuple[str, ...]] = [("n", "k", "super-arms", *rules)]
    for row in rows:
        numbers = [f"{row[rule]:,.3f}" if rule in row else "" for rule in rules]
        lines.append((str(row["num_arms"]), str(row["k"]), f"{row['sets']:.3g}", *numbers))
    return align(lines, right=range(7))


ROWS: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "costs": costs,
    "crowd_sets": crowd_sets,
    "approximation": approximation,
    "run_time": run_time,
}
TEXT = {"costs": _costs_text, "crowd_sets": _sets_text, "approximation": _ratios_text, "run_time": _time_text}
