"""The function `tune`, which finds the best configuration over random seeds within a budget or to a tolerance."""

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import cast

import numpy as np

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import isolated, recorded, training
from jaxbandit.decide.tuning.calls import Train
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.decide.tuning.limits import each_of
from jaxbandit.decide.tuning.playing import play
from jaxbandit.decide.tuning.progress import Progress, reporting
from jaxbandit.decide.tuning.reporting import late_notes, search_notes
from jaxbandit.decide.tuning.result import TuneResult, tune_result
from jaxbandit.decide.tuning.resuming import resumable
from jaxbandit.decide.tuning.searching import Search, Terms
from jaxbandit.decide.tuning.settings import settings
from jaxbandit.decide.tuning.store import opened
from jaxbandit.running.distribution.executors import crew_of
from jaxbandit.support import checks, durations
from jaxbandit.support.refusals import BadInput, Unfinished, refuse
from jaxbandit.support.types import ArrayLike, PyTree, Scalar


def tune(
    train: Train | ArrayLike,
    configs: PyTree | None = None,
    rule: Algorithm | None = None,
    *,
    delta: Scalar | None = None,
    epsilon: float | None = None,
    max_trainings: int | None = None,
    timeout: float | str | None = None,
    timeout_each: float | str | None = None,
    isolate: bool = False,
    seed: int = 0,
    paired: bool = True,
    scores: ArrayLike | None = None,
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
    growth: bool = False,
    blind: bool = False,
    traced: bool | None = None,
    same_train: bool = False,
    progress: bool | Callable[[Progress], None] | None = None,
    maximize: bool = True,
) -> TuneResult:
    """Find the configuration with the best mean score over random seeds, and state how good the choice is known to be.

    A training is `train(key, config)`, which returns the score of the configuration for the seed `key`; or, in plain
    Python, `train(seed, config)` with an integer. If JAX can trace `train`, it is vmapped over many configurations and
    compiled once for each group of configurations with equal static values. Otherwise `train` is called directly, one
    training at a time or on `executor`. With `paired`, seed number i of configuration c has the key fold_in(root, i),
    so that all configurations share the same seeds; otherwise it has fold_in(fold_in(root, i), c). Here root is
    jax.random.key(seed) of the generator threefry2x32.

    The search ends at the first of three events: the choice is known to be within `epsilon` of the best, or
    `max_trainings` or `timeout` are reached. At least one of them has to be given. The result is the same in any case:
    `certificate.achieved` is the epsilon that is known to be achieved, with probability at least 1 - delta, whatever
    ended the search. By default every configuration that may still be the best is trained at one more seed in each
    round (the paired race), or, if max_trainings is less than twice what makes the statement finite, by sequential
    halving.

    A score depends only on the seed, the configuration, the machine, the version of JAX and `batch`. It does not depend
    on which configurations are left, on interruptions, or on the order in which trainings end. In a directory scores
    belong to (train, configuration, seed): a search with more configurations, another epsilon, rule or budget uses
    those that are there. The certificate says what that costs.

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
      delta: error probability of all statements together, in (0, 1). None means 0.05, or that of the rule.
      epsilon: tolerated difference from the best mean score, >= 0, in units of the score. With 0 two equally good
        configurations are compared until the budget ends. None means 0, and needs a budget.
      max_trainings: number of trainings, failed attempts and scores from the directory included, >= 1.
      timeout: seconds after which no training begins, >= 0, or a text such as "2h"; a training that has not ended by
        then does not count. With 0 only the scores of the directory are used. Nobody waits for a traced training that
        never ends, but it computes on until the process ends; a `train` that is called directly, without an executor,
        is waited for. `isolate` and `timeout_each` end both.
      timeout_each: seconds, > 0, after which a call of `train` is left behind on its thread, also on an executor; it
        has failed, with what `on_failure` says, and a note lists it as one that did not end. Not if JAX traces `train`.
      isolate: whether to search in a process of its own, which is ended if it does not return in time, 5 s after
        `timeout`, or if it is interrupted twice. `train`, of a module and not of a notebook, must be picklable, as all
        other arguments, and a script needs `if __name__ == "__main__":`.
      seed: seed of all trainings and of the rule's random draws, in [0, 2^32).
      paired: whether all configurations share the same seeds (common random numbers).
      scores: known scores of `train`, scores[configs, seeds], NaN where there is none: column j takes the place of
        trainings at seed number j, so that all of them must be draws that are independent of each other's columns. An
        error that ends a search has those so far as its attribute `scores`.
      batch: number of trainings side by side on one device, >= 1. None uses as many as the memory of the compiled
        program allows, but not more than are useful. If it is given and `train` cannot be traced, an error is raised.
      directory: directory in which every score is stored before it is used. If the search is interrupted or killed,
        the same call resumes with the batch size found at first, and ends with the same result. Only the order of the
        lines in scores.jsonl is that in which trainings ended. None keeps everything in memory.
      executor: a PEP 3148 executor on which `train` is called directly. For an executor of processes, which must not be
        forked, `train` must be picklable.
      retries: how often a failed training is repeated with the same key, >= 0; its score is that of the first success.
        It is not repeated if it is traced, because it would fail again.
      on_failure: what happens if a training raises an exception, or returns a number that is not finite or of modulus
        above 1e150. None, or "stop", ends the search with an error. A number is the score of such a training.
        "separate" means that the mean is that over the other trainings, and that only configurations are recommended
        that are known to fail in at most a share `max_failure_rate` of their trainings; as long as this is known of
        none, only those that do so with a probability of 0.9 a posteriori, or else those that have failed least.
      max_failure_rate: largest tolerated failure rate for "separate", in (0, 1).
      min_trainings: number of common seeds before which no configuration is dropped and the search does not end by
        epsilon, >= 1. None means 14, or fewer where max_trainings does not allow it. It bounds the rare events that the
        certificate cannot exclude: with 14 trainings, those in fewer than 19 % of them, at level 0.05.
      score_range: (low, high) such that all scores are in this range. The statements are then proved without assuming
        that scores are normal; this is the default if the first scores are all 0 or 1.
      quantile: p in (0, 1), to compare p-quantiles of the scores instead of means, for any law of the scores.
      resolution: distance between neighboring values of a score, such as 1/360 for accuracies on 360 examples, >= 0.
      growth: whether configurations will be added to the directory later. The error probabilities of all stages then
        add up to delta; otherwise each addition costs half as much error probability as the one before, starting from
        delta/2, and the certificate states the sum.
      blind: whether configurations that this call adds to a directory were chosen without looking at its scores. They
        may then share all seeds with the others. Otherwise they are compared on seeds that nobody has used.
      traced: whether JAX traces `train`. None means that it does if the function uses JAX, and that it is called
        directly if it does not or cannot be traced.
      same_train: whether to use the scores of a directory although `train` has changed, because it computes the same.
      progress: a function that receives the Progress; True or False to show the progress on stderr or not. None shows a
        bar if stderr is a terminal, and otherwise a line now and then.
      maximize: whether large scores are good.

    Returns:
      A TuneResult.

    Raises:
      ValueError: an argument is wrong, a training fails, or the directory holds something else. The message has one
        line. Scores are kept in the directory.
      RuntimeError: the executor has lost its workers or a training. Scores are kept in the directory.
      KeyboardInterrupt: the search was interrupted. Scores are kept in the directory.

    Source: `theory.comparisons` has the statements and their proofs; Karnin, Koren and Somekh (2013), Almost optimal
    exploration in multi-armed bandits, ICML, has sequential halving.
    """
    if checks.boolean("tune", "isolate", isolate):
        return isolated.play("tune", tune, locals())
    start = time.perf_counter()
    deadline = None if timeout is None else time.monotonic() + durations.seconds("tune", "timeout", timeout)
    if executor is not None:
        crew_of(executor)
    table = None
    if not callable(train):
        recorded.check_alone(
            scores=scores, batch=batch, directory=directory, executor=executor, retries=retries, traced=traced
        )
        table, configs = recorded.table(train, configs)
    elif configs is None:
        refuse("tune", ": configs is missing, must be given, such as jb.space.grid(lr=[0.1, 0.01])")
    space = search_space.read("tune", configs)
    known = table if scores is None else recorded.known_scores("scores", scores)
    if known is not None:
        recorded.check_count("train" if scores is None else "scores", known, space)
    seed = checks.integer("tune", "seed", seed, 0, 2**32 - 1)
    if max_trainings is not None:
        max_trainings = checks.integer("tune", "max_trainings", max_trainings, 1)
    retries = checks.integer("tune", "retries", retries, 0)
    chosen = settings(
        "tune",
        space,
        rule,
        delta=delta,
        epsilon=epsilon,
        max_trainings=max_trainings,
        timeout=math.inf if timeout is None and table is not None else timeout,  # what the table has is a budget
        on_failure=on_failure,
        max_failure_rate=max_failure_rate,
        min_trainings=min_trainings,
        score_range=score_range,
        quantile=quantile,
        resolution=resolution,
        growth=growth,
        maximize=maximize,
    )
    path = None if directory is None else Path(directory)
    if table is None:
        stored = path is not None
        each = each_of("tune", timeout_each)
        options = {"batch": batch, "executor": executor, "tracing": traced, "stored": stored, "timeout": each}
        trained = training.read(cast("Train", train), space, **options)
    else:
        trained, chosen = training.of_table(space), table.limited(chosen, min_trainings)
    about = {"kind": "tune", "seed": seed, "paired": bool(paired)}
    with resumable(path), opened(path, about) as store, reporting(progress, 0) as report:
        given = {"blind": bool(blind), "delta": chosen.criterion.delta, "same_train": same_train}
        numbers = training.enter(store, trained, **given)
        if known is not None:
            known.enter(store, numbers, space, whole=table is None)
        evidence = Evidence(chosen.criterion, store.stages)
        if table is not None:
            evidence.pool[numbers] = table.pool
        terms = Terms(
            maximize=maximize,
            paired=bool(paired),
            integer=trained.integer,
            seed=seed,
            low=chosen.low,
            high=chosen.high,
            whose=chosen.whose,
            on_failure=chosen.on_failure,
            retries=retries,
            max_trainings=max_trainings,
            deadline=deadline,
        )
        search = Search(store, evidence, space, numbers, trained.evaluate(store, batch), terms, report)
        try:
            found = play("tune", search, evidence, chosen, numbers, seed=seed, paired=bool(paired))
        except (BadInput, Unfinished, KeyboardInterrupt) as error:
            recorded.keep(error, store, numbers, path)
            raise
        first_delta = store.delta
    rows, notes = search.rows.arrays(), (*trained.notes, *found.notes, *late_notes(search.late))
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
        location=None if quantile is None else np.asarray(certificate.means)[numbers],
        maximize=maximize,
        notes=(*notes, *search_notes(evidence, found.arm, space, numbers, first_delta)),
        seconds={"total": time.perf_counter() - start, "trainings": search.waited},
        why=found.why,
        reused=search.reused if table is None else 0,
    )
