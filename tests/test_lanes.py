"""The engine for runs that stop: a run's numbers depend on (seed, run) alone, whatever the lanes do around it."""

import os
import subprocess
import sys
import textwrap
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lives import Lives

from jaxbandit.algorithms.exploration.icb import icb
from jaxbandit.algorithms.exploration.presets import lingape, lucb
from jaxbandit.base.batches import Batch
from jaxbandit.base.contract import Algorithm, Outcome, Replan
from jaxbandit.engine.driver import programs, until_stop
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.rounds.stopping import StoppingRun
from jaxbandit.environments.combinatorial.full_bandit import full_bandit
from jaxbandit.environments.linear_arms.soare import soare
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.support.numerics import as_float, get_at, set_at
from jaxbandit.support.types import Array

MEANS = np.array([0.9, 0.3, 0.0])
FEATURES = np.vstack([np.eye(3), [[np.cos(0.5), np.sin(0.5), 0.0]]])


class RaceState(NamedTuple):
    counts: Array  # int32[3]
    sums: Array  # float[3]
    fresh: Array  # int32[], rounds since the last replanning
    table: Array  # float[3], the same for all runs, never changed
    start: Array  # float[], drawn by init


def race(means, *, level=6.0, replan_every=0, broken_after=0, batch=0, trust=1e9):
    """Pulls in turn, and stops when the sums of two arms are `level` apart: enough to exercise every path."""

    def init(key):
        return RaceState(jnp.zeros(3, jnp.int32), jnp.zeros(3), jnp.int32(0), jnp.arange(3.0), jax.random.uniform(key))

    def select(noise, state, context):
        return jnp.sum(state.counts, dtype=jnp.int32) % 3

    def update(state, context, action, reward):
        counts = set_at(state.counts, action, get_at(state.counts, action) + 1)
        sums = set_at(state.sums, action, get_at(state.sums, action) + reward)
        if broken_after:
            sums = jnp.where((counts.sum(dtype=jnp.int32) > broken_after) & (state.start > 0.5), jnp.nan, sums)
        return state._replace(counts=counts, sums=sums, fresh=state.fresh + 1)

    def stop(state):
        gap = jnp.max(state.sums) - jnp.min(state.sums)
        return (state.counts > 0).all() & (gap > as_float(level) + state.start)

    def recommend(state):
        return jnp.argmax(state.sums + 0 * state.table).astype(jnp.int32)[None]

    extras = {}
    if replan_every:
        extras["replan"] = Replan(
            lambda state: state.fresh >= replan_every,
            lambda state: state._replace(fresh=jnp.zeros_like(state.fresh), sums=state.sums * 0.875),
        )
    if batch:
        extras["batch"] = Batch(
            lambda state: jnp.full(3, batch, jnp.int32),
            lambda state, pulls, sums: state._replace(counts=state.counts + pulls, sums=state.sums + sums),
        )
    if trust < 1e9:
        extras["verify"] = lambda state: jnp.max(state.sums) < trust
    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=recommend,
        stop=stop,
        **extras,
    )


def make_race(means):
    return race(means), gaussian(means)


def make_replanned(means):
    return race(means, replan_every=5), gaussian(means)


def make_batches(means):
    return race(means, level=20.0, batch=7), gaussian(means)


def make_lucb(means):
    return lucb(3, delta=0.3), gaussian(2 * means)


def make_super_arms(means):
    """Sums of two of three arms, in batches over all pairs."""
    return icb(3, k=2, epsilon=0.2, sigma=0.5), full_bandit(means, 2, sigma=0.5)


def make_lingape(angle):
    return lingape(
        jnp.stack([*jnp.eye(3), jnp.stack([jnp.cos(angle), jnp.sin(angle), 0.0 * angle])]), delta=0.1
    ), soare(3, angle)


MAKERS = [(make_race, MEANS), (make_replanned, MEANS), (make_batches, MEANS), (make_lucb, MEANS), (make_lingape, 0.7)]
IDS = ["race", "replan", "batches", "lucb", "lingape"]


