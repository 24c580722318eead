"""The certificate of a session: the guarantee of its rule, and what its rewards tell at this moment."""

import math

import numpy as np

from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.decide.core.certificate import Certificate, guarantee_of
from jaxbandit.decide.core.wording import statistic_name
from jaxbandit.decide.sessions.arm_intervals import intervals
from jaxbandit.decide.sessions.ledger import Ledger
from jaxbandit.decide.sessions.session import Session, samples
from jaxbandit.engine.rounds import fit
from jaxbandit.support.types import Numbers
from jaxbandit.theory.comparisons import achieved, betting, pairs
from jaxbandit.theory.comparisons.arms import ArmBounds, normal_arms
from jaxbandit.theory.comparisons.constancy import changes
from jaxbandit.theory.comparisons.contradiction import Differences, contradiction, of_comparison
from jaxbandit.theory.quantile_bounds import QuantileBounds

NO_LIMITS = (-math.inf, math.inf)
_NAMED = 3  # arms of whose pulls some expired that are named
COVERAGE = 0.95  # of the intervals of a rule without a guarantee
COMMON_KEYS = "pulls with the same index used a common key, and pulls with different indices used independent keys"
PAIRED = "for what is known now, the differences between two arms' rewards with the same index are normal"


def certificate(session: Session) -> Certificate:
    """Return the certificate of the session's current recommendation.

    Its `achieved` epsilon holds at any time and for any rule, budget or stopping time. If the session is `paired`,
    rewards with the same index are compared, as normal or, for rewards in a known range, as bounded differences;
    otherwise each arm has bounds of its own. Which of the two is used does not depend on the rewards.

    The intervals are confidence sequences of each arm's rewards, at level (1 - coverage) / num_arms each. For bounded
    rewards or a known sigma, they are those of the normal mixture for sub-Gaussian rewards (Robbins 1970), and
    otherwise those of the martingale of the t-test (Lai 1976). What the order of the rewards says against the
    assumption that they are independent and alike (`theory.comparisons.constancy`) is a remark, or the first line.
    """
    rule, totals = session.rule, session.totals
    whose = "the rewards of an arm are independent and identically distributed"
    if session.contextual:
        whose = "given its context and its arm, a reward is independent of the others"
    promise, assumptions = rule.promise, [whose]
    single = session.programs.set_size is None and not session.contextual
    coverage = COVERAGE if promise is None else 1 - float(promise.delta)
    arms = session.recommendation
    low = high = epsilon = excluded = needed = None
    means, statistic = (totals.means if single else None), "mean"
    quantile = None if promise is None or promise.quantile is None else float(promise.quantile)
    contradicted = ""
    rewards = samples(session) if single and quantile is not None else None
    if rewards is not None and arms is not None and quantile is not None:
        statistic = statistic_name(quantile)
        means, low, high, comparison = _quantiles(rewards, quantile, 1 - coverage)
        epsilon, excluded = achieved.achieved_epsilon(comparison, arms), achieved.excluded(comparison, len(arms))
        contradicted = of_comparison(comparison, arms, delta=1 - coverage)
    elif single and quantile is None:
        low, high, taken = intervals(totals, rule.rewards, coverage)
        assumptions += taken
        if arms is not None and 0 < len(arms) < session.num_arms and coverage < 1:
            comparison, needed, taken = _comparison(session, low, high, 1 - coverage, len(arms))
            epsilon, excluded = achieved.achieved_epsilon(comparison, arms), achieved.excluded(comparison, len(arms))
            assumptions += taken
            contradicted = of_comparison(comparison, arms, delta=1 - coverage)
    notes = []
    if single and (rewards := rewards or samples(session)) is not None and isinstance(session.pulls, Ledger):
        pulled, values = session.pulls.rows()
        order = None if session.paired else pulled[~np.isnan(values)]
        found = changes(rewards, order=order, together=not session.paired)
        contradicted = contradicted or contradiction(found=found.contradiction)
        notes = [*found.remarks, *_lost(session.num_arms, pulled, values)]
    if rule.rewards is not None:
        if rule.rewards.sigma is not None:
            assumptions.append(f"noise is sub-Gaussian with sigma = {_sigma(rule.rewards.sigma)}")
        if rule.rewards.family is not None:
            assumptions.append(f"rewards are of the {rule.rewards.family} family")
    if promise is not None:
        assumptions += rule.assumptions or _undeclared(rule)
        if not promise.proved:
            assumptions.append("the guarantee itself, which is not proved for all instances")
    if session.paired:
        assumptions.append(COMMON_KEYS)
    return Certificate(
        rule=rule.name or "an algorithm",
        guarantee=guarantee_of(promise),
        stopped=session.stopped,
        recommendation=arms,
        pulls=totals.counts.copy(),
        means=means,
        low=low,
        high=high,
        coverage=coverage if low is not None else None,
        survivors=session.survivors,
        assumptions=tuple(dict.fromkeys(assumptions)),
        achieved=epsilon,
        excluded=excluded,
        needed=needed,
        statistic=statistic,
        notes=tuple(notes),
        contradiction=contradicted,
    )


