"""A study of Optuna as one sampler sees it: its configurations, what is compared, and what to try next."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.integrations.optuna_certificate import certified
from jaxbandit.decide.integrations.optuna_trials import Entrants, Pulls, enter, entrants, evidence
from jaxbandit.decide.sessions.session import Session
from jaxbandit.decide.tuning.criterion import first_seeds
from jaxbandit.decide.tuning.evidence import Pull
from jaxbandit.decide.tuning.plays import Play, RacePlay, RulePlay
from jaxbandit.decide.tuning.settings import Settings
from jaxbandit.support import domains
from jaxbandit.support.extras import extra

with extra("optuna"):
    from optuna.study import Study

TRIES = 3  # failures and prunings of one pull before the study ends


class Arguments(NamedTuple):
    """The arguments of a sampler."""

    configs: Sequence[Mapping[str, Any]]
    start: Session | None  # of its rule, before the first pull
    blind: bool
    reuse: bool


class OpenStudy:
    """A study that a sampler has entered with its configurations."""

    def __init__(self, study: Study, given: Settings, arguments: Arguments):
        """Enter the configurations that are new to the study."""
        configs, criterion = arguments.configs, given.criterion
        known = enter(study, configs, criterion, blind=arguments.blind, reuse=arguments.reuse)
        self._numbers = known.numbers(configs)
        # The configurations themselves, and not what JSON makes of them.
        own = dict(zip(self._numbers, map(dict, configs), strict=True))
        self._known = known._replace(configs=[own.get(i, config) for i, config in enumerate(known.configs)])
        # Of reused trials no two share their randomness, so that each configuration has bounds of its own.
        criterion = dataclasses.replace(criterion, growth=known.growth, unpaired=bool(known.earlier))
        self._given = given._replace(criterion=criterion)
        self._place = _place(study, known)
        self.play = self._begun(self._pulls(study), arguments.start)

    def is_of(self, study: Study) -> bool:
        """Return whether this is the study, and nobody has entered it since."""
        known = entrants(study)
        return known is not None and _place(study, known) == self._place

    def _pulls(self, study: Study) -> Pulls:
        return Pulls(study, self._known, self._given.criterion.on_failure)

    def _begun(self, pulls: Pulls, start: Session | None) -> Play:
        """The race or the rule, before its first pull."""
        known, arms, given = self._known, np.array(self._numbers), self._given
        if start is not None:
            return RulePlay(start, arms, first_seeds(known.stages), given.mirror)
        present = np.zeros(len(known.configs), bool)
        present[arms] = True
        return RacePlay(evidence(given.criterion, known, pulls, np.flatnonzero(~present).tolist()), present)

    def advance(self, study: Study) -> Pulls:
        """Tell the race or the rule the values of the study's trials, and return the study's pulls."""
        pulls, given = self._pulls(study), self._given
        for pull, reward in pulls.rewards.items():
            if not given.low <= (value := pulls.sign * reward) <= given.high:
                what = f"{self.config(pull[0])} has the value {value} at index {pull[1]}"
                raise ValueError(f"{what}, must be in {domains.interval(given.low, given.high)}, {given.whose}")
        self.play.advance(pulls.rewards)
        return pulls

    def config(self, arm: int) -> dict[str, Any]:
        """Return the configuration of this number."""
        return self._known.configs[arm]

    def next_pull(self, pulls: Pulls) -> Pull:
        """Return the pull of a new trial."""
        if self.play.stopped:
            return self.play.arm, pulls.tried[self.play.arm]
        missing = [pull for pull in self.play.pending if pull not in pulls.rewards]
        # The first pull without a running trial, if there is one.
        pull = min(missing, key=lambda pull: pulls.running[pull])
        failed, pruned = pulls.failures[pull], pulls.prunings[pull]
        if failed + pruned >= TRIES:
            ends = [("has failed", failed), ("was pruned", pruned)]
            what = " and ".join(f"{verb} {_times(number)}" for verb, number in ends if number)
            why = " (|value| > 1e150)" if pull in pulls.huge else ""
            remedy = f"set on_failure to the value that a {'failed' if failed else 'pruned'} trial should have"
            remedy += "" if failed else ", or give the study optuna.pruners.NopPruner()"
            raise ValueError(f"{self.config(pull[0])} {what} at index {pull[1]}{why}; {remedy}")
        return pull

    def certificate(self, pulls: Pulls) -> Certificate:
        """Return what is known of the study."""
        return certified(self._given, self._known, self._numbers, pulls, self.play)


def _place(study: Study, known: Entrants) -> tuple[Any, int, int]:
    return study._storage, study._study_id, len(known.stages)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
