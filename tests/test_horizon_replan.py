"""Refreshes within a fixed horizon: each before the round that asks for it, whatever runs beside; the same bytes."""

import subprocess
import sys
import textwrap
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Algorithm, Outcome, Phases, Replan
from jaxbandit.decide.loading import load
from jaxbandit.engine.driver import programs
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout import compiled
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.lab.experiments import playing
from jaxbandit.lab.specs import spec
from jaxbandit.running.simulate import simulate
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array

pytestmark = pytest.mark.slow

MEANS = np.array([0.9, 0.3, 0.0])


class PlannerState(NamedTuple):
    counts: Array  # int32[3]
    sums: Array  # float[3]
    kinds: Array  # int32[2], rounds that pulled the planned arm, and others
    round: Array  # int32[], the same for all runs
    spread: Array  # float[], sum of squared rewards
    level: Array  # float[], spread at the last replanning
    planned: Array  # int32[], round of the last replanning: made of what runs share, but differs between them
    weights: Array  # float[3], made by the last replanning


def planner(means, *, growth=1.3, stuck_after=10**6):
    """Pulls what lags most behind weights that are planned anew whenever the rewards' spread has grown."""

    def init(key):
        nought, zero = jnp.zeros(3, jnp.int32), jnp.int32(0)
        return PlannerState(nought, jnp.zeros(3), nought[:2], zero, jnp.zeros(()), jnp.zeros(()), zero, jnp.ones(3))

    def due(state):
        return (state.round > 0) & (state.spread > as_float(growth) * state.level)

    def replan(state):
        # Roots and a factorisation: what would round otherwise in another loop.
        spread = jnp.maximum(state.spread, 1e-3)
        factor = jnp.linalg.cholesky(jnp.outer(state.sums, state.sums) + spread * jnp.eye(3))
        weights = jnp.exp(jnp.diagonal(factor) / jnp.sqrt(spread))
        level = jnp.where(state.round > stuck_after, state.level, state.spread)
        return state._replace(level=level, planned=state.round, weights=weights / jnp.sum(weights))

    def select(noise, state, context):
        return argmax(state.weights - as_float(state.counts) / (1 + as_float(state.round)))

    def update(state, context, action, reward):
        planned = (action == argmax(state.weights)).astype(jnp.int32)
        return state._replace(
            counts=set_at(state.counts, action, get_at(state.counts, action) + 1),
            sums=set_at(state.sums, action, get_at(state.sums, action) + reward),
            kinds=state.kinds + jnp.stack([planned, 1 - planned]),
            round=state.round + 1,
            spread=state.spread + reward * reward,
        )

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: state.planned,
        phases=Phases(("planned", "other"), lambda state: state.kinds),
        replan=Replan(due, replan),
    )


def make(means):
    return planner(means), gaussian(means)


def altered(algorithm, apply):
    return algorithm._replace(replan=algorithm.replan._replace(apply=apply))


def late_by(late):
    def pair(means):
        algorithm, environment = make(means)
        return algorithm._replace(replan=algorithm.replan._replace(late=late)), environment

    return pair


OPTIONS = {"horizon": 150, "num_runs": 200}


@pytest.fixture(scope="module")
def whole():
    return simulate_cell(make, MEANS, **OPTIONS)


def same(a, b, runs=None):
    for name in ("regret", "pulls", "kinds", "recommendation", "outcome"):
        left, right = getattr(a, name)[:runs], getattr(b, name)[:runs]
        assert left.dtype == right.dtype and left.tobytes() == right.tobytes(), name


@pytest.mark.parametrize("late", [0, 6])
def test_equals_one_run_after_the_other(late):
    """The contract, written as a plain loop: a new plan before the round that asks, or at most `late` rounds after."""
    number, horizon = 3, 100
    many = simulate_cell(late_by(late), MEANS, horizon=horizon, num_runs=number)
    run = SingleRun(make, jnp.asarray(MEANS), "threefry4x32")
    assert not run.state_varies.round and run.state_varies.planned
    algorithm = make(MEANS)[0]
    begin, draw, play = jax.jit(run.begin), jax.jit(run.draw), jax.jit(run.play)
    replan, due = jax.jit(algorithm.replan.apply), jax.jit(algorithm.replan.due)
    words = jax.device_get(keys.run_keys(keys.root_key(0), jnp.arange(number, dtype=jnp.int32)))
    for r in range(number):
        own, plans = tuple(w[:, r] for w in words), 0
        (world, state), tally = begin(MEANS, own), run.recorder.empty()
        for t in range(1, horizon + 1):
            if (t - 1) % (late + 1) == 0 and due(state):
                state, plans = replan(state), plans + 1
            world, state, tally = play(MEANS, world, state, tally, draw(MEANS, own, np.int32(t)))
        assert plans > 6
        np.testing.assert_array_equal(many.pulls[r], state.counts)
        np.testing.assert_array_equal(many.kinds[r], state.kinds)
        assert many.recommendation[r] == state.planned and many.outcome[r] == Outcome.STOPPED


@pytest.mark.parametrize(("tile", "workers"), [(1, 2), (1000, 1)])
def test_numbers_do_not_depend_on_the_tile_or_the_workers(whole, tile, workers):
    assert len(np.unique(whole.recommendation)) > 5  # planned at rounds of their own
    same(whole, simulate_cell(make, MEANS, **OPTIONS, execution=Execution(width=tile, workers=workers)))
    same(whole, simulate_cell(make, MEANS, horizon=150, num_runs=7), 7)


def test_numbers_do_not_depend_on_the_chunk(whole, monkeypatch):
    monkeypatch.setattr(programs, "FIRST_BLOCKS", 1)
    monkeypatch.setattr(programs, "CALL_SECONDS", 0.0)
    same(whole, simulate_cell(make, MEANS, **OPTIONS))


