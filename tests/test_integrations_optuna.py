"""`BanditSampler` in studies of Optuna itself."""

import functools
import math
import re
import threading
import warnings
from collections import Counter

import numpy as np
import optuna
import pytest
from records import records
from reference.unknown_variance import squared_radius

import jaxbandit as jb
from jaxbandit.decide.integrations.optuna_trials import entrants
from jaxbandit.optuna import BanditSampler, StopAtCertificate, certificate
from jaxbandit.theory.quantile_bounds import quantile_sequence

pytestmark = pytest.mark.quickly_compiled

CONFIGS = [{"lr": lr, "optimizer": name} for lr in (0.1, 0.01, 0.001) for name in ("sgd", "adam")]
LEVELS = np.array([0.80, 0.82, 0.88, 0.90, 0.84, 0.85])
optuna.logging.set_verbosity(optuna.logging.ERROR)


@functools.cache
def race(num_arms):
    return jb.algorithms.paired_race(num_arms, epsilon=0.01)


def sampler(**given):
    return BanditSampler(CONFIGS, race(len(CONFIGS)), **records(**given))


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
    return [(t.user_attrs["pull"]["arm"], t.user_attrs["pull"]["index"]) for t in found.trials if t.user_attrs]


@pytest.fixture(scope="module")
def session():
    """The same rule, asked and told by hand; with its pulls in order."""
    made, order = jb.session(race(len(CONFIGS))), []
    while not made.stopped:
        made, asked = jb.ask(made)
        order += zip(asked.arm.tolist(), asked.index.tolist(), strict=True)
        made = jb.tell(made, asked.id, [score(*pull) for pull in order[-len(asked.id) :]])
    return made, order


@pytest.mark.slow
def test_a_study_takes_the_pulls_of_the_rule_and_stops_with_it(session):
    by_hand, order = session
    found = until_certified(study())
    assert pulls(found) == order and len(order) < 200
    shown, expected = certificate(found), jb.certificate(by_hand)
    assert shown.stopped and shown.recommendation.tolist() == [3] == by_hand.recommendation.tolist()
    assert str(shown).startswith(str(expected.with_names(shown.names))) and shown.names[3] == "lr=0.01, optimizer=adam"
    assert "randomness" in shown.assumptions[-1]
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


@pytest.mark.slow
def test_several_workers_come_to_the_same_certificate(session):
    barrier = threading.Barrier(3)

    def at_once(trial):
        value = objective(trial)
        if trial.number < 6:
            barrier.wait(timeout=60)  # so that trials do run side by side
        return value

    found = until_certified(study(), at_once, n_jobs=3)
    assert str(certificate(found)) == str(certificate(until_certified(study())))
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
    with pytest.raises(ValueError, match="growth = True, but the first sampler of the study did not announce it"):
        study(BanditSampler(CONFIGS, growth=True, goal=0.01), **place).optimize(objective, n_trials=1)
    # The trial of the refused is not left behind as a running one.
    assert found.trials[-1].state == optuna.trial.TrialState.FAIL


@pytest.mark.slow  # Optuna flushes ten times a trial
def test_a_study_goes_on_in_sqlite(session, tmp_path):
    place = {"storage": f"sqlite:///{tmp_path}/study.db", "study_name": "one", "load_if_exists": True}
    study(**place).optimize(objective, n_trials=7)
    found = study(**place)
    found.optimize(objective, n_trials=7)
    assert pulls(found) == session[1][:14]
    assert certificate(found).pulls.sum() == 14


