"""What is read off programs: where faults of an input show, and which numbers are made from booleans."""

import ast
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base import side_by_side
from jaxbandit.engine.layout import batching, jaxprs, whole_loops
from jaxbandit.engine.rounds.stopping import StoppingRun
from jaxbandit.support import numerics

STATE, FEEDBACK = np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0, 5.0], np.float32)
MATRIX = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]], np.float32)
SHOW = {
    "a sum": lambda state, x: state + jnp.sum(x),
    "a mean that moves": lambda state, x: state + (x[:, None].sum(0) - 3.0 * state) / 7.0,
    "a product with zeros": lambda state, x: state - (MATRIX * x[None]).sum(1),
    "columns eight at a time": lambda state, x: state + numerics.matrix_vector(jnp.asarray(MATRIX), x),
    "both sides of a choice": lambda state, x: jnp.where(state > 0, state + x.sum(), state - x.sum()),
    "an inner program": lambda state, x: jax.jit(lambda y: y + jnp.sum(-x))(state),
}
HIDE = {
    "a choice": lambda state, x: jnp.where(state > 0, state + x.sum(), state),
    "a divisor": lambda state, x: state + 1 / x.sum(),
    "a maximum": lambda state, x: jnp.maximum(state, x.sum()),
    "one entry of three": lambda state, x: state + x[0],
    "cut off": lambda state, x: state + jax.lax.pad(x, 0.0, ((-1, 0, 0),)).sum(),
    "whole numbers": lambda state, x: state + x.sum().astype(jnp.int32).astype(jnp.float32),
    "a state of the last round alone": lambda state, x: jnp.broadcast_to(x.sum(), (2,)),
    "a state that forgets the feedback": lambda state, x: state + 1,
    "a loop that begins afresh": lambda state, x: jax.lax.scan(lambda c, y: (y + state, None), state, x)[0],
    "a loop without a turn": lambda state, x: jax.lax.scan(lambda c, y: (c + x.sum() + y, None), state, x[:0])[0],
    "no rule": lambda state, x: state + jnp.sort(x).sum(),
}


def faulty(update):
    """Whether each fault of each entry, of the feedback or of the state, is seen in what `update` leaves."""
    seen = []
    for fault in (np.nan, np.inf, -np.inf):
        seen += [update(STATE, np.where(np.arange(3) == i, fault, FEEDBACK)) for i in range(3)]
        seen += [update(np.where(np.arange(2) == i, fault, STATE), FEEDBACK) for i in range(2)]
    return [not np.isfinite(x).all() for x in seen]


@pytest.mark.parametrize("name", SHOW)
def test_a_state_that_shows_every_fault_of_the_feedback_and_of_its_own_is_found(name):
    assert batching.keeps_faults(SHOW[name], STATE, FEEDBACK)
    assert all(faulty(jax.jit(SHOW[name])))


@pytest.mark.parametrize("name", HIDE)
def test_a_state_of_which_that_is_not_known_is_not(name):
    assert not batching.keeps_faults(HIDE[name], STATE, FEEDBACK)


def test_rewards_that_are_made_from_a_boolean_are_known():
    def is_made(function):
        return batching.is_from_boolean(function, STATE)

    assert is_made(lambda x: (x[0] < x[1]).astype(jnp.float32))
    assert is_made(jax.jit(lambda x: jnp.broadcast_to(jax.jit(numerics.as_float)(x < 1), (2, 2)).reshape(4)))
    assert not is_made(lambda x: x)
    assert not is_made(lambda x: (x < 1).astype(jnp.float32) / x)
    assert not is_made(lambda x: jnp.where(x < 1, x, 0.0))
    assert not is_made(lambda x: x.astype(jnp.int32).astype(jnp.float32))


