"""The loop of successive halving: train the survivors to the next rung, keep the best of them, and store the state."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.decide.sessions.rewards import usable
from jaxbandit.decide.tuning import trainings
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.trainings import Programs
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage import identity
from jaxbandit.engine.storage.json_files import read_json, write_json
from jaxbandit.support.refusals import error_line
from jaxbandit.support.types import PyTree

FILE, IDENTITY = "rungs.npz", "identity.json"
REMEDY = f"{storage.RESTORE}, or give another directory to train again"


class Bracket(NamedTuple):
    """The specification of one run of successive halving: all that its results depend on except the programs."""

    configs: Configs
    first: int  # number of the first configuration; brackets use disjoint ranges of numbers, so that they share no keys
    steps: tuple[int, ...]  # numbers of steps after which survivors are compared, increasing
    eta: int  # n // eta of n configurations continue
    repeats: int  # number of trainings of a configuration, whose scores are averaged
    seed: int
    maximize: bool


class Rung(NamedTuple):
    """The state of a bracket after a rung."""

    scores: np.ndarray  # float64[rungs so far, configurations, repeats]; NaN if there is no score
    trained: np.ndarray  # bool[rungs so far, configurations], whether each was trained to the rung
    alive: np.ndarray  # int64[survivors], those trained to the last of these rungs; all before the first
    states: PyTree  # states of the survivors, with leading axis survivors * repeats


def halve(bracket: Bracket, programs: Programs, store: Path | None, more_identity: Mapping[str, Any]) -> Rung:
    """Play a bracket and return its state after the last rung. It ends earlier if no score of a rung is usable."""
    done = None if store is None else _read(store, bracket, programs, more_identity)
    batch, root = programs.batch, trainings.root(bracket.seed)
    if done is None:
        alive = np.arange(bracket.configs.count)
        begun = trainings.in_batches(lambda who, c: programs.init(who, c, root), batch, *_inputs(bracket, alive))
        none = 0, bracket.configs.count
        done = Rung(np.empty((*none, bracket.repeats)), np.empty(none, bool), alive, begun)
    while (rung := len(done.scores)) < len(bracket.steps):
        if rung:
            done = promoted(bracket, done)
        if not len(done.alive):
            break
        span = tuple(np.int32(t) for t in (0, *bracket.steps)[rung : rung + 2])
        who, configs = _inputs(bracket, done.alive)

        def advance(states: PyTree, who: PyTree, configs: PyTree, span: tuple[np.int32, ...] = span) -> PyTree:
            return programs.advance(states, who, configs, root, *span)

        try:
            states = trainings.in_batches(advance, batch, done.states, who, configs)
            values = trainings.in_batches(programs.score, batch, states, configs).astype(np.float64)
        except Exception as error:
            raise ValueError(
                f"trainings fail between step {span[0]} and step {span[1]}: {error_line(error)}"
            ) from error
        scores, trained = np.full((1, *done.scores.shape[1:]), np.nan), np.zeros((1, bracket.configs.count), bool)
        scores[0, done.alive] = values.reshape(len(done.alive), bracket.repeats)
        trained[0, done.alive] = True
        done = Rung(np.concatenate([done.scores, scores]), np.concatenate([done.trained, trained]), done.alive, states)
        if store is not None:
            storage.write_arrays(store / FILE, _packed(done))
    return done


def promoted(bracket: Bracket, done: Rung) -> Rung:
    """Return the state with only the configurations that continue from the last rung."""
    places = ranking(bracket, done)[: max(len(done.alive) // bracket.eta, 1)]
    places = np.sort(places)  # the original order, because the order of the survivors has no effect
    rows = (places[:, None] * bracket.repeats + np.arange(bracket.repeats)).ravel()
    return done._replace(alive=done.alive[places], states=trainings.take(done.states, rows))


def ranking(bracket: Bracket, done: Rung) -> np.ndarray:
    """Return the positions of the survivors in descending order of quality, without those with an unusable score.

    Among equal means, the configuration with the lowest index is first.
    """
    scores = done.scores[-1, done.alive]
    places = np.flatnonzero(usable(scores).all(axis=1))
    means = scores[places].mean(axis=1)
    return places[np.argsort(-means if bracket.maximize else means, kind="stable")]


def _inputs(bracket: Bracket, alive: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], PyTree]:
    """The identities of the survivors' trainings, as `Programs` expects them, and their configurations."""
    rows, repeats = np.repeat(alive, bracket.repeats), np.tile(np.arange(bracket.repeats), len(alive))
    who = (bracket.first + rows).astype(np.uint32), repeats.astype(np.uint32)
    return who, trainings.take(bracket.configs.tree(), rows)


def _identity(bracket: Bracket, more_identity: Mapping[str, Any]) -> dict[str, Any]:
    own = {"configurations": bracket.configs.count, **bracket._asdict(), **more_identity}
    own["configs"] = identity.of_arrays(bracket.configs.tree())
    return own | {"steps": list(bracket.steps)}


def _read(store: Path, bracket: Bracket, programs: Programs, more_identity: Mapping[str, Any]) -> Rung | None:
    """Return the stored state of a bracket, or None if there is none; raise an error if it is of another bracket."""
    here, path = _identity(bracket, more_identity), store / IDENTITY
    if not path.exists():
        write_json(path, here)
        return None
    if differences := identity.differences(read_json(path, REMEDY), here):
        raise ValueError(f"{store} holds another search: {'; '.join(differences)}; give another directory")
    if not (store / FILE).exists():
        return None
    arrays = storage.read_arrays(store / FILE, REMEDY)
    inputs = trainings.take(_inputs(bracket, np.zeros(1, int)), np.zeros(programs.batch, int))
    leaves, structure = jax.tree.flatten(jax.eval_shape(programs.init, *inputs, trainings.root(bracket.seed)))
    count = len(arrays["alive"]) * bracket.repeats
    states = [arrays[f"state{i}"].view(leaf.dtype).reshape(count, *leaf.shape[1:]) for i, leaf in enumerate(leaves)]
    return Rung(arrays["scores"], arrays["trained"], arrays["alive"], structure.unflatten(states))


def _packed(done: Rung) -> dict[str, np.ndarray]:
    """The state as arrays of plain dtypes, of trainings as bytes, because NumPy's files do not support bfloat16."""
    leaves = [np.frombuffer(leaf.tobytes(), np.uint8) for leaf in jax.tree.leaves(done.states)]
    states = {f"state{i}": leaf for i, leaf in enumerate(leaves)}
    return {"scores": done.scores, "trained": done.trained, "alive": done.alive, **states}
