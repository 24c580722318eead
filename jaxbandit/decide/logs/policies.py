"""Policies to evaluate: the probability of each arm in each row of a log."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandit.base.contract import Offer
from jaxbandit.decide.logs import arms
from jaxbandit.decide.logs.log import Log, check_chances
from jaxbandit.support.refusals import python, refuse, wrong


def distribution(where: str, log: Log, policy: Any) -> np.ndarray:
    """Return the probability of each arm in each row of a log, float64[n, num_arms]; `evaluate` says of what."""
    if hasattr(policy, "on_log"):  # it computes all rows at once, as what `policy_of` returns
        given = policy.on_log(log)
    elif isinstance(policy, str):
        given = _of_name(where, log, policy)
    elif callable(policy):
        given = _of_function(where, log, policy)
    else:
        given = policy
    try:
        chances = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        wrong(where, given, f"float[{len(log)}, {log.num_arms}], a function or policy_of(..)", written=python)
    if chances.shape != (len(log), log.num_arms):
        refuse(where, f" has shape {chances.shape}, must be float[{len(log)}, {log.num_arms}], a probability for each "
               f"row and arm; the arms of the log are {arms.listed(log.arms)}")  # fmt: skip
    check_chances(chances, log.available, lambda row: f"{where}: row {row}: probabilities")
    return chances


def _of_function(where: str, log: Log, policy: Any) -> np.ndarray:
    if log.context is None and log.available is None:
        return np.broadcast_to(_row(where, policy(None), log, 0), (len(log), log.num_arms))
    rows = []
    for i in range(len(log)):
        context = None if log.context is None else log.context[i]
        offered = context if log.available is None else Offer(log.available[i], context)  # pyright: ignore[reportArgumentType]
        rows.append(_row(where, policy(offered), log, i))
    return np.stack(rows)


def _row(where: str, given: Any, log: Log, row: int) -> np.ndarray:
    where = f"{where}: row {row}: the function returns"
    if isinstance(given, Mapping):
        chances = np.zeros(log.num_arms)
        for label, chance in given.items():
            chances[arms.number_of(f"{where} the arm", log.arms, label)] = chance
        return chances
    try:
        chances = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        chances = np.zeros(())
    if chances.shape != (log.num_arms,):
        got = f"shape {chances.shape}" if chances.ndim else python(given)
        refuse(where, f" {got}, must return float[{log.num_arms}], a probability for each arm")
    return chances


def _of_name(where: str, log: Log, name: str) -> np.ndarray:
    if name == "uniform":
        offered = np.ones((len(log), log.num_arms)) if log.available is None else log.available.astype(np.float64)
        return offered / offered.sum(axis=1, keepdims=True)
    kind, _, label = name.partition(":")
    if kind != "arm" or label.strip() not in map(str, log.arms):
        wrong(where, name, f"uniform, or arm:LABEL with one of the arms {arms.listed(log.arms)}", written=python)
    chances = np.zeros((len(log), log.num_arms))
    chances[:, arms.number_of(where, log.arms, label)] = 1.0
    return chances


def largest_chance(log: Log, policy: Any) -> float:
    """Return a bound of the probability of any arm in any context in which logging has a choice."""
    if isinstance(policy, str) and policy == "uniform":
        return 1 / log.num_arms if log.available is None else 0.5
    return 1.0


def name_of(policy: Any) -> str:
    """Return the name of a policy that was given without one."""
    if isinstance(policy, str):
        return policy
    name = getattr(policy, "name", "") or getattr(policy, "__name__", "")
    return name if isinstance(name, str) and name.isidentifier() else "policy"
