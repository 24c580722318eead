"""Full-bandit top-k: environments, supports, noiseless stopping times, numbers that depend on (seed, run) alone."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusals

import jaxbandit as jb
from jaxbandit.algorithms.exploration import super_arms as support
from jaxbandit.base.batches import SetPulls
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.rounds import fit
from jaxbandit.environments.combinatorial.full_bandit import _pairs
from jaxbandit.theory.solvers.decision_classes import partition_matroid, spanning_trees, top_k
from jaxbandit.theory.solvers.decision_paths import dag_paths

CROWD = Path(__file__).parent.parent.parent / "shared" / "data" / "crowd"
MEANS = np.array([0.9, 0.2, 0.7, 0.4, 0.5])
SETS = np.array([[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0], [0, 0, 0, 1, 1]], bool)
DRAWS = 20_000


def sums_of(environment, counts, sets=SETS, draws=DRAWS):
    """float64[draws, num_sets] of one batch."""
    with jax.enable_x64(True):
        state = environment.init(jax.random.key(0))
        pulls = SetPulls(None if sets is None else jnp.asarray(sets), jnp.asarray(counts, jnp.int32))
        keys = jax.random.split(jax.random.key(1, impl="threefry4x32"), draws)
        return np.asarray(jax.jit(jax.vmap(lambda key: environment.batch.sums(state, pulls, key)))(keys))


def agree(sums, mean, covariance):
    """Mean and covariance of `sums` within 4.5 standard errors; 30 numbers, false alarms below 1 in 4,000."""
    error = np.sqrt(np.diag(covariance) / len(sums))
    assert (np.abs(sums.mean(0) - mean) <= 4.5 * error + 1e-9).all()
    spread = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / len(sums))
    assert (np.abs(np.cov(sums.T) - covariance) <= 4.5 * spread * 1.1 + 1e-9).all()


@pytest.mark.quickly_compiled
@pytest.mark.parametrize(
    ("noise", "blocks"),
    [("gaussian", "exact"), pytest.param("bernoulli", "exact", marks=pytest.mark.slow), ("bernoulli", "normal")],
)
def test_sums_of_a_batch(noise, blocks):
    counts = np.array([3, 40, 1, 7, 0])
    environment = jb.environments.full_bandit(MEANS, 2, noise=noise, sigma=0.5, blocks=blocks)
    sums = sums_of(environment, counts)
    variance = np.full(5, 0.25) if noise == "gaussian" else SETS @ (MEANS * (1 - MEANS))
    agree(sums, counts * (SETS @ MEANS), np.diag(counts * variance))
    if noise == "bernoulli" and blocks == "exact":
        assert (sums == np.round(sums)).all() and (sums >= 0).all() and (sums <= 2 * counts).all()


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
def test_sums_over_all_super_arms_without_listing_them(noise):
    every = support.super_arms(5, 2, support="all").sets.astype(float)
    values = every @ MEANS
    variance = np.full(10, 0.25) if noise == "gaussian" else every @ (MEANS * (1 - MEANS))
    environment = jb.environments.full_bandit(MEANS, 2, noise=noise, sigma=0.5)
    sums = sums_of(environment, [40], None)
    np.testing.assert_allclose(_pairs(5, 2), every.T @ every / 10)
    agree(sums, 40 * every.T @ values / 10, 40 * (every * variance[:, None]).T @ every / 10)


@pytest.mark.quickly_compiled
def test_single_pulls_and_regret():
    environment = jb.environments.full_bandit(MEANS, 2, noise="bernoulli")
    state = environment.init(jax.random.key(0))
    keys = jax.random.split(jax.random.key(2), DRAWS)
    rewards = jax.vmap(lambda key: environment.reward(state, None, SETS[2], environment.noise(key)))(keys)
    assert set(np.unique(rewards)) == {0.0, 1.0, 2.0}
    assert abs(rewards.mean() - 1.2) < 4.5 * np.sqrt(0.46 / DRAWS)  # one false alarm in 150,000
    assert environment.regret(state, None, SETS[2]) == pytest.approx(0.4, abs=1e-6)
    assert environment.simple_regret(state, jnp.array([2, 0])) == 0
    assert environment.simple_regret(state, jnp.array([3, 0])) == pytest.approx(0.3, abs=1e-6)


@pytest.mark.quickly_compiled
def test_ties_at_rank_k_are_right():
    environment = jb.environments.full_bandit(np.array([0.3, 0.3, 0.7, -1e11]), 2)
    with jax.enable_x64(True):
        state = environment.init(jax.random.key(0))
        for arms in ([0, 2], [1, 2]):
            assert environment.simple_regret(state, jnp.array(arms)) == 0
        assert environment.simple_regret(state, jnp.array([0, 1])) == pytest.approx(0.4)


@pytest.mark.quickly_compiled
def test_random_instance_has_the_gap():
    for seed in range(20):
        means = np.sort(
            jb.environments.full_bandit_random(10, 5, 0.25, instance_seed=seed).init(jax.random.key(0)).means
        )[::-1]
        assert means[4] - means[5] == pytest.approx(0.25, abs=1e-6) and means[4] >= 0 and means[0] <= 1
        assert means[9] >= -1


def write_answers(folder):
    """Three tasks, four workers: workers 0 and 1 are right together, 2 and 3 on the other tasks."""
    answers = [
        ["q", "a", "b", "c", "d"],
        ["1", "A", "A", "B", "B"],
        ["2", "A", "A", "B", "C"],
        ["3", "D", "D", "A", "A"],
    ]
    for name, rows in (("answer", answers), ("truth", [["q", "truth"], ["3", "A"], ["1", "A"], ["2", "A"]])):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("blocks", [pytest.param("exact", marks=pytest.mark.slow), "normal"])
def test_recorded_answers_keep_their_correlation(tmp_path, blocks):
    write_answers(tmp_path)
    environment = jb.environments.crowd_answers(str(tmp_path), k=2, blocks=blocks)
    sets = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]], bool)
    scores = np.array([[2, 1, 0], [2, 1, 0], [0, 1, 2]])  # [task, set]
    counts = np.array([30, 5, 1])
    agree(sums_of(environment, counts, sets), counts * scores.mean(0), np.diag(counts * scores.var(0)))
    state = environment.init(jax.random.key(0))
    played = [float(environment.reward(state, None, sets[0], jnp.int32(task))) for task in range(3)]
    assert played == [2, 2, 0]


@pytest.mark.skipif(not CROWD.exists(), reason="needs the crowd data beside the repository")
def test_recorded_answers_have_the_means_of_crowd():
    for folder, name in (("ITMANAGE", "it"), ("POKEMON", "pokemon"), ("SCIENCE", "science")):
        recorded = jb.environments.crowd_answers(str(CROWD / folder)).init(jax.random.key(0))
        np.testing.assert_allclose(recorded.means, jb.environments.crowd(name).init(jax.random.key(0)).means, rtol=1e-6)


def test_random_support():
    arms = support.super_arms(20, 6, support_seed=4)
    assert arms.sets.shape == (40, 20) and (arms.sets.sum(1) == 6).all()
    assert np.linalg.matrix_rank(arms.sets[:20].astype(float)) == 20
    assert len(np.unique(arms.sets, axis=0)) == 40
    x = arms.sets.astype(float)
    np.testing.assert_allclose(arms.inverse @ (x.T @ x / 40), np.eye(20), atol=1e-9)
    np.testing.assert_array_equal(arms.sets, support.super_arms(20, 6, support_seed=4).sets)


def test_random_support_spans_where_most_draws_do_not():
    # Pairs of four arms: cycles of four, and two disjoint pairs within, are singular; K = 6.
    for seed in range(20):
        assert len(support.super_arms(4, 2, num_sets=4, support_seed=seed).sets) == 4


def test_all_super_arms_in_closed_form():
    listed = support.super_arms(8, 3, support="all")
    assert len(listed.sets) == 56
    np.testing.assert_allclose(support.uniform_inverse(8, 3), listed.inverse, atol=1e-12)
    assert support.super_arms(36, 10, support="all").sets is None


@pytest.mark.slow
def test_g_allocation_lowers_the_largest_variance():
    uniform = support.super_arms(7, 3, num_sets=12, support_seed=1)
    best = support.super_arms(7, 3, num_sets=12, support_seed=1, allocation="g")
    x = uniform.sets.astype(float)
    largest = [np.einsum("mi,ij,mj->m", x, arms.inverse, x).max() for arms in (uniform, best)]
    assert 7 <= largest[1] < largest[0] and largest[1] < 7.4  # Kiefer and Wolfowitz: the optimum is the rank


# Noiseless stopping times, x 10^3, of an independent program: uniform on all sets, sigma 10, epsilon 1/2, grid 1.01.
TARGETS = {
    "it": {"saqm": 28_858, "icb": 3_893, "icb prop1": 23_865, "sa_foa": 2_597},
    "pokemon": {"saqm": 39_935, "icb": 1_480, "icb prop1": 9_973, "sa_foa": 1_958},
}


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("dataset", [pytest.param("it"), pytest.param("pokemon", marks=pytest.mark.slow)])
def test_stopping_times_without_noise(dataset):
    means = np.asarray(jb.environments.crowd(dataset).init(jax.random.key(0)).means, np.float64)
    n, told = len(means), {"k": 10, "support": "all", "sigma": 10.0, "epsilon": 0.5}
    algorithms = {
        "saqm": jb.algorithms.saqm(n, alpha="fixed", **told),
        "icb": jb.algorithms.icb(n, **told),
        "icb prop1": jb.algorithms.icb(n, radius="prop1", **told),
    }
    for name, algorithm in algorithms.items():
        target = 1e3 * TARGETS[dataset][name]
        rounds = np.round(target * np.linspace(0.98, 1.02, 41)).astype(np.int32)
        (stopped,) = stops_without_noise(algorithm, means, rounds, 1)
        first = rounds[np.argmax(stopped)]
        assert stopped[-1] and not stopped[0] and abs(first / target - 1) < 0.01, (name, first)


def stops_without_noise(algorithm, means, rounds, draws):
    """bool[draws, looks], what the stopping rule says where the estimate is the truth."""
    with jax.enable_x64(True):
        response = jnp.asarray(np.linalg.inv(support.uniform_inverse(len(means), 10)) @ means)

        def stops(t, key):
            state = algorithm.init(key)
            return algorithm.stop(state._replace(rounds=t, response=response, look=t))

        keys = jax.random.split(jax.random.key(0), draws)
        return np.asarray(jax.jit(jax.vmap(jax.vmap(stops, (0, None)), (None, 0)))(rounds, keys))


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("dataset", ["it", "pokemon"])
def test_stopping_times_of_sa_foa_without_noise(dataset):
    """The other program's figure is one draw: anchors are drawn at each look, so that even without noise it is random.

    Asserted of 40 draws on a grid from 0.82 to 1.35 times that figure: all stop on it, none at its start. Up to a step
    of the grid, 1 %, the figure is within their range, which one more draw of the same law misses once in 20 seeds; and
    within three of their standard deviations of their mean, missed once in nine at most, whatever the law.
    """
    means = np.asarray(jb.environments.crowd(dataset).init(jax.random.key(0)).means, np.float64)
    n, draws, target = len(means), 40, 1e3 * TARGETS[dataset]["sa_foa"]
    algorithm = jb.algorithms.sa_foa(n, k=10, support="all", sigma=10.0, epsilon=0.5, eps_factor=1.0)
    rounds = np.round(target * 1.01 ** np.arange(-20, 31)).astype(np.int32)
    stopped = stops_without_noise(algorithm, means, rounds, draws)
    first = rounds[np.argmax(stopped, 1)]
    assert stopped.any(1).all() and not stopped[:, 0].any()
    assert first.min() <= 1.01 * target and target <= 1.01 * first.max()
    assert abs(first.mean() - target) <= 3 * first.std() + 0.01 * target


def race(arguments):
    algorithm = jb.algorithms.saqm(8, k=3, alpha="fixed", epsilon=0.3, sigma=0.4 * arguments["scale"])
    return algorithm, jb.environments.full_bandit(np.linspace(0.9, 0.1, 8), 3, noise="bernoulli")


def draw(arguments):
    algorithm = jb.algorithms.sa_foa(6, k=2, epsilon=0.3, sigma=0.5 * arguments["scale"])
    return algorithm, jb.environments.full_bandit_random(6, 2, 0.4)


def choose(arguments):
    algorithm = jb.algorithms.adaptive_full_bandit(
        6, k=2, choices=3, bound="climbed", epsilon=0.3, sigma=0.5 * arguments["scale"]
    )
    return algorithm, jb.environments.full_bandit_random(6, 2, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("make", [race, draw, choose])
def test_the_same_bytes_for_any_lanes_and_chunk(make):
    arguments = {"scale": np.float64(1.0)}
    options = {"num_runs": 150, "seed": 3, "max_rounds": 1_000_000}
    first = identify_cell(make, arguments, execution=jb.Execution(workers=1, width=64), **options)
    lanes = 128 if make is draw else 64  # the others do with one long compilation; lanes are whole vectors
    other = identify_cell(make, arguments, execution=jb.Execution(workers=2, width=lanes, chunk=64), **options)
    some = identify_cell(
        make, arguments, execution=jb.Execution(workers=1, width=64), first_run=40, **(options | {"num_runs": 30})
    )
    for name in ("samples", "outcome", "recommendation", "shortfall"):
        mine = getattr(first, name)
        np.testing.assert_array_equal(mine, getattr(other, name))
        np.testing.assert_array_equal(mine[40:70], getattr(some, name))
    assert len(np.unique(first.samples)) > 3 and (first.outcome == 0).all()


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_where_nothing_is_pulled_nothing_stops():
    """So that lanes without a run cost no anchors; one period on, the same estimate stops, with any epsilon as here."""
    algorithm = jb.algorithms.sa_foa(5, k=2, support="given", sets=SETS, epsilon=1e9)
    state = algorithm.init(jax.random.key(0))._replace(look=jnp.int32(0))
    stop = jax.jit(algorithm.stop)
    assert not stop(state) and stop(state._replace(rounds=jnp.int32(5)))


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_a_decision_class_is_what_recommendations_are_judged_by():
    """Two groups of three, one arm of each: the two best arms are no set of the class."""
    means, family = np.array([0.9, 0.8, 0.1, 0.5, 0.4, 0.3]), partition_matroid([0, 0, 0, 1, 1, 1], [1, 1])
    environment = jb.environments.full_bandit(means, 2, sigma=0.1, decision_class=family)
    algorithm = jb.algorithms.icb(6, k=2, decision_class=family, sigma=0.1)
    result = jb.identify(algorithm, environment, num_runs=20, max_rounds=100_000, delta=0.05)
    assert (result.arrays["recommendation"] == [0, 3]).all() and not result.errors().any()
    state = environment.init(jax.random.key(0))
    assert environment.simple_regret(state, jnp.array([1, 3])) == pytest.approx(0.1, abs=1e-6)
    assert np.isnan(environment.simple_regret(state, jnp.array([0, 1])))  # better than all that is allowed
    other = jb.identify(jb.algorithms.icb(6, k=2, sigma=0.1, delta=0.05), environment, num_runs=3, max_rounds=100_000)
    assert (other.arrays["recommendation"] == [0, 1]).all() and other.unjudged == 3 and other.errors() is None
    assert "error unknown (3 of the recommendations cannot be judged)" in other.headline()


def one_of_each(groups=(0, 0, 0, 1, 1, 1)):
    return partition_matroid(groups, [1, 1])


def test_a_rule_is_judged_by_the_class_that_it_recommends_from_or_refused():
    """Its best answer, 0 and 3, was an error of a rate of 1 beside the two best arms, 0 and 1."""
    means, other = [0.9, 0.8, 0.1, 0.5, 0.4, 0.3], one_of_each((0, 1, 0, 1, 0, 1))
    rule, plain = (
        jb.algorithms.icb(6, k=2, decision_class=one_of_each(), sigma=0.1, delta=0.05),
        jb.environments.full_bandit(means, 2),
    )
    said = "icb recommends the best set of its class, partition_matroid, but full_bandit judges it by the best of "
    for judge, whose in ((None, "all sets"), (other, "another class, partition_matroid")):
        environment = jb.environments.full_bandit(means, 2, sigma=0.1, decision_class=judge)
        with pytest.raises(ValueError, match=said + whose + ": must be the same; give both the same decision_class"):
            jb.identify(rule, environment, num_runs=3)
        with pytest.raises(ValueError, match=said + whose):
            jb.run_until_stop(jax.random.key(0), rule, environment, 100)
    fit.check_recommendations(rule, jb.environments.full_bandit(means, 2, decision_class=one_of_each()))  # made twice
    fit.check_recommendations(jb.algorithms.icb(6, k=2, decision_class=top_k(6, 2)), plain)
    fit.check_recommendations(
        jb.algorithms.icb(6, k=2), jb.environments.full_bandit(means, 2, decision_class=top_k(6, 2))
    )
    fit.check_recommendations(
        jb.algorithms.icb(6, k=2), jb.environments.full_bandit(means, 2, decision_class=other)
    )  # unknown if it is better
    fit.check_recommendations(rule, plain._replace(simple_regret=None))  # nobody judges
    fit.check_pair(
        rule, jb.environments.full_bandit(means, 2, sigma=0.1)
    )  # the regret of what is pulled is another matter


BLOCKS_OF_TWO = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]]
WINDOWS = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]]
BAD = {
    "k": (lambda: jb.algorithms.icb(4, k=4), "icb: k = 4, must be an integer in [1, 3]"),
    "k of the environment": (
        lambda: jb.environments.full_bandit(MEANS, 5),
        "full_bandit: k = 5, must be an integer in [1, 4]",
    ),
    "k of a crowd": (
        lambda: jb.environments.crowd("it", feedback="full", k=36),
        "crowd: k = 36, must be an integer in [1, 35]",
    ),
    "k of single": (lambda: jb.environments.crowd("it", k=3), "crowd: k = 3, must be omitted with single feedback"),
    "saqm with one": (lambda: jb.algorithms.saqm(4, k=1), "saqm: k = 1, must be an integer in [2, 3]"),
    "windows": (
        lambda: jb.algorithms.saqm(4, k=2, support="given", sets=WINDOWS),
        "saqm: the support's 4 super-arms span 3 of 4 dimensions, must span them all, or some arms cannot be",
    ),
    "twice": (lambda: jb.algorithms.icb(4, k=2, support="given", sets=BLOCKS_OF_TWO), "contains a super-arm twice"),
    "no set of k": (
        lambda: jb.algorithms.icb(3, k=2, support="given", sets=[[1, 0, 0]]),
        "icb: sets[0] is not a super-arm",
    ),
    "sets for nothing": (
        lambda: jb.algorithms.icb(3, k=2, sets=[[1, 1, 0]]),
        'icb: sets has support = "given", got support',
    ),
    "few sets": (lambda: jb.algorithms.icb(9, k=2, num_sets=8), "icb: num_sets = 8, must be an integer in [9, 36]"),
    "too many": (
        lambda: jb.algorithms.exhaustive(24, k=12),
        "exhaustive: num_arms = 24, k = 12 make 2704156 super-arms, must be at most 200000: all of them are scored",
    ),
    "g on all": (lambda: jb.algorithms.icb(30, k=9, support="all", allocation="g"), "more than 5000 are not listed"),
    "every round": (
        lambda: jb.algorithms.icb(25, k=9, schedule="every"),
        "must be at most 24: every round would invert",
    ),
    "paths of many lengths": (
        lambda: jb.algorithms.icb(3, k=2, decision_class=dag_paths(3, [(0, 1), (1, 2), (0, 2)], 0, 2)),
        "icb: decision_class = dag_paths has sets of different sizes among 3 arms, must have sets of size k = 2",
    ),
    "trees of three": (
        lambda: jb.environments.full_bandit(
            MEANS, 2, decision_class=spanning_trees(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
        ),
        "full_bandit: decision_class = spanning_trees has sets of size 3 among 5 arms, must have sets of size k = 2",
    ),
    "means of Bernoulli": (
        lambda: jb.environments.full_bandit([0.5, 1.2], 1, noise="bernoulli"),
        "full_bandit: means[1] = 1.2",
    ),
    "answers": (lambda: jb.environments.crowd_answers("/no/such"), "cannot be read (No such file or directory)"),
}


test_bad_input_is_one_line = refusals(BAD)


@pytest.mark.quickly_compiled
@pytest.mark.slow
def test_a_tie_is_warned_of_and_the_support_is_shown(tmp_path):
    spec = tmp_path / "tie.toml"
    spec.write_text(
        'kind = "identify"\nruns = 2\nmax_rounds = 50000\n[[instance]]\ntype = "full_bandit"\n'
        'means = [0.5, 0.2, 0.5, 0.1]\nk = 1\n[[algorithm]]\ntype = "icb"\nsupport_seed = 7\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "jaxbandit", "run", str(spec), "--json", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "the arms of rank 1 and 2 are tied at 0.5" in done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["outcomes"]["max_rounds"] == 2
    assert cell["params"]["support"] == "random" and cell["params"]["support_seed"] == 7


# Means of ten runs of an independent program: n = 10, k = 5, gap 1/2, N(0, 1) a pull, sigma 5, uniform on all 252.
SYNTHETIC = {"exhaustive": 188_918, "saqm": 1_291_695, "sa_foa": 188_918, "icb": 72_725}


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", SYNTHETIC)
def test_stopping_times_of_the_synthetic_line(name):
    """Within three standard errors of the difference of means, ten runs against thirty: one false alarm in 370 each."""
    told = {"k": 5, "support": "all", "sigma": 5.0} | ({"alpha": "fixed"} if name == "saqm" else {})
    environment = jb.environments.full_bandit_random(10, 5, 0.5, sigma=1.0)
    result = jb.identify(
        getattr(jb.algorithms, name)(10, **told), environment, num_runs=30, max_rounds=100_000_000, delta=0.05
    )
    samples = result.samples()
    error = samples.std(ddof=1) * np.sqrt(1 / 10 + 1 / 30)
    assert abs(samples.mean() - SYNTHETIC[name]) < 3 * error
    assert not result.errors().any()
