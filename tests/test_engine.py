"""The fixed-horizon engine: a run's numbers depend on (seed, run) alone, and what is recorded is exact."""

import gc
import socket
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit.algorithms import epsilon_greedy, kl_ucb, ucb1, ucboost, uniform
from jaxbandit.base.contract import Algorithm, Environment, Outcome, never, none
from jaxbandit.engine.driver import fixed_horizon, programs
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.simulate import default_checkpoints, simulate_cell
from jaxbandit.engine.layout import compiled
from jaxbandit.engine.storage import files as storage
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.support import checks, domains

MEANS = np.array([0.4, 0.5, 0.6])


def make(means):
    return ucb1(3), bernoulli(means)


def make_random(means):
    return epsilon_greedy(3, epsilon=0.3), gaussian(means)


def make_costly(means):
    return kl_ucb(3), bernoulli(means)


def make_boosted(means):
    return ucboost(3), bernoulli(means)


def same(a, b, runs=None):
    for name in ("regret", "pulls", "recommendation", "outcome"):
        left, right = getattr(a, name)[:runs], getattr(b, name)[:runs]
        assert left.dtype == right.dtype and left.tobytes() == right.tobytes(), name


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_tile_or_the_workers():
    """A rule of each form is in test_forms.py."""
    one = simulate_cell(make_random, MEANS, horizon=150, num_runs=200)
    for tile, workers in ((1, 1), (7, 2), (1000, 1)):  # two widths beside the default
        execution = Execution(width=tile, workers=workers)
        other = simulate_cell(make_random, MEANS, horizon=150, num_runs=200, execution=execution)
        same(one, other)
        assert one.mean.tobytes() == other.mean.tobytes() and one.variance.tobytes() == other.variance.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("runs", [7, *(pytest.param(runs, marks=pytest.mark.slow) for runs in (1, 200))])
def test_run_numbers_do_not_depend_on_how_many_runs_there_are(runs):
    same(
        simulate_cell(make, MEANS, horizon=150, num_runs=300),
        simulate_cell(make, MEANS, horizon=150, num_runs=runs),
        runs,
    )


@pytest.mark.slow
def test_another_seed_gives_other_numbers():
    a, b = (simulate_cell(make, MEANS, horizon=150, num_runs=20, seed=s) for s in (0, 1))
    assert (a.pulls != b.pulls).any()


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_noise_block_or_the_chunk(monkeypatch):
    one = simulate_cell(make_random, MEANS, horizon=300, num_runs=20)
    for block, chunk in ((64, 64), (1, 64), (16, 192)):
        monkeypatch.setattr("jaxbandit.engine.layout.sizes.NOISE_STEPS", block)
        monkeypatch.setattr(programs, "FIRST_BLOCKS", chunk // block)
        if block < 64:  # the chunk is the host's business alone
            compiled.forget()
        same(one, simulate_cell(make_random, MEANS, horizon=300, num_runs=20))
    compiled.forget()


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_number_of_devices(tmp_path):
    script = textwrap.dedent("""
        import sys, jax, numpy as np
        jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
        from jaxbandit.algorithms import epsilon_greedy
        from jaxbandit.engine.driver.simulate import simulate_cell
        from jaxbandit.environments.stationary.bernoulli import bernoulli

        def make(means):
            return epsilon_greedy(3, epsilon=0.3), bernoulli(means)

        r = simulate_cell(make, np.array([0.4, 0.5, 0.6]), horizon=200, num_runs=300)
        assert len(r.devices) == int(sys.argv[1])
        np.savez(sys.argv[2], regret=r.regret, pulls=r.pulls, mean=r.mean)
    """)
    files = [tmp_path / f"{n}.npz" for n in (1, 2)]
    for n, file in enumerate(files, 1):
        subprocess.run([sys.executable, "-c", script, str(n), str(file)], check=True)
    one, two = (dict(np.load(file)) for file in files)
    assert all(one[name].tobytes() == two[name].tobytes() for name in one)


@pytest.mark.slow
def test_each_of_several_processes_plays_on_its_own_devices():
    """Under jax.distributed the devices of all processes are listed: those of others cannot be used."""
    script = textwrap.dedent("""
        import sys, jax, numpy as np
        jax.distributed.initialize(f"localhost:{sys.argv[1]}", num_processes=2, process_id=int(sys.argv[2]))
        from jaxbandit.algorithms.exploration.presets import lucb
        from jaxbandit.algorithms import ucb1
        from jaxbandit.engine.driver.simulate import simulate_cell
        from jaxbandit.engine.driver.identify import identify_cell
        from jaxbandit.environments.stationary.bernoulli import bernoulli

        assert len(jax.devices()) == 2 and len(jax.local_devices()) == 1
        means = np.array([0.0, 0.5, 1.0])
        record = simulate_cell(lambda m: (ucb1(3), bernoulli(m)), means, horizon=100, num_runs=20)
        found = identify_cell(lambda m: (lucb(3, delta=0.3), bernoulli(m)), means, num_runs=20)
        assert len(record.devices) == len(found.devices) == 1
    """)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    both = [subprocess.Popen([sys.executable, "-c", script, port, str(i)]) for i in (0, 1)]
    assert [process.wait(300) for process in both] == [0, 0]


@pytest.mark.slow
def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    options = {"horizon": 150, "num_runs": 20, "execution": Execution(directory=tmp_path)}
    simulate_cell(make, MEANS, **options)
    for change in ({"seed": 1}, {"horizon": 151}, {"precision": "float64"}):
        with pytest.raises(ValueError, match="of another simulation"):
            simulate_cell(make, MEANS, **(options | change))
    for other in (make_costly, make_boosted):
        with pytest.raises(ValueError, match="of another simulation"):
            simulate_cell(other, MEANS, **options)
    with pytest.raises(ValueError, match="of another simulation"):
        simulate_cell(make, MEANS + 0.01, **options)


def test_a_truncated_checkpoint_is_one_line(tmp_path):
    options = {"horizon": 150, "num_runs": 20, "execution": Execution(directory=tmp_path)}
    simulate_cell(make, MEANS, **options)
    (file,) = tmp_path.glob("*.npz")
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ValueError, match="delete it to compute it again") as error:
        simulate_cell(make, MEANS, **options)
    assert "\n" not in str(error.value) and str(file) in str(error.value)


