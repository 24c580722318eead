"""The part of check_algorithm that plays short runs on difficult rewards, with one compilation for all of them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm, Choice, action_of
from jaxbandit.engine.layout import jaxprs
from jaxbandit.engine.rounds.step import stops
from jaxbandit.lab.conformance import check_actions
from jaxbandit.lab.conformance.check_case import (
    Case,
    as_arrays,
    explained,
    is_float,
    make_key,
    recommended,
    settled,
    waits,
)
from jaxbandit.support.types import Array, PyTree

LAWS = (
    "tied Bernoulli arms",
    "Bernoulli arms",
    "uniform rewards",
    "all rewards 0",
    "all rewards 1",
    "all rewards 1/2",
)
LANES = 64  # the smallest tile of the engine


class _Play(NamedTuple):
    """One run: its actions until it stopped, and the number of rounds with each kind of contract violation."""

    actions: PyTree  # int32[rounds], or as `Arms.action` declares
    outside: Array  # int32[], rounds with an arm out of range
    repeated: Array  # int32[], rounds with an arm twice in an ordered list
    infinite: Array  # int32[], rounds with a number in the action that is not finite
    absent: Array  # int32[], rounds whose action has regret NaN, because the context does not have it
    nan_state: Array  # int32[], rounds with a NaN in the state
    nan_index: Array  # int32[], rounds after the first num_arms with a NaN at an argmax of select
    miscounted: Array  # int32[], rounds in which pulls are not the true ones
    overdue: Array  # int32[], rounds in which a new plan was still due after one
    stopped_first: Array  # bool[], whether it stopped before any pull
    state: PyTree
    recommendation: PyTree
    stop: Array


VIOLATIONS = {  # by the field of a play that counts them: the property, what is wrong, and what to do
    "outside": ("range", "select leaves [0, {})", ""),
    "repeated": ("range", "select lists an arm twice", ", but declares ordered"),
    "infinite": ("finite", "select returns a number that is not finite", ""),
    "absent": ("range", "select returns an arm that its context does not have", ""),
    "nan_state": ("finite", "NaN in the state", "; guard divisions and logs"),
    "nan_index": ("finite", "NaN at an argmax of select", "; guard the index"),
    "miscounted": ("pulls", "pulls are not the true ones", ""),
    "overdue": ("replan", "a plan is still due after a new plan", "; apply must clear it"),
}


def _rewards(case: Case) -> np.ndarray:
    """Rewards [laws, rounds, num_arms]."""
    rng = np.random.default_rng(0)
    shape = (case.rounds, case.num_arms)
    means = np.linspace(0.2, 0.8, case.num_arms)
    random = [rng.random(shape) < 0.5, rng.random(shape) < means, rng.random(shape)]
    return np.stack([*random, np.zeros(shape), np.ones(shape), np.full(shape, 0.5)]).astype(case.dtype)


def _words(case: Case) -> np.ndarray:
    """Words of keys [laws, 2, 1 + rounds, 4], made in advance: XLA on a CPU recomputes chains of Threefry calls."""
    return np.random.default_rng(1).integers(0, 2**32, (len(LAWS), 2, 1 + case.rounds, 4), dtype=np.uint32)


def _has_nan(tree: PyTree) -> Array:
    flags = [jnp.any(jnp.isnan(leaf)) for leaf in jax.tree.leaves(tree) if is_float(leaf)]
    return jnp.any(jnp.stack(flags)) if flags else jnp.zeros((), bool)


def _watched(select: Callable[..., PyTree]) -> Callable[..., tuple[PyTree, Array]]:
    """Return `select` with a second result: whether a NaN reached an argmax or argmin, which actions may not show."""

    def watched(*arguments: PyTree) -> tuple[PyTree, Array]:
        traced, shape = jaxprs.trace(lambda *a: select(*a), *arguments)
        flags = [jnp.zeros((), bool)]

        def compute(equation: jaxprs.Equation, operands: list[Array]) -> Sequence[Array]:
            if equation.name in ("jit", "pjit") and (inner := equation.called) is not None:
                return jaxprs.evaluate(inner, operands, compute, lambda x: x)
            if equation.name in ("argmax", "argmin") and is_float(operands[0]):
                flags.append(jnp.any(jnp.isnan(operands[0])))
            return equation.bind(operands)

        selected = jaxprs.evaluate(jaxprs.read(traced), jax.tree.leaves(arguments), compute, lambda x: x)
        return jax.tree.unflatten(jax.tree.structure(shape), selected), jnp.any(jnp.stack(flags))

    return watched


def _play(case: Case, hyper: dict[str, Array], words: Array, rewards: Array) -> _Play:
    """Play one run of case.rounds rounds; keys [2, 1 + rounds] of environment and algorithm, the one of init first."""
    keys = jax.random.wrap_key_data(words, impl="threefry4x32")
    algorithm: Algorithm = case.make(case.num_arms, **hyper)
    select = _watched(algorithm.select)
    world_keys, own_keys = keys[0], keys[1]
    world = case.environment(case.num_arms) if case.environment else None
    world_state = world.init(world_keys[0]) if world else None
    begun = algorithm.init(own_keys[0])
    unpulled = jnp.zeros(case.num_pulls(algorithm, begun), jnp.int32)

    def body(carry: PyTree, step: PyTree) -> tuple[PyTree, PyTree]:
        before, pulls = carry
        t, own, worldly = step
        state = settled(algorithm, before)
        overdue, live = waits(algorithm, state), ~stops(algorithm, state)
        context: PyTree = world.observe(world_state, worldly) if world else None
        selected, nan_index = select(own, state, context)
        action = action_of(selected)
        safe, *wrong = check_actions.judged(algorithm, case.num_arms, action)
        reward = world.reward(world_state, context, safe, worldly) if world else rewards[t, safe]
        judge = world.regret if world else None
        absent = jnp.isnan(judge(world_state, context, safe)) if judge else jnp.zeros((), bool)
        choice = selected._replace(action=safe) if isinstance(selected, Choice) else safe
        after = algorithm.update(state, context, choice, reward)
        more = check_actions.pulled(algorithm, case.num_arms, len(pulls), context, safe)
        pulled = pulls if more is None else pulls + more
        counts = pulled if algorithm.pulls is None or more is None else algorithm.pulls(after)
        miscounted = jnp.any(counts != pulled.astype(counts.dtype))
        events = [*wrong, absent, _has_nan(after), nan_index & (t >= case.num_arms), miscounted, overdue]
        # As in the engine, rounds after the stop do not count.
        new_carry = jax.tree.map(lambda new, old: jnp.where(live, new, old), (after, pulled), (state, pulls))
        shown = jax.tree.map(lambda x: jnp.where(live, x, jnp.full_like(x, -1)), action)
        return new_carry, (shown, jnp.stack(events) & live, live)

    own = jax.vmap(algorithm.noise)(own_keys[1:])
    worldly = jax.vmap(world.noise)(world_keys[1:]) if world else None
    steps = jnp.arange(case.rounds, dtype=jnp.int32), own, worldly
    (state, _), (actions, events, lives) = jax.lax.scan(body, (begun, unpulled), steps)
    rounds = jnp.sum(events.astype(jnp.int32), axis=0, dtype=jnp.int32)
    last = (~lives[0], state, recommended(algorithm, state), stops(algorithm, state))
    return _Play._make((actions, *rounds, *last))


def check_plays(case: Case, *, single_runs: bool) -> None:
    """Play every value of the hyperparameters on all rewards, and with `single_runs` also compare single runs."""
    traces = []

    def play(hyper: dict[str, Array], words: Array, rewards: Array) -> _Play:
        traces.append(None)
        return _play(case, hyper, words, rewards)

    # NumPy arrays, because each JAX operation outside the plays would be compiled separately.
    laws, words = _rewards(case), _words(case)
    rows = [(as_arrays(case, hyper), words[law], laws[law]) for hyper in case.hyper for law in range(len(LAWS))]
    # As in the engine, whole vectors of runs: a remainder loop may round differently, and one ulp may decide a tie.
    padding = rows * LANES
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), *rows, *padding[: -len(rows) % LANES])
    many = jax.jit(jax.vmap(play))
    with explained(case, "a play"):
        out = jax.device_get(many(*batch))
    algorithm = case.make(case.num_arms, **case.hyper[0])
    end = case.num_pulls(algorithm, jax.eval_shape(algorithm.init, make_key()))
    end = end if algorithm.arms is None else algorithm.arms.num_candidates or end
    for row in range(len(rows)):
        setting = ", ".join(f"{k} = {v}" for k, v in case.hyper[row // len(LAWS)].items())
        law = "rewards of the environment" if case.environment else LAWS[row % len(LAWS)]
        one = jax.tree.map(lambda leaf, row=row: leaf[row], out)
        _check_run(case, one, ", ".join(filter(None, [law, setting])), end, check_actions.shaped(algorithm.arms))
    once = len(traces)
    reverse = jax.device_get(many(*jax.tree.map(lambda leaf: leaf[::-1], batch)))
    if len(traces) != once:
        case.fail(
            "compiled once",
            "a call with other values was traced again; keep shapes and types fixed",
        )
    _check_equal(case, out, jax.tree.map(lambda leaf: leaf[::-1], reverse), "at another place of the batch")
    if single_runs:
        single = jax.jit(play)
        # Only the rewards without ties, because the last bit of an index may differ in a separately compiled program.
        chosen = [row for row in range(len(rows)) if LAWS[row % len(LAWS)] == "uniform rewards"]
        one = [jax.device_get(single(*rows[row])) for row in chosen]
        some = jax.tree.map(lambda leaf: leaf[np.asarray(chosen)], out)
        _check_equal(case, some, jax.tree.map(lambda *leaves: np.stack(leaves), *one), "run alone")


def _check_run(case: Case, run: _Play, where: str, end: int, shaped: bool) -> None:
    for name, (check, what, remedy) in VIOLATIONS.items():
        if count := getattr(run, name):
            case.fail(check, f"{what.format(case.num_arms)} in {count} of {case.rounds} rounds ({where}){remedy}")
    if run.stopped_first:
        case.fail("stop", f"stop is True before any pull ({where}); it must be False while initial pulls are missing")
    for leaf in jax.tree.leaves(run.recommendation):
        if not np.all(np.isfinite(leaf)):
            case.fail("finite", f"recommend returns {leaf} ({where})")
        if np.issubdtype(leaf.dtype, np.integer) and end and not np.all((leaf >= 0) & (leaf < end)):
            case.fail("range", f"recommend returns {leaf}, must be in [0, {end}) ({where})")
        if leaf.ndim == 1 and not shaped and len(set(leaf.tolist())) < len(leaf):
            case.fail("range", f"recommend returns {leaf}, must contain each arm at most once ({where})")


def _check_equal(case: Case, batch: _Play, other: _Play, how: str) -> None:
    """Compare integers and booleans exactly, and floats up to rounding, which depends on the vector width."""
    paths = jax.tree_util.tree_leaves_with_path(batch)
    for (path, a), b in zip(paths, jax.tree.leaves(other), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            continue
        tolerance = float(jnp.finfo(a.dtype).eps) ** 0.5 if is_float(a) else 0.0
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
            name = jax.tree_util.keystr(path).lstrip(".")
            case.fail("side by side", f"{name} of a run differs {how}; compute from its own state and noise only")
