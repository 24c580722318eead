"""Mean regrets of the linear rules on contexts of floats agree with those of an independent program.

Each figure is its mean and standard error. A right program differs from one by more than four standard errors of the
difference with probability 6e-5, and from any of the fourteen with probability 9e-4. Seeds are fixed.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb

pytestmark = [pytest.mark.slow, pytest.mark.statistical]

THETAS = np.sin(1 + 3 * np.arange(10)[:, None] + 7 * np.arange(8))  # of ten arms
THETA = np.cos(1 + 2 * np.arange(10)) / np.linalg.norm(np.cos(1 + 2 * np.arange(10)))
DIRECTIONS = THETAS[:4] / np.linalg.norm(THETAS[:4], axis=1, keepdims=True)
ROWS, COLUMNS = np.triu_indices(8)
WEIGHTS = np.where(ROWS == COLUMNS, 1.0, np.sqrt(2))


def vectors():
    return jb.environments.linear_vectors(THETAS, sigma=0.5)


def matrix():
    return jb.environments.linear_matrix(THETA, 20, sigma=0.5)


def quadratic():
    return jb.environments.quadratic_vectors(DIRECTIONS, sigma=0.1)


def in_products():
    """The quadratic world, which shows the 36 products of the context, in which its means are linear."""
    world = quadratic()
    theta = DIRECTIONS[:, ROWS] * DIRECTIONS[:, COLUMNS] * WEIGHTS

    def observe(state, noise):
        x = world.observe(state, noise)
        return x[ROWS] * x[COLUMNS] * jnp.asarray(WEIGHTS, x.dtype)

    def regret(state, context, action):
        means = (jnp.asarray(theta, context.dtype) * context[None]).sum(1)
        return jnp.max(means) - means[action]

    def reward(state, context, action, noise):
        return world.reward(state, world.observe(state, noise), action, noise)

    return world._replace(observe=observe, regret=regret, reward=reward, arms=jb.Arms(4, context=(36,)))


def digits():
    return jb.environments.classes("digits")


def logistic():
    return jb.environments.logistic_matrix(THETA, 20, slope=5.0, shift=-3.0)


def with_ones():
    """The logistic world with a column of ones before the rows."""
    world = logistic()
    return world._replace(
        observe=lambda state, noise: jnp.pad(world.observe(state, noise), ((0, 0), (1, 0)), constant_values=1.0),
        regret=lambda state, context, action: world.regret(state, context[:, 1:], action),
        reward=lambda state, context, action, noise: world.reward(state, context[:, 1:], action, noise),
        arms=jb.Arms(20, context=(20, 11)),
    )


NO_INTERCEPT = {"intercept": False}  # as in the independent program

# Mean, standard error, rule, environment, runs.
FIGURES = {
    "LinUCB, a model for each arm": (
        235.5,
        1.1,
        lambda: jb.algorithms.lin_ucb_disjoint(10, 8, **NO_INTERCEPT),
        vectors,
        96,
    ),
    "Thompson, a model for each arm": (
        288.9,
        0.9,
        lambda: jb.algorithms.lin_ts_disjoint(10, 8, sigma=0.5, **NO_INTERCEPT),
        vectors,
        96,
    ),
    "softmax": (
        365.3,
        3.0,
        lambda: jb.algorithms.ridge_softmax(10, (8,), temperature=0.1, **NO_INTERCEPT),
        vectors,
        96,
    ),
    "epsilon": (448.5, 4.1, lambda: jb.algorithms.ridge_epsilon(10, (8,), epsilon=0.05, **NO_INTERCEPT), vectors, 96),
    "LinUCB, one model": (42.6, 0.4, lambda: jb.algorithms.lin_ucb_shared(20, 10, **NO_INTERCEPT), matrix, 96),
    "Thompson, one model": (
        70.6,
        0.5,
        lambda: jb.algorithms.lin_ts_shared(20, 10, sigma=0.5, **NO_INTERCEPT),
        matrix,
        96,
    ),
    "OFUL": (
        120.1,
        0.4,
        lambda: jb.algorithms.lin_ucb_shared(20, 10, variant="oful", sigma=0.5, horizon=5_000, **NO_INTERCEPT),
        matrix,
        96,
    ),
    "Thompson of the theory": (
        2187.0,
        3.0,
        lambda: jb.algorithms.lin_ts_shared(20, 10, variant="theory", sigma=0.5, horizon=5_000, **NO_INTERCEPT),
        matrix,
        64,
    ),
    "linear on logistic means": (
        30.9,
        0.7,
        lambda: jb.algorithms.lin_ucb_shared(20, 10, alpha=0.5, **NO_INTERCEPT),
        logistic,
        96,
    ),
    "linear on logistic means with ones": (
        30.1,
        0.7,
        lambda: jb.algorithms.lin_ucb_shared(20, 11, alpha=0.5, **NO_INTERCEPT),
        with_ones,
        96,
    ),
    "linear on quadratic means": (
        130.2,
        1.5,
        lambda: jb.algorithms.lin_ucb_disjoint(4, 8, alpha=0.5, **NO_INTERCEPT),
        quadratic,
        64,
    ),
    "linear in the products": (
        39.7,
        0.7,
        lambda: jb.algorithms.lin_ucb_disjoint(4, 36, alpha=0.1, regularization=0.1, **NO_INTERCEPT),
        in_products,
        64,
    ),
    "digits": (
        1797 - 1492.7,
        3.9,
        lambda: jb.algorithms.lin_ucb_disjoint(10, 62, alpha=0.5, **NO_INTERCEPT),
        digits,
        64,
    ),
    "greedy on digits": (592.8, 10.8, lambda: jb.algorithms.ridge_greedy(10, (62,), **NO_INTERCEPT), digits, 64),
}
HORIZONS = {logistic: 2_000, with_ones: 2_000, digits: 1_797}


@pytest.mark.parametrize("name", FIGURES)
def test_mean_regret(name):
    mean, error, rule, environment, runs = FIGURES[name]
    found = jb.simulate(rule(), environment(), horizon=HORIZONS.get(environment, 5_000), num_runs=runs, seed=3)
    regrets = found.arrays["regret"][:, -1].astype(float)
    own = regrets.std(ddof=1) / np.sqrt(runs)
    assert abs(regrets.mean() - mean) <= 4 * np.hypot(error, own)
