"""Equal actions, round by round, between the linear policies in float64 and their NumPy references.

Both meet the same contexts, reward noise and, in Thompson sampling, normals; each sees the rewards of its own actions.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import play
from reference import greedy as reference_greedy
from reference import lin_ts as reference_lin_ts
from reference import lin_ucb as reference_lin_ucb

from jaxbandit.algorithms.regret.greedy import greedy
from jaxbandit.algorithms.regret.lin_ts import lin_ts
from jaxbandit.algorithms.regret.lin_ucb import lin_ucb

pytestmark = pytest.mark.quickly_compiled

ROUNDS, RUNS = 1000, 2


def unit_vectors(num_arms, dim, seed):
    drawn = np.random.default_rng(seed).standard_normal((num_arms, dim))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


# Action sets, probabilities, theta: Hao et al. (2020), Section 5.1, scenario one of 5.2 with one arm twice, so that the
# other set is padded, and a random set.
INSTANCES = {
    "fixed": ([np.array([[1, 0], [0, 1], [0.9, 0.5]])], [1.0], np.array([1.0, 0.0])),
    "changing": (
        [np.array([[1, 0, 0], [0, 1, 0], [0.9, 0.5, 0], [0, 1, 0]]), np.array([[0, 1, 0], [0, 0, 1], [0, 0.5, 0.9]])],
        [0.3, 0.7],
        np.array([1.0, 0.0, 1.0]),
    ),
    "random": ([unit_vectors(20, 5, 3)], [1.0], np.eye(5)[0]),
}
# What the defaults cannot show, arguments of another value, is shown on one instance.
ALGORITHMS = {
    "fn": (lin_ucb, reference_lin_ucb.play, {}),
    "oful": (lin_ucb, reference_lin_ucb.play, {"variant": "oful"}),
    "heuristic": (lin_ts, reference_lin_ts.play, {}),
    "theory": (lin_ts, reference_lin_ts.play, {"variant": "theory"}),
    "greedy": (greedy, reference_greedy.play, {}),
    "fn, others": (lin_ucb, reference_lin_ucb.play, {"c": 0.5, "delta": 0.1, "sigma": 0.5}),
    "oful, others": (
        lin_ucb,
        reference_lin_ucb.play,
        {"variant": "oful", "delta": 0.1, "sigma": 0.5, "theta_norm": 2.0, "regularization": 0.3},
    ),
    "heuristic, others": (lin_ts, reference_lin_ts.play, {"sigma": 0.5}),
    "theory, others": (lin_ts, reference_lin_ts.play, {"variant": "theory", "delta": 0.1, "sigma": 0.5}),
}


def padded(sets):
    """The sets with rows of 7 where one is shorter, and the mask of the real ones."""
    longest = max(map(len, sets))
    mask = np.arange(longest)[None] < np.array([[len(rows)] for rows in sets])
    rows = [np.concatenate([x, np.full((longest - len(x), x.shape[1]), 7.0)]) for x in sets]
    return np.stack(rows), None if mask.all() else mask


def ours(factory, hyper, sets, theta, contexts, normals):
    """Actions [RUNS, ROUNDS], and the algorithm's noise."""
    features, mask = padded(sets)
    if factory is not greedy:
        hyper = {"horizon": ROUNDS, **hyper}
    make = functools.partial(factory, features if len(sets) > 1 else features[0], mask=mask, **hyper)
    rewards = features[contexts] @ theta + hyper.get("sigma", 1.0) * normals[..., None]
    found = play(make, rewards, seed=7, contexts=contexts.astype(np.int32) if len(sets) > 1 else None)
    return found.actions, found.noise


QUICK = ("fn", "heuristic")
CASES = [
    (name, instance) for name in ALGORITHMS for instance in INSTANCES if "others" not in name or instance == "changing"
]


@pytest.mark.parametrize(
    ("name", "instance"), [c if c[0] in QUICK else pytest.param(*c, marks=pytest.mark.slow) for c in CASES]
)
def test_plays_as_its_reference(name, instance):
    (sets, probabilities, theta), (factory, reference, hyper) = INSTANCES[instance], ALGORITHMS[name]
    rng = np.random.default_rng(7)
    contexts = rng.choice(len(sets), p=probabilities, size=(RUNS, ROUNDS))
    if len(sets) > 1:
        # Rounds 3 to 6 find no arm outside the span, and (0, 1, 0), pulled in the other context, counts as pulled.
        contexts[:, :6] = [1, 0, 0, 0, 0, 0]
    normals = rng.standard_normal((RUNS, ROUNDS))
    actions, own = ours(factory, hyper, sets, theta, contexts, normals)
    sigma = hyper.get("sigma", 1.0)
    for run in range(RUNS):
        rewards = [lambda x, z=z: x @ theta + sigma * z for z in normals[run]]
        more = {"normals": own[run]} if factory is lin_ts else {}
        expected = reference(sets, contexts[run], rewards, **more, **hyper)
        np.testing.assert_array_equal(actions[run], expected)
    assert len(np.unique(actions)) >= (2 if factory is greedy else 3)  # the stream asks about several arms


def test_the_scale_of_the_theory_of_thompson_sampling():
    """sqrt(9 d log(t / delta)): one normal lifts the second arm just above the first's lead, or just not."""
    delta, sigma, rounds = 0.1, 0.5, np.repeat([1, 20, 3000], 2)
    algorithm = lin_ts(np.eye(2), horizon=ROUNDS, variant="theory", delta=delta, sigma=sigma)

    @jax.jit
    @jax.vmap
    def choose(t, lead):
        state = algorithm.init(jax.random.key(0))
        estimate = state.estimate._replace(theta=jnp.array([1.0, 0.0]) * lead)
        return algorithm.select(jnp.array([0.0, 1.0]), state._replace(round=t, estimate=estimate), None)

    lifted = sigma * np.sqrt(9 * 2 * np.log(rounds / delta))
    with jax.enable_x64(True):
        arms = choose(rounds.astype(np.int32), lifted * np.tile([1 - 1e-6, 1 + 1e-6], 3))
    np.testing.assert_array_equal(arms, np.tile([1, 0], 3))
