"""Environments: their rewards' laws, what a round's arms share, gaps, traced arguments and refusals."""

import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusals
from scipy import special, stats

from jaxbandit.environments.recorded.crowd import crowd
from jaxbandit.environments.recorded.fiesta import fiesta
from jaxbandit.environments.recorded.table import table
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.beta import beta
from jaxbandit.environments.stationary.gaussian import gaussian

pytestmark = pytest.mark.quickly_compiled

MEANS = np.array([0.1, 0.5, 0.9])
ALPHA, BETA = np.arange(1.0, 10.0), np.full(9, 2.0)  # the UCBoost paper's Beta scenario
RECORDED = np.array([[0.0, 0.5], [1.0, 0.25], [0.5, 0.25], [0.75, 0.0], [0.25, 0.125]])
COUNTS = Path(__file__).parent.parent.parent / "shared" / "data" / "crowd" / "correct_counts.json"

INSTANCES = {
    "bernoulli": lambda: bernoulli(MEANS),
    "gaussian": lambda: gaussian(MEANS, sigma=0.5),
    "beta": lambda: beta(ALPHA, BETA),
    "crowd": lambda: crowd("it"),
    "table": lambda: table(RECORDED),
}


def rewards(environment, num_rounds, seed=0):
    """Rewards [num_rounds, num_arms]: what each arm would have paid in each round."""
    state = jax.jit(environment.init)(jax.random.key(seed))
    arms = np.arange(state.means.size, dtype=np.int32)
    keys = jax.random.split(jax.random.key(seed + 1), num_rounds)
    return np.asarray(_rewards(environment)(state, arms, keys))


@functools.cache
def _rewards(environment):
    every_arm = jax.vmap(environment.reward, (None, None, 0, None))
    return jax.jit(jax.vmap(lambda s, a, key: every_arm(s, None, a, environment.noise(key)), (None, None, 0)))


@pytest.mark.parametrize(
    ("name", "x64"),
    [
        *((name, x64) for name in INSTANCES for x64 in (False, True)),
        *(pytest.param("beta by key", x64, marks=pytest.mark.slow) for x64 in (False, True)),
    ],
)
def test_shapes_dtypes_gaps_and_determinism(name, x64):
    with jax.enable_x64(x64):
        by_key = name == "beta by key"
        environment = beta(np.array([0.1, 2.0]), np.array([1.0, 3.0])) if by_key else INSTANCES[name]()
        state = jax.jit(environment.init)(jax.random.key(0))
        float_dtype = jnp.result_type(float)
        assert state.means.dtype == state.gaps.dtype == float_dtype
        np.testing.assert_array_equal(state.gaps, state.means.max() - state.means)
        assert float(state.gaps.min()) == 0
        noise = jax.jit(environment.noise)(jax.random.key(3))
        assert environment.observe(state, noise) is None

        def gap(arm):
            return environment.regret(state, None, arm)

        arms = np.arange(state.means.size, dtype=np.int32)
        for function in (lambda arm: environment.reward(state, None, arm, noise), gap):
            assert jax.eval_shape(function, arms[0]) == jax.ShapeDtypeStruct((), float_dtype)
        np.testing.assert_array_equal(jax.jit(jax.vmap(gap))(arms), state.gaps)
        first = rewards(environment, 50)
        assert np.isfinite(first).all()
        np.testing.assert_array_equal(first, rewards(environment, 50))
        assert (first != rewards(environment, 50, seed=1)).any()


# Each statistical test below is at level 1e-4 over all its arms together (Bonferroni), with a fixed seed.
LEVEL = 1e-4


@pytest.mark.statistical
def test_bernoulli_law():
    drawn = rewards(bernoulli(np.array([0.0, 0.01, 0.3, 1.0])), 100_000)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert drawn[:, 0].max() == 0 and drawn[:, 3].min() == 1
    for arm, p in ((1, 0.01), (2, 0.3)):
        assert stats.binomtest(int(drawn[:, arm].sum()), drawn.shape[0], p).pvalue > LEVEL / 2


