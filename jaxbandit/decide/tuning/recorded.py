"""Scores that were recorded before a search: a table in place of a training function, or known scores of one.

A table is a finite pool, in which every score can be had once: score number j of a configuration is that in column j.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from jaxbandit.decide.sessions.rewards import LARGEST
from jaxbandit.decide.tuning.configs import Configs, objects
from jaxbandit.decide.tuning.criterion import UNSEEN
from jaxbandit.decide.tuning.settings import Settings
from jaxbandit.decide.tuning.store import Outcome, Store
from jaxbandit.support import checks
from jaxbandit.support.refusals import what_is_saved
from jaxbandit.support.types import PyTree

POPULATION = (
    "means are those over the infinite population of seeds from which the {} of the table were drawn, and not those of "
    "the table, for which the statements are conservative"
)
GAPS = (
    "the scores of seeds that some configurations lack come last, and after its first gap no score of a configuration "
    "is used ({:,} of {:,} scores are); which ones are missing must not depend on the scores"
)


class Recorded(NamedTuple):
    """Known scores by configuration and seed."""

    scores: np.ndarray  # float64[K, n], NaN where there is none
    columns: np.ndarray  # int64[n], column of the given table that each seed is
    gaps: bool  # whether a score is missing

    @property
    def pool(self) -> np.ndarray:
        """The number of scores that each configuration has before its first gap, int64[K]."""
        known = ~np.isnan(self.scores)
        return np.where(known.all(axis=1), known.shape[1], np.argmin(known, axis=1))

    def notes(self, why: str, left: int, used: int) -> tuple[str, ...]:
        """Return what belongs to the numbers of a search in a table."""
        rest = int(self.pool.sum()) - used
        end = f"{rest:,} further scores of the table were not used" if rest else "all scores of the table were used"
        if why == "table":
            end = f"the table has ended: it has no more scores of the {left} configurations that may be the best"
        gaps = [GAPS.format(int(self.pool.sum()), int((~np.isnan(self.scores)).sum()))] if self.gaps else []
        return (end, POPULATION.format(f"{self.scores.shape[1]:,} seeds"), *gaps)

    def limited(self, given: Settings, asked: object) -> Settings:
        """Return the settings of a search in a table; without `asked`, min_trainings is at most what the table has."""
        if asked is not None or given.criterion.min_trainings <= 1:
            return given
        least = max(min(UNSEEN, self.scores.shape[1], given.criterion.min_trainings), 1)
        return given._replace(criterion=replace(given.criterion, min_trainings=least))

    def enter(self, store: Store, numbers: np.ndarray, space: Configs, *, whole: bool) -> None:
        """Add the scores to a store that does not have them."""
        new: list[tuple[int, int, float]] = []
        for row, count in enumerate(self.pool.tolist()):
            for seed in np.flatnonzero(~np.isnan(self.scores[row, : None if whole else count])).tolist():
                score, known = float(self.scores[row, seed]), store.outcome(int(numbers[row]), seed)
                if known is None or np.isnan(known.score):
                    new.append((int(numbers[row]), seed, score))
                elif known.score != score:
                    what = f"scores[{row}, {seed}] = {score:g}, but the directory has {known.score:g}"
                    raise ValueError(f"{what} for {space.text(row)} at seed {seed}; leave it out, or make it NaN")
        if new:
            arms, seeds, scores = zip(*new, strict=True)
            store.add(arms, seeds, [Outcome(score) for score in scores])


def table(given: Any, configs: PyTree | None) -> tuple[Recorded, PyTree]:
    """Return the scores of a table that is given in the place of a training function, and its configurations.

    Seeds that all configurations have come first, because comparisons use seeds that both configurations have.

    Args:
      given: scores[configs, seeds], as a DataFrame, an array or a list of lists; NaN where there is no score.
      configs: the configurations; None to name them by the index of a DataFrame, or by their numbers.
    """
    if not (hasattr(given, "__array__") or isinstance(given, list | tuple)):
        what = "a function of (key, config) or (seed: int, config), or scores[configs, seeds]"
        checks.wrong("train", given, what)
    known = known_scores("train", given)
    missing = np.isnan(known.scores).sum(axis=0)
    order = np.argsort(missing, kind="stable") if missing.any() else known.columns
    known = Recorded(known.scores[:, order], order, bool(missing.any()))
    if configs is None:
        index = getattr(given, "index", None) if hasattr(given, "to_numpy") else None
        configs = {"config": np.arange(len(known.scores)) if index is None else _named(index)}
    return known, configs


def _named(index: Any) -> np.ndarray:
    labels = index.to_numpy()
    return labels if labels.dtype.kind in "iufb" else objects([str(label) for label in labels.tolist()])


def known_scores(name: str, given: Any) -> Recorded:
    """Return checked scores[configs, seeds]; `name` is the argument, for messages."""
    try:
        scores = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} is not a table of numbers, scores[configs, seeds], with NaN where there is none"
        ) from None
    if scores.ndim != 2 or not scores.size:
        shape = list(scores.shape)
        raise ValueError(f"{name} has shape {shape}, must be scores[configs, seeds], one row for each configuration")
    if (bad := np.argwhere(np.abs(np.nan_to_num(scores, nan=0.0)) > LARGEST)).size:
        row, seed = bad[0].tolist()
        raise ValueError(f"{name}[{row}, {seed}] = {scores[row, seed]}, must be a finite number, or NaN for no score")
    return Recorded(scores, np.arange(scores.shape[1]), bool(np.isnan(scores).any()))


def keep(error: BaseException, store: Store, numbers: np.ndarray, path: Path | None) -> None:
    """Give an error that ends a search the scores so far, as its attribute, and a note if nothing stores them."""
    scores = np.full((len(numbers), store.next_seed()), np.nan)
    for row, number in enumerate(numbers.tolist()):
        for seed, outcome in store.all_of(number, scores.shape[1]):
            scores[row, seed] = outcome.score
    error.scores = scores  # pyright: ignore[reportAttributeAccessIssue]
    if path is None and (count := int((~np.isnan(scores)).sum())):
        what = f"the {count:,} scores so far are the attribute scores of this error, for tune(..., scores=)"
        error.add_note(f"{what_is_saved(None, 'directory')}; {what}")


def check_count(name: str, known: Recorded, space: Configs) -> None:
    """Check that there is a row for each configuration."""
    if len(known.scores) != space.count:
        hint = "; give the transposed table" if known.scores.shape[1] == space.count else ""
        what = f"{name} has {len(known.scores)} rows for {space.count} configurations, must have one for each"
        raise ValueError(what + hint)


def no_training(*_: Any) -> NoReturn:
    """Stand in the place of the training function of a table, which nobody calls."""
    raise AssertionError("a table has no training function")
