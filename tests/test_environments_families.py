"""Poisson, exponential, heteroscedastic and recorded rewards: laws of pulls and batches; the arms in random order."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandit.environments.recorded.fiesta import fiesta
from jaxbandit.environments.recorded.table import table
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.exponential import exponential
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.environments.stationary.poisson import poisson
from jaxbandit.environments.stationary.rare_events import rare_events
from jaxbandit.lab.specs import spec

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

LEVEL = 1e-4  # of each statistical test, over all its comparisons together (Bonferroni); seeds are fixed
SCORES = Path(__file__).parent.parent.parent / "shared" / "data" / "fiesta" / "test_f1.json"
RECORDED = np.array([[0.0, 0.5], [1.0, 0.25], [0.5, 0.25], [0.75, 0.0], [0.25, 0.125]])


def keys(number, seed=0):
    return jax.random.split(jax.random.key(seed), number)


def singly(environment, number):
    """Rewards of single pulls, [number, num_arms]."""
    state = environment.init(jax.random.key(0))
    every = jax.vmap(environment.reward, (None, None, 0, None))
    arms = jnp.arange(environment.arms.num_arms, dtype=jnp.int32)
    return np.asarray(jax.jit(jax.vmap(lambda key: every(state, None, arms, environment.noise(key))))(keys(number)))


def batches(environment, pulls, number, what="sums"):
    """Sums over batches of `pulls`, [number, num_arms], or sums of squares."""
    state, law, pulls = environment.init(jax.random.key(0)), environment.batch, jnp.asarray(pulls)

    def draw(key):
        noise = law.noise(key)
        sums = law.sums(state, pulls, noise)
        return sums if what == "sums" else law.squares(state, pulls, noise, sums)

    return np.asarray(jax.jit(jax.vmap(draw))(keys(number, 1)))


def agrees(drawn, law, level):
    """Whether whole numbers follow a law of SciPy: their distribution function, smoothed by a uniform, is uniform."""
    u = np.random.default_rng(0).random(len(drawn))
    return stats.kstest(law.cdf(drawn - 1) + u * law.pmf(drawn), "uniform").pvalue > level


@pytest.mark.statistical
@pytest.mark.parametrize("x64", [False, True])
def test_poisson_law(x64):
    means = np.array([0.0, 0.3, 9.9, 10.1, 150.0])
    with jax.enable_x64(x64):
        drawn = singly(poisson(means), 20_000)
    assert (drawn[:, 0] == 0).all()
    for arm, mean in list(enumerate(means))[1:]:
        assert agrees(drawn[:, arm], stats.poisson(mean), LEVEL / 4), mean


@pytest.mark.statistical
def test_poisson_sums_by_inversion_and_by_rejection():
    means, pulls = np.array([0.0, 2.5, 0.5, 3.0, 700.0, 4e6]), np.array([9, 0, 7, 100, 1, 1])
    drawn = batches(poisson(means), pulls, 20_000)
    assert (drawn[:, :2] == 0).all()
    for arm in (2, 3, 4):
        assert agrees(drawn[:, arm], stats.poisson(means[arm] * pulls[arm]), LEVEL / 5), arm
    # The last to moments: its distribution function moves by 2e-4 at a rounding of the mean.
    mean, sd = drawn[:, 5].mean(dtype=np.float64), drawn[:, 5].std(dtype=np.float64)
    assert abs(mean - 4e6) < stats.norm.isf(LEVEL / 10) * 2000 / np.sqrt(20_000)
    assert abs(sd / 2000 - 1) < stats.norm.isf(LEVEL / 10) / np.sqrt(2 * 20_000)


@pytest.mark.statistical
def test_exponential_law():
    means = np.array([0.2, 7.0])
    environment = exponential(means)
    drawn, sums = singly(environment, 50_000), batches(environment, np.array([0, 6]), 20_000)
    assert drawn.min() > 0 and (sums[:, 0] == 0).all()
    for arm, mean in enumerate(means):
        assert stats.kstest(drawn[:, arm], stats.expon(scale=mean).cdf).pvalue > LEVEL / 3
    assert stats.kstest(sums[:, 1], stats.gamma(6, scale=7.0).cdf).pvalue > LEVEL / 3


@pytest.mark.statistical
def test_gaussian_with_a_standard_deviation_an_arm():
    sigma, pulls = np.array([0.5, 3.0]), np.array([1, 40])
    environment = gaussian([-1.0, 2.0], sigma=sigma)
    drawn, sums = singly(environment, 50_000), batches(environment, pulls, 20_000)
    for arm, mean in enumerate((-1.0, 2.0)):
        law = stats.norm(mean, sigma[arm])
        assert stats.kstest(drawn[:, arm], law.cdf).pvalue > LEVEL / 5
        law = stats.norm(pulls[arm] * mean, sigma[arm] * np.sqrt(pulls[arm]))
        assert stats.kstest(sums[:, arm], law.cdf).pvalue > LEVEL / 5
    squares = batches(environment, pulls, 20_000, "squares")
    spread = (squares - sums**2 / pulls)[:, 1]  # sigma^2 times chi squared of 39 degrees
    assert stats.kstest(spread, stats.chi2(39, scale=9).cdf).pvalue > LEVEL / 5


def test_an_algorithm_may_know_the_largest_sigma():
    assert gaussian([0.0, 1.0], sigma=[0.5, 3.0]).known() == {"sigma": 3.0}
    assert gaussian([0.0, 1.0], sigma=0.5).known() == {"sigma": 0.5}
    one, two = (gaussian([0.0, 1.0], sigma=sigma) for sigma in (0.7, [0.7, 0.7]))
    np.testing.assert_array_equal(singly(one, 100), singly(two, 100))
    assert one.init(jax.random.key(0)).sigmas is None  # its state is what it was


ORDERED = {
    "bernoulli": lambda **more: bernoulli([0.1, 0.5, 0.9], **more),
    "gaussian": lambda **more: gaussian([0.1, 0.5, 0.9], sigma=[1.0, 5.0, 9.0], **more),
    "poisson": lambda **more: poisson([0.1, 0.5, 0.9], **more),
    "exponential": lambda **more: exponential([0.1, 0.5, 0.9], **more),
    "table": lambda **more: table([[0.1, 0.5, 0.9]], **more),
    "fiesta": lambda **more: fiesta(("lstm_50", "lstm_200", "tdlstm"), **more),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", ORDERED)
def test_each_run_has_the_arms_in_an_order_of_its_own(name):
    plain, mixed = ORDERED[name](), ORDERED[name](permute=True)
    given = np.asarray(plain.init(jax.random.key(0)).means)
    np.testing.assert_array_equal(plain.init(jax.random.key(1)).means, given)  # by default as they were given
    state = jax.vmap(mixed.init)(keys(3_000))
    means = np.asarray(state.means)
    places = np.argsort(means, axis=1)  # of the worst, the middle and the best arm
    np.testing.assert_array_equal(np.take_along_axis(means, places, 1), np.sort(given)[None].repeat(3_000, 0))
    _, counts = np.unique(places, axis=0, return_counts=True)
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > LEVEL
    np.testing.assert_allclose(state.gaps, means.max(1, keepdims=True) - means, atol=1e-7)
    best = places[:, 2].astype(np.int32)
    assert not np.asarray(jax.vmap(mixed.simple_regret)(state, best[:, None])).any()
    for arm in (0, 2):
        gap = jax.vmap(lambda world, a: mixed.regret(world, None, a))(state, places[:, arm].astype(np.int32))
        np.testing.assert_allclose(gap, given.max() - np.sort(given)[arm], atol=1e-6)
    if name == "gaussian":
        np.testing.assert_allclose(state.sigmas, 10 * means, rtol=1e-6)
    if name == "table":  # the reward of an arm is its mean, batch or not
        one = jax.tree.map(lambda x: x[7], state)
        paid = [float(mixed.reward(one, None, jnp.int32(arm), jnp.int32(0))) for arm in range(3)]
        np.testing.assert_array_equal(np.float32(paid), one.means)
        sums = mixed.batch.sums(one, jnp.array([1, 0, 2]), jax.random.key(0))
        np.testing.assert_array_equal(sums, np.asarray(one.means) * np.array([1, 0, 2]))


@pytest.mark.statistical
@pytest.mark.parametrize("rows", ["common", "independent"])
def test_batches_of_a_table(rows):
    environment, number = table(RECORDED, rows=rows), 20_000
    once = batches(environment, [1, 1], number)
    together = (once[:, None, :] == RECORDED[None]).all(axis=2)
    assert together.any(axis=1).all() == (rows == "common")  # else it is a row of the table by chance
    pairs = np.unique(once, axis=0, return_counts=True)[1]
    expected = {"common": np.full(5, 1 / 5), "independent": np.outer(np.full(5, 1 / 5), [1 / 5, 1 / 5, 2 / 5, 1 / 5])}
    assert stats.chisquare(pairs, expected[rows].ravel() * number).pvalue > LEVEL / 3
    sums, squares = (batches(environment, [3, 8], number, what) for what in ("sums", "squares"))
    for drawn, entries in ((sums, RECORDED), (squares, RECORDED**2)):
        mean, sd = entries.mean(0) * [3, 8], entries.std(0) * np.sqrt([3, 8])
        assert (np.abs(drawn.mean(0) - mean) < stats.norm.isf(LEVEL / 12) * sd / np.sqrt(number)).all()
    assert (squares <= sums**2 + 1e-6).all() and (sums**2 <= squares * [3, 8] + 1e-6).all()  # of the same rows


def test_fiesta_has_the_recorded_scores():
    means = np.asarray(fiesta().init(jax.random.key(0)).means)
    assert means.shape == (12,) and means.argmax() == 9
    np.testing.assert_allclose(
        np.sort(means)[::-1][:4], [0.64623, 0.63226, 0.63188, 0.63058], atol=5e-6
    )  # as published
    eight = fiesta("eight").init(jax.random.key(0)).means
    np.testing.assert_array_equal(eight, np.delete(means, [1, 4, 7, 10]))
    two = fiesta(("tdlstm", "atae"))
    np.testing.assert_array_equal(two.init(jax.random.key(0)).means, means[[9, 0]])
    assert two.name == "fiesta" and 0.1 < fiesta().known()["sigma"] < 0.15


@pytest.mark.skipif(not SCORES.exists(), reason="the shared data folder is not beside the repository")
def test_fiesta_table_is_the_recorded_one():
    from jaxbandit.environments.recorded.fiesta import recorded_scores

    scores, recorded = recorded_scores(), json.loads(SCORES.read_text())
    assert list(scores) == list(recorded)
    for name, found in recorded.items():
        np.testing.assert_allclose(scores[name], found, atol=5.0001e-6)


def test_what_theory_says_does_not_depend_on_the_order_of_the_arms():
    from jaxbandit.lab.experiments.truth import truth_of

    gaussian_arms = {"type": "gaussian", "means": [0.0, 0.5, 0.9], "sigma": [1.0, 2.0, 3.0]}
    data = {
        "kind": "simulate",
        "runs": 1,
        "horizon": 9,
        "algorithm": [{"type": "uniform"}],
        "instance": [gaussian_arms | {"name": str(permute), "permute": permute} for permute in (False, True)],
    }
    plain, mixed = (truth_of(instance, "simulate") for instance in spec.parse(data, "x.toml").instances)
    assert plain["means"] == [0.0, 0.5, 0.9] and "means" not in mixed  # no run had them in this order alone
    # The sum of 2 sigma^2 / gap, each arm's own.
    assert mixed["regret_constant"] == pytest.approx(2 / 0.9 + 8 / 0.4) == plain["regret_constant"]


@pytest.mark.statistical
@pytest.mark.parametrize("x64", [False, True])
def test_rare_events_and_normal_rewards_between_them(x64):
    with jax.enable_x64(x64):
        arms = rare_events([0.8, 0.9, 0.5], rare=[0.0, 0.4, 1.0], chance=[0.0, 0.1, 1.0], spread=0.01, low=0, high=1)
        drawn, sums = singly(arms, 20_000), batches(arms, [0, 30, 7], 20_000)
        steady = batches(rare_events([0.8, 0.9], rare=0.4, chance=0.0, spread=[0.01, 0.02]), [25, 16], 20_000)
    np.testing.assert_allclose(arms.init(jax.random.key(0)).means, [0.8, 0.85, 1.0], rtol=1e-6)
    assert (arms.rewards.low, arms.rewards.high, arms.rewards.sigma) == (0, 1, 0.5)
    for limits in ({}, {"low": 0.0}, {"high": 1.0}):
        assert rare_events([0.8], rare=0.4, chance=0.5, **limits).rewards.sigma is None
    events = drawn[:, 1] == np.float32(0.4) if not x64 else drawn[:, 1] == 0.4
    assert stats.binomtest(int(events.sum()), 20_000, 0.1).pvalue > LEVEL / 6
    for some, law in ((drawn[:, 0], (0.8, 0.01)), (drawn[~events, 1], (0.9, 0.01))):
        assert stats.kstest(some, stats.norm(*law).cdf).pvalue > LEVEL / 6
    assert (drawn[:, 2] == 1).all() and (sums[:, 0] == 0).all() and (sums[:, 2] == 7).all()
    # 30 pulls: a whole number of events, told from the sum because normal rewards vary by .05 in all.
    number = np.rint((30 * 0.9 - sums[:, 1]) / 0.5)
    assert agrees(number, stats.binom(30, 0.1), LEVEL / 6)
    rest = (sums[:, 1] - 0.4 * number - 0.9 * (30 - number)) / (0.01 * np.sqrt(30 - number))
    assert stats.kstest(rest, stats.norm.cdf).pvalue > LEVEL / 6
    for arm, law in enumerate(((20, 0.05), (14.4, 0.08))):
        assert stats.kstest(steady[:, arm], stats.norm(*law).cdf).pvalue > LEVEL / 6


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"chance": 1.5}, "chance"),
        ({"chance": [0.1]}, "chance has 1 entries, must have 2, one per arm, or be a number"),
        ({"chance": [0.1, -0.1]}, r"chance\[1\] = -0.1"),
        ({"rare": np.nan}, "rare"),
        ({"spread": -1.0}, "spread"),
        ({"low": 1.0, "high": 1.0}, "must be low < high"),
    ],
)
def test_rare_events_out_of_range_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        rare_events([0.8, 0.9], **{"rare": 0.4, "chance": 0.1, **wrong})
