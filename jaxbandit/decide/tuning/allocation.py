"""Which trainings a search makes: generators that yield requests and read what the evidence tells after each of them.

A request is answered completely before the next one is made, so that an allocation is a function of the scores alone.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from jaxbandit.decide.tuning.criterion import first_seeds
from jaxbandit.decide.tuning.evidence import Evidence, Known, Pull, Request

STRIDE = 10  # rounds between two looks at bounded scores or quantiles, once there are twice as many
DRAW = 0x9E3779B9  # of the order of configurations in a search too short for a pull of each


Allocation = Iterator[Request]


def race(evidence: Evidence, present: np.ndarray) -> Allocation:
    """Train every configuration that is not dropped at the next seed, until the achieved epsilon is small enough.

    With an epsilon of None the race ends once the best is known, with an achieved epsilon of 0. It ends as well when
    `evidence.pool` has no more scores of those that are left, and when bounds contradict each other for good.
    `paired_race` is the same race as a rule, without stages, pools and failures. With a quantile the bounds are those
    of `quantile_race`, which are looked at less often here. With a range the stakes are constant, because the rows of a
    pair may come in any order and begin at any stage; `betting_race` derives its stakes from the rounds before.
    """
    seed, left, first = 0, present, first_seeds(evidence.stages)
    while True:
        criterion = evidence.criterion
        often = criterion.score_range is None and not criterion.by_arms
        if often or seed < 2 * STRIDE or seed % STRIDE == 0:
            left, best = present & ~evidence.dropped(), evidence.recommended(present)
            good = bool(evidence.allowed()[best])
            if (
                not left.any()
                or evidence.crossed()
                or (good and (left.sum() < 2 or evidence.achieved(best) <= (criterion.epsilon or 0.0)))
            ):
                return
        arms = np.flatnonzero(left & (seed >= first) & (seed < evidence.pool))
        if (seed >= evidence.pool[left]).all():
            return
        yield Request(arms, np.full(len(arms), seed), _rounds(left, first, evidence.pool, seed + 1))
        seed += 1


def _rounds(left: np.ndarray, first: np.ndarray, pool: np.ndarray, seed: int) -> Callable[[Known], Iterator[Pull]]:
    """The rounds of a race from one on, if nothing more is dropped."""

    def pulls(_: Known) -> Iterator[Pull]:
        for round in range(seed, int(pool[left].max())):
            yield from ((arm, round) for arm in np.flatnonzero(left & (round >= first) & (round < pool)).tolist())

    return pulls


def halving(evidence: Evidence, survivors: np.ndarray, budget: int, seed: int) -> Allocation:
    """Sequential halving of Karnin, Koren and Somekh (2013) on all scores so far, for budgets too small for a race.

    In each of R = ceil(log2 K) rounds, all survivors get floor(budget / (survivors R)) trainings, but at least one, and
    the better half survives; `survivors`, bool[K], has in the end those that are left. A budget below K gives one
    training each to as many configurations, drawn at random.
    """
    alive, first = np.flatnonzero(survivors), first_seeds(evidence.stages)
    rounds = max((len(alive) - 1).bit_length(), 1)
    if budget < len(alive):
        order = np.random.default_rng((seed, DRAW)).permutation(alive)[:budget]
        yield Request(order, first[order])
        return
    spent = np.zeros(len(survivors), np.int64)
    for _ in range(rounds):
        each = max(budget // (len(alive) * rounds), 1)
        arms = np.tile(alive, each)
        seeds = first[arms] + spent[arms] + np.repeat(np.arange(each), len(alive))
        inside = seeds < evidence.pool[arms]
        yield Request(arms[inside], seeds[inside], _better_half(evidence, arms[inside], seeds[inside]))
        spent[alive] += each
        location = evidence.location()[alive]
        order = np.argsort(-np.where(np.isnan(location), -math.inf, location), kind="stable")
        alive = np.sort(alive[order[: -(-len(alive) // 2)]])
        survivors[:] = False
        survivors[alive] = True


def _better_half(evidence: Evidence, arms: np.ndarray, seeds: np.ndarray) -> Callable[[Known], Iterator[Pull]]:
    """The next round of sequential halving, of those that are ahead now, and with as many trainings as this one."""

    def pulls(known: Known) -> Iterator[Pull]:
        count, means, _ = evidence.moments()
        total, count = np.where(count > 0, count * means, 0.0), count.astype(np.float64)
        for arm, seed in zip(arms.tolist(), seeds.tolist(), strict=True):
            if (reward := known((arm, seed))) is not None and not math.isnan(reward):
                total[arm] += reward
                count[arm] += 1
        alive = np.unique(arms)
        mean = np.where(count[alive] > 0, total[alive] / np.maximum(count[alive], 1), -np.inf)
        best = np.sort(alive[np.argsort(-mean, kind="stable")[: -(-len(alive) // 2)]]).tolist()
        if len(alive) > 2:
            start = int(seeds.max()) + 1
            yield from ((arm, seed) for seed in range(start, start + len(arms) // len(best)) for arm in best)

    return pulls
