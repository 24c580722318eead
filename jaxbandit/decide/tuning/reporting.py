"""The certificate of a search, and the remarks that belong to its numbers."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandit.base.contract import Promise
from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.core.wording import statistic_name
from jaxbandit.decide.sessions.arm_intervals import intervals
from jaxbandit.decide.sessions.rewards import Totals
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.evidence import Evidence, Outlier
from jaxbandit.theory.comparisons.betting import stated_interval
from jaxbandit.theory.comparisons.constancy import changes
from jaxbandit.theory.comparisons.contradiction import contradiction, of_comparison
from jaxbandit.theory.proportions import rate_bounds

MEANING = {  # of a mean, by what happens to failed trainings
    "stop": "no training failed",
    "separate": "means are over the trainings that did not fail, and regret is the difference from the best such mean",
}
SHOWN = 10  # configurations whose failures are listed
FEW = 2**20  # scores in all of which more expensive bounds are computed
PRICE = (
    "with a known range of scores, score_range=(low, high) needs no such assumption; it takes about "
    "log(K/delta) (high - low) / gap scores of each of K, however small the noise is"
)


def score_bounds(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Return simultaneous bounds of what each configuration is judged by, in units of the score, float64[K] each."""
    low, high = _score_bounds(evidence)
    if evidence.criterion.pool is not None:  # once all items are scored the mean is known
        means, whole = evidence.moments()[1] * (1 if evidence.criterion.maximize else -1), evidence.trainings
        low, high = (np.where(whole >= evidence.criterion.pool, means, end) for end in (low, high))
    return low, high