def test_bernoulli_extremes_never_and_always_pay():
    environment = bernoulli(np.array([0.0, 1.0]))
    state = environment.init(jax.random.key(0))
    for noise in (0.0, 1 - 2.0**-23):  # the ends of what `jax.random.uniform` draws
        drawn = [environment.reward(state, None, jnp.int32(arm), jnp.float32(noise)) for arm in (0, 1)]
        assert [float(reward) for reward in drawn] == [0.0, 1.0]


@pytest.mark.statistical
def test_gaussian_law():
    drawn = rewards(gaussian(np.array([-1.0, 2.0]), sigma=0.5), 100_000)
    for arm, mean in enumerate((-1.0, 2.0)):
        assert stats.kstest(drawn[:, arm], stats.norm(mean, 0.5).cdf).pvalue > LEVEL / 2


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("alpha", "beta_", "num_rounds"),
    [
        (ALPHA, BETA, 100_000),
        ([0.5, 200.0], [0.5, 3.0], 100_000),
        pytest.param([0.3, 2.0], [0.4, 5.0], 2_000, marks=pytest.mark.slow),
    ],
)
def test_beta_law(alpha, beta_, num_rounds):
    drawn = rewards(beta(np.asarray(alpha), np.asarray(beta_)), num_rounds)
    for arm, (a, b) in enumerate(zip(alpha, beta_, strict=True)):
        assert stats.kstest(drawn[:, arm], stats.beta(a, b).cdf).pvalue > LEVEL / len(alpha)


def test_beta_small_shapes_are_not_read_off_the_cubics():
    for smallest, by_key in ((0.5, False), (0.49, True)):
        noise = beta(np.array([3.0, 1.0]), np.array([1.0, smallest])).noise(jax.random.key(0))
        assert jnp.issubdtype(noise.dtype, jax.dtypes.prng_key) == by_key


@pytest.mark.slow
@pytest.mark.statistical
def test_beta_law_of_traced_shapes():
    def draw(a, b, key):
        environment = beta(a, b)
        state = environment.init(key)
        return environment.reward(state, None, jnp.int32(1), environment.noise(key))

    keys = jax.random.split(jax.random.key(5), 2_000)
    drawn = jax.jit(jax.vmap(draw, (None, None, 0)))(jnp.array([1.0, 3.0]), jnp.array([1.0, 2.0]), keys)
    assert stats.kstest(np.asarray(drawn), stats.beta(3, 2).cdf).pvalue > LEVEL


@pytest.mark.statistical
def test_table_draws_rows_uniformly_and_keeps_them_together():
    drawn = rewards(table(RECORDED), 100_000)
    matches = (drawn[:, None, :] == RECORDED[None]).all(axis=2)
    assert matches.any(axis=1).all()  # each round's rewards stand in one row of the table
    assert stats.chisquare(matches.sum(axis=0)).pvalue > LEVEL


SHAPES = [(1, 2), (9, 2), (2, 2), (0.5, 0.5), (0.5, 30), (30, 0.5), (1, 1), (1000, 1000), (1e4, 3)]


