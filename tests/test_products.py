"""Products of matrices are numerics.dot alone: by default an accelerator rounds their factors to TF32 or bfloat16."""

import ast
from pathlib import Path

import pytest

import jaxbandit

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
