"""How functions are compiled: options that a compiler lacks, linear algebra that takes turns, what is compiled anew."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from jax import lax

from jaxbandit.algorithms import ucb1
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout import compiled, compiling
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.running import truth
from jaxbandit.support.numerics import lapack_lock

pytestmark = pytest.mark.quickly_compiled

MEANS = np.array([0.4, 0.6])
CPU = jax.devices("cpu")[0]


@pytest.fixture(autouse=True)
def _forget():
    yield
    compiled.MORE_OPTIONS.clear()
    compiled.forget()


def make(means):
    return ucb1(2), bernoulli(means)


def test_what_is_compiled_side_by_side_is_compiled_as_by_this_thread():
    def wide():
        return jnp.zeros(1).dtype, threading.get_ident()

    with jax.enable_x64(True), compiling.named("a rule"), compiling.quietly():
        (one, here), (other, there) = compiled.compile_all(wide, wide)
        slow = compiled.compile_all(lambda: compiling._thread.name, lambda: compiling._thread.quiet)
    assert one == other == np.float64 and threading.get_ident() not in (here, there)
    assert slow == ["a rule", True] and compiling._thread.name == "a program"
    with pytest.raises(ValueError, match="of the second"):
        compiled.compile_all(lambda: 1, lambda: int("of the second"))


@pytest.mark.slow
def test_an_option_that_the_compiler_lacks_is_dropped_with_one_warning():
    whole = simulate_cell(make, MEANS, horizon=50, num_runs=10)
    compiled.MORE_OPTIONS["xla_no_such_option"] = 7
    with pytest.warns(RuntimeWarning, match="does not know xla_no_such_option: compiled without") as said:
        found = simulate_cell(make, MEANS, horizon=50, num_runs=10)
    [warning] = [each for each in said if each.category is RuntimeWarning]  # JAX may warn of its cache
    assert "\n" not in str(warning.message)
    assert found.regret.tobytes() == whole.regret.tobytes()


def test_known_options():
    options = {"xla_backend_optimization_level": 0, "xla_no_such_option": 7}
    assert compiled.known_options(options, CPU) == {"xla_backend_optimization_level": 0}


MATRIX = np.eye(4, dtype=np.float32)
BESIDE = np.ones(3, np.float32)
LIBRARY = {
    "cholesky": jnp.linalg.cholesky,
    "inv": jnp.linalg.inv,
    "solve": lambda x: jnp.linalg.solve(x, x),
    "lstsq": lambda x: jnp.linalg.lstsq(x, x)[0],
    "det": jnp.linalg.det,
    "qr": jnp.linalg.qr,
    "pivoted qr": lambda x: jsl.qr(x, pivoting=True),
    "svd": jnp.linalg.svd,
    "pinv": jnp.linalg.pinv,
    "eig": jnp.linalg.eig,
    "eigh": jnp.linalg.eigh,
    "eigvalsh": jnp.linalg.eigvalsh,
    "schur": jsl.schur,
    "hessenberg": jsl.hessenberg,
    "tridiagonal": lambda x: lax.linalg.tridiagonal(x),
    "tridiagonal solve": lambda x: lax.linalg.tridiagonal_solve(x[0], x[0], x[0], x),
    "triangular solve": lambda x: jsl.solve_triangular(x, x),
    "in a call": jax.jit(jax.jit(jnp.linalg.inv)),
    "in a loop": lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.linalg.inv(y), x),
    "in a branch": lambda x: lax.cond(x[0, 0] > 0, jnp.linalg.inv, lambda y: y, x),
    "in a batch": jax.vmap(lambda row: jnp.linalg.inv(jnp.outer(row, row))),
}
WITHOUT = {
    "sums and products": lambda x: x @ x + x.sum(),
    "sort": lambda x: jnp.sort(x),
    "top_k": lambda x: lax.top_k(x, 2),
    "chance": lambda x: jax.random.gamma(jax.random.key(0), x),
    "special functions": lambda x: jax.scipy.special.betainc(x, x, x),
    "a callback": lambda x: jax.pure_callback(lambda y: y, x, x),
}


@pytest.mark.parametrize("name", [*LIBRARY, *WITHOUT])
def test_calls_of_a_library_are_found(name):
    """As found in the text of the compiled code, where targets of LAPACK begin so with every jaxlib so far."""
    lowered = jax.jit((LIBRARY | WITHOUT)[name]).lower(MATRIX)
    assert compiled.calls_library(lowered) == (name in LIBRARY) == ("lapack_" in lowered.compile().as_text())


def test_what_does_not_tell_its_calls_takes_turns():
    assert compiled.calls_library(object())


def waits_while_another_is_alone(call):
    """Call once; then, while this thread is alone, call in another: whether that ends only afterwards."""
    call()
    thread = threading.Thread(target=call)
    with lapack_lock():
        thread.start()
        thread.join(2)
        waited = thread.is_alive()
    thread.join(60)
    return waited and not thread.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["inv", "sums and products"])
def test_linear_algebra_takes_turns_and_nothing_else_does(name):
    function = compiled.compile_program((LIBRARY | WITHOUT)[name], CPU, MATRIX)
    assert waits_while_another_is_alone(lambda: function(MATRIX)) == (name in LIBRARY)


@pytest.mark.slow
def test_verify_takes_turns():
    """Only what is verified in float64 calls a library here, not the rounds."""

    def verify(state):
        return jnp.linalg.eigvalsh(jnp.outer(state.means, state.means))[-1] > -1.0

    def stopping(means):
        return ucb1(2)._replace(stop=lambda state: state.counts.sum() >= 20, verify=verify), bernoulli(means)

    def play():
        identify_cell(stopping, MEANS, num_runs=8, precision="float32", execution=Execution(workers=1))

    assert waits_while_another_is_alone(play)


@pytest.mark.slow
def test_truth_takes_turns():
    assert waits_while_another_is_alone(lambda: truth.characteristic_time_of(gaussian([0.0, 0.5, 1.0])))


@pytest.mark.slow
@pytest.mark.parametrize(
    "scope", [lambda: jax.default_matmul_precision("highest"), lambda: jax.debug_nans(True)], ids=["precision", "nans"]
)
def test_another_trace_context_is_compiled_anew(scope):
    traced = []

    def noted(means):
        traced.append((jax.config.jax_default_matmul_precision, jax.config.jax_debug_nans))
        return make(means)

    plain = simulate_cell(noted, MEANS, horizon=50, num_runs=10)
    before = len(traced)
    with scope():
        inside = simulate_cell(noted, MEANS, horizon=50, num_runs=10)
        assert len(traced) > before and len(set(traced)) == 2
        before = len(traced)
        simulate_cell(noted, MEANS, horizon=50, num_runs=10)
    simulate_cell(noted, MEANS, horizon=50, num_runs=10)
    assert len(traced) == before and inside.regret.tobytes() == plain.regret.tobytes()


def private_options():
    """JAX's own list of what its traces depend on: the names, and the options by name or without."""
    config = sys.modules[type(jax.config).__module__]
    names, found = config.trace_context_names(), {}
    kind = next(base for base in config.State.__mro__ if base.__name__ == "Config")
    for module in [module for name, module in sys.modules.items() if name.startswith("jax.")]:
        for value in list(vars(module).values()):
            option = getattr(value, "_obj", value)
            if isinstance(option, kind):
                found[id(option)] = option
    return config.trace_context, names, list(found.values())


