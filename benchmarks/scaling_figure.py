"""The figure of `python -m benchmarks scaling`: four panels with the measured curves and the limits of the machine."""

from pathlib import Path
from typing import Any

from benchmarks.limits import least

LINE: dict[str, Any] = {"marker": "o", "markersize": 4}
LIMIT: dict[str, Any] = {"linestyle": "--", "linewidth": 1}
NAMES = {"cache": "limit: second-level cache", "memory": "limit: memory", "operations": "limit: vector units"}


def draw(found: dict[str, Any], path: Path) -> Path:
    """Draw what `scaling.measure` returned and return the path."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    axes = {
        "runs": (panels[0], "runs", "runs side by side, UCB1, 9 arms"),
        "arms": (panels[1], "arms", "arms, UCB1"),
        "dimension": (panels[2], "dim", "dimension, LinUCB"),
    }
    for name, (panel, key, label) in axes.items():
        rows = found[name]
        x = [row[key] for row in rows]
        panel.plot(x, [row["ns"] for row in rows], label="jaxbandit", **LINE)
        panel.fill_between(x, [row["least_ns"] for row in rows], [row["most_ns"] for row in rows], alpha=0.2)
        if all("c_loop_ns" in row for row in rows):
            panel.plot(x, [row["c_loop_ns"] for row in rows], label="C loop", **LINE)
        bounds = [least(row, found["limits"]) for row in rows]
        for i, (kind, label_of) in enumerate(NAMES.items()):
            panel.plot(x, [bound[kind] for bound in bounds], color=f"C{2 + i}", label=label_of, **LIMIT)
        panel.set(xscale="log", yscale="log", xlabel=label, ylabel="ns of one core per run-step")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    _bars(panels[3], found["cores"])
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100)
    return path


def _bars(panel: Any, rows: list[dict[str, Any]]) -> None:
    """Draw how many times faster each case is on all cores than on one."""
    alone = {(row["case"], row["arms"]): row for row in rows if row["cores"] == 1}
    most = max(row["cores"] for row in rows)
    together = [row for row in rows if row["cores"] == most]
    names = [f"{row['case']}\nK = {row['arms']}, d = {row['dim']}" for row in together]
    for i, (key, label) in enumerate((("ns", "jaxbandit"), ("c_loop_ns", "C loop"))):
        heights = [alone[row["case"], row["arms"]].get(key, 0) / row.get(key, 1) for row in together]
        bars = panel.bar([x + 0.4 * i for x in range(len(names))], heights, 0.38, label=label)
        panel.bar_label(bars, labels=[f"{height:.2f}" if height else "" for height in heights], fontsize=8)
    panel.axhline(most, color="black", label="limit", **LIMIT)
    panel.set_xticks([x + 0.2 for x in range(len(names))], names, fontsize=8)
    panel.set(ylabel=f"speedup over one core, on {most}", ylim=(0, 1.35 * most))
    panel.legend(fontsize=8, loc="upper right")
