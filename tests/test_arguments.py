"""Arguments as their annotations declare them, read by the check of a call, the docstring, TOML and tests."""

import inspect
import pickle
import re
import textwrap
import tomllib
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.algorithms.exploration.presets import lucb
from jaxbandit.algorithms.feedback.delayed import delayed
from jaxbandit.algorithms.regret.ucb import ucb1, ucb_alpha
from jaxbandit.base.calls import checked
from jaxbandit.base.declaration import declaration_of, declare
from jaxbandit.base.parameters import Arg, parameters_of
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.lab.specs import arguments
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, WRAPPERS
from jaxbandit.support.checks import arrays
from jaxbandit.support.domains import integer, number
from jaxbandit.support.refusals import BadArgument, BadInput
from jaxbandit.support.types import Scalar
from jaxbandit.theory.bounds.full_bandit import icb_sample_bound
from jaxbandit.theory.solvers.decision_paths import dag_paths
from jaxbandit.theory.solvers.quadratic_bound import theorem_ratio

ENTRIES = {entry.name: entry for group in (ALGORITHMS, WRAPPERS, ENVIRONMENTS) for entry in group.values()}
Size = Annotated[int, Arg(integer(1), "number of things")]


@checked
def made(
    size: Size,
    *,
    some: Annotated[int, Arg(lambda given: integer(1, given["size"]), within="an integer in [1, size]")] = 2,
    share: Annotated[Scalar, Arg(number(0, 1), "share of the rounds", tries=(0.5, 0.1))] = 0.5,
    weights: Annotated[list[float] | None, Arg(arrays(low=0))] = None,
    kind: Literal["a", "b"] = "a",
    keep: bool = True,
    free: float = 0.0,
):
    """Return what it is given.

    Args:
      some: how many of them. Not more than there are.
      kind: which.
    """
    if free == 7:
        raise ValueError("free = 7, must be another number")
    return size, some, share, weights, kind, keep, free


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (partial(made, 0), "size = 0, must be an integer >= 1"),
        (partial(made, 2**63), "size = 9223372036854775808, must be an integer in [1, 9223372036854775807]"),
        (partial(made, 1), "some = 2, must be an integer in [1, 1]"),
        (partial(made, 3, some=4), "some = 4, must be an integer in [1, 3]"),
        (partial(made, 3, share=1.5), "share = 1.5, must be a number in [0, 1]"),
        (partial(made, 3, share=np.ones(2)), "share = array([1., 1.]), must be a number in [0, 1]"),
        (partial(made, 3, weights=[1.0, -1.0]), "weights[1] = -1.0, must be in [0, inf)"),
        (partial(made, 3, weights=[[1.0]]), "weights has shape (1, 1), must have 1 axes"),
        (partial(made, 3, kind="c"), "kind = 'c', must be one of a, b"),
        (partial(made, 3, keep="False"), "keep = 'False', must be true or false"),
        (partial(made, 3, keep=1), "keep = 1, must be true or false"),
        (partial(made, 3, share=None), "share = None, must be a number in [0, 1]"),
        (partial(made, 3, free=7), "free = 7, must be another number"),
    ],
)
def test_a_call_is_refused_by_the_name_of_the_function(call, said):
    with pytest.raises(BadArgument) as caught:
        call()
    assert str(caught.value) == f"made: {said}" and caught.value.what == said
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (BadArgument, str(caught.value))


def test_delays_are_counted_in_whole_rounds():
    for name, value in (("delay", -1), ("delay", 1.5), ("delay", 10**6 + 1)):
        with pytest.raises(BadArgument, match=rf"^delayed: {name} = {value}, must be an integer in \[0, 1000000\]$"):
            delayed(ucb1(3), **{name: value})
    with pytest.raises(BadArgument, match=r"^delayed: cap = -1, must be an integer in \[0, 1000000\]$"):
        delayed(ucb1(3), mean=2.0, cap=-1)


