"""What makes rounds slow or inexact, found in the traced functions of every algorithm and in the source.

Under many runs at once both branches of a `cond` are executed, a `while` runs until its slowest run ends, a sort has no
rule of its own in the engine, and LAPACK is called matrix by matrix: rare work of this kind belongs in `Replan`.
Products of matrices are numerics.dot alone, because by default an accelerator rounds their factors.
"""

import ast
import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import parts
import pytest
from parts import ALGORITHMS

import jaxbandit as jb
from jaxbandit.base.contract import Choice
from jaxbandit.engine.layout import jaxprs
from jaxbandit.support.numerics import dot

ROOT = Path(jb.__file__).parent
BRANCHES = {"cond", "while", "sort"}
LAPACK = {"cholesky", "eigh", "svd", "lu", "qr", "geqrf", "householder_product", "triangular_solve"}
ALLOWED = {
    "sequential_halving": {"while"},  # several rounds of elimination may end at one pull; at most log2 K of them
    "successive_rejects": {"while"},  # the same function
    "uniform_allocation": {"while"},  # the same function
    "sa_foa": {"while", "cond"},  # its rule is evaluated once in a batch of pulls, not in each round
}
ROUND = ("select", "update", "stop")


def traced(algorithm, environment):
    """The program of each function of an algorithm on an environment, by its name."""
    programs, key = {}, jax.random.key(0)

    def trace(name, function, *arguments):
        if function is None:
            return None
        program, shape = jaxprs.trace(function, *arguments)
        programs[name] = jaxprs.read(program)
        return shape

    state, noise = trace("init", algorithm.init, key), trace("noise", algorithm.noise, key)
    for name in ("recommend", "stop", "pulls", "verify"):
        trace(name, getattr(algorithm, name), state)
    if algorithm.replan is not None:
        trace("due", algorithm.replan.due, state), trace("apply", algorithm.replan.apply, state)
    context = parts.context_of(environment)
    choice = trace("select", algorithm.select, noise, state, context)
    if isinstance(choice, Choice):
        programs["info"] = programs["select"]
    trace("update", algorithm.update, state, context, choice, parts.feedback_of(environment, context, choice))
    if algorithm.batch is not None and environment.batch is not None:
        pulls, world = trace("plan", algorithm.batch.plan, state), jax.eval_shape(environment.init, key)
        drawn = jax.eval_shape(environment.batch.noise, key)
        sums = trace("sums", environment.batch.sums, world, pulls, drawn)
        trace("absorb", algorithm.batch.absorb, state, pulls, sums)
    return programs


@functools.cache
def registered(name):
    return traced(*parts.pair(name))


def equations(program):
    """Those of a program and of the programs in it."""
    for equation in program.equations:
        yield equation
        for body in equation.programs:
            yield from equations(body)


def slow(programs):
    """Slow primitives of one round."""
    return {e.name for name in ROUND if name in programs for e in equations(programs[name])} & (BRANCHES | LAPACK)


@pytest.mark.slow
def test_a_round_has_no_branches_loops_of_unknown_length_or_lapack():
    found = {name: slow(registered(name)) for name in ALGORITHMS}
    assert {name: names for name, names in found.items() if names} == ALLOWED


def test_what_is_slow_is_seen():
    rule, world = jb.algorithms.ucb1(3), jb.environments.bernoulli([0.2, 0.5, 0.6])
    lazy = rule._replace(update=lambda *given: jax.lax.cond(given[3] > 0.5, rule.update, rule.update, *given))
    solved = rule._replace(stop=lambda state: jnp.linalg.inv(jnp.eye(3) * state.means[0])[0, 0] > 2)
    assert slow(traced(rule, world)) == set() and slow(traced(lazy, world)) == {"cond"}
    assert slow(traced(solved, world)) >= {"lu", "triangular_solve"}


def precisions(program):
    """The precisions of the factors of every product in a program."""
    products = ("dot_general", "ragged_dot_general", "conv_general_dilated")
    found = [e.params["precision"] for e in equations(program) if e.name in products]
    return {x for precision in found for x in np.broadcast_to(precision, 2)}


