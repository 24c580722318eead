"""The decision between variants from a log of visitors."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxbandit.base.calls import checked
from jaxbandit.decide.core.goal import DELTA, Goal, goal_of
from jaxbandit.decide.variants import covariates, order, outcomes, plans, remarks, times, units, visitors
from jaxbandit.decide.variants import stages as staging
from jaxbandit.decide.variants.deciding import Question, decided
from jaxbandit.decide.variants.guardrails import Guardrail
from jaxbandit.decide.variants.metrics import Metric, metrics_of
from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.decide.variants.plans import Plan, Source
from jaxbandit.decide.variants.result import ABResult
from jaxbandit.decide.variants.split import planned_shares
from jaxbandit.decide.variants.visitors import Visitors
from jaxbandit.support import checks, domains
from jaxbandit.support.refusals import python

FIELDS = ("delta", "epsilon", "quantile", "score_range", "maximize")  # of a goal


@checked
def ab(
    log: Any,
    *,
    control: str,
    columns: Mapping[str, Any] = {},
    goal: Goal | float | None = None,
    guardrails: Mapping[str, float] = {},
    of_unit: str | Mapping[str, str] = "sum",
    cap: float | tuple[float, float] | Mapping[str, Any] | None = None,
    planned: Mapping[str, float] | Literal["equal", "adaptive"] = "equal",
    window: float | str | timedelta | None = None,
    now: float | str | datetime | None = None,
    late: Sequence[str] | None = None,
    removed: Sequence[str] = (),
    growth: bool = False,
    plan: float | None = None,
) -> ABResult:
    """Decide between the variants of a log of visitors: ship one, keep the control, or go on.

    Everything that is stated holds at all times at once, so the log may be read again whenever you like and the test be
    stopped by looking at the result. Visitors may be divided among the variants in any way, also by a bandit.

    The i-th visitor of one variant is compared with the i-th of the other. Variant b costs at most
    eps(b) = max over variants l, not excluded, of U(l - b) against the best variant, where U(l - b) is an upper bound
    of the difference of the means at level delta/(V - 1) for V variants; the decision is made once eps(b) <= epsilon.
    Outcomes of 0 and 1 or in a known range are compared by bets, without another assumption; other numbers by the
    central limit theorem for all times, once there are enough of them.

    Nothing is decided if bounds contradict each other, or if visitors were not divided as planned; `alerts` says so.
    Rows that are sorted or grouped by variant or outcome are not in the order of arrival: what is stated then holds for
    one look at an ended log.

    Args:
      log: path of a CSV file whose first line has the names of the columns, or a DataFrame, or a dictionary of columns.
        One row for each visitor, in the order of arrival, unless `columns` says otherwise.
      control: name of the variant that is in use now.
      columns: names of columns, by what they hold: `variant` of each visitor, at most 30 (default "variant");
        `outcome` (default "outcome"): 0 and 1, numbers, yes and no, or true and false, and empty if it is not known
        yet, which is taken at its worst wherever this makes a bound larger; `time` of the visit, a number or a date
        such as 2026-01-31T12:00, by which the rows are sorted; `block`, if visitors were assigned in blocks that have
        visitors of each variant in random order, and are compared within it; `unit`, such as a user, if its rows are
        not independent: it counts once, by its first row, and not at all if it was shown several variants. In a table
        of counts, `visitors` that a row stands for, at most 10^8 in all, and `conversions` among them in place of an
        outcome; without a time the counts are looked at once. Of several outcomes or conversions, the first one
        decides. `denominator`, such as the sessions of a visitor: the ratio of the sum of outcomes to its sum is
        compared, by the delta method. `covariate`, known from before the test: what it explains of outcomes is
        subtracted. Both are for all outcomes, or a dictionary by the name of the outcome. `segment` (several are
        possible), within which differences are shown.
      goal: `delta`, the probability with which the decision may be wrong at some time (0.05); `epsilon`, what it may
        cost in units of an outcome (0), also given as a number: 0.005 is half a percentage point of a rate;
        `score_range` of the outcomes, fixed before looking, unless all are 0 and 1; `quantile` that is compared in
        place of the mean; and `maximize`.
      guardrails: by the column of a metric, the lift that is still tolerated: -0.01 if it may not be lower than the
        control's by more than 1 %, 0.02 if it may not be higher by more than 2 %. A variant is shipped only if it keeps
        all of them. With several metrics, each has an equal share of delta.
      of_unit: the outcome of a unit: the "sum" of those of its rows, whether "any" of them is not 0, or the "last"; or
        one of them for each outcome, by its name.
      cap: the number as which larger outcomes count, fixed before looking at the log: all statements are about outcomes
        after that. No outcome may then be below the lower end of the score_range, or below 0 without it; or give a pair
        for both ends.
      planned: the planned share of each variant, up to a factor, which is tested; if two are not equal, several
        visitors of one are compared with one of the other. "adaptive" if shares look at outcomes, as with a bandit.
      window: how long after the visit an outcome may still change, such as "7d", "12h" or, if times are numbers, a
        number. Only visitors that are older are compared, all of them. Of a unit, only the rows within it count.
      now: the time at which the log was written. Default: that of its last visitor.
      late: names of variants that were added after outcomes could have been looked at. Default: those whose first
        visitor comes after more than 50 visitors per earlier variant without a new variant. () if the list was fixed
        in advance.
      removed: names of variants that are no longer shown. They are not chosen, but remain among those compared with.
      growth: whether it was said in advance that variants may be added: stage g of additions then has the level
        delta/((g + 1)(g + 2)) from the beginning, and otherwise only once a variant has been added.

      plan: an effect, in units of an outcome, to ask how many visitors the test takes until it is decided if one
        variant is better by so much, with the `planned` shares, and how long if times are known. Tests are simulated by
        this very rule, from visitors of the control in the log, which may have no other variant yet.

    Returns:
      The decision, the shares of the next visitors, and for each variant its visitors, mean and difference from the
      control with intervals.

    Raises:
      ValueError: the log or an argument cannot be used. The message has one line and names the line of the file.

    Source: Ramdas and Wang (2025), "Hypothesis testing with e-values", for bets; the modules
      `theory.comparisons.asymptotic` for numbers without a range, and `theory.comparisons.achieved` for the decision.
    """
    goal = goal_of(goal)
    metrics = metrics_of(columns, guardrails, of_unit, cap, goal)
    checks.only(goal, FIELDS, "a log of visitors")
    if window is None and now is not None:
        raise ValueError("now is used only with a window; give window=, or leave now out")
    if window is not None and metrics[0].columns.time is None:
        raise ValueError("window needs the times of the visitors; name their column, such as columns={'time': 'day'}")
    if plan is not None:
        checks.take("plan", plan, domains.number(0, open_low=True))
        if goal.quantile is not None or planned == "adaptive":
            raise ValueError("plan is about means and planned shares; leave it out, or quantile and planned='adaptive'")
    options = Options(control, planned, window, now, late, removed, growth, plan, len(metrics))
    logs = visitors.read(log, [metric.columns for metric in metrics], 2 if plan is None else 1)
    found = [_of_metric(metric, data, options, ()) for metric, data in zip(metrics[1:], logs[1:], strict=True)]
    result, source = _of_metric(metrics[0], logs[0], options, tuple(other for other, _ in found))
    if plan is None:
        return result
    sources = [source, *(rail for _, rail in found if rail.limit is not None)]
    return dataclasses.replace(result, decision="go on", plan=_plan(sources, options))


def _plan(sources: Sequence[Source], options: "Options") -> Plan:
    """Return how many visitors the test takes."""
    log = sources[0].log
    if isinstance(options.split, Mapping):
        if options.control not in options.split or len(options.split) < 2:
            raise ValueError(f"planned has no share for {options.control} and another variant, which a plan needs")
        above = domains.number(0, open_low=True)
        shares = np.array([checks.take(f"planned[{v!r}]", share, above) for v, share in options.split.items()])
        control = list(options.split).index(options.control)
    else:
        shares, control = np.ones(max(len(log.names), 2)), sources[0].control
    each = [source._replace(alpha=source.alpha / (len(shares) - 1)) for source in sources]
    length = 0.0 if options.window is None else times.window(options.window, log.dated)
    return plans.plan(each, shares, control, length)


class Options(NamedTuple):
    """The arguments of `ab` that are the same for all metrics."""

    control: str
    split: Any
    window: Any
    moment: Any
    late: Sequence[str] | None
    removed: Sequence[str]
    growth: bool
    plan: float | None
    metrics: int  # among which delta is divided


def _of_metric(
    metric: Metric, log: Visitors, options: Options, others: tuple[ABResult, ...]
) -> tuple[ABResult, Source]:
    """Return what is known of one metric and decided from it beside others, and what a plan needs of it."""
    data, kind = _visitors(log, metric, options)
    removed = math.nan
    if data.covariate is not None:
        data, removed = covariates.with_covariate(data)
    c = data.numbers_of(f"{data.where}: control", [options.control])[0]
    gone = data.numbers_of(f"{data.where}: removed", options.removed)
    after = None if options.late is None else data.numbers_of(f"{data.where}: late", options.late)
    if len(set(gone)) == len(data.names) and gone:
        raise ValueError("removed has all variants, must leave one that can be shown")
    if after and data.variant[0] in after:
        checks.wrong("late", data.names[data.variant[0]], "a variant that entered after another one")
    if after and not data.ordered:
        raise ValueError("late needs the order of arrival, which the rows do not have; name the column of the times")
    goal = metric.goal
    delta = (DELTA if goal.delta is None else float(goal.delta)) / options.metrics
    stages = staging.stages(data.variant, len(data.names), delta, after if data.ordered else [], options.growth)
    rails = tuple(rail for other in others for rail in other.guardrails)
    notes = remarks.notes(data, stages, delta, options.growth, kind)
    if others:
        names = [metric.name, *(other.metric for other in others)]
        notes = (remarks.error_split(delta * options.metrics, names, rails), *notes)
    alone = len(data.names) == 1
    shares = None if alone else planned_shares(options.split, data)
    found = decided(
        Question(c, delta, goal.epsilon or 0.0, goal.maximize, gone, shares,
                 metric.name, rails, others, removed),
        data,
        kind,
        stages,
        remarks.assumptions(data, kind, options.window),
        notes,
    )  # fmt: skip
    alpha = delta if kind.bounded and metric.limit is None else delta / 2
    effect = 0.0 if options.plan is None or metric.limit is not None else options.plan
    source = Source(data, kind, c, alpha, goal.epsilon or 0.0, goal.maximize, effect, metric.limit)
    if metric.limit is None:
        return found, source
    own = [Guardrail(metric.name, v.name, metric.limit, v.lift, v.lift_low, v.lift_high)
           for v in found.variants if v.name != found.control]  # fmt: skip
    return dataclasses.replace(found, guardrails=tuple(own)), source


def _visitors(log: Visitors, metric: Metric, options: Options) -> tuple[Visitors, Kind]:
    """Return the visitors of a log, one row each and in a known order, and what their outcomes are."""
    columns, length = metric.columns, None
    if options.window is not None and log.time is not None:
        length = times.window(options.window, log.dated)
        log = log._replace(until=_present(log, float(log.time[-1]), options.moment) - length)
    if log.unit is not None:
        log = units.one_row_each(log, metric.of_unit, length)
    log, kind = outcomes.limited(metric.name, log, metric.goal, metric.cap)
    kind = outcomes.without_range(log, kind, metric.goal)
    if columns.visitors is None:
        log = order.with_known_order(log)
    elif log.time is None:
        log = order.without_order(log).noted("the counts have no order: visitors are paired at random")
    else:
        shuffled = "visitors of the same time are in a random order; look only after whole ones"
        log = order.within_times(log).noted(shuffled)
    if log.block is not None:
        rows = len(log.variant)
        log = units.one_row_each_of_blocks(log)
        kind = kind._replace(binary=kind.binary and len(log.variant) == rows)
    return log, kind


def _present(log: Visitors, last: float, now: Any) -> float:
    """Return the time at which the log was written, whose last visitor came at a given time."""
    present = last if now is None else times.moment(now, log.dated)
    if present < last:
        shown = times.text(last, log.dated)
        what = f"must be at or after {shown}, the time of the last visitor of {log.where}"
        raise ValueError(f"now = {python(now)}, {what}")
    return present
