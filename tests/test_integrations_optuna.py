"""`BanditSampler` in studies of Optuna itself."""

import functools
import math
import threading
from collections import Counter

import numpy as np
import optuna
import pytest

import jaxbandit as jb
from jaxbandit.decide.integrations.optuna import BanditSampler, StopAtCertificate, certificate

pytestmark = pytest.mark.quickly_compiled

CONFIGS = [{"lr": lr, "optimizer": name} for lr in (0.1, 0.01, 0.001) for name in ("sgd", "adam")]
LEVELS = np.array([0.80, 0.82, 0.88, 0.90, 0.84, 0.85])
optuna.logging.set_verbosity(optuna.logging.ERROR)


@functools.cache
def race(num_arms):
    return jb.paired_race(num_arms, epsilon=0.01)


def sampler(**given):
    return BanditSampler(CONFIGS, race(len(CONFIGS)), **given)


def score(arm, index):
    """What a training of a configuration brings; chance is that of its index, with a little of its own."""
    common = np.random.default_rng(index).normal(0, 0.05)
    return LEVELS[arm] + common + np.random.default_rng([index, arm]).normal(0, 0.02)


def objective(trial):
    lr = trial.suggest_float("lr", 1e-4, 1.0, log=True)
    name = trial.suggest_categorical("optimizer", ["sgd", "adam"])
    return score(CONFIGS.index({"lr": lr, "optimizer": name}), trial.user_attrs["pull"]["index"])


def study(own=None, direction="maximize", **given):
    return optuna.create_study(direction=direction, sampler=own or sampler(), **given)


def until_certified(found, function=objective, **given):
    found.optimize(function, n_trials=400, callbacks=[StopAtCertificate()], **given)
    return found


def pulls(found):
    return [(t.user_attrs["pull"]["arm"], t.user_attrs["pull"]["index"]) for t in found.trials]


@pytest.fixture(scope="module")
def session():
    """The same rule, asked and told by hand; with its pulls in order."""
    made, order = jb.session(race(len(CONFIGS))), []
    while not made.stopped:
        made, asked = jb.ask(made)
        order += zip(asked.arm.tolist(), asked.index.tolist(), strict=True)
        made = jb.tell(made, asked.id, [score(*pull) for pull in order[-len(asked.id) :]])
    return made, order


def test_a_study_takes_the_pulls_of_the_rule_and_stops_with_it(session):
    by_hand, order = session
    found = until_certified(study())
    assert pulls(found) == order and len(order) < 200
    shown, expected = certificate(found), jb.certificate(by_hand)
    assert shown.stopped and shown.recommendation.tolist() == [3] == by_hand.recommendation.tolist()
    assert shown.table().startswith(expected.table()) and "randomness" in shown.assumptions[-1]
    assert found.trials[-1].params == CONFIGS[order[-1][0]]
    # Afterwards trials repeat the choice, on fresh indices, and change nothing.
    found.optimize(objective, n_trials=2)
    assert pulls(found)[len(order) :] == [(3, Counter(order)[3, 0] * by_hand.counts[3] + i) for i in range(2)]
    assert certificate(found).pulls.tolist() == shown.pulls.tolist()


def test_a_study_that_minimizes_shows_its_own_values(session):
    found = until_certified(study(direction="minimize"), lambda trial: -objective(trial))
    by_hand, shown = jb.certificate(session[0]), certificate(found)
    assert pulls(found) == session[1]
    np.testing.assert_array_equal(shown.means, -by_hand.means)
    np.testing.assert_array_equal(shown.low, -by_hand.high)
    np.testing.assert_array_equal(shown.high, -by_hand.low)


def test_several_workers_come_to_the_same_certificate(session):
    barrier = threading.Barrier(3)

    def at_once(trial):
        value = objective(trial)
        if trial.number < 6:
            barrier.wait(timeout=60)  # so that trials do run side by side
        return value

    found = until_certified(study(), at_once, n_jobs=3)
    assert certificate(found).table() == certificate(until_certified(study())).table()
    assert set(session[1]) <= set(pulls(found))
    assert len(set(pulls(found)[:6])) == 6  # each pull of a round is handed out once


