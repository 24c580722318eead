"""The function `search`: configurations are proposed, and the best proposals are compared on fresh seeds."""

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import isolated
from jaxbandit.decide.tuning.calls import Train
from jaxbandit.decide.tuning.limits import each_of
from jaxbandit.decide.tuning.own_seeds import PROPOSALS, OwnSeeds
from jaxbandit.decide.tuning.progress import Progress, reporting
from jaxbandit.decide.tuning.proposals import Best, First, further, propose, ranking
from jaxbandit.decide.tuning.proposing import proposer_of
from jaxbandit.decide.tuning.result import tune_result
from jaxbandit.decide.tuning.resuming import resumable
from jaxbandit.decide.tuning.search_result import SearchResult, search_result
from jaxbandit.decide.tuning.settings import Settings, settings
from jaxbandit.decide.tuning.store import opened
from jaxbandit.decide.tuning.tune import tune
from jaxbandit.running.distribution.executors import crew_of
from jaxbandit.support import checks, durations
from jaxbandit.support.refusals import refuse
from jaxbandit.support.types import PyTree
from jaxbandit.theory.comparisons.pairs import smallest_sample

MANY = 200  # trainings from which on 8 finalists pay
LEAST, SHARE, MOST = 12, 0.3, 0.6  # of the race: trainings of each finalist, and its share of the budget
AT_ONCE, ON_EXECUTOR = 64, 8  # random proposals, and others on an executor, before their scores are told
WHERE = "search"


def search(
    train: Train,
    space: Any,
    proposer: Any = "tpe",
    *,
    max_trainings: int,
    finalists: int | None = None,
    proposals: int | None = None,
    extra: int = 0,
    at_once: int | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    timeout: float | str | None = None,
    timeout_each: float | str | None = None,
    isolate: bool = False,
    seed: int = 0,
    paired: bool = True,
    batch: int | None = None,
    directory: str | Path | None = None,
    executor: Executor | None = None,
    retries: int = 0,
    on_failure: float | str | None = None,
    max_failure_rate: float | None = None,
    min_trainings: int | None = None,
    score_range: tuple[float, float] | None = None,
    quantile: float | None = None,
    resolution: float = 0.0,
    traced: bool | None = None,
    same_train: bool = False,
    progress: bool | Callable[[Progress], None] | None = None,
    maximize: bool = True,
) -> SearchResult:
    """Propose configurations of a space, and choose among the best proposals by a race on fresh seeds.

    Every proposal is trained once. Then the finalists, which are the best different configurations by these scores,
    are compared by `tune` on seeds that no proposal has used. Given the proposals, the finalists are fixed and these
    seeds are fresh, so that the certificate holds whatever has proposed: the choice is within `certificate.achieved` of
    the best finalist with probability at least 1 - delta. It is not promised that the best proposal is a finalist, nor
    anything about the rest of the space. First scores, of which the best ones were selected, are not used in the race.

    Proposal number p has the key fold_in(root, 2^31 + p), seed number i of the race has the keys of `tune`, and
    further seed j of the choice has fold_in(root, 2^31 + 2^30 + j).

    Args:
      train: function (key, config) -> score, or (seed: int, config) -> score, as for `tune`.
      space: a dictionary of `loguniform`, `uniform_float`, `uniform_int` or `choice`; or a function of a trial that
        returns a dictionary, and asks `trial.suggest_float(name, low, high, log=True)`, `trial.suggest_int` and
        `trial.suggest_categorical` for values, so that it may be conditional. In dictionaries that such a function
        returns all numbers are traced. None if the proposer is a function.
      proposer: "tpe", Optuna's tree-structured Parzen estimator with this seed; "random"; a sampler of Optuna, which is
        copied and must have a seed of its own if the search is to be resumed; or a function (history, seed) ->
        configuration. Its history is a list of (configuration, score) of all proposals so far, with the score None
        while it is not known and NaN if the training failed; its seed is an integer.
      max_trainings: number of trainings of the proposals and of the race, failed attempts included, >= 2.
      finalists: number of configurations in the race, >= 1. None means 4, or 8 from 200 trainings on, or fewer if 60 %
        of the trainings are too few for them. With 1 there is no race and no certificate, and all trainings are
        proposals.
      proposals: number of trainings of proposals, >= 1. None leaves the race 30 % of the trainings, or 12 for each
        finalist if that is more, or twice what makes its statement finite if that is still more (14 for each of 8 at
        delta = 0.05), but at most 60 %.
      extra: number of further seeds, >= 0, at which the choice is trained at the end, beyond max_trainings. Given the
        choice, their mean is an unbiased estimate of its mean score.
      at_once: number of proposals that are made before their scores are told, >= 1. None means 64 if they are random,
        and otherwise 8 on an executor and 1 elsewhere.
      delta, epsilon, min_trainings, score_range, quantile, resolution, paired: of the race, as for `tune`.
      timeout: seconds after which no training begins, or a text such as "2h". Proposals get the same share of it as of
        the trainings.
      timeout_each, isolate: as for `tune`; the proposer must be picklable, too.
      seed: seed of all trainings and proposals, in [0, 2^32).
      batch, executor, retries, on_failure, max_failure_rate, traced, progress, maximize: as for `tune`. A failed
        proposal is no finalist unless on_failure is a number.
      directory: directory in which every score is stored before it is used; the same call resumes with the same result.
        With a larger max_trainings it uses all scores, and finalists that are new are added to the race, which has its
        price, as for `tune`.
      same_train: whether to use the scores of a directory although `train` has changed, because it computes the same.

    Returns:
      A SearchResult, which is a TuneResult whose configurations are the finalists.

    Raises:
      ValueError: an argument is wrong, a training fails, no proposal has a score, or the directory holds something
        else. The message has one line. Scores are kept in the directory.
      ModuleNotFoundError: the proposer needs Optuna, which is not installed.
      RuntimeError: the executor has lost its workers or a training. Scores are kept in the directory.
      KeyboardInterrupt: the search was interrupted. Scores are kept in the directory.

    Source: the race is that of `tune`; Bergstra, Bardenet, Bengio and Kegl (2011), Algorithms for hyper-parameter
    optimization, NeurIPS, has the tree-structured Parzen estimator.
    """
    if checks.boolean(WHERE, "isolate", isolate):
        return isolated.play(WHERE, search, locals())
    start, began = time.perf_counter(), time.monotonic()
    limit = None if timeout is None else durations.seconds(WHERE, "timeout", timeout)
    if executor is not None:
        crew_of(executor)
    seed = checks.integer(WHERE, "seed", seed, 0, 2**32 - 1)
    retries = checks.integer(WHERE, "retries", retries, 0)
    extra = checks.integer(WHERE, "extra", extra, 0, 2**29)
    total = checks.integer(WHERE, "max_trainings", max_trainings, 2, 2**29)
    if finalists is not None:
        finalists = checks.integer(WHERE, "finalists", finalists, 1, total)
    if at_once is not None:
        at_once = checks.integer(WHERE, "at_once", at_once, 1)
    criterion = {
        "delta": delta,
        "epsilon": epsilon,
        "on_failure": on_failure,
        "max_failure_rate": max_failure_rate,
        "min_trainings": min_trainings,
        "score_range": score_range,
        "quantile": quantile,
        "resolution": resolution,
        "maximize": maximize,
    }
    example = search_space.read(WHERE, {"finalist": np.arange(2)})
    given = settings(WHERE, example, None, **criterion, max_trainings=total, timeout=timeout, growth=False)
    count, finalists = _split(total, finalists, proposals, given)
    source, known_space = proposer_of(WHERE, proposer, space, seed=seed, maximize=maximize)
    if at_once is None:
        at_once = AT_ONCE if source.name == "random" else 1 if executor is None else ON_EXECUTOR
    path = None if directory is None else Path(directory)
    each = each_of(WHERE, timeout_each)
    options = {"batch": batch, "executor": executor, "tracing": traced, "stored": path is not None, "timeout": each}
    about = {"kind": "search", "seed": seed, "proposer": source.name, "at_once": at_once}
    with resumable(path), opened(path, about) as store:
        with reporting(progress, 0) as report:
            best = Best(report, maximize)
            own = OwnSeeds(store, given, seed, retries, same_train, best.add)
            until = None if limit is None else began + limit * count / total
            first = propose(own, source, known_space, train, options, count, at_once, until, best)
        chosen = ranking(first, maximize)[:finalists]
        if not chosen:
            refuse(WHERE, f": none of {len(first.rows)} proposals has a score; give a longer timeout, or on_failure")
        rows = known_space.columns([first.rows[i] for i in chosen])
        spent = int(first.attempts.sum())
        if len(chosen) > 1:
            result = tune(
                train,
                rows,
                max_trainings=max(total - spent, 1),
                timeout=None if limit is None else max(began + limit - time.monotonic(), 0.0),
                timeout_each=each,
                seed=seed,
                paired=paired,
                batch=batch,
                directory=None if path is None else path / "finalists",
                executor=executor,
                retries=retries,
                traced=traced,
                same_train=same_train,
                progress=progress,
                **criterion,
            )
        else:
            result = _without_race(rows, first, chosen[0], maximize)
        winner = chosen[result.index]
        until = None if limit is None else began + limit
        again, waited, reused = further(own, known_space, train, options, first, winner, extra, until)
    return search_result(
        result,
        numbers=chosen,
        scores=first.scores,
        attempts=first.attempts,
        proposed=search_space.read(WHERE, known_space.columns(first.rows), distinct=False),
        proposer=source.name,
        further=again,
        seconds=time.perf_counter() - start,
        waited=first.waited + waited,
        reused=first.reused + reused,
    )


