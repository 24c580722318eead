"""Environments of identification: instances from their papers, sign noise, batches, simple regret, refusals."""

from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusals
from scipy import stats

from jaxbandit.base.contract import Arms
from jaxbandit.environments.linear_arms.linear import linear
from jaxbandit.environments.linear_arms.linear_random import linear_random
from jaxbandit.environments.linear_arms.soare import soare
from jaxbandit.environments.linear_arms.top_m_classic import top_m_classic
from jaxbandit.environments.means import simple_regret
from jaxbandit.environments.recorded.crowd import crowd
from jaxbandit.environments.recorded.r6a_like import r6a_like
from jaxbandit.environments.recorded.table import table
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.beta import beta
from jaxbandit.environments.stationary.binomial import binomial
from jaxbandit.environments.stationary.gaussian import GaussianState, gaussian
from jaxbandit.lab.specs.arguments import read_csv

pytestmark = pytest.mark.quickly_compiled

EPILEPSY = Path(__file__).parents[2] / "shared" / "data" / "epilepsy"
LEVEL = 1e-4  # of each statistical test, over all it looks at together (Bonferroni), with a fixed seed
FEATURES = np.array([[1.0, 0.0], [0.5, 0.5], [-0.25, 1.0]])
THETA = np.array([0.5, -0.75])
MEANS = np.array([0.5, -0.125, -0.875])  # FEATURES @ THETA, exact in binary
RECORDED = np.array([[0.0, 0.5], [1.0, 0.25], [0.5, 0.0]])

INSTANCES = {
    "bernoulli": lambda: bernoulli([0.25, 0.5, 0.75]),
    "gaussian": lambda: gaussian([0.25, 0.5, 0.75]),
    "beta": lambda: beta([1.0, 2.0], [2.0, 2.0]),
    "crowd": lambda: crowd("it"),
    "table": lambda: table(RECORDED),
    "linear": lambda: linear(FEATURES, THETA, sigma=0.5),
    "linear, signs": lambda: linear(FEATURES, THETA, noise="sign"),
    "soare": lambda: soare(3, 0.1),
    "top_m_classic": lambda: top_m_classic(5, 2, 0.1),
    "linear_random": lambda: linear_random(6, 3),
    "r6a_like": lambda: r6a_like(4),
}
BATCHES = [name for name in INSTANCES if name != "beta"]


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def facts(environment):
    """Return what is known of an instance, and its true parameters."""
    return environment.known() | environment.truth.parameters()


def truth(environment):
    return environment.init(jax.random.key(0))


