"""Searches for `decisions`: many at once by tables of all bounds, and single ones by the allocations of `tune`."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.decisions_worlds import World
from jaxbandit.decide.tuning import allocation
from jaxbandit.decide.tuning.criterion import Criterion, Stage
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.theory.comparisons.achieved import log_level
from jaxbandit.theory.comparisons.betting import STAKES, log_mixture
from jaxbandit.theory.comparisons.pairs import radius, smallest_sample

CHUNK = 6_000_000  # entries of a table of bounds


def running_bounds(scores: np.ndarray, log_alpha: float, min_size: int = 1) -> np.ndarray:
    """Return the least bound of mu_l - mu_i so far for all pairs and prefixes, float64[runs, n + 1, K, K].

    They are those of `PairedDifferences`, from sums over all rows at once.
    """
    n = np.arange(1.0, scores.shape[1] + 1)[:, None, None]
    apart = scores[..., :, None] - scores[..., None, :]
    means, squares = np.cumsum(apart, axis=1) / n, np.cumsum(apart**2, axis=1) / n
    variances = squares - means**2
    variances[variances < 1e-12 * squares] = 0.0  # what rounding leaves of a constant difference
    r = radius(n, log_alpha)
    r[: min_size - 1] = np.inf
    known = np.isfinite(r)
    bounds = np.where(known, means + np.sqrt(variances) * np.where(known, r, 0.0), np.inf)
    first = np.full_like(bounds[:, :1], np.inf)
    return np.concatenate([first, np.minimum.accumulate(bounds, axis=1)], axis=1)


class Searches:
    """Searches on the same scores of each run, for which every bound is computed beforehand."""

    def __init__(self, scores: np.ndarray, delta: float, min_size: int = 1, epsilon: float = 0.0):
        """Begin before the first pull, with scores of float64[runs, n, K]."""
        self.scores, self.epsilon = scores, epsilon
        self.runs, self.rows, self.arms = scores.shape
        level = log_level(delta, self.arms)
        self._bounds = running_bounds(scores, level, min_size)
        self._sums = np.concatenate([np.zeros((self.runs, 1, self.arms)), np.cumsum(scores, axis=1)], axis=1)
        self._squares = np.concatenate([np.zeros((self.runs, 1, self.arms)), np.cumsum(scores**2, axis=1)], axis=1)
        self._run, self._arm = np.arange(self.runs), np.arange(self.arms)
        self.first_size = smallest_sample(level)
        self.begin()

    def last_bounds(self) -> np.ndarray:
        """Return the least bounds over all rows, float64[runs, K, K]."""
        return self._bounds[:, -1]

    def begin(self) -> None:
        """Forget all pulls."""
        self.counts = np.zeros((self.runs, self.arms), np.int64)
        self.look()

    def pull(self, which: np.ndarray) -> None:
        """Pull the arms of a mask once, bool[runs, K]; an arm without further rows is not pulled."""
        self.counts = np.minimum(self.counts + which, self.rows)
        self.look()

    def look(self) -> None:
        """Compute the bounds of all pairs, what is excluded, the recommendation, and what each arm achieves."""
        common = np.minimum(self.counts[:, :, None], self.counts[:, None, :])
        self.upper = self._bounds[self._run[:, None, None], common, self._arm[:, None], self._arm]
        self.upper[:, self._arm, self._arm] = 0.0
        self.excluded = np.asarray((self.upper < 0).any(axis=2))
        self.achieved = np.maximum(np.where(self.excluded[:, :, None], -np.inf, self.upper).max(axis=1), 0.0)
        everything = self.excluded.all(axis=1, keepdims=True)
        left = ~self.excluded | everything
        most = np.where(left, self.counts, -1)
        most = left & (most == most.max(axis=1, keepdims=True))
        self.best = np.argmax(np.where(most, self.means(), -np.inf), axis=1)

    def means(self) -> np.ndarray:
        """Return the means so far, float64[runs, K], 0 without a score."""
        return self._sums[self._run[:, None], self.counts, self._arm] / np.maximum(self.counts, 1)

    def deviations(self) -> np.ndarray:
        """Return the standard errors of the means so far, float64[runs, K]."""
        n, means = self.counts, self.means()
        variances = self._squares[self._run[:, None], n, self._arm] / np.maximum(n, 1) - means**2
        return np.sqrt(np.maximum(variances, 0) / np.maximum(n - 1, 1))


Rule = Callable[[Searches, int, np.random.Generator], Iterator[np.ndarray]]


def uniform(searches: Searches, budget: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Pull all arms in turn."""
    for _ in range(budget // searches.arms):
        yield np.ones_like(searches.excluded)


def halving(searches: Searches, budget: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Keep the better half of the arms by all scores so far."""
    alive, left = np.ones_like(searches.excluded), searches.arms
    rounds = (left - 1).bit_length()
    for _ in range(rounds):
        for _ in range(budget // (left * rounds)):
            yield alive
        left = -(-left // 2)
        order = np.argsort(-np.where(alive, searches.means(), -np.inf), axis=1, kind="stable")
        alive = np.zeros_like(alive)
        np.put_along_axis(alive, order[:, :left], True, axis=1)


def top_two(searches: Searches, budget: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Pull each arm until its first bounds, then of the leader and its strongest rival the one with fewer pulls."""
    for _ in range(searches.first_size):
        yield np.ones_like(searches.excluded)
    run = np.arange(searches.runs)
    run = np.arange(searches.runs)
    while (left := searches.counts.sum(axis=1) < budget - 1).any():
        before, mask = searches.counts.sum(), np.zeros_like(searches.excluded)
        upper = np.where(searches.excluded, -np.inf, searches.upper[run, :, searches.best])
        upper[run, searches.best] = -np.inf
        pair = np.stack([searches.best, np.argmax(upper, axis=1)], axis=1)
        counts = np.take_along_axis(searches.counts, pair, axis=1)
        np.put_along_axis(mask, pair, (counts == counts.min(axis=1, keepdims=True)) & left[:, None], axis=1)
        yield mask
        if searches.counts.sum() == before:
            return


def race(searches: Searches, budget: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Pull all arms that are not excluded, until what is achieved is at most `searches.epsilon`."""
    run, going = np.arange(searches.runs), np.ones(searches.runs, bool)
    for _ in range(budget):
        yield ~searches.excluded & going[:, None]
        going &= searches.achieved[run, searches.best] > searches.epsilon
        if not going.any():
            return


def thompson(searches: Searches, budget: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Pull the arm with the largest draw of a posterior of its mean."""
    for _ in range(3):
        yield np.ones_like(searches.excluded)
    run = np.arange(searches.runs)
    for _ in range(budget - 3 * searches.arms):
        draws = searches.means() + searches.deviations() * rng.standard_t(searches.counts - 1)
        mask = np.zeros_like(searches.excluded)
        mask[run, np.argmax(draws, axis=1)] = True
        yield mask


ALLOCATIONS: dict[str, Rule] = {
    "halving": halving, "uniform": uniform, "top-two": top_two, "thompson": thompson,
}  # fmt: skip


class Statements(NamedTuple):
    """Of each run, whether a statement was false, and what was achieved in the end."""

    random_time: np.ndarray  # bool[runs], of the recommended arm after a random number of pulls
    end: np.ndarray  # bool[runs], of the recommended arm
    ever: np.ndarray  # bool[runs], of the recommended arm at the worst time
    any_arm: np.ndarray  # bool[runs], of any arm at the worst time
    achieved: np.ndarray  # float64[runs]
    pulls: np.ndarray  # int64[runs], at which the achieved epsilon became 0, or the budget


def play(searches: Searches, means: np.ndarray, rule: Rule, budget: int, seed: int) -> Statements:
    """Play an allocation and check every statement on the way."""
    rng, run = np.random.default_rng(seed), np.arange(searches.runs)
    searches.begin()
    regret, wrong, any_arm = means.max() - means, [], np.zeros(searches.runs, bool)
    pulls = np.full(searches.runs, budget)
    for mask in rule(searches, budget, rng):
        searches.pull(mask)
        shortfall = regret > searches.achieved + 1e-12
        wrong.append(shortfall[run, searches.best])
        any_arm |= shortfall.any(axis=1)
        done = (searches.achieved[run, searches.best] == 0) & (pulls == budget)
        pulls = np.where(done, searches.counts.sum(axis=1), pulls)
    table = np.array(wrong)
    times = rng.integers(len(table), size=searches.runs)
    return Statements(
        table[times, run],
        table[-1],
        np.asarray(table.any(axis=0)),
        any_arm,
        searches.achieved[run, searches.best],
        pulls,
    )


def chunks(
    world: World, runs: int, rows: int, delta: float, seed: int, min_size: int = 1, epsilon: float = 0.0
) -> Iterator[Searches]:
    """Yield searches of `runs` runs in all, as many at once as memory allows."""
    arms, rng = len(world.means), np.random.default_rng(seed)
    each = max(CHUNK // (rows * arms * arms), 1)
    for start in range(0, runs, each):
        scores = np.stack([world.draw(rng, rows) for _ in range(min(each, runs - start))])
        yield Searches(scores, delta, min_size, epsilon)


def joined(parts: list[Statements]) -> Statements:
    """Return the statements of all chunks."""
    return Statements(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def ever_wrong_by_bets(world: World, runs: int, rows: int, delta: float, seed: int, width: float) -> np.ndarray:
    """Return in which runs some bound of the best arm, by bets, is wrong at some time, bool[runs].

    Such an error is necessary for any statement of any allocation to be wrong.
    """
    rng, best = np.random.default_rng(seed), int(np.argmax(world.means))
    rivals = np.arange(len(world.means)) != best
    true = (world.means[best] - world.means[rivals]) / width
    wrong = np.zeros(runs, bool)
    for run in range(runs):
        scores = world.draw(rng, rows)
        apart = (scores[:, [best]] - scores[:, rivals]) / width
        logs = np.log1p(STAKES * ((true - apart) / (1 - true))[..., None])
        wrong[run] = bool((log_mixture(np.cumsum(logs, axis=0)) >= -log_level(delta, len(world.means))).any())
    return wrong


# ---- single searches


def evidence(criterion: Criterion, arms: int) -> Evidence:
    """Return what a search without scores knows."""
    return Evidence(criterion, [Stage(arms, 0, False)])


def search(seen: Evidence, requests: allocation.Allocation, scores: np.ndarray, budget: int | None = None) -> int:
    """Make the trainings that an allocation of `tune` asks for, and return how many there were."""
    spent = 0
    for arms, seeds, _ in requests:
        if budget is not None:
            arms, seeds = arms[: budget - spent], seeds[: budget - spent]
        seen.enter(arms, seeds, scores[seeds, arms])
        spent += len(arms)
        if spent == budget:
            break
    return spent


def leader_and_rival(seen: Evidence, arms: int) -> allocation.Allocation:
    """Ask for the first bounds of every arm, then for the leader and the rival that may exceed it by most."""
    everyone, first = np.arange(arms), smallest_sample(log_level(seen.criterion.delta, arms))
    for seed in range(first):
        yield allocation.Request(everyone, np.full(arms, seed))
    while True:
        best = seen.recommended(np.ones(arms, bool))
        comparison = seen.comparison()
        upper = np.where(comparison.excluded(), -np.inf, comparison.upper(best))
        upper[best] = -np.inf
        rival = int(np.argmax(upper))
        if upper[rival] == -np.inf:
            return
        pair = np.array([best, rival])
        pair = pair[seen.trainings[pair] == seen.trainings[pair].min()]
        yield allocation.Request(pair, seen.trainings[pair])
