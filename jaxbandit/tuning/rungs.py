"""Successive halving as a loop: train the survivors to the next rung, keep the best of them; stored at every rung."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.engine import identity, storage
from jaxbandit.refusals import BadInput
from jaxbandit.tuning import trainings
from jaxbandit.tuning.configs import Configs
from jaxbandit.tuning.trainings import Programs
from jaxbandit.types import PyTree

FILE, IDENTITY = "rungs.npz", "identity.json"


class Bracket(NamedTuple):
    """What one run of successive halving is of; everything that its numbers depend on besides the programs."""

    configs: Configs
    first: int  # number of the first configuration, by which keys are told apart: brackets share none
    steps: tuple[int, ...]  # after which the survivors of each rung are compared, increasing
    eta: int  # of n configurations n // eta go on
    repeats: int  # trainings of a configuration, whose scores are averaged
    seed: int
    maximize: bool


class Progress(NamedTuple):
    """How far a bracket is."""

    scores: np.ndarray  # float64[rungs so far, configurations, repeats]; NaN where there is none
    trained: np.ndarray  # bool[rungs so far, configurations], which were trained to the rung
    alive: np.ndarray  # int64[survivors], those of the last of these rungs, or all before the first
    states: PyTree  # of the survivors, leading axis survivors * repeats


def halve(where: str, bracket: Bracket, programs: Programs, store: Path | None, said: Any) -> Progress:
    """Play a bracket and return the trainings of its last rung; it ends before where no score of a rung is finite.

    Args:
      where: who refuses.
      bracket: what to play.
      programs: of the trainee.
      store: a directory, in which a bracket that was interrupted is found again and goes on; None: nowhere.
      said: what a stored bracket must have in common with this one beside its own fields.

    Raises:
      ValueError: `store` holds another bracket.
    """
    done = None if store is None else _read(where, store, bracket, programs, said)
    batch, root = programs.batch, trainings.root(bracket.seed)
    if done is None:
        alive = np.arange(bracket.configs.count)
        begun = trainings.in_batches(lambda who, c: programs.init(who, c, root), batch, *_given(bracket, alive))
        none = 0, bracket.configs.count
        done = Progress(np.empty((*none, bracket.repeats)), np.empty(none, bool), alive, begun)
    while (rung := len(done.scores)) < len(bracket.steps):
        if rung:
            done = promoted(bracket, done)
        if not len(done.alive):
            break
        span = tuple(np.int32(t) for t in (0, *bracket.steps)[rung : rung + 2])
        who, configs = _given(bracket, done.alive)

        def advance(states: PyTree, who: Any, configs: PyTree, span: Any = span) -> PyTree:
            return programs.advance(states, who, configs, root, *span)

        states = trainings.in_batches(advance, batch, done.states, who, configs)
        found = trainings.in_batches(programs.score, batch, states, configs).astype(np.float64)
        scores, trained = np.full((1, *done.scores.shape[1:]), np.nan), np.zeros((1, bracket.configs.count), bool)
        scores[0, done.alive] = found.reshape(len(done.alive), bracket.repeats)
        trained[0, done.alive] = True
        done = Progress(
            np.concatenate([done.scores, scores]), np.concatenate([done.trained, trained]), done.alive, states
        )
        if store is not None:
            storage.write_arrays(store / FILE, _packed(done))
    return done


def promoted(bracket: Bracket, done: Progress) -> Progress:
    """Return the configurations that go on from the last rung, with their trainings as they stand."""
    places = ranking(bracket, done)[: max(len(done.alive) // bracket.eta, 1)]
    places = np.sort(places)  # as they stood: the order among survivors decides nothing
    rows = (places[:, None] * bracket.repeats + np.arange(bracket.repeats)).ravel()
    return done._replace(alive=done.alive[places], states=trainings.take(done.states, rows))


def ranking(bracket: Bracket, done: Progress) -> np.ndarray:
    """Return the places of the survivors from the best mean score down, without those whose score is not finite.

    Of equal means the lowest configuration is first.
    """
    means = done.scores[-1, done.alive].mean(axis=1)
    finite = np.flatnonzero(np.isfinite(means))
    return finite[np.argsort(-means[finite] if bracket.maximize else means[finite], kind="stable")]


def _given(bracket: Bracket, alive: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], PyTree]:
    """Who the trainings of the survivors are, as programs take it, and their configurations."""
    rows, repeats = np.repeat(alive, bracket.repeats), np.tile(np.arange(bracket.repeats), len(alive))
    who = (bracket.first + rows).astype(np.uint32), repeats.astype(np.uint32)
    return who, trainings.take(bracket.configs.tree(), rows)


def _identity(bracket: Bracket, said: Any) -> dict[str, Any]:
    own = {"configurations": bracket.configs.count, **bracket._asdict(), **said}
    own["configs"] = identity.of_arrays(bracket.configs.tree())
    return own | {"steps": list(bracket.steps)}


def _read(where: str, store: Path, bracket: Bracket, programs: Programs, said: Any) -> Progress | None:
    """Return what is stored of a bracket, None if nothing is; refuse what is stored of another one."""
    here, path = _identity(bracket, said), store / IDENTITY
    if not path.exists():
        storage.write_bytes(path, json.dumps(here, indent=1).encode())
        return None
    try:
        stored = json.loads(path.read_bytes())
    except ValueError as error:
        raise BadInput(f"{path}: not valid JSON ({error}); delete the directory to train again") from None
    if found := identity.differences(stored, here):
        raise BadInput(
            f"{where}: {store} holds another search: {'; '.join(found)}; give another directory or delete it"
        )
    if not (store / FILE).exists():
        return None
    held = storage.read_arrays(store / FILE)
    given = trainings.take(_given(bracket, np.zeros(1, int)), np.zeros(programs.batch, int))
    leaves, structure = jax.tree.flatten(jax.eval_shape(programs.init, *given, trainings.root(bracket.seed)))
    count = len(held["alive"]) * bracket.repeats
    states = [held[f"state{i}"].view(leaf.dtype).reshape(count, *leaf.shape[1:]) for i, leaf in enumerate(leaves)]
    return Progress(held["scores"], held["trained"], held["alive"], structure.unflatten(states))


def _packed(done: Progress) -> dict[str, np.ndarray]:
    """Arrays of plain dtypes: of the states their bytes, since NumPy's files do not know bfloat16."""
    leaves = [np.frombuffer(leaf.tobytes(), np.uint8) for leaf in jax.tree.leaves(done.states)]
    states = {f"state{i}": leaf for i, leaf in enumerate(leaves)}
    return {"scores": done.scores, "trained": done.trained, "alive": done.alive, **states}
