"""Policies for means that change: what they refuse, what they are where nothing changes, their defaults and regrets."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusals

import jaxbandit as jb
from benchmarks import non_stationary as figures
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.lab.specs import spec as specs

T = {"horizon": 5000}
REFUSED = {
    "no horizon": (lambda: jb.algorithms.d_ucb(3), "d_ucb: discount = None without a horizon"),
    "as many changes as rounds": (
        lambda: jb.algorithms.discounted_thompson(3, horizon=10, num_changes=11),
        "num_changes = 11",
    ),
    "a bound for kl": (lambda: jb.algorithms.d_ucb(3, discount=0.9, bound=2.0, index="kl"), "bound = 2.0, must be 1"),
    "window 0": (lambda: jb.algorithms.sw_ucb(3, window=0), "sw_ucb: window = 0, must be an integer in [3, "),
    "a window below the arms": (lambda: jb.algorithms.sw_ucb(3, window=2), "window = 2"),
    "a window without a horizon": (lambda: jb.algorithms.sw_ucb(3), "window = None without a horizon"),
    "starts not from 0": (lambda: jb.algorithms.oracle_restart(3, starts=[5, 9]), "starts[0] = 5, must be 0"),
    "starts not increasing": (
        lambda: jb.algorithms.oracle_restart(3, starts=[0, 9, 9]),
        "starts[2] = 9, must be greater than 9",
    ),
    "no starts": (lambda: jb.algorithms.oracle_restart(3, starts=[]), "must be a list of rounds"),
    "odd marks": (lambda: jb.algorithms.glr_klucb(3, marks=7, **T), "marks = 7, must be even"),
    "a horizon for delta": (lambda: jb.algorithms.glr_klucb(3, alpha=0.1), "delta = None without a horizon"),
    "log(T / Y) = 0": (lambda: jb.algorithms.cusum_ucb(3, horizon=10, num_changes=10), "num_changes = 10"),
    "an odd window": (lambda: jb.algorithms.m_ucb(3, window=151, **T), "m_ucb: window = 151, must be even"),
}


test_refused_in_one_line = refusals(REFUSED)


@pytest.mark.parametrize("name", ["sw_ucb", "discounted_thompson", "glr_klucb", "cusum_ucb", "m_ucb"])
def test_rewards_outside_the_unit_interval_are_refused(name):
    with pytest.raises(ValueError, match="is made for rewards in"):
        jb.simulate(
            getattr(jb.algorithms, name)(2, horizon=9), jb.environments.gaussian([0.1, 0.2]), horizon=9, num_runs=1
        )


def test_defaults_are_those_of_the_formulas():
    """Of problem 1 of SMPyBandits, as printed there; 5,000 rounds, four changes."""
    from jaxbandit.algorithms.non_stationary import tuned

    assert tuned.discount(5000, 4) == pytest.approx(0.992929, abs=1e-6)
    assert tuned.window(5000, 4, 1.0, 3) == 206
    assert tuned.window(2, 1, 0.01, 3) == 3  # never below the arms
    assert jb.algorithms.sw_ucb(3, horizon=5000, num_changes=4).init(None).arms.shape == (206,)
    assert jb.algorithms.glr_klucb(3, horizon=5001).init(None).marks.shape == (3 * 501,)
    assert jb.algorithms.glr_klucb(3, alpha=0.1, delta=0.1).init(None).marks.shape == (3 * 512,)


EXPERIMENT = """
kind = "simulate"
runs = 2
horizon = 20
[[instance]]
type = "piecewise_bernoulli"
means = [[0.0, 1.0], [1.0, 0.0]]
starts = [0, 10]
[[algorithm]]
type = "oracle_restart"
[[algorithm]]
type = "glr_klucb"
num_changes = 2
delta = {sweep = [0.1, 0.2]}
[[algorithm]]
type = "sw_ucb"
"""


def test_an_experiment_fills_horizon_and_the_oracles_starts(tmp_path):
    file = tmp_path / "clock.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    oracle, *glr, window = specs.load(file).cells()
    assert tuple(oracle.arguments["starts"]) == (0, 10) and oracle.build().name == "oracle_restart"
    assert [cell.arguments["delta"] for cell in glr] == [0.1, 0.2] and glr[0].arguments["horizon"] == 20
    assert window.build().init(None).arms.shape == (15,)  # 2 sqrt(20 log 20)


def test_a_window_of_0_in_a_file_is_refused_in_one_line(tmp_path):
    file = tmp_path / "clock.toml"
    file.write_text(EXPERIMENT + "window = 0\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"clock.toml: algorithm\[2\]\.window = 0, must be an integer in \[2[^\n]*$"):
        list(specs.load(file).cells())


def test_sums_of_the_window_are_renewed():
    """A reward beside which the others vanish has left the window, and with it what it had rounded away."""
    rule = jb.algorithms.sw_ucb(1, window=4, bound=1e8)
    update = jax.jit(rule.update)
    state = rule.init(None)
    for t in range(12):
        state = update(state, None, jnp.int32(0), jnp.float32(0.1 if t else 1e8))
        if t >= 7:
            np.testing.assert_allclose(state.sums, 0.4, rtol=1e-6)


PLAIN = {
    "oracle_restart": (lambda: jb.algorithms.oracle_restart(3, starts=[0]), "kl_ucb"),
    "glr_klucb": (lambda: jb.algorithms.glr_klucb(3, horizon=300, alpha=0.0, delta=1e-30), "kl_ucb"),
    "m_ucb": (lambda: jb.algorithms.m_ucb(3, window=20, index="kl", gamma=0.0, threshold=11.0), "kl_ucb"),
    "discounted_thompson": (lambda: jb.algorithms.discounted_thompson(3, discount=1.0), "thompson"),
}


def played(make):
    world = jb.environments.bernoulli([0.5, 0.55, 0.6])
    return simulate_cell(lambda _: (make(), world), {}, horizon=300, num_runs=256)


@functools.cache
def plain(name):
    return played(lambda: getattr(jb.algorithms, name)(3))


@pytest.mark.slow
@pytest.mark.parametrize("case", PLAIN)
def test_where_nothing_changes_the_bytes_are_those_of_the_plain_algorithm(case):
    make, name = PLAIN[case]
    ours, theirs = played(make), plain(name)
    assert ours.regret.tobytes() == theirs.regret.tobytes()
    assert ours.pulls.tobytes() == theirs.pulls.tobytes()


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", ["sw_ucb", "discounted_thompson", "glr_klucb", "cusum_ucb kl", "d_ucb"])
def test_regret_is_that_of_another_program(name):
    """200 runs, within 4 standard errors of the difference: false in one of 3,000 right programs, over all five."""
    assert abs(figures.compared(name, 200)["off"]) < figures.STANDARD_ERRORS