@pytest.mark.slow
def test_what_cannot_be_at_fault_is_not_watched():
    def recorder(algorithm, environment):
        return StoppingRun(lambda _: (algorithm, environment), None, "threefry4x32").recorder

    arms = jb.algorithms.lucb(2, delta=0.1, sigma=0.5)
    bernoulli = jb.environments.bernoulli([0.2, 0.8])
    with jax.enable_x64(True):
        assert not recorder(arms, bernoulli).watches
        assert recorder(arms, bernoulli._replace(rewards=jb.Rewards(0.5, 1.0, sigma=0.5))).watches
        assert recorder(arms, jb.environments.gaussian([0.2, 0.8], sigma=0.5)).watches
        crowd = jb.environments.full_bandit([0.1, 0.2, 0.8], 2)
        kept = recorder(jb.algorithms.icb(3, k=2, delta=0.1, support="all"), crowd)
    assert kept.keeper is not None and not kept.watches and kept.watched == ()


FORMAT = "eqns invars outvars constvars primitive jaxpr aval".split()  # attributes of a jaxpr and of its parts
ROOT = Path(jb.__file__).parents[1]


def parts_read(path):
    """Places in a file that read a part of a jaxpr, by attribute or by its name."""
    text = path.read_text(encoding="utf-8")
    if not re.search(rf"""[."']({"|".join(FORMAT)})\b""", text):
        return
    for node in ast.walk(ast.parse(text)):
        named = isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr")
        if getattr(node.args[1] if named else node, "value" if named else "attr", None) in FORMAT:
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_one_module_knows_the_format_of_programs():
    files = [path for room in ("jaxbandit", "benchmarks", "tests") for path in sorted((ROOT / room).rglob("*.py"))]
    found = [line for path in files for line in parts_read(path)]
    assert found and {line.split(":")[0] for line in found} == {"jaxbandit/engine/layout/jaxprs.py"}


def test_constants_without_a_dtype_get_theirs():
    traced, _ = jaxprs.trace(lambda v, i: jnp.zeros(3, bool).at[i].set(True) & v, np.ones(3, bool), np.int32(1))
    atoms = [atom for equation in jaxprs.read(traced).equations for atom in equation.operands]
    constants = [atom for atom in atoms if isinstance(atom, jaxprs.Literal)]
    assert any(atom.value is True for atom in constants)
    assert all(atom.array.dtype == atom.type.dtype for atom in constants)


class Elsewhere:
    """What another JAX may return."""

    eqns = ()


@pytest.mark.parametrize("form", [Elsewhere(), object()], ids=["another form", "no program"])
def test_another_form_is_not_read(form):
    with pytest.raises(jaxprs.UnknownForm):
        jaxprs.read(form)


def test_another_name_of_a_parameter_is_another_form():
    with pytest.raises(jaxprs.UnknownForm, match="without the parameter shape"):
        jaxprs.Params(form=1)["shape"]


def test_a_method_of_an_object_with_traces_is_traced_once_for_its_shapes_and_context():
    class Scale:
        def __init__(self):
            self.traces, self.times = {}, 0

        def scale(self, x):
            self.times += 1
            return x * 2

    one, other, x = Scale(), Scale(), jnp.zeros(3)
    program, shape = jaxprs.trace(one.scale, x)
    assert jaxprs.trace(one.scale, jax.ShapeDtypeStruct((3,), jnp.float32)) == (program, shape)
    assert one.times == 1 and shape.shape == (3,)
    jaxprs.trace(one.scale, jnp.zeros(4))
    jaxprs.trace(one.scale, jnp.zeros(3, jnp.int32))
    jaxprs.trace(one.scale, jax.eval_shape(lambda: jnp.asarray(1.0)))
    jaxprs.trace(one.scale, jnp.float32(1))  # of no weak type
    assert one.times == 5
    with side_by_side.declared():
        jaxprs.trace(one.scale, x)
    assert one.times == 6
    with whole_loops.whole(True, searches=True):
        searches = whole_loops.searches_arms()  # not with every JAX
        jaxprs.trace(one.scale, x)
    assert one.times == 6 + searches
    jaxprs.trace(other.scale, x)
    assert other.times == 1