@pytest.mark.slow
def test_a_study_of_tpe_in_sqlite_is_reused_and_grows(tmp_path):
    """Values that JSON does not keep as they are; each process has a sampler of its own."""
    configs = [{"size": 1, "drop": None}, {"size": 2, "drop": 0.5}, {"size": 3, "drop": True}]
    place = {"storage": f"sqlite:///{tmp_path}/study.db", "study_name": "one", "load_if_exists": True}

    def choose(trial):
        config = {"size": trial.suggest_float("size", 1, 4, step=1)}
        config |= {"drop": trial.suggest_categorical("drop", [None, 0.5, True])}
        return config["size"] + np.random.default_rng(trial.number).normal(0, 0.2)

    begun = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0), **place)
    for config in [*configs, *configs, configs[0]]:
        begun.enqueue_trial(config)
    begun.optimize(choose, n_trials=8)
    found = study(BanditSampler(configs, reuse=True), **place)
    assert certificate(found).pulls.tolist() == [3, 2, 2]
    found.optimize(choose, n_trials=3)
    assert certificate(found).pulls.tolist() == [4, 3, 3]  # the round of index 2, and the first of index 3
    found = study(BanditSampler([*configs, {"size": 4, "drop": 0.5}]), **place)
    found.optimize(choose, n_trials=5)
    shown = certificate(found)
    assert shown.pulls.sum() == 15 and shown.names[3] == "size=4, drop=0.5"
    assert any(line.startswith("7 trials that were in the study before count") for line in shown.assumptions)


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
    line = "BanditSampler: {'lr': 0.1, 'optimizer': 'sgd'} has failed 3 times at index 0; set on_failure to the value"
    assert ends(found, diverges).startswith(line)
    assert {t.state for t in found.trials} == {optuna.trial.TrialState.FAIL}
    shown = certificate(until_certified(study(sampler(on_failure=0.5)), diverges))
    assert shown.stopped and shown.means[:2].tolist() == [0.5, 0.5] and shown.recommendation.tolist() == [3]
    assert not any("neither pruned nor failed" in line for line in shown.assumptions)  # a failure has a value


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

    own = BanditSampler(CONFIGS, jb.algorithms.betting_race(6, delta=0.1))
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


def values(found):
    """The values of a study by configuration, in the order of indices."""
    samples = [[] for _ in range(1 + max(arm for arm, _ in pulls(found)))]
    for (arm, index), trial in sorted(zip(pulls(found), found.trials, strict=True), key=lambda each: each[0]):
        samples[arm] += [(index, trial.value)]
    return samples


def achieved_by_hand(samples, best, log_alpha, first=0):
    """The largest bound over the rivals, each the least of its bounds for all numbers of common indices."""
    bounds = []
    for rival in range(len(samples)):
        common = [x[1] - y[1] for x, y in zip(samples[rival], samples[best], strict=False)][first:]
        sizes = range(7, len(common) + 1)  # the radius is infinite for fewer
        radii = [np.sqrt(squared_radius(m, np.exp(log_alpha))) for m in sizes]
        each = [np.mean(common[:m]) + np.std(common[:m]) * r for m, r in zip(sizes, radii, strict=True)]
        bounds += [min([np.inf, *each])] if rival != best else []
    return max(0.0, *bounds)


def test_a_budget_ends_with_what_is_known():
    """At the first trials nothing, and then what the differences of all values give by hand; epsilon is an output."""
    found, known = study(BanditSampler(CONFIGS, goal=jb.Goal(min_trainings=1))), []
    for budget in (4, 2, 30, 12):
        found.optimize(objective, n_trials=budget, callbacks=[StopAtCertificate()])
        known += [certificate(found)]
    assert [shown.pulls.sum() for shown in known] == [4, 6, 36, 48] and not any(shown.stopped for shown in known)
    assert [shown.achieved for shown in known[:3]] == [np.inf] * 3 and "no guarantee" in known[0].known
    by_hand = achieved_by_hand(values(found), 3, np.log(0.05 / 5))
    assert known[3].recommendation.tolist() == [3] and 0 < known[3].achieved < 0.2
    np.testing.assert_allclose(known[3].achieved, by_hand, rtol=1e-9)
    end = until_certified(study(BanditSampler(CONFIGS, goal=0.02)))
    assert certificate(end).stopped and certificate(end).achieved <= 0.02 and min(certificate(end).pulls) >= 14


