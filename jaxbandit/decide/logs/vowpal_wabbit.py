"""Logs of Vowpal Wabbit: its text for contextual bandits, and its JSON of decisions. Both have costs.

Source: the pages "Contextual bandit algorithms", "Input format" and "DSJSON" of the wiki of Vowpal Wabbit.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandit.decide.logs.formats import FEATURES, Form, Lines, json_objects, matrix
from jaxbandit.support import decimals
from jaxbandit.support.refusals import show

LABEL = "action:cost:probability"
ROLES = ("action", "cost", "propensity")


def text(lines: Lines, wanted: Sequence[str]) -> Form:
    """Text with a label `action:cost:probability` for each decision.

    Either each line is a decision, `2:0.5:0.25 | features`; or a blank line ends each, one line for each arm, of which
    one has the label, and before them perhaps one that begins with `shared`. Arms are then numbered by their lines,
    from 0, whatever action the label names.
    """
    blocks = list(_blocks(lines))
    if all(len(block) == 1 or all(_label(line) for _, line in block) for block in blocks):
        return _single([line for block in blocks for line in block], wanted)
    return _by_arm(blocks, wanted)


def _blocks(lines: Lines) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    for number, line in [*lines, (0, "")]:
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block = []


def _label(line: str) -> list[str]:
    """Return the labels before the features."""
    return [word for word in line.partition("|")[0].split() if ":" in word and not word.startswith("'")]


def _chosen(number: int, line: str) -> tuple[str, float, float]:
    """Return the action, cost and probability of a line."""
    label = _label(line)
    parts = label[0].split(":") if len(label) == 1 else []
    cost, probability = map(decimals.number, parts[1:]) if len(parts) == 3 else (None, None)
    if cost is None or probability is None:
        raise ValueError(f"line {number}: has the label {show(' '.join(label))}, must have one {LABEL}")
    return parts[0], cost, probability


def _features(number: int, line: str) -> dict[str, float]:
    """Return the features of a line, by namespace^name; one without a value is 1."""
    found: dict[str, float] = {}
    for part in line.split("|")[1:]:
        words = part.split()
        named = words and not part[:1].isspace()
        space, _, scale = words.pop(0).partition(":") if named else ("", "", "")
        for word in words:
            name, _, value = word.partition(":")
            entry, factor = decimals.number(value or "1"), decimals.number(scale or "1")
            if entry is None or factor is None:
                raise ValueError(f"line {number}: has the feature {show(word)}, must be a name, or name:number")
            key = f"{space}^{name}" if space else name
            found[key] = found.get(key, 0.0) + entry * factor
    return found


def _single(lines: Lines, wanted: Sequence[str]) -> Form:
    for number, line in lines:
        if any(word.isdecimal() for word in line.partition("|")[0].split()):
            remedy = "name the arms by arms = [..], or use the format with a line for each arm"
            raise ValueError(f"line {number}: names actions without a cost, must have one {LABEL} only; {remedy}")
    rows = [_chosen(number, line) for number, line in lines]
    columns: dict[str, Any] = dict(zip(ROLES, map(list, zip(*rows, strict=True)), strict=False))
    if FEATURES in wanted:
        columns[FEATURES] = matrix([_features(number, line) for number, line in lines])
    return Form(columns, [number for number, _ in lines], ROLES)


def _by_arm(blocks: Sequence[Lines], wanted: Sequence[str]) -> Form:
    rows, features = [], []
    arms = [[line for line in block if not line[1].startswith("shared")] for block in blocks]
    most = max(map(len, arms))
    for block, own in zip(blocks, arms, strict=True):
        taken = [at for at, (_, line) in enumerate(own) if _label(line)]
        if len(taken) != 1 or len(block) > len(own) + 1:
            labels = f"{len(taken)} of the {len(own)} lines of this decision have a label"
            raise ValueError(f"line {block[0][0]}: {labels}, must be one with {LABEL}")
        rows.append((taken[0], *_chosen(*own[taken[0]])[1:]))
        if FEATURES in wanted:
            common = [_features(*line) for line in block if line[1].startswith("shared")]
            shared = common[0] if common else {}
            features += [shared | _features(*line) for line in own] + [{}] * (most - len(own))
    columns: dict[str, Any] = dict(zip(ROLES, map(list, zip(*rows, strict=True)), strict=True))
    if any(len(own) < most for own in arms):
        columns["available"] = np.array([np.arange(most) < len(own) for own in arms])
    if FEATURES in wanted:
        columns[FEATURES] = matrix(features).reshape(len(arms), most, -1)
    return Form(columns, [block[0][0] for block in blocks], (*ROLES, "available"), range(most))


def decisions(lines: Lines, wanted: Sequence[str]) -> Form:
    """JSON of decisions: `_label_cost`, `_label_probability`, `_label_Action` (from 1), and `a`, `p` of all arms.

    Lines without a decision, such as outcomes that came later, are refused.
    """
    rows = json_objects(lines)
    keys = dict(zip(ROLES, ("_label_Action", "_label_cost", "_label_probability"), strict=True))
    for number, row in rows:
        for key in keys.values():
            if not isinstance(row.get(key), int | float):
                raise ValueError(f"line {number}: has no number {key!r}, must be a decision with its cost")
    columns: dict[str, Any] = {role: [row[key] for _, row in rows] for role, key in keys.items()}
    arms: range | None = None
    offered: list[Any] = [row.get("a") for _, row in rows]
    if all(isinstance(own, list) and all(type(arm) is int and arm > 0 for arm in own) for own in offered):
        arms = range(1, max(max(own, default=1) for own in offered) + 1)
        columns["available"] = np.array([[arm in own for arm in arms] for own in offered])
    if FEATURES in wanted:
        columns[FEATURES] = matrix([_flat(row.get("c", {})) for _, row in rows])
    return Form(columns, [number for number, _ in rows], (*ROLES, "available"), arms)


def _flat(content: Mapping[str, Any], begin: str = "") -> dict[str, float]:
    """Return numbers, truths and words (name=word is 1) of nested JSON by path; lists, as of the arms, are left out."""
    found: dict[str, float] = {}
    for name, value in content.items():
        if isinstance(value, bool | int | float):
            found[begin + name] = float(value)
        elif isinstance(value, str):
            found[f"{begin}{name}={value}"] = 1.0
        elif isinstance(value, Mapping):
            found |= _flat(value, f"{begin}{name}.")
    return found
