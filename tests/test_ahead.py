"""The next cell of an experiment is compiled while one is played, and nothing else changes."""

import contextlib
import threading
import time

import pytest

from jaxbandit.base.contract import Algorithm
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.programs import Program
from jaxbandit.engine.layout import compiled, compiling
from jaxbandit.lab.experiments.experiment import run_experiment
from jaxbandit.lab.specs import spec
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.slow

QUIET = Execution(progress=False)


@pytest.fixture(autouse=True)
def _anew():
    compiled.forget()


def experiment(*algorithms, kind="simulate", **more):
    instance = {"type": "gaussian", "name": "it", "means": [1.0, 0.0], "sigma": 0.5}
    limit = {"horizon": 300} if kind == "simulate" else {"max_rounds": 2000}
    given = {"kind": kind, "runs": 70, "instance": [instance], "algorithm": list(algorithms), **limit, **more}
    return spec.parse(given, "x")


THREE = ({"type": "kl_ucb", "family": "gaussian"}, {"type": "thompson", "family": "gaussian"}, {"type": "uniform"})
STOP = ({"type": "lucb", "sigma": 0.5}, {"type": "successive_elimination", "sigma": 0.5})


def bytes_of(results):
    return [{name: x.tobytes() for name, x in result.arrays.items()} for result in results]


class Watch:
    """Reports of the engine; the first waits until so many cells have been compiled ahead."""

    def __init__(self, monkeypatch, number):
        self.ended, self.done, self.seconds = threading.Semaphore(0), [], 20.0
        original = compiling.only_compiling

        @contextlib.contextmanager
        def only_compiling():
            try:
                with original():
                    yield
            finally:
                self.done.append(threading.current_thread())
                self.ended.release()

        monkeypatch.setattr(compiling, "only_compiling", only_compiling)
        self.left = number

    def __call__(self, news):
        while self.left:
            self.left -= 1
            assert self.ended.acquire(timeout=self.seconds), "the next cell was not compiled while this one was played"


@pytest.mark.parametrize("kind", ["simulate", "identify"])
def test_the_next_cell_is_compiled_while_one_is_played(kind, monkeypatch, tmp_path):
    some = THREE if kind == "simulate" else STOP
    watch, played, play = Watch(monkeypatch, 1), [], Program._play
    monkeypatch.setattr(Program, "_play", lambda *given: played.append(given[0]) or play(*given))
    execution = Execution(progress=watch, workers=1)
    results = run_experiment(experiment(*some, kind=kind), tmp_path / "out", execution=execution)
    assert results[1].seconds["compile"] < 0.3 * results[0].seconds["compile"]
    assert len(watch.done) == len(some) - 1 and threading.main_thread() not in watch.done
    assert len(played) == len(some)  # nothing is played ahead
    compiled.forget()
    before = run_experiment(experiment(*some, kind=kind), None, execution=QUIET, alone=False)
    assert len(watch.done) == len(some) - 1
    assert bytes_of(before) == bytes_of(results)


def broken(num_arms: int) -> Algorithm:
    """An algorithm whose state changes its shape."""
    from jaxbandit.algorithms import uniform

    good = uniform(num_arms)
    return good._replace(update=lambda *given: (good.update(*given), 0))


def test_an_error_of_the_next_cell_comes_when_its_turn_comes(monkeypatch, tmp_path):
    watch = Watch(monkeypatch, 1)
    bad = {"type": "test_ahead:broken", "name": "bad"}
    with pytest.raises(BadInput, match=r"it/bad: ") as error:
        run_experiment(experiment(THREE[0], bad), tmp_path / "out", execution=Execution(progress=watch))
    assert "\n" not in str(error.value)
    stored = [path.name for path in (tmp_path / "out").iterdir()]
    assert any(name.startswith("cell-000") for name in stored) and not any(x.startswith("cell-001") for x in stored)


def test_ctrl_c_while_the_next_cell_is_compiled(monkeypatch, tmp_path):
    whole = run_experiment(experiment(*THREE), None, execution=QUIET)
    compiled.forget()
    watch, reports = Watch(monkeypatch, 1), []

    def stop(news):
        watch(news)
        reports.append(news.run_steps)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment(*THREE), tmp_path / "out", execution=Execution(progress=stop, chunk=64, workers=1))
    assert [path.name for path in (tmp_path / "out" / "checkpoint").iterdir()] == ["000"]
    again = run_experiment(experiment(*THREE), tmp_path / "out", execution=Execution(progress=lambda _: None))
    assert bytes_of(again) == bytes_of(whole)
    assert 70 * 300 - again[0].run_steps == sum(reports) > 0


def test_two_threads_construct_once():
    made, begun = [], threading.Event()

    def construct():
        begun.set()
        time.sleep(0.2)
        made.append(object())
        return made[-1]

    found = []
    thread = threading.Thread(target=lambda: found.append(compiled.remember("a key", construct)))
    thread.daemon = True
    thread.start()
    begun.wait()
    assert compiled.remember("a key", construct) is made[0] and len(made) == 1
    thread.join()
    assert found == made


def test_what_another_thread_fails_to_construct_is_constructed_here():
    begun = threading.Event()

    def fail():
        begun.set()
        time.sleep(0.2)
        raise ZeroDivisionError

    def other():
        with contextlib.suppress(ZeroDivisionError):
            compiled.remember("a key", fail)

    thread = threading.Thread(target=other)
    thread.daemon = True
    thread.start()
    begun.wait()
    assert compiled.remember("a key", lambda: 5) == 5
    thread.join()