@pytest.mark.slow
def test_another_epsilon_goes_on_from_the_same_trials():
    """The end is that of a study that had the last epsilon from the start, and no pull is made twice."""
    place = {"storage": optuna.storages.InMemoryStorage(), "study_name": "one", "load_if_exists": True}
    counts = []
    for epsilon in (0.1, 0.05, 0.01):
        found = until_certified(study(BanditSampler(CONFIGS, goal=epsilon), **place))
        counts += [len(found.trials)]
        assert certificate(found).stopped and certificate(found).achieved <= epsilon
    assert counts[0] < counts[2] and len(set(pulls(found))) == counts[2]
    at_once = until_certified(study(BanditSampler(CONFIGS, goal=0.01)))
    assert set(pulls(at_once)) == set(pulls(found))
    assert str(certificate(at_once)) == str(certificate(found))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["after looking", "blind", "announced"])
def test_a_study_with_more_configurations_uses_every_trial(how):
    """Newcomers that may depend on values meet the others on indices that nobody has used, at half the level."""
    place = {"storage": optuna.storages.InMemoryStorage(), "study_name": "one", "load_if_exists": True}
    options = {"epsilon": 0.015, "growth": how == "announced"}
    before = until_certified(study(BanditSampler(CONFIGS[:3], **records(**options)), **place))
    old, known = pulls(before), certificate(before).pulls.tolist()
    used = 1 + max(index for _, index in old)
    found = study(BanditSampler(CONFIGS[::-1], blind=how == "blind", **records(**options)), **place)
    assert certificate(found).pulls.tolist() == [0, 0, 0, *known[::-1]]
    shown = certificate(until_certified(found))
    assert pulls(found)[: len(old)] == old and len(set(pulls(found))) == len(found.trials)
    assert min(index for arm, index in pulls(found) if arm >= 3) == (0 if how == "blind" else used)
    # Arms of the certificate are in the order of the sampler, which is another one here.
    assert shown.stopped and shown.names[2] == "lr=0.01, optimizer=adam" and shown.recommendation.tolist() == [2]
    assert found.trials[-1].params["lr"] in (0.01, 0.1, 0.001) and shown.pulls[:3].min() > 0
    np.testing.assert_allclose(shown.guarantee.delta, 0.05 if how == "announced" else 0.075)
    assert any("3 of 6 configurations were added to the study later" in line for line in shown.notes)
    less = certificate(study(BanditSampler(CONFIGS[:2], **records(**options)), **place))
    assert len(less.pulls) == 6 and less.recommendation[0] < 2 and "(not in the sampler)" in less.names[2]
    assert less.achieved > shown.achieved  # the best of all that ever entered is what counts
    assert len(certificate(before).pulls) == 6  # its sampler learns of what another one has added
    other = certificate(study(BanditSampler(CONFIGS, goal=jb.Goal(delta=0.2)), **place))
    assert any(line.startswith("the first sampler of the study had delta = 0.05") for line in other.notes)
    np.testing.assert_allclose(other.guarantee.delta, 0.2 if how == "announced" else 0.3)


def test_a_sampler_tries_its_own_configurations_only():
    """The others of the study stay rivals with the values that they have, which may be enough."""
    place = {"storage": optuna.storages.InMemoryStorage(), "study_name": "one", "load_if_exists": True}
    until_certified(study(BanditSampler(CONFIGS, goal=0.03), **place))
    assert (own := BanditSampler(CONFIGS[2:4], goal=0.03)).stopped(study(own, **place))
    found = study(BanditSampler(CONFIGS[:2]), **place)
    before = len(found.trials)
    found.optimize(objective, n_trials=6)
    assert {arm for arm, _ in pulls(found)[before:]} <= {0, 1}


