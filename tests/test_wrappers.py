"""Wrapped algorithms in TOML: resolved with the arguments of both, swept, refused in one line."""

import pytest
from test_conformance import conforms

from jaxbandit.algorithms import epsilon_greedy, uniform
from jaxbandit.algorithms.feedback.batched import batched
from jaxbandit.algorithms.feedback.delayed import delayed
from jaxbandit.base.contract import Algorithm
from jaxbandit.lab.experiments.playing import program
from jaxbandit.lab.specs import spec
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled
WORLD = {"type": "bernoulli", "means": [0.2, 0.5, 0.8]}


def resolved(*algorithms, **more):
    data = {"kind": "simulate", "runs": 4, "horizon": 60, "instance": [WORLD], "algorithm": list(algorithms)}
    return spec.parse(data | more, "x.toml")


def test_a_wrapped_algorithm_has_the_arguments_of_both():
    given = {"type": "delayed(ucb1)", "mean": {"sweep": [0.0, 5.0]}, "c": {"sweep": [0.0, 3.0]}, "cap": 7}
    batches = {"type": "batched(moss)", "grid": "geometric"}, {"type": "batched(thompson)", "grid": [9]}
    experiment = resolved(given, *batches)
    cells = list(experiment.cells())
    assert [cell.algorithm.name for cell in cells] == ["delayed(ucb1)"] * 4 + ["batched(moss)", "batched(thompson)"]
    assert cells[1].params == {"mean": 0.0, "cap": 7, "c": 3.0}
    assert cells[4].arguments["horizon"] == 60  # of both
    assert all(isinstance(cell.build(), Algorithm) for cell in cells)
    assert spec.parse(experiment.to_dict(), "x.toml") == experiment
    entry = cells[0].algorithm.entry
    assert entry.traced({"mean": 1.0, "c": 0.0, "cap": 7}) == {"mean", "c"}
    assert entry.factory() is resolved(given).algorithms[0].entry.factory()
    both = {"type": "delayed(batched(ucb1))", "grid": "geometric", "mean": 1.0, "cap": 7}
    assert resolved(both).algorithms[0].entry.arguments == (
        "num_arms",
        "c",
        "grid",
        "num_batches",
        "horizon",
        "delay",
        "mean",
        "cap",
    )


def test_a_sweep_of_both_is_one_program():
    given = {"type": "delayed(ucb1)", "mean": {"sweep": [0.0, 5.0]}, "c": {"sweep": [0.0, 3.0]}, "cap": 7}
    cells = list(resolved(given, given | {"name": "other", "cap": 8}).cells())
    makes = {id(program(cell)[0]) for cell in cells[:4]}
    assert len(makes) == 1 and id(program(cells[4])[0]) not in makes
    assert program(cells[1])[1]["algorithm"] == {"mean": 0.0, "algorithm": {"c": 3.0}}


def test_a_factory_of_the_user_may_be_wrapped(tmp_path, monkeypatch):
    (tmp_path / "late_own.py").write_text(
        "from jaxbandit.algorithms import kl_ucb\n"
        "def own(num_arms: int, *, c: float = 0.0):\n    return kl_ucb(num_arms, c=c)\n"
        "def clash(num_arms: int, *, cap: int = 3):\n    return kl_ucb(num_arms)\n"
    )
    monkeypatch.chdir(tmp_path)
    experiment = resolved({"type": "delayed(late_own:own)", "delay": 2, "c": {"sweep": [0.0, 1.0]}})
    assert [cell.params["c"] for cell in experiment.cells()] == [0.0, 1.0]
    assert experiment.algorithms[0].name == "delayed(late_own:own)"
    with pytest.raises(BadInput, match="has two arguments named cap; rename that of the algorithm"):
        resolved({"type": "delayed(late_own:clash)", "delay": 2})
    with pytest.raises(BadInput, match="names code outside the package, which is not imported"):
        data = {"kind": "simulate", "runs": 4, "horizon": 60, "instance": [WORLD]}
        spec.parse(data | {"algorithm": [{"type": "delayed(late_own:own)"}]}, "x.toml", imports=False)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"type": "delayed(kl_ucb)"},
            r"algorithm\[0\]: delay = None, mean = None, exactly one of the two must be given",
        ),
        ({"type": "delayed(kl_ucb)", "delay": 1.5}, r"algorithm\[0\].delay = 1.5, must be an integer"),
        (
            {"type": "delayed(kl_ucb)", "delay": {"sweep": [1, 2]}},
            "cannot be swept, because every value is compiled separately",
        ),
        ({"type": "delayed(kl_ucb)", "dely": 1}, "dely: unknown key, must be one of .*did you mean 'delay'"),
        ({"type": "delayd(kl_ucb)"}, r"one of batched\(ALGORITHM\), delayed\(ALGORITHM\).*did you mean 'delayed'"),
        ({"type": "delayed(kl_ubc)", "delay": 1}, "did you mean 'kl_ucb'"),
        ({"type": "delayed(lucb)", "delay": 1}, '= "lucb", is for kind = "identify"'),
        ({"type": "delayed()", "delay": 1}, "must be a name that jaxbandit list --kind simulate prints"),
        ({"type": "batched(kl_ucb)", "grid": [5, 5]}, r"algorithm\[0\].grid\[1\] = 5 after 5, must be increasing"),
        ({"type": "batched(kl_ucb)", "grid": [500]}, r"grid\[0\] = 500, must be an integer in \[1, 60\]"),
    ],
)
def test_bad_input_is_refused_in_one_line(table, message):
    with pytest.raises(BadInput, match=message) as caught:
        resolved(table)
    assert "\n" not in str(caught.value)


def test_rules_that_stop_are_not_wrapped():
    data = {"kind": "identify", "runs": 4, "instance": [WORLD], "algorithm": [{"type": "delayed(lucb)", "delay": 1}]}
    with pytest.raises(BadInput, match='is for kind = "simulate", because it wraps algorithms that play to a horizon'):
        spec.parse(data, "x.toml")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["delayed", "delayed by a constant", "batched"])
def test_wrapped_algorithms_keep_the_contract(name):
    make = {
        "delayed": lambda k, *, mean: delayed(uniform(k), mean=mean, cap=9),
        "delayed by a constant": lambda k, *, epsilon: delayed(epsilon_greedy(k, epsilon=epsilon), delay=5),
        "batched": lambda k, *, epsilon: batched(epsilon_greedy(k, epsilon=epsilon), (3, 20)),
    }[name]
    traced = {"mean": [4.0, 0.0]} if name == "delayed" else {"epsilon": [0.1]}
    conforms(name, make, [(3, False)], traced, alone=True)