def test_what_is_taken_comes_as_it_is_or_converted():
    assert made(np.int64(3), share=1) == (3, 2, 1, None, "a", True, 0.0)
    assert type(made(3, keep=np.True_)[5]) is bool
    weights = made(size=3, weights=[1, 2])[3]
    assert isinstance(weights, np.ndarray) and weights.dtype == np.float64 and made(3, weights=None)[3] is None
    for wrong in (partial(made, 3, 4), partial(made, 3, size=3)):
        with pytest.raises(TypeError, match=r"^made\(\)"):
            wrong()
    with pytest.raises(TypeError, match=r"^made: other is no argument, must be one of size, some, share, weights"):
        made(3, other=1)
    with pytest.raises(TypeError, match=r"^made: size is missing, must be the number of things$"):
        made()


def test_an_argument_without_a_name_is_checked_and_may_have_the_name_of_one_of_many():
    @checked
    def drawn(key: str, size: Size, /, **many: int):
        return key, size, many

    assert drawn("k", np.int64(3), size=5, a=1, key=7) == ("k", 3, {"size": 5, "a": 1, "key": 7})
    with pytest.raises(BadArgument, match=r"^drawn: size = 0, must be an integer >= 1$"):
        drawn("k", 0, size=5)
    with pytest.raises(TypeError, match=r"^drawn: size is missing, must be the number of things$"):
        drawn("k", size=5)


def test_traced_values_pass_and_their_shapes_are_checked():
    shares = jnp.linspace(0.0, 2.0, 3)  # of which one is outside, which nobody can know while JAX traces
    np.testing.assert_array_equal(jax.vmap(lambda share: made(3, share=share)[2] * 1.0)(shares), shares)
    with pytest.raises(BadArgument, match=r"^made: share has shape \(3,\), must have shape \(\)"):
        jax.jit(lambda share: made(3, share=share)[2])(shares)
    np.testing.assert_array_equal(jax.jit(lambda w: made(3, weights=w)[3])(-shares), -shares)
    assert jax.jit(lambda alpha: ucb_alpha(3, alpha=alpha).init(jax.random.key(0)).counts)(-1.0).shape == (3,)


def test_a_factory_names_itself_also_where_another_one_refuses_and_another_function_does_not():
    @checked
    def inner(share: Annotated[float, Arg(number(0, 1))]):
        raise ValueError("nothing fits")

    def outer(share):
        return inner(share)

    for value, said in ((0.5, "nothing fits"), (2, "share = 2, must be a number in [0, 1]")):
        with pytest.raises(BadArgument) as caught:
            declare()(outer)(value)
        assert str(caught.value) == f"outer: {said}"
        with pytest.raises(BadArgument) as caught:
            checked(outer)(value)
        assert str(caught.value) == f"inner: {said}"

    def own():
        raise ValueError("own: wrong")

    with pytest.raises(BadArgument) as caught:
        declare()(own)()
    assert str(caught.value) == "own: wrong"

    def file():
        raise BadInput("a.csv: cannot be read")

    with pytest.raises(BadInput, match=r"^a.csv: cannot be read$"):
        declare()(file)()


def test_a_docstring_is_completed_and_the_signature_stays_plain():
    text, of_a_factory = inspect.getdoc(made), inspect.getdoc(checked(inspect.unwrap(made), maker=True))
    assert text is not None and of_a_factory is not None
    for line in (
        "  size: number of things, an integer >= 1; static.",
        "  some: how many of them, an integer in [1, size]; static. Not more than there are.",
        "  share: share of the rounds, in [0, 1]; traced.",
        '  kind: which, "a" or "b"; static.',
        "  ValueError: an argument is out of range.",
    ):
        assert line in of_a_factory.splitlines(), line
        assert re.sub("; (static|traced)", "", line) in text.splitlines(), line
    assert "Annotated" not in str(inspect.signature(made)) and "share: float | jax" in str(inspect.signature(made))

    def plain(size: int, share: float = 0.5):
        """Return nothing.

        Args:
          size: number of things.
        """

    assert inspect.getdoc(declare()(plain)) == inspect.getdoc(plain)
    assert declare()(plain)(0, share="free") is None  # nothing is said of a plain number, so that nothing is refused