def test_of_two_values_of_a_pull_the_first_counts():
    place = {"storage": optuna.storages.InMemoryStorage(), "study_name": "one", "load_if_exists": True}
    found = study(**place)
    trials = [found.ask() for _ in range(7)]  # one more than the round has pulls
    assert pulls(found) == [(arm, 0) for arm in range(6)] + [(0, 0)]
    for trial, value in zip(reversed(trials), (0.3, 0.6, 0.5, 0.4, 0.2, 0.1, 0.9), strict=True):
        found.tell(trial, value)
    assert certificate(found).means.tolist() == [0.3, 0.1, 0.2, 0.4, 0.5, 0.6]
    assert certificate(study(**place)).means.tolist() == certificate(found).means.tolist()


def test_a_study_goes_on_with_a_new_sampler(session):
    place = {"storage": optuna.storages.InMemoryStorage(), "study_name": "one", "load_if_exists": True}
    study(**place).optimize(objective, n_trials=17)
    found = until_certified(study(**place))
    assert pulls(found) == session[1]
    assert certificate(found).means.tolist() == jb.certificate(session[0]).means.tolist()
    for other, differs in ((BanditSampler(CONFIGS[:5], epsilon=0.01), "configs"), (sampler(seed=1), "seed")):
        with pytest.raises(ValueError, match=f"'one' was begun with another sampler; what differs: .*{differs}"):
            study(other, **place).optimize(objective, n_trials=1)
    # The trials of the refused are not left behind as running ones.
    assert [t.state for t in found.trials[-2:]] == [optuna.trial.TrialState.FAIL] * 2


@pytest.mark.slow  # Optuna flushes ten times a trial
def test_a_study_goes_on_in_sqlite(session, tmp_path):
    place = {"storage": f"sqlite:///{tmp_path}/study.db", "study_name": "one", "load_if_exists": True}
    study(**place).optimize(objective, n_trials=7)
    found = study(**place)
    found.optimize(objective, n_trials=7)
    assert pulls(found) == session[1][:14]
    assert certificate(found).pulls.sum() == 14


def test_failed_and_pruned_trials_are_tried_again(session):
    ends = {(2, 1): iter(["fail", "prune"]), (1, 2): iter([math.inf, math.nan])}

    def fragile(trial):
        value, pull = objective(trial), trial.user_attrs["pull"]
        match next(ends.get((pull["arm"], pull["index"]), iter(())), value):
            case "fail":
                raise RuntimeError("out of memory")
            case "prune":
                raise optuna.TrialPruned
            case end:
                return end

    found = until_certified(study(), fragile, catch=(RuntimeError,))
    again = pulls(found)
    assert Counter(again)[1, 2] == Counter(again)[2, 1] == 3 and set(again) == set(session[1])
    assert certificate(found).means.tolist() == jb.certificate(session[0]).means.tolist()


def test_a_pull_that_always_fails_ends_the_study_or_counts_as_what_was_said():
    def diverges(trial):
        return math.nan if objective(trial) < 0 or trial.params["lr"] == 0.1 else objective(trial)

    found = study()
    with pytest.raises(ValueError) as refusal:
        until_certified(found, diverges)
    assert str(refusal.value) == (
        "BanditSampler: {'lr': 0.1, 'optimizer': 'sgd'} has failed 3 times at index 0; "
        "set on_failure to the value that a failed trial should have"
    )
    assert {t.state for t in found.trials} == {optuna.trial.TrialState.FAIL}
    shown = certificate(until_certified(study(sampler(on_failure=0.5)), diverges))
    assert shown.stopped and shown.means[:2].tolist() == [0.5, 0.5] and shown.recommendation.tolist() == [3]


