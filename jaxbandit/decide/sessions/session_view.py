"""Representations of a session: one line of text, and a table in a notebook."""

from typing import Any

import numpy as np

from jaxbandit.base.markup import html_table, view

MOST = 50  # largest number of arms in a table


def line(session: Any) -> str:
    """Return a one-line description of a session, which may be traced or mapped over by JAX."""
    name = f"Session of {session.rule.name or 'an algorithm'}"
    if not _concrete(session):
        return f"<{name}: its arrays are being traced>"
    stopped = "stopped" if session.stopped else f"{len(session.pending)} pending"
    return f"<{name}: {session.num_told} pulls told, {stopped}>"


def table(session: Any) -> str:
    """Return an HTML table of the arms with pulls and mean rewards; if actions are sets, arms have no mean."""
    if not _concrete(session):
        return view(line(session))
    found = session.recommendation
    named = set() if found is None else set(np.ravel(found).tolist())
    single, means = session.decisions.set_size is None, session.totals.means.tolist()
    shown = np.argsort(-session.counts, kind="stable")[:MOST].tolist()
    rows = [
        (
            str(arm),
            f"{session.counts[arm]:,}",
            f"{means[arm]:.4g}" if single and np.isfinite(means[arm]) else "",
            "yes" if arm in named else "",
        )
        for arm in sorted(shown)
    ]
    notes = ["intervals, and what the recommendation is worth: jb.certificate(session)"]
    if session.num_arms > MOST:
        notes.insert(0, f"the {MOST} arms pulled most, of {session.num_arms:,}")
    about = {"seed": session.seed, "run": session.run}
    return view(
        line(session),
        html_table(("arm", "pulls", "mean", "recommended"), rows, right=range(3)),
        notes=notes,
        about=about,
    )


def _concrete(session: Any) -> bool:
    return isinstance(session.stopped, bool | np.bool_) and isinstance(session.totals.counts, np.ndarray)
