"""Off-policy evaluation: what policies would have earned on the rows of a log that another policy wrote."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from jaxbandit.base.arguments import Share
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.decide.logs import estimates, policies, propensity_test, reward_models
from jaxbandit.decide.logs.diagnostics import MISSING, Diagnostics, diagnose, largest
from jaxbandit.decide.logs.estimates import BERNSTEIN, BETTING, NORMAL, Rows
from jaxbandit.decide.logs.evaluation import LOG, Evaluation
from jaxbandit.decide.logs.log import Log
from jaxbandit.decide.logs.policy_value import Estimate, PolicyValue, stated
from jaxbandit.decide.logs.propensity_test import Bet
from jaxbandit.decide.logs.reward_models import Model
from jaxbandit.support import checks
from jaxbandit.support.domains import number
from jaxbandit.theory.intervals import CONFIDENCE, Interval

SAME = (
    "the context of each row is drawn from one distribution whatever was done before, and its reward depends on its "
    "context and action only"
)
RIGHT = "propensities are the probabilities with which the actions were taken"
FIXED = "policies were fixed without looking at these rows, and each interval is for its policy alone"


@checked
def evaluate(
    log: Log,
    policy: Any,
    *,
    model: Model | None = None,
    largest_weight: float | Mapping[str, float] | None = None,
    clip: Annotated[float, Arg(number(0, open_low=True))] = 10.0,
    confidence: Share = CONFIDENCE,
) -> Evaluation:
    """Estimate the value of policies, their mean reward, from the rows of a log that another policy wrote.

    The headline is the doubly robust estimate with its normal interval. If the log was written by a rule that learned,
    or ESS min(v, 1 - v) < 30, where ESS = (sum w)^2/sum w^2 and v is the self-normalized estimate in units of the
    range, the normal interval is dropped. The headline is then the self-normalized estimate, or the doubly robust one
    if a `model` is given, with the betting interval of the doubly robust rows with a model that is predictable. This
    choice is measured, not proved. Betting holds for every number of rows, if no weight of any context and arm exceeds
    W: `largest_weight`; or the largest probability of the policy, 1/num_arms of "uniform" and otherwise 1, over
    `log.least_propensity`; else the largest weight of the rows is taken for W, and the interval is marked as not
    proved. An estimate outside of its interval is not stated, nor is the interval.

    Args:
      log: the rows, as `read_log` and `session.log()` return them.
      policy: what to evaluate: float[n, num_arms], the probability of each arm in each row; a function from the context
        of a row to float[num_arms] (where the log has `available`, from an `Offer`); `policy_of(algorithm, state)`;
        "uniform"; "arm:2", the arm with the label 2. Or a dictionary of several by name.
      model: `model(contexts, actions, rewards)` returns a function from contexts to mean rewards, float[m, num_arms],
        in units of the rewards; it is fitted to two thirds of the rows and predicts the others. Default: ridge
        regression of each arm on (1, x) with penalty 1; one for all arms where each arm has a row of the context.
      largest_weight: W, the largest probability of the policy over that of logging, of any context and arm; one number,
        or one for each policy by name.
      clip: the largest weight of the clipped estimate.
      confidence: confidence level of the intervals.

    Returns:
      An Evaluation, whose text has the values, intervals, diagnostics, and what is assumed.

    Raises:
      ValueError: a policy is not a distribution over the arms in some row, was trained on rows of this log, or has a
        weight above `largest_weight`.

    Source: Dudik, Langford and Li (2011), "Doubly robust policy evaluation and learning"; Swaminathan and Joachims
    (2015), "The self-normalized estimator for counterfactual learning"; Waudby-Smith and Ramdas (2024), "Estimating
    means of bounded random variables by betting"; Maurer and Pontil (2009).
    """
    if not isinstance(log, Log):
        raise ValueError("log is no Log; read it with read_log(..)")
    given = dict(policy) if isinstance(policy, Mapping) else {policies.name_of(policy): policy}
    if not given:
        raise ValueError("policy is empty, must be a policy or a dictionary of policies")
    bounds = _bounds(largest_weight, given, log)
    low, high = log.rewards
    unit = (log.reward - low) / (high - low)
    fitted = reward_models.cross_fitted(log, log.reward if model else unit, model)
    shared = _Shared(
        log=log,
        unit=unit,
        predictions=(fitted - low) / (high - low) if model else fitted,
        running=reward_models.running_means(log, unit),
        bets=None if log.propensity is None else propensity_test.of_log(log),
        best="SNIPS" if model is None else "DR",
        clip=clip,
        confidence=confidence,
    )
    found = []
    for name, one in given.items():
        chances = policies.distribution(f"evaluate: policy {name!r}", log, one)
        found.append(_value(shared, name, chances, bounds[name], isinstance(one, str)))
    assumed = [SAME, *([RIGHT] if log.propensity is not None else []), FIXED]
    if log.estimated:
        assumed.append("estimated propensities are taken for exact ones")
    return Evaluation(
        tuple(found), _as_it_was(log, unit, confidence), len(log), log.arms, log.rewards, log.costs, log.adaptive,
        confidence, tuple(assumed),
    )  # fmt: skip


class _Shared(NamedTuple):
    """What all policies have in common."""

    log: Log
    unit: np.ndarray  # float64[n], the rewards in units of their range
    predictions: np.ndarray  # float64[n, num_arms], by a model of the other folds
    running: np.ndarray  # float64[n, num_arms], predicted by a model of the rows before
    bets: list[list[Bet]] | None  # against the propensities
    best: str  # the estimator of the headline where no normal interval is shown
    clip: float
    confidence: float


def _as_it_was(log: Log, unit: np.ndarray, confidence: float) -> PolicyValue:
    """Return the mean reward of the log, which is the value of the policy that wrote it, unless that one learned."""
    mean = estimates.normal(log.reward, confidence)
    ends = (math.nan, math.nan) if log.adaptive else (mean.low, mean.high)
    about = "the mean reward of the log"
    found = Estimate("mean", "" if log.adaptive else NORMAL, mean.value, mean.se, *ends, about)
    rows = Rows(np.ones(len(log)), unit, unit, unit, 1.0, "", 0.0)
    return PolicyValue(LOG, found, (found,), confidence, rows=rows)


def _bounds(given: Any, named: Mapping[str, Any], log: Log) -> dict[str, float | None]:
    """Return W of each policy, None where it is unknown."""
    if not isinstance(given, Mapping):
        given = {} if given is None else dict.fromkeys(named, given)
    for name in given:
        if name not in named:
            raise ValueError(f"largest_weight names {name!r}, must name policies: {', '.join(named)}")
    bounds: dict[str, float | None] = dict.fromkeys(named)
    for name, policy in named.items():
        if name in given:
            bounds[name] = checks.take(f"largest_weight of {name!r}", given[name], number(1.0))
        elif log.least_propensity is not None:
            bounds[name] = max(policies.largest_chance(log, policy) / log.least_propensity, 1.0)
    return bounds


def _value(shared: _Shared, name: str, chances: np.ndarray, bound: float | None, named: bool) -> PolicyValue:
    """Return the value of a policy with these probabilities; W is `bound`, if it is known."""
    log, (low, high) = shared.log, shared.log.rewards
    direct = float(np.einsum("ij,ij->i", chances, shared.predictions).mean())
    dm = Estimate("DM", "", low + (high - low) * direct, math.nan, math.nan, math.nan,
                  "no interval: the error of the model is unknown")  # fmt: skip
    if log.propensity is None:
        about = "there are no propensities: this is what a model predicts, and nothing bounds its error"
        return PolicyValue(name, dm, (dm,), shared.confidence, (about,))
    weight = chances[np.arange(len(log)), log.action] / log.propensity
    possible = None if log.probabilities is None else largest(log, chances)  # also of arms that no row has
    seen = max(float(weight.max()), possible or 1.0, 1.0)
    if bound is not None and seen > bound * (1 + 1e-9):
        allowed = f"must be at most {bound:g}, the largest weight that was given, or 1/least_propensity"
        raise ValueError(f"policy {name!r} has the weight {seen:.6g}, {allowed}")
    checked = diagnose(log, chances, weight, bound, shared.bets)
    doubt = f"W = {seen:.4g} is the largest weight seen, which is no bound" if bound is None else ""
    rows = Rows(
        weight=weight,
        reward=shared.unit,
        fitted=estimates.doubly_robust(chances, shared.predictions, log.action, weight, shared.unit),
        predictable=estimates.doubly_robust(chances, shared.running, log.action, weight, shared.unit),
        bound=seen if bound is None else bound,
        doubt="the propensities are estimates, and no interval contains their error" if log.estimated else doubt,
        mass=checked.never_pulled_mass if log.probabilities is None else checked.unsupported_mass or 0.0,
        best=shared.best,
    )
    enough = estimates.enough(rows)
    few = f"ESS min(v, 1 - v) = {enough:.3g} is below {estimates.ENOUGH:g}" if enough < estimates.ENOUGH else ""
    dropped = "the log was written by a rule that learned" if log.adaptive else few
    headline, *listed = _estimates(shared, rows, chances, dropped)
    warned = _warnings(log, rows, checked, dropped, headline, named)
    return PolicyValue(name, headline, (*listed, dm), shared.confidence, warned, checked, rows)


def _estimates(shared: _Shared, rows: Rows, chances: np.ndarray, dropped: str) -> list[Estimate]:
    """Return the headline, and the estimates: DR with its normal and its betting interval, then the others."""
    log, clip, confidence = shared.log, shared.clip, shared.confidence
    low, high = log.rewards
    width, wide = high - low, rows.bound
    least, most = min(low, 0.0), max(high, 0.0)  # IPS takes what is not there for 0
    size = max(-least, most)
    inverse = rows.weight * (log.reward / size)

    def estimate(
        estimator: str, interval: str, rows_: Interval[float], about: str, bias: float | None = None
    ) -> Estimate:
        """Return an estimate of rewards in [0, 1], or with its bias at most of rewards as they are, over `size`."""
        if bias is None:
            value, se = low + width * rows_.value, width * rows_.se
            ends, unit = (low + width * (rows_.low - rows.mass), low + width * (rows_.high + rows.mass)), width
        else:
            value, se = size * rows_.value, size * rows_.se
            ends, unit = (size * rows_.low + bias * least, size * rows_.high + bias * most), most - least
        if not interval or (interval == NORMAL and dropped):
            ends = math.nan, math.nan
        elif rows.mass:
            about += f"; longer by {unit * rows.mass:.3g} on each side"
        limits = None if interval == NORMAL else (low, high)  # the value is in the range for certain
        return stated(estimator, interval, Interval(value, se, *ends), about, limits)

    normally = "approximate: for many rows, none of which dominates; nothing is proved"
    about = f"dropped: {dropped}" if dropped else normally
    bet = f"proved for every number of rows, given W = {wide:.4g}" if rows.proved else f"not proved: {rows.doubt}"
    bets = estimates.betting(rows.predictable, -wide, 1 + wide, confidence)
    dr, ips = estimates.normal(rows.fitted, confidence), estimates.normal(inverse, confidence)
    snips = estimates.self_normalized(rows, confidence)
    cut = estimates.normal(np.minimum(rows.weight, clip) * (log.reward / size), confidence)
    between = wide * least / size, wide * most / size
    listed = [
        estimate("DR", NORMAL, dr, about),
        estimate("DR", BETTING, bets, bet),
        estimate("IPS", NORMAL, ips, about, rows.mass),
        estimate("IPS", BETTING, estimates.betting(inverse, *between, confidence), bet, rows.mass),
        estimate("IPS", BERNSTEIN, estimates.bernstein(inverse, *between, confidence), f"{bet}; rows independent",
              rows.mass),
        estimate("SNIPS", NORMAL, snips, about),
    ]  # fmt: skip
    if log.probabilities is None:
        unknown = "bias unknown: it needs the whole logging distribution"
        listed.append(estimate(f"clipped at {clip:g}", "", cut, unknown, 0.0))
    else:
        lost = float(np.maximum(chances - clip * log.probabilities, 0).sum(axis=1).mean())
        biased = f"too close to 0 by at most {(most - least) * lost:.3g}, by which its interval is longer"
        listed.append(estimate(f"clipped at {clip:g}", NORMAL, cut, biased, lost))
    if not dropped:
        return [listed[0], *listed]
    best = bets._replace(value=rows.center, se=(dr if rows.best == "DR" else snips).se)
    return [estimate(rows.best, BETTING, best, f"{bet}; the interval is that of DR"), *listed]


def _warnings(
    log: Log, rows: Rows, checked: Diagnostics, dropped: str, headline: Estimate, named: bool
) -> tuple[str, ...]:
    lines = [*([headline.about] if headline.contradicted else []), *checked.alarms]
    if not checked.alarms and checked.mean_weight < MISSING * checked.expected_weight:
        lines.append(
            f"the mean weight is {checked.mean_weight:.3g}, and {checked.expected_weight:.3g} is expected: rows with "
            "large weights are missing, by chance or because an arm could not be pulled, and IPS misses their rewards"
        )
    if checked.unsupported_mass:
        lines.append(
            f"in {checked.unsupported_rows:,} rows the policy takes arms that logging never takes, with a mean "
            f"probability of {checked.unsupported_mass:.3g}: nothing is known of their rewards, so that intervals are "
            "longer"
        )
    if checked.never_pulled:
        arms = ", ".join(map(str, checked.never_pulled[:5])) + ", .." * (len(checked.never_pulled) > 5)
        lines.append(
            f"no row has the arm {arms}, which the policy takes with a mean probability of "
            f"{checked.never_pulled_mass:.3g}: nothing is known of its reward, so that intervals are longer"
        )
    if dropped:
        shown = "" if headline.contradicted else "; the betting interval is shown"
        lines.append(f"the normal interval is dropped, because {dropped}{shown}")
    if log.estimated:
        lines.append(rows.doubt)
    elif headline.interval == BETTING and not rows.proved:
        remedy = "give largest_weight, the largest probability of this policy over that of logging"
        if named:
            remedy = "give least_propensity with the log, below which no propensity ever is, except 0"
        lines.append(f"the betting interval is not proved: {rows.doubt}; {remedy}")
    return tuple(lines)
