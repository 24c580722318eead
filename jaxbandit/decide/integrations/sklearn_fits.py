"""The fits that a search asks for, made by scikit-learn, and the pairs of a configuration and a split they are for."""

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxbandit.decide.integrations.sklearn_folds import FoldSearch
from jaxbandit.decide.integrations.sklearn_races import SplitSearch
from jaxbandit.decide.integrations.sklearn_results import Evaluation
from jaxbandit.decide.integrations.sklearn_splits import Chosen, FixedFolds, RandomSplits
from jaxbandit.decide.integrations.sklearn_versions import Fitting
from jaxbandit.decide.tuning.evidence import Request
from jaxbandit.support.extras import extra

with extra("sklearn"):
    from sklearn.exceptions import FitFailedWarning

FoldOrSplitSearch = FoldSearch | SplitSearch
ALL_FAILED = "All the "  # how scikit-learn begins to say that no fit of a call succeeded


class Fits:
    """The fits of a search, made by scikit-learn."""

    def __init__(
        self, owner: Any, fitting: Fitting, evaluate: Callable, context: Any, splits: FixedFolds | RandomSplits
    ):
        """Begin without fits of the search estimator `owner`, whose function `evaluate` makes them."""
        self._owner, self._fitting, self._evaluate = owner, fitting, evaluate
        self._context, self._splits = context, splits
        self.arms: list[int] = []
        self.splits: list[int] = []
        self.evaluations: list[Evaluation] = []
        self.last: dict[str, Any] = {}  # what scikit-learn got from the last call

    def make(self, pulls: list[tuple[int, int]], configs: list[dict[str, Any]]) -> Iterator[tuple]:
        """Fit and score configurations on splits; yield (arms, splits, evaluations) of each call."""
        wanted: defaultdict[int, list[int]] = defaultdict(list)
        for arm, index in pulls:
            wanted[arm].append(index)
        groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        for arm, indices in wanted.items():
            groups[tuple(sorted(indices))].append(arm)
        for indices, arms in groups.items():
            found = self._call([configs[arm] for arm in arms], indices)
            here = [arm for arm in arms for _ in indices]
            self.arms += here
            self.splits += list(indices) * len(arms)
            self.evaluations += found
            yield here, list(indices) * len(arms), found

    def _call(self, candidates: list[dict[str, Any]], indices: tuple[int, ...]) -> list[Evaluation]:
        self._fitting.num_splits = len(indices)
        number = len(indices) * len(candidates)
        options, context = {}, None
        if self._context is not None:
            context = self._context.subcontext(task_name="round", max_subtasks=number, sequential_subtasks=False)
            options["callback_ctx"] = context.call_on_fit_task_begin(estimator=self._owner)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitFailedWarning)  # there is one at the end
            try:
                self.last = self._evaluate(candidates, cv=Chosen(self._splits, indices), **options)
                found = self.last["evaluations"][-number:]
            except ValueError as error:
                # scikit-learn gives up if all fits of a call fail, but other configurations may still be fitted.
                if not str(error).lstrip().startswith(ALL_FAILED) or not self.evaluations:
                    raise
                seconds = (time.perf_counter() - start) / number
                found = [self._failure(str(error), seconds) for _ in range(number)]
        if context is not None:
            context.call_on_fit_task_end(estimator=self._owner)
        return found

    def _failure(self, reason: str, seconds: float) -> Evaluation:
        """The evaluation of a fit that failed, with the keys of an earlier one."""
        value, like = self._owner.error_score, self.evaluations[0]
        scores = dict.fromkeys(like["test_scores"], value) if isinstance(like["test_scores"], dict) else value
        parts = {part: scores for part in ("test_scores", "train_scores") if part in like}
        return {**parts, "fit_error": reason.strip(), "fit_time": seconds, "score_time": 0.0}


def pulls_of(request: Request, search: FoldOrSplitSearch) -> list[tuple[int, int]]:
    """The pairs of a configuration and a split that a request needs, without gaps and without what has failed."""
    pulls = []
    done = search.fits.copy()
    for arm, index in request.pulls:
        if not search.failed[arm] or isinstance(search, FoldSearch):
            # A configuration that was excluded by one that failed since has splits to catch up with.
            pulls += [(arm, i) for i in range(int(done[arm]), index + 1)]
            done[arm] = max(done[arm], index + 1)
    return pulls


def foremost(pulls: list[tuple[int, int]], search: FoldOrSplitSearch, room: int) -> list[tuple[int, int]]:
    """The first pulls of the configurations with the largest means, as many as there is room for."""
    if search.fits.any() and isinstance(search, SplitSearch):
        means = np.nan_to_num(search.evidence.location(), nan=-np.inf)
        pulls = sorted(pulls, key=lambda pull: (pull[1], -means[pull[0]], pull[0]))
    return pulls[:room]