def _quantiles(
    rewards: list[np.ndarray], quantile: float, delta: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Differences]:
    """Estimates of the arms' quantiles, intervals that contain all of them, and the comparison of the arms."""
    one, two = [], []
    for sides, ends in ((1, one), (2, two)):
        for x in rewards:
            bounds = QuantileBounds(quantile, delta / len(rewards) / sides)
            bounds.add(x)
            ends.append(bounds.ends)
    estimates = [np.quantile(x, quantile, method="inverted_cdf") if len(x) else math.nan for x in rewards]
    low, high = np.array(two).T
    return np.array(estimates), low, high, ArmBounds(*np.array(one).T)


def _comparison(
    session: Session, low: np.ndarray, high: np.ndarray, delta: float, m: int
) -> tuple[Differences, int | None, list[str]]:
    """The comparison of all arms, the pulls that it needs of each of them, and the assumptions that it adds."""
    count, totals = session.num_arms, session.totals
    least, most = fit.limits(session.rule.rewards)
    normal = session.rule.rewards is None or session.rule.rewards.sigma is None
    level = achieved.log_level(delta, count, m)
    rewards = samples(session) if session.paired else None
    if rewards is not None and math.isfinite(most - least) and count <= betting.MOST_ARMS:
        bounded = betting.BoundedDifferences(count, level, float(most - least))
        bounded.enter(rewards)
        return bounded, None, []
    if math.isfinite(most - least) or not normal:
        return ArmBounds(low, high), None, []
    if rewards is not None and count <= pairs.MOST_ARMS:
        paired = pairs.PairedDifferences(count, level)
        paired.enter(rewards)
        return paired, pairs.smallest_sample(level), [] if session.rule.name == "paired_race" else [PAIRED]
    level = math.log(delta / count)
    bounds = normal_arms(totals.counts, totals.means, totals.variances, level)
    return ArmBounds(*bounds), pairs.smallest_sample(level), []


def _lost(num_arms: int, arms: np.ndarray, values: np.ndarray) -> list[str]:
    """The share of the pulls of each arm that expired, in sentences, the largest first."""
    asked, lost = (np.bincount(of, minlength=num_arms) for of in (arms, arms[np.isnan(values)]))
    share = lost / np.maximum(asked, 1)
    worst = np.argsort(-share, kind="stable")[:_NAMED]
    return [
        f"arm {a}: {lost[a]:,} of {asked[a]:,} pulls ({share[a]:.0%}) expired; the statements are about rewards that "
        "arrive, whose mean is another one if late rewards are worse or better"
        for a in worst.tolist()
        if lost[a]
    ]


def _undeclared(rule: Algorithm) -> tuple[str, ...]:
    """The assumptions of a rule that declares none, which its `rewards` may be."""
    rewards = rule.rewards or Rewards()
    if rewards.sigma is not None or rewards.family is not None or fit.limits(rewards) != NO_LIMITS:
        return ()
    return ("the assumptions of the rule's proof, which the rule does not declare",)


def _sigma(sigma: Numbers) -> str:
    values = np.unique(np.asarray(sigma, np.float64))
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}, by arm"
