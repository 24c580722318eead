"""jaxbandit beside seven other libraries on three problems: nine arms, contexts, and the choice of a configuration.

`python -m benchmarks peers --peers PYTHON --write` takes interpreters in whose environments the libraries are
installed; the option may be repeated. Each library runs in a process of its own and is given arrays. One that none of
the interpreters has gets a row that says so. Rows are kept in peers.json, and results/peers.md holds them as tables.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jaxbandit
from benchmarks import machine, peers_ours, peers_shared, results_file
from benchmarks import peers_worlds as worlds
from jaxbandit.theory.intervals import student_of

STORED = Path(__file__).with_name("peers.json")
PAGE = Path(__file__).parent / "results" / "peers.md"
SIDES = {name: Path(__file__).with_name(f"peers_{name}_side.py") for name in ("arms", "contexts", "grid")}
MEANS, HORIZON = np.linspace(0.1, 0.9, 9), 10_000
SECONDS = 20.0  # of each rule of a library for plain arms, which sets the number of its runs
RUNS, WORLDS, REPETITIONS = 1_000, 20, 20
ABSENT = "not installed"


class Library(NamedTuple):
    """A library: its name, the module by which it is found, the problems it is given, and how it states uncertainty."""

    name: str
    module: str
    problems: tuple[str, ...]
    says: str


LIBRARIES = [
    Library(
        "SMPyBandits", "SMPyBandits", ("arms",),
        "mean regrets with one standard deviation over runs, if `plotSTD` asks for it; no interval of the mean",
    ),
    Library(
        "MABWiser", "mabwiser", ("arms", "contexts"),
        "nothing; its `Simulator` lists minima, means, maxima and standard deviations of rewards",
    ),
    Library(
        "coba", "coba", ("arms", "contexts"),
        "nothing in numbers; figures have error bars if asked: standard errors, bootstrap, binomial",
    ),
    Library(
        "Vowpal Wabbit", "vowpalwabbit", ("arms", "contexts"),
        "the probability of each action, and a progressive mean loss",
    ),
    Library("contextualbandits", "contextualbandits", ("contexts",), "nothing; its evaluations return one number"),
    Library(
        "scikit-learn", "sklearn", ("grid",),
        "the standard deviation of a configuration's scores over folds, none of the choice",
    ),
    Library("Optuna", "optuna", ("grid",), "the best value; no interval"),
]  # fmt: skip
OWN = "jaxbandit"
OURS = "Student intervals of means, paired differences, and a certificate of a choice with the assumptions it needs"


def main(argv: Sequence[str]) -> int:
    """Measure, print and perhaps write the tables; return the exit status."""
    return peers_shared.command("peers", __doc__, measure, table, argv, write)


def write(found: dict[str, Any]) -> None:
    """Keep the rows, and write their tables into the page."""
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    results_file.replace("peers", table(found), PAGE)


def measure(quick: bool, interpreters: Sequence[str]) -> dict[str, Any]:
    """Return a row for each rule of each library and of ours, with what stands in the tables alone."""
    rounds, repetitions, seconds = (300, 2, 0.0) if quick else (worlds.ROUNDS, REPETITIONS, SECONDS)
    given = worlds.linear(2 if quick else WORLDS, rounds)
    digits = [worlds.digits(i) for i in range(repetitions)]
    best = [max(worlds.worth(CONFIGS, i)) for i in range(repetitions)]
    asked: dict[str, dict[str, Any]] = {
        "arms": {"means": MEANS, "horizon": 100 if quick else HORIZON, "seconds": seconds},
        "contexts": given,
        "grid": {"x": np.array([x for x, *_ in digits]), "y": np.array([y for _, y, *_ in digits]), **worlds.GRID},
    }
    versions: dict[str, str | None] = {library.name: None for library in LIBRARIES}
    random = (given["means"].max(axis=2) - given["means"].mean(axis=2)).sum(axis=1)
    rows = []
    for problem, told in asked.items():
        found = []
        for library in LIBRARIES:
            if problem in library.problems:
                answer = peers_shared.answer(interpreters, SIDES[problem], library.module, told)
                found += [(library.name, each) for each in unpacked(answer)]
                versions[library.name] = versions[library.name] if answer is None else str(answer["version"])
        if problem == "arms":
            own = peers_ours.arms(MEANS, told["horizon"], 20 if quick else RUNS)
        elif problem == "contexts":
            found.append(("no library", {"ran": "an arm at random", "values": random}))
            own = peers_ours.contexts(given)
            for _, each in [*found, *((OWN, each) for each in own[1:])]:
                if "values" in each:  # all in the same worlds
                    each["less"] = each["values"] - own[0]["values"]
        else:
            own = peers_ours.grid(repetitions)
        found += [(OWN, each) for each in own]
        rows += [row(problem, name, each, best) for name, each in found]
    about = f"{machine.text(machine.machine())}; {results_file.today()}"
    return {"about": about, "versions": versions | {OWN: jaxbandit.__version__}, "rows": rows}


CONFIGS: list[dict[str, Any]] = [
    {"C": float(c), "gamma": float(gamma)} for c in worlds.GRID["C"] for gamma in worlds.GRID["gamma"]
]


def unpacked(found: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the rows of a library; one that says that it is not installed if there was no answer."""
    if found is None:
        return [{"ran": ABSENT}]
    rows = []
    for i, name in enumerate(found["names"].tolist()):
        each = {key.partition("/")[2]: value for key, value in found.items() if key.startswith(f"{i}/")}
        said = {"said": str(found["said"][i])} if "said" in found else {}
        rows.append({"ran": name, **each, **said})
    return rows


