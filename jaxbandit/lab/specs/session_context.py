"""The contexts that are given to `jaxbandit ask`: one as text, or several in a CSV file.

Every error is a BadInput with a message of one line.
"""

from pathlib import Path
from typing import Any

from jaxbandit.lab.specs.arguments import read_csv
from jaxbandit.support import reading
from jaxbandit.support.refusals import refuse, wrong

FORMS = 'an index, numbers such as 0.1,0.2, a JSON array, or {"available": [true, false], "features": [..]}'


def read_context(text: str) -> Any:
    """Return the context that a text describes: an int, nested lists of numbers, or an Offer."""
    from jaxbandit.base.contract import Offer  # imports JAX

    for written in (text, f"[{text}]"):
        try:
            value = reading.json_of(written, nan=True)  # the session says which number is none
        except ValueError:
            continue
        if isinstance(value, dict) and "available" in value and value.keys() <= {"available", "features"}:
            return Offer(value["available"], value.get("features"))
        if type(value) is int or isinstance(value, list):
            return value
    return wrong("--context", text, FORMS)


def read_contexts(path: Path, rule: Any) -> Any:
    """Return the contexts of a CSV file, one in each row, in the form that the rule declares.

    A context with a row for each arm is written row after row. The first line may have the names of the columns.
    """
    import numpy as np

    rows, arms = np.array(read_csv("--contexts", path)), rule.arms
    if arms is not None and arms.num_contexts is not None:
        whole = rows.shape[1] == 1 and (rows == np.floor(rows)).all()
        return rows[:, 0].astype(int).tolist() if whole else refuse(f"--contexts {path}", ": must be one index a row")
    if arms is None or arms.context is None:
        return rows
    size = int(np.prod(arms.context))
    if rows.shape[1] != size:
        shape = " x ".join(map(str, arms.context))
        refuse(f"--contexts {path}", f": has {rows.shape[1]} numbers in a row, must have {size} = {shape}")
    return rows.reshape(len(rows), *arms.context)
