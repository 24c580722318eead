"""Tables of what algorithms and environments declare, as Markdown: to choose one, and of their arguments in TOML.

"All algorithms" also has what docs/measure.py measured.
"""

import json
import re
import tomllib
from pathlib import Path

from measure import INSTANCES
from sphinx.application import Sphinx

from jaxbandit.base.declaration import QUESTIONS, SETTINGS
from jaxbandit.base.parameters import Parameter
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, FILLED, PROBLEM_DATA, WRAPPERS

DOCS = Path(__file__).resolve().parents[1]
MARK = "```{algorithm-tables}\n```\n"
ARGUMENTS = re.compile(r"```\{arguments-of\} (\w+)\n```\n")
MEASURES = {
    "regret": "mean regret",
    "confidence": "mean number of pulls",
    "budget": "error rate",
}
TITLES = {"regret": "Regret", "confidence": "Fixed confidence", "budget": "Fixed budget"}


def tables(measured: dict[str, dict], instances: dict[str, str]) -> str:
    """Return one table for each question and setting, under headings.

    Args:
      measured: by algorithm `instance`, `value`, `low`, `high` and `runs`; one without a row is shown as not measured.
      instances: what the instances are, by name.
    """
    parts = []
    for question in QUESTIONS:
        for setting, about in SETTINGS.items():
            names = [name for name, e in ALGORITHMS.items() if (e.question, e.setting) == (question, setting)]
            if names:
                parts += [
                    f"## {TITLES[question]}: {about}",
                    "",
                    "::::{div} algorithms",
                    *_table(names, measured),
                    "::::",
                    "",
                ]
                rows = {name: measured[name] for name in names if name in measured}
                keys = dict.fromkeys(row["instance"] for row in rows.values())
                for key in keys:
                    runs = {row["runs"] for row in rows.values() if row["instance"] == key}
                    on = ", ".join(f"`{name}`" for name, row in rows.items() if row["instance"] == key)
                    which = f" ({on})" if len(keys) > 1 else ""
                    parts.append(
                        f"Measured: {MEASURES[question]} on {instances[key]}{which}, {max(runs)} runs, "
                        "with its 95 % confidence interval.\n"
                    )
    return "\n".join(parts)


def _table(names: list[str], measured: dict[str, dict]) -> list[str]:
    several = any(ALGORITHMS[name].finds == "m" for name in names)
    heads = ["Algorithm", *(["Finds"] if several else []), "Rewards", "Guarantee", "Cost, memory", "Measured"]
    rows = [heads, ["---"] * len(heads)]
    for name in names:
        known = ALGORITHMS[name]
        finds = [{"m": "the m best", "1": "the best"}[known.finds]] if several else []
        link = f"[`{name}`](reference/generated/jaxbandit.algorithms.{name}.rst)"
        costs = f"{known.cost}<br>{known.memory}"
        rows.append([link, *finds, known.rewards, known.guarantee, costs, _number(measured.get(name))])
    return _lines(rows)


def _lines(rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def _number(found: dict | None) -> str:
    if found is None:
        return "not measured"
    value, low, high = (found[key] for key in ("value", "low", "high"))
    digits = 3 if high < 1 else 1 if high < 1000 else 0
    return f"{value:,.{digits}f}<br>[{low:,.{digits}f}, {high:,.{digits}f}]"


def arguments(group: str) -> str:
    """Return a table of the factories of a group, with the arguments that they take in TOML.

    Args:
      group: "regret", "confidence" or "budget" for the algorithms of a question, "wrapper" or "environment".
    """
    entries = {"wrapper": WRAPPERS, "environment": ENVIRONMENTS}.get(group)
    if entries is None:
        some = [entry for entry in ALGORITHMS.values() if entry.question == group]
        entries = {entry.name: entry for entry in sorted(some, key=lambda entry: [*SETTINGS].index(entry.setting))}
    rows = [["`type`", "arguments", "what it is"], ["---"] * 3]
    return "\n".join(_lines(rows + [_row(group, entry) for entry in entries.values()])) + "\n"


def _row(group: str, entry: Entry) -> list[str]:
    hidden = () if group == "environment" else (*PROBLEM_DATA, "algorithm")
    shown = [p for p in entry.parameters().values() if p.name not in hidden]
    given = [_argument(p, filled=group != "environment" and p.name in (*FILLED, *entry.truth)) for p in shown]
    also = [_also(p) for p in shown if p.kind == "choice" and len(p.choices) > 1]
    package = "environments" if group == "environment" else "algorithms"
    link = f"[`{entry.name}`](reference/generated/jaxbandit.{package}.{entry.name}.rst)"
    return [link, ", ".join(given), "; ".join([entry.summary, *also])]


def _argument(parameter: Parameter, filled: bool) -> str:
    name, default = f"`{parameter.name}`{' t' if parameter.traced else ''}", parameter.default
    if filled and default is None:
        return f"{name} = the {'experiment' if parameter.name == 'horizon' else 'instance'}'s"
    if parameter.required:
        return name
    return f"{name} = {'none' if default is None else getattr(default, '__name__', None) or json.dumps(default)}"


def _also(parameter: Parameter) -> str:
    others = ", ".join(f'"{choice}"' for choice in parameter.choices if choice != parameter.default)
    return f"`{parameter.name}` {'is one of' if parameter.required else 'also'} {others}"


def read(app: Sphinx, page: str, content: list[str]) -> None:
    """Put the tables where a page asks for them."""
    content[0] = ARGUMENTS.sub(lambda asked: arguments(asked[1]), content[0])
    if MARK in content[0]:
        source = DOCS / "measured.toml"
        app.env.note_dependency(str(source))
        about = {key: instance.about for key, instance in INSTANCES.items()}
        content[0] = content[0].replace(MARK, tables(tomllib.loads(source.read_text(encoding="utf-8")), about))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
