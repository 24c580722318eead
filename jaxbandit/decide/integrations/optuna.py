"""Optuna: a sampler that repeats configurations of a fixed list until the best is known, and what is known of it."""

import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxbandit.base.arguments import RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.core.goal import Goal, goal_of
from jaxbandit.decide.integrations import optuna_configs
from jaxbandit.decide.integrations.optuna_opened import Arguments, OpenStudy
from jaxbandit.decide.integrations.optuna_trials import PULL, Pulls, agrees
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.decide.tuning.plays import RulePlay, one_of
from jaxbandit.decide.tuning.settings import Settings, settings
from jaxbandit.support import checks
from jaxbandit.support.extras import extra
from jaxbandit.support.refusals import refuse

with extra("optuna"):
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState


_NAME = functools.partial(checked, name="BanditSampler")  # in front of all refusals
FIELDS = "delta epsilon quantile score_range min_trainings on_failure".split()  # of a goal, with a meaning for a study


class BanditSampler(BaseSampler):
    """Sampler that repeats a fixed list of configurations under a rule, until the best one is certified.

    A trial is a pull, that is, one training of one configuration. Its reward is the value of the trial, or minus the
    value if the study minimizes. By default every configuration that may still be the best is tried once in each round
    (the paired race). In `trial.user_attrs["pull"]["index"]` the objective finds the number of the repetition. If it
    uses this number as its seed, all configurations share their random draws (common random numbers), and the race
    needs fewer trials.

    The budget is that of the study, its `n_trials` and `timeout`. Wherever it ends, `certificate(study)` states which
    configuration to choose and by how much it may be worse than the best.

    What to try next is computed from the study's trials whenever a trial begins. A study in a storage therefore resumes
    with a new sampler, also with another rule, delta or epsilon, and several processes may work on it. A sampler with
    further configurations uses all trials that the study has: the newcomers are compared with the others on indices
    that nobody has used. Configurations of the study that the sampler does not have are compared, but not recommended.

    A trial that fails or is pruned has no reward, and its pull is assigned again. If there are more workers than pulls
    that the rule has asked for, the extra workers repeat one of these pulls, and the first value of a pull counts.
    After the rule has stopped, further trials repeat the recommended configuration, at new indices. Trials that were
    enqueued with their own parameters do not count.

    Args:
      configs: two or more different configurations, which are dicts of the parameters that the objective suggests. The
        ranges of the objective must contain their values.
      rule: an Algorithm with one arm per configuration that recommends one arm. None uses the paired race.
      goal: a `Goal` with delta, epsilon, quantile, score_range, min_trainings or on_failure; or its epsilon. The
        direction of the study says what is good. `on_failure` is the value of a trial that fails, is pruned, or has a
        value that is infinite or of modulus above 1e150; None means that the pull is tried again, and that the study
        ends when that has happened three times, as with pruners, which prune the same pull again and again.
      seed: seed of the rule's own random draws, in [0, 2^32).
      growth: whether configurations will be added to the study later, as for `tune`.
      blind: whether configurations that this sampler adds to the study were chosen without looking at its values. They
        may then share all indices with the others.
      reuse: whether completed trials of these configurations count that are in the study before its first sampler of
        this kind. It is valid only if the list of configurations was made without looking at their values, such as all
        points of a grid; how often each of them was tried may depend on the values, as with TPE. Their randomness must
        be independent of all others'; so each configuration gets bounds of its own, and common random numbers do not
        help.

    Raises:
      ValueError: an argument is out of range, the study has several objectives, or trials cannot be reused.
    """

    @_NAME
    def __init__(
        self,
        configs: Sequence[Mapping[str, Any]],
        rule: Algorithm | None = None,
        *,
        goal: Goal | float | None = None,
        seed: RunSeed = 0,
        growth: bool = False,
        blind: bool = False,
        reuse: bool = False,
    ):
        listed = optuna_configs.read(configs)
        self._goal = goal_of(goal)
        checks.only(self._goal, FIELDS, "a study")
        self._rule, self._growth = rule, growth
        self._arguments = Arguments(listed, None, blind, reuse)
        self._settings(maximize=True)  # checks them
        if rule is not None:
            start = session(rule, seed=seed)
            one_of(start, len(listed))
            self._arguments = self._arguments._replace(start=start)
        self._lock = threading.Lock()
        self._open: OpenStudy | None = None

    def _settings(self, *, maximize: bool) -> Settings:
        count, goal = len(self._arguments.configs), replace(self._goal, maximize=maximize)
        return settings(count, self._rule, goal, ends=True, growth=self._growth)

    @_NAME
    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Assign a pull to the trial."""
        assigned = PULL in trial.user_attrs  # as in a trial that Optuna repeats
        if "fixed_params" in trial.system_attrs and not assigned:
            return
        with self._lock:
            try:
                found, pulls = self._opened(study)
                if assigned:
                    return
                arm, index = found.next_pull(pulls)
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

    @_NAME
    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a parameter of the trial's configuration."""
        config = self._config(trial)
        if config is None:
            raise ValueError(f"trial {trial.number} was enqueued without {param_name}, must have all its parameters")
        if param_name not in config:
            raise ValueError(f"the objective asks for {param_name}, but {config} has no such parameter")
        value = config[param_name]
        try:
            inside = param_distribution._contains(param_distribution.to_internal_repr(value))
        except ValueError:
            inside = False
        if not inside:
            raise ValueError(f"{param_name} = {value!r} of {config} is outside the objective's {param_distribution}")
        return value

    @_NAME
    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Raise an error if a trial differs from its configuration: Optuna samples no parameter with a single value."""
        config = self._config(trial)
        if state == TrialState.COMPLETE and config is not None and not agrees(trial, config):
            raise ValueError(
                f"trial {trial.number} had the parameters {trial.params}, but its configuration is {config}"
            )

    @_NAME
    def session(self, study: Study) -> Session:
        """Return the session of the sampler's rule with the rewards of all trials of the study.

        Raises:
          ValueError: the sampler has no rule.
        """
        with self._lock:
            play = self._opened(study)[0].play
        if not isinstance(play, RulePlay):
            raise ValueError("rule is missing, must be given for a session; certificate(study) says what is known")
        return play.session

    @_NAME
    def stopped(self, study: Study) -> bool:
        """Return whether the race or the rule has ended."""
        with self._lock:
            return self._opened(study)[0].play.stopped

    @_NAME
    def certificate(self, study: Study) -> Certificate:
        """Return what `certificate` returns."""
        with self._lock:
            found, pulls = self._opened(study)
            return found.certificate(pulls)

    def _config(self, trial: FrozenTrial) -> dict[str, Any] | None:
        """The configuration of a trial, or None if the trial is not a pull."""
        if PULL not in trial.user_attrs:
            return None
        assert self._open is not None  # since the trial began
        return self._open.config(trial.user_attrs[PULL]["arm"])

    def _opened(self, study: Study) -> tuple[OpenStudy, Pulls]:
        """The study and its pulls, of which the race or the rule has been told."""
        if self._open is None or not self._open.is_of(study):
            if len(study.directions) != 1:
                raise ValueError(f"the study has {len(study.directions)} objectives, must have one")
            given = self._settings(maximize=study.direction != StudyDirection.MINIMIZE)
            self._open = OpenStudy(study, given, self._arguments)
        return self._open, self._open.advance(study)


class StopAtCertificate:
    """Callback of `study.optimize` that stops the study once the rule of its `BanditSampler` has stopped."""

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if its rule has stopped."""
        if _sampler(study).stopped(study):
            study.stop()


def certificate(study: Study) -> Certificate:
    """Return what is known of a study with a `BanditSampler`: the choice, and how far it may be from the best.

    It holds at any time, whatever has ended the study. Its arms are the configurations of the sampler, followed by
    those of the study that the sampler does not have; its means and intervals are those of the objective's values.

    Raises:
      ValueError: the sampler of the study is not a `BanditSampler`.
    """
    return _sampler(study).certificate(study)


def _sampler(study: Study) -> BanditSampler:
    if not isinstance(study.sampler, BanditSampler):
        refuse(f"study {study.study_name!r}", f": sampler = {study.sampler}, must be a BanditSampler")
    return study.sampler