def same(a, b, runs=slice(None)):
    for name in ("samples", "outcome", "recommendation", "shortfall", "pulls"):
        left, right = getattr(a, name), getattr(b, name)
        if left is None and right is None:  # super-arms are not counted
            continue
        left = left[runs]
        assert left.dtype == right.dtype and left.tobytes() == right.tobytes(), name


@pytest.mark.slow
@pytest.mark.parametrize(("make", "arguments"), MAKERS, ids=IDS)
def test_the_same_bytes_for_any_lanes_chunk_and_workers(make, arguments):
    # Two widths are compiled: 64, the least, and 1024.
    one = identify_cell(make, arguments, num_runs=300, max_rounds=2000)
    assert 5 < one.samples.mean() < 1500 and len(np.unique(one.samples)) > 5
    for lanes, chunk, workers in ((1, 64, 1), (37, 1, 2), (1024, 999, 2), (64, None, 3)):
        other = identify_cell(
            make,
            arguments,
            num_runs=300,
            max_rounds=2000,
            execution=Execution(width=lanes, chunk=chunk, workers=workers),
        )
        same(one, other)
    part = identify_cell(make, arguments, first_run=123, num_runs=77, max_rounds=2000)
    same(one, part, slice(123, 200))
    assert identify_cell(make, arguments, num_runs=50, seed=1).samples.tobytes() != one.samples[:50].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        pytest.param(*case, id=name, marks=[] if name == "race" else pytest.mark.slow)
        for case, name in zip(MAKERS, IDS, strict=True)
    ],
)
def test_equals_one_run_after_the_other(make, arguments):
    """The contract, written as the plain loop that the lanes replace."""
    number, limit = 5, 400
    many = identify_cell(make, arguments, num_runs=number, max_rounds=limit)
    with jax.enable_x64(True):
        arguments = jnp.asarray(arguments)
        run = StoppingRun(make, arguments, "threefry4x32")
        algorithm, environment = make(arguments)

        def play(world, state, noise):
            if run.batches:
                state, _, count = rounds.play_batch(algorithm, environment, world, state, noise[0])
                return state, count
            return rounds.play(algorithm, environment, world, state, noise).state, 1

        begin, draw, play = jax.jit(run.begin), jax.jit(run.draw), jax.jit(play)
        stop, replan = jax.jit(algorithm.stop), algorithm.replan
        judge = jax.jit(lambda world, arms: environment.simple_regret(world, arms))
        recommend = jax.jit(algorithm.recommend)
        from jaxbandit.engine.rounds import keys
        from jaxbandit.engine.rounds import step as rounds

        words = jax.device_get(keys.run_keys(keys.root_key(0), jnp.arange(number, dtype=jnp.int32)))
        for r in range(number):
            own = tuple(w[:, r] for w in words)
            world, state = begin(arguments, own)
            pulls, step, outcome = 0, 0, Outcome.MAX_ROUNDS
            while True:
                while replan is not None and replan.due(state):
                    state = replan.apply(state)
                if stop(state):
                    outcome = Outcome.STOPPED
                    break
                step += 1
                after, count = play(world, state, draw(arguments, own, np.int32(step)))
                if pulls + int(count) > limit:
                    break
                state, pulls = after, pulls + int(count)
            assert (many.samples[r], many.outcome[r]) == (pulls, outcome)
            np.testing.assert_array_equal(many.pulls[r], state.counts)
            np.testing.assert_array_equal(many.recommendation[r], recommend(state))
            np.testing.assert_allclose(many.shortfall[r], judge(world, recommend(state)), atol=1e-15)


@pytest.mark.slow
def test_the_same_bytes_for_more_lanes():
    """The quick tier's share of the above."""
    one = identify_cell(make_race, MEANS, num_runs=200)
    same(one, identify_cell(make_race, MEANS, num_runs=200, execution=Execution(width=112, chunk=1)))


