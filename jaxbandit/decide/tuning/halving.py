"""Successive halving of trainings, as in Jamieson and Talwalkar (2016).

Differences from other implementations: survivors continue from their current states, whereas others train them again
from the beginning or from files; and the scores of `repeats` trainings of a configuration are averaged.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np

from jaxbandit.base.arguments import RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.decide.sessions.rewards import usable
from jaxbandit.decide.tuning import configs as configurations
from jaxbandit.decide.tuning import trainings
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.execution import RUNGS, check
from jaxbandit.decide.tuning.result import TuneResult, tune_result
from jaxbandit.decide.tuning.rungs import IDENTITY, Bracket, Rung, halve, ranking
from jaxbandit.decide.tuning.store import resumable
from jaxbandit.decide.tuning.trainings import Trainee
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.engine.storage import directories, identity
from jaxbandit.support.domains import INT32, Domain, integer
from jaxbandit.support.types import PyTree

MOST_STEPS = INT32 - 1  # steps are counted in int32, and the loop's end is one more


Steps = Annotated[int, Arg(integer(1, MOST_STEPS))]
Eta = Annotated[int, Arg(integer(2))]
Repeats = Annotated[int, Arg(integer(1, INT32))]


def _last_steps(given: Mapping[str, Any]) -> Domain:
    return integer(given["min_steps"], MOST_STEPS)


@checked
def successive_halving(
    trainee: Trainee,
    configs: PyTree,
    *,
    min_steps: Steps,
    max_steps: Annotated[int, Arg(_last_steps, within="an integer in [min_steps, 2^31 - 2]")],
    eta: Eta = 3,
    repeats: Repeats = 1,
    seed: RunSeed = 0,
    maximize: bool = True,
    execution: Execution = DEFAULT,
) -> TuneResult:
    """Train all configurations for a few steps, continue with the best 1 / eta of them, and so on to the last step.

    The rungs are at min_steps, min_steps eta, min_steps eta^2, ... below max_steps, and at max_steps. At each rung, n
    configurations are compared by their scores, and the best max(1, floor(n / eta)) continue; at the last rung, the
    best one is chosen. Among equal scores, the configuration with the lowest index continues. A configuration whose
    score is not finite or of modulus above 1e150 never continues, and a note reports how many there were. The rungs are
    synchronous: all scores of a rung are known before any configuration continues.

    A survivor is bitwise identical to one trained to the same step without interruption. The choice carries no
    guarantee: a configuration that learns slowly is dropped early, and the score of the best configuration is biased
    upward by noise.

    Args:
      trainee: the training, whose `score` is compared after every rung.
      configs: a pytree of numbers whose leaves have one entry per configuration, such as `grid` and `random_configs`
        return. Equal configurations are trained separately.
      min_steps: number of steps of the first rung.
      max_steps: number of steps of the last rung.
      eta: one of eta configurations continues at each rung.
      repeats: number of trainings of a configuration with different keys, whose scores are averaged.
      seed: seed of the keys. Training r of configuration c has the key fold_in(fold_in(key(seed), r), c). Its step t
        has this key with t folded in, and `init` has it with 0 folded in.
      maximize: whether large scores are good.
      execution: an `Execution` with `directory` or `batch`. The last batch of a rung is padded with copies. In the
        directory every rung is stored: if the search is interrupted or killed, the same call resumes after the last
        rung with the same result; a finished search is returned at once.

    Returns:
      A TuneResult without a guarantee. Its history has one row per training and rung, in which `batch` is the number
      of the rung and `steps` its number of steps. The table has the mean score at the last rung that each
      configuration reached.

    Raises:
      ValueError: a column of `configs` does not hold numbers, a function of the trainee
        fails or returns a wrong structure, no score of a rung is finite, or the directory holds another search.

    Source: Jamieson and Talwalkar (2016), Non-stochastic best arm identification and hyperparameter optimization,
    AISTATS, Algorithm 1, with the rungs of Li et al. (2020), A system for massively parallel hyperparameter tuning,
    MLSys, Algorithm 1.
    """
    check(execution, RUNGS)
    known = numbers(configs)
    steps = [min_steps]
    while steps[-1] * eta < max_steps:
        steps.append(steps[-1] * eta)
    if steps[-1] < max_steps:
        steps.append(max_steps)
    shared = {"eta": eta, "repeats": repeats, "seed": seed, "maximize": maximize}
    return play_brackets("successive_halving", trainee, {".": (known, steps)}, execution, **shared)


def numbers(configs: PyTree) -> Configs:
    """Return checked configurations; raise a ValueError if a column does not hold numbers."""
    known = configurations.read(configs, distinct=False)
    for name, static in zip(known.names, known.is_static, strict=True):
        if static:
            raise ValueError(f"configs: {name} is static, must be numbers; run one search for each of its values")
    return known


def play_brackets(
    name: str,
    trainee: Trainee,
    parts: Mapping[str, tuple[Configs, Sequence[int]]],
    execution: Execution,
    *,
    eta: int,
    repeats: int,
    seed: int,
    maximize: bool,
) -> TuneResult:
    """Return the result of the search `name`; `parts` are the configurations and steps of brackets by folder."""
    started = time.perf_counter()
    if not isinstance(trainee, Trainee):
        raise ValueError(f"trainee is a {type(trainee).__name__}, must be jb.Trainee(init, step, score)")
    every, *others = [known for known, _ in parts.values()]
    if others:
        trees = [known.tree() for known in (every, *others)]
        every = numbers(jax.tree.map(lambda *columns: np.concatenate(columns), *trees))
    programs = trainings.programs(trainee, every.tree(), execution.batch)
    more = {"program": programs.digest, "batch": programs.batch, **identity.surroundings(jax.default_backend())}
    path = None if execution.directory is None else Path(execution.directory)
    marks = IDENTITY if "." in parts else f"bracket-*/{IDENTITY}"
    played, first = [], 0
    # A KeyboardInterrupt says how to resume.
    with resumable(path), nullcontext() if path is None else directories.locked(path, marks):
        for folder, (known, steps) in parts.items():
            bracket = Bracket(known, first, tuple(steps), eta, repeats, seed, maximize)
            store = None if path is None else path / folder
            played.append((bracket, halve(bracket, programs, store, more)))
            first += known.count
    return _result(name, every, played, started)


def _result(name: str, configs: Configs, played: Sequence[tuple[Bracket, Rung]], started: float) -> TuneResult:
    """The result of brackets whose configurations are these, in order."""
    history, alive, best, maximize = _history(played), np.zeros(configs.count, bool), [], played[0][0].maximize
    for bracket, done in played:
        ranked = bracket.first + done.alive[ranking(bracket, done)] if len(done.alive) else []
        alive[ranked] = True
        best += [(float(done.scores[-1, i - bracket.first].mean()), int(i)) for i in ranked[:1]]
    if not best:
        steps = int(history["steps"].max())
        rows = np.unique(history["config"][history["steps"] == steps])
        which = f"of {len(rows)} configurations (configuration {rows[0]}: {configs.text(int(rows[0]))})"
        lost = f"after {steps} steps no score is finite with |score| <= 1e150, {which}"
        raise ValueError(f"{lost}; check init, step and score, or give other configs")
    last = np.zeros(configs.count, int)
    np.maximum.at(last, history["config"], history["batch"])
    return tune_result(
        configs,
        min(best, key=lambda trained: (-trained[0] if maximize else trained[0], trained[1]))[1],
        history,
        survivors=alive,
        certificate=name,
        counted=history["batch"] == last[history["config"]],
        maximize=maximize,
        notes=_notes(played, history),
        seconds={"total": time.perf_counter() - started},
    )


def _history(played: Sequence[tuple[Bracket, Rung]]) -> dict[str, np.ndarray]:
    """One row for each score of a training, in the order of the rungs, bracket by bracket."""
    rows: dict[str, list[Any]] = {name: [] for name in ("config", "seed", "score", "batch", "steps")}
    rungs = 0
    for bracket, done in played:
        for i, (scores, trained) in enumerate(zip(done.scores, done.trained, strict=True)):
            row, repeat = np.nonzero(np.broadcast_to(trained[:, None], scores.shape))
            rows["config"].append(bracket.first + row)
            rows["seed"].append(repeat)
            rows["score"].append(scores[row, repeat])
            rows["batch"].append(np.full(len(row), rungs + i))
            rows["steps"].append(np.full(len(row), bracket.steps[i]))
        rungs += len(bracket.steps)
    columns = {name: np.concatenate(parts) for name, parts in rows.items()}
    return {"id": np.arange(len(columns["config"])), **columns}


def _notes(played: Sequence[tuple[Bracket, Rung]], history: dict[str, np.ndarray]) -> tuple[str, ...]:
    spent = 0
    for bracket, done in played:
        each = np.diff(bracket.steps, prepend=0)
        spent += int((done.trained.sum(axis=1) * each).sum()) * bracket.repeats
    notes = [
        f"{spent:,} steps in total; the number of trainings counts a training once for each rung at which it was scored"
    ]
    lost = len(np.unique(history["config"][~usable(history["score"])]))
    if lost:
        what = "that is not finite, or |score| > 1e150,"
        notes.append(f"{lost} of the configurations had a score {what} and did not continue")
    return tuple(notes)
