"""The page of a session's directory: its certificate, the means of the arms, the log."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.markup import tag
from jaxbandit.report import charts, parts, provenance, searches
from jaxbandit.report.charts import Chart, Curve
from jaxbandit.report.page import Page
from jaxbandit.sessions.certificate import Certificate, certificate
from jaxbandit.sessions.directory import LOG, read_about, read_session
from jaxbandit.sessions.stored import arm_labels, stored_spec

SHOWN_ENTRIES, SHOWN_ARMS, DRAWN_ARMS, POINTS = 200, 200, 12, 200


def page_of(directory: Path, *, imports: bool = True) -> Page:
    """Return the page of a session that was begun from a TOML file."""
    spec = stored_spec(directory, imports=imports)
    session = read_session(directory, spec.build())
    found, labels = certificate(session), arm_labels(spec)
    state = "It has stopped." if session.stopped else "It goes on."
    counts = f"{session.num_told:,} pulls told, {len(session.pending):,} pending."
    page = Page(spec.name, [f"Session of {spec.algorithm.type} over {len(labels):,} arms. {state}", counts])
    if found.recommendation is not None:
        named = ", ".join(labels[int(arm)] for arm in found.recommendation)
        page.add("Recommendation", tag("p", tag("strong", named)), *searches.promise(found.to_json()))
    else:
        page.add("Certificate", *searches.promise(found.to_json()))
    page.add("Arms", *_arms(page, found, labels))
    entries = _entries(directory)
    page.add("Running means", *_running(page, entries, labels))
    page.add("Log", *_log(page, entries, labels))
    about = read_about(directory)
    identity = {name: about["identity"].get(name) for name in ("seed", "run", "paired", "jaxbandit", "jax", "platform")}
    given = tag("pre", json.dumps(spec.to_dict(), indent=1, ensure_ascii=False))
    page.add("Provenance", provenance.definitions(identity), parts.details("Session as it was begun", given))
    return page


def _arms(page: Page, found: Certificate, labels: list[str]) -> list[Any]:
    """Pulls, means and intervals of the arms; of many those that were pulled most."""
    arms = np.arange(len(labels))
    if len(arms) > SHOWN_ARMS:
        arms = np.sort(np.argsort(-found.pulls, kind="stable")[:SHOWN_ARMS])
        page.notes.append(f"Of {len(labels):,} arms the {SHOWN_ARMS} that were pulled most are shown.")
    means, low, high = found.means, found.low, found.high
    rows = []
    for arm in arms.tolist():
        row = [labels[arm], f"{found.pulls[arm]:,}"]
        row += [] if means is None else [_number(means[arm])]
        row += [] if low is None or high is None else [f"[{_number(low[arm])}, {_number(high[arm])}]"]
        row += [] if found.survivors is None else ["yes" if found.survivors[arm] else "no"]
        rows.append(row)
    head = ["arm", "pulls", *(["mean reward"] if means is not None else [])]
    head += [] if found.coverage is None else [f"{found.coverage:.0%} interval"]
    head += [] if found.survivors is None else ["survives"]
    note = "The intervals hold for all arms and at all times together, so they may be read while the session goes on."
    told = parts.table("Arms", head, rows, numbers=[1, 2], foot=note if found.coverage is not None else None)
    if means is None:
        return [told]
    known = [arm for arm in arms.tolist() if math.isfinite(means[arm])]
    ends = () if low is None or high is None else ([_drawn(v[arm], means[arm]) for arm in known] for v in (low, high))
    curve = Curve("mean reward", 0, [arms.tolist().index(arm) for arm in known], [means[arm] for arm in known], *ends)
    named = [labels[arm] for arm in arms.tolist()]
    title = "Mean reward of each arm with its interval, where it is finite"
    chart = Chart(title, "arm", "mean reward", [curve], shape="marks", log_x=None, log_y=None, names=named)
    return [page.chart(chart), told]


def _drawn(end: float, mean: float) -> float:
    return float(end) if math.isfinite(end) else float(mean)


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "unknown"


def _entries(directory: Path) -> list[dict[str, Any]]:
    """Lines of the log, a last one that was cut short left out; the session has been rebuilt from them already."""
    path = directory / LOG
    data = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def _asked(entries: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The arm, or the arms, of each id."""
    return [arm for entry in entries for arm in entry.get("ask", [])]


def _running(page: Page, entries: Sequence[Mapping[str, Any]], labels: list[str]) -> list[Any]:
    """The mean of each arm's rewards after each of them; of many arms those that were told most."""
    arms, rewards, known = _asked(entries), {}, set()
    for entry in entries:
        for id_, reward in zip(entry.get("tell", []), entry.get("rewards", []), strict=False):
            if id_ in known or isinstance(arms[id_], list):
                continue
            known.add(id_)
            rewards.setdefault(arms[id_], []).append((len(known), reward))
    most = sorted(sorted(rewards, key=lambda arm: -len(rewards[arm]))[:DRAWN_ARMS])
    if len(rewards) > DRAWN_ARMS:
        page.notes.append(f"Running means are drawn of the {DRAWN_ARMS} arms with most rewards, of {len(rewards):,}.")
    curves = []
    for order, arm in enumerate(most):
        x, values = np.array(rewards[arm], np.float64).T
        keep = charts.thinned(len(x), POINTS)
        mean = np.cumsum(values) / np.arange(1, len(values) + 1)
        curves.append(Curve(labels[arm], order, x[keep].astype(int), mean[keep]))
    if any(len(of) > POINTS for of in rewards.values()):
        page.notes.append(f"Of each arm's running means at most {POINTS} are drawn, evenly apart in number.")
    title = "Mean of the rewards of each arm so far"
    return [page.chart(Chart(title, "rewards told", "mean reward", curves, shape="step", log_y=None))]


def _log(page: Page, entries: Sequence[Mapping[str, Any]], labels: list[str]) -> list[Any]:
    arms = _asked(entries)
    rows, issued = [], 0
    for number, entry in enumerate(entries, 1):
        if "ask" in entry:
            new = entry["ask"]
            ids = f"{issued} to {issued + len(new) - 1}" if len(new) > 1 else f"{issued}" if new else ""
            issued += len(new)
            rows.append((f"{number:,}", "ask", ids, _few([_named(arm, labels) for arm in new]), ""))
        elif "tell" in entry:
            ids, told = entry["tell"], entry["rewards"]
            named = [_named(arms[id_], labels) for id_ in ids]
            rows.append((f"{number:,}", "tell", _few(map(str, ids)), _few(named), _few(f"{x:.6g}" for x in told)))
        else:
            ids = entry["withdraw"]
            named = [_named(arms[id_], labels) for id_ in ids]
            rows.append((f"{number:,}", "withdraw", _few(map(str, ids)), _few(named), ""))
    if len(rows) > SHOWN_ENTRIES:
        page.notes.append(f"Of {len(rows):,} lines of the log the last {SHOWN_ENTRIES} are shown.")
    head = ("line", "what", "pulls", "arms", "rewards")
    return [parts.table("Log", head, rows[-SHOWN_ENTRIES:], numbers=[0])] if rows else []


def _named(arm: Any, labels: list[str]) -> str:
    return "{" + ", ".join(labels[a] for a in arm) + "}" if isinstance(arm, list) else labels[arm]


def _few(words: Any, most: int = 8) -> str:
    given = list(words)
    return ", ".join(given[:most]) + (f", and {len(given) - most:,} more" if len(given) > most else "")
