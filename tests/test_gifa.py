"""The gap-index family: decisions from given indices, refusals, symmetries, ties, drift, and published sample sizes."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import player
import pytest

from jaxbandit.algorithms import gifa, lingape, lingifa, lucb, m_lingape
from jaxbandit.algorithms.exploration.gap_indices import decide, largest_others
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.environments.linear_arms.soare import soare
from jaxbandit.environments.linear_arms.top_m_classic import top_m_classic
from jaxbandit.theory.estimators import least_squares, square_root_least_squares

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

RANDOM = np.random.default_rng(8).normal(size=(5, 3))
CLASSIC = top_m_classic(4, 2, np.pi / 6).known()["features"]


def play(make, rewards, seed=0, **traced):
    """The last state, and actions, stopping and recommendation before each round; `rewards` is [rounds, num_arms]."""
    found = player.play(make, rewards, seed, **traced)
    return found.last, found[:3]


def rewards_of(features, rounds=300, sigma=0.5):
    return features[:, 0] + sigma * np.random.default_rng(1).normal(size=(rounds, len(features)))


def brute_decision(means, bounds, m, candidates, leader, stop):
    """J, b, c and the stopping value by sorting; bounds[i, j] is B_ij. Stable sorts give ties to the lowest arm."""
    arms = range(len(means))
    others = np.array([sorted((bounds[i, j] for i in arms if i != j), reverse=True)[m - 1] for j in arms])
    J = sorted(np.argsort(-means if candidates == "means" else others, kind="stable")[:m])
    outside = [a for a in arms if a not in J]
    doubt = others if leader == "ugape" else np.array([max(bounds[i, j] for i in outside) for j in arms])
    b = max(J, key=lambda j: doubt[j])
    c = max(outside, key=lambda i: bounds[i, b])
    return J, b, c, bounds[c, b] if stop == "lucb" else max(others[j] for j in J)


@pytest.mark.parametrize("m", [2, 3])
def test_decisions_from_given_indices(m):
    rng = np.random.default_rng(m)
    means, bounds = rng.normal(size=(40, 5)), rng.normal(size=(40, 5, 5))
    means[20:], bounds[20:] = rng.integers(0, 3, (20, 5)), rng.integers(0, 4, (20, 5, 5))  # ties
    bounds[30:, :, 2], bounds[30:, 2] = np.inf, np.inf  # an arm never pulled
    for parts in [(c, b, s) for c in ("means", "ugape") for b in ("lucb", "ugape") for s in ("lucb", "ugape")]:
        with jax.enable_x64(True):
            batch = jax.vmap(lambda mu, B: decide(mu, B.T, m, *parts, None))  # noqa: B023
            ours = jax.device_get(batch(jnp.asarray(means), jnp.asarray(bounds)))
        for i in range(40):
            J, b, c, value = brute_decision(means[i], bounds[i], m, *parts)
            got = (list(np.flatnonzero(ours.inside[i])), ours.leader[i], ours.challenger[i], ours.bound[i])
            assert got == (J, b, c, value), (parts, i)


def test_largest_of_the_others():
    matrix = np.random.default_rng(0).integers(0, 5, (7, 7)).astype(float)
    for m in range(1, 7):
        expected = [np.sort(np.delete(row, j))[-m] for j, row in enumerate(matrix)]
        np.testing.assert_array_equal(largest_others(jnp.asarray(matrix, jnp.float32), m), expected)


BAD = {
    "m = 5, must be an integer in [1, 4]": partial(m_lingape, RANDOM, m=5),
    "m = 0, must be": partial(lucb, 3, m=0),
    "features has shape (3,), must have 2 axes": partial(lingape, np.ones(3)),
    "features has 1 entries, must have at least 2": partial(lingape, np.ones((1, 2))),
    "features span 2 of 3 dimensions, must span all for rule = 'optimized'": partial(
        lingape, RANDOM * [1, 1, 0], rule="optimized"
    ),
    "rule = 'greedy', must be one of largest_variance, both with the classical index": partial(
        gifa, RANDOM, index="classical", threshold="lucb1"
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_refusals_are_one_line(message):
    with pytest.raises(ValueError) as refusal:
        BAD[message]()
    assert message in str(refusal.value) and "\n" not in str(refusal.value)
    assert str(refusal.value).split(":")[0] == BAD[message].func.__name__


def test_exact_ties_go_to_the_lowest_arm_or_where_the_run_drew_it():
    """Canonical arms with no pulls tie to the bit, and arm 0 is pulled; nine draws agree with chance 1.5e-4."""
    assert play(partial(lingifa, np.eye(3)), np.zeros((1, 3)))[1][0] == [0]
    algorithm = lingifa(np.eye(3), ties="random")
    first = jax.jit(jax.vmap(lambda seed: algorithm.select(None, algorithm.init(jax.random.key(seed)), None).action))
    assert len(set(first(jnp.arange(9)).tolist())) > 1
    state, (actions, _, _) = play(
        partial(lucb, 3, rule="both"), np.zeros((40, 3))
    )  # zero rewards: the means always tie
    assert list(actions[:7]) == [0, 1, 2, 0, 1, 0, 2] and state.counts.sum() == 40


OPTIONS = {"threshold": "heuristic", "sigma": 0.5, "regularization": 0.25, "theta_norm": 1.0}


@pytest.mark.parametrize(
    ("factory", "rule"),
    [(m_lingape, "greedy"), (partial(gifa, candidates="ugape", leader="ugape", stop="ugape"), "greedy")],
)
def test_permuted_arms_are_pulled_in_the_permuted_order(factory, rule):
    order = np.array([3, 1, 4, 0, 2])
    options, rewards = {**OPTIONS, "m": 2, "rule": rule}, rewards_of(RANDOM)
    rewards[:5] = rewards[0]  # the initial pulls go by the arms' numbers
    actions, stopped, _ = play(partial(factory, RANDOM, **options), rewards)[1]
    permuted, same, _ = play(partial(factory, RANDOM[order], **options), rewards[:, order])[1]
    np.testing.assert_array_equal(order[permuted[5:]], actions[5:])
    np.testing.assert_array_equal(same, stopped)
    assert len(set(actions[5:])) >= 3 and stopped.any()


@pytest.mark.parametrize("factory", [partial(m_lingape, threshold="theory"), partial(lingifa, threshold="det")])
def test_the_unit_of_the_rewards_does_not_matter(factory):
    """Powers of two scale every number without rounding, so decisions are equal to the bit."""
    rewards = rewards_of(RANDOM)
    one = play(partial(factory, RANDOM, m=2, sigma=0.5, theta_norm=1.5, epsilon=0.125), rewards)[1]
    four = play(partial(factory, RANDOM, m=2, sigma=2.0, theta_norm=6.0, epsilon=0.5), 4 * rewards)[1]
    chex.assert_trees_all_equal(one, four)
    assert one[1].any()


def test_traced_features_have_the_table_of_concrete_ones():
    """It comes from HiGHS or from the traced solver; on generic features w* is unique."""
    tables = []
    for make, traced in ((partial(m_lingape, RANDOM), {}), (m_lingape, {"features": RANDOM})):
        state, _ = play(partial(make, m=2, rule="optimized"), np.zeros((1, 5)), **traced)
        tables.append(state.weights)
    np.testing.assert_allclose(*tables, atol=1e-9)  # both solvers end on a vertex, exact up to its linear system
    i, j, w = 1, 3, tables[0][1 * 5 + 3]
    assert sum(w > 0) == 3 or set(np.flatnonzero(w)) == {i, j}  # as many as dimensions, or x_i and x_j themselves


@pytest.mark.parametrize("classical", [False, True])
def test_duplicates_and_arms_never_pulled_stay_finite(classical):
    """Two best arms are the same: epsilon = 0.1 stops, and no NaN on the way, even from infinite widths."""
    features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.5]])
    parts = {"index": "classical", "rule": "largest_variance", "threshold": "lucb1"} if classical else {}
    make = partial(
        gifa, features, initial_pulls=False, candidates="ugape", stop="ugape", epsilon=0.1, sigma=0.1, **parts
    )
    state, (_, stopped, recommended) = play(make, rewards_of(features, 4000, 0.1))
    assert stopped.any() and recommended[np.argmax(stopped)][0] in (0, 1)
    chex.assert_tree_all_finite(state.estimate)


@pytest.mark.parametrize(
    ("features", "regularization"),
    [
        (np.vstack([np.eye(5), [np.cos(0.01), np.sin(0.01), 0, 0, 0]]), 1.0),
        (top_m_classic(3, 1, 0.1).known()["features"], 0.025**2),
    ],
    ids=["soare 0.01", "classic 0.1"],
)
def test_no_drift_in_float64(features, regularization):
    """After 10^5 rounds the estimates are a fresh factorisation's, in what decides: widths and gaps of pairs.

    A relative error of ||x_i - x_j||^2 moves a stopping round by as much. The Gram form loses digits to the first
    rounds, when G is of size 1 / lambda: up to 3e-6 after 10^5 rounds here (measured), 1e-5 is allowed; of gaps 6e-10
    of a standard deviation, 1e-8 is allowed.
    """
    rounds = 100_000
    make = partial(lingape, features, threshold="heuristic", delta=1e-9, regularization=regularization)
    rewards = rewards_of(features, rounds)
    state, (actions, _, _) = play(make, rewards)
    counts = np.bincount(actions, minlength=len(features))
    sums = np.bincount(actions, rewards[np.arange(rounds), actions], len(features))
    np.testing.assert_array_equal(state.counts, counts)
    V = regularization * np.eye(features.shape[1]) + features.T @ (counts[:, None] * features)
    first, second = np.triu_indices(len(features), 1)
    y = features[first] - features[second]
    exact = (y * np.linalg.solve(V, y.T).T).sum(1)
    gram, means = state.estimate.gram, state.estimate.means
    widths = np.diag(gram)[first] + np.diag(gram)[second] - 2 * gram[first, second]
    np.testing.assert_allclose(widths, exact, rtol=1e-5)
    gaps = y @ np.linalg.solve(V, features.T @ sums)
    np.testing.assert_array_less(abs(means[first] - means[second] - gaps), 1e-8 * np.sqrt(exact))
    np.testing.assert_allclose(state.estimate.logdet, np.linalg.slogdet(V / regularization)[1], rtol=1e-11)


# An independent scalar program, 500 runs: mean and standard error. K = 4, m = 2, angle pi / 6, lambda = sigma / 20.
PUBLISHED = {
    "optimized": (partial(m_lingape, threshold="heuristic", rule="optimized"), 568, 17),
    "lingifa": (partial(lingifa, threshold="heuristic"), 732, 20),
    "theory": (m_lingape, 3341, 39),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", PUBLISHED)
def test_sample_sizes_of_an_independent_program(name):
    """Within three standard errors of both samples: false alarm 0.3 % each."""
    factory, mean, error = PUBLISHED[name]

    def make(_):
        return factory(CLASSIC, m=2, sigma=0.5, regularization=0.025), top_m_classic(4, 2, np.pi / 6)

    cell = identify_cell(make, (), num_runs=1000, seed=3)
    ours = cell.samples.mean()
    assert abs(ours - mean) < 3 * np.hypot(error, cell.samples.std() / np.sqrt(1000))
    assert (cell.outcome == 0).all()


def test_float32_keeps_the_digits_that_the_gram_form_loses():
    """The pulls and rewards of a float64 run at angle 0.03, in float32: width and gap of the pair that decides.

    Against a fresh float64 factorisation: 1e-3 of the width and 0.1 of a standard deviation of the gap are allowed,
    a hundredth of what stopping at six deviations would notice (measured up to 2e-4 and 0.05). In the Gram form the
    width is wrong by a factor.
    """
    straight = np.vstack([np.eye(5), [np.cos(0.03), np.sin(0.03), 0, 0, 0]])
    features = straight @ np.linalg.qr(np.random.default_rng(3).normal(size=(5, 5)))[0]  # or axes would help
    rewards = np.float32(rewards_of(2 * straight, 30_000, 1.0))
    _, (actions, _, _) = play(partial(lingape, features, theta_norm=2.0, delta=1e-9), rewards.astype(float))
    taken = rewards[np.arange(len(actions)), actions]
    counts, sums = np.bincount(actions, minlength=6), np.bincount(actions, taken.astype(float), 6)
    y, V = features[5] - features[0], np.eye(5) + features.T @ (counts[:, None] * features)
    width, gap = y @ np.linalg.solve(V, y), y @ np.linalg.solve(V, features.T @ sums)

    def replay(form):
        def body(estimate, step):
            return form.update(estimate, *step), None

        run = jax.jit(lambda a, r: jax.lax.scan(body, form.init(features, 1.0), (a, r))[0])
        estimate = run(jnp.asarray(actions, jnp.int32), jnp.asarray(taken))
        means = form.means(estimate)
        return form.distances(estimate, jnp.int32(0))[5] / width, (means[5] - means[0] - gap) / np.sqrt(width)

    ratio, error = replay(square_root_least_squares)
    assert abs(ratio - 1) < 1e-3 and abs(error) < 0.1
    assert abs(replay(least_squares)[0] - 1) > 0.5


@pytest.mark.statistical
def test_float32_samples_as_many_as_float64_and_trusts_its_runs():
    """Soare d = 5, angle 0.1: 6,117 rounds on average in float64 (1,000 runs of a scalar program, error 54).

    Within three standard errors of both: false alarm 0.3 %. The Gram form takes 8,600 and more.
    """
    features = np.vstack([np.eye(5), [np.cos(0.1), np.sin(0.1), 0, 0, 0]])
    make = partial(lingape, features, theta_norm=2.0)
    cell = identify_cell(lambda _: (make(), soare(5, 0.1)), (), num_runs=400, seed=1, precision="float32")
    assert (cell.outcome == 0).all()  # a run that is not trusted would be PRECISION
    error = np.hypot(54, cell.samples.std() / 20)
    assert abs(cell.samples.mean() - 6117) < 3 * error < 400


@pytest.mark.parametrize("make", [partial(m_lingape, RANDOM, m=2, threshold="heuristic"), partial(lucb, 5, m=2)])
def test_a_float32_run_is_trusted_unless_its_estimate_leaves_its_rewards_and_pulls(make):
    rewards = rewards_of(RANDOM, 4000).astype(np.float32)

    def run(rewards):
        algorithm = make(sigma=0.5)

        def body(state, row):
            choice = algorithm.select(None, state, None)
            after = algorithm.update(state, None, choice, row[choice.action])
            return jax.tree.map(partial(jnp.where, algorithm.stop(state)), state, after), None

        return jax.lax.scan(body, algorithm.init(jax.random.key(0)), rewards)[0]

    state = jax.device_get(jax.jit(run)(jnp.asarray(rewards)))
    assert state.sums is not None and state.pulls < 4000
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda x: jnp.asarray(x, float) if x.dtype == np.float32 else jnp.asarray(x), state)
        verify = jax.jit(make(sigma=0.5).verify)
        assert verify(wide)
        for factor in (0.9, 1.1):  # the rewards say something else than the estimate, or the pulls do
            assert not verify(wide._replace(sums=factor * wide.sums))
        assert not verify(wide._replace(counts=2 * wide.counts))
