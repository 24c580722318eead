"""A checkpoint is taken up with other tiles, lanes, cores, devices: the same bytes. What changes numbers is named."""

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_lanes import make_replanned

from jaxbandit.algorithms import ucb1
from jaxbandit.algorithms.exploration.icb import icb
from jaxbandit.algorithms.exploration.presets import lucb
from jaxbandit.base.contract import Algorithm, Environment, Replan
from jaxbandit.engine.driver import programs
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.checkpoint import Finished
from jaxbandit.environments.combinatorial.full_bandit import full_bandit
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.support.numerics import argmax, get_at, set_at
from jaxbandit.support.types import Array

pytestmark = pytest.mark.slow

MEANS = np.array([0.9, 0.3, 0.0])
HORIZON = {"horizon": 640, "num_runs": 200}


class PlanState(NamedTuple):
    pulled: Array  # int32[3]
    sums: Array  # float[3]
    round: Array  # int32[], the same for all runs
    size: Array  # float[], sum of squared rewards
    planned: Array  # float[], size at the last plan
    weights: Array  # float[3]


def planner():
    """Pulls what lags most behind weights that are planned anew whenever the rewards' squares have grown."""

    def update(state, context, action, reward):
        return state._replace(
            pulled=set_at(state.pulled, action, get_at(state.pulled, action) + 1),
            sums=set_at(state.sums, action, get_at(state.sums, action) + reward),
            round=state.round + 1,
            size=state.size + reward * reward,
        )

    def plan(state):
        factor = jnp.linalg.cholesky(jnp.outer(state.sums, state.sums) + (1 + state.size) * jnp.eye(3))
        return state._replace(planned=state.size, weights=jnp.exp(jnp.diagonal(factor) / jnp.sqrt(1 + state.size)))

    zero = jnp.zeros(())
    return Algorithm(
        init=lambda key: PlanState(jnp.zeros(3, jnp.int32), jnp.zeros(3), jnp.int32(0), zero, zero, jnp.ones(3)),
        select=lambda noise, state, context: argmax(
            state.weights / state.weights.sum() - state.pulled.astype(float) / (1 + state.round.astype(float))
        ),
        update=update,
        pulls=lambda state: state.pulled,
        replan=Replan(due=lambda state: state.size > 1.3 * state.planned, apply=plan),
    )


def drifting(means):
    """Two contexts, and means that change with the round: regret is summed round by round."""
    means = jnp.asarray(means, float)

    def gap(state, context, action):
        at = jnp.where(context > 0, means, means[::-1]) + 0.1 * jnp.sin(state + jnp.arange(3.0))
        return jnp.max(at) - get_at(at, action)

    return Environment(
        init=lambda key: jnp.zeros(()),
        noise=lambda key: jax.random.normal(key, (2,)),
        observe=lambda state, noise: (noise[0] > 0.5).astype(jnp.int32),
        reward=lambda state, context, action, noise: noise[1] - gap(state, context, action),
        regret=gap,
        transition=lambda state, context, action, noise: state + 0.01,
    )


def make_plain(means):
    return ucb1(3), bernoulli(means)


def make_planned(means):
    return planner(), gaussian(means)


def make_contextual(means):
    return ucb1(3), drifting(means)


def make_stopping(means):
    return lucb(3, delta=0.3), gaussian(2 * means)


def make_batches(means):
    return icb(3, k=2, epsilon=0.2, sigma=0.3), full_bandit(means, 2, sigma=0.3)


class Interrupted(Exception):
    pass


def interrupt(call, reports, **options):
    """Interrupt the call at this of its reports; return the steps that it played."""
    told = []

    def stop(progress):
        told.append(progress.run_steps)
        if len(told) == reports:
            raise Interrupted

    with pytest.raises(Interrupted):
        call(progress=stop, **options)
    return sum(told)


def same(a, b):
    for name, left in vars(a).items():
        if isinstance(left, np.ndarray):
            right = getattr(b, name)
            assert left.dtype == right.dtype and left.tobytes() == right.tobytes(), name


@pytest.fixture
def short_chunks(monkeypatch):
    monkeypatch.setattr(programs, "FIRST_BLOCKS", 1)
    monkeypatch.setattr(programs, "CALL_SECONDS", 0.0)


# One of them with the code that users run; that this does not depend on the tile is tested of every algorithm.
@pytest.mark.parametrize(
    "make",
    [*(pytest.param(make, marks=pytest.mark.quickly_compiled) for make in (make_plain, make_contextual)), make_planned],
)
def test_other_tiles_and_workers(make, tmp_path, short_chunks):
    def play(**options):
        return simulate_cell(make, MEANS, **HORIZON, execution=Execution(**options))

    whole = play(width=64, workers=2)
    narrow, wide = {"width": 64, "workers": 2}, {"width": 208, "workers": 1}
    for calls in ((narrow, wide), (wide, narrow), (narrow, wide, narrow, wide)):
        directory = tmp_path / "-".join(str(call["width"]) for call in calls)
        steps = [interrupt(play, 3, **call, directory=directory) for call in calls[:-1]]
        rest = play(**calls[-1], directory=directory)
        same(whole, rest)
        assert rest.run_steps + sum(steps) == whole.run_steps  # nothing is lost, nothing is played twice


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("make", [make_stopping, make_batches, make_replanned])
def test_other_lanes_and_workers(make, tmp_path, short_chunks):
    def play(**options):
        return identify_cell(make, MEANS, num_runs=700, execution=Execution(**options))

    whole = play(width=64, workers=2)
    narrow, wide = {"width": 64, "workers": 1}, {"width": 256, "workers": 2}
    for calls in ((narrow, wide), (wide, narrow), (wide, narrow, wide)):
        directory = tmp_path / "-".join(str(call["width"]) for call in calls)
        steps = []
        for call in calls[:-1]:
            steps.append(interrupt(play, 1, **call, directory=directory))
            saved = storage.read_arrays(directory / "live.npz", storage.RECOMPUTE)
            runs = sum(len(values) for name, values in saved.items() if name.endswith("run"))
            assert runs > 64 or call is narrow  # more than the lanes that take them up
        rest = play(**calls[-1], directory=directory)
        same(whole, rest)
        assert rest.run_steps + sum(steps) == whole.run_steps  # nothing is lost, nothing is played twice
    again = play(directory=directory)
    same(whole, again)
    assert again.run_steps == 0 and np.isnan(again.lane_utilization)


