"""What environments declare is what is played: means, gaps and the best arm, also shifted and scaled, in any precision.

The means of rewards are compared at 5 standard errors of 4,000 rewards an arm: a false alarm in 1 of 10^6 arms.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import parts
import pytest
from tiers import a_few

import jaxbandit as jb
from jaxbandit.lab.specs.registry import ENVIRONMENTS
from jaxbandit.running.resolution import beyond_float32
from jaxbandit.running.truth import means_of

pytestmark = pytest.mark.quickly_compiled
DRAWS = 4000


def of_single_arms(environment):
    arms, plain = environment.arms, environment.transition is None and environment.truth.means is not None
    single = (arms.set_size, arms.num_contexts, arms.context, arms.action) == (None,) * 4 if arms else False
    return plain and single and 1 < arms.num_arms <= 50


def played(environment, key):
    """Return the means and gaps of a run, its simple regrets, and the mean reward of each arm with its error."""
    arms, keys = (
        jnp.arange(environment.arms.num_arms, dtype=jnp.int32),
        jax.random.split(jax.random.fold_in(key, 1), DRAWS),
    )

    @jax.jit
    def run(key):
        state = environment.init(key)
        gaps = jax.vmap(lambda arm: environment.regret(state, None, arm))(arms)
        judged = (
            jax.vmap(lambda arm: environment.simple_regret(state, arm))(arms) if environment.simple_regret else None
        )
        best = environment.truth.means(state).max()

        def rewards(key):
            noise = environment.noise(key)
            return jax.vmap(lambda arm: environment.reward(state, None, arm, noise) - best)(arms)

        return environment.truth.means(state), gaps, judged, jax.vmap(rewards)(keys)

    means, gaps, judged, rewards = (None if x is None else np.asarray(x, np.float64) for x in run(key))
    return means, gaps, judged, rewards.mean(0), rewards.std(0) / DRAWS**0.5


def check(environment, scale=1.0):
    means, gaps, judged, below, errors = played(environment, jax.random.key(3))
    np.testing.assert_array_equal(gaps, means.max() - means)
    if judged is not None:
        np.testing.assert_array_equal(judged, gaps)
    assert (np.abs(below + gaps) <= 5 * errors + 1e-9 * scale).all(), (below, gaps, errors)
    return means, gaps


@pytest.mark.statistical
@pytest.mark.parametrize("name", a_few(ENVIRONMENTS, 8))
def test_rewards_have_the_means_and_gaps_that_are_declared(name, tmp_path):
    worlds = [world for _, world in parts.environments(tmp_path, [name]) if of_single_arms(world)]
    if not worlds:
        pytest.skip("its actions are not single arms with one mean each, or there are many")
    with jax.enable_x64(True):
        for world in worlds:
            check(world)


@pytest.mark.statistical
@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e5), (1e-3, 1e5), (1.0, -1e11)])
@pytest.mark.parametrize("kind", ["gaussian", "permuted", "table"])
def test_shifted_and_scaled_rewards_keep_the_gaps_in_the_precision_that_is_played(kind, scale, shift):
    base = np.array([0.25, 0.5, 0.625])
    means = base * scale + shift
    rows = means + scale * np.array([[0.1], [-0.1]])
    environment = {
        "gaussian": jb.environments.gaussian(means, sigma=scale),
        "permuted": jb.environments.gaussian(means, sigma=scale, permute=True),
        "table": jb.environments.table(rows),
    }[kind]
    double = bool(beyond_float32(environment))
    held = means.astype(np.float32).astype(np.float64)
    assert double == (np.abs((held[2] - held) - (means[2] - means)) > 0.05 * (means[2] - means)).any()
    with jax.enable_x64(double):
        found, gaps = check(environment, scale)
    exact = np.sort(means.max() - means)
    np.testing.assert_allclose(np.sort(gaps), exact, rtol=0.05, atol=1e-4 * abs(shift) * 2.0**-40)
    if kind == "gaussian":
        assert found.argmax() == 2 and means_of(environment) == means.tolist()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        (
            jb.environments.gaussian([1e5, 1e5 + 1e-3]),
            r"means of 100000.0 and 100000.001 differ by 0.001, which float32 cannot hold",
        ),
        (
            jb.environments.gaussian([1e5, 1e5 + 1e-3], permute=True),
            "means of 100000.0 and 100000.001 differ by 0.001, which",
        ),
        (
            jb.environments.piecewise_gaussian([[0.0, 0.0], [1e5, 1e5 + 1e-3]], [0, 5]),
            "means of 100000.0 and 100000.001 differ by",
        ),
        (jb.environments.gaussian([0.5, 1e39]), r"a mean is 1e\+39, beyond the largest number of float32"),
        (
            jb.environments.bernoulli([0.5, 1e-9]),
            "a probability is 1e-09, and random numbers of float32 are multiples of 2",
        ),
        (jb.environments.bernoulli([0.5, 1 - 1e-9]), "a probability is 0.999999999, and random numbers of float32"),
        (
            jb.environments.bernoulli([0.5, 0.5 + 1e-7]),
            "means of 0.5 and 0.5000001 differ by 1e-07, which float32 cannot hold",
        ),
        (jb.environments.poisson([1e-9, 1.0]), r"a probability is 9.99\d+e-10"),
        (jb.environments.linear([[1.0], [-1.0 + 1e-8]], [1.0], noise="sign"), r"a probability is 5.0\d*e-09"),
        (jb.environments.semi_bandit([0.1, 0.2, 1e-9], 2), "a probability is 1e-09"),
        (jb.environments.cascade([0.1, 1e-9], 1), "a probability is 1e-09"),
        (jb.environments.dueling([[0.5, 1 - 1e-9], [1e-9, 0.5]]), "a probability is 0.999999999"),
        (jb.environments.rare_events([0.8, 0.9], rare=0.1, chance=[0.0, 1e-9]), "a probability is 1e-09"),
    ],
)
def test_what_float32_cannot_hold_is_named(environment, reason):
    assert re.match(reason, beyond_float32(environment))


@pytest.mark.parametrize(
    "environment",
    [
        jb.environments.gaussian([1000.0, 999.9]),
        jb.environments.gaussian([0.49, 0.5, -1e11]),
        jb.environments.bernoulli([0.999, 0.996]),
        jb.environments.bernoulli([0.0, 1.0, 1e-5]),
        jb.environments.poisson([0.0, 60.0]),
        jb.environments.bernoulli([0.3, 0.3, 0.2]),
    ],
)
def test_what_float32_holds_is_played_in_float32(environment):
    assert not beyond_float32(environment)


@pytest.mark.slow
def test_it_is_played_in_float64_by_itself_and_refused_in_float32():
    """A regret of 0.00 was printed for any rule."""
    environment = jb.environments.gaussian([1e5, 1e5 + 1e-3])
    options = {"horizon": 50, "num_runs": 2}
    rule = jb.algorithms.fixed_arm(2, 0)
    result = jb.simulate(rule, environment, **options)
    assert result.precision == "float64" and result.interval().value[-1] == pytest.approx(0.05, rel=1e-6)
    [swept] = jb.sweep(lambda c: jb.algorithms.ucb1(2, c=c), environment, {"c": [1.0]}, **options, allow=("rewards",))
    assert swept.precision == "float64"
    with pytest.raises(ValueError, match=r'^simulate: precision = "float32", must be "float64" for this env.* hold$'):
        jb.simulate(rule, environment, precision="float32", **options)
    with pytest.raises(ValueError, match=r'^identify: precision = "float32", must be "float64" for this environment'):
        jb.identify(jb.algorithms.lucb(2, delta=0.1), environment, num_runs=2, precision="float32", allow=("rewards",))
