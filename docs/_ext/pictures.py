"""A picture of each algorithm among the others that docs/measure.py measured on the same instance, as SVG."""

import math
import tomllib
from html import escape
from pathlib import Path

from measure import INSTANCES

from jaxbandit.lab.specs.registry import ALGORITHMS

MEASURED = tomllib.loads((Path(__file__).resolve().parents[1] / "measured.toml").read_text(encoding="utf-8"))
MEASURES = {"regret": "mean regret", "confidence": "mean number of pulls", "budget": "error rate"}
WIDTH, HEIGHT, EDGE = 640, 58, 30  # pixels


def picture(name: str) -> str:
    """Return a strip with a dot for each algorithm on the instance, this one in color; "" if it was not measured."""
    found = MEASURED.get(name)
    if found is None:
        return ""
    question = ALGORITHMS[name].question
    others = {
        other: row
        for other, row in MEASURED.items()
        if row["instance"] == found["instance"] and ALGORITHMS[other].question == question
    }
    values = [row["value"] for row in others.values()]
    low, high = min(min(values), found["low"]), max(max(values), found["high"])
    logs = low > 0 and high > 4 * low

    def at(value: float) -> float:
        scale = math.log if logs else float
        span = scale(high) - scale(low)
        return EDGE + (WIDTH - 2 * EDGE) * ((scale(value) - scale(low)) / span if span else 0.5)

    titles = {other: f"<title>{escape(other)}: {number(row['value'])}</title>" for other, row in others.items()}
    dots = "".join(
        f'<circle cx="{at(row["value"]):.1f}" cy="22" r="4">{titles[other]}</circle>' for other, row in others.items()
    )
    ends = "".join(f'<text x="{at(end):.1f}" y="50" text-anchor="middle">{number(end)}</text>' for end in {low, high})
    here = f'<line x1="{at(found["low"]):.1f}" x2="{at(found["high"]):.1f}" y1="22" y2="22"/>'
    here += f'<circle cx="{at(found["value"]):.1f}" cy="22" r="6"/>'
    text = f"{MEASURES[question]} on {INSTANCES[found['instance']].about}, {found['runs']} runs: "
    text += f"{number(found['value'])} [{number(found['low'])}, {number(found['high'])}]"
    text += f"; in gray the {len(others) - 1} others that were measured there" if len(others) > 1 else ""
    text += ", on a logarithmic axis" if logs else ""
    axis = f'<path d="M{EDGE} 34H{WIDTH - EDGE}"/>'
    drawing = f'<g class="others">{axis}{dots}</g><g class="this">{here}</g>{ends}'
    svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)} among others">{drawing}</svg>'
    return f'<figure class="strip">{svg}<figcaption>{escape(text[0].upper() + text[1:])}.</figcaption></figure>'


def number(value: float) -> str:
    """Return a number with three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