@pytest.mark.parametrize("x64", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", INSTANCES)
def test_shapes_dtypes_gaps_and_simple_regret(name, x64):
    with jax.enable_x64(x64):
        float_ = jax.ShapeDtypeStruct((), jnp.result_type(float))
        environment = INSTANCES[name]()
        state = truth(environment)
        num_arms = state.means.size
        assert state.means.dtype == state.gaps.dtype == float_.dtype
        np.testing.assert_array_equal(state.gaps, state.means.max() - state.means)
        assert environment.simple_regret is simple_regret
        arm, key, pulls = jnp.int32(0), jax.random.key(1), jnp.ones(num_arms, jnp.int32)
        noise = jax.eval_shape(environment.noise, key)
        assert jax.eval_shape(lambda n: environment.reward(state, None, arm, n), noise) == float_
        assert jax.eval_shape(lambda: environment.regret(state, None, arm)) == float_
        assert jax.eval_shape(lambda: simple_regret(state, arm)) == float_
        if name in BATCHES:
            noise = jax.eval_shape(environment.batch.noise, key)
            sums = jax.eval_shape(lambda n: environment.batch.sums(state, pulls, n), noise)
            assert sums == jax.ShapeDtypeStruct((num_arms,), float_.dtype)
            assert jax.eval_shape(lambda n, s: environment.batch.squares(state, pulls, n, s), noise, sums) == sums
        else:
            assert environment.batch is None
        assert environment.arms == Arms(num_arms)


def test_simple_regret_is_the_definition():
    rng = np.random.default_rng(0)
    compiled = jax.jit(simple_regret)
    for m in (1, 3, 6) * 30:
        means = rng.choice([0.0, 0.25, 0.5, 1.0, -2.0], 6)
        arms = rng.permutation(6)[:m]
        expected = max(0.0, np.sort(means)[-m] - means[arms].min())
        state = GaussianState(jnp.asarray(means), jnp.asarray(means.max() - means))
        assert float(compiled(state, jnp.asarray(arms, jnp.int32))) == expected
    assert float(simple_regret(truth(gaussian([0.25, 1.0])), jnp.int32(0))) == 0.75
    beside = truth(gaussian([0.49, 0.5, -1e11]))  # an arm that is far away makes no others tie
    assert float(simple_regret(beside, jnp.int32(0))) == pytest.approx(0.01, rel=1e-5)
    assert np.isnan(simple_regret(beside, jnp.array([1, 1], jnp.int32)))


def test_computed_means_that_differ_by_rounding_are_equal_and_others_are_not():
    """The rounding of an arm is that of its own products: 0.1 + 0.2 ties with 0.3 beside any arm, 0.49 with no 0.5."""
    features = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0 - 1e-13], [-1e11, 0.0, 0.0]])
    with jax.enable_x64(True):
        means = np.asarray(truth(linear(features, np.array([0.1, 0.2, 0.3]))).means)
        traced = jax.jit(lambda theta: truth(linear(features, theta)).means)(jnp.array([0.1, 0.2, 0.3]))
    assert 0.1 + 0.2 != 0.3 and means[0] == means[1] > means[2]
    np.testing.assert_array_equal(means, traced)
    turned = np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]])  # the same rewards in another order of the rows
    assert (0.1 + 0.2) + 0.3 != (0.3 + 0.2) + 0.1
    with jax.enable_x64(True):
        assert len(np.unique(truth(table(turned)).means)) == 1


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_ties_on_paper_are_ties(scale):
    known = facts(top_m_classic(37, 9, 0.01))
    for seed in range(20):  # how a product is rounded is the machine's: on paper all are scale^2
        rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((36, 36)))[0] * scale
        features, theta = known["features"] @ rotation, known["theta"] @ rotation
        if len(np.unique((features * theta).sum(axis=1)[:9])) > 1:
            break
    else:
        raise AssertionError("no rotation makes the means differ")
    next_best = (1 - np.cos(0.01)) * scale**2
    for x64 in (True, False):
        with jax.enable_x64(x64):
            state = truth(linear(features, theta))
            single = jax.jit(jax.vmap(simple_regret, (None, 0)))(state, jnp.arange(10, dtype=jnp.int32)[:, None])
            np.testing.assert_array_equal(single[:9], 0.0)
            # The gap is 5e-5 of the means: far above float32's resolution, which is 1e-7.
            np.testing.assert_allclose(single[9], next_best, rtol=1e-9 if x64 else 1e-2)


COUNTS = np.array([0, 1, 5, 19, 20, 30, 40, 119, 121, 1000, 1000, 1701, 10**5, 10**7, 10**7, 7, 7], np.int32)
PROBS = np.array([0.3, 0.5, 0.2, 0.5, 0.5, 0.6, 0.3, 0.5, 0.5, 1e-3, 0.3, 0.5, 0.02, 0.5, 0.999, 0.0, 1.0], np.float32)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("x64", "num_draws"), [(True, 40_000), (False, 20_000)])
def test_binomial_law(x64, num_draws):
    """Chi-square of the masses where few matter, else Kolmogorov-Smirnov of the distribution function's values."""
    with jax.enable_x64(x64):
        draw = jax.jit(jax.vmap(binomial, (0, None, None)))
        keys = jax.random.split(jax.random.key(12), num_draws)
        drawn = np.asarray(draw(keys, jnp.asarray(COUNTS), jnp.asarray(PROBS, jnp.result_type(float))), np.float64)
    level = LEVEL / COUNTS.size
    uniform = np.random.default_rng(0).random(num_draws)
    for count, prob, k in zip(COUNTS, PROBS.astype(np.float64), drawn.T, strict=True):
        law = stats.binom(count, prob)
        assert (k == np.round(k)).all() and k.min() >= 0 and k.max() <= count
        if count > 100:
            # Uniform if k has this law: the distribution function's jump at k is split by chance.
            levels = law.cdf(k - 1) + uniform * (law.cdf(k) - law.cdf(k - 1))
            assert stats.kstest(levels, "uniform").pvalue > level
        expected = law.pmf(np.arange(min(count, 1000) + 1)) * num_draws
        if count <= 1000:
            common = expected >= 5
            observed = np.bincount(k.astype(int), minlength=count + 1)
            observed, expected = (np.append(x[common], x[~common].sum()) for x in (observed, expected))
            some = expected > 1e-9
            assert observed[~some].sum() == 0
            if some.sum() > 1:
                assert stats.chisquare(observed[some], expected[some], sum_check=False).pvalue > level