def ends(found, function):
    with pytest.raises(ValueError) as refusal:
        until_certified(found, function)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_a_pull_that_is_always_pruned_is_said_to_be_pruned():
    def learns(trial):
        value = objective(trial)
        trial.report(value - (0.5 if trial.params["lr"] == 0.001 else 0.0), step=1)
        if trial.should_prune():
            raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.MedianPruner(n_startup_trials=2)
    assert ends(study(pruner=pruner), learns) == (
        "BanditSampler: {'lr': 0.001, 'optimizer': 'sgd'} was pruned 3 times at index 0; set on_failure to the value "
        "that a pruned trial should have, or give the study optuna.pruners.NopPruner()"
    )
    assert certificate(until_certified(study(pruner=optuna.pruners.NopPruner()), learns)).stopped
    turns = iter(["fail", "prune", "fail"])

    def both(trial):
        if objective(trial) > 0 and next(turns) == "prune":
            raise optuna.TrialPruned
        return math.nan

    assert ends(study(), both) == (
        "BanditSampler: {'lr': 0.1, 'optimizer': 'sgd'} has failed 2 times and was pruned once at index 0; set "
        "on_failure to the value that a failed trial should have"
    )


def test_a_huge_value_is_a_failure():
    def diverges(trial):
        return 1e160 if objective(trial) and trial.params["lr"] == 0.1 else objective(trial)

    assert "has failed 3 times at index 0 (|value| > 1e150)" in ends(study(), diverges)
    shown = certificate(until_certified(study(sampler(on_failure=0.5)), diverges))
    assert shown.stopped and shown.means[:2].tolist() == [0.5, 0.5] and shown.recommendation.tolist() == [3]


def test_a_value_outside_the_range_of_the_rule_names_the_configuration():
    def outside(trial):
        return objective(trial) + 1

    own = BanditSampler(CONFIGS, jb.betting_race(6, delta=0.1))
    line = ends(study(own), outside)
    assert line.startswith("BanditSampler: {'lr': 0.1, 'optimizer': 'sgd'} has the value 1.8"), line
    assert line.endswith("at index 0, must be in [0, 1], for which betting_race is made"), line


def test_enqueued_trials_do_not_count(session):
    found = study()
    found.enqueue_trial({"lr": 0.5, "optimizer": "adam"})
    found.optimize(lambda trial: trial.suggest_float("lr", 1e-4, 1.0, log=True), n_trials=1)
    until_certified(found)
    assert "pull" not in found.trials[0].user_attrs
    assert certificate(found).pulls.tolist() == jb.certificate(session[0]).pulls.tolist()


def other_name(trial):
    return trial.suggest_float("rate", 0.0, 1.0)


def narrow(trial):
    return trial.suggest_float("lr", 0.5, 1.0)


def other_choice(trial):
    return len(trial.suggest_categorical("optimizer", ["lion", "adam"]))


def single(trial):
    return len(trial.suggest_categorical("optimizer", ["adam"]))