def test_a_refusal_is_one_line_and_keeps_its_cause_its_notes_and_what_it_carries():
    @checked
    def divided(by: int):
        try:
            return 1 / by
        except ZeroDivisionError as error:
            refusal = ValueError(f"by = {by},\n  must not be 0")
            refusal.add_note("nothing is stored")
            refusal.scores = [1.0]
            raise refusal from error

    with pytest.raises(BadArgument) as caught:
        divided(0)
    error = caught.value
    assert str(error) == "divided: by = 0, must not be 0" and (error.function, error.what) == (
        "divided",
        "by = 0, must not be 0",
    )
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.__notes__ == ["nothing is stored"] and error.scores == [1.0]


def test_tries_are_those_of_the_arguments_unless_the_factory_declares_others():
    assert declaration_of(declare()(made)).tries == {"share": (0.5, 0.1)}
    assert declaration_of(declare(tries={"share": (0.2,)})(made)).tries == {"share": (0.2,)}
    assert declaration_of(lucb).tries.keys() == {"delta", "epsilon", "sigma"}


def test_toml_and_python_judge_a_value_alike(tmp_path):
    own = parameters_of(ucb1)
    for name, value in (("c", -1.0), ("num_arms", 0)):
        with pytest.raises(BadArgument) as python:
            ucb1(**{"num_arms": 3, name: value})
        with pytest.raises(BadInput) as toml:
            arguments.convert(name, value, own[name], tmp_path)
        assert str(toml.value) == python.value.what
    with pytest.raises(BadInput, match=r"^c.sweep\[1\] = -1.0, must be a number in \[0, inf\)$"):
        arguments.sweep("c", {"sweep": [1.0, -1.0]}, own["c"])


# Arguments whose values are said in the docstring and checked in the body alone.
PECULIAR = {
    ("crowd", "k"),
    ("rare_events", "low"),
    ("rare_events", "high"),
    ("linear_contextual_classes", "num_contexts"),
}


def test_every_number_has_values_a_meaning_and_a_default_among_them():
    arguments = {(name, p.name): p for name, entry in ENTRIES.items() for p in entry.parameters().values()}
    for p in arguments.values():
        if (domain := p.domain()) is not None and not p.required and p.default is not None:
            domain.take(p.default)
    numbers = {key: p for key, p in arguments.items() if p.kind in ("scalar", "integer") and key not in PECULIAR}
    assert not [key for key, p in numbers.items() if p.arg.domain is None and not p.arg.within], "not checked"
    assert not [key for key, p in arguments.items() if not p.meaning], "without a meaning"
    kinds = re.compile("static|traced|concrete", re.IGNORECASE)
    assert not [key for key, p in arguments.items() if not kinds.search(p.text)], "neither static nor traced"


ALLOWED = Path(__file__).with_name("allowed.toml")


def allowed():
    """The factories that take an argument with these values, by argument and values, in words."""
    found = {}
    for name, entry in ENTRIES.items():
        for p in entry.parameters().values():
            words = p.arg.within or ("" if (domain := p.domain()) is None else domain.allowed)
            if words:
                found.setdefault(f"{p.name}: {words}{' or None' * p.optional}", []).append(name)
    return {key: " ".join(sorted(names)) for key, names in sorted(found.items())}


def test_values_of_every_argument_are_those_of_the_list():
    """What a value outside meets is tested once, in test_domains and above; a change here is meant or it is none.

    `python tests/test_arguments.py` writes the list.
    """
    stored = {key: " ".join(names.split()) for key, names in tomllib.loads(ALLOWED.read_text(encoding="utf-8")).items()}
    assert allowed() == stored


