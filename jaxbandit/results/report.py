"""The table that `run` prints: a row a cell."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxbandit.text import align, number


def table(results: Sequence[Any]) -> str:
    """Return the results of one experiment as text for people."""
    return _regret(results) if results[0].kind == "simulate" else _stopping(results)


def names(results: Sequence[Any]) -> list[tuple[str, str]]:
    """Return instance and algorithm of each result, the algorithm with the values that a sweep gave it."""
    swept = {
        (r.algorithm, name)
        for r in results
        for other in results
        for name in r.params
        if other.algorithm == r.algorithm and other.params[name] != r.params[name]
    }
    return [
        (r.instance, " ".join([r.algorithm, *(f"{k}={v:g}" for k, v in r.params.items() if (r.algorithm, k) in swept)]))
        for r in results
    ]


def kinds_table(cells: Sequence[Mapping[str, Any]], published: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the rounds by kind of the cells that have kinds as text; "" where none has."""
    cells = [cell for cell in cells if "rounds_by_kind" in cell]
    beside = {(e["instance"], e["algorithm"], e.get("round")): e for e in published if e["quantity"] == "kind"}
    tables = []
    for names in dict.fromkeys(tuple(cell["rounds_by_kind"]) for cell in cells):
        rows = [("instance", "algorithm", *names)]
        for cell in cells:
            if tuple(cell["rounds_by_kind"]) != names:
                continue
            key = cell["instance"], cell["algorithm"]
            rows.append((*key, *(_share(cell, name, beside.get((*key, name))) for name in names)))
        tables.append(align(rows, right=range(2, len(names) + 2)))
    return "\n\n".join(["rounds by kind, their share with one standard error", *tables]) if tables else ""


def _regret(results: Sequence[Any]) -> str:
    rows = [("instance", "algorithm", "regret", "95 % interval", "lower bound", "seconds")]
    for name, result in zip(names(results), results, strict=True):
        mean, bound = result.arrays["mean"][-1], result.lower_bound()
        interval = result.interval() if result.runs > 1 else None
        rows.append(
            (
                *name,
                f"{mean:,.2f}",
                f"[{interval.low[-1]:,.2f}, {interval.high[-1]:,.2f}]" if interval else "(one run)",
                "" if bound is None else f"{bound[-1]:,.2f}",
                f"{sum(result.seconds.values()):.1f}",
            )
        )
    rounds = int(results[0].arrays["checkpoints"][-1])
    regret = f"{align(rows, right=(2, 4, 5))}\n{results[0].runs} runs, regret after {rounds} rounds"
    kinds = kinds_table([result.summary() for result in results])
    return f"{regret}\n\n{kinds}" if kinds else regret


def _share(cell: Mapping[str, Any], name: str, entry: Mapping[str, Any] | None) -> str:
    share = f"{cell['rounds_by_kind'][name]:.4f}"
    if "rounds_by_kind_se" in cell:
        share += f" ± {cell['rounds_by_kind_se'][name]:.4f}"
    return share if entry is None else f"{share} ({entry['value']:g}: {entry['verdict']})"


def _stopping(results: Sequence[Any]) -> str:
    head = ("instance", "algorithm", "samples", "95 % interval", "sd", "median")
    rows: list[tuple[str, ...]] = [(*head, "error", "95 % interval", "delta", "runs", "in use", "seconds")]
    for name, result in zip(names(results), results, strict=True):
        content = result.content()
        samples, error = content.get("samples", {}), content.get("error", {})
        mean = samples.get("mean", samples.get("restricted_mean"))
        sd = samples.get("sd", samples.get("restricted_sd"))
        outcomes = {name: count for name, count in content["outcomes"].items() if count}
        rows.append(
            (
                *name,
                "" if mean is None else "> " * (result.censored > 0) + number(mean),
                f"[{number(samples['low'])}, {number(samples['high'])}]" if "low" in samples else "",
                "" if sd is None or result.censored else number(sd),
                number(samples["q50"]) if "q50" in samples else "",
                f"{error['rate']:.4f}" if error else "",
                f"[{error['low']:.4f}, {error['high']:.4f}]" if error else "",
                f"{error['delta']:g}" if "delta" in error else "",
                ", ".join(f"{count} {name}" for name, count in outcomes.items()),
                f"{100 * content['lane_utilisation']:.0f} %" if "lane_utilisation" in content else "",
                f"{sum(result.seconds.values()):.1f}",
            )
        )
    lines = [align(rows, right=(2, 4, 5, 6, 8, 10, 11))]
    lines.append("samples: mean over runs; error: share of the stopped runs that fall short by more than epsilon")
    limits = sorted({r.max_rounds for r in results if r.censored})
    if limits:
        most = ", ".join(f"{limit:,}" for limit in limits)
        lines.append(f"> and its interval: mean of min(samples, {most}), where runs reached max_rounds")
    return "\n".join(lines)
