"""Successive halving of trainings: Jamieson and Talwalkar (2016).

Differs: survivors go on from the states in which they stand, where others train them anew or from files; and `repeats`
trainings of a configuration are averaged.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxbandit import checks
from jaxbandit.engine import identity, storage
from jaxbandit.refusals import refuse
from jaxbandit.tuning import configs as configurations
from jaxbandit.tuning import trainings
from jaxbandit.tuning.configs import Configs
from jaxbandit.tuning.result import TuneResult, tune_result
from jaxbandit.tuning.rungs import Bracket, Progress, halve, ranking
from jaxbandit.tuning.trainings import Programs, Trainee
from jaxbandit.types import PyTree

MOST_STEPS = 2**31 - 2  # steps are counted in int32, and the loop's end is one more


def successive_halving(
    trainee: Trainee,
    configs: PyTree,
    *,
    min_steps: int,
    max_steps: int,
    eta: int = 3,
    repeats: int = 1,
    seed: int = 0,
    batch: int | None = None,
    directory: str | Path | None = None,
    maximize: bool = True,
) -> TuneResult:
    """Train all configurations a little, the best 1 / eta of them on from where they are, and so on to the last step.

    The rungs are min_steps, min_steps eta, min_steps eta^2, ... below max_steps, and max_steps itself, also where it is
    no such multiple. At each, n configurations are compared by their scores and max(1, floor(n / eta)) go on; at the
    last the best is chosen. Of equal scores the lowest configuration goes on. One whose score is not finite goes on at
    no rung, whatever the others' scores; a note says how many there were.

    Rungs are synchronous: all scores of a rung are in before one configuration goes on. Promoting as scores come in
    would keep slow machines busy, and make the choice depend on which of them was quick.

    A survivor is the same, to the last bit, as if it had been trained to that step without interruption, since all
    trainings run in one program of `batch` at once, whose step is the same at every rung. Nothing is proved of the
    choice: a configuration that learns slowly is dropped early, and the best of noisy scores is flattered.

    Args:
      trainee: the training, whose `score` is compared after every rung.
      configs: a pytree whose leaves have one entry a configuration, all of numbers, as `grid` and `random_configs`
        make it. Equal configurations are trained apart.
      min_steps: steps of the first rung, >= 1.
      max_steps: steps of the last rung, >= min_steps.
      eta: of eta configurations one goes on, >= 2.
      repeats: trainings of a configuration, each with keys of its own, whose scores are averaged, >= 1.
      seed: of the keys. Training r of configuration c has the key fold_in(fold_in(key(seed), r), c), its step t that
        one with t folded in, and init with 0.
      batch: trainings side by side in one program, >= 1; the last of a rung are filled up with copies. Default: 1 on a
        CPU, 64 elsewhere. Another batch may round otherwise.
      directory: where every rung is stored, so that the same call, after a kill at any instant, goes on from the last
        one to the same result, and after the end returns it at once.
      maximize: whether large scores are good.

    Returns:
      A TuneResult without a certificate. Its history has a row a training and rung, in which `batch` is the number of
      the rung and `steps` its steps; the table has the mean score at the last rung that a configuration was trained to.

    Raises:
      ValueError: an argument is out of range, a column of configs is not of numbers, a function of the trainee fails or
        returns another form than it must, no score of a rung is finite, or the directory holds another search.

    Source: Jamieson and Talwalkar (2016), Non-stochastic best arm identification and hyperparameter optimization,
    AISTATS, Algorithm 1, with the rungs of Li et al. (2020), A system for massively parallel hyperparameter tuning,
    MLSys, Algorithm 1.
    """
    where, started = "successive_halving", time.perf_counter()
    min_steps = checks.integer(where, "min_steps", min_steps, 1, MOST_STEPS)
    max_steps = checks.integer(where, "max_steps", max_steps, min_steps, MOST_STEPS)
    eta = checks.integer(where, "eta", eta, 2)
    known = numbers(where, configs)
    search = Search(where, trainee, known, repeats=repeats, seed=seed, batch=batch, maximize=maximize)
    steps = [min_steps]
    while steps[-1] * eta < max_steps:
        steps.append(steps[-1] * eta)
    if steps[-1] < max_steps:
        steps.append(max_steps)
    bracket = search.bracket(known, 0, steps, eta)
    if directory is None:
        return search.result([(bracket, search.play(bracket, None))], started)
    with storage.locked(Path(directory)):
        return search.result([(bracket, search.play(bracket, Path(directory)))], started)


def numbers(where: str, configs: PyTree) -> Configs:
    """Return configurations, judged; refuse a column that is not of numbers."""
    known = configurations.read(where, configs, distinct=False)
    for name, static in zip(known.names, known.is_static, strict=True):
        if static:
            refuse(where, f": configs: {name} is static, must be numbers; call once for each of its values")
    return known


class Search:
    """What the brackets of one call have in common."""

    def __init__(
        self, where: str, trainee: Trainee, configs: Configs, *, repeats: Any, seed: Any, batch: Any, maximize: bool
    ):
        self.where, self.maximize, self._configs = where, maximize, configs
        self._repeats = checks.integer(where, "repeats", repeats, 1, trainings.MOST_REPEATS)
        self._seed = checks.integer(where, "seed", seed, 0, 2**32 - 1)
        if batch is not None:
            batch = checks.integer(where, "batch", batch, 1)
        if not isinstance(trainee, Trainee):
            refuse(where, f": trainee is a {type(trainee).__name__}, must be jb.Trainee(init, step, score)")
        self._programs: Programs = trainings.programs(where, trainee, configs.tree(), batch)
        self._said: dict[str, Any] = {"program": self._programs.digest, "batch": self._programs.batch}
        self._said |= identity.surroundings(jax.default_backend())

    def bracket(self, configs: Configs, first: int, steps: Sequence[int], eta: int) -> Bracket:
        """Return the bracket of configurations that are numbered from `first` on."""
        return Bracket(configs, first, tuple(steps), eta, self._repeats, self._seed, self.maximize)

    def play(self, bracket: Bracket, store: Path | None) -> Progress:
        """Return what the last rung of a bracket left."""
        return halve(self.where, bracket, self._programs, store, self._said)

    def result(self, played: Sequence[tuple[Bracket, Progress]], started: float) -> TuneResult:
        """Return the result of brackets whose configurations are those of the search, in order."""
        history, alive, best = _history(played), np.zeros(self._configs.count, bool), []
        for bracket, done in played:
            ranked = bracket.first + done.alive[ranking(bracket, done)] if len(done.alive) else []
            alive[ranked] = True
            best += [(float(done.scores[-1, i - bracket.first].mean()), int(i)) for i in ranked[:1]]
        if not best:
            refuse(self.where, f": {self._lost(history)}; look at init, step and score, or give other configs")
        chosen = min(best, key=lambda found: (-found[0] if self.maximize else found[0], found[1]))[1]
        last = np.zeros(self._configs.count, int)
        np.maximum.at(last, history["config"], history["batch"])
        return tune_result(
            self._configs,
            chosen,
            history,
            survivors=alive,
            counted=history["batch"] == last[history["config"]],
            maximize=self.maximize,
            notes=_notes(played, history),
            seconds={"total": time.perf_counter() - started},
        )

    def _lost(self, history: dict[str, np.ndarray]) -> str:
        """The configurations of the last rung, all lost, by the first of them."""
        steps = int(history["steps"].max())
        rows = np.unique(history["config"][history["steps"] == steps])
        first = f"configuration {rows[0]}: {self._configs.text(int(rows[0]))}"
        return f"after {steps} steps no score is finite, of {len(rows)} configurations ({first})"


def _history(played: Sequence[tuple[Bracket, Progress]]) -> dict[str, np.ndarray]:
    """A row for each time that a training was scored, in the order of rungs, bracket after bracket."""
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
    found = {name: np.concatenate(parts) for name, parts in rows.items()}
    return {"id": np.arange(len(found["config"])), **found}


def _notes(played: Sequence[tuple[Bracket, Progress]], history: dict[str, np.ndarray]) -> tuple[str, ...]:
    spent = 0
    for bracket, done in played:
        each = np.diff(bracket.steps, prepend=0)
        spent += int((done.trained.sum(axis=1) * each).sum()) * bracket.repeats
    notes = [f"{spent:,} steps in all; a training counts once for each rung that it was scored at"]
    lost = len(np.unique(history["config"][~np.isfinite(history["score"])]))
    if lost:
        notes.append(f"{lost} of the configurations had a score that is not finite, and did not go on")
    return tuple(notes)
