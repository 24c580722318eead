"""The arms of a log: what its actions are called. An arm is addressed by its label, or by its number among the labels.

Two labels are the same arm if they are written alike: 3, 3.0 and "3" are, and "3" and "03" are not.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.support import checks
from jaxbandit.support.columns import Place, cells, labels
from jaxbandit.support.refusals import nearest, python, wrong

Label = int | str

SHOWN = 8  # the most labels that a line lists
LABEL = "the label of an arm"
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.0*)?")  # as a program may write a whole number


def written(cell: Any) -> str:
    """Return a label as text; "" if there is none."""
    if isinstance(cell, float | np.floating):
        number = float(cell)
        if not math.isfinite(number):
            return ""
        return str(int(number)) if number == math.floor(number) else repr(number)
    if cell is None:
        return ""
    text = str(int(cell)) if isinstance(cell, bool | np.bool_ | int | np.integer) else str(cell).strip()
    return "" if text in ("inf", "-inf") else text


def actions_of(
    values: Any, place: Place, given: Sequence[Any] | None, num_arms: int | None
) -> tuple[tuple[Label, ...], np.ndarray]:
    """Return the labels of all arms, and the number of the arm of each row, int32[n].

    Without `given`, the labels in order, they are 0, 1, .. if something says how many arms there are, and else what the
    rows have.
    """
    found, rows = labels(values, place, LABEL, written)
    whole = all(map(_WHOLE.fullmatch, found))
    if whole:  # a file may have 3.0 for 3
        found = [str(int(text.partition(".")[0])) for text in found]
    if given is not None:
        arms = _labels(given, num_arms)
    elif num_arms is not None:
        arms = tuple(range(num_arms))
    else:
        arms = tuple(sorted(set(map(int, found)) if whole else set(found)))
    numbers = {written(arm): number for number, arm in enumerate(arms)}
    actions = np.array([numbers.get(text, -1) for text in found], np.int32)[rows]
    if (bad := actions < 0).any():
        row = int(np.argmax(bad))
        text = found[rows[row]]
        allowed = f"one of the arms {listed(arms)}{nearest(text, numbers)}"
        if given is None:
            allowed = f"an arm: a whole number in [0, {len(arms) - 1}]; other arms are named by arms = [..]"
        wrong(place(row), text, allowed, written=str)
    return arms, actions


def _labels(given: Sequence[Any], num_arms: int | None) -> tuple[Label, ...]:
    """Return the labels that a user gives, whole numbers as int."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray | range) or not len(given):
        checks.wrong("arms", given, "a list of the labels of all arms")
    texts = [written(label) for label in cells(given)]
    for text in texts:
        if not text or texts.count(text) > 1:
            checks.wrong("arms", given, f"labels that differ{': ' * bool(text)}{text}")
    if num_arms is not None and num_arms != len(texts):
        raise ValueError(f"arms names {len(texts)} arms, must name {num_arms}, as many as the other arguments have")
    return tuple(int(text) if _WHOLE.fullmatch(text) else text for text in texts)


def number_of(where: str, arms: Sequence[Label], label: Any) -> int:
    """Return the number of the arm with a label; raise BadInput if there is none."""
    texts, text = list(map(str, arms)), written(label)
    if text not in texts:
        wrong(where, label, f"one of the arms {listed(arms)}{nearest(text, texts)}", written=python)
    return texts.index(text)


def listed(arms: Sequence[Label]) -> str:
    """Return the labels in a line, the first ones and the last if there are many."""
    if len(arms) > SHOWN and _are_numbers(arms):
        return f"0 to {len(arms) - 1}"
    shown = list(map(str, arms))
    return ", ".join(shown if len(shown) <= SHOWN else [*shown[: SHOWN - 2], "..", shown[-1]])


def count_of(arms: Sequence[Label]) -> str:
    """Return how many arms there are, with their labels unless these are 0, 1, .."""
    return f"{len(arms)} arms" + ("" if _are_numbers(arms) else f" ({listed(arms)})")


def _are_numbers(arms: Sequence[Label]) -> bool:
    return list(arms) == list(range(len(arms)))
