"""Factories that declare themselves in one file, in a package of somebody or in ours: found wherever names are read."""

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import jaxbandit as jb
from jaxbandit.base.declaration import declaration_of
from jaxbandit.lab import cli
from jaxbandit.lab.specs import references

ROOT = Path(__file__).parents[1]
POLICY = '''
import jaxbandit as jb


@jb.declare(question="regret", rewards="in [0, 1]", cost="O(K)", memory="O(K)", tries={"scale": (0.7, 0.2)})
def steady(num_arms: int, *, scale: float = 0.7):
    """The largest mean plus a bonus that shrinks with the pulls, Nobody 2026.

    Guarantee: None: it is an example.

    The bonus is scale / sqrt(N).

    Args:
      num_arms: number of arms; static.
      scale: weight of the bonus; traced.

    Source:
      Nobody (2026), Journal of Nothing.
    """

    def index(state):
        return state.means + scale * state.inverse_sqrt_counts

    return jb.algorithms.index_policy("steady", num_arms, index)
'''
RULE = '''
import jax.numpy as jnp

import jaxbandit as jb


@jb.declare(
    question="confidence", rewards="in [0, 1]", finds="1", cost="O(K)", memory="O(K)", tries={"delta": (0.1, 0.3)}
)
def patient(num_arms: int, *, delta: float = 0.1):
    """Each arm in turn until the leader is apart from all others."""

    def init(key):
        return jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms)

    def update(state, context, action, reward):
        return state[0].at[action].add(1), state[1].at[action].add(reward)

    def stop(state):
        n = jb.numerics.as_float(jnp.maximum(state[0], 1))
        width = jnp.sqrt(jnp.log(4 * num_arms * n**2 / delta) / (2 * n))
        means = state[1] / n
        return (jnp.min(state[0]) > 0) & (jnp.sum(means + width >= jnp.max(means - width)) <= 1)

    return jb.Algorithm(
        init=init,
        select=lambda noise, state, context: jnp.argmin(state[0]).astype(jnp.int32),
        update=update,
        pulls=lambda state: state[0],
        stop=stop,
        recommend=lambda state: jb.numerics.argmax(state[1] / jb.numerics.as_float(jnp.maximum(state[0], 1)))[None],
        promise=jb.contract.Promise(delta),
        arms=jb.Arms(num_arms),
        name="patient",
    )
'''
WORLD = '''
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

import jaxbandit as jb


@jb.declare(settings=({"means": (0.2, 0.8)},))
def spread(means: ArrayLike, *, width: float = 0.1):
    """Rewards uniform around the means."""
    return jb.Environment(
        init=lambda key: jnp.asarray(means, float),
        noise=lambda key: jax.random.uniform(key, minval=-1.0, dtype=float),
        reward=lambda means, context, action, noise: means[action] + width * noise,
        regret=lambda means, context, action: jnp.max(means) - means[action],
        simple_regret=lambda means, arms: jnp.max(means) - jnp.min(means[arms]),
        arms=jb.Arms(len(means)),
        known=lambda: {"width": width},
    )
'''
EXPERIMENT = """
kind = "{kind}"
runs = 8
{length}
precision = "float64"
[[instance]]
type = "{world}"
means = [0.2, 0.8]
[[algorithm]]
type = "{algorithm}"
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the name of a package in the working directory, a new one for each test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    package = f"declared_{abs(hash(tmp_path.name))}"
    files = {"policy": POLICY, "inner/rule": RULE, "inner/world": WORLD, "__main__": "raise SystemExit('played')\n"}
    for name, text in (files | {"__init__": "", "inner/__init__": "from .rule import patient\n"}).items():
        path = Path(package, f"{name}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    yield package
    references.entry.cache_clear()
    references.sources.cache_clear()
    for name in [name for name in sys.modules if name.startswith(package)]:
        del sys.modules[name]


def printed(capsys, *argv: str) -> str:
    capsys.readouterr()
    assert cli.main(argv) == 0
    return capsys.readouterr().out


def test_a_package_is_listed_and_shown_with_the_words_of_ours(own, capsys):
    found = json.loads(printed(capsys, "list", "--from", own, "--json"))
    policy, rule, world = (f"{own}.{name}" for name in ("policy:steady", "inner.rule:patient", "inner.world:spread"))
    assert found == {
        "algorithms": [
            {
                "name": policy,
                "arguments": ["scale"],
                "summary": "The largest mean plus a bonus that shrinks with the pulls, Nobody 2026",
                "kind": "simulate",
                "setting": "arms",
            },
            {
                "name": rule,
                "arguments": ["delta"],
                "summary": "Each arm in turn until the leader is apart from all others",
                "kind": "identify",
                "setting": "arms",
            },
        ],
        "environments": [
            {"name": world, "arguments": ["means", "width"], "summary": "Rewards uniform around the means"}
        ],
    }
    text = printed(capsys, "list", "--from", own)
    assert max(map(len, text.splitlines())) <= 80
    assert f"  {world}" in text and " arms without features:" in text and "ucb1" not in text
    assert policy not in printed(capsys, "list", "--from", own, "--kind", "identify")
    shown = printed(capsys, "show", policy)
    for line in ("Guarantee: None: it is an example.", "Cost of a round: O(K)", "Source: Nobody (2026)"):
        assert line in shown
    assert f"from {own}.policy import steady" in shown and f'type = "{policy}"' in shown
    assert "environment = spread(means)" in printed(capsys, "show", world)


def test_what_cannot_be_listed_is_refused_in_one_line(own, capsys):
    Path(own, "plain.py").write_text("def plain(num_arms):\n    return None\n", encoding="utf-8")
    for argv, words in (
        (("list", "--from", "no.such"), "'no.such', has no module no"),
        (("list", "--from", f"{own}.plain"), "declares nothing; decorate its factories with jaxbandit.declare"),
        (("list", "--from", f"{own}/policy"), "must be the name of a module or package"),
        (("show", f"{own}.plain:plain"), "declares nothing about itself; decorate it with jaxbandit.declare"),
        (("show", f"{own}.plain:other"), "has no other in module"),
    ):
        capsys.readouterr()
        assert cli.main(argv) == 2
        captured = capsys.readouterr()
        assert words in captured.err and captured.err.count("\n") == 1, captured.err


@pytest.mark.quickly_compiled
@pytest.mark.slow
def test_a_package_is_played_from_toml(own, capsys):
    for kind, length, algorithm in (
        ("simulate", "horizon = 50", "policy:steady"),
        ("identify", "", "inner.rule:patient"),
    ):
        names = {"world": f"{own}.inner.world:spread", "algorithm": f"{own}.{algorithm}"}
        Path("own.toml").write_text(EXPERIMENT.format(kind=kind, length=length, **names), encoding="utf-8")
        cells = json.loads(printed(capsys, "run", "own.toml", "--json", "--out", kind))["cells"]
        assert [cell["runs"] for cell in cells] == [8]


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_a_package_passes_the_conformance_kit_with_what_it_declares(own):
    made = {entry.attribute: entry for entry in references.declarations(own)}
    assert jb.check_algorithm(made["steady"].factory(), (1, 3)).traced == ("scale",)
    assert jb.check_algorithm(made["patient"].factory(), 3).traced == ("delta",)
    assert [jb.check_environment(made["spread"].build(given)) for given in made["spread"].settings]


# What is asked of a copy of the package that has one file and one line more for each of three.
ASKED = """
import sys
sys.path[:0] = [f"{ROOT}/{place}" for place in ("tests", "docs", "docs/_ext")]
import jaxbandit
assert not jaxbandit.__file__.startswith(ROOT), jaxbandit.__file__
from jaxbandit.base.declaration import declaration_of
from jaxbandit.lab import cli
from jaxbandit.lab.specs.registry import ALGORITHMS
listed = ["list", "plus a bonus"], ["list", "around the means"]
for argv in (*listed, ["show", "patient"], ["run", "own.toml", "--out", "there"]):
    assert cli.main(argv) == 0
