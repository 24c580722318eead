"""`tune` with a pool of items: each once, means over the pool, and bounds for numbers without replacement."""

import collections
import math
import random
import threading

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.tuning.items import items_of
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory.comparisons.betting import BoundedDifferences, mixture_upper, stated_interval
from jaxbandit.theory.comparisons.pairs import PairedDifferences, radius

pytestmark = pytest.mark.quickly_compiled
QUESTIONS = [f"question {n}" for n in range(60)]
CONFIGS = [{"p": i} for i in range(4)]
QUIET = jb.Execution(progress=False)


def grade(item, config):
    """A grade that is normal, and nearly the same for all configurations."""
    own = random.Random(f"{item} {config}")
    return random.Random(f"{item}").gauss(0.5, 0.2) + own.gauss(0, 0.1) + 0.001 * config["p"]


def right(item, config):
    return float(random.Random(f"{item} {config}").random() < 0.6 + 0.02 * config["p"])


def means(train, items=QUESTIONS):
    return np.array([math.fsum(train(item, config) for item in items) / len(items) for config in CONFIGS])


@pytest.mark.parametrize("train", [grade, right])
@pytest.mark.parametrize("workers", [None, 12])
def test_each_item_is_asked_once_and_in_the_end_the_mean_is_certain(train, workers):
    asked = collections.Counter()

    def judge(item, config):
        asked[item, config["p"]] += 1
        return train(item, config)

    found = jb.tune(judge, CONFIGS, pool=QUESTIONS, execution=QUIET._replace(workers=workers))
    assert max(asked.values()) == 1 and {item for item, _ in asked} <= set(QUESTIONS)
    assert len(asked) == len(found.history["id"]) + found.spare
    truth = means(train)
    assert found.why == "epsilon" and found.certificate.achieved == 0.0 and found.index == int(truth.argmax())
    whole = found.table["pulls"] == len(QUESTIONS)
    assert whole.sum() >= 2  # so close are they
    np.testing.assert_allclose(found.table["mean"][whole], truth[whole], rtol=1e-12)
    np.testing.assert_array_equal(found.table["low"][whole], found.table["high"][whole])
    np.testing.assert_allclose(found.table["low"][whole], truth[whole], rtol=1e-12)
    assert "means are those over the 60 items of the pool, which are scored in a random order" in (
        found.certificate.assumptions
    )
    for config, item, score in zip(
        *(found.history[name].tolist() for name in ("config", "seed", "score")), strict=True
    ):
        assert score == train(QUESTIONS[item], CONFIGS[config])


def test_all_configurations_share_an_order_that_the_seed_draws():
    seen = collections.defaultdict(list)

    def judge(item, config):
        seen[config["p"]].append(item)
        return grade(item, config)

    jb.tune(judge, CONFIGS, pool=40, goal=9.0, execution=QUIET)
    first, *others = seen.values()
    assert len(first) == 14 and sorted(first) != first and all(order == first for order in others)
    orders = [items_of(40, seed).order for seed in range(400)]
    assert all(sorted(order) == list(range(40)) for order in orders)
    assert np.array_equal(items_of(40, 3).order, orders[3]) and orders[0][:14].tolist() == first
    places = np.array([order.argmin() for order in orders])  # of item 0, uniform: sd of the mean 0.58
    assert abs(places.mean() - 19.5) < 2.5 and len(set(places)) > 30


def test_equal_sums_are_a_tie_and_the_sign_is_that_of_the_exact_sums():
    """Sums that rounding would tell apart: the first of two equal ones is chosen, with nothing lost."""
    scores = {0: [0.1, 0.2, 0.3, 0.7], 1: [0.7, 0.3, 0.2, 0.1], 2: [0.7, 0.3, 0.2, 0.1 - 2**-50]}
    for number, goal in ((2, None), (3, None), (2, jb.Goal(score_range=(0, 1))), (3, jb.Goal(score_range=(0, 1)))):
        found = jb.tune(
            lambda item, config: scores[config["p"]][item], CONFIGS[:number], pool=4, goal=goal, execution=QUIET
        )
        assert (found.index, found.why, found.certificate.achieved) == (0, "epsilon", 0.0)
        assert found.table["survivor"].tolist() == [True, True, False][:number]
        assert not found.certificate.contradiction


