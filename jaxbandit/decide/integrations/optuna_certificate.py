"""The certificate of a study: what all of its values tell at this moment, and what that assumes."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.integrations.optuna_trials import Entrants, Pulls, evidence
from jaxbandit.decide.sessions.certifying import certificate as of_session
from jaxbandit.decide.tuning.criterion import Criterion
from jaxbandit.decide.tuning.plays import RacePlay, RulePlay
from jaxbandit.decide.tuning.reporting import MEANING, search_certificate
from jaxbandit.decide.tuning.settings import Settings

ASSUMPTION = "trials with different indices have independent randomness; trials with the same index may share theirs"
REUSED = (
    "{} trials that were in the study before count: the list of configurations was made without looking at their "
    "values, and their randomness was independent of each other and of all other trials"
)
REPEATED = (
    "the trials of an index are independent of each other, and means are those of the first trial that was neither "
    "pruned nor failed"
)


def certified(
    given: Settings,
    known: Entrants,
    numbers: Sequence[int],
    pulls: Pulls,
    play: RacePlay | RulePlay,
    criterion: Criterion,
) -> Certificate:
    """Return the certificate of a study."""
    order = [*numbers, *(i for i in range(len(known.configs)) if i not in numbers)]
    whole = len(known.stages) == 1 and len(numbers) == len(known.configs) and not known.earlier
    names = [""] * len(order)
    for place, arm in enumerate(order):
        absent = "" if place < len(numbers) else " (not in the sampler)"
        names[arm] = ", ".join(f"{name}={value}" for name, value in known.configs[arm].items()) + absent
    if isinstance(play, RulePlay) and whole:
        result = dataclasses.replace(_of_rule(play, given), names=tuple(names[arm] for arm in order))
    else:
        result = _in_order(_of_values(given, known, numbers, pulls, play, criterion, names), order)
    failed, pruned = (np.zeros(len(order), np.int64) for _ in range(2))
    for counts, counted in ((failed, pulls.failures), (pruned, pulls.prunings)):
        for (arm, _), times in counted.items():
            counts[arm] += times
    assumptions, failure = [*result.assumptions, ASSUMPTION], criterion.on_failure
    notes, unproved = list(result.notes), False
    for arm in order:
        if failed[arm] + pruned[arm]:
            what = f"{failed[arm]} trials failed and {pruned[arm]} were pruned"
            value = "and were repeated" if failure == "stop" else f"and have the value {failure:g}"
            notes.append(f"{names[arm]}: {what}, {value}")
    if (failed + pruned).any():
        assumptions = [REPEATED if line == MEANING["stop"] else line for line in assumptions]
        if REPEATED not in assumptions and failure == "stop":
            assumptions.append(REPEATED)
        unproved = failure != "stop" and criterion.score_range is None and criterion.quantile is None
    if known.earlier:
        assumptions.append(REUSED.format(len(known.earlier)))
    if len(known.stages) > 1:
        notes.append(_growth(known, criterion))
    if known.delta != criterion.delta:
        notes.append(
            f"the first sampler of the study had delta = {known.delta:g}; a delta that was chosen by looking at values "
            "is not covered"
        )
    guarantee = result.guarantee
    if guarantee is not None and unproved:
        guarantee = guarantee._replace(proved=False)
    return dataclasses.replace(
        result,
        assumptions=tuple(dict.fromkeys(assumptions)),
        notes=tuple(notes),
        guarantee=guarantee,
    )


def _growth(known: Entrants, criterion: Criterion) -> str:
    added, error = known.stages[-1].size - known.stages[0].size, criterion.error(known.stages)
    cost = "" if criterion.growth else f", so that the error probability is {error:g} instead of {criterion.delta:g}"
    return f"{added} of {known.stages[-1].size} configurations were added to the study later{cost}"


def _of_rule(play: RulePlay, given: Settings) -> Certificate:
    """The certificate of the rule's session, in the order of the sampler, with means and intervals of the values."""
    result = of_session(play.session)
    if given.criterion.maximize:
        return result
    means, low, high = (play.mirror - np.asarray(x) for x in (result.means, result.high, result.low))
    return dataclasses.replace(result, means=means, low=low, high=high)


def _of_values(
    given: Settings,
    known: Entrants,
    numbers: Sequence[int],
    pulls: Pulls,
    play: RacePlay | RulePlay,
    criterion: Criterion,
    names: Sequence[str],
) -> Certificate:
    """The certificate of all values, whatever chose the trials; its arms are in the order of their numbers."""
    found = evidence(criterion, known, pulls, range(len(known.configs)))
    present = np.zeros(found.count, bool)
    present[list(numbers)] = True
    by_rule = isinstance(play, RulePlay)
    arm = play.arm if by_rule else found.recommended(present)
    ended = play.stopped and found.achieved(arm) <= (criterion.epsilon or 0.0)
    result = search_certificate(found, arm, names, paired=True, ended=ended)
    if not by_rule:
        return result
    # The promise of a rule is about configurations that are there from the start.
    return dataclasses.replace(
        result, rule=play.session.rule.name or "an algorithm", guarantee=None, stopped=play.stopped
    )


def _in_order(result: Certificate, order: Sequence[int]) -> Certificate:
    """The certificate with its arms in this order."""
    columns: dict[str, Any] = {
        name: np.asarray(column)[list(order)]
        for name in ("pulls", "means", "low", "high", "survivors", "excluded")
        if (column := getattr(result, name)) is not None
    }
    assert result.recommendation is not None and result.names is not None
    arms = [list(order).index(int(arm)) for arm in result.recommendation]
    names = tuple(result.names[arm] for arm in order)
    return dataclasses.replace(result, **columns, names=names, recommendation=np.array(arms, np.int32))
