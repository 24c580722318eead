"""The function `tune`, which finds the best configuration over random seeds within a budget or to a tolerance."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np

from jaxbandit.base.arguments import RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.core.budget import Budget, budget_of
from jaxbandit.decide.core.goal import Goal, goal_of
from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import isolated, items, recorded, training
from jaxbandit.decide.tuning.calls import Train
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.decide.tuning.execution import SEARCH, TABLE, check
from jaxbandit.decide.tuning.items import POOL, items_of
from jaxbandit.decide.tuning.playing import play
from jaxbandit.decide.tuning.progress import reporting
from jaxbandit.decide.tuning.reporting import late_notes, search_notes
from jaxbandit.decide.tuning.result import TuneResult, tune_result
from jaxbandit.decide.tuning.searching import Search, columns
from jaxbandit.decide.tuning.settings import settings
from jaxbandit.decide.tuning.store import opened
from jaxbandit.decide.tuning.trainer import Trainer
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.support.refusals import Unfinished
from jaxbandit.support.types import ArrayLike, PyTree


@checked
def tune(
    train: Train | ArrayLike,
    configs: PyTree | None = None,
    rule: Algorithm | None = None,
    *,
    goal: Goal | float | None = None,
    budget: Budget | int | str | None = None,
    seed: RunSeed = 0,
    paired: bool = True,
    scores: ArrayLike | None = None,
    pool: Annotated[int | Sequence[Any] | None, POOL] = None,
    growth: bool = False,
    blind: bool = False,
    execution: Execution = DEFAULT,
) -> TuneResult:
    """Find the configuration with the best mean score over random seeds, and state how good the choice is known to be.

    A training is `train(key, config)`, which returns the score of the configuration for the seed `key`; or, in plain
    Python, `train(seed, config)` with an integer. If JAX can trace `train`, it is vmapped over many configurations and
    compiled once for each group of configurations with equal static values. Otherwise `train` is called directly, one
    training at a time, or several on `workers` threads or an `executor`; what an `async def` returns is awaited. With
    `paired`, seed number i of configuration c has the key fold_in(root, i); otherwise it has fold_in(fold_in(root, i),
    c). Here root is jax.random.key(seed) of the generator threefry2x32.

    The search ends at the first of three events: the choice is known to be within epsilon of the best, or the trainings
    or the seconds of the budget are spent. At least one of them has to be given. `certificate.achieved` is the epsilon
    that is known to be achieved, with probability at least 1 - delta, whatever ended the search. By default every
    configuration that may still be the best is trained at one more seed in each round (the paired race), or, if the
    trainings are less than twice what makes the statement finite, by sequential halving.

    A score depends only on the seed, the configuration, the machine, the version of JAX and `batch`. In a directory
    scores belong to (train, configuration, seed): a search with more configurations, another epsilon, rule or budget
    uses those that are there. The certificate says what that costs.

    In the place of `train` there may be a table of recorded scores. It is a finite pool in which every score can be had
    once, column by column: the search ends at the latest with what the table has, and says so. Its seeds are taken for
    independent draws from an infinite population, and the statements are about the means over that population.

    Args:
      train: function (key, config) -> score, or (seed: int, config) -> score; a single number. `config` has the
        structure of `configs`. Its numbers are traced, or Python numbers if `train` is called directly; static values
        are passed unchanged. Or scores[configs, seeds], as a DataFrame, an array or a list of lists, NaN where there is
        no score; then neither a tolerance nor a budget is needed.
      configs: a list of dictionaries; or a pytree whose leaves have one entry per configuration along their first axis,
        such as `grid` and `random_configs` return. Leaves of strings or objects are static, as `static` explains.
        With a table None names its rows by the index of the DataFrame, or by their numbers.
      rule: an Algorithm with one arm per configuration that decides what is trained; without a stopping rule it needs a
        budget. None uses the allocation above.
      goal: a `Goal`, which says what is compared, how exactly, and what a failed training is; or its epsilon. Scores in
        [0, 1] are assumed if the first ones are all 0 or 1.
      budget: a `Budget`; or its number of trainings, or a length of time such as "2h".
      seed: seed of all trainings and of the rule's random draws.
      paired: whether all configurations share the same seeds (common random numbers).
      scores: known scores of `train`, scores[configs, seeds], NaN where there is none: column j takes the place of
        trainings at seed number j, so that all of them must be draws that are independent of each other's columns. An
        error that ends a search has those so far as its attribute `scores`.
      pool: items to score, in the place of random seeds: a list, or their number. `train(item, config)` then gets an
        item, or its number from 0 on, and is called directly. All configurations get the items in the same random
        order, and none twice; what is compared are the means over the pool, which are certain once all items are
        scored, so that neither a tolerance nor a budget is needed.
      growth: whether configurations will be added to the directory later. The error probabilities of all stages then
        add up to delta; otherwise each addition costs half as much error probability as the one before, starting from
        delta/2, and the certificate states the sum.
      blind: whether configurations that this call adds to a directory were chosen without looking at its scores. They
        may then share all seeds with the others. Otherwise they are compared on seeds that nobody has used.
      execution: an `Execution` with fields among directory, executor, progress, batch, isolate, seconds_each, retries,
        traced, same_train, workers. Decisions are the same with any number of workers: while scores are missing, those
        that are free begin what will probably be asked for next, of a rule if it is a race, and the result says how
        much of it was not needed, which the budget does not count. In its directory every score is stored before it is
        used. If the search is interrupted or killed, the same call resumes with the batch size found at first, and ends
        with the same result; only the order of the lines in scores.jsonl is that in which trainings ended.

    Raises:
      ValueError: a training fails, or the directory holds something else.
      RuntimeError: the executor has lost its workers or a training.
      KeyboardInterrupt: the search was interrupted. In each case scores are kept in the directory.

    Source: `theory.comparisons` has the statements and their proofs; Karnin, Koren and Somekh (2013), Almost optimal
    exploration in multi-armed bandits, ICML, has sequential halving.
    """
    check(execution, SEARCH if callable(train) else TABLE)
    goal, budget = goal_of(goal), budget_of(budget)
    if execution.isolate:
        return isolated.play(tune, locals())
    start = time.perf_counter()
    deadline = None if budget.seconds is None else time.monotonic() + float(budget.seconds)
    table = None
    if not callable(train):
        if scores is not None:
            raise ValueError("scores is given with a table of scores, which has all of them; leave it out")
        table, configs = recorded.table(train, configs)
    elif configs is None:
        raise ValueError("configs is missing, must be given, such as jb.space.grid(lr=[0.1, 0.01])")
    space = search_space.read(configs)
    known = table if scores is None else recorded.known_scores("scores", scores)
    if known is not None:
        recorded.check_count("train" if scores is None else "scores", known, space)
    # What a table or a pool has is a budget.
    ends = budget.seconds is not None or table is not None or pool is not None
    asked = None if pool is None else items_of(cast("int | list", pool), seed)
    if asked is not None:
        others = {
            "quantile": goal.quantile,
            "worst": goal.worst,
            'on_failure = "separate"': goal.max_failure_rate,
            "paired = False": not paired,
        }
        items.check({"rule": rule, "train as a table": table, "scores": known, **others})
    count = None if asked is None else len(asked.order)
    chosen = settings(space.count, rule, goal, trainings=budget.trainings, ends=ends, growth=growth, pool=count)
    path = None if execution.directory is None else Path(execution.directory)
    if table is None:
        trained = training.read(cast("Train", train), space, execution, asked)
    else:
        trained, chosen = training.of_table(space), table.limited(chosen, goal.min_trainings)
    about = {"kind": "tune", "seed": seed, "paired": paired}
    if path is not None:
        about["pool"] = None if asked is None else asked.digest()
    with opened(path, about) as store, reporting(execution.progress) as report:
        given = {"blind": blind, "delta": chosen.criterion.delta, "same_train": execution.same_train}
        numbers = training.enter(store, trained, **given)
        if known is not None:
            known.enter(store, numbers, space, whole=table is None)
        evidence = Evidence(chosen.criterion, store.stages)
        if table is not None:
            evidence.pool[numbers] = table.pool
        trainer = Trainer(store, trained, chosen, seed, paired=paired, deadline=deadline)
        search = Search(trainer, evidence, numbers, budget.trainings, report)
        try:
            found = play(search, evidence, chosen, numbers, seed=seed, paired=paired)
        except (ValueError, Unfinished, KeyboardInterrupt) as error:
            recorded.keep(error, store, numbers, path)
            raise
        finally:
            trainer.close()
        first_delta = store.delta
    rows, notes = columns(search.rows), (*trained.notes, *found.notes, *late_notes(search.late))
    if asked is not None:
        rows["seed"] = asked.order[rows["seed"]]
    if table is not None:
        rows["seed"] = table.columns[rows["seed"]]
        notes = (*notes, *table.notes(found.why, int(found.survivors.sum()), len(rows["id"])))
    certificate = found.certificate
    assert certificate.low is not None and certificate.high is not None
    return tune_result(
        space,
        int(search.places[found.arm]),
        rows,
        survivors=found.survivors,
        certificate=certificate,
        intervals=(certificate.low[numbers], certificate.high[numbers]),
        location=np.asarray(certificate.means)[numbers] if goal.quantile or goal.worst else None,
        locates="quantile" if goal.worst is None else "worst",
        maximize=goal.maximize,
        notes=(*notes, *search_notes(evidence, found.arm, space, numbers, first_delta)),
        seconds={"total": time.perf_counter() - start, "trainings": trainer.waited},
        why=found.why,
        reused=search.reused if table is None else 0,
        spare=search.spare,
    )