def row(problem: str, library: str, found: dict[str, Any], best: Sequence[float]) -> dict[str, Any]:
    """Return a row as it is kept: strings, numbers, and intervals as [mean, low, high]."""
    kept: dict[str, Any] = {"problem": problem, "library": library, "ran": found["ran"]}
    if "values" in found:
        kept |= {"count": len(found["values"]), "regret": interval(found["values"])}
        kept |= {"less": interval(found["less"])} if "less" in found else {}
        kept |= {key: float(f"{float(found[key]):.3g}") for key in ("us", "us of many") if key in found}
    if "rows" in found:
        cost, gamma, claim, fits, seconds = np.asarray(found["rows"]).T
        chosen = [{"C": float(c), "gamma": float(g)} for c, g in zip(cost, gamma, strict=True)]
        worth = [worlds.worth([config], i)[0] for i, config in enumerate(chosen)]
        kept |= {"count": len(worth), "worth": interval(worth), "below": interval(np.subtract(best, worth))}
        kept |= {"claim": round(float(claim.mean()), 5), "fits": round(float(fits.mean())), "said": found["said"]}
        kept["seconds"] = float(f"{float(np.median(seconds)):.2g}")
    return kept


def interval(values: Any) -> list[float]:
    """Return the mean and the ends of its Student interval of 95 %; the mean alone if all values are equal."""
    found = student_of(np.asarray(values, float))
    ends = (found.value, found.low, found.high) if np.ptp(values) > 1e-9 else (found.value,)
    return [round(float(x), 5) + 0.0 for x in ends]


def table(found: dict[str, Any]) -> str:
    """Return the rows as tables of Markdown."""
    versions, rows = found["versions"], found["rows"]
    lines = [f"Measured on {found['about']}.", "", "### Who was measured", ""]
    lines += ["| library | version | what it says about uncertainty |", "|---|---|---|"]
    says = {library.name: library.says for library in LIBRARIES} | {OWN: OURS}
    lines += [f"| {name} | {versions[name] or ABSENT} | {text} |" for name, text in says.items()]
    heads = {
        "arms": ("Nine Bernoulli arms", "runs | regret | us a round | us, many runs at once"),
        "contexts": (
            "Contexts",
            "worlds | regret | less our first | us a decision | us, many runs at once",
        ),
        "grid": (
            "A configuration of a support vector machine",
            "accuracy on unseen digits | below the best of the grid | it claimed | fits | seconds | in its own words",
        ),
    }
    for problem, (title, head) in heads.items():
        columns = f"| library | what was run | {head} |"
        lines += ["", f"### {title}", "", columns, "|---" * (columns.count("|") - 1) + "|"]
        lines += [_line(each, columns.count("|") - 1) for each in rows if each["problem"] == problem]
    return "\n".join(lines)


def _line(row: dict[str, Any], width: int) -> str:
    cells = [row["library"], row["ran"]]
    if "regret" in row:
        times = (f"{row[key]:.3g}" if key in row else "" for key in ("us", "us of many"))
        less = [_text(row["less"], 1) if "less" in row else ""] if row["problem"] == "contexts" else []
        cells += [f"{row['count']:,}", _text(row["regret"], 1), *less, *times]
    elif "worth" in row:
        cells += [_text(row["worth"], 4), _text(row["below"], 4), f"{row['claim']:.4f}", f"{row['fits']}"]
        cells += [f"{row['seconds']:.2g}", row["said"]]
    return "| " + " | ".join(cells + [""] * (width - len(cells))) + " |"


def _text(ends: Sequence[float], digits: int) -> str:
    value, *rest = (f"{round(x, digits) + 0.0:.{digits}f}" for x in ends)
    return f"{value} [{', '.join(rest)}]" if rest else value
