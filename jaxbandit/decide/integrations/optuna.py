"""Optuna: a sampler that repeats configurations of a fixed list under a rule, and a callback that stops a study."""

import dataclasses
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandit.base import checks, domains
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.extras import extra
from jaxbandit.base.refusals import refuse
from jaxbandit.decide.integrations.optuna_configs import checked, plain
from jaxbandit.decide.sessions.ask_tell import ask, tell
from jaxbandit.decide.sessions.certificate import Certificate
from jaxbandit.decide.sessions.certifying import certificate as of_session
from jaxbandit.decide.sessions.rewards import LARGEST, usable
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.decide.tuning.rules import check_agreement, chosen, default_rule, one_of
from jaxbandit.engine.rounds import fit

with extra("optuna"):
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState

WHERE = "BanditSampler"
PULL = "pull"  # user attribute of a trial: {"arm": number of the configuration, "index": number of the repetition}
IDENTITY = "jaxbandit"  # user attribute of a study: identifies the sampler whose pulls its trials are
TRIES = 3  # failures and prunings of one pull before the study ends
ASSUMPTION = "trials with different indices have independent randomness; trials with the same index may share theirs"


class BanditSampler(BaseSampler):
    """Sampler that repeats a fixed list of configurations under a rule, until the best one is certified.

    A trial is a pull, that is, one training of one configuration. Its reward is the value of the trial, or minus the
    value if the study minimizes. The rule decides which configuration comes next. In
    `trial.user_attrs["pull"]["index"]` the objective finds how often its configuration was tried before. If it uses
    this number as its seed, all configurations share their random draws (common random numbers), and the paired race
    needs fewer trials.

    The state of the rule is computed from the study's trials whenever a trial begins. A study in a storage therefore
    resumes with a new sampler that has the same arguments, and several processes may work on it. A trial that fails or
    is pruned has no reward, and its pull is assigned again. If there are more workers than pulls that the rule has
    asked for, the extra workers repeat one of these pulls, and the first value of a pull counts. After the rule has
    stopped, further trials repeat the recommended configuration and do not count. Trials that were enqueued with their
    own parameters do not count either.

    Args:
      configs: two or more different configurations, which are dicts of the parameters that the objective suggests. The
        ranges of the objective must contain their values.
      rule: an Algorithm with one arm per configuration that recommends one arm. None uses `paired_race` with `delta`
        and `epsilon`, or `student_race`, which has no epsilon, for more than 5,000 configurations.
      delta: error probability of the default rule, in (0, 1). None means 0.05.
      epsilon: tolerated simple regret of the mean value for the default rule `paired_race`, >= 0, in units of the
        value. It is required, because with 0 two equally good configurations are compared without end.
      seed: seed of the rule's own random draws, in [0, 2^32).
      on_failure: value of a trial that fails, is pruned, or has a value that is infinite or of modulus above 1e150.
        None means that the pull is tried again, and that the study ends when that has happened three times, as with
        pruners, which prune the same pull again and again.

    Raises:
      ValueError: an argument is out of range, the study has several objectives, or it was begun with a sampler that
        has other arguments.
    """

    def __init__(
        self,
        configs: Sequence[Mapping[str, Any]],
        rule: Algorithm | None = None,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        seed: int = 0,
        on_failure: float | None = None,
    ):
        self._configs = checked(WHERE, configs)
        if rule is None:
            rule = default_rule(WHERE, len(self._configs), delta, epsilon)
        else:
            check_agreement(WHERE, rule, delta, epsilon)
        if on_failure is not None:
            checks.number(WHERE, "on_failure", on_failure, low=-LARGEST, high=LARGEST)
        self._on_failure = on_failure
        self._start = session(rule, seed=seed)
        one_of(WHERE, self._start, len(self._configs))
        self._identity = plain({"configs": self._configs, "rule": rule.name, "promise": rule.promise, "seed": seed})
        self._lock = threading.Lock()
        self._study: tuple[Any, int] | None = None  # the study whose trials the session knows
        self._session = self._start
        self._asked: dict[int, tuple[int, int]] = {}  # pending pulls of the session: id -> (arm, index)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Assign a pull to the trial."""
        if PULL in trial.user_attrs or "fixed_params" in trial.system_attrs:
            return
        with self._lock:
            try:
                arm, index = self._next(self._advance(study))
            except ValueError:
                study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
                raise
            pull = {"arm": arm, "index": index}
            study._storage.set_trial_user_attr(trial._trial_id, PULL, pull)
            trial.user_attrs[PULL] = pull  # the copy that the objective sees

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return an empty dict, because each parameter is looked up independently."""
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return an empty dict, because each parameter is looked up independently."""
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a parameter of the trial's configuration."""
        config = self._config(trial)
        if config is None:
            refuse(WHERE, f": trial {trial.number} was enqueued without {param_name}, must have all its parameters")
        if param_name not in config:
            refuse(WHERE, f": the objective asks for {param_name}, but {config} has no such parameter")
        value = config[param_name]
        try:
            inside = param_distribution._contains(param_distribution.to_internal_repr(value))
        except ValueError:
            inside = False
        if not inside:
            refuse(WHERE, f": {param_name} = {value!r} of {config} is outside the objective's {param_distribution}")
        return value

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Raise an error if a trial differs from its configuration: Optuna samples no parameter with a single value."""
        config = self._config(trial)
        if state == TrialState.COMPLETE and config is not None and not _agrees(trial, config):
            refuse(
                WHERE, f": trial {trial.number} had the parameters {trial.params}, but its configuration is {config}"
            )

    def session(self, study: Study) -> Session:
        """Return the session with the rewards of all trials of the study."""
        with self._lock:
            self._advance(study)
            return self._session

    def _config(self, trial: FrozenTrial) -> dict[str, Any] | None:
        """The configuration of a trial, or None if the trial is not a pull."""
        return self._configs[trial.user_attrs[PULL]["arm"]] if PULL in trial.user_attrs else None

    def _advance(self, study: Study) -> "_Pulls":
        """Tell the session the values of the study's trials, and return the study's pulls."""
        identity = (study._storage, study._study_id)
        if identity != self._study:
            self._identify(study)
            self._study, self._session, self._asked = identity, self._start, {}
        pulls = _Pulls(study, self._configs, self._on_failure)
        while True:
            known = {id: pulls.rewards[pull] for id, pull in self._asked.items() if pull in pulls.rewards}
            for id, reward in known.items():
                self._require_inside(self._asked[id], reward, pulls.sign)
            if known:
                self._session = tell(self._session, np.array(list(known)), np.array(list(known.values())))
                self._asked = {id: pull for id, pull in self._asked.items() if id not in known}
            if self._session.stopped or self._asked:
                return pulls
            self._session, asked = ask(self._session)
            rows = zip(asked.id.tolist(), asked.arm.tolist(), asked.index.tolist(), strict=True)
            self._asked = {id: (arm, index) for id, arm, index in rows}

    def _require_inside(self, pull: tuple[int, int], reward: float, sign: float) -> None:
        """Raise an error if a reward is outside the range for which the rule is made."""
        low, high = map(float, fit.limits(self._start.rule.rewards))
        if not low <= reward <= high:
            low, high = sorted((sign * low, sign * high))
            what = f"{self._configs[pull[0]]} has the value {sign * reward} at index {pull[1]}"
            refuse(
                WHERE, f": {what}, must be in {domains.interval(low, high)}, for which {self._start.rule.name} is made"
            )

    def _identify(self, study: Study) -> None:
        """Raise an error if the study belongs to another sampler; mark a new study as this sampler's."""
        if len(study.directions) != 1:
            refuse(WHERE, f": the study has {len(study.directions)} objectives, must have one")
        stored = study.user_attrs.get(IDENTITY)
        if stored is None:
            study.set_user_attr(IDENTITY, self._identity)
        elif stored != self._identity:
            differs = [key for key in self._identity if stored.get(key) != self._identity[key]]
            refuse(WHERE, f": study {study.study_name!r} was begun with another sampler; what differs: {differs}")

    def _next(self, pulls: "_Pulls") -> tuple[int, int]:
        """Return the pull of a new trial, (arm, index)."""
        if self._session.stopped:
            arm = chosen(self._session)
            return arm, pulls.tried[arm]
        # The first pull without a running trial, if there is one.
        pull = min(self._asked.values(), key=lambda pull: pulls.running[pull])
        failed, pruned = pulls.failures[pull], pulls.prunings[pull]
        if failed + pruned >= TRIES:
            ends = [("has failed", failed), ("was pruned", pruned)]
            what = " and ".join(f"{verb} {_times(number)}" for verb, number in ends if number)
            why = " (|value| > 1e150)" if pull in pulls.huge else ""
            remedy = f"set on_failure to the value that a {'failed' if failed else 'pruned'} trial should have"
            remedy += "" if failed else ", or give the study optuna.pruners.NopPruner()"
            refuse(WHERE, f": {self._configs[pull[0]]} {what} at index {pull[1]}{why}; {remedy}")
        return pull