def test_numbers_do_not_depend_on_the_noise_block(whole, monkeypatch):
    monkeypatch.setattr("jaxbandit.engine.layout.sizes.NOISE_STEPS", 1)
    compiled.forget()
    same(whole, simulate_cell(make, MEANS, **OPTIONS))
    compiled.forget()


def test_numbers_do_not_depend_on_the_number_of_devices(whole, tmp_path):
    script = textwrap.dedent("""
        import sys, jax, numpy as np
        jax.config.update("jax_num_cpu_devices", 2)
        sys.path.insert(0, sys.argv[1])
        from jaxbandit.engine.driver.simulate import simulate_cell
        from test_horizon_replan import MEANS, OPTIONS, make

        r = simulate_cell(make, MEANS, **OPTIONS)
        assert len(r.devices) == 2
        np.savez(sys.argv[2], regret=r.regret, pulls=r.pulls, kinds=r.kinds, recommendation=r.recommendation)
    """)
    file = tmp_path / "two.npz"
    subprocess.run([sys.executable, "-c", script, str(__file__).rsplit("/", 1)[0], str(file)], check=True)
    two = np.load(file)
    assert all(getattr(whole, name).tobytes() == two[name].tobytes() for name in two.files)


class Interrupted(Exception):
    pass


def test_interrupted_and_resumed(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "FIRST_BLOCKS", 1)
    monkeypatch.setattr(programs, "CALL_SECONDS", 0.0)

    def stop(steps):
        raise Interrupted

    with pytest.raises(Interrupted):
        simulate_cell(make, MEANS, **OPTIONS, execution=Execution(directory=tmp_path, progress=stop))
    with pytest.raises(ValueError, match="of another simulation: replan_late 0, here 1"):
        simulate_cell(late_by(1), MEANS, **OPTIONS, execution=Execution(directory=tmp_path))
    rest = simulate_cell(make, MEANS, **OPTIONS, execution=Execution(directory=tmp_path))
    same(whole, rest)
    assert rest.run_steps < whole.run_steps and rest.kinds_mean.tobytes() == whole.kinds_mean.tobytes()


def test_a_plan_that_never_ends_is_reported():
    """Of a few runs, which do not hold up the others, and which play on to the horizon."""

    def broken(means):
        return planner(means, stuck_after=20, growth=1.3), gaussian(means)

    found = simulate_cell(broken, MEANS, horizon=40, num_runs=200)
    bad = found.outcome == Outcome.NONFINITE
    # Those whose spread has grown by 1.3 since a round before 20: most, not all.
    assert 100 < bad.sum() < 200 and (found.pulls.sum(1) == 40).all()
    assert (found.recommendation[bad] > 20).all() and (found.recommendation[~bad] <= 20).all()


def test_another_replanning_is_another_simulation(tmp_path):
    options = {"horizon": 20, "num_runs": 5, "execution": Execution(directory=tmp_path)}
    simulate_cell(make, MEANS, **options)

    def other(means):
        algorithm, environment = make(means)
        return altered(algorithm, lambda s: algorithm.replan.apply(s)._replace(weights=s.weights)), environment

    with pytest.raises(ValueError, match="of another simulation"):
        simulate_cell(other, MEANS, **options)


def test_a_plan_that_changes_a_type_is_named():
    def bad(means):
        algorithm, environment = make(means)
        return altered(algorithm, lambda s: s._replace(planned=s.level)), environment

    with pytest.raises(ValueError, match=r"algorithm\.replan\.apply changes state\.planned from int32"):
        simulate_cell(bad, MEANS, horizon=10, num_runs=2)


def test_how_late_is_judged():
    for late in (-1, 1.5, True):
        with pytest.raises(ValueError, match=r"simulate: replan\.late = "):
            simulate_cell(late_by(late), MEANS, horizon=10, num_runs=2)


@pytest.mark.quickly_compiled
def test_rounds_by_kind_are_kept_with_the_result(tmp_path):
    algorithm, environment = make(MEANS)
    options = {"horizon": 30, "num_runs": 64}
    full, lean = (simulate(algorithm, environment, **options, keep=keep) for keep in (("runs",), ()))
    kinds = full.arrays["kinds"]
    assert kinds.shape == (64, 2) and (kinds.sum(1) == 30).all() and len(np.unique(kinds[:, 0])) > 1
    np.testing.assert_allclose(lean.arrays["kinds_mean"], kinds.mean(0))
    assert "kinds" not in lean.arrays and lean.content()["kinds"]["mean"].tolist() == kinds.mean(0).tolist()
    full.save(tmp_path)
    (again,) = load(tmp_path)
    assert again.arrays["kinds"].tobytes() == kinds.tobytes()
    assert again.to_xarray()["kinds"].dims == ("run", "kind")


def test_wrappers_and_experiments_pass_on_how_late_a_plan_may_be():
    features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]
    rule = jb.algorithms.oam(features, horizon=50)
    assert rule.replan is not None and rule.replan.late == 0
    late = rule._replace(replan=rule.replan._replace(late=4))
    for wrapped in (jb.algorithms.delayed(late, delay=2), jb.algorithms.batched(late, [10, 50])):
        assert wrapped.replan.late == 4
    tables = {
        "instance": [{"type": "linear", "features": features, "theta": [1.0, 0.0]}],
        "algorithm": [{"type": "oam"}],
    }
    data = {"kind": "simulate", "runs": 1, "horizon": 50, "replan_late": 3, **tables}
    (cell,) = spec.parse(data, "x.toml").cells()
    for given in (0, 3):
        make, arguments = playing.program(cell, given)
        assert make(arguments)[0].replan.late == given