@pytest.mark.slow
@pytest.mark.statistical
def test_batch_sums_have_the_law_of_summed_rewards():
    pulls = np.array([0, 1, 6], np.int32)
    num_draws = 20_000
    keys = jax.random.split(jax.random.key(8), num_draws)

    def sums(environment):
        state = truth(environment)
        return np.asarray(
            jax.jit(jax.vmap(lambda key: environment.batch.sums(state, pulls, environment.batch.noise(key))))(keys)
        )

    signs = sums(linear(FEATURES, THETA, noise="sign"))
    assert (signs[:, 0] == 0).all()
    for arm in (1, 2):
        n, k = pulls[arm], np.arange(pulls[arm] + 1)
        law = stats.binom(n, (1 + MEANS[arm]) / 2).pmf(k) * num_draws
        observed = (signs[:, arm, None] == 2 * k - n).sum(axis=0)
        assert observed.sum() == num_draws
        common = law >= 5
        observed, law = (np.append(x[common], x[~common].sum()) for x in (observed, law))
        assert stats.chisquare(observed[law > 0], law[law > 0]).pvalue > LEVEL / 2
    normals = sums(linear(FEATURES, THETA, sigma=0.5))
    assert (normals[:, 0] == 0).all()
    for arm in (1, 2):
        law = stats.norm(pulls[arm] * MEANS[arm], 0.5 * np.sqrt(pulls[arm]))
        assert stats.kstest(normals[:, arm], law.cdf).pvalue > LEVEL / 3
    assert stats.pearsonr(normals[:, 1], normals[:, 2]).pvalue > LEVEL / 3  # arms of a batch are independent
    wins = sums(bernoulli([0.3, 0.0, 1.0]))
    np.testing.assert_array_equal(wins, np.broadcast_to([0.0, 0.0, 6.0], wins.shape))


@pytest.mark.slow
@pytest.mark.statistical
def test_batch_sums_of_squares_have_the_law_of_summed_squares():
    """Given the sums: known where rewards have two values, else a chi-squared variable that is independent of them."""
    pulls = jnp.array([0, 1, 6], jnp.int32)
    keys = jax.random.split(jax.random.key(9), 20_000)

    def both(environment):
        state, batch = truth(environment), environment.batch

        def draw(key):
            noise = batch.noise(key)
            sums = batch.sums(state, pulls, noise)
            return sums, batch.squares(state, pulls, noise, sums)

        return (np.asarray(x) for x in jax.jit(jax.vmap(draw))(keys))

    sums, squares = both(bernoulli([0.3, 0.5, 0.9]))
    np.testing.assert_array_equal(squares, sums)
    _, squares = both(linear(FEATURES, THETA, noise="sign"))
    np.testing.assert_array_equal(squares, np.broadcast_to([0.0, 1.0, 6.0], squares.shape))
    sums, squares = both(gaussian(MEANS, sigma=0.5))
    assert (squares[:, 0] == 0).all()
    np.testing.assert_allclose(squares[:, 1], sums[:, 1] ** 2, rtol=1e-12)
    apart = (squares[:, 2] - sums[:, 2] ** 2 / 6) / 0.25
    assert stats.kstest(apart, stats.chi2(5).cdf).pvalue > LEVEL / 2
    assert stats.spearmanr(apart, sums[:, 2]).pvalue > LEVEL / 2


