"""What `jaxbandit show NAME` prints: arguments, source, a line of Python and a TOML to start from."""

import inspect
import json
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxbandit.base import docstrings
from jaxbandit.base.declaration import declaration_of
from jaxbandit.base.parameters import Parameter
from jaxbandit.lab.specs import references, source
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, FILLED, PROBLEM_DATA, WRAPPERS
from jaxbandit.support.refusals import BadInput, nearest, refuse

About = dict[str, Any]  # what is shown of a factory or of one of its arguments, as plain data
WIDTH = 80
ARTICLES = {"algorithm": "an algorithm", "wrapper": "a wrapper of algorithms", "environment": "an environment"}
GROUPS: Mapping[str, Mapping[str, Entry]] = {"algorithm": ALGORITHMS, "wrapper": WRAPPERS, "environment": ENVIRONMENTS}
DECLARED = ("question", "setting", "rewards", "cost", "memory", "finds")
LINES = {"Rewards": "rewards", "Guarantee": "guarantee", "Cost of a round": "cost", "Memory of a run": "memory"}
SHOWN = ("Source", "Reference", "Note")  # sections of a docstring, beside its arguments
PLAYED = {  # kind of an algorithm -> how it is played
    "simulate": "jb.simulate(algorithm, environment, horizon=10_000, num_runs=1_000)",
    "identify": "jb.identify(algorithm, environment, num_runs=1_000)",
}


def text(name: str) -> str:
    """Return the description of every factory and experiment with this name, as text of at most 80 columns."""
    parts = [_described(name, each) for each in about(name)]
    if path := source.embedded_files().get(name):
        parts.append(_experiment(name, path))
    return "\n\n".join(parts)


def document(name: str) -> str:
    """Return the descriptions of `text` as one JSON document."""
    content: About = {"name": name, "entries": about(name)}
    if path := source.embedded_files().get(name):
        content["toml"] = path.read_text(encoding="utf-8")
    return json.dumps(content, indent=1, allow_nan=False)


def about(name: str) -> list[About]:
    """Return the description of each registered factory with this name, as plain data."""
    if references.is_reference(name):
        return [_outside(name)]
    factories = [_of(group, entries[name]) for group, entries in GROUPS.items() if name in entries]
    if not factories and name not in source.embedded_files():
        names = [*ALGORITHMS, *WRAPPERS, *ENVIRONMENTS, *source.embedded_files()]
        refuse(f"show: NAME = {name!r}", f", must be a name that `jaxbandit list` prints{nearest(name, names)}")
    return factories


def _outside(name: str) -> About:
    try:
        entry = references.entry(name)
    except BadInput as error:
        refuse(f"show: NAME = {name!r}", f", {error}")
    if declaration_of(entry.factory()) is None:
        refuse(f"show: NAME = {name!r}", ", declares nothing about itself; decorate it with jaxbandit.declare")
    return _of("algorithm" if entry.question else "environment", entry)


def _of(group: str, entry: Entry) -> About:
    sections = docstrings.sections(inspect.getdoc(entry.factory()) or "")
    parameters = entry.parameters()
    return {
        "group": group,
        "summary": entry.summary,
        **({"kind": entry.kind} if group == "algorithm" else {}),
        "description": sections[""].partition("\n")[2].strip(),
        "arguments": [_argument(group, p) for p in parameters.values()],
        **({key: getattr(entry, key) for key in DECLARED} if group == "algorithm" else {}),
        **{title.lower(): text for title, text in sections.items() if title.rstrip("s") in ("Guarantee", *SHOWN)},
        "python": _python(group, entry, parameters),
        "toml": _toml(group, entry, parameters),
    }


def _argument(group: str, parameter: Parameter) -> About:
    content: About = {"name": parameter.name, "meaning": parameter.text, "traced": parameter.traced}
    if parameter.required:
        content["required"] = True
    else:
        content["default"] = _shown(parameter.default)
    if group == "algorithm" and parameter.name in (*FILLED, *PROBLEM_DATA):
        content["filled"] = True  # from the instance and the horizon, in an experiment's TOML
    return content


