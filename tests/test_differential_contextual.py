"""Equal actions, round by round, between the linear rules on a context of floats and their NumPy references.

In worlds without chance they also have the pulls, check sums and regret of an independent program. There the two best
scores differ by 4e-5 or are equal, so that the compensated sums of float32 must lead to the same actions as float64.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import play
from reference import contextual_linear as reference
from tiers import a_few

import jaxbandit as jb
from jaxbandit.algorithms.contextual import hybrid_models
from jaxbandit.algorithms.contextual.hybrid_models import HybridModels
from jaxbandit.base.contract import Offer

pytestmark = pytest.mark.quickly_compiled

ROUNDS, ARMS, DIM = 1000, 5, 4
FEATURES = np.sin(1 + 2 * np.arange(ARMS)[:, None] + 3 * np.arange(3))
VECTOR, MATRIX, MASK = reference.vector_world(ROUNDS), reference.matrix_world(ROUNDS), reference.mask(ROUNDS)


def ours(algorithm, contexts, rewards, noise=None, available=None, x64=True):
    """Actions and their probabilities, 1 if the rule gives none."""

    given = contexts if available is None else Offer(available, contexts)
    found = play(lambda: algorithm, rewards, noise=noise, contexts=given, x64=x64)
    actions, pulls = found.actions, np.asarray(algorithm.pulls(found.last))
    assert actions.dtype == np.int32 and pulls.tolist() == np.bincount(actions, minlength=ARMS).tolist()
    return actions, np.ones(len(actions)) if found.info is None else found.info.probability


# Algorithm, the reference's decision and regularization, world, noise, mask, and pulls, check sum and regret.
TRACES = {
    "disjoint LinUCB": (
        lambda: jb.algorithms.lin_ucb_disjoint(ARMS, DIM, intercept=False),
        (reference.ucb(1.0), 1.0),
        (VECTOR, None, None),
        ([226, 221, 128, 245, 180], 981512, 21.497856),
    ),
    "disjoint Thompson": (
        lambda: jb.algorithms.lin_ts_disjoint(ARMS, DIM, sigma=0.3, intercept=False),
        (reference.thompson(0.3, VECTOR[3]), 0.09),
        (VECTOR, VECTOR[3], None),
        ([233, 216, 119, 245, 187], 972547, 32.404663),
    ),
    "OFUL": (
        lambda: jb.algorithms.lin_ucb_shared(
            ARMS, DIM, variant="oful", sigma=0.3, theta_norm=2.0, delta=0.001, intercept=False
        ),
        (reference.oful(0.3, 2.0, 0.001), 1.0),
        (MATRIX, None, None),
        ([193, 195, 195, 228, 189], 1014708, 19.938104),
    ),
    "shared LinUCB with the mask": (
        lambda: jb.algorithms.lin_ucb_shared(ARMS, DIM, intercept=False),
        (reference.ucb(1.0), 1.0),
        (MATRIX, None, MASK),
        ([194, 217, 206, 197, 186], 972121, 3.937388),
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_plays_the_published_trace_in_both_precisions(name):
    make, (decide, regularization), ((contexts, means, rewards, *_), noise, available), (pulls, check, regret) = TRACES[
        name
    ]
    actions, _ = ours(make(), contexts, rewards, noise, available)
    assert np.bincount(actions).tolist() == pulls and reference.check(actions) == check
    reachable = means if available is None else np.where(available, means, -np.inf)
    lost = reachable.max(1) - means[np.arange(ROUNDS), actions]
    assert np.sum(lost) == pytest.approx(regret, abs=5e-7)  # six decimals
    np.testing.assert_array_equal(
        actions, reference.play(contexts, rewards, decide, regularization, available)[0], "the reference"
    )
    np.testing.assert_array_equal(actions, ours(make(), contexts, rewards, noise, available, x64=False)[0], "float32")


UNIFORMS = np.random.default_rng(2).random(ROUNDS)
OTHERS = {
    "disjoint LinUCB": (
        lambda: jb.algorithms.lin_ucb_disjoint(ARMS, DIM, alpha=0.4, regularization=0.2),
        (VECTOR, reference.ucb(0.4), 0.2, None),
    ),
    "disjoint Thompson": (
        lambda: jb.algorithms.lin_ts_disjoint(ARMS, DIM, sigma=0.3, regularization=0.5),
        (VECTOR, reference.thompson(0.3, VECTOR[3]), 0.5, VECTOR[3]),
    ),
    "shared LinUCB": (
        lambda: jb.algorithms.lin_ucb_shared(ARMS, DIM, alpha=0.4, regularization=0.2),
        (MATRIX, reference.ucb(0.4), 0.2, None),
    ),
    "OFUL": (
        lambda: jb.algorithms.lin_ucb_shared(ARMS, DIM, variant="oful", horizon=ROUNDS, sigma=0.5, regularization=0.2),
        (MATRIX, reference.oful(0.5, 1.0, 1 / ROUNDS), 0.2, None),
    ),
    "greedy": (
        lambda: jb.algorithms.ridge_greedy(ARMS, (DIM,), regularization=0.2),
        (VECTOR, reference.epsilon_greedy(0.0, UNIFORMS), 0.2, UNIFORMS),
    ),
    "shared greedy": (
        lambda: jb.algorithms.ridge_greedy(ARMS, (ARMS, DIM)),
        (MATRIX, reference.epsilon_greedy(0.0, UNIFORMS), 1.0, UNIFORMS),
    ),
    "epsilon": (
        lambda: jb.algorithms.ridge_epsilon(ARMS, (DIM,), epsilon=0.3, regularization=0.2),
        (VECTOR, reference.epsilon_greedy(0.3, UNIFORMS), 0.2, UNIFORMS),
    ),
    "shared epsilon": (
        lambda: jb.algorithms.ridge_epsilon(ARMS, (ARMS, DIM)),
        (MATRIX, reference.epsilon_greedy(0.05, UNIFORMS), 1.0, UNIFORMS),
    ),
    "softmax": (
        lambda: jb.algorithms.ridge_softmax(ARMS, (DIM,)),
        (VECTOR, reference.softmax(0.1, UNIFORMS), 1.0, UNIFORMS),
    ),
    "shared softmax": (
        lambda: jb.algorithms.ridge_softmax(ARMS, (ARMS, DIM), temperature=0.3, regularization=0.2),
        (MATRIX, reference.softmax(0.3, UNIFORMS), 0.2, UNIFORMS),
    ),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", a_few(OTHERS))
def test_plays_as_its_reference_with_other_arguments(name, masked):
    make, ((contexts, _, rewards, *_), decide, regularization, noise) = OTHERS[name]
    available = MASK if masked else None
    actions, probabilities = ours(make(), contexts, rewards, noise, available)
    extended = reference.with_ones(contexts)
    expected, likely = reference.play(extended, rewards, decide, regularization, available)
    np.testing.assert_array_equal(actions, expected)
    if name not in ("greedy", "shared greedy"):  # which do not say them
        np.testing.assert_allclose(probabilities, likely, rtol=1e-9)  # rounding errors of 1,000 updates
    assert len(np.unique(actions)) == ARMS


@pytest.mark.parametrize(("variant", "sigma", "prior"), [("heuristic", 0.3, 0.09), ("theory", 0.02, 1.0)])
def test_shared_thompson_sampling_draws_theta_from_the_posterior(variant, sigma, prior):
    """Given the same z, theta + v F z of some root F of P: the actions follow from the root in the state."""
    (contexts, _, rewards), rounds = MATRIX, 300
    normals = np.random.default_rng(3).standard_normal((rounds, DIM))
    algorithm = jb.algorithms.lin_ts_shared(ARMS, DIM, variant=variant, sigma=sigma, delta=0.1, intercept=False)

    @jax.jit
    def run(*given):
        def step(state, given):
            context, reward, noise = given
            arm = algorithm.select(noise, state, context)
            return algorithm.update(state, context, arm, reward[arm]), (arm, state.models.root, state.models.theta)

        return jax.lax.scan(step, algorithm.init(jax.random.key(0)), given)[1]

    with jax.enable_x64(True):
        actions, roots, thetas = jax.device_get(run(contexts[:rounds], rewards[:rounds], normals))
    matrix, moment = prior * np.eye(DIM), np.zeros(DIM)
    for t, arm in enumerate(actions):
        np.testing.assert_allclose(np.matmul(roots[t], roots[t].T), np.linalg.inv(matrix), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(thetas[t], np.linalg.solve(matrix, moment), rtol=1e-9, atol=1e-12)
        scale = sigma if variant == "heuristic" else sigma * np.sqrt(9 * DIM * np.log((t + 1) / 0.1))
        drawn = thetas[t] + scale * np.matmul(roots[t], normals[t])
        assert arm == np.argmax(np.matmul(contexts[t], drawn))
        matrix, moment = (
            matrix + np.outer(contexts[t, arm], contexts[t, arm]),
            moment + rewards[t, arm] * contexts[t, arm],
        )
    assert len(np.unique(actions)) == ARMS


@pytest.mark.parametrize("others", [{}, {"alpha": 0.4, "regularization": 0.2}])
def test_hybrid_models_play_as_joint_ridge_regression(others):
    contexts, _, rewards, _ = VECTOR
    actions, _ = ours(jb.algorithms.lin_ucb_hybrid(FEATURES, DIM, **others), contexts, rewards)
    np.testing.assert_array_equal(actions, reference.hybrid(reference.with_ones(contexts), rewards, FEATURES, **others))
    assert len(np.unique(actions)) == ARMS


@pytest.mark.parametrize(("x64", "close"), [(True, 1e-12), (False, 2e-5)])
def test_scores_of_hybrid_models_are_those_of_joint_ridge_regression(x64, close):
    """After 1,000 rounds, to rounding: of float64 or of compensated float32."""
    contexts, _, rewards, _ = VECTOR
    own, turns = HybridModels(FEATURES, DIM, 0.5), np.arange(ROUNDS) * 7 % ARMS
    joint = reference.Arms(True, ARMS, DIM * 3 + ARMS * DIM, 0.5)

    def row(x, a):
        block = np.zeros((ARMS, DIM))
        block[a] = x
        return np.concatenate([np.outer(x, FEATURES[a]).ravel(), block.ravel()])

    for x, a, y in zip(contexts, turns, rewards, strict=True):
        joint.add(a, row(x, a), y[a])

    @jax.jit
    def run(x, arms, y):
        last = jax.lax.scan(lambda state, at: (own.update(state, *at), None), own.init(), (x, arms, y))[0]
        return own.by_arm(hybrid_models.mean, last, x[0]), own.by_arm(hybrid_models.width, last, x[0])

    with jax.enable_x64(x64):
        given = (
            jnp.asarray(contexts, float),
            turns.astype(np.int32),
            jnp.asarray(rewards[np.arange(ROUNDS), turns], float),
        )
        found = jax.device_get(run(*given))
    for mine, true in zip(found, joint.estimates([row(contexts[0], a) for a in range(ARMS)]), strict=True):
        np.testing.assert_allclose(mine, true, rtol=close, atol=close)


@pytest.mark.slow
def test_float32_widths_stay_accurate_where_plain_sums_do_not():
    """Contexts near one line for 10,000 rounds, so that V has condition 1e4: the relative error of every width."""
    rng, rounds = np.random.default_rng(0), 10_000
    rows = np.eye(20)[0] + 0.02 * rng.standard_normal((rounds, 20))
    algorithm = jb.algorithms.lin_ucb_disjoint(1, 20, intercept=False)

    @jax.jit
    def run(rows):
        def step(state, x):
            return algorithm.update(state, x, jnp.int32(0), x[1]), None

        return jax.lax.scan(step, algorithm.init(jax.random.key(0)), rows)[0].models.root[0]

    root = np.asarray(run(jnp.asarray(rows, jnp.float32)), float)
    rows = rows.astype(np.float32).astype(float)
    exact = np.einsum("ti,ij,tj->t", rows, np.linalg.inv(np.eye(20) + np.matmul(rows.T, rows)), rows)
    found = np.sum(np.matmul(rows, root) ** 2, 1)
    np.testing.assert_allclose(found, exact, rtol=2e-5)  # NumPy: 2.5e-6, and 2.5e-4 with plain sums or sums of P


def test_an_arm_of_probability_zero_is_never_drawn():
    """The last uniform number below 1 falls on the last arm that is available."""
    contexts, _, rewards, _ = VECTOR
    available = np.tile([True, False, True, True, False], (ROUNDS, 1))
    for make in (
        functools.partial(jb.algorithms.ridge_softmax, temperature=3.0),
        functools.partial(jb.algorithms.ridge_epsilon, epsilon=1.0),
    ):
        for x64, last in ((True, 1 - 2.0**-53), (False, 1 - 2.0**-24)):
            for u, arm in ((last, 3), (0.0, 0)):
                noise = np.full(ROUNDS, u)
                actions, _ = ours(make(ARMS, (DIM,)), contexts, rewards, noise, available, x64)
                assert available[0][actions].all() and (actions[3:] == arm).all()  # the three arms come first


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: jb.algorithms.lin_ucb_shared(3, 4, variant="oful"),
            "lin_ucb_shared: delta = None without a horizon, must",
        ),
        (lambda: jb.algorithms.lin_ucb_shared(3, 4, variant="oful", horizon=1), "lin_ucb_shared: horizon = 1, must"),
        (lambda: jb.algorithms.lin_ucb_hybrid([1.0], 2), r"lin_ucb_hybrid: arm_features has shape \(1,\), must"),
        (
            lambda: jb.algorithms.lin_ts_shared(3, 4, variant="theory"),
            "lin_ts_shared: delta = None without a horizon, must",
        ),
        (
            lambda: jb.algorithms.ridge_greedy(3, (4, 2)),
            r"ridge_greedy: shape = \(4, 2\), must be \(dim,\), .* or \(3, dim\)",
        ),
        (lambda: jb.algorithms.ridge_greedy(3, 4), r"ridge_greedy: shape = 4, must be \(dim,\)"),
        (lambda: jb.algorithms.ridge_greedy(3, (0,)), r"ridge_greedy: shape = \(0,\), must be \(dim,\)"),
        (lambda: jb.algorithms.ridge_greedy(3, ()), r"ridge_greedy: shape = \(\), must be \(dim,\)"),
    ],
)
def test_arguments_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


@pytest.mark.parametrize("context", [None, np.zeros(3), Offer(np.ones(3, bool)), Offer(np.ones(3, bool), np.zeros(3))])
def test_a_context_of_another_shape_is_refused(context):
    algorithm = jb.algorithms.lin_ucb_disjoint(3, 4)
    got = (
        "none"
        if context is None or (isinstance(context, Offer) and context.features is None)
        else r"one of shape \(3,\)"
    )
    message = rf"^the rule needs a context of floats of shape \(4,\) in every round, got {got}$"
    with pytest.raises(ValueError, match=message):
        algorithm.select(None, jax.eval_shape(algorithm.init, jax.random.key(0)), context)