def test_no_algorithm_multiplies_at_the_default_precision():
    found = {(name, f): precisions(p) for name in ALGORITHMS for f, p in registered(name).items()}
    assert [where for where, some in found.items() if some - {jax.lax.Precision.HIGHEST}] == []


def test_the_default_precision_is_seen():
    programs = [
        jaxprs.read(jaxprs.trace(function, jnp.eye(2), jnp.eye(2))[0])
        for function in (lambda x, a: jax.lax.fori_loop(0, 3, lambda _, b: a @ b, x), dot)
    ]
    assert [precisions(program) for program in programs] == [{None}, {jax.lax.Precision.HIGHEST}]


def forms(name):
    """What the engine treats in a rule: its functions, its kind, and primitives by the ranks of what they read."""
    programs, entry = registered(name), ALGORITHMS[name]
    ranks = {
        (e.name, *(len(x.shape) for x in e.inputs))
        for program in programs.values()
        for e in equations(program)
        if not e.programs or e.name in ("while", "cond", "scan")
    }
    return ranks | {(entry.kind, entry.setting), *programs}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["simulate", "identify"])
def test_one_rule_of_each_form_has_every_form_that_a_rule_has(kind):
    """So that what is about the engine or a wrapper, and not about formulas, is tested with these alone."""
    every, some = set(), set()
    for name in (name for name, entry in ALGORITHMS.items() if entry.kind == kind):
        every |= forms(name)
        some |= forms(name) if name in parts.ONE_OF_EACH_FORM else set()
    assert every - some == set(), "add a rule that has it to parts.ONE_OF_EACH_FORM"


def multiplications(tree):
    """Lines of `@`, and of calls of a product of any module but NumPy, where jax.numpy is known.

    There `@` may be of NumPy's arrays or of JAX's, and nobody sees which: NumPy's are written np.matmul.
    """
    calls = "dot matmul einsum vdot tensordot inner vecdot matvec vecmat multi_dot dot_general dot_product_attention"
    calls = {*calls.split(), "convolve", "correlate", "conv_general_dilated"}
    if not any(a.name == "jax.numpy" for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            yield node.lineno
        if isinstance(node, ast.Attribute) and node.attr in calls and ast.unparse(node.value) != "np":
            yield node.lineno


def searches(tree):
    """Lines of `jnp.argmax` or `jnp.argmin` whose result is not cast at once; it is int64 under float64."""
    cast = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "astype"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("jnp.argmax", "jnp.argmin") and node not in cast:
            yield node.lineno


LINTS = {  # where the source is read, what is found there, what to write instead
    "multiplications": (ROOT.rglob("*.py"), multiplications, "numerics.dot"),
    "searches": (
        [path for wing in ("algorithms", "environments") for path in (ROOT / wing).rglob("*.py")],
        searches,
        "numerics.argmax",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LINTS)
def test_the_source_calls_numerics(name):
    files, lint, remedy = LINTS[name]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files if path.name != "numerics.py"}
    found = [f"{path.relative_to(ROOT)}:{line}" for path, tree in trees.items() for line in lint(tree)]
    assert len(trees) > 100 and found == [], f"use {remedy}"


def test_lines_that_do_not_call_numerics_are_seen():
    for line in ("x @ y", "x @= y", "jnp.dot(x, y)", "jnp.linalg.multi_dot(x)", "lax.dot_general(x, y)", "x.dot(y)"):
        assert list(multiplications(ast.parse(f"import jax.numpy as jnp\n{line}"))) == [2], line
        assert list(multiplications(ast.parse(line))) == []
    assert list(multiplications(ast.parse("import jax.numpy\nnp.matmul(x, y) + dot(x, y)"))) == []
    assert list(searches(ast.parse("x = jnp.argmax(y)\nz = jnp.argmax(y).astype(jnp.int32)"))) == [1]
