"""Work divided over workers: the same bytes whoever plays it, and nothing lost where something is wrong."""

import functools
import json
import multiprocessing
import os
import tomllib
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import killed
import pytest
from odd_executors import Backwards, Stale, Swapping, Twice
from small_experiment import TEXT, experiment, written

import jaxbandit as jb
from jaxbandit.engine.driver import parts
from jaxbandit.engine.storage import files as storage
from jaxbandit.lab import cli
from jaxbandit.lab.experiments import tasks
from jaxbandit.lab.experiments.experiment import run_experiment
from jaxbandit.lab.specs import spec
from jaxbandit.running.distribution import division
from jaxbandit.running.distribution.driving import Lost
from jaxbandit.running.distribution.executors import open_executor
from jaxbandit.running.distribution.processes import Processes
from jaxbandit.support.refusals import BadInput, Unfinished

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
OWN = ("seconds", "run_steps", "devices", "lane_utilization", "json_sha256")  # of a life, not of the runs
RULE = {"type": "lucb", "delta": {"sweep": [0.1, 0.05]}}
STOPPING = written("identify", {"type": "gaussian", "means": [0.9, 0.0, 0.0]}, RULE, runs=300)


def content(directory):
    """Return what a directory of results holds, without what each life has for itself."""
    found = {}
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if path.suffix == ".json":
            data = json.dumps(without_own(json.loads(data)))
        found[str(path.relative_to(directory))] = data
    return found


def without_own(value):
    if isinstance(value, dict):
        return {key: without_own(item) for key, item in value.items() if key not in OWN}
    return [without_own(item) for item in value] if isinstance(value, list) else value


def experiments():
    return {
        "regret": experiment(runs=150),
        "means alone": experiment(runs=150, per_run=False),
        "stopping": spec.parse(tomllib.loads(STOPPING), "stopping.toml"),
    }


