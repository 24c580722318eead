"""How a decision asks for trainings and is told their rewards: the default race, or the session of a rule."""

from collections.abc import Iterator, Mapping

import numpy as np

from jaxbandit.decide.sessions.changes import tell
from jaxbandit.decide.sessions.ledger import Pulls
from jaxbandit.decide.sessions.next_pulls import LIMIT, ask
from jaxbandit.decide.sessions.session import Session
from jaxbandit.decide.tuning.allocation import Allocation, race
from jaxbandit.decide.tuning.evidence import Evidence, Known, Pull, Request


class RacePlay:
    """The default race, told the rewards of whole rounds."""

    def __init__(self, evidence: Evidence, present: np.ndarray):
        """Begin the race of those that are `present`; `evidence` has the rewards of all others, and no more."""
        self._evidence, self._present = evidence, present
        self._requests = race(evidence, present)
        self._next()

    def _next(self) -> None:
        request = next(self._requests, None)
        self.stopped, self.pending = request is None, [] if request is None else request.pulls

    def advance(self, rewards: Mapping[Pull, float]) -> None:
        """Take the rewards of whole rounds."""
        while not self.stopped and all(pull in rewards for pull in self.pending):
            if self.pending:
                arms, seeds = np.array(self.pending).T
                self._evidence.enter(arms, seeds, np.array([rewards[pull] for pull in self.pending]))
            self._next()

    @property
    def arm(self) -> int:
        """The configuration that is recommended."""
        return self._evidence.recommended(self._present)


def one_of(session: Session, count: int) -> None:
    """Check that the rule of a session has one arm for each configuration and recommends one of them."""
    if session.num_arms != count:
        raise ValueError(f"rule has {session.num_arms} arms, must have one for each of {count} configurations")
    named = 0 if session.recommendation is None else len(session.recommendation)
    if named != 1:
        raise ValueError(f"rule recommends {named} arms, must recommend one")


class RulePlay:
    """The session of a rule, told the rewards of its pulls."""

    def __init__(self, start: Session, arms: np.ndarray, first: np.ndarray, mirror: float = 0.0):
        """Begin with a session before its first pull.

        `arms` has the configuration of each arm of the rule, int64[n], and `first` the first seed of each
        configuration, int64[K]; `mirror` is added to each reward before the rule is told.
        """
        self.session, self._arms, self._first, self.mirror = start, arms, first, mirror
        self._asked: dict[int, Pull] = {}

    @property
    def pending(self) -> list[Pull]:
        """Pulls without a reward."""
        return list(self._asked.values())

    @property
    def stopped(self) -> bool:
        """Whether the rule has stopped."""
        return self.session.stopped

    def advance(self, rewards: Mapping[Pull, float]) -> None:
        """Take the rewards of the pulls that the rule has asked for, until one is missing."""
        while True:
            known = {id: self.mirror + rewards[pull] for id, pull in self._asked.items() if pull in rewards}
            if known:
                self.session = tell(self.session, np.array(list(known)), np.array(list(known.values())))
                self._asked = {id: pull for id, pull in self._asked.items() if id not in known}
            if self.session.stopped or self._asked:
                return
            self.session, asked = ask(self.session)
            self._asked = self._pulls(asked)

    def _pulls(self, asked: Pulls) -> dict[int, Pull]:
        """The pulls of a session by their ids."""
        arms = self._arms[asked.arm]
        pulls = zip(asked.id.tolist(), arms.tolist(), (asked.index + self._first[arms]).tolist(), strict=True)
        return {id: (arm, seed) for id, arm, seed in pulls}

    def _sequel(self, known: Known) -> Iterator[Pull]:
        """What a race asks for next if it drops no arm; nothing if the rule is no race."""
        if self.session.programs.repeats:
            _, further = ask(self.session, limit=len(self._asked) + LIMIT)
            yield from (pull for id, pull in self._pulls(further).items() if id not in self._asked)

    def requests(self, evidence: Evidence) -> Allocation:
        """Yield what the rule asks for, and tell it what the evidence then has, until it stops."""
        self.advance({})
        while not self.stopped:
            arms, seeds = np.array(self.pending).T
            request = Request(arms, seeds, self._sequel)
            yield request
            self.advance(dict(zip(self.pending, evidence.rewards(request), strict=True)))

    @property
    def arm(self) -> int:
        """The configuration that is recommended."""
        assert self.session.recommendation is not None
        return int(self._arms[self.session.recommendation[0]])


Play = RacePlay | RulePlay
