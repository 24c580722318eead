"""Equal arms and kinds of round, for 1,000 rounds, between OAM and OSSB in float64 and their NumPy references.

The references solve the allocation themselves where one dimension is left beyond the best arms, and through the
library's solver, which has tests of its own, where there are more.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import oam as reference_oam
from reference import ossb as reference_ossb

from jaxbandit.algorithms.regret.oam import KINDS, WASTED, oam
from jaxbandit.algorithms.regret.oam_practical import oam_practical
from jaxbandit.algorithms.regret.ossb import ossb
from jaxbandit.base.contract import action_of
from jaxbandit.theory.solvers.allocation import allocation

pytestmark = pytest.mark.quickly_compiled

ROUNDS, HORIZON = 1000, 10_000
RNG = np.random.default_rng(5)
SPHERE = RNG.normal(size=(1, 20, 3))
SPHERE /= np.linalg.norm(SPHERE, axis=2, keepdims=True)
PLANE = [[1, 0], [0, 1], [0.9, 0.5]]
SPACE = [[[1, 0, 0], [0, 1, 0], [0.9, 0.5, 0]], [[0, 1, 0], [0, 0, 1], [0, 0.5, 0.9]]]
INSTANCES = {  # action sets, probabilities, theta
    "5.1": (np.array([PLANE]), [1.0], [1, 0]),
    "5.1 far": (np.array([PLANE]), [1.0], [4, 0]),  # gaps of which 1,000 rounds tell much
    "5.2": (np.array(SPACE), [0.3, 0.7], [1, 0, 1]),
    "5.2 far": (np.array(SPACE), [0.3, 0.7], [4, 0, 4]),
    "5.3": (np.array([PLANE, [[0, 1], [-1, 0], [-1, 0]]]), [0.8, 0.2], [1, 0]),
    "random": (SPHERE, [1.0], [0.6, 0.0, 0.8]),
}
READINGS = {
    "zero": {},
    "paper": {"schedule": "paper"},
    "any": {"schedule": "paper", "exploit_if": "any"},
    "practical": {"exploit_if": "optimism", "budget": 1.0, "c": 0.5, "force": False},  # what oam_practical chooses
}


def rewards_of(name, seed=0):
    features, probabilities, theta = INSTANCES[name]
    rng = np.random.default_rng(seed)
    contexts = rng.choice(len(features), ROUNDS, p=probabilities)
    return contexts, (features @ np.array(theta, float))[None] + rng.standard_normal((ROUNDS, 1, 1))


def made(factory, features, mask=None, **options):
    return factory(features, mask=None if mask is None else np.array(mask), **options)


@functools.cache
def begin_and_replan(factory, **options):
    """What takes long to compile, and is the same for all readings."""
    return (
        jax.jit(lambda features: made(factory, features, **options).init(None)),
        jax.jit(lambda features, state: made(factory, features, **options).replan.apply(state)),
    )


def ours(factory, features, contexts, rewards, **options):
    """Arms, and kinds read off the counters, of one run."""
    same = {name: value for name, value in options.items() if name not in ("schedule", "exploit_if", "budget")}
    begin, replan = begin_and_replan(factory, **same)

    @jax.jit
    def step(state, context, rewards):
        algorithm = made(factory, features, **options)
        selected = algorithm.select(None, state, context)
        arm = action_of(selected)
        after = algorithm.update(state, context, selected, rewards[context, arm])
        return after, algorithm.replan.due(after), arm, jnp.argmax(after.kinds - state.kinds)

    record, due = [], False
    with jax.enable_x64(True):
        state = begin(features)
        for context, row in zip(contexts.astype(np.int32), rewards, strict=True):
            state = replan(features, state) if due else state
            state, due, arm, kind = step(state, context, row)
            record.append((int(arm), int(kind)))
    return record


@jax.jit
def _solve(features, gaps, level):
    return allocation(features, gaps, level).pulls


def larger(features, gaps, level):
    with jax.enable_x64(True):
        flat = np.array([gaps[m, a] for m in range(len(features)) for a in range(features.shape[1])])
        found = np.asarray(_solve(features.reshape(-1, features.shape[2]), flat, np.float64(level)))
    return dict(zip(gaps, found.tolist(), strict=True))


def compare(name, factory, play, sets=None, forceable=None, preset=None, **options):
    """Play both; return the kinds seen. `sets` are the arms of each context where some only pad.

    Only the reference is told the preset.
    """
    features = INSTANCES[name][0].astype(float)
    contexts, rewards = rewards_of(name)
    arms, own, theirs = range(features.shape[1]), {}, {}
    if sets:
        own = {"mask": tuple(tuple(a in some for a in arms) for some in sets), "spanner": True}
        theirs = {"forceable": forceable}
    mine = ours(factory, features, contexts, rewards, **options, **own)
    sets = sets or [list(arms)] * len(features)
    other = play(features, sets, contexts, rewards, larger, **options, **theirs, **(preset or {}))
    assert mine == other, next((t, a, b) for t, (a, b) in enumerate(zip(mine, other, strict=True), 1) if a != b)
    return {kind for _, kind in mine}


def cases(*pairs):
    """All but the first are slow."""
    return [pairs[0], *(pytest.param(*pair, marks=pytest.mark.slow) for pair in pairs[1:])]


PAPER = [(name, reading) for name in ("5.1", "5.2", "random") for reading in READINGS if reading != "practical"]
FAR = [("5.1 far", "zero"), ("5.2 far", "zero"), ("5.2 far", "practical")]


@pytest.mark.parametrize(("name", "reading"), cases(*PAPER, *FAR, ("5.1", "practical"), ("5.3", "zero")))
def test_oam(name, reading):
    if reading == "practical":
        seen = compare(name, oam_practical, reference_oam.play, preset=READINGS[reading], horizon=HORIZON)
    else:
        seen = compare(name, oam, reference_oam.play, horizon=HORIZON, **READINGS[reading])
    if (name, reading) in FAR:
        assert seen >= {KINDS.index(kind) for kind in ("start", "exploit", "unwasted", "wasted")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("force", "exploit"),
    [(True, {}), (False, {}), (True, {"exploit_if": "optimism", "budget": 0.3, "epsilon": 3.0})],
    ids=["forced", "unforced", "optimism"],
)
def test_oam_with_other_arguments(force, exploit):
    """A set of two arms beside one of three, and what is forced: the arms of each set's spanner."""
    options = {"horizon": 500, "epsilon": 0.15, "c": 0.3, "zeta": 0.4, "sigma": 0.8, "force": force, **exploit}
    # (.9, .5) is .9 (1, 0) + .5 (0, 1): the two are the spanner of the first set.
    sets = {"sets": [[0, 1, 2], [1, 2]], "forceable": [[0, 1], [1, 2]]}
    seen = compare("5.2 far", oam, reference_oam.play, **sets, **options)
    assert (KINDS.index("forced") in seen) == force and KINDS.index("wasted") in seen