def test_equal_differences_do_not_end_the_search_before_all_items_are_scored():
    def same(item, config):
        return 0.3 + (0.1 * config["p"] if items_of(40, 0).order[-1] == item else 0.0)

    found = jb.tune(same, CONFIGS, pool=40, execution=QUIET)
    assert found.index == 3 and (found.table["pulls"] == 40).all()


@pytest.mark.statistical
def test_radius_without_replacement():
    """With few of many numbers it is that of independent ones; in 4,000 pools it is missed with probability < 0.1."""
    n, level = np.array([7.0, 12.0, 30.0]), math.log(0.01)
    np.testing.assert_allclose(radius(n, level, 10**9), radius(n, level), rtol=1e-6)
    assert (radius(n, level, 40) < radius(n, level)).all() and radius(np.array([40.0]), level, 40) == 0
    rng, hits, far = np.random.default_rng(0), 0, 0
    sizes = np.arange(2.0, 30.0)
    for _ in range(4000):
        x = rng.standard_normal(30)
        sums, squares = np.cumsum(x)[1:-1], np.cumsum(x * x)[1:-1]
        mean = sums / sizes
        sd = np.sqrt(squares / sizes - mean**2)
        reach = radius(sizes, math.log(0.1), 30)
        hits += bool((mean + reach * sd < x.mean()).any())
        far += bool((mean + 0.7 * reach * sd < x.mean()).any())
    assert 0.03 < hits / 4000 < 0.1 and far / 4000 > 0.1


@pytest.mark.statistical
def test_bets_without_replacement():
    """The bound of a pool of zeros, ones and other numbers is missed in less than alpha = 0.2, +3 standard errors."""
    rng = np.random.default_rng(1)
    pools = [
        np.repeat([1.0, -1.0], 12),
        np.r_[np.ones(23), -1.0],
        rng.uniform(-1, 1, 24),
        np.r_[np.zeros(12), -np.ones(12)],
    ]
    for pool in pools:
        missed = above = 0
        for _ in range(80):
            x = rng.permutation(pool)[:20]
            bound = mixture_upper(x, 0.2, pool=24)
            missed += bound < pool.mean() - 1e-9
            above += bound <= mixture_upper(x, 0.2) + 1e-9
        assert missed / 80 < 0.2 + 3 * (0.2 * 0.8 / 80) ** 0.5 and above > 60
        assert mixture_upper(rng.permutation(pool), 0.2, pool=24) == pytest.approx(pool.mean(), abs=1e-15)
        shares = (1 + rng.permutation(pool)) / 2
        assert stated_interval(shares, 0.1, 24) == pytest.approx((shares.mean(),) * 2, abs=1e-15)
        low, high = stated_interval(shares[:20], 0.1, 24)
        assert 0 <= low <= shares[:20].mean() <= high <= 1
    assert mixture_upper(np.full(20, -1.0), 0.2, pool=24) <= (4 - 20) / 24 + 1e-9  # whatever the last four are


