"""The part of check_algorithm that only traces: types, precision, sources of randomness, purity."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbandit.base.batches import Batch
from jaxbandit.base.contract import Algorithm, Arms, Phases, Replan, action_of
from jaxbandit.engine.layout import jaxprs
from jaxbandit.engine.layout.jaxprs import Program
from jaxbandit.engine.rounds import actions
from jaxbandit.lab.conformance.check_actions import shaped
from jaxbandit.lab.conformance.check_case import (
    Case,
    CheckFailed,
    as_arrays,
    check_floats,
    check_same_types,
    describe,
    explained,
    flag,
    leaves,
    make_key,
    recommended,
)
from jaxbandit.support.types import Array, Key, PyTree


class _Round(NamedTuple):
    """The results of the functions in one round, None for functions that an algorithm does not have."""

    state: PyTree
    noise: PyTree
    selected: PyTree  # an action, or a Choice
    feedback: PyTree
    after: PyTree
    recommendation: PyTree
    stop: Array | None
    planned: Array | None


def _context(case: Case, key: Key) -> PyTree:
    if case.environment is None:
        return None
    world = case.environment(case.num_arms)
    return world.observe(world.init(key), world.noise(key))


def _feedback(case: Case, context: PyTree, action: PyTree, key: Key) -> PyTree:
    """The first feedback on an action."""
    if case.environment is None:
        return jnp.zeros((), case.dtype)
    world = case.environment(case.num_arms)
    return world.reward(world.init(key), context, action, world.noise(key))


def _check_returned(case: Case, name: str, returned: PyTree) -> None:
    if returned is None:
        case.fail("types", f"{name} returns None; is a return statement missing?")


def _check_action(case: Case, arms: Arms | None, action: PyTree) -> None:
    """Check the type of an action: int32[], or what the algorithm declares."""
    if arms is None or arms.action is None:
        action = jnp.asarray(action)
        if (action.shape, action.dtype) != ((), np.int32):
            case.fail("types", f"select returns {describe(action)}, must be int32[]; add .astype(jnp.int32)")
        return
    if reason := actions.contradiction(arms):
        case.fail("types", f"{reason}; correct the declaration")
    if reason := actions.misfit(arms, action):
        case.fail("types", f"select returns {reason}, but Arms.action is {actions.described(arms)}; cast one of them")
    check_floats(case, leaves(action, "action"))
    if case.environment is None:
        case.fail("types", f"nobody pays for an action {actions.described(arms)}; give check_algorithm an environment")


def _one_round(case: Case, algorithm: Algorithm, key: Key) -> _Round:
    """Run the first round; each function fails under its own name, and each result is checked before it is used."""
    with explained(case, "init"):
        state = algorithm.init(key)
    if algorithm.pulls is not None:
        with explained(case, "pulls"):
            pulls = algorithm.pulls(state)
        _check_returned(case, "pulls", pulls)
        pulls = jnp.asarray(pulls)
        if pulls.shape != (case.num_pulls(algorithm, state),) or not jnp.issubdtype(pulls.dtype, jnp.integer):
            case.fail("types", f"pulls returns {describe(pulls)}, must be int32[{case.num_pulls(algorithm, state)}]")
    with explained(case, "noise"):
        noise = algorithm.noise(key)
    check_floats(case, leaves(state, "state") | leaves(noise, "noise"))
    with explained(case, "the environment"):
        context = _context(case, key)
    with explained(case, "select"):
        selected = algorithm.select(noise, state, context)
        action = jax.tree.map(jnp.asarray, action_of(selected))
    _check_returned(case, "select", action)
    _check_action(case, algorithm.arms, action)
    with explained(case, "the environment"):
        feedback = _feedback(case, context, action, key)
    with explained(case, "update"):
        after = algorithm.update(state, context, selected, feedback)
    if state is not None:
        _check_returned(case, "update", after)
    check_same_types(case, leaves(state, "state"), leaves(after, "state"), "init", "update")
    with explained(case, "recommend"):
        recommendation = recommended(algorithm, after)
    check_floats(case, leaves(recommendation, "recommendation"))
    arms = () if shaped(algorithm.arms) else getattr(recommendation, "shape", ())
    if len(arms) == 1 and (recommendation.dtype != np.int32 or not 1 <= arms[0] <= case.num_arms):
        case.fail("types", f"recommend returns {describe(recommendation)}, must be int32[m], m arms")
    stop = None if algorithm.stop is None else flag(case, "stop", algorithm.stop, after, "None if it does not stop")
    return _Round(state, noise, selected, feedback, after, recommendation, stop, _optional(case, algorithm, after))


def _optional(case: Case, algorithm: Algorithm, state: PyTree) -> Array | None:
    """Check the optional functions on a state, and return the pulls that a batch plans, or None."""
    before = leaves(state, "state")
    if algorithm.phases is not None:
        with explained(case, "phases.counts"):
            counts = jnp.asarray(algorithm.phases.counts(state))
        size = len(algorithm.phases.names)
        if (counts.shape, counts.dtype) != ((size,), np.int32):
            case.fail("types", f"phases.counts returns {describe(counts)}, must be int32[{size}], one per name")
    if algorithm.verify is not None:
        flag(case, "verify", algorithm.verify, state, "one verdict per run")
    if algorithm.replan is not None:
        flag(case, "replan.due", algorithm.replan.due, state, "one answer per run")
        with explained(case, "replan.apply"):
            fresh = algorithm.replan.apply(state)
        check_same_types(case, before, leaves(fresh, "state"), "update", "replan.apply")
    if algorithm.batch is None:
        return None
    with explained(case, "batch.plan"):
        planned = jnp.asarray(algorithm.batch.plan(state))
    if planned.shape != (case.num_arms,) or not jnp.issubdtype(planned.dtype, jnp.integer):
        case.fail("types", f"batch.plan returns {describe(planned)}, must be int32[{case.num_arms}], pulls of each arm")
    with explained(case, "batch.absorb"):
        sums = [jnp.zeros(case.num_arms, case.dtype)] * (1 + algorithm.batch.squares)
        after = algorithm.batch.absorb(state, planned, *sums)
    check_same_types(case, before, leaves(after, "state"), "update", "batch.absorb")
    return planned


def check_types(case: Case) -> _Round:
    """Check that one round can be traced, for concrete and for traced hyperparameters; return its shapes and types."""

    def first(hyper: dict[str, np.ndarray]) -> _Round:
        with explained(case, "the factory"):
            algorithm = case.make(case.num_arms, **case.hyper[0] | hyper)
        if not isinstance(algorithm, Algorithm):
            case.fail("traceable", f"the factory returned {type(algorithm).__name__}; return an Algorithm")
        return _one_round(case, algorithm, make_key())

    def look(values: dict[str, np.ndarray], names: str) -> None:
        with explained(case, f"hyperparameter {names}"):
            try:
                traced = jax.eval_shape(first, values)
            except CheckFailed as error:
                raise (error.__cause__ or error) from None
        after = leaves(traced.state, "state")
        check_same_types(case, before, after, f"init with {names} = a number", f"{names} traced")

    out, values = jax.eval_shape(lambda: first({})), as_arrays(case, case.hyper[0])
    before = leaves(out.state, "state")
    try:
        if values:
            look(values, ", ".join(values))
    except CheckFailed:  # which of them, if it is one alone
        for name, value in values.items():
            look({name: value}, name)
        raise
    return out


def _draws(program: Program) -> bool:
    """Whether the program draws any random numbers."""
    return any(e.name.startswith(("random_", "threefry")) or any(map(_draws, e.programs)) for e in program.equations)


def _draws_from_nothing(program: Program, from_inputs: Sequence[bool]) -> bool:
    """Whether a key is the same in every run, because it is derived from no input that is marked in `from_inputs`."""
    names = []

    def derived(equation: jaxprs.Equation, flags: list[bool]) -> list[bool]:
        name = equation.name
        if name == "random_seed" or (name in ("random_bits", "random_fold_in", "random_split") and not flags[0]):
            names.append(name)
        for inner in equation.programs:
            known = flags if len(inner.inputs) == len(flags) else [True] * len(inner.inputs)
            if _draws_from_nothing(inner, known):
                names.append(name)
        return [any(flags)] * len(equation.results)

    jaxprs.evaluate(program, from_inputs, derived, lambda _: False)
    return bool(names)


class Programs(NamedTuple):
    """An algorithm and its functions as they were traced first."""

    algorithm: Algorithm
    out: _Round
    texts: dict[str, str]


def _trace(case: Case, algorithm: Algorithm, out: _Round) -> dict[str, Any]:
    context = jax.eval_shape(lambda: _context(case, make_key()))
    sums = [jax.ShapeDtypeStruct((case.num_arms,), case.dtype)] * (
        1 + bool(algorithm.batch and algorithm.batch.squares)
    )
    arguments = {  # all other functions take the state
        "init": (make_key(),),
        "noise": (make_key(),),
        "select": (out.noise, out.state, context),
        "update": (out.state, context, out.selected, out.feedback),
        "batch.absorb": (out.state, out.planned, *sums),
    }
    # A new function each time, because JAX would otherwise use its cache and not call the algorithm's function again.
    return {
        name: jaxprs.trace(lambda *a, f=f: f(*a), *arguments.get(name, (out.state,)))[0]
        for name, f in _functions(algorithm).items()
    }


def _functions(algorithm: Algorithm) -> dict[str, Callable]:
    """The functions of an algorithm by name, those of its records as in replan.due."""
    functions: dict[str, Callable] = {}
    for name, part in algorithm._asdict().items():
        if callable(part):
            functions[name] = part
        elif isinstance(part, Phases | Replan | Batch):
            functions |= {f"{name}.{k}": f for k, f in part._asdict().items() if callable(f)}
    return functions


def _text(case: Case, name: str, program: Any) -> str:
    """The program and its constants as text, without the addresses of Python functions."""
    constants = jaxprs.read(program).constants
    if any(isinstance(const, Tracer) for const in constants):
        case.fail("pure", f"{name} uses a traced value stored outside the state; put it in the state")
    plain = [c for c in constants if not jnp.issubdtype(c.dtype, jax.dtypes.prng_key)]
    return re.sub(r"0x[0-9a-f]+", "", str(program)) + " ".join(np.asarray(c).tobytes().hex() for c in plain)


def check_programs(case: Case, out: _Round) -> Programs:
    """Check where random numbers are drawn; `out` is from check_types. Returns the programs, for check_same."""
    algorithm = case.make(case.num_arms, **case.hyper[0])
    programs = _trace(case, algorithm, out)
    noise = jaxprs.read(programs["noise"])
    keys = any(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in noise.output_types)
    if noise.outputs and not (keys or _draws(noise)):
        case.fail("chance", "noise draws no random numbers; use none()")
    for name, program in programs.items():
        if _draws_from_nothing(read := jaxprs.read(program), [True] * len(read.inputs)):
            case.fail("chance", f"{name} draws from a key of its own, which is the same in every run; draw in noise")
    return Programs(algorithm, out, {name: _text(case, name, program) for name, program in programs.items()})


def check_same(case: Case, programs: Programs) -> None:
    """Check that the functions trace to the same programs as before the plays."""
    for name, program in _trace(case, programs.algorithm, programs.out).items():
        if _text(case, name, program) != programs.texts[name]:
            case.fail(
                "pure",
                f"{name} traced again is another program; keep what changes in the state, not in Python",
            )
