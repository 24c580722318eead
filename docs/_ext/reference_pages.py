"""The reference: a page for every public name, by subpackage, from the package itself.

The lists are written when a build begins, so that no public name can be forgotten; a name that is in no group stops it.
"""

import ast
import functools
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docstrings
import pictures
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import jaxbandit
from jaxbandit.base.declaration import SETTINGS
from jaxbandit.lab.cli import showing
from jaxbandit.lab.specs.declared import Declared
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS

HERE = Path(__file__).resolve().parents[1] / "reference"
# Public names that are modules.
MODULES = tuple(
    "algorithms auditing bounds contract environments intervals metrics numerics solvers space style types".split()
)
# Names that are public in a module only. Those of `algorithms` and `environments` are in their stubs.
INSIDE = {
    "contract": (
        "none never no_context Choice Chosen Phases Replan Batch BatchRewards SetPulls Schedule Outcome Promise Truth"
    ).split(),
    "metrics": "Metric Round Checkpoint".split(),
    "space": "choice grid loguniform random_configs static uniform uniform_int".split(),
}
# Classes of what public functions return, which nobody constructs: no public names, but they have pages.
RETURNED = {
    "ResultSet": "running.results.base",
    "RegretResult": "running.results.regret",
    "StoppingResult": "running.results.stopping",
    "BudgetResult": "running.results.budget",
    "Comparison": "running.results.compare",
    **dict.fromkeys(["Rollout", "Stopped", "Step"], "engine.rounds.rollout"),
    "Reproduction": "lab.papers.paper",
    "AlgorithmPolicy": "decide.logs.policy_of",
    "SessionDirectory": "decide.sessions.directory",
}
for public in ("bounds", *INSIDE):  # documented, and so imported, under their public names
    sys.modules[f"jaxbandit.{public}"] = getattr(jaxbandit, public)
PARTS = "Parts: the frame of an index policy, thresholds, sets of arms"
FEEDBACK = "Grids of batches, feedback told later"
KNOWN = "What is known of an instance, and readers of data"
# Page, title, what it is about, and the modules whose public names stand there.
GROUPS = (
    (
        "running",
        "Running and results",
        "Simulations, experiments, results, comparisons and figures.",
        "running engine.rounds.rollout engine.driver.execution lab.auditing lab.experiments lab.papers decide.loading "
        "support.refusals support.extras",
    ),
    (
        "contracts",
        "Contracts",
        "What an algorithm and an environment are, and checks of your own.",
        "base.contract base.draw base.prior base.batches base.truth base.declaration base.metrics lab.conformance",
    ),
    (
        "algorithms",
        "Algorithms",
        "Every algorithm by the question that it answers. [Choose an algorithm](../choose.md) compares them.",
        "algorithms",
    ),
    ("environments", "Environments", "Built-in problems, with known means or recorded rewards.", "environments"),
    (
        "sessions",
        "Sessions",
        "One run of an algorithm that decides about real rewards.",
        "decide.sessions decide.core.certificate decide.duels",
    ),
    (
        "logs",
        "Logged data",
        "What policies would have earned, from the rows of a log that another one wrote.",
        "decide.logs",
    ),
    ("variants", "Variants", "Decisions between variants from a log of visitors.", "decide.variants"),
    ("gate", "Gate", "Whether a new version is worse than an old one.", "decide.gate"),
    (
        "tuning",
        "Tuning",
        "Searches among configurations of your own program.",
        "decide.tuning decide.core.goal decide.core.budget",
    ),
)


@functools.cache
def homes() -> dict[str, str]:
    """Return the modules that define the public names, by their paths in `jaxbandit`, such as "algorithms.ucb1"."""
    found = {name: f"jaxbandit{home}" for name, home in jaxbandit._HOMES.items() if name not in MODULES}
    for package in ("algorithms", "environments"):
        found |= {f"{package}.{name}": module for name, module in Declared(package).modules.items()}
    for module, names in INSIDE.items():
        found |= {f"{module}.{name}": getattr(jaxbandit, module).__name__ for name in names}
    return found


def groups() -> dict[str, dict[str, list[str]]]:
    """Return the paths of the public names by page and heading, "" for names without one.

    Raises:
      ExtensionError: a public name belongs to no group.
    """
    found: dict[str, dict[str, list[str]]] = {page: {} for page, *_ in GROUPS}
    for path, home in sorted(homes().items()):
        module = f"{home.removeprefix('jaxbandit.')}."
        pages = [p for p, *_, rooms in GROUPS for room in rooms.split() if module.startswith(f"{room}.")]
        if len(pages) != 1:
            raise ExtensionError(f"jaxbandit.{path}, of {home}, belongs to {len(pages)} groups, must be in one")
        found[pages[0]].setdefault(_heading(path.rpartition(".")[2], module), []).append(path)
    return found


