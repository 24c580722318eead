"""The decision between variants from a log of visitors."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from jaxbandit.decide.variants import preparing, remarks, visitor_log
from jaxbandit.decide.variants import stages as staging
from jaxbandit.decide.variants.deciding import Question, decided
from jaxbandit.decide.variants.result import ABResult
from jaxbandit.decide.variants.split import planned_shares
from jaxbandit.decide.variants.units import HOW
from jaxbandit.support import domains
from jaxbandit.support.refusals import python, refuse, wrong


def ab(
    log: Any,
    *,
    control: str,
    variant: str = "variant",
    outcome: str = "outcome",
    time: str | None = None,
    block: str | None = None,
    unit: str | None = None,
    of_unit: Literal["sum", "any", "last"] = "sum",
    visitors: str | None = None,
    conversions: str | None = None,
    planned: Mapping[str, float] | Literal["equal", "adaptive"] = "equal",
    delta: float = 0.05,
    epsilon: float = 0.0,
    outcome_range: tuple[float, float] | None = None,
    cap: float | tuple[float, float] | None = None,
    quantile: float | None = None,
    maximize: bool = True,
    window: float | str | timedelta | None = None,
    now: float | str | datetime | None = None,
    late: Sequence[str] | None = None,
    removed: Sequence[str] = (),
    growth: bool = False,
) -> ABResult:
    """Decide between the variants of a log of visitors: ship one, keep the control, or go on.

    Everything that is stated holds at all times at once, so the log may be read again whenever you like and the test be
    stopped by looking at the result. Visitors may be divided among the variants in any way, also by a bandit.

    The i-th visitor of one variant is compared with the i-th of the other. Variant b costs at most
    eps(b) = max over variants l, not excluded, of U(l - b) against the best variant, where U(l - b) is an upper bound
    of the difference of the means at level delta/(V - 1) for V variants; the decision is made once eps(b) <= epsilon.
    Outcomes of 0 and 1 or in a known range are compared by bets, without another assumption. Of other numbers nothing
    is stated before each variant has 100 outcomes other than its commonest one, there are 1,000 pairs, and as many as
    the skewness of their differences asks for; the bounds are then those of the central limit theorem, for all times.

    Nothing is decided if bounds contradict each other, or if visitors were not divided as planned; `alerts` says so.
    Rows that are sorted or grouped by variant or outcome are not in the order of arrival: what is stated then holds for
    one look at an ended log.

    Args:
      log: path of a CSV file whose first line has the names of the columns, or a DataFrame, or a dictionary of columns.
        One row for each visitor, in the order of arrival, unless `unit`, `block` or `visitors` says otherwise.
      control: name of the variant that is in use now.
      variant: name of the column with the variant of each visitor; at most 30 variants.
      outcome: name of the column with the outcomes: 0 and 1, numbers, yes and no, or true and false. An empty one is
        not known yet; it is taken at its worst wherever this makes a bound larger.
      time: name of the column with the time of each visitor, a number or a date such as 2026-01-31T12:00. The rows are
        sorted by it.
      block: name of the column with the block of each visitor, if visitors were assigned in blocks that have visitors
        of each variant in random order; those of a block are compared, by their means if there are several.
      unit: name of the column that tells who a row is about, if the rows of a user are not independent. A unit counts
        once, by its first row; units that were shown several variants are left out.
      of_unit: the outcome of a unit: the "sum" of those of its rows, whether "any" of them is not 0, or the "last".
      visitors: name of the column with how many visitors a row stands for, in a table of counts. Without `time` the
        counts are looked at once. At most 10^8 visitors.
      conversions: name of the column with how many of those visitors converted, in place of `outcome`.
      planned: the planned share of each variant, up to a factor, which is tested; if two are not equal, several
        visitors of one are compared with one of the other. "adaptive" if shares look at outcomes, as with a bandit.
      delta: probability with which the decision may be wrong at some time, in (0, 1).
      epsilon: what the decision may cost, in units of an outcome, >= 0; 0.005 is half a percentage point of a rate.
      outcome_range: the least and the largest possible outcome, fixed before looking at the log. Default: 0 and 1 if
        all outcomes are, otherwise unknown.
      cap: the number as which larger outcomes count, fixed before looking at the log: all statements are about outcomes
        after that. No outcome may then be below the lower end of outcome_range, or below 0 without it; or give a pair
        for both ends.
      quantile: the probability, in (0, 1), of the quantile that is compared in place of the mean, such as 0.5.
      maximize: whether a larger outcome is better.
      window: how long after the visit an outcome may still change, such as "7d", "12h" or, if times are numbers, a
        number. Only visitors that are older are compared, all of them. Of a unit, only the rows within it count.
      now: the time at which the log was written. Default: that of its last visitor.
      late: names of variants that were added after outcomes could have been looked at. Default: those whose first
        visitor comes after more than 50 visitors per earlier variant without a new variant. () if the list was fixed
        in advance.
      removed: names of variants that are no longer shown. They are not chosen, but remain among those compared with.
      growth: whether it was said in advance that variants may be added: stage g of additions then has the level
        delta/((g + 1)(g + 2)) from the beginning, and otherwise only once a variant has been added.

    Returns:
      The decision, the shares of the next visitors, and for each variant its visitors, mean and difference from the
      control with intervals.

    Raises:
      ValueError: the log or an argument cannot be used. The message has one line and names the line of the file.

    Source: Ramdas and Wang (2025), "Hypothesis testing with e-values", for bets; the modules
      `theory.comparisons.asymptotic` for numbers without a range, and `theory.comparisons.achieved` for the decision.
    """
    delta = domains.check("ab: delta", delta, domains.number(0, 1, open_low=True, open_high=True), written=python)
    epsilon = domains.check("ab: epsilon", epsilon, domains.number(0), written=python)
    for name, value in (("maximize", maximize), ("growth", growth)):
        domains.check(f"ab: {name}", value, domains.BOOLEAN, written=python)
    domains.check("ab: of_unit", of_unit, domains.choice(HOW), written=python)
    if window is None and now is not None:
        refuse("ab: now", " is used only with a window; give window=, or leave now out")
    if window is not None and time is None:
        refuse("ab: window", " needs the times of the visitors; give time=, the name of their column")
    columns = preparing.columns_of(
        variant=variant, outcome=outcome, time=time, block=block, unit=unit, visitors=visitors, conversions=conversions
    )
    data = preparing.prepared(log, columns, of_unit, (outcome_range, cap, quantile), window, now)
    names, first = data.log.names, data.log.variant[0]
    c = visitor_log.names_among(f"{data.where}: control", [control], names)[0]
    gone = visitor_log.names_among(f"{data.where}: removed", removed, names)
    after = None if late is None else visitor_log.names_among(f"{data.where}: late", late, names)
    if len(set(gone)) == len(names):
        refuse("ab: removed", " has all variants, must leave one that can be shown")
    if after and first in after:
        wrong("ab: late", names[first], "a variant that entered after another one")
    if after and not data.log.ordered:
        refuse(
            "ab: late", " needs the order of arrival, which the rows do not have; give time=, the column of the times"
        )
    stages = staging.stages(data.log.variant, len(names), delta, after if data.log.ordered else [], growth)
    return decided(
        Question(c, delta, epsilon, maximize, gone, planned_shares(planned, names)),
        data,
        stages,
        remarks.assumptions(data.log, data.kind, window, cap),
        remarks.notes(data.log, stages, data.final, data.until, delta, growth, data.kind),
    )
