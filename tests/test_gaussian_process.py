"""GP-UCB and Thompson sampling on a grid: the trace of the specification, posteriors, kernels, drift, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import gaussian_process as reference
from scipy import special

from jaxbandit.algorithms.regret.gp_ts import gp_ts
from jaxbandit.algorithms.regret.gp_ucb import gp_ucb
from jaxbandit.base.contract import Offer
from jaxbandit.theory.estimators import gaussian_process as estimator

pytestmark = pytest.mark.quickly_compiled

GRID = np.linspace(0, 1, 100)[:, None]
VALUES = np.sin(13 * GRID[:, 0]) * np.sin(27 * GRID[:, 0]) / 2 + 0.5


def noises(rounds):
    return 0.2 * ((np.arange(1, rounds + 1) * np.sqrt(2)) % 1 - 0.5)


def played(algorithm, means, normals, rounds, key=0):
    """Arms, last state, and the noise of the algorithm, of one run in the current precision."""

    @jax.jit
    def run(means, normals, key):
        keys = jax.random.split(key, rounds)

        def body(state, step):
            normal, key = step
            noise = algorithm.noise(key)
            arm = algorithm.select(noise, state, None)
            return algorithm.update(state, None, arm, means[arm] + normal), (arm, noise)

        return jax.lax.scan(body, algorithm.init(key), (normals, keys))

    kind = jnp.result_type(float)
    state, (arms, own) = jax.device_get(run(jnp.asarray(means, kind), jnp.asarray(normals, kind), jax.random.key(key)))
    return arms, state, own


def test_the_trace_of_the_specification():
    """First arms, two posterior means and the regret; and every arm is that of the reference."""
    rounds, normals = 300, noises(300)
    with jax.enable_x64(True):
        arms, state, _ = played(gp_ucb(GRID, lengthscale=0.1, sigma=0.1, delta=0.1), VALUES, normals, rounds)
    assert arms[:10].tolist() == [0, 21, 43, 63, 99, 82, 32, 10, 53, 90]
    np.testing.assert_allclose(state.posterior.means[[0, 50]], [0.41585763, 0.69800298], atol=5e-9)
    assert abs((VALUES.max() - VALUES[arms]).sum() - 21.634546) < 5e-7
    prior = reference.kernel_matrix("rbf", GRID, 0.1, 1.0)
    paid = [lambda arm, z=z: VALUES[arm] + z for z in normals]
    expected, _, mu, covariance = reference.play_ucb(prior, paid, 0.01, 0.1)
    np.testing.assert_array_equal(arms, expected)
    np.testing.assert_allclose(state.posterior.means, mu, atol=1e-9)
    np.testing.assert_allclose(state.posterior.matrix, covariance, atol=1e-9)
    np.testing.assert_array_equal(state.posterior.variances, np.diag(state.posterior.matrix))
    np.testing.assert_array_equal(state.counts, np.bincount(arms, minlength=100))
    assert state.round == rounds + 1


@pytest.mark.slow
def test_thompson_sampling_draws_from_the_posterior_and_plays_the_best_draw():
    """F F' is the posterior covariance, of which the arms are the argmax of mu + F z; both forms agree."""
    rounds, prior = 120, reference.kernel_matrix("matern32", GRID[::4], 0.1, 2.0)
    means, normals = VALUES[::4], noises(120)
    algorithm = gp_ts(prior, kernel="matrix", sigma=0.3)
    with jax.enable_x64(True):
        arms, state, own = played(algorithm, means, normals, rounds)
        root = np.asarray(estimator.with_root(jnp.asarray(prior)).matrix)
    np.testing.assert_allclose(root @ root.T, prior, atol=1e-12)
    mu, paid = np.zeros(len(prior)), means[arms] + normals
    for t, arm in enumerate(arms):
        assert np.argmax(mu + root @ own[t]) == arm
        column = root @ root[arm]
        den = 0.09 + column[arm]
        mu = mu + column * (paid[t] - mu[arm]) / den
        root = root - np.outer(column, root[arm]) / (den + np.sqrt(0.09 * den))
    exact, covariance = reference.fitted(prior, arms, paid, 0.09)
    np.testing.assert_allclose(state.posterior.means, exact, atol=1e-10)
    found = state.posterior.matrix
    np.testing.assert_allclose(found @ found.T, covariance, atol=1e-10)
    assert own.shape == (rounds, 25) and abs(own.mean()) < 5 / np.sqrt(own.size)
    assert abs(own.var() - 1) < 5 * np.sqrt(2 / own.size)  # false alarm of both below 1e-6