@pytest.mark.slow
def test_batches_are_played_one_by_one_where_the_environment_cannot_sum():
    def make(means):
        return race(means, batch=7), gaussian(means)._replace(batch=None)

    single = identify_cell(make, MEANS, num_runs=50)
    assert (single.samples == identify_cell(make_race, MEANS, num_runs=50).samples).all()


@pytest.mark.slow
def test_two_workers_with_linear_algebra_end():
    """LAPACK's batches of two workers wait for each other for ever unless they take turns: seen at 24 arms."""
    code = """
        import numpy as np
        import jaxbandit as jb
        algorithm = jb.algorithms.saqm(24, k=6, schedule="every", epsilon=50.0)  # stops at its first look
        world = jb.environments.full_bandit(np.linspace(0, 1, 24), 6)
        result = jb.identify(algorithm, world, num_runs=128, max_rounds=100, execution=jb.Execution(workers=2))
        print(len(result.samples()))
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stdout.strip() == "128"


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_max_rounds_censors():
    whole = identify_cell(make_race, MEANS, num_runs=200)
    cut = identify_cell(make_race, MEANS, num_runs=200, max_rounds=20)
    late = whole.samples > 20
    assert 10 < late.sum() < 190
    assert (cut.outcome == np.where(late, Outcome.MAX_ROUNDS, Outcome.STOPPED)).all()
    np.testing.assert_array_equal(cut.samples, np.minimum(whole.samples, 20))
    np.testing.assert_array_equal(cut.pulls.sum(1), cut.samples)
    batches = identify_cell(make_batches, MEANS, num_runs=50, max_rounds=50)
    assert set(batches.samples) <= {21, 42}  # a batch that does not fit is not pulled
    assert (batches.outcome[batches.samples < 42] == Outcome.STOPPED).all()


@pytest.mark.slow
def test_a_batch_too_large_for_int32_censors():
    def make(means):
        return race(means, batch=2**30, level=1e300), gaussian(means)

    found = identify_cell(make, MEANS, num_runs=3)
    assert (found.outcome == Outcome.MAX_ROUNDS).all() and (found.samples == 0).all()


@pytest.mark.slow
def test_nan_ends_a_run_at_once_and_leaves_zeros():
    def make(means):
        return race(means, level=50.0, broken_after=10), gaussian(means)

    found = identify_cell(make, MEANS, num_runs=200, max_rounds=10**6)
    bad = found.outcome == Outcome.NONFINITE
    assert 60 < bad.sum() < 140 and (found.outcome[~bad] == Outcome.STOPPED).all()
    for name in ("samples", "pulls", "recommendation", "shortfall"):
        assert not getattr(found, name)[bad].any()
    assert found.run_steps < 200 * 3000  # a NaN run does not play to max_rounds
    same(found, identify_cell(make, MEANS, num_runs=200, max_rounds=10**6, execution=Execution(width=37, chunk=1)))


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_a_replanning_that_never_ends_is_reported():
    def make(means):
        algorithm = race(means, replan_every=5)
        return algorithm._replace(replan=algorithm.replan._replace(apply=lambda state: state)), gaussian(means)

    assert (identify_cell(make, MEANS, num_runs=4).outcome == Outcome.NONFINITE).all()


@pytest.mark.slow
def test_float32_is_verified_in_float64():
    seen = []

    def make(means):
        algorithm = race(means, trust=5.0)

        def verify(state):
            seen.append(state.sums.dtype)
            return algorithm.verify(state)

        return algorithm._replace(verify=verify), gaussian(means)

    double = identify_cell(make, MEANS, num_runs=100)
    assert (double.outcome == Outcome.STOPPED).all() and not seen
    single = identify_cell(make, MEANS, num_runs=100, precision="float32")
    doubted = single.outcome == Outcome.PRECISION
    # Traced in float32 too, for the identity of the runs: verify is part of what decides their outcome.
    assert 0 < doubted.sum() < 100 and jnp.dtype("float64") in seen
    same(single, identify_cell(make, MEANS, num_runs=100, precision="float32", execution=Execution(width=37, chunk=1)))


@pytest.mark.slow
def test_lanes_without_runs_are_few():
    """Refilled lanes waste little; lanes that wait for the slowest run would waste most of a heavy tail."""
    found = identify_cell(make_lucb, MEANS, num_runs=4000, execution=Execution(width=64, workers=1))
    waiting = found.samples[:3968].reshape(-1, 64).max(1).sum() * 64
    assert found.lane_utilization > 0.85 and found.lane_steps < 0.8 * waiting
    assert found.run_steps == found.samples.sum()


@pytest.mark.slow
def test_the_last_runs_go_on_with_fewer_lanes(monkeypatch):
    monkeypatch.setattr(until_stop, "COMPILE_SECONDS", 0.0)
    monkeypatch.setattr(programs, "CALL_SECONDS", 0.0)

    def make(means):
        algorithm = make_race(means)[0]
        # One run in 50 goes on for long.
        return algorithm._replace(stop=lambda s: algorithm.stop(s) & (s.start < 0.98)), gaussian(means)

    options = {"num_runs": 512, "max_rounds": 20_000}
    wide = identify_cell(make, MEANS, execution=Execution(width=256, workers=1), **options)
    plain = identify_cell(make, MEANS, execution=Execution(width=64, workers=1), **options)
    same(wide, plain)
    slow = (wide.outcome == Outcome.MAX_ROUNDS).sum()
    assert 0 < slow < 64 and wide.lane_steps < 0.3 * 256 * 20_000


@pytest.mark.slow
def test_progress_adds_up():
    told = []
    found = identify_cell(make_race, MEANS, num_runs=300, execution=Execution(progress=told.append))
    assert sum(p.finished for p in told) == 300
    assert sum(p.run_steps for p in told) == found.run_steps == found.samples.sum()


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    options = {"num_runs": 20, "execution": Execution(directory=tmp_path, workers=1)}
    identify_cell(make_race, MEANS, **options)
    for change in ({"seed": 1}, {"max_rounds": 99}, {"implementation": "threefry2x32"}):
        with pytest.raises(ValueError, match="of another simulation"):
            identify_cell(make_race, MEANS, **(options | change))
    for make, arguments in ((make_race, MEANS + 0.01), (make_lucb, MEANS)):
        with pytest.raises(ValueError, match="of another simulation"):
            identify_cell(make, arguments, **options)
    (file,) = tmp_path.glob("*.npz")
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(ValueError, match="delete it to compute it again"):
        identify_cell(make_race, MEANS, **options)


@pytest.mark.slow
def test_the_unit_of_rewards_changes_nothing():
    """Powers of two times all means, sigma and epsilon: the same pulls, and errors of that unit. The unit is traced."""

    def scaled(unit):
        rule = lucb(3, delta=0.5, sigma=unit / 4, epsilon=0.25 * unit, rule="both")
        return rule, gaussian(np.array([0.9, 0.5, 0.0]) * unit, sigma=unit)

    small, plain, large = (
        identify_cell(scaled, np.float64(unit), num_runs=64, max_rounds=10_000, any_rewards=True)
        for unit in (2.0**-20, 1.0, 2.0**20)
    )
    assert 0 < np.count_nonzero(plain.shortfall) < 64
    for other, unit in ((small, 2.0**-20), (large, 2.0**20)):
        for name in ("samples", "outcome", "recommendation", "pulls"):
            np.testing.assert_array_equal(getattr(other, name), getattr(plain, name))
        np.testing.assert_array_equal(other.shortfall, plain.shortfall * unit)


def test_bad_arguments_are_one_line():
    for name, value in (
        ("num_runs", 0),
        ("max_rounds", 0),
        ("max_rounds", 2**31),
        ("seed", -1),
        ("first_run", -1),
        ("precision", "float16"),
        ("implementation", "rbg"),
    ):
        with pytest.raises(ValueError, match=name) as error:
            identify_cell(make_race, MEANS, **{"num_runs": 5, name: value})
        assert "\n" not in str(error.value)
    for name in ("width", "chunk", "workers"):
        with pytest.raises(ValueError, match=f"^Execution: {name} = 0, must be an integer in ") as error:
            identify_cell(make_race, MEANS, num_runs=5, execution=Execution(**{name: 0}))
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=r"precision = 'float32', must be \"float64\" for max_rounds = 16777217"):
        identify_cell(make_race, MEANS, num_runs=5, max_rounds=2**24 + 1, precision="float32")


PROGRAM = f"""
    import sys
    sys.path.insert(0, {os.path.dirname(__file__)!r})
    import jax, numpy as np
    from jaxbandit.engine.driver import programs
    from jaxbandit.engine.driver.execution import Execution
    from jaxbandit.engine.driver.identify import identify_cell
    from jaxbandit.engine.layout import sizes
    from jaxbandit.engine.storage import checkpoint
    from test_lanes import make_lucb, make_super_arms, same, MEANS
    checkpoint.SAVE_SECONDS = 0.0
    programs.CALL_SECONDS = 0.02
