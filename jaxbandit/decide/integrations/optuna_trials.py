"""What a study of Optuna holds for a sampler that repeats configurations: who entered when, and the trials of each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.integrations.optuna_configs import key, plain
from jaxbandit.decide.sessions.rewards import usable
from jaxbandit.decide.tuning.criterion import Criterion, Stage, first_seeds
from jaxbandit.decide.tuning.evidence import Evidence, Pull
from jaxbandit.support.extras import extra

with extra("optuna"):
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState

PULL = "pull"  # user attribute of a trial: {"arm": number of the configuration, "index": number of the repetition}
IDENTITY = "jaxbandit"  # user attribute of a study: the configurations that have entered it


class Entrants(NamedTuple):
    """The configurations that have ever entered a study, in the order of their numbers."""

    configs: list[dict[str, Any]]
    stages: list[Stage]
    delta: float  # error probability of the first sampler
    growth: bool  # whether it announced that configurations will be added
    earlier: dict[int, Pull]  # by the number of a trial that was in the study before the sampler and counts

    def numbers(self, configs: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the numbers of these configurations; those that have not entered have the numbers that follow."""
        places = {key(config): i for i, config in enumerate(self.configs)}
        return [places.setdefault(key(config), len(places)) for config in configs]


def entrants(study: Study) -> Entrants | None:
    """Return the configurations that have entered a study, None before the first sampler."""
    stored = study.user_attrs.get(IDENTITY)
    if stored is None:
        return None
    stages = [Stage(int(size), int(first), bool(blind)) for size, first, blind in stored["stages"]]
    earlier = {int(number): (int(arm), int(index)) for number, arm, index in stored["earlier"]}
    return Entrants(stored["configs"], stages, stored["delta"], stored["growth"], earlier)


def enter(
    study: Study, configs: Sequence[Mapping[str, Any]], criterion: Criterion, *, blind: bool, reuse: bool
) -> Entrants:
    """Enter the configurations that are new to a study, as a stage of their own, and return all of them.

    The first sampler of a study has to announce growth.
    """
    known = entrants(study)
    if known is None:
        earlier = _earlier(study, configs, criterion.on_failure) if reuse else {}
        listed = [plain(config) for config in configs]
        known = Entrants(listed, [Stage(len(listed), 0, True)], criterion.delta, criterion.growth, earlier)
    else:
        if criterion.growth and not known.growth:
            raise ValueError("growth = True, but the first sampler of the study did not announce it; leave it out")
        numbers = known.numbers(configs)
        new = [plain(config) for config, i in zip(configs, numbers, strict=True) if i >= len(known.configs)]
        if not new:
            return known
        first = 0 if blind else _next_index(study, known)
        stage = Stage(len(known.configs) + len(new), first, blind)
        known = known._replace(configs=known.configs + new, stages=[*known.stages, stage])
    earlier = [[number, *pull] for number, pull in known.earlier.items()]
    stored = {"stages": [list(stage) for stage in known.stages], "earlier": earlier}
    study.set_user_attr(IDENTITY, {**known._asdict(), **stored})
    return known


def _earlier(study: Study, configs: Sequence[Mapping[str, Any]], on_failure: float | str) -> dict[int, Pull]:
    """Return the trials of these configurations, of each those before its first one that has not ended."""
    listed, tried = [plain(config) for config in configs], Counter[int]()
    found, cut = {}, set[int]()
    for trial in sorted(study._storage.get_all_trials(study._study_id, deepcopy=False), key=lambda t: t.number):
        if plain(trial.params) not in listed:
            continue
        arm = listed.index(plain(trial.params))
        if not trial.state.is_finished():
            cut.add(arm)
        if arm in cut:
            continue
        if trial.state == TrialState.PRUNED and on_failure == "stop":
            what = (
                f"trial {trial.number} of {listed[arm]} was pruned, so that the trials that ended are the better ones"
            )
            raise ValueError(f"{what}; set on_failure to the value that a pruned trial should have, or leave out reuse")
        if on_failure != "stop" or _value(trial) is not None:
            found[trial.number] = arm, tried[arm]
            tried[arm] += 1
    return found


def _next_index(study: Study, known: Entrants) -> int:
    """The first index at which nobody has pulled."""
    trials = study._storage.get_all_trials(study._study_id, deepcopy=False)
    indices = [trial.user_attrs[PULL]["index"] for trial in trials if PULL in trial.user_attrs]
    return 1 + max([*indices, *(index for _, index in known.earlier.values())], default=-1)


def _value(trial: FrozenTrial) -> float | None:
    """The value of a trial, None if it has none that can be used."""
    good = trial.state == TrialState.COMPLETE and trial.value is not None and usable(trial.value)
    return trial.value if good else None


class Pulls:
    """The pulls of a study, read from its trials."""

    def __init__(self, study: Study, known: Entrants, on_failure: float | str):
        """Read all trials of a study; a trial that failed or was pruned has the value `on_failure`."""
        self.sign = sign = -1.0 if study.direction == StudyDirection.MINIMIZE else 1.0
        self.running: Counter[Pull] = Counter()
        self.failures: Counter[Pull] = Counter()
        self.prunings: Counter[Pull] = Counter()
        self.huge: set[Pull] = set()  # pulls with a value whose modulus is too large
        self.tried: Counter[int] = Counter()  # one more than the largest index of an arm
        ended = []
        # Not study.get_trials: some pruners hide trials from their samplers.
        for trial in study._storage.get_all_trials(study._study_id, deepcopy=False):
            if PULL in trial.user_attrs:
                pull = trial.user_attrs[PULL]["arm"], trial.user_attrs[PULL]["index"]
            elif trial.number in known.earlier:
                pull = known.earlier[trial.number]
            else:
                continue
            self.tried[pull[0]] = max(self.tried[pull[0]], pull[1] + 1)
            value = _value(trial)
            if not trial.state.is_finished():
                self.running[pull] += 1
            elif value is not None:
                if agrees(trial, known.configs[pull[0]]):
                    ended.append((trial.datetime_complete, trial.number, pull, value))
            else:
                if not isinstance(on_failure, str):
                    ended.append((trial.datetime_complete, trial.number, pull, on_failure))
                if trial.state == TrialState.PRUNED:
                    self.prunings[pull] += 1
                else:
                    self.failures[pull] += 1
                    if trial.state == TrialState.COMPLETE:
                        self.huge.add(pull)
        # If a pull has several values, the first one counts.
        self.rewards = {pull: sign * value for _, _, pull, value in sorted(ended, reverse=True)}

    def prefix(self, arm: int, first: int) -> np.ndarray:
        """Return the rewards of a configuration from its first index on, up to the first index without one."""
        rewards = []
        while (arm, first + len(rewards)) in self.rewards:
            rewards.append(self.rewards[arm, first + len(rewards)])
        return np.array(rewards, np.float64)


def evidence(criterion: Criterion, known: Entrants, pulls: Pulls, arms: Iterable[int]) -> Evidence:
    """Return what the pulls of some configurations tell, each up to the first index without a value."""
    result, first = Evidence(criterion, known.stages), first_seeds(known.stages)
    for arm in arms:
        rewards = pulls.prefix(arm, int(first[arm]))
        result.enter(np.full(len(rewards), arm), first[arm] + np.arange(len(rewards)), rewards)
    return result


def agrees(trial: FrozenTrial, config: Mapping[str, Any]) -> bool:
    """Return whether a trial had the parameters of its configuration."""
    return all(
        config.get(name, value) == value or plain(config[name]) == plain(value) for name, value in trial.params.items()
    )