@pytest.mark.slow
def test_a_singular_prior_has_a_root():
    """Two arms at one point, and a kernel matrix that is singular up to rounding."""
    with jax.enable_x64(True):
        twice = jnp.asarray(reference.kernel_matrix("rbf", np.array([[0.0], [1.0], [0.0]]), 1.0, 1.0))
        smooth = jnp.asarray(reference.kernel_matrix("rbf", GRID, 0.5, 1.0))
        for matrix in (twice, smooth, jnp.zeros((3, 3))):
            root = np.asarray(jax.jit(estimator.with_root)(matrix).matrix)
            np.testing.assert_allclose(root @ root.T, matrix, atol=1e-13)
            assert (root != 0).any(0).sum() <= 20


@pytest.mark.parametrize(("kernel", "order"), [("matern32", 1.5), ("matern52", 2.5)])
def test_kernels_are_those_of_matern(kernel, order):
    points = np.random.default_rng(0).uniform(size=(7, 3))
    r = np.linalg.norm(points[:, None] - points[None], axis=2)
    scaled = np.sqrt(2 * order) * np.where(r > 0, r, 1.0) / 0.4
    expected = 1.7 * np.where(
        r > 0, 2 ** (1 - order) / special.gamma(order) * scaled**order * special.kv(order, scaled), 1
    )
    with jax.enable_x64(True):
        found = estimator.kernel_matrix(kernel, jnp.asarray(points), 0.4, 1.7)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.slow
def test_only_available_arms_are_pulled():
    algorithm, far = gp_ucb(GRID[:3], lengthscale=0.01), jnp.array([False, True, True])
    with jax.enable_x64(True):
        state = jax.jit(algorithm.init)(jax.random.key(0))
        assert algorithm.select(None, state, Offer(far)) == 1
        low = state._replace(posterior=state.posterior._replace(means=jnp.array([9.0, -5.0, -4.0])))
        assert algorithm.select(None, low, None) == 0 and algorithm.select(None, low, Offer(far)) == 2


def test_a_variance_below_zero_counts_as_zero():
    algorithm = gp_ucb(GRID[:3])
    state = jax.jit(algorithm.init)(jax.random.key(0))
    below = state.posterior._replace(variances=jnp.array([-1e-3, 0.0, -1.0]), means=jnp.array([0.1, 0.0, 0.2]))
    assert algorithm.select(None, state._replace(posterior=below), None) == 2


@pytest.mark.slow
@pytest.mark.parametrize("factory", [gp_ucb, gp_ts])
def test_float32_loses_what_is_stated(factory):
    """1,000 rounds of 400 arms, noise .1; specified, with 1,000 arms: 5e-4 of a standard deviation, 3e-3 in a mean."""
    grid = np.linspace(0, 1, 400)[:, None]
    means = np.sin(13 * grid[:, 0]) * np.sin(27 * grid[:, 0]) / 2 + 0.5
    normals = noises(1000).astype(np.float32).astype(np.float64)
    arms, state, _ = played(factory(grid, lengthscale=0.1, sigma=0.1), means, normals, 1000)
    prior = reference.kernel_matrix("rbf", grid, 0.1, 1.0)
    mu, covariance = reference.fitted(prior, arms, means[arms] + normals, 0.01)
    posterior = state.posterior
    left = (
        (np.float64(posterior.matrix) ** 2).sum(1) if posterior.variances is None else np.float64(posterior.variances)
    )
    sd, found = np.sqrt(np.diag(covariance)), np.sqrt(np.maximum(left, 0))
    print(factory.__name__, np.abs(found / sd - 1).max(), (np.abs(state.posterior.means - mu) / sd).max())
    assert np.abs(found / sd - 1).max() < 5e-3 and (np.abs(state.posterior.means - mu) / sd).max() < 3e-2


REFUSED = {
    "features has 1001 rows, must have at most 1000": {"features": np.zeros((1001, 1))},
    "features has shape (100,), must have 2 axes": {"features": GRID[:, 0]},
    'features is float[100, 1], must be square with kernel = "matrix"': {"kernel": "matrix"},
    "features[0, 1] = 1.0 and features[1, 0] = 0.0, must be equal": {"features": [[2, 1], [0, 2]], "kernel": "matrix"},
    "features has the eigenvalue -1, must have none below 0": {"features": [[1, 2], [2, 1]], "kernel": "matrix"},
}


@pytest.mark.parametrize("words", REFUSED)
@pytest.mark.parametrize("factory", [gp_ucb, gp_ts])
def test_refuses(factory, words):
    with pytest.raises(ValueError) as refusal:
        factory(**{"features": GRID} | REFUSED[words])
    line = str(refusal.value)
    assert line.startswith(f"{factory.__name__}: ") and words in line and "\n" not in line