@pytest.mark.statistical
def test_linear_rewards():
    noise = jnp.asarray(np.random.default_rng(0).standard_normal(50))
    environment = linear(FEATURES, THETA, sigma=0.5)
    state = truth(environment)
    np.testing.assert_array_equal(state.means, MEANS)
    play = jax.jit(jax.vmap(lambda arm, z: environment.reward(state, None, arm, z), (None, 0)))
    for arm, mean in enumerate(MEANS):
        rewards = play(np.int32(arm), noise)
        np.testing.assert_allclose(rewards, mean + 0.5 * noise, rtol=0, atol=1e-15)
    sample = jax.jit(jax.vmap(environment.noise))(jax.random.split(jax.random.key(1), 20_000))
    assert stats.kstest(np.asarray(sample), "norm").pvalue > LEVEL

    extremes = np.array([-1.0, -0.9, 0.25, 1.0])
    environment = linear(extremes[:, None], np.ones(1), noise="sign")
    state = truth(environment)
    arms = jnp.arange(4, dtype=jnp.int32)

    def play(key):
        noise = environment.noise(key)
        return jax.vmap(lambda arm: environment.reward(state, None, arm, noise))(arms)

    drawn = np.asarray(jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(2), 50_000)))
    assert set(np.unique(drawn)) == {-1.0, 1.0}
    assert drawn[:, 0].max() == -1 and drawn[:, 3].min() == 1
    for arm in (1, 2):
        wins = int((drawn[:, arm] == 1).sum())
        assert stats.binomtest(wins, len(drawn), (1 + extremes[arm]) / 2).pvalue > LEVEL / 2


def test_sign_noise_at_the_ends_of_its_uniform():
    environment = linear(np.array([[-1.0], [1.0]]), np.ones(1), noise="sign")
    state = truth(environment)
    for noise in (-1.0, 1 - 2.0**-52):
        drawn = [float(environment.reward(state, None, jnp.int32(arm), jnp.float64(noise))) for arm in (0, 1)]
        assert drawn == [-1.0, 1.0]


def test_soare_is_the_papers():
    known = facts(soare(3, np.pi / 6, sigma=2.0))
    expected = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [np.sqrt(3) / 2, 1 / 2, 0]]
    np.testing.assert_allclose(known["features"], expected, atol=1e-15)
    np.testing.assert_array_equal(known["theta"], [2, 0, 0])
    assert (known["sigma"], known["theta_norm"]) == (2.0, 2.0)
    np.testing.assert_allclose(truth(soare(5, 0.01)).gaps, [0, 2, 2, 2, 2, 4 * np.sin(0.005) ** 2], atol=1e-15)


@pytest.mark.parametrize(("num_arms", "m"), [(3, 1), (4, 2), (4, 1), (7, 3), (7, 5)])
def test_top_m_classic_is_the_papers(num_arms, m):
    def e(i):  # counted from 1, as the paper does
        return (np.arange(1, num_arms) == i).astype(float)

    arms = {a: e(1) + e(a) for a in range(2, m + 1)}
    arms |= {1: e(1), m + 1: np.cos(0.3) * e(1) + np.sin(0.3) * e(m + 1)}
    arms |= {a: e(a - 1) for a in range(m + 2, num_arms + 1)}
    known = facts(top_m_classic(num_arms, m, 0.3))
    np.testing.assert_array_equal(known["features"], [arms[a] for a in range(1, num_arms + 1)])
    np.testing.assert_array_equal(known["theta"], e(1))
    assert (known["sigma"], known["theta_norm"], known["m"]) == (0.5, 1.0, m)
    means = np.concatenate([np.ones(m), [np.cos(0.3)], np.zeros(num_arms - m - 1)])
    np.testing.assert_allclose(truth(top_m_classic(num_arms, m, 0.3)).means, means, atol=1e-15)


