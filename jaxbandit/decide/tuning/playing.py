"""How a search is played: by a race, by halving if the budget is too small for a race, or by a rule."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.core.certificate import Certificate, guarantee_of
from jaxbandit.decide.sessions.session import session
from jaxbandit.decide.tuning import allocation
from jaxbandit.decide.tuning.criterion import Criterion, first_seeds
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.decide.tuning.plays import RulePlay, one_of
from jaxbandit.decide.tuning.reporting import search_certificate
from jaxbandit.decide.tuning.searching import Search
from jaxbandit.decide.tuning.settings import Settings

BINARY = "all first scores were 0 or 1, so that the search assumed scores in [0, 1] and not normal ones"

LARGE = 1e3  # of scores whose neighbors in float32 are 6e-5 apart, and not too close for anybody to see


class Found(NamedTuple):
    """How a search has ended."""

    arm: int  # number of the chosen configuration in the evidence
    # "epsilon", "max_trainings", "timeout", "rule", "alone" if all others that are given are excluded, "table" if the
    # table has no more scores, or "contradiction" if the data contradict an assumption
    why: str
    survivors: np.ndarray  # bool[configurations that were given]
    certificate: Certificate
    notes: list[str]


def play(search: Search, evidence: Evidence, given: Settings, numbers: np.ndarray, *, seed: int, paired: bool) -> Found:
    """Play a search of configurations that have these numbers in the evidence, and return how it has ended."""
    play_it = _by_rule if given.rule is not None else _by_default
    return play_it(search, evidence, given, numbers, seed, paired)


def _by_default(
    search: Search, evidence: Evidence, given: Settings, numbers: np.ndarray, seed: int, paired: bool
) -> Found:
    budget, count = search.max_trainings, len(numbers)
    least = (dataclasses.replace(evidence.criterion, min_trainings=1).needed(evidence.stages) or 0) * count
    halves, survivors = budget is not None and budget < 2 * least, search.present.copy()
    if budget is not None and halves:
        warnings.warn(
            f"tune: a budget of {budget} trainings for {count} configurations is spent by sequential halving, which "
            f"as a rule gives no guarantee; a race begins at {2 * least} trainings",
            stacklevel=5,
        )
        requests = allocation.halving(evidence, survivors, budget, seed)
    else:
        requests = allocation.race(evidence, search.present)
    why = search.play(requests, _watch(search, evidence, numbers))
    seeds = int(evidence.trainings.max())
    plain = not halves and _normal(evidence.criterion) and evidence.criterion.pool is None
    if why == "done" and plain and not evidence.varies() and seeds > 1:
        raise ValueError(f"every configuration has the same score at all {seeds} seeds; {_cause(evidence)}")
    if why == "done":
        why = "max_trainings" if halves else "epsilon"
    arm = evidence.best(survivors) if halves else evidence.recommended(search.present)
    if why == "epsilon" and evidence.achieved(arm) > (evidence.criterion.epsilon or 0.0):
        why = "table" if (evidence.pool <= evidence.trainings).any() else "alone"
    certificate = search_certificate(evidence, arm, search.names(), paired=paired, ended=why == "epsilon")
    if certificate.contradiction and why in ("epsilon", "alone"):
        why = "contradiction"
    binary = evidence.criterion.score_range is not None and given.criterion.score_range is None
    assert certificate.survivors is not None
    return Found(arm, why, certificate.survivors[numbers], certificate, [BINARY] if binary else [])


def _normal(criterion: Criterion) -> bool:
    """Whether scores are assumed to be normal, and known exactly."""
    return criterion.score_range is None and not criterion.by_arms and not criterion.resolution


def _cause(evidence: Evidence) -> str:
    """What may have made all scores of each configuration equal, and what to do about it."""
    size = max(abs(x) for sample in evidence.samples for x in sample)
    single = all(float(np.float32(x)) == x for sample in evidence.samples for x in sample)
    remedy = "if the scores are rounded or constant, give resolution= or quantile="
    if single and size >= LARGE:
        step = f"{np.spacing(np.float32(size)):.1g}"
        what = f"scores of {size:.3g} differ by less than float32 can show ({step}) if they are computed in float32"
        return f"{what}: return differences, or enable x64; or train does not draw from its seed; {remedy}"
    return f"train must draw its random numbers from its seed; {remedy}"


def _watch(search: Search, evidence: Evidence, numbers: np.ndarray) -> Callable[[], None]:
    """Return a function that assumes scores in [0, 1] if the first ones are 0 and 1, until another one comes."""
    criterion = evidence.criterion
    plain = _normal(criterion)
    seen = 0

    def look() -> None:
        nonlocal seen
        if not plain:
            return
        new, begun = [row.score for row in search.rows[seen:]], seen == 0
        seen = len(search.rows)
        if begun and len(numbers) == evidence.count and set(new) == {0.0, 1.0}:
            evidence.decide_by(dataclasses.replace(criterion, score_range=(0.0, 1.0)))
        elif evidence.criterion.score_range is not None and not all(0 <= score <= 1 for score in new):
            evidence.decide_by(criterion)

    return look


def _by_rule(
    search: Search, evidence: Evidence, given: Settings, numbers: np.ndarray, seed: int, paired: bool
) -> Found:
    rule = given.rule
    assert rule is not None
    fresh = session(rule, seed=seed, paired=paired)
    one_of(fresh, len(numbers))
    play = RulePlay(fresh, numbers, first_seeds(evidence.stages), given.mirror)
    why = search.play(play.requests(evidence))
    end, arm = play.session, play.arm
    base = search_certificate(evidence, arm, search.names(), paired=paired, ended=False)
    whole = evidence.count == len(numbers) and len(evidence.stages) == 1
    guarantee = guarantee_of(rule.promise) if whole else None  # it is about configurations that are there at first
    if guarantee is not None and base.contradiction:
        guarantee = guarantee._replace(proved=False)
    certificate = dataclasses.replace(
        base,
        rule=rule.name or "an algorithm",
        guarantee=guarantee,
        stopped=end.stopped and not base.contradiction,
        survivors=base.survivors if end.survivors is None or not whole else end.survivors,
        assumptions=tuple(dict.fromkeys((*base.assumptions, *(() if guarantee is None else rule.assumptions)))),
    )
    survivors = np.ones(len(numbers), bool) if end.survivors is None else end.survivors
    return Found(arm, "rule" if why == "done" else why, survivors, certificate, [])