@pytest.fixture(scope="module")
def undivided(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undivided")
    for name, asked in experiments().items():
        run_experiment(asked, folder / name)
    return folder


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.mark.parametrize("name", ["regret", "means alone", "stopping"])
@pytest.mark.parametrize("how", [{"runs_per_task": 70}, {}, {"runs_per_task": 70, "send_back": True}])
def test_an_executor_leaves_the_same_bytes(name, how, undivided, pool, tmp_path):
    run_experiment(experiments()[name], tmp_path / "out", execution=jb.Execution(executor=pool, **how))
    assert content(tmp_path / "out") == content(undivided / name)


@pytest.mark.parametrize("kind", [Backwards, Swapping, Twice, Stale])
def test_an_executor_that_mixes_answers_up_leaves_the_same_bytes(kind, undivided, tmp_path):
    with kind() as executor:
        how = jb.Execution(executor=executor, runs_per_task=64, send_back=kind is Swapping)
        run_experiment(experiments()["regret"], tmp_path / "out", execution=how)
    assert content(tmp_path / "out") == content(undivided / "regret")


@pytest.mark.parametrize("name", ["regret", "stopping"])
def test_runs_are_added_to_those_that_are_finished(name, undivided, pool, tmp_path):
    asked = experiments()[name]
    fewer = spec.parse(asked.to_dict() | {"runs": 40}, f"{name}.toml")
    run_experiment(fewer, tmp_path / "out")
    steps = []
    how = jb.Execution(executor=pool, runs_per_task=64, progress=steps.append)
    run_experiment(asked, tmp_path / "out", execution=how)
    assert sum(n.finished for n in steps) == (asked.runs - 40) * len(list(asked.cells()))
    assert content(tmp_path / "out") == content(undivided / name)


class Stopping(ThreadPoolExecutor):
    """An executor whose client is gone after so many calls."""

    def __init__(self, calls):
        super().__init__(1)
        self.left = calls

    def submit(self, *call):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().submit(*call)


@pytest.mark.parametrize("after", ["executor", "none"])
def test_finished_parts_are_found_again(after, undivided, pool, tmp_path, monkeypatch):
    out, asked = tmp_path / "out", experiments()["regret"]
    with Stopping(4) as gone, pytest.raises(KeyboardInterrupt):
        run_experiment(asked, out, execution=jb.Execution(executor=gone, runs_per_task=30))
    there = {path: path.stat().st_mtime_ns for path in out.glob("parts/*/runs-*.npz")}
    assert 1 <= len(there) <= 4
    played, engine = [], tasks.playing.record_of

    def counted(experiment, cell, **options):
        found = engine(experiment, cell, **options)  # which is not returned where a cell is only compiled ahead
        played.append((cell.index, options.get("first_run", 0), options.get("num_runs", 150)))
        return found

    monkeypatch.setattr(tasks.playing, "record_of", counted)
    how = jb.Execution(executor=pool, runs_per_task=50) if after == "executor" else jb.Execution()
    many = run_experiment(asked, out, execution=how)
    assert content(out) == content(undivided / "regret") and len(many) == 3
    whole = 30 * len(there)
    assert sum(number for _, _, number in played) == 3 * 150 - whole


def test_parts_are_played_anywhere_and_merged(undivided, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "resume.toml").write_text(TEXT.replace("runs = 48", "runs = 150"), encoding="utf-8")
    for i in range(3):
        where = "one" if i < 2 else "two"
        assert cli.main(["run", "resume.toml", "--part", f"{i}/3", "--out", where]) == 0
    assert "jaxbandit merge two" in capsys.readouterr().out
    before = content(tmp_path / "one")
    assert cli.main(["merge", "one"]) == 2
    assert "resume: bernoulli/ucb1: runs 100 to 149 are in none of the directories" in capsys.readouterr().err
    assert cli.main(["merge", "one", "two", "one"]) == 2
    assert "runs 0 to 49 are in both" in capsys.readouterr().err
    part = next(tmp_path.glob("two/parts/001/runs-*"))
    mine = parts.decoded(part.read_bytes(), "")
    other = mine._replace(about={**mine.about, "identity": {**mine.about["identity"], "jax": "0.1"}})
    storage.write_bytes(part, parts.encoded(other))
    assert cli.main(["merge", "one", "two", "--out", "all"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "and 0.1; join them anyway with --mixed" in said
    assert content(tmp_path / "one") == before
    assert cli.main(["merge", "one", "two", "--out", "mixed", "--mixed"]) == 0
    assert "runs of different machines, jax 0.1, " in capsys.readouterr().out
    storage.write_bytes(part, parts.encoded(mine))
    assert cli.main(["merge", "one", "two", "--out", "all"]) == 0
    assert content(tmp_path / "all") == content(undivided / "regret")
    assert cli.main(["run", "resume.toml", "--part", "3/3"]) == 2
    assert '--part = "3/3", must be I/N with 0 <= I < N' in capsys.readouterr().err
    assert cli.main(["run", "resume.toml", "--part", "0/3", "--out", "one", "--set", "seed=4"]) == 2
    assert "another experiment: seed" in capsys.readouterr().err


def test_objects_given_as_calls_travel(pool, tmp_path):
    algorithm, world = (
        functools.partial(jb.algorithms.epsilon_greedy, 3, epsilon=0.1),
        functools.partial(jb.environments.bernoulli, [0.2, 0.5, 0.4]),
    )
    options = {"horizon": 200, "num_runs": 130}
    whole = jb.simulate(algorithm(), world(), **options)
    some = jb.simulate(algorithm, world, **options, execution=jb.Execution(runs_per_task=50, executor=pool))
    kept = jb.simulate(algorithm, world, **options, execution=jb.Execution(executor=pool, directory=tmp_path))
    for found in (some, kept):
        assert found.identity == whole.identity
        assert all(found.arrays[name].tobytes() == array.tobytes() for name, array in whole.arrays.items())
    halving, world = (
        functools.partial(jb.algorithms.sequential_halving, 3),
        functools.partial(jb.environments.bernoulli, [0.2, 0.5, 0.4]),
    )
    whole = jb.identify(halving, world, budget=[60, 90], num_runs=130)
    some = jb.identify(
        halving, world, budget=[60, 90], num_runs=130, execution=jb.Execution(runs_per_task=64, executor=pool)
    )
    for a, b in zip(whole, some, strict=True):
        assert all(b.arrays[name].tobytes() == array.tobytes() for name, array in a.arrays.items())
    with pytest.raises(
        ValueError, match=r"^simulate: with an executor, algorithm must be serializable, but it is an object"
    ):
        jb.simulate(algorithm(), world, **options, execution=jb.Execution(executor=pool))
    with pytest.raises(ValueError, match=r"factory of algorithm must be a function of a module .* it is .*<lambda>"):
        jb.simulate(functools.partial(lambda: algorithm()), world, **options, execution=jb.Execution(executor=pool))


def test_a_divided_audit_is_the_same(pool, tmp_path):
    path = tmp_path / "stopping.toml"
    path.write_text(STOPPING, encoding="utf-8")
    some = {"runs": 500, "factor": 1.5}
    jb.audit(path, tmp_path / "whole", **some)
    jb.audit(path, tmp_path / "divided", **some, execution=jb.Execution(runs_per_task=100, executor=pool))
    assert content(tmp_path / "divided") == content(tmp_path / "whole")


def test_what_is_wrong_with_an_executor_is_one_line(tmp_path, pool):
    asked = experiments()["regret"]
    with pytest.raises(BadInput, match=r"^executor = 3, must be an executor of PEP 3148"):
        run_experiment(asked, None, execution=jb.Execution(executor=3))
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as forking,
        pytest.raises(BadInput, match=r"^executor: its workers are forked"),
    ):
        run_experiment(asked, None, execution=jb.Execution(executor=forking))
    with pytest.raises(ValueError, match=r"^Execution: runs_per_task = 0, must be"):
        run_experiment(asked, None, execution=jb.Execution(executor=pool, runs_per_task=0))
    for name, said in {
        "processes:0": r"processes:N with N in",
        "dusk": "did you mean 'dask'",
        "slurm:x": "KEY=VALUE",
    }.items():
        with pytest.raises(BadInput, match=said), open_executor(name):
            pass


class Lying(ThreadPoolExecutor):
    """An executor that answers some calls otherwise."""

    def __init__(self, wrong):
        super().__init__(1)
        self.wrong = wrong

    def submit(self, fn, task):
        found = self.wrong(task)
        if found is None:
            return super().submit(fn, task)
        future = Future()
        future.set_exception(found) if isinstance(found, BaseException) else future.set_result(found)
        return future


def test_bad_input_on_a_worker_ends_the_run_and_other_parts_are_kept(tmp_path):
    def lacking(task):
        return {"refused": "a worker: no module own"} if task["cell"] == 1 else None

    with Lying(lacking) as executor, pytest.raises(BadInput, match=r"^a worker: no module own$"):
        run_experiment(
            experiments()["regret"], tmp_path / "out", execution=jb.Execution(executor=executor, runs_per_task=200)
        )
    assert len(list(tmp_path.glob("out/parts/*/runs-*.npz"))) >= 1


def test_a_task_that_kills_its_workers_is_given_up_and_the_rest_is_finished(tmp_path, undivided, pool):
    def poisoned(task):
        return Lost("3 workers died") if (task["cell"], task["first_run"]) == (1, 64) else None

    out = tmp_path / "out"
    said = r"^resume: bernoulli/greedy, runs 64 to 127: a task killed 3 workers and was given up; the rest is finished"
    with Lying(poisoned) as executor, pytest.raises(Unfinished, match=said):
        run_experiment(experiments()["regret"], out, execution=jb.Execution(executor=executor, runs_per_task=64))
    assert len(list(out.glob("parts/*/runs-*.npz"))) == 8
    run_experiment(experiments()["regret"], out, execution=jb.Execution(executor=pool))
    assert content(out) == content(undivided / "regret")


def test_a_worker_of_another_version_refuses(tmp_path, monkeypatch):
    task = {**tasks.of_experiment(experiments()["regret"]), "cell": 0, "execution": {}, "folder": None, "until": None}
    task |= {"first_run": 0, "num_runs": 1}
    about = json.loads(task["provenance"])
    about["versions"]["jax"] = "0.1"
    said = tasks.play({**task, "provenance": json.dumps(about)})["refused"]
    assert "differs from the caller: jax" in said and "\n" not in said
    absent = task["spec"].replace('type = "ucb1"', 'type = "nobody_has_this:rule"')
    assert "has no module nobody_has_this in" in tasks.play({**task, "spec": absent})["refused"]


def test_directories_that_are_not_shared_are_said(tmp_path):
    share = division.Share("it/kl", tasks.play, {}, 0, 10, tmp_path)
    with pytest.raises(BadInput, match="the directory is not shared; use --send-back"):
        share.add({"first_run": 0, "num_runs": 10, "steps": 1, "seconds": 1.0}, "a worker")


def test_killed_processes_are_replaced_and_a_poisoned_call_is_given_up(tmp_path):
    with Processes(2) as workers:
        once, always = (
            workers.submit(killed.until, tmp_path / "once", 1),
            workers.submit(killed.until, tmp_path / "always", 99),
        )
        assert [f.result() for f in [workers.submit(killed.double, i) for i in range(5)]] == [0, 2, 4, 6, 8]
        assert len(once.result()) == max(len(os.sched_getaffinity(0)) // 2, 1)
        with pytest.raises(Lost, match="3 workers died"):
            always.result()
    assert (tmp_path / "always").stat().st_size == 3