def test_random_instances():
    by_arm, spectral = (facts(linear_random(20, 7, instance_seed=3, normalization=n)) for n in ("arm", "spectral"))
    np.testing.assert_allclose(np.linalg.norm(by_arm["features"], axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.svd(spectral["features"])[1][0], 1, rtol=1e-14)
    ratio = by_arm["features"] / spectral["features"]
    np.testing.assert_allclose(ratio, ratio[:, :1] * np.ones(7), rtol=1e-13)
    np.testing.assert_array_equal(truth(linear_random(20, 7, instance_seed=3)).means, by_arm["features"][:, 0])
    other = facts(linear_random(20, 7, instance_seed=4))
    assert (other["features"] != by_arm["features"]).all()


@pytest.mark.statistical
def test_random_features_are_uniform_on_the_sphere():
    x = linear_random(20_000, 3).known()["features"]
    for axis in range(3):  # Archimedes: each coordinate of a uniform point of the sphere in R^3 is uniform
        assert stats.kstest(x[:, axis], stats.uniform(-1, 2).cdf).pvalue > LEVEL / 3


@pytest.mark.slow
def test_made_click_instances():
    places = set()
    for seed, num_arms in enumerate((2, 5, 30, 30, 100, 5)):
        known = facts(r6a_like(num_arms, instance_seed=seed, min_gap=0.06))
        pairs = known["features"].reshape(num_arms, 6, 6)
        user, article = pairs[:, :, 0], pairs[:, 0, :]
        np.testing.assert_allclose(pairs, user[:, :, None] * article[:, None, :], rtol=1e-15)
        np.testing.assert_array_equal(pairs[:, 0, 0], 1.0)
        for mixture in (user, article):
            np.testing.assert_allclose(mixture[:, 1:].sum(axis=1), 1.0, rtol=1e-14)
        state = truth(r6a_like(num_arms, instance_seed=seed, min_gap=0.06))
        gaps = np.sort(state.gaps)
        assert gaps[0] == 0 and gaps[1] >= 0.06 and np.abs(state.means).max() <= 1
        assert known["sigma"] == 2.0 and np.linalg.matrix_rank(known["features"]) <= 25
        places.add(int(np.argmin(state.gaps)))
    assert len(places) > 2  # the best arm is not always in the same place


def everything(environment):
    """What must not depend on whether arguments are traced: the truth, rewards, the description."""
    state = environment.init(jax.random.key(0))
    arms = jnp.arange(state.means.size, dtype=jnp.int32)
    noise = environment.noise(jax.random.key(4))
    reward = jax.vmap(lambda arm: environment.reward(state, None, arm, noise))(arms)
    return state.means, state.gaps, reward, {k: jnp.asarray(v, jnp.float64) for k, v in facts(environment).items()}


STACK = (np.stack([FEATURES, FEATURES[::-1], FEATURES / 3]), np.stack([THETA, THETA[::-1], -THETA]))
TRACED = {
    "linear": (lambda x, t, s: everything(linear(x, t, sigma=s)), (*STACK, None)),
    "linear, signs": (lambda x, t, s: everything(linear(x, t, noise="sign", sigma=s)), (*STACK, None)),
    "soare": (lambda a, s: everything(soare(3, a, sigma=s)), ([0.01, 0.5, 1.5], None)),
    "top_m_classic": (lambda a, s: everything(top_m_classic(5, 2, a, sigma=s)), ([0.01, 0.5, 1.5], None)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACED)
def test_traced_arguments_vmap(name):
    function, stacked = TRACED[name]
    stacked = [np.array([1.0, 2.5, 4.0] if x is None else x) for x in stacked]
    batched = jax.jit(jax.vmap(function))(*stacked)
    assert len(np.unique(np.asarray(batched[0]), axis=0)) == 3
    for i in range(3):
        alone = function(*(x[i] for x in stacked))  # concrete: features in NumPy
        # XLA's cosine and NumPy's may differ in the last bit.
        chex.assert_trees_all_close(jax.tree.map(lambda leaf, i=i: leaf[i], batched), alone, rtol=1e-14, atol=1e-15)


def test_a_mean_that_rounding_takes_beyond_1_is_1():
    state = truth(linear(np.array([[1 + 2e-16], [0.5]]), np.ones(1), noise="sign"))
    np.testing.assert_array_equal(state.means, [1.0, 0.5])


def test_table_describes_what_is_known_of_it():
    assert table(RECORDED).known() == {"sigma": 0.5}
    assert table(RECORDED, sigma=2.0).known() == {"sigma": 2.0}
    known = facts(table(RECORDED, [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]))
    np.testing.assert_allclose(known["theta"], [0.5, -0.25, 0.0], atol=1e-15)
    np.testing.assert_allclose(known["theta_norm"], np.sqrt(5) / 4, rtol=1e-14)
    far = facts(table(RECORDED, [[1.0], [1.0]]))  # misspecified: both arms look alike
    np.testing.assert_allclose(far["theta"], [0.375], rtol=1e-14)
    traced = jax.jit(lambda *given: facts(table(*given)))(RECORDED, np.array([[1.0], [1.0]]))
    np.testing.assert_allclose(traced["theta"], [0.375], rtol=1e-12)
    assert traced["sigma"] == 0.5


@pytest.mark.skipif(not EPILEPSY.exists(), reason="needs github.com/clreda/linear-top-m's data in ../shared/data")
def test_real_drugs():
    rewards = np.array(read_csv("rewards", EPILEPSY / "rewards.csv"))
    labelled = np.array(read_csv("features", EPILEPSY / "features.csv"))
    label, features = labelled[:, 0], labelled[:, 1:]
    assert rewards.shape == (18, 10) and features.shape == (10, 71)
    np.testing.assert_array_equal(label, [1] * 5 + [-1] * 5)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, rtol=1e-12)  # normalised by its authors
    known, state = facts(table(rewards, features, sigma=0.5)), truth(table(rewards, features))
    np.testing.assert_array_equal(known["features"], features)
    np.testing.assert_allclose(features @ known["theta"], state.means, rtol=1e-13)  # the ten are independent
    assert float(simple_regret(state, jnp.arange(5, dtype=jnp.int32))) == 0.0  # the five that treat epilepsy
    best = np.sort(state.means)[::-1]
    assert round(best[4] - best[5], 3) == 0.066  # as the authors' Results say
    swapped = simple_regret(state, jnp.array([0, 1, 2, 4, 6], jnp.int32))
    np.testing.assert_allclose(swapped, best[4] - best[5], rtol=1e-13)


REFUSALS = {
    "features vector": (lambda: linear([1.0], [1.0]), "linear: features has shape (1,), must have 2 axes"),
    "features ragged": (lambda: linear([[1.0], [1.0, 2.0]], [1.0]), "linear: features = [[1.0], [1.0, 2.0]]"),
    "no arm": (lambda: linear(np.zeros((0, 2)), THETA), "linear: features has 0 entries, must have at least 1"),
    "theta long": (lambda: linear(FEATURES, np.ones(3)), "linear: theta has 3 entries, must have 2"),
    "sign sigma": (
        lambda: linear(FEATURES, THETA, noise="sign", sigma=0.5),
        "linear: sigma = 0.5, must be a number in [1, inf)",
    ),
    "sign mean": (
        lambda: linear(FEATURES, 2 * THETA, noise="sign"),
        "linear: features[2] @ theta = -1.75, must be in [-1, 1] for sign noise",
    ),
    "m": (lambda: top_m_classic(4, 3, 0.1), "top_m_classic: m = 3, must be an integer in [1, 2]"),
    "m zero": (lambda: top_m_classic(4, 0, 0.1), "top_m_classic: m = 0, must be an integer in [1, 2]"),
    "gap too large": (
        lambda: r6a_like(9, min_gap=0.9),
        "r6a_like: num_arms = 9, must be at most 1: none of 10000 pairs",
    ),
    "described features": (lambda: table(RECORDED, np.eye(3)), "table: features has 3 rows, must have 2"),
}


test_refusals = refusals(REFUSALS)