def test_the_level_of_wasted_rounds():
    """LinUCB's in exploration round s is f_{n,1/s^2}: two arms whose gap lies between what s - 1, s and s + 1 bridge.

    1,000 rounds of regret do not tell s from s - 1: here the index itself decides.
    """
    few, many = 4, 10_000
    algorithm = oam(np.eye(2), horizon=HORIZON)

    def gap_bridged(s):
        log_n = np.log(HORIZON)
        level = 2 * (1 + 1 / log_n) * np.log(s**2) + 2 * np.log(2 * log_n)
        return np.sqrt(level) * (1 / np.sqrt(few) - 1 / np.sqrt(many))

    @jax.jit
    @jax.vmap
    def play(s, gap):
        state = algorithm.init(jax.random.key(0))
        root = jnp.diag(jnp.array([many, few], float) ** -0.5)
        estimate = state.estimate._replace(root=root, theta=jnp.array([0.5 + gap, 0.5]), rank=jnp.int32(2))
        state = state._replace(
            round=jnp.int32(many),
            estimate=estimate,
            shared=state.shared._replace(pulls=jnp.array([many, few], jnp.int32)),
            kinds=state.kinds.at[WASTED].set(s - 1),
            targets=jnp.array([jnp.inf, 0.0]),
        )
        selected = algorithm.select(None, state, None)
        return selected.action, jnp.argmax(algorithm.update(state, None, selected, 0.0).kinds - state.kinds)

    rounds = np.repeat(np.array([2, 3, 10, 100], np.int32), 2)
    near = np.tile([1 - 1e-6, 1 + 1e-6], 4)
    with jax.enable_x64(True):
        arms, kinds = play(rounds, near * gap_bridged(rounds))
    np.testing.assert_array_equal(arms, np.tile([1, 0], 4))
    np.testing.assert_array_equal(kinds, WASTED)


LEAST, OWN = "least_squares", "arm_means"


OSSB = [("5.1", LEAST), ("5.1 far", LEAST), ("5.2", LEAST), ("random", LEAST), ("5.2", OWN), ("5.3", OWN)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "estimator"), OSSB)
def test_ossb(name, estimator):
    options = {"epsilon": 0.05, "gamma": 0.1, "sigma": 0.9, "estimator": estimator}
    assert len(compare(name, ossb, reference_ossb.play, **options)) > 1
