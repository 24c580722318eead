"""The document of `python -m benchmarks gpu`: figures, the bounds beside them, and what was expected."""

from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]

GIB = 2**30
# What was expected before anybody had measured: about six kernels a round of ucb1, seen in the compiled program, of
# three microseconds each, so that a round takes the same time up to about 2^17 runs.
EXPECTED = {
    "kernels_per_round": 6.0,
    "kernel_us": 3.0,
    "round_us_up_to_131072_runs": 18.0,
    "run_steps_per_s_of_1000_runs": 5e7,
    "run_steps_per_s_of_1048576_runs": 2e10,
}
WORDS = {
    "kernels_per_round": "kernels of a round of ucb1, K = 9",
    "kernel_us": "microseconds of a kernel in a graph",
    "round_us_up_to_131072_runs": "largest and smallest microseconds of a round, 2^10 to 2^17 runs",
    "run_steps_per_s_of_1000_runs": "run-steps a second, 10^3 runs",
    "run_steps_per_s_of_1048576_runs": "run-steps a second, 2^20 runs",
}


def document(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the rows with the bounds on a round that the limits of the device set, and what was expected."""
    launches, copy = _found(rows, "launches"), _found(rows, "copy")
    bandwidth = copy.get("copied_bytes_per_s")
    engine = {_cell(row): row["round_us"] for row in rows if row["group"] == "rounds" and "round_us" in row}
    digests: dict[tuple[Any, ...], str] = {}
    result = []
    for old in rows:
        row = dict(old)
        result.append(row)
        if "round_us" not in row:
            continue
        given = row["given"]
        launch = launches.get("straight_kernel_us")
        if launch is not None and row.get("kernels_per_round"):
            row["launches_us"] = row["kernels_per_round"] * launch
        if bandwidth:
            row["least_bytes_us"] = row["least_bytes_per_round"] / bandwidth * 1e6
            if row.get("compiler_bytes_per_round"):
                row["compiler_bytes_us"] = row["compiler_bytes_per_round"] / bandwidth * 1e6
        if row["group"] == "loops" and _cell(row) in engine:
            row["times_as_fast_as_the_engine"] = engine[_cell(row)] / row["round_us"]
        program = (given["rule"], given["num_arms"], row["group"] == "kernels")
        first = digests.setdefault(program, row["state_digest"])
        row["same_bytes"] = row["state_digest"] == first
    return {"expected": EXPECTED, "measured": _measured(rows, launches), "rows": result}


def _cell(row: Row) -> tuple[Any, ...]:
    """Return what a row of rounds plays, whatever the loop."""
    return tuple(row["given"][name] for name in ("rule", "num_arms", "runs"))


def _found(rows: Sequence[Row], name: str) -> Row:
    """Return the row of a limit of the device, {} if it was not measured."""
    return next((row for row in rows if (row["group"], row["name"]) == ("limits", name) and "error" not in row), {})


def _measured(rows: Sequence[Row], launches: Row) -> dict[str, Any]:
    """Return what was measured of what was expected, None where nothing was."""
    own = [row for row in rows if row["group"] == "rounds" and "round_us" in row and row["given"]["num_arms"] == 9]
    of = {row["given"]["runs"]: row for row in own}
    even = [row["round_us"] for runs, row in of.items() if 2**10 <= runs <= 2**17]
    return {
        "kernels_per_round": next((row.get("kernels_per_round") for row in own), None),
        "kernel_us": launches.get("straight_kernel_us"),
        "round_us_up_to_131072_runs": [max(even), min(even)] if even else None,
        "run_steps_per_s_of_1000_runs": of.get(2**10, {}).get("run_steps_per_s"),
        "run_steps_per_s_of_1048576_runs": of.get(2**20, {}).get("run_steps_per_s"),
    }


Cell = Callable[[Row], str]


def _number(name: str, form: str = ".3g", unit: int = 1) -> Cell:
    def cell(row: Row) -> str:
        value = row.get(name)
        return "" if value is None else format(value if unit == 1 else value / unit, form)

    return cell


def _yes(name: str) -> Cell:
    return lambda row: {True: "yes", False: "**no**"}.get(row.get(name, ""), "")


def _bound(row: Row) -> str:
    """Return which of the two bounds on a round is the larger one."""
    start, moved = row.get("launches_us"), row.get("compiler_bytes_us", row.get("least_bytes_us"))
    if start is None or moved is None:
        return ""
    return "launches" if start > moved else "memory"


ROUND: dict[str, Cell] = {
    "us a round": _number("round_us"),
    "launches, us": _number("launches_us"),
    "bytes, us": _number("compiler_bytes_us"),
    "least bytes, us": _number("least_bytes_us"),
    "bound": _bound,
    "run-steps a s": _number("run_steps_per_s", ".2e"),
    "kernels a round": _number("kernels_per_round"),
    "compile, s": _number("compile_s", ".1f"),
    "predicted, GiB": _number("predicted_bytes", ".3f", GIB),
    "compiler, GiB": _number("compiler_bytes", ".3f", GIB),
    "peak, GiB": _number("peak_bytes", ".3f", GIB),
    "same bytes": _yes("same_bytes"),
}
KERNEL = {name: ROUND[name] for name in ("us a round", "run-steps a s", "compile, s", "compiler, GiB", "same bytes")}
CALL: dict[str, Cell] = {
    "seconds": _number("call_s"),
    "run-steps a s": _number("run_steps_per_s", ".2e"),
    "compile, s": _number("compile_s", ".1f"),
}
GROUPS: dict[str, tuple[str, dict[str, Cell]]] = {
    "kernels": ("Rounds in one kernel", KERNEL),
    "calls in kernels": ("Whole calls with about 100 checkpoints, in kernels", CALL),
    "rounds": ("Rounds of ucb1 in the engine's loop", ROUND),
    "calls": ("Whole calls with about 100 checkpoints", CALL),
    "loops": ("Other loops, and other flags", {"times": _number("times_as_fast_as_the_engine"), **ROUND}),
    "rules": ("Rounds of other rules", ROUND),
    "agreement": (
        "The same seeds on the device and on a CPU",
        {
            "runs": _number("runs", ","),
            "equal pulls": _number("runs_with_equal_pulls", ","),
            "part": _number("runs_that_part", ","),
            "first round": _number("first_round_apart", ","),
            "median round": _number("median_round_apart", ",.0f"),
            "mean regrets": lambda row: " ".join(f"{x:.3f}" for x in row.get("mean_regrets", ())),
            "standard errors apart": _number("standard_errors_apart", ".2f"),
        },
    ),
    "lanes": (
        "Runs that stop, on lanes",
        {
            **CALL,
            "first call, s": _number("first_call_s"),
            "lanes": _number("lanes", ","),
            "utilisation": _number("utilisation", ".1%"),
            "mean samples": _number("mean_samples", ",.0f"),
            "kernels a step": _number("kernels_per_round"),
            "predicted, GiB": _number("predicted_bytes", ".3f", GIB),
            "compiler, GiB": _number("compiler_bytes", ".3f", GIB),
        },
    ),
    "searches": (
        "Searches of 64-32-10 networks",
        {
            "seconds": _number("call_s"),
            "first call, s": _number("first_call_s"),
            "trainings a s": _number("trainings_per_s", ",.0f"),
            "network-steps a s": _number("network_steps_per_s", ",.0f"),
        },
    ),
}
ARITHMETIC: dict[str, Cell] = {
    "values": _number("compared", ","),
    "different": _number("different", ","),
    "largest difference": _number("largest_difference"),
    "in units of the last place": _number("largest_units_in_the_last_place", ",.0f"),
}


def text(found: dict[str, Any]) -> str:
    """Return the document in Markdown."""
    rows = found["rows"]
    lines = ["# jaxbandit on this device", ""]
    for row in rows:
        if row["group"] == "limits":
            shown = {name: value for name, value in row.items() if name not in _ABOUT}
            lines += [f"- {name}: {value:.6g}" if isinstance(value, float) else f"- {name}: {value}"
                      for name, value in shown.items()]  # fmt: skip
    lines += ["", "## Expected and measured", "", "| what | expected | measured |", "|---|---|---|"]
    for name, expected in found["expected"].items():
        value = found["measured"][name]
        values = [] if value is None else value if isinstance(value, list) else [value]
        lines.append(f"| {WORDS[name]} | {expected:.3g} | {', '.join(f'{x:.3g}' for x in values)} |")
    for group, (title, columns) in GROUPS.items():
        own = [row for row in rows if row["group"] == group]
        if own:
            lines += ["", f"## {title}", "", *_table(own, columns)]
    operations = [{"name": name, **values} for row in rows for name, values in row.get("values", {}).items()]
    if operations:
        lines += ["", "## Arithmetic on the device and on a CPU", "", *_table(operations, ARITHMETIC)]
    failed = [row for row in rows if "error" in row]
    lines += ["", "## Rows without a figure", "", *(f"- {_title(row)}: {row['error']}" for row in failed or ())]
    return "\n".join([*lines, *([] if failed else ["none"])]) + "\n"


_ABOUT = "group name variant platform flags limit_s wall_s given".split()


def _table(rows: Sequence[Row], columns: dict[str, Cell]) -> list[str]:
    lines = [f"| | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for row in rows:
        if "error" not in row:
            lines.append(f"| {_title(row)} | {' | '.join(cell(row) for cell in columns.values())} |")
    return lines


def _title(row: Row) -> str:
    return f"{row['name']}; {row['variant']}" if row.get("variant") else row["name"]


def said(row: Row) -> str:
    """Return a row in a few words, for whoever waits."""
    if "error" in row:
        return f"no figure: {row['error']}"
    forms = {
        "device_kind": "{}",
        "copied_bytes_per_s": "{:.3g} bytes a s",
        "straight_kernel_us": "{:.3g} us a kernel",
        "round_us": "{:.4g} us a round",
        "run_steps_per_s": "{:.3g} run-steps a s",
        "utilisation": "lanes busy {:.1%}",
        "trainings_per_s": "{:.4g} trainings a s",
        "network_steps_per_s": "{:.4g} network-steps a s",
        "runs_with_equal_pulls": "{:,} runs with equal pulls",
        "compile_s": "compiled in {:.1f} s",
    }
    return ", ".join(form.format(row[name]) for name, form in forms.items() if row.get(name) is not None) or "done"
