"""The function `search`: configurations are proposed, and the best proposals are compared on fresh seeds."""

import math
import time
from pathlib import Path
from typing import Annotated, Any

from jaxbandit.base.arguments import Count, RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.decide.core.budget import Budget, budget_of
from jaxbandit.decide.core.goal import Goal, goal_of
from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import isolated
from jaxbandit.decide.tuning.calls import Train
from jaxbandit.decide.tuning.execution import check
from jaxbandit.decide.tuning.inspection import awaits
from jaxbandit.decide.tuning.progress import reporting
from jaxbandit.decide.tuning.proposals import PROPOSALS, Proposals
from jaxbandit.decide.tuning.proposing import proposer_of
from jaxbandit.decide.tuning.result import tune_result
from jaxbandit.decide.tuning.search_result import SearchResult, search_result
from jaxbandit.decide.tuning.searching import Row, columns
from jaxbandit.decide.tuning.settings import Settings, settings
from jaxbandit.decide.tuning.store import opened
from jaxbandit.decide.tuning.tune import tune
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.types import PyTree
from jaxbandit.theory.comparisons.pairs import smallest_sample

MANY = 200  # trainings from which on 8 finalists pay
LEAST, SHARE, MOST = 12, 0.3, 0.6  # of the race: trainings of each finalist, and its share of the budget
AT_ONCE, ON_EXECUTOR = 64, 8  # random proposals, and others on an executor, before their scores are told
MOST_TRAININGS = 2**29  # because seeds of proposals, of the race and beyond are numbered one range after the other


