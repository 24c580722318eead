"""Algorithms and environments of a user's own file, named in TOML: played, audited, interrupted, resumed, refused."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_experiment import UCB1, written

import jaxbandit
from jaxbandit.decide.loading import load
from jaxbandit.lab import cli
from jaxbandit.lab.specs import references, spec

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parent.parent / "docs" / "toml.md"

SOURCE = '''
from typing import Literal

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

import jaxbandit as jb


def steady(num_arms: int, *, scale: float = 0.7, level: Literal["log", "none"] = "none"):
    def index(state):
        more = jb.numerics.exploration_level(state.round) if level == "log" else 1.0
        return state.means + scale * more * state.inverse_sqrt_counts

    return jb.algorithms.index_policy("steady", num_arms, index)


def race(num_arms: int, *, delta: float = 0.1, sigma: float = 1.0):
    """Each arm in turn until the leader's interval is apart from all others'."""

    def init(key):
        return jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms)

    def select(noise, state, context):
        return jnp.argmin(state[0]).astype(jnp.int32)

    def update(state, context, action, reward):
        return state[0].at[action].add(1), state[1].at[action].add(reward)

    def stop(state):
        n = jb.numerics.as_float(jnp.maximum(state[0], 1))
        width = sigma * jnp.sqrt(2 * jnp.log(4 * num_arms * n**2 / delta) / n)
        means = state[1] / n
        low = jnp.max(means - width)
        return jnp.sum(means + width >= low) <= 1

    def recommend(state):
        return jnp.argmax(state[1] / jb.numerics.as_float(jnp.maximum(state[0], 1)))[None].astype(jnp.int32)

    return jb.Algorithm(
        init=init, select=select, update=update, pulls=lambda state: state[0], stop=stop, recommend=recommend,
        promise=jb.contract.Promise(delta), name="race",
    )


def spread(means: ArrayLike, *, width: float = 0.1):
    def init(key):
        return jnp.asarray(means, float)

    return jb.Environment(
        init=init,
        noise=lambda key: jax.random.uniform(key, minval=-1.0),
        reward=lambda means, context, action, noise: means[action] + width * noise,
        regret=lambda means, context, action: jnp.max(means) - means[action],
        simple_regret=lambda means, arms: jnp.max(means) - jnp.min(means[arms]),
        arms=jb.Arms(len(means)),
        known=lambda: {"sigma": width},
    )


def raises(num_arms: int):
    raise RuntimeError("out of\\nbatteries")


def branches(num_arms: int, *, scale: float = 1.0):
    return steady(num_arms) if scale > 0.5 else steady(num_arms, scale=0.0)


def endless(num_arms: int):
    return steady(num_arms)._replace(stop=jb.contract.never())


def number(num_arms: int):
    return 3


three = 3
'''

WORLD = {"type": "MODULE:spread", "means": [0.2, 0.8]}
RULES = [{"type": "MODULE:steady", "scale": {"sweep": [0.3, 0.7]}}, UCB1]
REGRET = written("simulate", WORLD, RULES, runs=8, horizon=60, checkpoints=[60])

STOPPING = written("identify", WORLD, {"type": "MODULE:race"}, runs=100)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the name of a module in the working directory, a new one for each test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # taken away again after the test
    module = "own_" + re.sub(r"\W", "_", tmp_path.name)
    Path(f"{module}.py").write_text(SOURCE, encoding="utf-8")
    for name, text in (("regret", REGRET), ("stopping", STOPPING)):
        Path(f"{name}.toml").write_text(text.replace("MODULE", module), encoding="utf-8")
    yield module
    references.entry.cache_clear()
    references.sources.cache_clear()
    sys.modules.pop(module, None)


def refused(capsys, argv, *words):
    capsys.readouterr()
    assert cli.main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1, captured.err
    for word in words:
        assert word in captured.err, captured.err


def test_arguments_are_read_off_the_signature_and_filled(own):
    experiment = spec.load("regret.toml")
    parameters = experiment.algorithms[0].entry.parameters()
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    assert kinds == {"num_arms": "integer", "scale": "scalar", "level": "choice"}
    assert {n: p.kind for n, p in experiment.instances[0].entry.parameters().items()} == {
        "means": "number",
        "width": "scalar",
    }
    filled = [cell.arguments for cell in experiment.cells()]
    assert filled[0] == {"scale": 0.3, "level": "none", "num_arms": 2} and filled[1]["scale"] == 0.7
    [cell] = spec.load("stopping.toml").cells()
    assert cell.arguments == {"delta": 0.1, "num_arms": 2, "sigma": 0.1}  # sigma: what spread declares as known
    assert experiment.algorithms[0].name == "steady" and experiment.instances[0].name == "spread"


@pytest.mark.quickly_compiled
def test_run_and_set(own, capsys):
    argv = ["run", "regret.toml", "--json", "--out", "there", "--set", "algorithm.steady.level=log"]
    assert cli.main(argv) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [(c["algorithm"], c["params"].get("scale")) for c in cells] == [
        ("steady", 0.3),
        ("steady", 0.7),
        ("ucb1", None),
    ]
    for cell in cells:  # two arms whose gap is 0.6: pulls and regret must tell one story
        assert cell["regret"]["mean"][-1] == pytest.approx(0.6 * cell["pulls"]["mean"][0], rel=1e-5)
    about = json.loads(Path("there/provenance.json").read_text(encoding="utf-8"))
    assert list(about["sources"]) == [own] and len(about["cells"]) == 3


@pytest.mark.quickly_compiled
def test_audit(own, capsys):
    argv = ["audit", "stopping.toml", "--json", "--runs", "400", "--out", "there"]
    assert cli.main(argv) == 0
    [cell] = json.loads(capsys.readouterr().out)["cells"]
    assert cell["audit"]["delta"] == 0.1 and cell["audit"]["verdict"] != "violates"


@pytest.mark.quickly_compiled
def test_audit_from_python(own):
    [result] = jaxbandit.audit("stopping.toml", runs=200, execution=jaxbandit.Execution(progress=False))
    assert result.finding.delta == 0.1 and result.finding.runs == 200


@pytest.mark.quickly_compiled
def test_a_changed_module_is_refused(own, capsys):
    assert cli.main(["run", "regret.toml", "--json"]) == 0
    references.entry.cache_clear()  # as in a new process
    references.sources.cache_clear()
    Path(f"{own}.py").write_text(SOURCE + "\n# another line\n", encoding="utf-8")
    refused(capsys, ["run", "regret.toml"], "regret-result", f"the source of module {own} has changed", "another --out")


@pytest.mark.parametrize(
    "setting, words",
    [
        ('algorithm.ucb1.type="no_such_module:f"', ("has no module no_such_module in", "or the environment")),
        ('algorithm.ucb1.type="MODULE:stedy"', ("has no stedy in module MODULE", "did you mean 'steady'")),
        ('algorithm.ucb1.type="MODULE:three"', ("is a int, must be a function",)),
        ('algorithm.ucb1.type="MODULE:number"', ("returns the type int, must return Algorithm",)),
        ('algorithm.ucb1.type="MODULE:raises"', ("MODULE:raises raises RuntimeError: out of",)),
        ('algorithm.ucb1.type="MODULE:branches"', ("raises TracerBoolConversionError with scale traced", "Literal")),
        ('algorithm.ucb1.type="MODULE:spread"', ("means: missing, MODULE:spread needs it",)),
        ('algorithm.ucb1.type="MODULE.py:x"', ("has no module MODULE.py",)),
        ('algorithm.ucb1.type="a b:c"', ('must be "package.module:factory"',)),
        ("algorithm.steady.sclae=1", ("sclae: unknown key", "did you mean 'scale'")),
        ('instance.spread.type="MODULE:steady"', ("means: unknown key",)),
    ],
)
def test_refusals_are_one_line(own, capsys, setting, words):
    argv = ["run", "regret.toml", "--set", setting.replace("MODULE", own)]
    refused(capsys, argv, *(word.replace("MODULE", own) for word in words))
    assert not Path("regret-result").exists()


def test_a_module_that_cannot_be_imported_is_refused(own, capsys):
    argv = ["run", "regret.toml", "--set", 'algorithm.ucb1.type="broken:f"']
    for text, word in (("import no_such_thing", "No module named 'no_such_thing'"), ("def f(:", "SyntaxError")):
        Path("broken.py").write_text(text, encoding="utf-8")
        refused(capsys, argv, 'algorithm[1].type = "broken:f"', "cannot be imported", word)


def test_no_import(own, capsys):
    Path(f"{own}.py").write_text("open('touched', 'w')", encoding="utf-8")
    for command in ("run", "audit"):
        refused(capsys, [command, "regret.toml", "--no-import"], "which is not imported")
    assert not Path("touched").exists()


@pytest.mark.parametrize("name", ["steady", "endless"])
def test_without_a_stopping_rule_there_is_nothing_to_identify(own, capsys, name):
    changed = f'algorithm.race.type="{own}:{name}"'
    refused(capsys, ["run", "stopping.toml", "--set", changed], "has no stopping rule", 'kind = "simulate"')


def blocks() -> dict[str, str]:
    """Return the example in docs/toml.md: its module and its experiment."""
    fenced = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return {language: text for language, text in fenced if "mine" in text or "steady" in text}


def process(*argv: str) -> subprocess.Popen:
    command = [sys.executable, "-P", "-m", "jaxbandit", *argv]  # -P: as the installed script, without the directory
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.quickly_compiled
def test_the_example_of_the_documents_is_interrupted_and_resumed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = blocks()
    assert len((example["python"] + example["toml"]).splitlines()) <= 60
    Path("mine.py").write_text(example["python"], encoding="utf-8")
    Path("own.toml").write_text(example["toml"], encoding="utf-8")
    longer = ["run", "own.toml", "--horizon", "100000", "--runs", "16"]
    first = process(*longer, "--out", "rough")
    deadline = time.monotonic() + 120
    while not (tmp_path / "rough" / "checkpoint").exists() and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    first.terminate()  # a shell lets its background jobs ignore SIGINT, and this may be one
    _, said = first.communicate(timeout=120)
    assert first.returncode == 3 and said.count("\n") == 1 and "run the same command to resume" in said, said
    monkeypatch.syspath_prepend(tmp_path)
    for out in ("rough", "calm"):
        assert cli.main([*longer, "--out", out]) == 0
    for rough, calm in zip(load("rough"), load("calm"), strict=True):
        for name, array in calm.arrays.items():
            assert rough.arrays[name].tobytes() == array.tobytes(), name