def test_values_reach_the_objective_as_they_were_given():
    """And not as JSON stores them: a tuple remains one."""
    configs = [{"x": (1, 2)}, {"x": (3, 4)}]
    found = study(BanditSampler(configs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna warns of choices that a storage would not keep
        found.optimize(lambda trial: trial.suggest_categorical("x", [(1, 2), (3, 4)])[0], n_trials=2)
    assert certificate(found).means.tolist() == [1, 3]


def test_a_trial_that_is_repeated_keeps_its_pull():
    """As Optuna enqueues a trial whose process has died, with its parameters and attributes. The sampler is new."""
    found = study()
    found.enqueue_trial(CONFIGS[2], user_attrs={"pull": {"arm": 2, "index": 0}})
    found.optimize(objective, n_trials=6)
    assert pulls(found) == [(2, 0), (0, 0), (1, 0), (3, 0), (4, 0), (5, 0)]


def tpe_study(pruned=False, running=False):
    """Twenty trials of TPE over the six configurations, without seeds, two of which failed."""

    def unseeded(trial):
        config = {"lr": trial.suggest_categorical("lr", [0.1, 0.01, 0.001])}
        config |= {"optimizer": trial.suggest_categorical("optimizer", ["sgd", "adam"])}
        if trial.number in (3, 11):
            raise optuna.TrialPruned if pruned else RuntimeError
        return LEVELS[CONFIGS.index(config)] + np.random.default_rng(trial.number).normal(0, 0.02)

    sampler = optuna.samplers.TPESampler(seed=1, n_startup_trials=6)
    found = optuna.create_study(direction="maximize", sampler=sampler, study_name="one")
    found.optimize(unseeded, n_trials=20, catch=(RuntimeError,))
    if running:
        found.enqueue_trial(CONFIGS[3])
        unseeded(found.ask())
        found.optimize(unseeded, n_trials=8)
    return found


def opened(found, **given):
    return optuna.load_study(
        study_name="one", storage=found._storage, sampler=BanditSampler(CONFIGS, **records(**given))
    )


def by_config(found):
    done = [t for t in found.trials if t.state == optuna.trial.TrialState.COMPLETE]
    return [[t.value for t in done if t.params == config] for config in CONFIGS]


def categorical(trial):
    config = {"lr": trial.suggest_categorical("lr", [0.1, 0.01, 0.001])}
    config |= {"optimizer": trial.suggest_categorical("optimizer", ["sgd", "adam"])}
    return score(CONFIGS.index(config), trial.user_attrs["pull"]["index"])


@pytest.mark.slow
def test_trials_of_another_sampler_count_only_if_that_is_said():
    found = tpe_study()
    samples = by_config(found)
    assert certificate(opened(found)).pulls.sum() == 0  # this marks the study, and they never count
    assert certificate(opened(found, reuse=True)).pulls.sum() == 0
    found = tpe_study()
    shown = certificate(opened(found, reuse=True))
    assert shown.pulls.tolist() == [len(x) for x in samples] and shown.pulls.sum() == 18
    assert shown.means[3] == pytest.approx(np.mean(samples[3]))
    more = optuna.load_study(study_name="one", storage=found._storage, sampler=BanditSampler([*CONFIGS, {"lr": 1.0}]))
    assert len(certificate(more).pulls) == 7 and entrants(more).stages[1].first == max(map(len, samples))
    found = tpe_study()
    assert certificate(opened(found, reuse=True)).pulls.sum() == 18
    assert any("18 trials that were in the study before count: the list" in line for line in shown.assumptions)
    assert "the scores of each configuration are normal" in shown.assumptions
    again = opened(found, reuse=True, epsilon=0.05)
    again.optimize(categorical, n_trials=400, callbacks=[StopAtCertificate()])
    shown, new = certificate(again), pulls(again)
    assert shown.stopped and shown.recommendation.tolist() == [3] and shown.guarantee.delta == pytest.approx(0.05)
    assert sum(index == len(samples[arm]) for arm, index in new) == 6  # each goes on at its own next index
    # By hand: upper bounds of the rivals minus the lower bound of the choice, at level delta / 6 each.
    means, sds, sizes = zip(*((np.mean(x), np.std(x), len(x)) for x in by_config(again)), strict=True)
    half = [sd * np.sqrt(squared_radius(n, 0.05 / 6)) for sd, n in zip(sds, sizes, strict=True)]
    upper = [mean + h for mean, h in zip(means, half, strict=True)]
    left = [i for i in range(6) if i != 3 and upper[i] >= max(np.subtract(means, half))]
    by_hand = max(0.0, *(upper[i] - (means[3] - half[3]) for i in left))
    np.testing.assert_allclose(shown.achieved, by_hand, rtol=1e-9)


def test_trials_that_are_chosen_by_their_values_do_not_count():
    """Pruning leaves the good ones; what has not ended hides what comes after it, and failures may have a value."""
    with pytest.raises(ValueError, match=r"trial 3 of \{.*\} was pruned, so that the trials that ended are the better"):
        certificate(opened(tpe_study(pruned=True), reuse=True))
    assert certificate(opened(tpe_study(pruned=True), reuse=True, on_failure=0.0)).pulls.sum() == 20
    shown = certificate(opened(tpe_study(), reuse=True, on_failure=0.0))
    assert shown.pulls.sum() == 20 and not shown.guarantee.proved
    found = tpe_study(running=True)
    before, all_of_them = certificate(opened(tpe_study(), reuse=True)).pulls, [len(x) for x in by_config(found)]
    cut = certificate(opened(found, reuse=True)).pulls
    assert cut[3] == before[3] < all_of_them[3] and cut[[0, 1, 2, 4, 5]].tolist() == np.delete(all_of_them, 3).tolist()


def test_failures_are_counted():
    turns = iter(range(10**6))

    def fragile(trial):
        value = objective(trial)
        if (turn := next(turns)) in (5, 20):
            raise optuna.TrialPruned
        return math.nan if turn in (7, 8) else value

    shown = certificate(until_certified(study(BanditSampler(CONFIGS, goal=0.02)), fragile))
    told = [line for line in shown.notes if "trials failed" in line]
    assert sum(int(line.split(": ")[1].split()[0]) for line in told) == 2
    assert sum(int(line.split("and ")[1].split()[0]) for line in told) == 2
    assert all("and were repeated" in line for line in told) and shown.guarantee.proved
    assert "no training failed" not in shown.assumptions
    assert any("first trial that was neither pruned nor failed" in line for line in shown.assumptions)
    turns = iter(range(10**6))
    shown = certificate(
        until_certified(study(BanditSampler(CONFIGS, goal=jb.Goal(epsilon=0.02, on_failure=0.7))), fragile)
    )
    assert any("0 trials failed and 1 were pruned, and have the value 0.7" in line for line in shown.notes)
    assert not shown.guarantee.proved and "a failed training counts as the score 0.7" in shown.assumptions


@pytest.mark.slow
def test_a_loss_in_a_known_range_is_its_mirror_image_for_the_rule():
    own = BanditSampler(CONFIGS, jb.algorithms.betting_race(6, delta=0.1))
    found = study(own, direction="minimize")
    found.optimize(lambda trial: 1 - min(objective(trial), 1), n_trials=40)
    shown = certificate(found)
    losses = [np.mean([1 - min(score(arm, i), 1) for i in range(n)]) for arm, n in enumerate(shown.pulls.tolist())]
    np.testing.assert_allclose(shown.means, losses, rtol=1e-12)
    assert (shown.low <= shown.means).all() and (shown.means <= shown.high).all()
    by_range = BanditSampler(CONFIGS, goal=jb.Goal(score_range=(0, 1), quantile=None))
    assert "must be in [0, 1], given by score_range" in ends(study(by_range), lambda trial: objective(trial) + 1)


@pytest.mark.slow
def test_medians_are_compared_if_asked_for():
    found = study(BanditSampler(CONFIGS, goal=jb.Goal(quantile=0.5, epsilon=0.05)))
    shown = certificate(until_certified(found))
    assert shown.statistic == "median" and shown.stopped and shown.achieved <= 0.05
    for arm in range(6):
        scores = [score(arm, i) for i in range(shown.pulls[arm])]
        assert quantile_sequence(scores, 0.5, 0.05 / 12) == (shown.low[arm], shown.high[arm])


@pytest.mark.slow
def test_a_rule_goes_on_with_more_configurations():
    """Its promise is about configurations that are there from the start; so nothing is left of it."""
    place = {"storage": optuna.storages.InMemoryStorage(), "study_name": "one", "load_if_exists": True}
    begun = len(until_certified(study(BanditSampler(CONFIGS[:4], race(4)), **place)).trials)
    found = until_certified(study(BanditSampler(CONFIGS, race(6)), **place))
    shown = certificate(found)
    assert shown.promise == "none" and shown.rule == "paired_race" and shown.recommendation.tolist() == [3]
    used = max(index for arm, index in pulls(found) if arm < 4 and pulls(found).index((arm, index)) < begun)
    assert min(index for arm, index in pulls(found) if arm >= 4) == used + 1
    assert shown.known and shown.guarantee is None and shown.coverage == pytest.approx(0.925)
    assert found.sampler.session(found).stopped
    with pytest.raises(ValueError, match="BanditSampler: rule is missing, must be given for a session"):
        own = BanditSampler(CONFIGS)
        own.session(study(own))


FIRST = "{'lr': 0.1, 'optimizer': 'sgd'}"
OTHER = {  # what the objective asks for -> what the line must hold
    "a name": (("float", "rate", 0.0, 1.0), f"the objective asks for rate, but {FIRST} has no such parameter"),
    "a range": (
        ("float", "lr", 0.5, 1.0),
        f"lr = 0.1 of {FIRST} is outside the objective's FloatDistribution(high=1.0",
    ),
    "a choice": (("categorical", "optimizer", ["lion", "adam"]), f"optimizer = 'sgd' of {FIRST} is outside the obj"),
    "one choice": (
        ("categorical", "optimizer", ["adam"]),
        f"{{'optimizer': 'adam'}}, but its configuration is {FIRST}",
    ),
}


@pytest.mark.parametrize("case", OTHER)
def test_an_objective_that_does_not_fit_is_refused_in_one_line(case):
    (kind, *rest), words = OTHER[case]
    found = study()
    with pytest.raises(ValueError, match=rf"^BanditSampler: .*{re.escape(words)}.*$"):
        found.optimize(lambda trial: len(str(getattr(trial, f"suggest_{kind}")(*rest))), n_trials=1)
    assert certificate(found).pulls.sum() == 0


BAD = {  # arguments -> what the line must hold
    "no configuration": (([],), "BanditSampler: configs has 0 configurations, must have at least 2"),
    "two deltas": ((CONFIGS, race(6), {"delta": 0.01}), "with rule = paired_race, which has delta = 0.05; give it to"),
    "seed": ((CONFIGS, None, {"seed": -1}), "BanditSampler: seed = -1, must be an integer in [0, 4294967295]"),
    "resolution": ((CONFIGS, None, {"resolution": 0.1}), "Goal(resolution=0.1) means nothing for a study, which takes"),
    "reuse": ((CONFIGS, None, {"reuse": 1}), "BanditSampler: reuse = 1, must be true or false"),
    "arms": ((CONFIGS[:4], race(6)), "BanditSampler: rule has 6 arms, must have one for each of 4 configurations"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused_in_one_line(case):
    (configs, *rest), words = BAD[case]
    options = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    with pytest.raises(ValueError, match=r"^BanditSampler: .*$") as refusal:
        BanditSampler(configs, *rest, **records(**options))
    assert words in str(refusal.value) and "\n" not in str(refusal.value)


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
        BanditSampler(configs, goal=0.1)
    message = str(caught.value)
    assert message.startswith("BanditSampler: configs") and "\n" not in message and len(message) < 250


@pytest.mark.parametrize("configs", [({"x": i} for i in range(2)), ({"x": 1}, {"x": 1.0}), [{"x": 1}, {"y": 1}]])
def test_any_iterable_of_different_configurations_is_taken(configs):
    BanditSampler(configs, goal=0.1)