"""


@pytest.mark.slow
def test_the_same_bytes_on_two_devices():
    code = """
        assert len(jax.devices()) == 2
        LANES, used = 80, set()  # a multiple of 16; no other array has this last axis

        def noted(progress):  # what a queue's last call has left lies on the device that played it
            used.update(*(x.devices() for x in jax.live_arrays() if x.shape[-1:] == (LANES,)))

        for make in (make_lucb, make_super_arms):  # pulls, and batches of them
            how = Execution(width=LANES, progress=noted)
            used.clear()
            some = [how._replace(devices=jax.devices()[:n]) for n in (1, 2)]
            found = [identify_cell(make, MEANS, num_runs=200, max_rounds=500, execution=each) for each in some]
            assert len(found[1].devices) == 2 and used == set(jax.devices())
            same(*found)
    """
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM) + textwrap.dedent(code)]
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    process = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False)
    assert process.returncode == 0, process.stderr.decode()


@pytest.mark.slow
def test_killed_five_times_ends_with_the_same_bytes(tmp_path):
    """SIGKILL at random instants; each new process goes on where the last file stands."""
    code = """
        from pathlib import Path

        def main(directory, out):
            execution = Execution(directory=directory, workers=2, width=64)
            found = identify_cell(make_lucb, MEANS, num_runs=60000, execution=execution)
            np.savez(f"{out}.npz", **{k: v for k, v in vars(found).items() if isinstance(v, np.ndarray)})
            Path(f"{out}.npz").rename(out)  # whole, or not there
    """
    whole = identify_cell(make_lucb, MEANS, num_runs=60_000)
    directory, out = tmp_path / "state", tmp_path / "out.npz"
    rng = np.random.default_rng(0)
    killed = 0
    with Lives(textwrap.dedent(PROGRAM) + textwrap.dedent(code)) as lives:
        while not out.exists():
            before = {f: f.stat().st_mtime_ns for f in directory.glob("*.npz")}
            lives.begin(directory, out)
            over = False
            # Wait for the first new file, so that each life gets somewhere, then for a random while.
            while killed < 5 and not (over := lives.ended(0.002)):
                if any(f.stat().st_mtime_ns != before.get(f) for f in directory.glob("*.npz")):
                    over = True
                    if not lives.ended(float(rng.uniform(0, 0.05))):
                        killed += lives.kill()
                    break
            assert over or lives.ended(120)
    assert killed >= 3 and out.exists()
    with np.load(out) as arrays:
        for name in arrays.files:
            assert arrays[name].tobytes() == getattr(whole, name).tobytes(), name
