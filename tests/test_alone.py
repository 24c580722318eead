"""Heavy programs are played one run at a time on a CPU, whatever is asked for, so that no number depends on others."""

import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.horizon import simulate_cell
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.layout import batching, compiled, sizes
from jaxbandit.engine.rounds.single import SingleRun

NORMAL = np.random.default_rng(0).normal(size=(1200, 24))
ROWS = NORMAL / np.linalg.norm(NORMAL, axis=1, keepdims=True)
CHOICES = [(1, None, 1), (3, 64, 2), (64, None, 2), (100, 7, 1)]  # runs, width, workers


def linear(_):
    """The 30 rounds pass the first computation from the root, at 24."""
    return jb.lin_ucb(ROWS, horizon=30, variant="oful"), jb.linear(ROWS, ROWS[7])


def many(_):
    return jb.thompson(1000), jb.bernoulli(np.linspace(0.1, 0.9, 1000))


def race(_):
    return jb.lingape(ROWS[:300], theta_norm=1.0, sigma=0.3, delta=0.1), jb.linear(ROWS[:300], ROWS[7], sigma=0.3)


def operations(make):
    return SingleRun(make, {}, "threefry4x32").operations()


def same(few, more, names):
    for name in names:
        left, right = getattr(few, name), getattr(more, name)[: len(few.outcome)]
        assert left.dtype == right.dtype and left.tobytes() == right.tobytes(), name


@pytest.mark.parametrize(("make", "horizon"), [(linear, 30), (many, 12)])
def test_numbers_do_not_depend_on_how_many_runs_there_are(make, horizon):
    assert operations(make) >= sizes.CPU.heavy
    played = [
        simulate_cell(make, {}, horizon=horizon, num_runs=runs, execution=Execution(width=width, workers=workers))
        for runs, width, workers in CHOICES
    ]
    for few in played[:-1]:
        same(few, played[-1], ("regret", "pulls", "recommendation", "outcome"))
    assert len(np.unique(played[-1].regret[:, -1])) > 50  # of 100 runs


def test_numbers_of_runs_that_stop_do_not_depend_on_how_many_there_are():
    with jax.enable_x64(True):
        assert operations(race) >= sizes.CPU.heavy
    played = [
        identify_cell(race, {}, num_runs=runs, max_rounds=2000, execution=Execution(width=width, workers=workers))
        for runs, width, workers in CHOICES
    ]
    for few in played[:-1]:
        same(few, played[-1], ("samples", "pulls", "recommendation", "outcome"))
    assert len(np.unique(played[-1].samples)) > 5
