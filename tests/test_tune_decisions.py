"""Searches on the user's terms: budgets, growth, failures, ties, rare events, quantiles; what certificates state."""

import json
import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.decide.tuning import store
from jaxbandit.decide.tuning.criterion import Criterion, Stage
from jaxbandit.decide.tuning.evidence import Outlier
from jaxbandit.decide.tuning.reporting import outlier_remarks
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory.comparisons.pairs import PairedDifferences

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

MEANS = [0.8, 0.79, 0.78, 0.7, 0.6, 0.5]


def trainer(sd=0.02, change=lambda score, rng, config: score):
    """A training in plain Python whose score depends on the seed and the configuration alone; it counts its calls."""
    calls = []

    def train(key, config):
        if isinstance(key, jax.core.Tracer):
            raise TypeError("in plain Python")
        words = tuple(np.asarray(jax.random.key_data(key)).tolist())
        calls.append((words, config["mu"]))
        rng = np.random.default_rng([*words, round(1e6 * config["mu"])])
        shared = np.random.default_rng(words).normal()
        return change(config["mu"] + sd * (shared + rng.normal()), rng, config)

    train.calls = calls
    return train


def space(*means):
    return {"mu": np.array(means or MEANS)}


def search(train, *means, **options):
    return jb.tune(train, space(*means), **records(**{"progress": False, **options}))


def scores_of(best):
    """The scores of each configuration by seed."""
    history = best.history
    order = np.lexsort((history["seed"], history["config"]))
    counts = np.bincount(history["config"], minlength=best.configs.count)
    return np.split(history["score"][order], np.cumsum(counts)[:-1])


def test_the_certificate_states_the_achieved_epsilon_of_all_scores():
    best = search(trainer(), max_trainings=200)
    bounds = PairedDifferences(6, math.log(0.05 / 5), min_size=14)
    bounds.enter(scores_of(best))
    left = [i for i in range(6) if i != best.index and not bounds.excluded()[i]]
    expected = max([0.0, *(bounds.upper(best.index)[i] for i in left)])
    assert best.certificate.achieved == expected and best.index == 0
    np.testing.assert_array_equal(best.certificate.excluded, bounds.excluded())
    assert "with probability at least 0.95" in best.certificate.known and best.certificate.known in str(best)
    assert best.to_json()["certificate"]["achieved_epsilon"] == expected
    again = jb.Certificate.from_json(json.loads(json.dumps(best.certificate.to_json())))
    assert str(again) == str(best.certificate) and again.known == best.certificate.known


def test_a_budget_is_never_exceeded_and_never_an_error():
    for budget in (84, 85, 90, 119):  # from 2 n0 K on it is a race; the last round may be partial
        train = trainer(sd=0.2)
        best = search(train, max_trainings=budget)
        assert len(train.calls) == budget == best.table["pulls"].sum() and best.why == "max_trainings"
        assert np.ptp(best.table["pulls"][best.table["survivor"]]) <= 1
        assert 0 < best.certificate.achieved < math.inf and not best.certificate.stopped
    assert search(trainer(), max_trainings=10_000).why == "epsilon"  # nothing is left to compare