@checked
def search(
    train: Train,
    space: Any,
    proposer: Any = "tpe",
    *,
    budget: Budget | int,
    goal: Goal | float | None = None,
    finalists: Count | None = None,
    proposals: Count | None = None,
    extra: Annotated[int, Arg(integer(0, MOST_TRAININGS))] = 0,
    at_once: Count | None = None,
    seed: RunSeed = 0,
    paired: bool = True,
    execution: Execution = DEFAULT,
) -> SearchResult:
    """Propose configurations of a space, and choose among the best proposals by a race on fresh seeds.

    Every proposal is trained once. Then the finalists, which are the best different configurations by these scores, are
    compared by `tune` on seeds that no proposal has used, so that the certificate holds whatever has proposed: the
    choice is within `certificate.achieved` of the best finalist with probability at least 1 - delta. It is not promised
    that the best proposal is a finalist, nor anything about the rest of the space. First scores are not used in the
    race.

    Proposal number p has the key fold_in(root, 2^31 + p), seed number i of the race has the keys of `tune`, and
    further seed j of the choice has fold_in(root, 2^31 + 2^30 + j).

    Args:
      train: function (key, config) -> score, or (seed: int, config) -> score, as for `tune`.
      space: a dictionary of `loguniform`, `space.uniform`, `uniform_int` or `choice`; or a function of a trial that
        returns a dictionary, and asks `trial.suggest_float(name, low, high, log=True)`, `trial.suggest_int` and
        `trial.suggest_categorical` for values, so that it may be conditional. In dictionaries that such a function
        returns all numbers are traced. None if the proposer is a function.
      proposer: "tpe", Optuna's tree-structured Parzen estimator with this seed; "random"; a sampler of Optuna, which is
        copied and must have a seed of its own if the search is to be resumed; or a function (history, seed) ->
        configuration. Its history is a list of (configuration, score) of all proposals so far, with the score None
        while it is not known and NaN if the training failed; its seed is an integer.
      budget: number of trainings of the proposals and of the race, failed attempts included, >= 2; or a `Budget` with
        these trainings and seconds, of which proposals get the same share as of the trainings.
      goal: a `Goal` of the race, or its epsilon. A failed proposal is no finalist unless `on_failure` is a number.
      finalists: number of configurations in the race. None means 4, or 8 from 200 trainings on, or fewer if 60 %
        of the trainings are too few for them. With 1 there is no race and no guarantee, and all trainings are
        proposals.
      proposals: number of trainings of proposals. None leaves the race 30 % of the trainings, or 12 for each
        finalist if that is more, or twice what makes its statement finite if that is still more (14 for each of 8 at
        delta = 0.05), but at most 60 %.
      extra: number of further seeds at which the choice is trained at the end, beyond the budget. Given the
        choice, their mean is an unbiased estimate of its mean score.
      at_once: number of proposals that are made before their scores are told. None means 64 if they are random,
        and otherwise 8 with an executor, `workers` or an `async def`, and 1 elsewhere.
      seed: seed of all trainings and proposals.
      paired: of the race, as for `tune`.
      execution: as for `tune`; with `isolate` the proposer must be picklable, too. A call with a directory and a larger
        budget uses all scores, and finalists that are new are added to the race, which has its price, as for `tune`.

    Returns:
      A SearchResult, which is a TuneResult whose configurations are the finalists.

    Raises:
      ValueError: a training fails, no proposal has a score, or the directory holds something else.
      ModuleNotFoundError: the proposer needs Optuna, which is not installed.
      RuntimeError: the executor has lost its workers or a training.
      KeyboardInterrupt: the search was interrupted. In each case scores are kept in the directory.

    Source: the race is that of `tune`; Bergstra, Bardenet, Bengio and Kegl (2011), Algorithms for hyper-parameter
    optimization, NeurIPS, has the tree-structured Parzen estimator.
    """
    check(execution)
    goal, budget = goal_of(goal), budget_of(budget)
    if execution.isolate:
        return isolated.play(search, locals())
    start, began = time.perf_counter(), time.monotonic()
    total = checks.take("budget.trainings", budget.trainings, integer(2, MOST_TRAININGS))
    ends = None if budget.seconds is None else began + float(budget.seconds)
    if finalists is not None:
        checks.take("finalists", finalists, integer(1, total))
    given = settings(2, None, goal, trainings=total)
    count, finalists = _split(total, finalists, proposals, given)
    source, known_space = proposer_of(proposer, space, seed=seed, maximize=goal.maximize)
    if at_once is None:
        alone = execution.executor is None and execution.workers is None and not awaits(train)
        at_once = AT_ONCE if source.name == "random" else 1 if alone else ON_EXECUTOR
    path = None if execution.directory is None else Path(execution.directory)
    about = {"kind": "search", "seed": seed, "proposer": source.name, "at_once": at_once}
    with opened(path, about) as store:
        with reporting(execution.progress) as report:
            made = Proposals(store, given, train, known_space, execution, seed, report)
            until = None if ends is None else began + (ends - began) * count / total
            made.propose(source, count, at_once, until)
        chosen = made.ranking()[:finalists]
        if not chosen:
            raise ValueError(f"none of {len(made.rows)} proposals has a score; give more seconds, or on_failure")
        rows = known_space.columns([made.rows[i] for i in chosen])
        if len(chosen) > 1:
            seconds = None if ends is None else max(ends - time.monotonic(), 0.0)
            result = tune(
                train,
                rows,
                goal=goal,
                budget=Budget(max(total - sum(made.attempts), 1), seconds),
                seed=seed,
                paired=paired,
                execution=execution._replace(directory=None if path is None else path / "finalists"),
            )
        else:
            result = _without_race(rows, made, chosen[0], goal.maximize)
        further = made.further(chosen[result.index], extra, ends)
    return search_result(result, made, chosen, source.name, further, time.perf_counter() - start)


def _split(total: int, finalists: int | None, proposals: int | None, given: Settings) -> tuple[int, int]:
    """The number of trainings of proposals, and of finalists."""
    most = math.floor(MOST * total)
    if finalists is None:
        finalists = next((f for f in range(4 if total < MANY else 8, 2, -1) if _race(f, given) <= most), 2)
    if finalists == 1:
        if proposals not in (None, total):
            raise ValueError(f"proposals = {proposals}, but with finalists = 1 all {total} trainings are proposals")
        return total, 1
    if proposals is not None:
        return checks.take("proposals", proposals, integer(1, total - 1)), finalists
    return total - max(min(max(_race(finalists, given), math.ceil(SHARE * total)), most), 1), finalists


def _race(finalists: int, given: Settings) -> int:
    """The least number of trainings of a race by default, for normal scores at least twice what it needs."""
    each = LEAST
    if given.criterion.score_range is None and not given.criterion.by_arms:
        each = max(each, 2 * smallest_sample(math.log(given.criterion.delta) - math.log(finalists - 1)))
    return each * finalists


def _without_race(row: PyTree, made: Proposals, number: int, maximize: bool) -> Any:
    """The result of a search without a race, whose only training is that of the best proposal."""
    only = Row(0, PROPOSALS + number, made.scores[number], 0, made.attempts[number], False)
    return tune_result(
        search_space.read(row),
        0,
        columns([only]),
        survivors=[True],
        certificate="the best first score",
        maximize=maximize,
    )