def levels():
    """32-bit noises at the ends, across the middle, at the edges of cells and between them."""
    powers = 2 ** np.arange(32, dtype=np.uint64)
    cells = (powers[:, None] * np.arange(32, 64, dtype=np.uint64) // 32).ravel()  # ends and middles of 16 an octave
    low = np.concatenate([cells + d for d in (0, 1)] + [cells - 1, np.arange(40, dtype=np.uint64)])
    low = low[low < 2**31]
    random = np.random.default_rng(0).integers(2**32, size=5_000, dtype=np.uint64)
    return np.concatenate([low, 2**32 - 1 - low, random]).astype(np.uint32)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_beta_reward_is_the_quantile_at_its_noise(a, b, x64):
    bits = levels()
    level = (bits.astype(np.float64) + 0.5) / 2**32
    with jax.enable_x64(x64):
        environment = beta(np.array([3.0, a]), np.array([1.0, b]))
        state = environment.init(jax.random.key(0))
        reward = jax.jit(jax.vmap(lambda noise: environment.reward(state, None, jnp.int32(1), noise)))
        x = np.asarray(reward(jnp.asarray(bits)))
    assert x.min() >= 0 and x.max() <= 1
    # The law's error: how far the level lies outside the levels of the reals that round to x.
    ulps = 3 * np.finfo(x.dtype).eps * x.astype(np.float64) + np.finfo(np.float32).tiny
    below, above = (special.betainc(a, b, np.clip(x + sign * ulps, 0, 1)) for sign in (-1, 1))
    assert np.maximum(below - level, level - above).max() < 5e-8


def test_beta_paper_scenario_in_float32_rounding_included():
    bits = levels()
    environment = beta(ALPHA, BETA)
    state = environment.init(jax.random.key(0))
    reward = jax.jit(jax.vmap(lambda arm, noise: environment.reward(state, None, arm, noise), (None, 0)))
    for arm, (a, b) in enumerate(zip(ALPHA, BETA, strict=True)):
        x = np.asarray(reward(jnp.int32(arm), jnp.asarray(bits)), np.float64)
        assert np.abs(special.betainc(a, b, x) - (bits + 0.5) / 2**32).max() < 3e-7


def test_arms_of_a_round_share_their_chance():
    drawn = rewards(gaussian(MEANS, sigma=0.5), 100)
    np.testing.assert_allclose(drawn - MEANS, np.repeat((drawn - MEANS)[:, :1], 3, axis=1), atol=1e-6)
    drawn = rewards(beta(ALPHA, BETA), 100)
    shared = special.betainc(ALPHA, BETA, drawn.astype(np.float64))
    assert np.ptp(shared, axis=1).max() < 1e-6 < np.ptp(shared, axis=0).min()
    drawn = rewards(bernoulli(MEANS), 1000)
    assert (np.diff(drawn, axis=1) >= 0).all()  # the arm of larger mean pays whenever the other does


TRACED = {
    "bernoulli": (bernoulli, (np.array([[0.1, 0.9], [0.5, 0.5], [1.0, 0.0]]),)),
    "gaussian": (
        lambda means, sigma: gaussian(means, sigma=sigma),
        (np.array([[0.0, 1.0], [2.0, -3.0], [5.0, 5.0]]), np.array([0.1, 1.0, 7.0])),
    ),
    "beta": (beta, (np.array([[1.0, 2.0], [0.3, 4.0], [5.0, 5.0]]), np.array([[2.0, 2.0], [1.0, 9.0], [1.0, 1.0]]))),
    "table": (table, (np.stack([RECORDED, RECORDED + 1, -RECORDED]),)),
}


@pytest.mark.parametrize("name", TRACED)
def test_traced_arguments_vmap(name):
    make, stacked = TRACED[name]
    stacked = tuple(jnp.asarray(x, jnp.float32) for x in stacked)

    def play(*arguments):
        environment = make(*arguments)
        key = jax.random.key(11)
        state = environment.init(key)
        actions = jnp.arange(2, dtype=jnp.int32)
        noise = environment.noise(key)
        reward = jax.vmap(lambda arm: environment.reward(state, None, arm, noise))(actions)
        return (state.means, state.gaps, reward, jax.vmap(lambda arm: environment.regret(state, None, arm))(actions))

    batched = jax.jit(jax.vmap(play))(*stacked)
    assert len(np.unique(np.asarray(batched[0]), axis=0)) == 3
    for i in range(3):
        alone = jax.jit(play)(*(x[i] for x in stacked))
        for got, expected in zip(batched, alone, strict=True):
            np.testing.assert_allclose(got[i], expected, rtol=1e-6, atol=1e-7)


def test_table_ties_stay_ties_over_many_rows():
    column = np.random.default_rng(0).random(10_001)
    state = table(np.stack([column, np.sort(column)], axis=1)).init(jax.random.key(0))
    np.testing.assert_array_equal(state.gaps, 0)


# Averages and best accuracies as published with the data.
CROWD = {
    "it": (36, 25, 0.54, 0.84),
    "medicine": (45, 36, 0.48, 0.92),
    "chinese": (50, 24, 0.37, 0.79),
    "pokemon": (55, 20, 0.28, 1.00),
    "english": (63, 30, 0.26, 0.70),
    "science": (111, 20, 0.29, 0.85),
}


@pytest.mark.parametrize("name", CROWD)
def test_crowd_sets(name):
    num_arms, tasks, average, best = CROWD[name]
    means = np.asarray(crowd(name, feedback="single").init(jax.random.key(0)).means)
    assert means.shape == (num_arms,)
    assert abs(means.mean() - average) <= 0.005 and abs(means.max() - best) <= 0.005
    np.testing.assert_allclose(means * tasks, np.round(means * tasks), atol=1e-5)


@pytest.mark.skipif(not COUNTS.exists(), reason="the shared data folder is not beside the repository")
def test_crowd_table_is_the_recorded_one():
    recorded = json.loads(COUNTS.read_text())
    assert len(recorded) == 6
    for source_name, entry in recorded.items():
        means = crowd(source_name).init(jax.random.key(0)).means
        np.testing.assert_array_equal(means, np.float32(np.array(entry["correct"]) / entry["tasks"]))


@pytest.mark.parametrize("alias", ["it", "IT", "ITMANAGE", "ItManage"])
def test_crowd_names(alias):
    np.testing.assert_array_equal(crowd(alias).init(jax.random.key(0)).means[:2], np.float32([21 / 25, 10 / 25]))


REFUSALS = {
    "means scalar": (lambda: bernoulli(0.5), "bernoulli: means has shape ()"),
    "means matrix": (lambda: bernoulli(np.eye(2)), "bernoulli: means has shape (2, 2)"),
    "means empty": (lambda: bernoulli([]), "bernoulli: means has 0 entries"),
    "means text": (lambda: bernoulli(["a"]), "bernoulli: means = ['a']"),
    "sigma zero": (lambda: gaussian([0.0], sigma=0.0), "gaussian: sigma = 0.0, must be a number in (0, inf)"),
    "sigma negative": (lambda: gaussian([0.0], sigma=-1.0), "gaussian: sigma = -1.0"),
    "sigma NaN": (lambda: gaussian([0.0], sigma=np.nan), "gaussian: sigma = nan"),
    "sigma vector": (
        lambda: gaussian([0.0], sigma=np.ones(2)),
        "gaussian: sigma has 2 entries, must have 1",
    ),
    "sigma of an arm": (
        lambda: gaussian([0.0, 1.0], sigma=[1.0, 0.0]),
        "gaussian: sigma[1] = 0.0, must be in (0, inf)",
    ),
    "lengths differ": (lambda: beta([1.0, 2.0], [1.0]), "beta: beta has shape (1,), must have alpha's shape (2,)"),
    "table NaN": (lambda: table([[0.0, 1.0], [np.nan, 0.0]]), "table: rewards[1, 0] = nan"),
    "table ragged": (lambda: table([[0.0, 1.0], [0.0]]), "table: rewards = [[0.0, 1.0], [0.0]]"),
    "table vector": (lambda: table([0.0, 1.0]), "table: rewards has shape (2,)"),
    "table empty": (lambda: table(np.zeros((0, 3))), "table: rewards has 0 entries"),
    "table without arms": (lambda: table(np.zeros((3, 0))), "table: rewards has shape (3, 0), must have a column"),
    "features": (lambda: table(RECORDED, np.zeros((3, 4))), "table: features has 3 rows, must have 2"),
    "order and features": (
        lambda: table(RECORDED, np.eye(2), permute=True),
        "table: permute = True, must be False with features",
    ),
    "models": (lambda: fiesta("ate"), "fiesta: models = 'ate', must be one of all, eight"),  # type: ignore
    "a model": (lambda: fiesta(("atae", "lstn")), "fiesta: models[1] = 'lstn', must be one of"),
    "one model": (lambda: fiesta(("atae",)), "fiesta: models = ['atae'], must be two or more different models"),
    "data set": (lambda: crowd("medicin"), "did you mean 'medicine'?"),
    "data set, source's name": (lambda: crowd("ITMANAG"), "did you mean 'itmanage'?"),
    "data set not text": (lambda: crowd(3), "crowd: dataset = 3, must be one of it, medicine"),  # type: ignore
}


test_refusals = refusals(REFUSALS)
