"""How a study decides what to try next: the default race, or the session of a rule, replayed on the study's values."""

from collections.abc import Mapping

import numpy as np

from jaxbandit.decide.integrations.optuna_trials import Pull
from jaxbandit.decide.sessions.ask_tell import ask, tell
from jaxbandit.decide.sessions.session import Session
from jaxbandit.decide.tuning import allocation
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.decide.tuning.rules import chosen


class RacePlay:
    """The default race."""

    def __init__(self, evidence: Evidence, present: np.ndarray):
        """Begin the race of those that are `present`; `evidence` has the rewards of all others, and no more."""
        self._evidence, self._present = evidence, present
        self._requests = allocation.race(evidence, present)
        self.pending: list[Pull] = []
        self.stopped = False
        self._next()

    def _next(self) -> None:
        request = next(self._requests, None)
        self.stopped = request is None
        self.pending = [] if request is None else list(zip(request.arms.tolist(), request.seeds.tolist(), strict=True))

    def advance(self, rewards: Mapping[Pull, float]) -> None:
        """Take the rewards of whole rounds."""
        while not self.stopped and all(pull in rewards for pull in self.pending):
            if self.pending:
                arms, indices = np.array(self.pending).T
                self._evidence.enter(arms, indices, np.array([rewards[pull] for pull in self.pending]))
            self._next()

    @property
    def arm(self) -> int:
        """The configuration that is recommended."""
        return self._evidence.recommended(self._present)


class RulePlay:
    """The session of a rule."""

    def __init__(self, start: Session, arms: np.ndarray, first: np.ndarray, mirror: float):
        """Begin with a session before its first pull.

        `arms` has the configuration of each arm of the rule, int64[n], and `first` the first index of each
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
            arms = self._arms[asked.arm]
            pulls = zip(asked.id.tolist(), arms.tolist(), (asked.index + self._first[arms]).tolist(), strict=True)
            self._asked = {id: (arm, index) for id, arm, index in pulls}

    @property
    def arm(self) -> int:
        """The configuration that is recommended."""
        return int(self._arms[chosen(self.session)])