FIRST = "{'lr': 0.1, 'optimizer': 'sgd'}"
REFUSED = {
    "a name": (other_name, f"BanditSampler: the objective asks for rate, but {FIRST} has no such parameter"),
    "a range": (
        narrow,
        f"BanditSampler: lr = 0.1 of {FIRST} is outside the objective's "
        "FloatDistribution(high=1.0, log=False, low=0.5, step=None)",
    ),
    "a choice": (
        other_choice,
        f"BanditSampler: optimizer = 'sgd' of {FIRST} is outside the objective's "
        "CategoricalDistribution(choices=('lion', 'adam'))",
    ),
    "one choice": (
        single,
        f"BanditSampler: trial 0 had the parameters {{'optimizer': 'adam'}}, but its configuration is {FIRST}",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_objective_that_does_not_fit_is_refused_in_one_line(case):
    function, message = REFUSED[case]
    found = study()
    with pytest.raises(ValueError) as refusal:
        found.optimize(function, n_trials=1)
    assert str(refusal.value) == message
    assert certificate(found).pulls.sum() == 0


BAD = {
    "no configuration": (([],), "BanditSampler: configs has 0 configurations, must have at least 2"),
    "delta": ((CONFIGS, None, {"delta": 0}), "BanditSampler: delta = 0, must be a number in (0, 1)"),
    "two deltas": (
        (CONFIGS[:6], race(6), {"delta": 0.01}),
        "BanditSampler: delta = 0.01 is given with rule = paired_race, which has delta = 0.05; "
        "give it to the rule only",
    ),
    "arms": ((CONFIGS[:4], race(6)), "BanditSampler: rule has 6 arms, must have one for each of 4 configurations"),
    "on_failure": (
        (CONFIGS, race(6), {"on_failure": math.nan}),
        "BanditSampler: on_failure = nan, must be a number in [-1e+150, 1e+150]",
    ),
    "huge on_failure": (
        (CONFIGS, race(6), {"on_failure": 1e160}),
        "BanditSampler: on_failure = 1e+160, must be a number in [-1e+150, 1e+150]",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused_in_one_line(case):
    (configs, *rest), message = BAD[case]
    options = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    with pytest.raises(ValueError) as refusal:
        BanditSampler(configs, *rest, **options)
    assert str(refusal.value) == message


def test_other_studies_are_refused_in_one_line():
    several = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler())
    with pytest.raises(ValueError, match=r"^BanditSampler: the study has 2 objectives, must have one$"):
        several.optimize(lambda trial: (0.0, 0.0), n_trials=1)
    of_another = optuna.create_study(study_name="two", sampler=optuna.samplers.RandomSampler())
    with pytest.raises(ValueError, match=r"^study 'two': sampler = RandomSampler, must be a BanditSampler$"):
        certificate(of_another)


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ({"x": [1, 2]}, r"configs is a dict, must be a list .* for a grid: \[dict\(zip\(grid, values\)\)"),
        ({"x": []}, "configs is a dict"),
        ({}, "configs is a dict"),
        ("xy", "configs is a str, must be a list of configurations, each a dict of parameters, such as"),
        (None, "configs is a NoneType"),
        (7, "configs is a int"),
        ([], "configs has 0 configurations, must have at least 2"),
        ([{"x": 1}], "configs has 1 configurations"),
        ([{"x": 1}, 2], r"configs\[1\] = 2, must be a dict of parameters"),
        ([("x", 1), ("x", 2)], r"configs\[0\] = \('x', 1\), must be a dict"),
        ([{}, {"x": 1}], r"configs\[0\] = \{\}, must be a dict"),
        ([{"x": 1}, {3: 1}], r"configs\[1\] = \{3: 1\}, must be a dict"),
        ([{"x": 1, "y": "a"}, {"x": 2, "y": "a"}, {"y": "a", "x": 1}], r"configs\[2\] equals configs\[0\]"),
        ([{"x": np.float64(0.5)}, {"x": 0.5}], r"configs\[1\] equals configs\[0\]"),
        ([{"x": list(range(9999))}, {"x": 1}, {"x": list(range(9999))}], r"configs\[2\] equals configs\[0\]"),
    ],
)
def test_what_is_no_list_of_configurations_is_refused_in_one_line(configs, said):
    with pytest.raises(ValueError, match=said) as caught:
        BanditSampler(configs, epsilon=0.1)
    message = str(caught.value)
    assert message.startswith("BanditSampler: configs") and "\n" not in message and len(message) < 250


@pytest.mark.parametrize("configs", [({"x": i} for i in range(2)), ({"x": 1}, {"x": 1.0}), [{"x": 1}, {"y": 1}]])
def test_any_iterable_of_different_configurations_is_taken(configs):
    BanditSampler(configs, epsilon=0.1)
