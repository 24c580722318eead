"""Limits of time that hold although a training never ends, and a line when no training has ended for long."""

import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import hanging
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from records import records

import jaxbandit as jb
from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import isolated, progress, traced
from jaxbandit.decide.tuning.limits import LateError, within
from jaxbandit.support.refusals import BadInput, Unfinished

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
HERE = Path(__file__).parent


def process(what, seconds):
    """The lines that a process prints; it must end by itself within so many seconds."""
    command = [sys.executable, str(HERE / "hanging.py"), what]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True).stdout.splitlines()


def test_orthogonal_initial_weights_do_not_hang():
    """On two cores it hung in 4 of 4 processes; 100 s are twenty times what it takes."""
    assert process("orthogonal", 100) == ["128", "128"]


def test_trainings_with_lapack_run_one_after_another_with_equal_scores():
    def trace(function):
        return traced.trace(function, search_space.read(jb.space.grid(a=[1.0, 2.0, 3.0])))

    def draw(key):
        return jax.random.normal(key, (4, 4))

    functions = {
        "qr": lambda x: jnp.linalg.qr(x)[1],
        "svd": lambda x: jnp.linalg.svd(x, compute_uv=False),
        "eigh": lambda x: jnp.linalg.eigvalsh(x),
        "cholesky": lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(4)),
        "solve": lambda x: jnp.linalg.solve(x, x[0]),
        "loop": lambda x: jax.lax.fori_loop(0, 3, lambda _, y: jnp.linalg.inv(y), x),
        "branch": lambda x: jax.lax.cond(x[0, 0] > 0, jnp.linalg.det, jnp.sum, x),
        "det": jnp.linalg.det,
    }
    for name, function in functions.items():
        found = trace(lambda key, config, f=function: config["a"] * jnp.sum(f(draw(key))))
        assert found.library == [True], name
        assert traced.batches(found) == [1], name
        text = jax.jit(found.train).lower(jax.random.key(0), {"a": 1.0}).compile().as_text()
        assert "lapack" in text or "blas" in text, name  # what is tested is what the compiler does
    assert trace(lambda key, config: config["a"] * jnp.sum(draw(key) @ draw(key))).library == [False]
    found = trace(lambda key, config: config["a"] * jnp.linalg.det(draw(key)))
    words = np.asarray(jax.random.key_data(jax.vmap(jax.random.key)(np.arange(3))))
    parts = list(traced.Trainings(found, [4])(words, np.arange(3)))
    (one,) = parts
    (again,) = list(traced.Trainings(found, [8])(words, np.arange(3)))
    np.testing.assert_array_equal(one.scores, again.scores)


def test_a_traced_training_that_never_ends_is_left_at_the_timeout_and_the_process_ends():
    assert process("endless", 60) == ["timeout 0 True"]


def test_a_search_in_a_process_of_its_own_is_ended_and_keeps_its_scores():
    lines = process("isolated", 90)
    assert lines[:3] == ["timeout", "True", isolated.ENDED.format(hanging.GRACE)]


def test_a_search_in_a_process_returns_the_same_and_its_errors():
    options = {"max_trainings": 40, "traced": False}
    apart = jb.tune(hanging.quick, hanging.GRID, **records(isolate=True, **options))
    here = jb.tune(hanging.quick, hanging.GRID, **records(**options))
    np.testing.assert_equal(apart.history, here.history)
    assert str(apart) == str(here)
    known = [[1.0, 2.0], [3.0, np.inf]]
    with pytest.raises(BadInput, match=r"tune: scores\[1, 1\] = inf"):
        jb.tune(hanging.quick, hanging.GRID, scores=known, **records(isolate=True, **options))


def test_what_cannot_be_sent_to_a_process_is_refused_in_one_line():
    with pytest.raises(BadInput, match=r"tune: isolate = True, but train cannot be pickled .*; define it at the top"):
        jb.tune(lambda seed, config: 0.0, hanging.GRID, budget=30, execution=jb.Execution(isolate=True))
    with ThreadPoolExecutor(1) as pool, pytest.raises(BadInput, match="isolate = True and executor are both given"):
        jb.tune(hanging.quick, hanging.GRID, budget=30, execution=jb.Execution(isolate=True, executor=pool))


@pytest.mark.parametrize("kind", [None, "threads", "processes"])
def test_a_round_does_not_wait_for_a_call_beyond_timeout_each(kind):
    began, options = time.monotonic(), {"max_trainings": 40, "traced": False, "timeout_each": 0.2, "on_failure": 0.0}
    pools = {
        None: lambda: None,
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, get_context("spawn")),
    }
    executor = pools[kind]()
    result = jb.tune(hanging.hanging, hanging.GRID, **records(executor=executor, **options))
    late = [
        note for note in result.notes if note.startswith("did not end within seconds_each: configuration 0 at seed")
    ]
    assert len(late) == 1 and result.history["failed"].sum() > 0 and time.monotonic() - began < 60
    with pytest.raises(BadInput, match=r"did not end within 0\.2 s; set on_failure"):
        jb.tune(hanging.hanging, hanging.GRID, **records(executor=executor, **options | {"on_failure": None}))
    if executor is not None:
        executor.shutdown()


def test_timeout_each_is_about_calls():
    with pytest.raises(BadInput, match="seconds_each = 1, but JAX traces train"):
        jb.tune(hanging.endless, hanging.GRID, budget=30, execution=jb.Execution(seconds_each=1))
    with pytest.raises(LateError, match="did not end within"):
        within(0.01, time.sleep, 0.5)
    with pytest.raises(ZeroDivisionError):
        within(5, lambda x: 1 / x, 0)
    assert within(5, lambda x: x + 1, 2) == 3


def test_a_line_says_that_no_training_has_ended(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SILENT", 0.2)
    with progress.reporting(None) as report:
        for _ in range(8):
            time.sleep(0.05)
            report(progress.SearchProgress(1, 2, 0, 0.5))
        assert "no training has ended" not in capsys.readouterr().err
        time.sleep(0.5)
    said = capsys.readouterr().err.splitlines()
    assert 1 <= len(said) <= 3  # after 0.2 and 0.4 s, or fewer on a busy machine
    assert all("tune: no training has ended for " in line and "FAQ" in line for line in said)
    with progress.reporting(False):
        time.sleep(0.3)
    assert not capsys.readouterr().err


def test_unfinished_is_said_if_no_training_has_ended(monkeypatch):
    monkeypatch.setattr(isolated, "_played", lambda *_: None)
    with pytest.raises(Unfinished, match="no training has ended within 1 seconds"):
        jb.tune(hanging.quick, hanging.GRID, budget=jb.Budget(seconds=1), execution=jb.Execution(isolate=True))


@pytest.mark.quickly_compiled
def test_a_traced_training_that_fails_is_not_begun_again():
    def train(key, config):
        return jnp.where(config["x"] > 0.5, jnp.nan, config["x"] + 0.1 * jax.random.normal(key))

    given = {"goal": jb.Goal(on_failure=0.0), "budget": 60, "execution": jb.Execution(retries=2, progress=False)}
    result = jb.tune(train, {"x": np.array([0.1, 0.3, 0.9])}, **given)
    assert result.index == 1 and (result.history["attempts"] == 1).all() and result.history["failed"].any()