def _experiment(name: str, path: Path) -> str:
    """Return an embedded experiment's TOML, or of a paper, whose TOML is long, what it reproduces."""
    paper = source.read(path).get("paper")
    if paper is None:
        return f"{name}, an embedded experiment: `jaxbandit run {name}`\n\n{path.read_text(encoding='utf-8').strip()}"
    lines = textwrap.wrap(f"{name}, a paper's experiments: {source.about(path)}", WIDTH)
    lines += ["", f"  jaxbandit reproduce {name} --quick"]
    lines += [f"  jaxbandit reproduce {name}/{figure}" for figure in paper.get("figures", {})]
    return "\n".join(lines)


def _described(name: str, factory: About) -> str:
    kind = {"simulate": " for a fixed horizon", "identify": " that stops by its own rule or after a budget"}
    head = f"{name}, {ARTICLES[factory['group']]}{kind.get(factory.get('kind', ''), '')}: {factory['summary']}"
    lines = [*textwrap.wrap(head, WIDTH), "", *_wrapped(factory["description"]), "", "Arguments"]
    for argument in factory["arguments"]:
        value = "required" if argument.get("required") else argument["default"]
        filled = ", filled from the instance or horizon" if argument.get("filled") else ""
        lines.append(f"  {argument['name']} ({value}{filled})")
        lines += textwrap.wrap(argument["meaning"], WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    for title, key in LINES.items():
        if factory.get(key):
            lines += ["", *textwrap.wrap(f"{title}: {factory[key]}", WIDTH)]
    for title in (title for title in factory if title.rstrip("s").capitalize() in SHOWN):
        lines += ["", *textwrap.wrap(f"{title.capitalize()}: {factory[title]}", WIDTH)]
    lines += ["", "Python", textwrap.indent(factory["python"], "  ")]
    lines += ["", "TOML", textwrap.indent(factory["toml"], "  ")]
    return "\n".join(lines)


def _python(group: str, entry: Entry, parameters: Mapping[str, Parameter]) -> str:
    signature = inspect.signature(entry.factory()).parameters
    arguments = [
        f"{name}={name}" if signature[name].kind is inspect.Parameter.KEYWORD_ONLY else name
        for name, p in parameters.items()
        if p.required
    ]
    lines, call = [f"from {entry.module} import {entry.attribute}"], entry.attribute
    what = "environment" if group == "environment" else "algorithm"
    if not references.is_reference(entry.name):
        lines, call = [], f"jb.{what}s.{call}"
    line = f"{what} = {call}({', '.join(arguments)})"
    lines.append(line if len(line) < WIDTH - 1 else f"{what} = {call}(\n    {', '.join(arguments)}\n)")
    return "\n".join([*lines, *([PLAYED[entry.kind]] if group == "algorithm" else [])])


def _toml(group: str, entry: Entry, parameters: Mapping[str, Parameter]) -> str:
    if group == "wrapper":
        name = f"{entry.name}(kl_ucb)"
        parameters = {key: p for key, p in parameters.items() if key != "algorithm"}
    else:
        name = entry.name
    lines = [f"[[{'instance' if group == 'environment' else 'algorithm'}]]", f'type = "{name}"']
    for key, p in parameters.items():
        if group != "environment" and key in PROBLEM_DATA:
            continue
        if group != "environment" and key in FILLED:
            lines.append(f"# {key} = ...  # filled from the instance or horizon unless given")
        elif p.required:
            lines.append(f"# {key} = ...  # required")
        elif p.default is None or not isinstance(p.default, bool | int | float | str | tuple | list):
            lines.append(f"# {key} = ...  # optional")
        else:
            lines.append(f"# {key} = {json.dumps(p.default)}")
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    """Return the paragraphs of a docstring in 80 columns; what is indented, such as a formula, keeps its lines."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines.append("")
        for block in re.split(r"\n(?=- )", paragraph):
            if block.startswith("- "):
                lines += textwrap.wrap(" ".join(block.split()), WIDTH, subsequent_indent="  ")
            elif any(line.startswith(" ") for line in block.splitlines()):
                lines += block.splitlines()
            else:
                lines += textwrap.wrap(block, WIDTH)
    return lines[1:]


def _shown(value: object) -> str:
    return getattr(value, "__name__", None) or repr(value)