@pytest.mark.quickly_compiled
def test_more_runs_extend_what_is_there(tmp_path, short_chunks):
    whole = simulate_cell(make_plain, MEANS, **HORIZON)
    some = simulate_cell(make_plain, MEANS, horizon=640, num_runs=130, execution=Execution(directory=tmp_path / "done"))
    more = simulate_cell(make_plain, MEANS, **HORIZON, execution=Execution(directory=tmp_path / "done"))
    same(whole, more)
    assert more.run_steps == 70 * 640
    same(
        some,
        simulate_cell(make_plain, MEANS, horizon=640, num_runs=130, execution=Execution(directory=tmp_path / "done")),
    )
    taken = {"regret": some.regret, "pulls": some.pulls, "recommendation": some.recommendation, "outcome": some.outcome}
    finished = Finished("cell-000", some.identity, taken)
    lean = simulate_cell(make_plain, MEANS, **HORIZON, finished=finished, keep=())
    assert lean.mean.tobytes() == whole.mean.tobytes() and lean.outcome.tobytes() == whole.outcome.tobytes()
    assert lean.run_steps == 70 * 640
    with pytest.raises(ValueError, match="cell-000: has 130 runs, but num_runs = 100 asks for fewer"):
        simulate_cell(make_plain, MEANS, horizon=640, num_runs=100, finished=finished)
    with pytest.raises(ValueError, match="cell-000: of another simulation: seed 0, here 1"):
        simulate_cell(make_plain, MEANS, **HORIZON, finished=finished, seed=1)
    with pytest.raises(ValueError, match="cell-000: has no regret of each run"):
        simulate_cell(make_plain, MEANS, **HORIZON, finished=finished._replace(arrays={"outcome": some.outcome}))


@pytest.mark.quickly_compiled
def test_more_stopping_runs_extend_what_is_there(tmp_path, short_chunks):
    def play(number, finished=None, **options):
        runs = {"num_runs": number, "first_run": 10, "finished": finished}
        return identify_cell(make_stopping, MEANS, **runs, execution=Execution(width=64, **options))

    whole, some = play(300), play(200)
    names = ("samples", "outcome", "recommendation", "shortfall", "pulls")
    finished = Finished("cell-000", some.identity, {name: getattr(some, name) for name in names})
    more = play(300, finished=finished)
    same(whole, more)
    assert more.run_steps == whole.samples[200:].sum()
    interrupt(lambda **given: play(200, **given), 2, directory=tmp_path)
    same(whole, play(300, directory=tmp_path))


CHILD = """
    import sys
    from pathlib import Path
    import jax
    jax.config.update("jax_num_cpu_devices", 2)
    sys.path.insert(0, sys.argv[1])
    from jaxbandit.engine.storage import checkpoint
    from test_resume_anywhere import *

    checkpoint.SAVE_SECONDS, programs.CALL_SECONDS = 0.0, 0.01
    assert len(jax.devices()) == 2
    KILLED[sys.argv[2]](directory=Path(sys.argv[3]))
"""


def kill_horizon(**options):
    return simulate_cell(
        make_planned, MEANS, horizon=30_000, num_runs=150, checkpoints=[30_000], execution=Execution(**options)
    )


def kill_stopping(**options):
    return identify_cell(make_stopping, 0.3 * MEANS, num_runs=2000, execution=Execution(**options))


KILLED = {"horizon": kill_horizon, "stopping": kill_stopping}


@pytest.mark.parametrize("name", ["horizon", "stopping"])
def test_killed_on_two_devices_and_resumed_on_one(name, tmp_path):
    directory = tmp_path / "state"
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(Path(__file__).parent), name, str(directory)]
    process = subprocess.Popen(command)
    while not (directory / "live.npz").exists():
        assert process.poll() is None
        time.sleep(0.002)
    time.sleep(0.1)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    whole = KILLED[name]()
    rest = KILLED[name](directory=directory)
    same(whole, rest)
    assert rest.run_steps < whole.run_steps
    assert sorted(path.name for path in directory.iterdir() if path.name.startswith(".")) == []


@pytest.mark.quickly_compiled
def test_a_damaged_part_is_one_line(tmp_path):
    options = {"num_runs": 80, "execution": Execution(directory=tmp_path)}
    identify_cell(make_stopping, MEANS, **options)
    (file,) = tmp_path.glob("done-*.npz")
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(ValueError, match="delete it to compute it again") as error:
        identify_cell(make_stopping, MEANS, **options)
    assert "\n" not in str(error.value) and str(file) in str(error.value)


@pytest.mark.quickly_compiled
def test_the_digest_is_that_of_another_process(tmp_path):
    record = simulate_cell(make_planned, MEANS, horizon=1, num_runs=1)
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        from test_resume_anywhere import *
        print(simulate_cell(make_planned, MEANS, horizon=1, num_runs=1).identity["program"])
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(Path(__file__).parent)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert out.strip() == record.identity["program"]