def test_bets_of_pairs_are_those_of_the_bound():
    """A claim is made when the bound of the mean difference is below 0."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        n, size = 30, int(rng.integers(5, 31))
        x, y = rng.integers(0, 2, (2, n)) * 1.0
        y = np.maximum(y, rng.integers(0, 2, n))
        pairs = BoundedDifferences(2, math.log(0.1), 1.0, pool=n)
        pairs.enter([x[:size], y[:size]])
        bound = mixture_upper((x - y)[:size], 0.1, pool=n)
        assert pairs.ever()[0, 1] == (bound < 0)
        whole = rng.random(n)
        tie = BoundedDifferences(2, math.log(0.1), 1.0, pool=n)
        tie.enter([whole, rng.permutation(whole)])
        assert not tie.claims().any()  # sums are equal, which sums of differences are not
        normal = PairedDifferences(2, math.log(0.1), pool=n)
        normal.enter([x[:size], y[:size]])
        if size == n:
            assert normal.upper(1)[0] == (x.sum() - y.sum()) / n


def test_a_directory_resumes_with_the_same_pool_only(tmp_path):
    how = QUIET._replace(directory=tmp_path)
    found = jb.tune(grade, CONFIGS[:3], pool=QUESTIONS, goal=0.05, execution=how)
    again = jb.tune(grade, CONFIGS[:3], pool=QUESTIONS, execution=how)
    assert again.reused == len(found.history["id"]) < len(again.history["id"])
    for pool in (60, QUESTIONS[::-1], QUESTIONS[:50], None):
        with pytest.raises(BadInput, match=r"holds scores with pool = 60 items"):
            jb.tune(grade, CONFIGS[:3], pool=pool, goal=0.05, execution=how)
    with pytest.raises(BadInput, match="need other items than those of the pool; give blind=True"):
        jb.tune(grade, CONFIGS, pool=QUESTIONS, execution=how)
    more = jb.tune(grade, CONFIGS, pool=QUESTIONS, blind=True, execution=how)
    assert more.why == "epsilon" and more.index == int(means(grade).argmax())
    with pytest.raises(BadInput, match=r"pool holds .* no content that could be stored"):
        jb.tune(
            grade,
            CONFIGS,
            pool=[threading.Lock(), threading.Lock()],
            execution=QUIET._replace(directory=tmp_path / "other"),
        )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"pool": 1}, "pool = 1, must be the number of items, >= 2, or a list of 2 or more"),
        ({"pool": ["one"]}, "must be the number of items, >= 2, or a list of 2 or more"),
        ({"pool": "questions"}, "pool = 'questions', must be the number of items"),
        (
            {"goal": jb.Goal(quantile=0.5)},
            "quantile is given with pool, which compares means over all items; leave it out",
        ),
        ({"goal": jb.Goal(on_failure="separate", max_failure_rate=0.1)}, r"on_failure = .* is given with pool"),
        ({"paired": False}, "paired = False is given with pool"),
        ({"rule": jb.algorithms.paired_race(4)}, "rule is given with pool"),
        ({"scores": np.zeros((4, 2))}, "scores is given with pool"),
        ({"execution": jb.Execution(traced=True)}, "pool is given, but JAX cannot trace a train of items"),
    ],
)
def test_what_excludes_a_pool_is_refused(given, words):
    with pytest.raises(BadInput, match=words):
        jb.tune(grade, CONFIGS, **{"pool": QUESTIONS, **given})
    if "pool" not in given and "execution" not in given:
        with pytest.raises(BadInput, match="train as a table is given with pool"):
            jb.tune(np.zeros((4, 3)), pool=3)


def test_the_table_counts_attempts_and_failures():
    tries = collections.Counter()

    def judge(item, config):
        tries[item, config["p"]] += 1
        if config["p"] == 1 and (item == "question 7" or tries[item, 1] < 2):
            raise OSError("busy")
        return grade(item, config)

    how = QUIET._replace(retries=2, workers=5)
    found = jb.tune(judge, CONFIGS, pool=QUESTIONS, goal=jb.Goal(on_failure=0.0), execution=how)
    pulls = found.table["pulls"]
    reached = int(((found.history["config"] == 1) & (found.history["seed"] == 7)).sum())
    assert found.table["attempts"].tolist() == [pulls[0], 2 * pulls[1] + reached, pulls[2], pulls[3]]
    assert found.table["failed"].tolist() == [0, reached, 0, 0]
    assert str(found).splitlines()[
        [line.strip()[:9] == "trainings" for line in str(found).splitlines()].index(True)
    ].split()[:2] == ["trainings", "attempts"]
    plain = jb.tune(grade, CONFIGS, pool=QUESTIONS, execution=QUIET)
    assert "attempts" not in str(plain) and (plain.table["attempts"] == plain.table["pulls"]).all()
