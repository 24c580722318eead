"""Heavy programs are played one run at a time on a CPU, whatever is asked for, so that no number depends on others."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Algorithm, Arms
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout import batching, sizes
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.support.numerics import argmax, get_at, set_at, weighted_sum
from jaxbandit.support.types import Array

NORMAL = np.random.default_rng(0).normal(size=(900, 40))
ROWS = NORMAL / np.linalg.norm(NORMAL, axis=1, keepdims=True)
CHOICES = [(1, None, 1), (3, 64, 2), (64, None, 2), (100, 7, 1)]  # runs, width, workers


def linear(_):
    """The 50 rounds pass the first computation from the root, at 40."""
    return jb.algorithms.lin_ucb(ROWS, horizon=50, variant="oful"), jb.environments.linear(ROWS, ROWS[7])


def many(_):
    return jb.algorithms.thompson(1000), jb.environments.bernoulli(np.linspace(0.1, 0.9, 1000))


def race(_):
    return jb.algorithms.lingape(ROWS[:300, :24], theta_norm=1.0, sigma=0.3, delta=0.1), jb.environments.linear(
        ROWS[:300, :24], ROWS[7, :24], sigma=0.3
    )


class Chaos(NamedTuple):
    counts: Array  # int32[3]
    points: Array  # float[20000], each of which doubles a rounding in every step
    level: Array  # float[]


def chaotic(_):
    """A rule that stops by the sum of chaotic sequences: other roundings would be other stopping rounds."""

    def update(state, context, action, reward):
        points = (3.9 + 0.05 * state.level) * state.points * (1 - state.points)
        sums = weighted_sum(points.reshape(200, 100), jnp.full(100, 0.01), 1)  # which widths round differently
        return Chaos(set_at(state.counts, action, get_at(state.counts, action) + 1), points, jnp.mean(sums) + reward)

    rule = Algorithm(
        init=lambda key: Chaos(jnp.zeros(3, jnp.int32), 0.1 + 0.8 * jax.random.uniform(key, (20_000,)), jnp.zeros(())),
        select=lambda noise, state, context: argmax(state.points[:3]),
        update=update,
        pulls=lambda state: state.counts,
        stop=lambda state: (jnp.sum(state.counts) > 300) & (state.points[0] > 0.9),
        recommend=lambda state: argmax(state.points[:3])[None],
        arms=Arms(3),
    )
    return rule, jb.environments.bernoulli([0.2, 0.5, 0.6])


def operations(make):
    return SingleRun(make, {}, "threefry4x32").operations()


def same(few, more, names):
    for name in names:
        left, right = getattr(few, name), getattr(more, name)[: len(few.outcome)]
        assert left.dtype == right.dtype and left.tobytes() == right.tobytes(), name


@pytest.mark.slow
@pytest.mark.parametrize(("make", "horizon"), [(linear, 50), (many, 12)])
def test_numbers_do_not_depend_on_how_many_runs_there_are(make, horizon):
    assert operations(make) >= sizes.CPU.heavy
    options = {"horizon": horizon, "keep": ("runs", "states")}  # the floats of the last states show every rounding
    played = [
        simulate_cell(make, {}, execution=Execution(width=width, workers=workers), num_runs=runs, **options)
        for runs, width, workers in CHOICES
    ]
    for few in played[:-1]:
        same(few, played[-1], ("regret", "pulls", "recommendation", "outcome"))
        assert all(few.more[name].tobytes() == x[: len(few.outcome)].tobytes() for name, x in played[-1].more.items())
    assert len(np.unique(played[-1].regret[:, -1])) > 50  # of 100 runs


@pytest.mark.slow
@pytest.mark.parametrize("make", [pytest.param(race, marks=pytest.mark.slow), chaotic])
def test_numbers_of_runs_that_stop_do_not_depend_on_how_many_there_are(make):
    with jax.enable_x64(True):
        assert operations(make) >= sizes.CPU.heavy
    played = [
        identify_cell(make, {}, num_runs=runs, max_rounds=2000, execution=Execution(width=width, workers=workers))
        for runs, width, workers in CHOICES
    ]
    for few in played[:-1]:
        same(few, played[-1], ("samples", "pulls", "recommendation", "outcome"))
    assert len(np.unique(played[-1].samples)) > 5


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_number_of_devices(tmp_path):
    script = textwrap.dedent("""
        import sys, jax, numpy as np
        jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
        sys.path.insert(0, sys.argv[3])
        from test_alone import chaotic, identify_cell, linear, simulate_cell

        fixed = simulate_cell(linear, {}, horizon=50, num_runs=7, keep=("runs", "states"))
        stopped = identify_cell(chaotic, {}, num_runs=7)
        assert len(fixed.devices) == len(stopped.devices) == int(sys.argv[1])
        np.savez(sys.argv[2], samples=stopped.samples, pulls=stopped.pulls, regret=fixed.regret, **fixed.more)
    """)
    files = [tmp_path / f"{n}.npz" for n in (1, 2)]
    for n, file in enumerate(files, 1):
        subprocess.run([sys.executable, "-c", script, str(n), str(file), str(Path(__file__).parent)], check=True)
    one, two = (dict(np.load(file)) for file in files)
    assert all(one[name].tobytes() == two[name].tobytes() for name in one) and len(one) > 8


def test_a_single_run_takes_only_its_own_branch():
    """Many runs compute both branches of a `cond` and choose; one run of width one computes its own."""
    taken = []

    def function(x):
        def big(x):
            jax.debug.callback(lambda: taken.append(1))
            return x + 1.0

        return jax.lax.cond(x > 0, big, lambda x: x, x)

    (one,) = np.asarray(jax.jit(batching.batch_last(function, (jnp.float32(0),), (True,), True, 1))(jnp.full(1, -2.0)))
    jax.effects_barrier()
    assert one == -2.0 and not taken


@pytest.mark.parametrize("entries", [1, 5, 31, 63, 64, 100, 1000])
def test_the_largest_entry_of_one_run(entries):
    """The lowest index among ties, and the first NaN, as NumPy finds them; vectors of 64 and more are cut in slices."""
    rng = np.random.default_rng(entries)
    rows = [rng.integers(0, 4, entries).astype(np.float32) for _ in range(20)]
    rows += [np.where(np.arange(entries) == entries - 1, 9, row) for row in rows[:3]]
    rows += [np.where(rng.random(entries) < 0.1, np.nan, row) for row in rows[:5]]

    def function(x):
        return jnp.argmax(x), jnp.argmin(x), argmax(x > 2)

    play = jax.jit(batching.batch_last(function, (jnp.zeros(entries),), (True,), True, 1))
    for row in rows:
        largest, least, first = (int(found[0]) for found in play(jnp.asarray(row, jnp.float32)[:, None]))
        assert (largest, least, first) == (np.argmax(row), np.argmin(row), np.argmax(row > 2))


def test_operations_are_counted_by_hand():
    def twice(x):
        return jax.lax.fori_loop(0, 7, lambda i, x: x * 2, x)

    vector, matrix = jnp.zeros(10), jnp.zeros((4, 10))
    assert batching.operations(lambda x: x * 2 + 1, vector) == 20
    assert batching.operations(jnp.dot, matrix, vector) == 40
    assert batching.operations(jnp.sum, vector) == batching.operations(argmax, vector) == 10
    assert batching.operations(lambda x: set_at(x, jnp.int32(3), x[0] * 2), vector) < 10  # and not all entries
    assert 70 <= batching.operations(twice, vector) < 70 + 20  # and the counter


def test_operations_that_cannot_be_read_are_none(monkeypatch):
    monkeypatch.setattr(batching, "READING", False)
    assert batching.operations(lambda x: x * 2, jnp.zeros(10)) == 0  # so that the program is played as always


def test_the_cache_is_the_machine_s(monkeypatch, tmp_path):
    def found(answer, text):
        file = tmp_path / "size"
        file.write_text(text)
        monkeypatch.setattr(sizes.os, "sysconf", lambda name: answer, raising=False)
        monkeypatch.setattr(sizes, "CACHE_FILE", file)
        return sizes.cache()

    assert found(2 << 20, "") == 2 << 20
    assert found(0, "1280K\n") == found(-1, "1280K\n") == 1280 << 10
    assert found(0, "") == found(0, "?") == 1 << 20  # the system does not tell
    assert found(1 << 30, "") == 4 << 20 and found(100, "") == 256 << 10  # what no core has
    monkeypatch.delattr(sizes.os, "sysconf")  # not on Windows
    monkeypatch.setattr(sizes, "CACHE_FILE", tmp_path / "missing")
    assert sizes.cache() == 1 << 20
    assert not sizes.alone("gpu", 10**9) and sizes.alone("cpu", sizes.CPU.heavy)
