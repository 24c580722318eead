"""Which trainings a search makes: generators that yield requests and read what the evidence tells after each of them.

A request is answered completely before the next one is made, so that an allocation is a function of the scores alone.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.sessions.ask_tell import ask, tell
from jaxbandit.decide.sessions.rewards import earlier
from jaxbandit.decide.sessions.session import Session
from jaxbandit.decide.tuning.evidence import Evidence

STRIDE = 10  # rounds between two looks at bounded scores or quantiles, once there are twice as many
DRAW = 0x9E3779B9  # of the order of configurations in a search too short for a pull of each


class Request(NamedTuple):
    """Trainings to make before the next decision."""

    arms: np.ndarray  # int64[n]
    seeds: np.ndarray  # int64[n]


Allocation = Iterator[Request]


def race(evidence: Evidence, present: np.ndarray) -> Allocation:
    """Train every configuration that is not dropped at the next seed, until the achieved epsilon is small enough.

    With an epsilon of None the race ends once the best is known, with an achieved epsilon of 0.

    Args:
      evidence: the scores, which are entered between two requests.
      present: bool[K], configurations that may be trained.
    """
    seed, left, first = 0, present, first_seeds(evidence)
    while True:
        criterion = evidence.criterion
        often = criterion.score_range is None and not criterion.by_arms
        if often or seed < 2 * STRIDE or seed % STRIDE == 0:
            left, best = present & ~evidence.dropped(), evidence.recommended(present)
            good = bool(evidence.allowed()[best])
            if not left.any() or (good and (left.sum() < 2 or evidence.achieved(best) <= (criterion.epsilon or 0.0))):
                return
        arms = np.flatnonzero(left & (seed >= first))
        yield Request(arms, np.full(len(arms), seed))
        seed += 1


def first_seeds(evidence: Evidence) -> np.ndarray:
    """Return the first seed at which each configuration is trained, int64[K]."""
    sizes = np.diff([0, *(stage.size for stage in evidence.stages)])
    return np.repeat([stage.first for stage in evidence.stages], sizes)


def halving(evidence: Evidence, present: np.ndarray, budget: int, seed: int) -> Allocation:
    """Sequential halving of Karnin, Koren and Somekh (2013) on all scores so far, for budgets too small for a race.

    In each of R = ceil(log2 K) rounds, all survivors get floor(budget / (survivors R)) trainings, and the better half
    survives. A budget below K R gives one training to each configuration, and halves as many of the best as it can
    with the rest; one below K gives one training to as many as it reaches, in a random order.

    Args:
      evidence: the scores.
      present: bool[K], configurations that may be trained.
      budget: number of trainings.
      seed: seed of the random order.
    """
    alive, first = np.flatnonzero(present), first_seeds(evidence)
    if budget < len(alive):
        order = np.random.default_rng((seed, DRAW)).permutation(alive)[:budget]
        yield Request(order, first[order])
        return
    wanted, begun = np.zeros(len(present), np.int64), np.zeros(len(present), np.int64)
    if budget < len(alive) * _rounds(len(alive)):
        yield Request(alive, first[alive])
        begun[alive] = 1
        size, budget = len(alive), budget - len(alive)
        while size * _rounds(size) > budget + size:  # their first trainings have been paid for
            size -= 1
        alive, budget = _best(evidence, alive, size), budget + size
    rounds = _rounds(len(alive))
    while len(alive) > 1:
        wanted[alive] += budget // (len(alive) * rounds)
        missing = np.maximum(wanted - begun, 0)[alive]
        turns = np.concatenate([np.flatnonzero(missing > turn) for turn in range(int(missing.max(initial=0)))] or [[]])
        arms = alive[turns.astype(np.int64)]
        yield Request(arms, first[arms] + begun[arms] + earlier(arms))
        begun = np.maximum(begun, wanted)
        alive = _best(evidence, alive, -(-len(alive) // 2))


def _rounds(count: int) -> int:
    """The number of rounds in which a number of configurations is halved to one."""
    return max((count - 1).bit_length(), 1)


def _best(evidence: Evidence, arms: np.ndarray, size: int) -> np.ndarray:
    """The best of these configurations by their estimates, in the order of their numbers."""
    location = evidence.location()[arms]
    order = np.argsort(-np.where(np.isnan(location), -math.inf, location), kind="stable")
    return np.sort(arms[order[:size]])


class Played:
    """The session of a rule that a search has played so far."""

    def __init__(self, session: Session):
        """Begin with a session before its first pull."""
        self.session = session

    def allocation(
        self, arms: np.ndarray, first: np.ndarray, rewards: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> Allocation:
        """Make the pulls that the rule asks for.

        Args:
          arms: int64[n], the configuration of each arm of the rule.
          first: int64[K], the first seed of each configuration.
          rewards: function of (arms, seeds) of a request to the rewards that the rule is told.
        """
        while not self.session.stopped:
            session, pulls = ask(self.session)
            request = Request(arms[pulls.arm], pulls.index + first[arms[pulls.arm]])
            yield request
            self.session = tell(session, pulls.id, rewards(*request))
