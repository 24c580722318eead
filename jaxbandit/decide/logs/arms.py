"""The arms of a log: what its actions are called. An arm is addressed by its label, or by its number among the labels.

Two labels are the same arm if they are written alike: 3, 3.0 and "3" are, and "3" and "03" are not.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.support.columns import Place, cells
from jaxbandit.support.refusals import nearest, python, refuse, wrong

Label = int | str

SHOWN = 8  # the most labels that a line lists
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.0*)?")  # as a program may write a whole number


def written(cell: Any) -> str:
    """Return a label as text; "" if there is none."""
    if isinstance(cell, float | np.floating):
        number = float(cell)
        if math.isfinite(number):
            return str(int(number)) if number == math.floor(number) else repr(number)
        return "" if math.isnan(number) else str(number)
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, bool | np.bool_ | int | np.integer) else str(cell).strip()


def actions_of(
    where: str, values: Any, place: Place, given: Sequence[Any] | None, num_arms: int | None
) -> tuple[tuple[Label, ...], np.ndarray]:
    """Return the labels of all arms, and the number of the arm of each row, int32[n].

    Args:
      where: the function, for error messages.
      values: the label of the action of each row.
      place: `(row) -> str`, where the action of a row is, for error messages.
      given: the labels of all arms, in the order of their numbers; None if the rows say what the arms are.
      num_arms: the number of arms, if something has an entry for each; without `given` the labels are then 0, 1, ...
    """
    found, rows = _distinct(values, place)
    if given is not None:
        arms = _labels(where, given, num_arms)
    elif num_arms is not None:
        arms = tuple(range(num_arms))
    else:
        whole = all(map(_WHOLE.fullmatch, found))
        arms = tuple(sorted(set(map(int, found)) if whole else set(found)))
    numbers = {written(arm): number for number, arm in enumerate(arms)}
    of = np.array([numbers.get(text, -1) for text in found], np.int32)
    actions = of[rows]
    if (bad := actions < 0).any():
        row = int(np.argmax(bad))
        text = found[rows[row]]
        allowed = f"one of the arms {listed(arms)}{nearest(text, numbers)}"
        if given is None:
            allowed = f"an arm: a whole number in [0, {len(arms) - 1}]; other arms are named by arms = [..]"
        refuse(place(row), f" = {text}, must be {allowed}")
    return arms, actions


def _distinct(values: Any, place: Place) -> tuple[list[str], np.ndarray]:
    """Return the labels that occur, each once and as text, and which of them each row has, int[n]."""
    array = np.asarray(values) if hasattr(values, "__array__") else None
    if array is not None and array.dtype.kind in "biuf":
        some, rows = np.unique(array, return_inverse=True)
        texts = [written(cell) for cell in some.tolist()]
    else:
        numbers: dict[str, int] = {}
        rows = np.array([numbers.setdefault(written(cell), len(numbers)) for cell in cells(values)], np.int64)
        texts = list(numbers)
        if all(map(_WHOLE.fullmatch, texts)):  # a file may have 3.0 for 3
            texts = [str(int(text.partition(".")[0])) for text in texts]
    for number, text in enumerate(texts):
        if text in ("", "inf", "-inf"):
            row = int(np.argmax(rows == number))
            refuse(place(row), f" is {text or 'empty or not a number'}, must be the label of an arm")
    return texts, rows


def _labels(where: str, given: Sequence[Any], num_arms: int | None) -> tuple[Label, ...]:
    """Return the labels that a user gives, whole numbers as int."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray | range) or not len(given):
        wrong(f"{where}: arms", given, "a list of the labels of all arms", written=python)
    texts = [written(label) for label in cells(given)]
    for text in texts:
        if not text or texts.count(text) > 1:
            wrong(f"{where}: arms", given, f"labels that differ{': ' * bool(text)}{text}", written=python)
    if num_arms is not None and num_arms != len(texts):
        refuse(f"{where}: arms", f" names {len(texts)} arms, must name {num_arms}, as many as the other arguments have")
    return tuple(int(text) if _WHOLE.fullmatch(text) else text for text in texts)


def number_of(where: str, arms: Sequence[Label], label: Any) -> int:
    """Return the number of the arm with a label; raise BadInput if there is none."""
    texts = [str(arm) for arm in arms]
    text = written(label)
    if text not in texts:
        wrong(where, label, f"one of the arms {listed(arms)}{nearest(text, texts)}", written=python)
    return texts.index(text)


def are_numbers(arms: Sequence[Label]) -> bool:
    """Return whether the labels are 0, 1, .., so that nothing has to be said of them."""
    return list(arms) == list(range(len(arms)))


def listed(arms: Sequence[Label]) -> str:
    """Return the labels in a line, the first ones and the last if there are many."""
    if are_numbers(arms) and len(arms) > SHOWN:
        return f"0 to {len(arms) - 1}"
    shown = list(map(str, arms))
    return ", ".join(shown if len(shown) <= SHOWN else [*shown[: SHOWN - 2], "..", shown[-1]])


def count_of(arms: Sequence[Label]) -> str:
    """Return how many arms there are, with their labels unless these are 0, 1, .."""
    return f"{len(arms)} arms" + ("" if are_numbers(arms) else f" ({listed(arms)})")