class _Pulls:
    """The pulls of a study, as (arm, index), read from its trials."""

    def __init__(self, study: Study, configs: list[dict[str, Any]], on_failure: float | None):
        self.sign = sign = -1.0 if study.direction == StudyDirection.MINIMIZE else 1.0
        self.running: Counter[tuple[int, int]] = Counter()
        self.failures: Counter[tuple[int, int]] = Counter()
        self.prunings: Counter[tuple[int, int]] = Counter()
        self.huge: set[tuple[int, int]] = set()  # pulls with a value whose modulus is too large
        self.tried: Counter[int] = Counter()  # one more than the largest index of an arm
        ended = []
        # Not study.get_trials: some pruners hide trials from their samplers.
        for trial in study._storage.get_all_trials(study._study_id, deepcopy=False):
            if PULL not in trial.user_attrs:
                continue
            pull = trial.user_attrs[PULL]["arm"], trial.user_attrs[PULL]["index"]
            self.tried[pull[0]] = max(self.tried[pull[0]], pull[1] + 1)
            if not trial.state.is_finished():
                self.running[pull] += 1
            elif trial.state == TrialState.COMPLETE and trial.value is not None and usable(trial.value):
                if _agrees(trial, configs[pull[0]]):
                    ended.append((trial.datetime_complete, trial.number, pull, trial.value))
            elif on_failure is not None:
                ended.append((trial.datetime_complete, trial.number, pull, on_failure))
            elif trial.state == TrialState.PRUNED:
                self.prunings[pull] += 1
            else:
                self.failures[pull] += 1
                if trial.state == TrialState.COMPLETE:
                    self.huge.add(pull)
        # If a pull has several values, the first one counts.
        self.rewards = {pull: sign * value for _, _, pull, value in sorted(ended, reverse=True)}


class StopAtCertificate:
    """Callback of `study.optimize` that stops the study once the rule of its `BanditSampler` has stopped."""

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if its rule has stopped."""
        if _sampler(study).session(study).stopped:
            study.stop()


def certificate(study: Study) -> Certificate:
    """Return the certificate of a study with a `BanditSampler`, with means and intervals of the objective's values.

    Raises:
      ValueError: the sampler of the study is not a `BanditSampler`.
    """
    result = of_session(_sampler(study).session(study))
    if study.direction == StudyDirection.MINIMIZE:
        means, low, high = (-np.asarray(x) for x in (result.means, result.high, result.low))
        result = dataclasses.replace(result, means=means, low=low, high=high)
    return dataclasses.replace(result, assumptions=(*result.assumptions, ASSUMPTION))


def _sampler(study: Study) -> BanditSampler:
    if not isinstance(study.sampler, BanditSampler):
        refuse(f"study {study.study_name!r}", f": sampler = {study.sampler}, must be a {WHERE}")
    return study.sampler


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _agrees(trial: FrozenTrial, config: dict[str, Any]) -> bool:
    """Whether a trial had the parameters of its configuration."""
    return all(config.get(name, value) == value for name, value in trial.params.items())
