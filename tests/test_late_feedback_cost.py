"""Late feedback in the engine: no byte changed where nothing is late, what delays cost, BaSE's published figures."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit.algorithms import epsilon_greedy, kl_ucb
from jaxbandit.algorithms.feedback.batched import batched
from jaxbandit.algorithms.feedback.batched_elimination import batched_elimination
from jaxbandit.algorithms.feedback.delayed import delayed
from jaxbandit.algorithms.feedback.grids import geometric_grid, minimax_grid
from jaxbandit.algorithms.fixed_budget.sequential_halving import sequential_halving
from jaxbandit.algorithms.regret.index_policy import index_policy
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.support.numerics import as_float
from jaxbandit.theory.bounds import delay_regret_bound

quickly = pytest.mark.quickly_compiled


@quickly
@pytest.mark.slow
def test_in_the_engine_nothing_late_changes_no_byte():
    means = np.array([0.3, 0.5, 0.6])
    factories = {
        "plain": lambda: epsilon_greedy(3),
        "delayed": lambda: delayed(epsilon_greedy(3), mean=0.0, cap=3),
        "batched": lambda: batched(epsilon_greedy(3), range(1, 101)),
    }
    found = {
        name: simulate_cell(lambda a, f=f: (f(), bernoulli(means)), {}, horizon=100, num_runs=64)
        for name, f in factories.items()
    }
    for name in ("delayed", "batched"):
        assert found[name].regret.tobytes() == found["plain"].regret.tobytes()
        assert found[name].recommendation.tobytes() == found["plain"].recommendation.tobytes()


def auer(num_arms):
    def index(state):
        return state.means + jnp.sqrt(2 * jnp.log(as_float(state.round))) * state.inverse_sqrt_counts

    return index_policy("ucb1_auer", num_arms, index)


@pytest.mark.slow
@pytest.mark.statistical
def test_constant_delays_cost_what_theory_says():
    """UCB1 (2 log t), T = 10^4: 279.7 +- 2.01 at delay 100, and at most delay times the sum of gaps beyond no delay.

    The first is two-sided at 4 standard errors, false alarm 6e-5; the bound has 10 of them to spare.
    """
    means, runs = np.array([0.9, 0.8, 0.7, 0.6, 0.5]), 200
    regret = {}
    for delay in (0, 100, 300):
        algorithm = delayed(auer(5), delay=delay)
        record = simulate_cell(
            lambda a, algorithm=algorithm: (algorithm, bernoulli(means)),
            {},
            horizon=10_000,
            num_runs=runs,
            checkpoints=[10_000],
        )
        regret[delay] = record.mean[-1], np.sqrt(record.variance[-1] / runs)
    assert abs(regret[100][0] - 279.7) <= 4 * np.hypot(2.01, regret[100][1])
    for delay in (100, 300):
        extra = regret[delay][0] - regret[0][0]
        # Each arm is pulled delay times more before its first reward comes, the best one for free.
        assert 0.25 * delay < extra < delay_regret_bound(means, delay) + 4 * regret[delay][1]


@quickly
def test_grids():
    assert minimax_grid(50_000, 3) == (484, 10_658, 50_000)
    assert geometric_grid(50_000, 3) == (36, 1_357, 50_000)
    assert geometric_grid(10**6, 3) == (100, 10_000, 10**6)  # whole roots, which float64 has a last bit below
    assert geometric_grid(5, 4) == (1, 2, 3, 5)
    assert minimax_grid(1, 3) == (1,)


@pytest.mark.slow
@pytest.mark.statistical
def test_batched_elimination_on_the_authors_instance():
    """646.9 +- 21.75 over 500 runs at T = 50,000, 4 standard errors: false alarm 6e-5; pulls to t_1, t_2 are exact."""
    world, runs = gaussian([0.6, 0.5, 0.5]), 500
    algorithm = batched_elimination(3, horizon=50_000)
    record = simulate_cell(
        lambda a: (algorithm, world), {}, horizon=50_000, num_runs=runs, checkpoints=[484, 10_658, 50_000]
    )
    assert abs(record.mean[-1] - 646.9) <= 4 * np.hypot(21.75, np.sqrt(record.variance[-1] / runs))
    np.testing.assert_allclose(record.regret[:, 0], 0.1 * (484 - 162), rtol=1e-4)  # in turn: 162 pulls of the best arm
    alone = np.isclose(record.regret[:, 1], 0.1 * (10_658 - 162 - 3392), rtol=1e-3)
    assert alone.mean() > 0.5  # nothing dropped at t_1: (10,658 - 484) / 3 = 3391.3, the best arm comes first


@quickly
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: delayed(kl_ucb, delay=1), "delayed: algorithm = kl_ucb, must be an Algorithm"),
        (lambda: delayed(kl_ucb(3)), "delayed: delay = None, mean = None, exactly one of the two must be given"),
        (
            lambda: delayed(kl_ucb(3), delay=1, mean=2.0),
            "delayed: delay = 1, mean = 2.0, exactly one of the two must be given",
        ),
        (lambda: delayed(sequential_halving(3, budget=30), delay=1), "has a stopping rule or pulls in batches"),
        (lambda: delayed(kl_ucb(3)._replace(arms=None), delay=1), "does not declare its arms"),
        (lambda: batched(kl_ucb(3)), "batched: horizon = None, must be given for grid = 'minimax'"),
        (lambda: batched(kl_ucb(3), [3, 3]), r"batched: grid\[1\] = 3 after 3, must be increasing"),
        (lambda: batched(kl_ucb(3), [0]), r"batched: grid\[0\] = 0, must be an integer >= 1"),
        (lambda: batched(kl_ucb(3), [9], horizon=5), r"batched: grid\[0\] = 9, must be an integer in \[1, 5\]"),
        (lambda: batched(kl_ucb(3), [2], num_batches=2), "num_batches = 2, must be omitted"),
        (lambda: batched(kl_ucb(3), "log", horizon=5), "batched: grid = 'log', must be one of minimax, geometric"),
        (lambda: batched_elimination(9, horizon=50, grid="geometric"), "first batch ends at 3, must be at least"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
