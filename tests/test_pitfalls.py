"""What makes rounds slow or an index of another type, found in the traced rounds of every algorithm and in the source.

Under many runs at once both branches of a `cond` are executed, a `while` runs until its slowest run ends, a sort has no
rule of its own in the engine, and LAPACK is called matrix by matrix. Rare work of this kind belongs in `Replan`.
"""

import ast
from pathlib import Path

import jax
import jax.numpy as jnp
import parts
import pytest
from parts import ALGORITHMS

import jaxbandit as jb
from jaxbandit.engine.layout import jaxprs

BRANCHES = {"cond", "while", "sort"}
LAPACK = {"cholesky", "eigh", "svd", "lu", "qr", "geqrf", "householder_product", "triangular_solve"}
ALLOWED = {
    "sequential_halving": {"while"},  # several rounds of elimination may end at one pull; at most log2 K of them
    "successive_rejects": {"while"},  # the same function
    "uniform_allocation": {"while"},  # the same function
    "sa_foa": {"while", "cond"},  # its rule is evaluated once in a batch of pulls, not in each round
}
WINGS = [path for wing in ("algorithms", "environments") for path in (Path(jb.__file__).parent / wing).rglob("*.py")]


def primitives(function, *arguments):
    """The names of the primitives of a function, those of inner programs included, and the shape of its result."""
    closed, shape = jaxprs.trace(function, *arguments)

    def names(program):
        for equation in program.equations:
            yield equation.name
            for body in equation.programs:
                yield from names(body)

    return set(names(jaxprs.read(closed))), shape


def slow(algorithm, environment):
    """Slow primitives of one round: `select`, `update`, `stop`."""
    key = jax.random.key(0)
    state, noise = jax.eval_shape(algorithm.init, key), jax.eval_shape(algorithm.noise, key)
    context = parts.context_of(environment)
    found, choice = primitives(algorithm.select, noise, state, context)

    feedback = parts.feedback_of(environment, context, choice)
    found |= primitives(algorithm.update, state, context, choice, feedback)[0]
    if algorithm.stop is not None:
        found |= primitives(algorithm.stop, state)[0]
    return found & (BRANCHES | LAPACK)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_round_has_no_branches_loops_of_unknown_length_or_lapack(name):
    assert slow(*parts.pair(name)) == ALLOWED.get(name, set())


def test_what_is_slow_is_seen():
    rule, world = jb.algorithms.ucb1(3), jb.environments.bernoulli([0.2, 0.5, 0.6])
    lazy = rule._replace(update=lambda *given: jax.lax.cond(given[3] > 0.5, rule.update, rule.update, *given))
    solved = rule._replace(stop=lambda state: jnp.linalg.inv(jnp.eye(3) * state.means[0])[0, 0] > 2)
    assert slow(rule, world) == set() and slow(lazy, world) == {"cond"}
    assert slow(solved, world) >= {"lu", "triangular_solve"}


def searches(tree):
    """Lines of `jnp.argmax` or `jnp.argmin` whose result is not cast at once; it is int64 under float64."""
    cast = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "astype":
            cast.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("jnp.argmax", "jnp.argmin") and node not in cast:
            yield node.lineno


@pytest.mark.parametrize("path", WINGS, ids=lambda path: path.stem)
def test_an_index_is_int32_in_both_precisions(path):
    assert not list(searches(ast.parse(path.read_text(encoding="utf-8")))), "use numerics.argmax"


def test_a_search_of_another_type_is_seen():
    assert list(searches(ast.parse("x = jnp.argmax(y)\nz = jnp.argmax(y).astype(jnp.int32)"))) == [1]