def _split(total: int, finalists: int | None, proposals: int | None, given: Settings) -> tuple[int, int]:
    """The number of trainings of proposals, and of finalists."""
    most = math.floor(MOST * total)
    if finalists is None:
        finalists = next((f for f in range(4 if total < MANY else 8, 2, -1) if _race(f, given) <= most), 2)
    if finalists == 1:
        if proposals not in (None, total):
            refuse(WHERE, f": proposals = {proposals}, but with finalists = 1 all {total} trainings are proposals")
        return total, 1
    if proposals is not None:
        return checks.integer(WHERE, "proposals", proposals, 1, total - 1), finalists
    return total - max(min(max(_race(finalists, given), math.ceil(SHARE * total)), most), 1), finalists


def _race(finalists: int, given: Settings) -> int:
    """The least number of trainings of a race by default.

    With normal scores it is at least twice what makes its statement finite. Otherwise `tune` would spend them by
    halving, which is the better way to guess with so few, but states nothing.
    """
    each = LEAST
    if given.criterion.score_range is None and not given.criterion.by_arms:
        each = max(each, 2 * smallest_sample(math.log(given.criterion.delta) - math.log(finalists - 1)))
    return each * finalists


def _without_race(row: PyTree, first: First, number: int, maximize: bool) -> Any:
    """The result of a search without a race, whose only training is that of the best proposal."""
    history = {
        "id": [0],
        "config": [0],
        "seed": [PROPOSALS + number],
        "score": [first.scores[number]],
        "batch": [0],
        "attempts": [first.attempts[number]],
        "failed": [False],
    }
    columns = {name: np.array(column) for name, column in history.items()}
    return tune_result(search_space.read(WHERE, row), 0, columns, survivors=[True], maximize=maximize)