def test_helpers_do_not_carry_the_name_of_their_caller():
    """A helper raises a plain ValueError, and the factory puts its name in front."""
    root = Path(inspect.getfile(ucb1)).parents[2]
    for folder in ("algorithms", "environments"):
        for path in (root / folder).rglob("*.py"):
            assert "where: str" not in path.read_text(encoding="utf-8"), path


WORLD = jb.environments.bernoulli([0.2, 0.8])
MATRIX = np.eye(3)
EDGES = [(0, 1), (0, 1), (1, 2)]
REFUSED = {
    "a seed of 33 bits": (lambda: jb.run_key(2**32, 0), "run_key: seed = 4294967296, must be an integer in"),
    "an option of a sweep": (
        lambda: jb.sweep(partial(ucb_alpha, 2), WORLD, {"alpha": [1.0]}, horizon=4, num_runs=1, max_failed=2),
        "sweep: max_failed = 2, must be a number in [0, 1]",
    ),
    "one misfit among others": (
        lambda: jb.simulate(ucb1(2), WORLD, horizon=4, num_runs=1, allow=("rewards", "reward")),
        "simulate: allow = ('rewards', 'reward'), must be a list of some of 'rewards', 'context'",
    ),
    "more deviations than arms": (
        lambda: jb.environments.gaussian([0.0, 1.0], sigma=[1.0, 2.0, 3.0]),
        "gaussian: sigma has 3 entries, must have 2, one per arm, or be a number",
    ),
    "a run beyond the last": (
        lambda: simulate_cell(lambda _: (ucb1(2), WORLD), {}, horizon=4, num_runs=2, first_run=2**31 - 2),
        "simulate: first_run = 2147483646, must be an integer in [0, 2147483645]",
    ),
    "a mean beyond the family": (
        lambda: jb.bounds.characteristic_time([-0.1, 0.5]),
        "characteristic_time: means[0] = -0.1, must be in [0, 1]",
    ),
    "costs of other arms": (
        lambda: jb.bounds.knapsack_bound([0.5, 0.2], [0.5, 0.2, 0.1], 3.0, 5),
        "knapsack_bound: costs has 3 rows, must have 2, one for each arm",
    ),
    "a complexity of zero": (
        lambda: icb_sample_bound(4, 2, 0.0, delta=0.1, sigma=1.0),
        "icb_sample_bound: complexity = 0.0, must be a number in (0, inf]",
    ),
    "sets of one vertex": (lambda: theorem_ratio(MATRIX, 1), "theorem_ratio: k = 1, must be an integer in [2, 3]"),
    "a vertex beyond the graph": (
        lambda: dag_paths(3, EDGES, 0, 3),
        "dag_paths: target = 3, must be an integer in [0, 2]",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_functions_refuse_arguments_as_factories_do(case):
    call, said = REFUSED[case]
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


def test_the_horizon_is_a_checkpoint_also_where_others_are_given():
    found = jb.simulate(ucb1(2), WORLD, horizon=9, num_runs=2, checkpoints=range(2, 5))
    assert found.arrays["checkpoints"].tolist() == [2, 3, 4, 9]


def test_a_completed_docstring_has_every_exception_and_the_options():
    text = inspect.getdoc(jb.sweep)
    assert "  TypeError: there is no such option." in text and "  **options: `num_runs`, which is required" in text
    assert "static" not in inspect.getdoc(jb.simulate) and "horizon: number of rounds of a run, an integer in" in (
        inspect.getdoc(jb.simulate)
    )


def test_floats_of_records_are_floats():
    goal = jb.Goal(delta=np.float32(0.25), epsilon=1)
    assert [type(goal.delta), type(goal.epsilon)] == [float, float] and goal.delta == 0.25


if __name__ == "__main__":
    lines = [f'"{key}" = """\n{textwrap.fill(names, 120)}"""\n' for key, names in allowed().items()]
    ALLOWED.write_text("".join(lines), encoding="utf-8")