def halved(table, budget):
    """Sequential halving on rows of scores: which configurations are trained how often, and the chosen one."""
    alive, pulls, left = list(range(len(table))), np.zeros(len(table), int), budget
    rounds = math.ceil(math.log2(len(table)))
    for _ in range(rounds):
        each = max(budget // (len(alive) * rounds), 1)
        if each * len(alive) > left:
            break
        pulls[alive] += each
        left -= each * len(alive)
        alive = sorted(sorted(alive, key=lambda i: -table[i][: pulls[i]].mean())[: math.ceil(len(alive) / 2)])
    return pulls, max(alive, key=lambda i: table[i][: pulls[i]].mean())


@pytest.mark.parametrize("budget", [6, 11, 18, 30, 60])
def test_a_small_budget_is_halved(budget):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        best = search(trainer(sd=0.1), max_trainings=budget)
    assert len(said) == 1 and "no guarantee; a race begins at 84 trainings" in str(said[0].message)
    every = search(trainer(sd=0.1), max_trainings=240, min_trainings=40)
    pulls, chosen = halved(scores_of(every), budget)
    np.testing.assert_array_equal(best.table["pulls"], pulls)
    assert best.index == chosen and best.certificate.achieved == math.inf
    assert best.certificate.known.startswith("no guarantee: nothing is known") and best.why == "max_trainings"


def test_a_budget_too_small_for_one_training_each_takes_a_random_few():
    with pytest.warns(UserWarning, match="as a rule gives no guarantee"):
        best = search(trainer(), max_trainings=4)
    assert best.table["pulls"].sum() == 4 and best.table["pulls"].max() == 1
    assert best.index == int(np.nanargmax(best.table["mean"]))


def test_a_timeout_ends_a_search_with_what_is_known(tmp_path):
    train = trainer()
    first = search(train, max_trainings=90, directory=tmp_path)
    known = search(train, timeout=0, min_trainings=7, directory=tmp_path)
    assert len(train.calls) == 90 == known.reused and known.why == "timeout"
    assert known.certificate.achieved <= first.certificate.achieved and known.index == first.index
    assert search(trainer(), timeout="0s").why == "timeout"
    for wrong in ("2 weeks", -1, math.nan, "h", True):
        with pytest.raises(ValueError, match=r"^Budget: seconds = .*must be a number of seconds >= 0, or a text"):
            search(train, timeout=wrong)


def test_any_rule_may_have_a_budget():
    best = jb.tune(trainer(), space(), jb.algorithms.uniform(6), budget=120, execution=jb.Execution(progress=False))
    assert best.table["pulls"].sum() == 120
    assert best.certificate.guarantee is None and best.certificate.promise == "none"
    assert 0 <= best.certificate.achieved < math.inf and best.certificate.coverage == 0.95
    with pytest.raises(BadInput, match="uniform never stops by itself; give a budget"):
        jb.tune(trainer(), space(), jb.algorithms.uniform(6))


def same(one, other):
    assert one.certificate.to_json() == other.certificate.to_json()
    for name, column in one.history.items():
        np.testing.assert_array_equal(column, other.history[name])


def test_a_search_that_grows_trains_nothing_twice(tmp_path):
    train = trainer()
    grown = [
        search(train, *MEANS[:4], epsilon=0.05, directory=tmp_path),
        search(train, *MEANS[:4], epsilon=0.02, directory=tmp_path),
        search(train, *MEANS[:4], max_trainings=150, directory=tmp_path),
        search(train, *MEANS, epsilon=0.02, directory=tmp_path, blind=True),
    ]
    assert len(set(train.calls)) == len(train.calls)
    same(grown[1], search(trainer(), *MEANS[:4], epsilon=0.02))
    same(grown[2], search(trainer(), *MEANS[:4], max_trainings=150))
    spent = [int(best.history["attempts"].sum()) for best in grown]
    assert grown[1].reused == spent[0] and f"{spent[0]} of them from the directory" in repr(grown[1])
    assert grown[3].certificate.coverage == pytest.approx(0.925)
    assert "2 of 6 configurations were added to the directory later" in str(grown[3])
    assert any("blind" in line for line in grown[3].certificate.assumptions)


def test_configurations_added_after_looking_are_compared_on_fresh_seeds(tmp_path):
    train = trainer(sd=0.01)
    search(train, *MEANS[1:], epsilon=0.005, directory=tmp_path)
    first = max(len({words for words, mean in train.calls if mean == mu}) for mu in MEANS[1:])
    best = search(train, *MEANS, epsilon=0.005, directory=tmp_path)
    assert len(set(train.calls)) == len(train.calls) and best.index == 0
    seeds = best.history["seed"][best.history["config"] == 0]
    assert seeds.min() == first  # no seed that anybody had before
    new = np.arange(6) == 0
    new = new | new[:, None]  # pairs with the newcomer
    levels = np.where(new, math.log(0.025 / 5), math.log(0.05 / 4))
    bounds = PairedDifferences(6, levels, first=np.where(new, first, 0), min_size=14)
    rows = [np.full(int(best.history["seed"].max()) + 1, np.nan) for _ in range(6)]
    for arm, seed, score in zip(*(best.history[name] for name in ("config", "seed", "score")), strict=True):
        rows[arm][seed] = score
    bounds.enter(rows)
    left = [i for i in range(1, 6) if not bounds.excluded()[i]]
    assert best.certificate.achieved == max([0.0, *(bounds.upper(0)[i] for i in left)]) <= 0.005
    assert best.certificate.coverage == pytest.approx(0.925)
    assert "error probability is 0.075 instead of 0.05" in str(best)


def test_a_rule_trains_configurations_added_after_looking_on_fresh_seeds(tmp_path):
    known = search(trainer(), 0.8, 0.5, directory=tmp_path, epsilon=0.01)
    seeds = int(known.history["seed"].max()) + 1
    rule = jb.algorithms.uniform_allocation(3, budget=9)
    found = jb.tune(trainer(), space(0.8, 0.5, 0.9), rule, **records(directory=tmp_path, progress=False))
    by_config = [found.history["seed"][found.history["config"] == i].tolist() for i in range(3)]
    assert by_config == [[0, 1, 2], [0, 1, 2], [seeds, seeds + 1, seeds + 2]] and found.reused == 6


def test_announced_growth_keeps_delta(tmp_path):
    options = {"epsilon": 0.02, "directory": tmp_path, "growth": True}
    first, then = search(trainer(), *MEANS[1:], **options), search(trainer(), *MEANS, **options)
    assert first.certificate.coverage == then.certificate.coverage == 0.95
    levels = Criterion(0.05, None, growth=True).deltas([Stage(5, 0, False), Stage(6, 20, False), Stage(9, 50, False)])
    np.testing.assert_allclose(levels, [0.025, 0.05 / 6, 0.05 / 12])


def test_configurations_that_are_left_out_remain_rivals(tmp_path):
    search(trainer(), epsilon=0.02, directory=tmp_path)
    train = trainer()
    rest = search(train, *MEANS[2:], epsilon=0.02, directory=tmp_path)
    assert not train.calls and rest.best_config == {"mu": 0.78} and rest.why == "alone"
    assert rest.certificate.achieved > 0.005 and len(rest.certificate.pulls) == 6
    assert "2 configurations of the directory are not given now" in str(rest)


def test_another_delta_is_said(tmp_path):
    search(trainer(), epsilon=0.05, delta=0.1, directory=tmp_path)
    best = search(trainer(), epsilon=0.05, delta=0.01, directory=tmp_path)
    assert "the first search with these scores had delta = 0.1" in str(best) and best.certificate.coverage == 0.99


def sometimes_fails(rate):
    def change(score, rng, config):
        if config["mu"] == 0.79 and rng.random() < rate:
            raise RuntimeError("out of memory")
        return score

    return change


def test_failures_are_counted_scored_or_judged_apart():
    train = trainer(change=sometimes_fails(0.2))
    with pytest.raises(
        BadInput, match=r"configuration 1 \(mu = 0.79\) raises RuntimeError: out of memory; set on_failure"
    ):
        search(train, epsilon=0.02)
    scored = search(train, max_trainings=240, on_failure=0.0)
    failed = scored.history["failed"] & (scored.history["config"] == 1)
    assert failed.sum() > 0 and (scored.history["score"][scored.history["failed"]] == 0).all()
    assert not scored.certificate.guarantee.proved and "trainings failed and count as 0" in str(scored)
    assert search(train, max_trainings=240, on_failure=0.0, score_range=(0, 1)).certificate.guarantee.proved
    apart = search(train, max_trainings=1200, on_failure="separate", max_failure_rate=0.4)
    assert apart.certificate.guarantee.proved and "no configuration is known to fail" not in str(apart)
    none = search(train, max_trainings=90, on_failure="separate", max_failure_rate=0.01)
    assert "no configuration is known to fail in at most 1% of its trainings" in str(none)
    n, k = apart.table["pulls"][1], int(apart.history["failed"].sum())
    assert k > 0 and np.isnan(apart.history["score"][apart.history["failed"]]).all()
    assert apart.table["mean"][1] == pytest.approx(np.nanmean(apart.history["score"][apart.history["config"] == 1]))
    assert f"{k} of {n} trainings failed; at most" in str(apart)
    strict = search(train, 0.79, 0.5, max_trainings=200, on_failure="separate", max_failure_rate=0.1)
    assert strict.index == 1 and strict.certificate.achieved > 0.2  # regret is against all configurations
    assert "has a better mean" in str(strict) and "may fail too often" in str(strict)


def test_retries_repeat_the_same_seed_and_cost_trainings():
    attempts = {}

    def flaky(score, rng, config):
        if config["mu"] != 0.79 or rng.random() > 0.3:
            return score
        key = round(score, 12)
        attempts[key] = attempts.get(key, 0) + 1
        if attempts[key] < 3:
            raise RuntimeError("node lost")
        return score

    train = trainer(change=flaky)
    best = search(train, max_trainings=150, retries=2)
    assert len(train.calls) == 150 == best.history["attempts"].sum() and best.history["attempts"].max() == 3
    assert not best.history["failed"].any()
    calm = search(trainer(), max_trainings=150)
    for one, other in zip(scores_of(best), scores_of(calm), strict=True):
        n = min(len(one), len(other))
        np.testing.assert_array_equal(one[:n], other[:n])
    with pytest.raises(BadInput, match="node lost"):
        attempts.clear()
        search(trainer(change=flaky), max_trainings=150, retries=1)


def test_what_fails_always_costs_all_of_its_attempts_and_the_last_one_may_be_cut_by_the_budget():
    """A round costs 1 and 3 attempts; after 12 of them, one training and one attempt of the other are left of 50."""

    def never(score, rng, config):
        if config["mu"]:
            raise RuntimeError("node lost")
        return float(rng.normal())

    train = trainer(change=never)
    found = search(train, 0.0, 1.0, budget=50, retries=2, on_failure=0.0)
    assert found.why == "max_trainings" and len(train.calls) == 50
    assert found.history["attempts"].tolist() == [1, 3] * 12 + [1] and found.table["pulls"].tolist() == [13, 12]


def test_outcomes_are_on_the_disk_while_a_round_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("jaxbandit.decide.tuning.trainer.SECONDS", -1.0)
    stored = []

    def count(score, rng, config):
        stored.append((tmp_path / "scores.jsonl").read_text().count('"score"'))
        return score

    search(trainer(change=count), budget=84, directory=tmp_path)
    assert stored == list(range(len(stored))) and len(stored) > 18


def test_scores_of_zero_and_one_are_compared_as_bounded_numbers():
    def coin(score, rng, config):
        return float(rng.random() < config["mu"])

    best = search(trainer(change=coin), 0.9, 0.3, 0.2, epsilon=0.1)
    assert best.index == 0 and best.certificate.rule == "bounded paired_race"
    assert "all first scores were 0 or 1" in str(best)
    assert any("[0, 1]" in line for line in best.certificate.assumptions)
    mixed = search(trainer(change=lambda score, rng, config: float(rng.integers(0, 1 + 9 * config["mu"]))), 0.9, 0.2,
                   epsilon=0.5)  # fmt: skip
    assert mixed.certificate.rule == "paired_race" and mixed.index == 0


def rival(score, rng, config):
    """0.88 +- 0.002 against 0.90 +- 0.002, which is 0.40 in one training of ten."""
    if config["mu"] == 0.9 and rng.random() < 0.1:
        return 0.4
    return config["mu"] + 0.002 * rng.normal()


def test_a_known_range_needs_no_luck_with_rare_failures():
    best = search(trainer(change=rival), 0.9, 0.88, 0.87, epsilon=0.005, score_range=(0, 1), delta=0.1)
    assert best.index == 1 and best.certificate.guarantee.proved and best.certificate.achieved <= 0.005
    assert not any("normal" in line for line in best.certificate.assumptions)
    normal = search(trainer(change=rival), 0.9, 0.88, 0.87, epsilon=0.005, delta=0.1)
    assert normal.table["pulls"].min() == 14  # min_trainings
    assert "what happens in fewer than 22 % of them may not have been seen" in str(normal)
    with pytest.raises(BadInput, match=r"returns 0.4.*, must be in \[0.5, 1\], given by score_range"):
        search(trainer(change=rival), 0.9, 0.88, 0.87, epsilon=0.005, score_range=(0.5, 1), delta=0.1)


def test_the_price_of_a_proof_is_offered_for_scores_between_0_and_1():
    best = search(trainer(), 0.8, 0.7, 0.6, epsilon=0.02)
    rounds = math.log(2 / 0.05) / (best.table["mean"][0] - best.table["mean"][1])
    assert f"in about {rounds:,.0f} trainings of each configuration that is near the best; now 14 at most" in str(best)
    assert "score_range=(0, 1)" not in str(search(trainer(), 1.8, 0.7, 0.6, epsilon=0.02))


def test_an_outlier_is_a_remark():
    def change(score, rng, config):
        return score - (0.3 if config["mu"] == 0.8 and rng.random() < 0.04 else 0.0)

    best = search(trainer(sd=0.01, change=change), 0.8, 0.79, max_trainings=130, min_trainings=60)
    assert not best.certificate.excluded.any()
    assert "are not normal (one of" in str(best) and not best.certificate.guarantee.proved
    assert "error rate may exceed delta" in best.certificate.notes[0] and "score_range" in best.certificate.notes[0]


def test_of_several_outliers_the_worst_is_named_and_the_others_are_counted():
    found = [Outlier(rival, deviation, 30) for rival, deviation in enumerate((4.0, 6.0, 5.0))]
    (line,) = outlier_remarks(found, ["a", "b", "c"], "")
    assert line.startswith("the differences with b and 2 more are not normal (one of 30 is 6.0 standard deviations")
    assert "more" not in outlier_remarks(found[:1], ["a"], "")[0] and not outlier_remarks([], ["a"], "")


def test_a_dropped_configuration_with_a_larger_mean_is_explained():
    def train(seed: int, config):  # the luck of a seed, which all share, is large
        luck = np.random.default_rng(seed).normal()
        own = np.random.default_rng([seed, round(1e6 * config["mu"])]).normal()
        return config["mu"] + 0.05 * luck + 0.001 * own

    explained = []
    for seed in range(6):
        best = search(train, 0.8, 0.7999, 0.795, epsilon=0.0, max_trainings=400, seed=seed)
        better = best.table["mean"] > best.table["mean"][best.index]
        assert better[2] == ("configuration 2 has a better mean over 14 trainings, but was excluded by" in str(best))
        explained.append(better[2])
    assert any(explained) and not all(explained)


def test_quantiles_are_compared_for_any_law():
    def pauses(score, rng, config):  # milliseconds: 10 with rare pauses, or 10.5
        pause = 200.0 if config["mu"] == 10 and rng.random() < 0.01 else 0.0
        return config["mu"] * math.exp(0.02 * rng.normal()) + pause

    best = search(trainer(change=pauses), 10.0, 10.5, epsilon=0.05, quantile=0.5, maximize=False, delta=0.05)
    assert best.index == 0 and best.certificate.statistic == "median" and "median" in str(best)
    ordered = np.sort(scores_of(best)[0])
    assert best.table["quantile"][0] == ordered[len(ordered) // 2]
    assert best.table["low"][0] <= best.table["quantile"][0] <= best.table["high"][0]
    content = json.loads(json.dumps(best.certificate.to_json()))
    assert content["statistic"] == "median" and str(jb.Certificate.from_json(content)) == str(best.certificate)
    slow = search(trainer(change=pauses), 10.0, 10.5, max_trainings=200, quantile=0.9, maximize=False)
    assert slow.certificate.statistic == "0.9-quantile"


def test_a_resolution_bounds_what_rounding_hides():
    def rounded(score, rng, config):
        return round(score * 20) / 20

    train = trainer(sd=0.001, change=rounded)  # all scores of a configuration are equal
    best = search(train, 0.801, 0.651, 0.499, epsilon=0.1, resolution=0.05)
    r = best.certificate.achieved
    assert best.index == 0 and (r == 0 or r > -0.15 + 0.05)
    with pytest.raises(ValueError, match="resolution and score_range are both given; give one of them"):
        search(train, epsilon=0.1, resolution=0.05, score_range=(0, 1))


def test_a_damaged_store_is_refused_and_a_torn_line_is_not(tmp_path):
    whole = search(trainer(), max_trainings=90, directory=tmp_path)
    log = tmp_path / "scores.jsonl"
    data = log.read_bytes()
    log.write_bytes(data[:-7])
    same(search(trainer(), max_trainings=90, directory=tmp_path), whole)
    log.write_bytes(data.replace(b'"seed": [0', b'"seed": [9', 1))
    with pytest.raises(ValueError, match=r"scores.jsonl: line \d: does not fit the lines before it"):
        search(trainer(), max_trainings=90, directory=tmp_path)
    assert "lines are kept" in store.repair(tmp_path) and "nothing to repair" in store.repair(tmp_path)
    assert (tmp_path / "scores-damaged-1.jsonl").read_bytes() == data.replace(b'"seed": [0', b'"seed": [9', 1)
    same(search(trainer(), max_trainings=90, directory=tmp_path), whole)


def test_threads_change_nothing(tmp_path):
    calm = search(trainer(), max_trainings=100)
    with ThreadPoolExecutor(4) as pool:
        same(search(trainer(), max_trainings=100, executor=pool), calm)
