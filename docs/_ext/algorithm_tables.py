"""The tables of "Choose an algorithm": the registry, its facts and what docs/measure.py measured, as Markdown."""

import tomllib
from pathlib import Path

from measure import INSTANCES
from sphinx.application import Sphinx

from jaxbandit.lab.specs.facts import QUESTIONS, SETTINGS, facts
from jaxbandit.lab.specs.registry import ALGORITHMS

DOCS = Path(__file__).resolve().parents[1]
MARK = "```{algorithm-tables}\n```\n"
MEASURES = {
    "regret": "mean regret",
    "confidence": "mean number of pulls",
    "budget": "error rate",
}
TITLES = {"regret": "Regret", "confidence": "Fixed confidence", "budget": "Fixed budget"}


def tables(measured: dict[str, dict], instances: dict[str, str]) -> str:
    """Return one table for each question and setting, under headings.

    Args:
      measured: by algorithm `instance`, `value`, `low`, `high` and `runs`.
      instances: what the instances are, by name.
    """
    parts = []
    for question in QUESTIONS:
        for setting, about in SETTINGS.items():
            names = [
                name for name in ALGORITHMS if (facts()[name].question, facts()[name].setting) == (question, setting)
            ]
            if names:
                parts += [
                    f"### {TITLES[question]}: {about}",
                    "",
                    "::::{div} algorithms",
                    *_table(names, measured),
                    "::::",
                    "",
                ]
                keys = dict.fromkeys(measured[name]["instance"] for name in names)
                for key in keys:
                    runs = {measured[name]["runs"] for name in names if measured[name]["instance"] == key}
                    on = ", ".join(f"`{name}`" for name in names if measured[name]["instance"] == key)
                    which = f" ({on})" if len(keys) > 1 else ""
                    parts.append(
                        f"Measured: {MEASURES[question]} on {instances[key]}{which}, {max(runs)} runs, "
                        "with its 95 % confidence interval.\n"
                    )
    return "\n".join(parts)


def _table(names: list[str], measured: dict[str, dict]) -> list[str]:
    several = any(facts()[name].finds == "m" for name in names)
    heads = ["Algorithm", *(["Finds"] if several else []), "Rewards", "Guarantee", "Cost, memory", "Measured"]
    rows = [heads, ["---"] * len(heads)]
    for name in names:
        known = facts()[name]
        finds = [{"m": "the m best", "1": "the best"}[known.finds]] if several else []
        link = f"[`{name}`](reference/generated/jaxbandit.{name}.rst)"
        costs = f"{known.cost}<br>{known.memory}"
        rows.append([link, *finds, known.rewards, known.guarantee, costs, _number(measured[name])])
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def _number(found: dict) -> str:
    value, low, high = (found[key] for key in ("value", "low", "high"))
    digits = 3 if high < 1 else 1 if high < 1000 else 0
    return f"{value:,.{digits}f}<br>[{low:,.{digits}f}, {high:,.{digits}f}]"


def read(app: Sphinx, page: str, content: list[str]) -> None:
    """Put the tables where a page asks for them."""
    if MARK in content[0]:
        source = DOCS / "measured.toml"
        app.env.note_dependency(str(source))
        about = {key: instance.about for key, instance in INSTANCES.items()}
        content[0] = content[0].replace(MARK, tables(tomllib.loads(source.read_text(encoding="utf-8")), about))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