def _heading(name: str, module: str) -> str:
    if module.startswith("algorithms."):  # `space.uniform` has the name of one
        if entry := ALGORITHMS.get(name):
            return f"{entry.question.capitalize()}: {SETTINGS[entry.setting]}"
        return FEEDBACK if module.startswith("algorithms.feedback.") else PARTS
    return KNOWN if module.startswith("environments.") and name not in ENVIRONMENTS else ""


def _listing(names: list[str], module: str = "jaxbandit") -> str:
    lines = [".. autosummary::", "   :nosignatures:", ""]
    lines += [f"   ~{module}.{name}" for name in names]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```\n"


def _module(name: str) -> str:
    return f"\n```{{eval-rst}}\n.. py:module:: jaxbandit.{name}\n```\n"


def _pages() -> Iterator[tuple[str, str]]:
    found = groups()
    for page, title, about, _ in GROUPS:
        text = f"# {title}\n\n{about}\n"
        headings = found[page]
        if page == "algorithms":
            order = [f"{q}: {s}" for q in ("Regret", "Confidence", "Budget") for s in SETTINGS.values()]
            for heading in sorted(headings, key=[*order, FEEDBACK, PARTS].index):
                text += f"\n## {heading}\n\n" + _listing(headings[heading])
        else:
            text += "\n" + _listing(headings[""])
        if page == "running":
            names = [f"{home}.{name}" for name, home in RETURNED.items()]
            text += "\n## What functions return\n\n" + _listing(names)
        if page == "environments" and KNOWN in headings:
            text += f"\n## {KNOWN}\n\n" + _listing(headings[KNOWN])
        for module in {"tuning": ["space"], "contracts": ["contract"]}.get(page, [page] if page in MODULES else []):
            text += _module(module)
        yield page, text
    about = "What theory says about an instance: lower bounds, complexities, divergences."
    listing = _listing(jaxbandit.bounds.__all__, "jaxbandit.bounds")
    yield "bounds", f"# Bounds\n\n{about}\n\n{listing}{_module('bounds')}"
    for page in ("numerics", "intervals", "style", "metrics"):
        members = f".. automodule:: {getattr(jaxbandit, page).__name__}\n   :members:\n   :member-order: bysource\n"
        if page == "metrics":  # they have pages of their own, and the value of a Metric says nothing
            members += "   :exclude-members: Metric, Round, Checkpoint, switches, variance, error, simple_regret\n"
            for name in ("switches", "variance", "error", "simple_regret"):
                members += f"\n.. autodata:: {getattr(jaxbandit, page).__name__}.{name}\n   :no-value:\n"
        yield page, f"# {page.capitalize()}\n\n```{{eval-rst}}\n{members}```\n"
    path = f"../../{jaxbandit.types.__name__.replace('.', '/')}.py"  # the installed package may be elsewhere
    yield "types", f"# Types\n\n```{{literalinclude}} {path}\n:language: python\n```\n"
    about = "Numerical solvers, for indices of your own."
    functions = [name for name in jaxbandit.solvers.__all__ if name.islower()]  # the others are tables of functions
    yield "solvers", f"# Solvers\n\n{about}\n\n{_listing(functions, 'jaxbandit.solvers')}{_module('solvers')}"
    about = "The delta audit of runs that you draw yourself; `audit` is that of an experiment in a file."
    listing = _listing(jaxbandit.auditing.__all__, "jaxbandit.auditing")
    yield "auditing", f"# Auditing\n\n{about}\n\n{listing}{_module('auditing')}"
    names = ["sklearn.BanditSearchCV", "sklearn.BanditRandomizedSearchCV"]
    names += ["optuna.BanditSampler", "optuna.StopAtCertificate"]
    lines = [f".. autoclass:: jaxbandit.{name}" for name in names]
    lines.append(".. autofunction:: jaxbandit.optuna.certificate")
    about = "[The page on integrations](../integrations.md) shows their use."
    yield "integrations", f"# Integrations\n\n{about}\n\n```{{eval-rst}}\n" + "\n".join(lines) + "\n```\n"


def _public(name: str, module: str) -> Any:
    return functools.reduce(getattr, [*module.split(".")[1:], name], jaxbandit)


def _stub(name: str, module: str, page: str) -> str:
    home = importlib.import_module(module) if name in RETURNED else None
    thing = getattr(home, name) if home else _public(name, module)
    kind = "autoclass" if inspect.isclass(thing) else "autofunction"
    members = "   :members:\n   :member-order: bysource\n" if kind == "autoclass" else ""
    # An orphan: in the table of contents hundreds of names would hide the pages, and take most of a build's time.
    title = f":orphan:\n\n{name}\n{'=' * len(name)}\n\n:doc:`../{page}`\n\n"
    return f"{title}.. currentmodule:: {module}\n\n.. {kind}:: {name}\n{members}"


def _files() -> dict[str, str]:
    """Return all pages of the reference but its index, by path."""
    found = {f"{page}.md": text for page, text in _pages()}
    for page, text in list(found.items()):
        for module, name in re.findall(r"^   ~([\w.]+)\.(\w+)$", text, re.MULTILINE):
            found[f"generated/{module}.{name}.rst"] = _stub(name, module, page.removesuffix(".md"))
    return found


def write_pages(app: Sphinx, config: Any) -> None:
    """Write the pages that differ from those that stand there, and delete those of names that are gone."""
    (HERE / "generated").mkdir(exist_ok=True)
    files = _files()
    for path in (HERE / "generated").iterdir():
        if f"generated/{path.name}" not in files:
            path.unlink()
    for name, text in files.items():
        path = HERE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def path_of(name: str) -> str | None:
    """Return the path of a public name, which may be given without its module, such as "algorithms.ucb1"; or None."""
    paths = (name, *(f"{module}.{name}" for module in ("algorithms", "environments", *INSIDE)))
    bounds = [f"bounds.{known}" for known in jaxbandit.bounds.__all__]
    inner = [f"{RETURNED[name]}.{name}"] if name in RETURNED else []
    return next((path for path in (*paths, *inner) if path in homes() or path in bounds or path in inner), None)


def link(code: str) -> str:
    """Return what stands in backticks in a docstring as a link to a public name, or as a literal."""
    path = path_of(code.removeprefix("jb.").removeprefix("jaxbandit."))
    if path is None:
        return f"``{code}``"
    if path.startswith("bounds."):
        return f":py:obj:`{path.removeprefix('bounds.')} <jaxbandit.{path}>`"
    return f":py:obj:`~jaxbandit.{path}`"


def docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Convert a docstring; to that of a record add its fields as they stand in the source, comments included."""
    lines[:] = docstrings.converted(lines, link)
    if known := ALGORITHMS.get(name.removeprefix("jaxbandit.algorithms.")):
        told = {"Rewards": known.rewards, "Cost of a round": known.cost, "Memory of a run": known.memory}
        lines += [f":{title}: {docstrings.escaped(text)}" for title, text in told.items()]
        example = showing.about(known.name)[0]["python"]
        lines += ["", ".. code-block:: python", "", *textwrap.indent(example, "   ").splitlines(), ""]
        if drawing := pictures.picture(known.name):
            lines += [".. raw:: html", "", f"   {drawing}", ""]
    if what == "class" and (fields := _fields(thing)):
        lines += ["", ".. code-block:: python", "", *textwrap.indent(fields, "   ").splitlines(), ""]


def _fields(record: type) -> str:
    """Return the lines of a class between its docstring and its first method, where its fields stand."""
    if not record.__module__.startswith("jaxbandit."):  # a page's module imports it; autodoc asks and leaves it out
        return ""
    source = textwrap.dedent(inspect.getsource(record))
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    fields = [node for node in tree.body if isinstance(node, ast.AnnAssign | ast.Assign)]
    if not fields:
        return ""
    methods = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    end = min((line.lineno for node in methods for line in [node, *node.decorator_list]), default=None)
    start = tree.body[0].end_lineno if ast.get_docstring(tree) else fields[0].lineno - 1
    return textwrap.dedent("\n".join(source.splitlines()[start : None if end is None else end - 1])).strip("\n")


def signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, given: str | None, returns: str | None
) -> tuple[str, str] | None:
    """Return the signature as the source has it, its types by their names."""
    if given is None or what not in ("class", "exception", "function", "method"):
        return None
    if what in ("class", "exception"):
        return "", ""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))
    function = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    arguments = function.args
    for group in (arguments.posonlyargs, arguments.args):
        if what == "method" and group and group[0].arg in ("self", "cls"):
            del group[0]
    arrow = ast.unparse(function.returns) if function.returns else ""
    return f"({ast.unparse(arguments)})", arrow


def plain(app: Sphinx, env: Any, node: Any, content: nodes.Node) -> nodes.Node | None:
    """Show a type in a signature that has no page as text without a link."""
    target = node.get("reftarget", "")
    name = target.split(".")[-1]
    if name in RETURNED and node.get("refdomain") == "py":
        full = f"jaxbandit.{RETURNED[name]}.{name}"
        if target != full:
            domain = env.get_domain("py")
            return domain.resolve_xref(env, node["refdoc"], app.builder, "class", full, node, content)
    typed = node.get("refdomain") == "py" and (node.get("reftype") in ("class", "exc") or target == "None")
    public = {path.rpartition(".")[2] for path in homes()}
    return content if typed and name not in public else None


def skip(app: Sphinx, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out fields of records, which stand with their comments in the code block of the record."""
    if what == "class" and not (callable(thing) or isinstance(thing, property | classmethod | staticmethod)):
        return True
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", plain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