import algorithm_tables, measure, parts, reference_pages, test_conformance
print(algorithm_tables.tables({}, {}))
print(algorithm_tables.arguments("environment"))
print("grouped", "algorithms.steady" in reference_pages.groups()["algorithms"]["Regret: arms without features"])
print("instance of", measure.instance_of("patient"))
parts.pair("steady"), parts.pair("patient")
print("played", len(list(parts.environments(__import__("pathlib").Path("."), ["spread"]))))
for name in ("steady", "patient"):
    test_conformance.check(name, [(3, False)], test_conformance.settings_of(name)[0])
    print("conforms", name)
"""


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_a_file_and_a_line_are_all_that_a_new_one_of_ours_needs(tmp_path):
    shutil.copytree(ROOT / "jaxbandit", tmp_path / "jaxbandit", ignore=shutil.ignore_patterns("__pycache__"))
    for package, module, name, text in (
        ("algorithms", "regret.steady", "steady", POLICY),
        ("algorithms", "best_arm.patient", "patient", RULE),
        ("environments", "stationary.spread", "spread", WORLD),
    ):
        place = tmp_path / "jaxbandit" / package
        ours = text.replace("@jb.declare", "@declare").replace("import jaxbandit as jb\n", HEAD)
        (place / f"{module.replace('.', '/')}.py").write_text(ours, encoding="utf-8")
        with (place / "__init__.pyi").open("a", encoding="utf-8") as stub:
            stub.write(f"from .{module} import {name} as {name}\n")
    toml = EXPERIMENT.format(kind="simulate", length="horizon = 50", world="spread", algorithm="steady")
    (tmp_path / "own.toml").write_text(toml, encoding="utf-8")
    code = f"ROOT = {str(ROOT)!r}\n" + textwrap.dedent(ASKED)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, env=path_of(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    for line in (
        "  steady                     The largest mean plus a bonus",
        "  spread                     Rewards uniform around the means",
        "[`steady`](reference/generated/jaxbandit.algorithms.steady.rst) | in [0, 1] | None: it is an example.",
        "| [`spread`](reference/generated/jaxbandit.environments.spread.rst) | `means` t, `width` t = 0.1 |",
        "grouped True",
        "instance of bernoulli",
        "played 1",
        "conforms steady",
        "conforms patient",
    ):
        assert line in done.stdout, (line, done.stdout[-3000:])


HEAD = "import jaxbandit as jb\nfrom jaxbandit.base.declaration import declare\n"


def path_of(first: Path) -> dict[str, str]:
    import os

    return os.environ | {"PYTHONPATH": str(first)}


def test_a_declaration_is_completed_by_the_factory():
    @jb.declare(question="confidence")
    def own(features: int, m: int = 1, name: str = ""):
        return jb.algorithms.ucb1(features).named(name)

    assert own(2).name == "own" and own(2, name="mine").name == "mine"
    found = declaration_of(own)
    assert (found.setting, found.finds) == ("features", "m")
    found = declaration_of(jb.declare(question="confidence", setting="arms", finds="1")(own.__wrapped__))
    assert (found.setting, found.finds) == ("arms", "1")