def _score_bounds(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    criterion, (n, means, variances) = evidence.criterion, evidence.moments()
    coverage = 1 - criterion.error(evidence.stages)
    if criterion.of_samples:
        low, high = _of_samples(evidence)
    elif criterion.by_arms:
        low, high = evidence.bounds()
    elif criterion.score_range is not None:
        low, high = _bounded(evidence, (1 - coverage) / len(n))
        return low, high
    else:
        squares = n * np.where(n > 0, variances, 0.0)
        center = np.where(n > 0, means, 0.0)
        low, high, _ = intervals(Totals(n, center, np.zeros(len(n)), squares), None, coverage)
    return (low, high) if criterion.maximize else (-high, -low)


def _of_samples(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of what is compared of samples, each at half of the level at which one bound of each compares them."""
    ends = []
    for sample, level in zip(evidence.samples, evidence.criterion.arm_levels(evidence.stages), strict=True):
        bounds = evidence.criterion.sample_bounds(float(level) / 2)
        bounds.add([x for x in sample if not math.isnan(x)])
        ends.append(bounds.ends)
    low, high = np.array(ends).T
    return low, high


def _bounded(evidence: Evidence, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of means of scores in a known range, by bets on either side; of rates, the closer ones of rates."""
    assert evidence.criterion.score_range is not None
    least, most = evidence.criterion.score_range
    bounds = np.empty((2, evidence.count))
    for arm, sample in enumerate(evidence.samples):
        scores = np.array([x for x in sample if not np.isnan(x)]) * (1 if evidence.criterion.maximize else -1)
        share = (scores - least) / (most - least)
        pool = evidence.criterion.pool
        if pool is None and (np.isin(share, (0.0, 1.0)).all() or len(share) * evidence.count > FEW):
            bounds[:, arm] = np.ravel(rate_bounds(np.clip(share, 0, 1).sum(), len(share), level))
        else:
            bounds[:, arm] = stated_interval(share, level / 2, pool)
    return least + (most - least) * bounds[0], least + (most - least) * bounds[1]


def search_certificate(evidence: Evidence, arm: int, names: Sequence[str], *, paired: bool, ended: bool) -> Certificate:
    """Return the certificate of a search with the default allocation."""
    criterion, stages = evidence.criterion, evidence.stages
    error, location, outliers = criterion.error(stages), evidence.location(), evidence.outliers(arm)
    remarks = outlier_remarks(outliers, names, f"{PRICE}; or give min_trainings, or quantile")
    notes = [*remarks, *failure_remarks(evidence, arm, names)]
    low, high = score_bounds(evidence)
    on_failure = criterion.on_failure
    numbers = isinstance(on_failure, float)
    meaning = f"a failed training counts as the score {on_failure:g}" if numbers else MEANING[str(on_failure)]
    proved = not outliers and not (numbers and bool(evidence.failures.any()) and criterion.score_range is None)
    made = Certificate(
        rule=criterion.rule,
        guarantee=Promise(error, criterion.epsilon or 0.0, 1, proved),
        stopped=ended,
        means=location if criterion.maximize else -location,
        low=low,
        high=high,
        coverage=1 - error,
        assumptions=(*criterion.assumptions(stages, paired), meaning),
        achieved=evidence.achieved(arm),
        needed=criterion.needed(stages),
        statistic=statistic_name(criterion.quantile, criterion.worst),
        **what_scores_say(evidence, arm, names, error, notes),
    )
    return withdrawn(made)


def what_scores_say(
    evidence: Evidence, arm: int, names: Sequence[str], delta: float, notes: Sequence[str]
) -> dict[str, Any]:
    """Return the fields of a certificate that do not depend on what has chosen the trainings.

    Configurations may share seeds, so that no test of the order of scores adds up those of several ones.
    """
    sign, comparison = (1.0 if evidence.criterion.maximize else -1.0), evidence.comparison()
    scores = [sign * np.array(sample, np.float64) for sample in evidence.samples]
    order = changes(scores, together=False, names=names, noun="configuration", what="scores")
    found = of_comparison(comparison, [arm], names=names, noun="configuration", delta=delta)
    excluded = comparison.excluded()
    return {
        "recommendation": np.array([arm], np.int32),
        "pulls": evidence.trainings.copy(),
        "survivors": ~excluded,
        "excluded": excluded,
        "names": tuple(names),
        "notes": (*order.remarks, *notes),
        "contradiction": found or contradiction(found=order.contradiction),
    }


def withdrawn(certificate: Certificate) -> Certificate:
    """Return a certificate that neither calls its choice proved nor its search ended if the data contradict it."""
    if not certificate.contradiction:
        return certificate
    guarantee = certificate.guarantee
    return dataclasses.replace(
        certificate, guarantee=None if guarantee is None else guarantee._replace(proved=False), stopped=False
    )


def outlier_remarks(found: Sequence[Outlier], names: Sequence[str], remedy: str) -> list[str]:
    """Return a remark on differences that are not normal, of which the worst one is named."""
    if not found:
        return []
    worst = max(found, key=lambda each: each.deviation)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    what = f"one of {worst.size} is {worst.deviation:.1f} standard deviations from the mean"
    return [
        f"the differences with {names[worst.rival]}{more} are not normal ({what}): the error rate may exceed delta; "
        f"{remedy}"
    ]


def failure_remarks(evidence: Evidence, arm: int, names: Sequence[str]) -> list[str]:
    """Return how many trainings failed of each configuration, the chosen one first, and then those that failed most."""
    lines, on_failure = [], evidence.criterion.on_failure
    rates = evidence.failure_rates() if evidence.criterion.max_failure_rate is not None else None
    order = sorted(np.flatnonzero(evidence.failures).tolist(), key=lambda i: (i != arm, -evidence.failures[i]))
    for i in order[:SHOWN]:
        counts = "" if isinstance(on_failure, str) else f" and count as {on_failure:g}"
        rate = "" if rates is None else f"; at most {rates[i]:.0%} of its trainings fail"
        lines.append(f"{names[i]}: {evidence.failures[i]} of {evidence.trainings[i]} trainings failed{counts}{rate}")
    if more := len(order) - SHOWN if len(order) > SHOWN else 0:
        lines.append(f"and {more} more configurations with failures")
    most = evidence.criterion.max_failure_rate
    if rates is not None and most is not None and not rates[arm] <= most:
        what = f"no configuration is known to fail in at most {most:.0%} of its trainings"
        lines.append(f"{what}; the recommended one is of those that have failed least")
    return lines


def late_notes(late: Sequence[str]) -> list[str]:
    """Return which trainings did not end within the time that each of them has."""
    more = f" and {len(late) - SHOWN} more" if len(late) > SHOWN else ""
    return [f"did not end within seconds_each: {', '.join(late[:SHOWN])}{more}"] if late else []


def _price(evidence: Evidence, arm: int) -> list[str]:
    """Return what a proof without normal scores would cost, if all scores are in [0, 1]."""
    criterion, (_, means, _) = evidence.criterion, evidence.moments()
    sign = 1 if criterion.maximize else -1
    scores = [sign * x for sample in evidence.samples for x in sample if not math.isnan(x)]
    inside = bool(scores) and min(scores) >= 0 and max(scores) <= 1
    if criterion.score_range is not None or criterion.by_arms or criterion.resolution or not inside:
        return []
    rivals = np.delete(means, arm)
    if np.isnan(rivals).all():
        return []
    gap = max(float(means[arm] - np.nanmax(rivals)), criterion.epsilon or 0.0)
    if not gap > 0:
        return []
    rounds, most = math.log(max(evidence.count - 1, 1) / criterion.delta) / gap, int(evidence.trainings.max())
    return [
        "if all scores are in [0, 1], score_range=(0, 1) proves the choice without assuming that they are normal, in "
        f"about {rounds:,.0f} trainings of each configuration that is near the best; now {most:,} at most"
    ]


def search_notes(
    evidence: Evidence, arm: int, configs: Configs, numbers: np.ndarray, first_delta: float | None
) -> list[str]:
    """Return remarks on the choice, which is a number in the evidence as `numbers` are, on growth, and on delta."""
    notes, location = [], evidence.location()
    better = [i for i in numbers.tolist() if evidence.trainings[i] and location[i] > location[arm]]
    for i in sorted(better, key=lambda i: -location[i])[:3]:
        name, rival = f"configuration {int(np.flatnonzero(numbers == i)[0])}", evidence.excluder(i)
        n = f"{evidence.trainings[i]} trainings"
        reason = "but fewer trainings, of which less is known"
        if rival is not None:
            who = np.flatnonzero(numbers == rival)
            by = f"configuration {who[0]}" if len(who) else "one that is not given now"
            reason = f"but was excluded by {by}, on the seeds that both had"
        elif not evidence.allowed()[i]:
            reason = "but may fail too often"
        what = statistic_name(evidence.criterion.quantile, evidence.criterion.worst)
        notes.append(f"{name} has a better {what} over {n}, {reason}")
    notes += _price(evidence, arm)
    stages, criterion = evidence.stages, evidence.criterion
    if len(stages) > 1:
        added = stages[-1].size - stages[0].size
        error = criterion.error(stages)
        cost = (
            "" if criterion.growth else f", so that the error probability is {error:g} instead of {criterion.delta:g}"
        )
        notes.append(f"{added} of {stages[-1].size} configurations were added to the directory later{cost}")
    if first_delta is not None and first_delta != criterion.delta:
        notes.append(
            f"the first search with these scores had delta = {first_delta:g}; a delta that was chosen by looking at "
            "scores is not covered"
        )
    if absent := evidence.count - configs.count:
        notes.append(
            f"{absent} configurations of the directory are not given now; they are compared, but not recommended"
        )
    return notes