def test_pickled_arrays_are_not_read(tmp_path):
    """Reading a pickle runs what is in it: such a file is refused like a damaged one."""
    file = tmp_path / "objects.npz"
    np.savez(file, x=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="damaged"):
        storage.read_arrays(file, storage.RECOMPUTE)


@pytest.mark.slow
def test_threads_may_read_at_the_same_time(tmp_path):
    """CPython 3.11 fails where one thread's parser meets another's; a collector's callback, as JAX has, lets it in."""
    file = tmp_path / "arrays.npz"
    storage.write_arrays(file, {f"x{i}": np.array(i) for i in range(10)})

    def give_way(phase, info):
        time.sleep(1e-5)

    before = gc.get_threshold()
    gc.callbacks.append(give_way)
    gc.set_threshold(5)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: [storage.read_arrays(file, storage.RECOMPUTE) for _ in range(100)], range(4)))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(give_way)


@pytest.mark.slow
def test_regret_is_pulls_times_gaps():
    record = simulate_cell(make, MEANS, horizon=500, num_runs=30, checkpoints=[10, 77, 500])
    assert record.checkpoints.tolist() == [10, 77, 500]
    assert (record.pulls.sum(1) == 500).all()
    np.testing.assert_allclose(record.regret[:, -1], record.pulls @ (0.6 - MEANS), rtol=1e-6)
    np.testing.assert_allclose(record.mean, record.regret.mean(0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(record.variance, record.regret.var(0, dtype=np.float64, ddof=1), rtol=1e-5)
    # One pull of each arm first: regret 0.2 + 0.1 after three rounds, whatever the rewards.
    early = simulate_cell(make, MEANS, horizon=3, num_runs=5)
    np.testing.assert_allclose(early.regret[:, -1], 0.3, rtol=1e-6)


class Always(NamedTuple):
    pulled: jax.Array  # int32[]


def always(arm):
    """An algorithm without counts: regret must be accumulated round by round."""
    return Algorithm(
        init=lambda key: Always(jnp.int32(0)),
        noise=none(),
        select=lambda noise, state, context: jnp.int32(arm),
        update=lambda state, context, action, reward: Always(state.pulled + 1),
        recommend=lambda state: jnp.int32(arm),
        stop=never(),
    )


@pytest.mark.slow
def test_accumulated_regret_keeps_its_digits():
    """2^18 rounds of a gap of 0.1: a plain float32 sum would be off by 1e-3, the compensated one by an ulp."""
    record = simulate_cell(lambda m: (always(0), bernoulli(m)), np.array([0.8, 0.9]), horizon=1 << 18, num_runs=2)
    gap = np.float64(np.float32(0.9) - np.float32(0.8))
    np.testing.assert_allclose(record.regret[:, -1], gap * (1 << 18), rtol=2e-7)
    assert (record.pulls == [1 << 18, 0]).all()  # nobody else counts them


@pytest.mark.slow
@pytest.mark.parametrize("power", [-30, pytest.param(30, marks=pytest.mark.slow)])
def test_means_scale_with_the_unit_of_rewards(power):
    """Exactly, by a power of two: rounding of means to a fixed unit would lose regrets of 1e-9."""

    def scaled_by(unit):
        return uniform(3), gaussian(MEANS * unit, sigma=unit)

    plain, scaled = (simulate_cell(scaled_by, np.float32(u), horizon=64, num_runs=100) for u in (1.0, 2.0**power))
    np.testing.assert_array_equal(scaled.mean, np.ldexp(plain.mean, power))
    np.testing.assert_array_equal(scaled.variance, np.ldexp(plain.variance, 2 * power))


def contextual(means):
    """Two contexts that swap the arms; the algorithm sees which."""
    base = bernoulli(means)
    return Environment(
        init=base.init,
        observe=lambda state, noise: (noise > 0.5).astype(jnp.int32),
        noise=base.noise,
        reward=lambda state, context, action, noise: state.means[(action + context) % 2],
        regret=lambda state, context, action: state.gaps[(action + context) % 2],
    )


@pytest.mark.slow
def test_contextual_regret_uses_the_context_even_if_the_state_has_counts():
    record = simulate_cell(lambda m: (ucb1(2), contextual(m)), np.array([0.0, 1.0]), horizon=64, num_runs=50)
    # Whatever is pulled, the context makes it right or wrong with probability 1/2: 32 +- 4.5 sd of a mean over 50 runs.
    assert abs(record.mean[-1] - 32) < 4.5 * 4 / np.sqrt(50)  # false alarm below 1e-5
    assert len(np.unique(record.regret[:, -1])) > 5


@pytest.mark.slow
def test_a_nan_reward_is_said():
    base = bernoulli(MEANS)
    broken = base._replace(reward=lambda state, context, action, noise: jnp.where(noise < 0.001, jnp.nan, 1.0))
    record = simulate_cell(lambda _: (ucb1(3), broken), (), horizon=500, num_runs=60)
    assert set(record.outcome) == {Outcome.STOPPED, Outcome.NONFINITE}
    kept = record.regret[record.outcome == Outcome.STOPPED].astype(np.float64)
    np.testing.assert_allclose(record.mean, kept.mean(0), rtol=1e-15)
    np.testing.assert_allclose(record.variance, kept.var(0, ddof=1), rtol=1e-12)


def test_without_per_run_arrays_the_means_are_the_same_bytes():
    full, lean = (
        simulate_cell(make, MEANS, horizon=150, num_runs=300, keep=keep, execution=Execution(width=64))
        for keep in (("runs",), ())
    )
    assert lean.regret is None and lean.pulls is None and lean.recommendation is None
    assert full.mean.tobytes() == lean.mean.tobytes() and full.variance.tobytes() == lean.variance.tobytes()
    np.testing.assert_allclose(lean.pulls_mean, full.pulls.mean(0))


def test_other_numbers_do_not_compile_again(monkeypatch):
    simulate_cell(make, MEANS, horizon=150, num_runs=20)
    monkeypatch.setattr(fixed_horizon, "SingleRun", None)  # tracing again would call it
    simulate_cell(make, MEANS + 0.1, horizon=150, num_runs=20, seed=3)


@pytest.mark.slow
def test_float64_leaves_the_process_alone():
    before = jax.config.read("jax_enable_x64")
    record = simulate_cell(make, MEANS, horizon=150, num_runs=20, precision="float64")
    assert record.regret.dtype == np.float64 and jax.config.read("jax_enable_x64") == before
    assert simulate_cell(make, MEANS, horizon=150, num_runs=20).regret.dtype == np.float32


def test_a_state_that_changes_its_type_is_named():
    good = ucb1(3)
    bad = good._replace(update=lambda s, c, a, r: s._replace(round=s.means[0]))
    with pytest.raises(ValueError, match=r"state\.round from int32\[\] to float32\[\]"):
        simulate_cell(lambda m: (bad, bernoulli(m)), MEANS, horizon=10, num_runs=2)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"horizon": 0}, "horizon = 0, must be an integer in"),
        ({"horizon": 1.5}, "horizon = 1.5"),
        (
            {"horizon": 2**24 + 1, "precision": "float32"},
            "precision = 'float32', must be \"float64\" for horizon = 16777217",
        ),
        ({"num_runs": -1}, "num_runs = -1"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": True}, "seed = True"),
        ({"checkpoints": [10, 5]}, r"checkpoints\[1\] = 5, must be greater than 10"),
        ({"checkpoints": [0]}, r"checkpoints\[0\] = 0"),
        ({"checkpoints": [101]}, r"checkpoints\[0\] = 101"),
        ({"precision": "float16"}, "precision = 'float16'"),
        ({"implementation": "rbg"}, "implementation = 'rbg', must be one of threefry4x32, threefry2x32"),
        ({"implementation": "unsafe_rbg"}, "implementation"),
    ],
)
def test_refusals(change, line):
    with pytest.raises(ValueError, match=line) as error:
        simulate_cell(make, MEANS, **({"horizon": 100, "num_runs": 5} | change))
    assert "\n" not in str(error.value)


def test_the_default_precision_counts_every_round():
    most = domains.FLOAT32_COUNTS
    assert np.float32(most - 1) + np.float32(1) == most and np.float32(most) + np.float32(1) == most
    assert [checks.precision(None, "horizon", n) for n in (most, most + 1)] == ["float32", "float64"]
    assert checks.precision("float32", "horizon", most) == "float32"


def test_default_checkpoints():
    for end in (1, 2, 50, 10_000, 10**7):
        marks = default_checkpoints(end)
        assert marks[-1] == end and marks[0] == 1 and (np.diff(marks) > 0).all() and len(marks) <= 121
