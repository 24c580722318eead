"""What the weights of a policy say about a log: how many rows count, and whether its propensities can be right."""

from dataclasses import dataclass

import numpy as np

from jaxbandit.decide.logs import propensity_test
from jaxbandit.decide.logs.arms import Label
from jaxbandit.decide.logs.estimates import effective_rows
from jaxbandit.decide.logs.log import Log
from jaxbandit.decide.logs.propensity_test import Bet

ALARM = 1e-4  # the largest share of logs with right propensities of which it is said that they do not belong to the log
TOP = 0.01  # share of the rows with the largest weights
MISSING = 0.5  # a mean weight below this share of the expected one is remarked on


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What the weights w = e/p of a policy on a log are like.

    The mean of w and, for each arm k, of 1{a = k}/p is 1 if propensities are right and each arm can be pulled in all
    rows; where the log says otherwise, it is the share of what can be pulled.
    """

    ess: float  # effective sample size (sum w)^2/sum w^2
    largest_weight: float  # of the rows
    mean_weight: float
    expected_weight: float  # its mean with right propensities
    arm_means: np.ndarray  # float64[num_arms], of 1{a = k}/p
    p: float  # right propensities look like these, or worse, with a probability of at most p
    never_pulled: tuple[Label, ...]  # arms that no row has and that the policy takes
    never_pulled_mass: float  # mean probability with which it takes them
    unsupported_rows: int | None  # in which the policy takes arms of logging probability 0; None if it is not known
    unsupported_mass: float | None  # mean probability with which it does, which bounds the bias in units of the range
    top_share: float  # of sum w, in the largest 1 % of the rows
    alarms: tuple[str, ...]  # why propensities cannot be right, in sentences

    @property
    def wrong(self) -> bool:
        """Whether propensities do not belong to the log."""
        return bool(self.alarms)


def diagnose(
    log: Log,
    chances: np.ndarray,
    weight: np.ndarray,
    bound: float | None = None,
    known: list[list[Bet]] | None = None,
) -> Diagnostics:
    """Return the diagnostics of a policy on rows with propensities.

    `chances` are its probabilities, float64[n, num_arms], `weight` its weights, float64[n], and `bound` is the largest
    one of any context and arm, or None. Bets on the propensities are the same for all policies; None computes them.
    """
    n = len(chances)
    assert log.propensity is not None
    rows, mass, expected = None, None, np.ones(n)
    if log.probabilities is not None:
        beyond = np.where(log.probabilities > 0, 0.0, chances).sum(axis=1)
        rows, mass, expected = int((beyond > 0).sum()), float(beyond.mean()), 1 - beyond
    known = propensity_test.of_log(log) if known is None else known
    evidence = [*known, propensity_test.of_weights(log, chances, weight, bound)]
    p = propensity_test.probability(*evidence)
    pulled = np.bincount(log.action, minlength=log.num_arms)
    never = np.flatnonzero((pulled == 0) & (chances.max(axis=0) > 0))
    top = np.sort(weight)[::-1][: max(round(TOP * n), 1)]
    total = float(weight.sum())
    return Diagnostics(
        ess=effective_rows(weight),
        largest_weight=float(weight.max()),
        mean_weight=float(weight.mean()),
        expected_weight=float(expected.mean()),
        arm_means=np.bincount(log.action, 1 / log.propensity, log.num_arms) / n,
        p=p,
        never_pulled=tuple(log.arms[k] for k in never),
        never_pulled_mass=float(chances[:, never].sum(axis=1).mean()),
        unsupported_rows=rows,
        unsupported_mass=mass,
        top_share=float(top.sum()) / total if total else 0.0,
        alarms=_alarms(p, [each for some in evidence for each in some]),
    )


def _alarms(p: float, evidence: list[Bet]) -> tuple[str, ...]:
    """Return what is wrong, with the three that say most."""
    if p > ALARM:
        return ()
    worst = sorted(evidence, key=lambda each: -each.wealth)[:3]
    lines = "; ".join(each.words for each in worst if each.wealth > 0)
    sure = f"{p:.1g}" if p > 1e-99 else "1e-99"
    return (
        f"propensities do not belong to this log: {lines}; right ones look like this with probability {sure} at most",
    )


def largest(log: Log, chances: np.ndarray) -> float:
    """Return the largest weight that a policy could have in a row of a log with the probabilities of all arms."""
    assert log.probabilities is not None
    possible = log.probabilities > 0
    return float(np.divide(chances, log.probabilities, out=np.zeros(chances.shape), where=possible).max())
