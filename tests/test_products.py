"""Products of matrices are numerics.dot alone: by default an accelerator rounds their factors to TF32 or bfloat16."""

import ast
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import parts
import pytest

import jaxbandit
from jaxbandit.engine.layout import jaxprs
from jaxbandit.lab.specs.registry import ALGORITHMS
from jaxbandit.support.numerics import dot

ROOT = Path(jaxbandit.__file__).parent
PRODUCTS = {"dot", "matmul", "einsum", "vdot", "tensordot", "inner", "vecdot", "matvec", "vecmat", "multi_dot"}
PRODUCTS |= {"dot_general", "dot_product_attention", "convolve", "correlate", "conv_general_dilated"}


def products(tree):
    """Lines of `@`, and of calls of a product of any module but NumPy."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            yield node.lineno
        if isinstance(node, ast.Attribute) and node.attr in PRODUCTS and ast.unparse(node.value) != "np":
            yield node.lineno


@pytest.mark.parametrize(
    "path", [p for p in sorted(ROOT.rglob("*.py")) if p.name != "numerics.py"], ids=lambda p: p.stem
)
def test_a_module_that_knows_jax_numpy_multiplies_by_numerics_alone(path):
    """There `@` may be of NumPy's arrays or of JAX's, and nobody sees which: NumPy's are written np.matmul."""
    tree = ast.parse(path.read_text())
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    assert "jax.numpy" not in names or not list(products(tree))


@pytest.mark.parametrize(
    "line", ["x @ y", "x @= y", "jnp.dot(x, y)", "jnp.linalg.multi_dot(x)", "lax.dot_general(x, y)", "x.dot(y)"]
)
def test_products_are_seen(line):
    assert list(products(ast.parse(line))) == [1]
    assert not list(products(ast.parse("np.matmul(x, y) + dot(x, y)")))


def factors(program):
    """The precisions of the factors of every product in a program."""
    for equation in program.equations:
        if equation.name in ("dot_general", "ragged_dot_general", "conv_general_dilated"):
            yield from np.broadcast_to(equation.params["precision"], 2)
        for body in equation.programs:
            yield from factors(body)


def traced(function, *arguments):
    """Results and precisions."""
    program, shape = jaxprs.trace(function, *arguments)
    return shape, list(factors(jaxprs.read(program)))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_algorithm_multiplies_at_the_default_precision(name):
    algorithm, environment = parts.pair(name)
    key = jax.random.key(0)
    state, found = traced(algorithm.init, key)
    noise, more = traced(algorithm.noise, key)
    found += more
    for function in (algorithm.recommend, algorithm.stop, algorithm.pulls, algorithm.verify, *(algorithm.replan or ())):
        found += traced(function, state)[1] if callable(function) else []
    context = parts.context_of(environment)
    action, more = traced(algorithm.select, noise, state, context)
    feedback = parts.feedback_of(environment, context, action)
    found += more + traced(algorithm.update, state, context, action, feedback)[1]
    if algorithm.batch is not None and environment.batch is not None:
        pulls, more = traced(algorithm.batch.plan, state)
        world = jax.eval_shape(environment.init, key)
        sums, sampled = traced(environment.batch.sums, world, pulls, jax.eval_shape(environment.batch.noise, key))
        found += more + sampled + traced(algorithm.batch.absorb, state, pulls, sums)[1]
    assert set(found) <= {jax.lax.Precision.HIGHEST}


def test_the_default_precision_is_seen():
    x = jnp.eye(2)
    assert traced(lambda a: jax.lax.fori_loop(0, 3, lambda _, b: a @ b, a), x)[1] == [None, None]
    assert traced(dot, x, x)[1] == [jax.lax.Precision.HIGHEST] * 2