def test_the_key_of_programs_covers_all_on_which_a_trace_depends():
    """Each entry of JAX's own trace context, when it is another, gives another key."""
    context, names, options = private_options()
    here, covered = compiled.trace_context(), {"axis_env_state"}  # changed below
    for option in options:
        value, before = option.value, context()
        another = (not value) if isinstance(value, bool) else "another"
        if getattr(option, "name", "") == "abstract_mesh_context_manager":
            another = jax.sharding.AbstractMesh((1,), ("x",))
        previous = option.swap_local(another)
        try:
            entries = {name for name, old, new in zip(names, before, context(), strict=True) if old is not new != old}
            if entries:
                assert compiled.trace_context() != here, entries
        finally:
            option.set_local(previous)
        covered |= entries
    assert covered == set(names) and compiled.trace_context() == here
    inside = []
    jax.vmap(lambda x: inside.append(compiled.trace_context()) or x, axis_name="runs")(jnp.ones(2))
    assert inside != [here]


def test_another_default_device_is_compiled_anew():
    made = []
    for _ in range(2):
        compiled.remember("program", lambda: made.append(1))
        with jax.default_device(CPU):
            compiled.remember("program", lambda: made.append(2))
            assert compiled.remembers("program")
    assert made == [1, 2]


def test_threads_take_up_the_scopes():
    seen = []

    def look(scopes):
        with scopes():
            seen.append(compiled.trace_context())

    with (
        jax.enable_x64(True),
        jax.default_matmul_precision("highest"),
        jax.debug_nans(True),
        jax.debug_infs(True),
        jax.threefry_partitionable(False),
        jax.default_prng_impl("threefry4x32"),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        jax.default_device(CPU),
    ):
        here = compiled.trace_context()
        thread = threading.Thread(target=look, args=(compiled.scopes_of_thread(),))
        thread.start()
        thread.join()
    assert seen == [here] != [compiled.trace_context()]


@pytest.mark.slow
@pytest.mark.parametrize("kind, most", [("simulate", 24), ("session", 14)])  # two programs of an object, and one
def test_the_memory_of_a_process_that_plays_new_objects_levels_off(kind, most, number=30):
    """The programs of each object take 4 to 12 MiB, so those of the last 15 would take about 60 MiB at least.

    What fragments, and what JAX drops in batches, moves the memory of a full cache by up to 20 MiB, up and down. The
    process keeps fewer programs than other processes do, so that it is full sooner.
    """
    command = [sys.executable, Path(__file__).with_name("many_objects.py"), kind, str(number), str(most)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000, check=True)
    used = [float(line) for line in done.stdout.split()]
    assert used[10] - used[5] > 10, used  # while none has to go
    assert len(used) == number and used[-1] - used[-16] < 25, used
