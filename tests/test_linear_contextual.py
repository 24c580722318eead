"""Linear contextual environments, the least squares under the linear policies, their refusals and their regret."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit.algorithms.regret.greedy import greedy
from jaxbandit.algorithms.regret.lin_ts import lin_ts
from jaxbandit.algorithms.regret.lin_ucb import lin_ucb
from jaxbandit.algorithms.regret.linear_policy import linear_level
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout import jaxprs
from jaxbandit.environments.linear_arms.linear import linear
from jaxbandit.environments.linear_arms.linear_contextual import linear_contextual
from jaxbandit.environments.linear_arms.linear_contextual_classes import linear_contextual_classes
from jaxbandit.environments.linear_arms.linear_contextual_random import linear_contextual_random
from jaxbandit.lab.experiments.experiment import run_experiment
from jaxbandit.lab.specs import spec
from jaxbandit.theory.estimators import recursive_least_squares as estimator

# Hao, Lattimore and Szepesvari (2020), Sections 5.1 with u = 0.1, 5.2 scenario one, and 5.3.
FIXED = np.array([[[1, 0], [0, 1], [0.9, 0.5]]])
CHANGING = np.array([[[1, 0, 0], [0, 1, 0], [0.9, 0.5, 0]], [[0, 1, 0], [0, 0, 1], [0, 0.5, 0.9]]])
BOUNDED = np.array([[[1, 0], [0, 1], [0.9, 0.5]], [[0, 1], [-1, 0], [-1, 0]]])
MASK = np.array([[True, True, True], [True, True, False]])


def test_a_draw_of_many_dimensions_is_no_longer_program():
    """Drawn one by one, 100 normals took half a minute to compile, and 500 more than ten minutes."""
    short, long = (
        len(jaxprs.read(jaxprs.trace(lin_ts(np.eye(dim)).noise, jax.random.key(0))[0]).equations) for dim in (9, 100)
    )
    assert short == long < 50


@pytest.mark.quickly_compiled
def test_means_gaps_and_padding():
    with jax.enable_x64(True):
        world = linear_contextual(CHANGING, np.array([0.3, 0.7]), np.array([1.0, 0.0, 1.0]), mask=MASK)
        state = world.init(jax.random.key(0))
        zero, one, two = (jnp.int32(i) for i in range(3))
        paid, padded = world.reward(state, one, one, (0.0, 0.25)), world.regret(state, one, two)
        state, paid, padded, whole = jax.device_get((state, paid, padded, world.regret(state, zero, two)))
    np.testing.assert_array_equal(state.means, [[1, 0, 0.9], [0, 1, -np.inf]])
    np.testing.assert_array_equal(state.gaps, [[0, 1, 1 - 0.9], [1, 0, 0]])
    assert (paid, whole) == (1.25, 1 - 0.9)
    assert np.isnan(padded)  # so that a run that takes a padded action ends as NONFINITE


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.statistical
def test_contexts_and_noise_have_their_laws():
    """Each frequency within 5 standard errors, moments of the normal too: false alarm below 1e-5."""
    probabilities, draws = np.array([0.2, 0.0, 0.5, 0.3, 0.0]), 100_000
    world = linear_contextual(np.tile(FIXED, (5, 1, 1)), probabilities, np.array([1.0, 0.0]))

    def draw(key):
        noise = world.noise(key)
        return world.observe(None, noise), noise[1]

    contexts, normals = jax.jit(jax.vmap(draw))(jax.random.split(jax.random.key(3), draws))
    error = np.sqrt(probabilities * (1 - probabilities) / draws)
    assert np.all(np.abs(np.bincount(contexts, minlength=5) / draws - probabilities) <= 5 * error)
    assert abs(np.mean(normals)) < 5 / np.sqrt(draws) and abs(np.var(normals) - 1) < 5 * np.sqrt(2 / draws)
    # The normal does not depend on the context.
    assert all(abs(np.mean(normals[contexts == m])) < 5 / np.sqrt(0.19 * draws) for m in (0, 2, 3))


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_one_context_is_the_linear_bandit():
    theta = np.array([1.0, 0.0])
    sums = []
    for world, features in ((linear(FIXED[0], theta), FIXED[0]), (linear_contextual(FIXED, np.ones(1), theta), FIXED)):
        algorithm = lin_ucb(features, horizon=300)
        record = simulate_cell(lambda _, a=algorithm, w=world: (a, w), {}, horizon=300, num_runs=64, seed=1)
        sums.append((record.pulls, record.recommendation))
        regret = record.regret
    for a, b in zip(*sums, strict=True):
        np.testing.assert_array_equal(a, b)
    # Summed over the rounds with compensation, against pulls times gaps: 300 float32 gaps below 1.
    np.testing.assert_allclose(regret[:, -1], sums[0][0] @ [0, 1, 0.1], atol=1e-4)


@pytest.mark.quickly_compiled
def test_theta_is_drawn_on_the_sphere_anew_in_each_run():
    world = linear_contextual_random(np.eye(3)[None], np.ones(1))
    state = jax.device_get(jax.jit(jax.vmap(world.init))(jax.random.split(jax.random.key(0), 50)))
    theta = state.means[:, 0]  # arms are the canonical basis
    np.testing.assert_allclose(np.linalg.norm(theta, axis=1), 1, rtol=1e-6)  # a few roundings of float32
    assert len(np.unique(theta[:, 0])) == 50 and (np.abs(theta.mean(0)) < 0.41).all()  # 5 / sqrt(3 * 50)
    np.testing.assert_allclose(state.gaps[:, 0], theta.max(1, keepdims=True) - theta)


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_an_experiment_in_toml_feeds_sets_and_mask():
    arguments = {"action_sets": CHANGING.tolist(), "probabilities": [0.3, 0.7], "mask": MASK.tolist()}
    experiment = spec.parse(
        {
            "kind": "simulate",
            "runs": 64,
            "horizon": 100,
            "instance": [
                {"name": "one", "type": "linear_contextual", "theta": [1, 0, 1], **arguments},
                {"name": "drawn", "type": "linear_contextual_random", **arguments},
            ],
            "algorithm": [{"type": "lin_ucb", "c": {"sweep": [0.5, 2.0]}}],
        },
        "here",
    )
    cells = list(experiment.cells())
    assert np.array_equal(cells[0].arguments["features"], CHANGING) and cells[0].arguments["horizon"] == 100
    assert np.array_equal(cells[0].arguments["mask"], MASK)
    assert cells[0].arguments["theta_norm"] == 2**0.5 and cells[2].arguments["theta_norm"] == 1.0
    assert not {"theta", "probabilities"} & set(cells[0].arguments)
    for result in run_experiment(experiment, None, execution=Execution(progress=False)):
        assert result.arrays["outcome"].max() <= 1  # no padded action
        pulls = result.arrays["pulls"]
        assert pulls.shape == (64, 6) and (pulls.sum(1) == 100).all() and (pulls[:, 5] == 0).all()


SETS = {"features": CHANGING, "horizon": 100}
WORLD = {"action_sets": CHANGING, "probabilities": np.array([0.3, 0.7]), "theta": np.array([1.0, 0.0, 1.0])}
REFUSED = {
    "sets that do not span": (lin_ucb, SETS | {"features": CHANGING[:1]}, "features span 2 of 3 dimensions"),
    "real arms do not span": (
        greedy,
        {"features": CHANGING, "mask": MASK & ([True], [False]) | np.array([[False] * 3, [True, False, False]])},
        "features span 2 of 3 dimensions",
    ),
    "horizon below the dimension": (lin_ucb, SETS | {"horizon": 2}, "horizon = 2, must be an integer >= 3"),
    "horizon of 1": (lin_ts, {"features": FIXED, "horizon": 1}, "horizon = 1, must be an integer >= 2"),
    "one arm": (lin_ucb, SETS | {"features": CHANGING[:, :1]}, "features has one arm per set"),
    "one arm, without context": (lin_ts, {"features": FIXED[0, :1], "horizon": 9}, "features has one arm per set"),
    "one real arm a set": (
        lin_ts,
        SETS | {"mask": np.array([[True, False, False]] * 2)},
        "features has one arm per set",
    ),
    "NaN in the features": (greedy, {"features": CHANGING * [1, 1, np.nan]}, "features[0, 0, 2] = nan"),
    "mask of another shape": (lin_ucb, SETS | {"mask": MASK[:1]}, "mask is bool[1, 3], must be bool[2, 3]"),
    "mask of numbers": (lin_ucb, SETS | {"mask": MASK * 1.0}, "mask is float64[2, 3], must be bool[2, 3]"),
    "a context without an arm": (greedy, {"features": CHANGING, "mask": MASK & ([True], [False])}, "mask[1] is all"),
    "probabilities below 1": (linear_contextual, WORLD | {"probabilities": np.array([0.3, 0.6])}, "must sum to 1"),
    "a negative probability": (linear_contextual, WORLD | {"probabilities": np.array([1.3, -0.3])}, "[1] = -0.3"),
    "a probability too many": (linear_contextual, WORLD | {"probabilities": np.ones(3) / 3}, "has 3 entries"),
    "theta of another dimension": (
        linear_contextual,
        WORLD | {"theta": np.ones(2)},
        "theta has 2 entries, must have 3",
    ),
    "NaN in theta": (linear_contextual, WORLD | {"theta": np.full(3, np.nan)}, "theta[0] = nan"),
    "sets of two axes": (linear_contextual, WORLD | {"action_sets": CHANGING[0]}, "must have 3 axes"),
    "worlds of one arm": (
        linear_contextual,
        WORLD | {"action_sets": CHANGING[:, :1]},
        "action_sets has one arm per set",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case):
    factory, arguments, words = REFUSED[case]
    with pytest.raises(ValueError) as refusal:
        factory(**arguments)
    line = str(refusal.value)
    assert line.startswith(f"{factory.__name__}: ") and words in line and "\n" not in line


def test_a_set_of_one_arm_beside_a_larger_one_is_played():
    mask = np.array([[True, False, False], [True, True, True]])
    algorithm = lin_ts(CHANGING, mask=mask, horizon=10)
    choose = jax.jit(lambda z: algorithm.select(z, algorithm.init(jax.random.key(0)), jnp.int32(0)))
    assert choose(jnp.array([-1.0, 1.0, 1.0])) == 0


def test_level_of_the_papers_horizon():
    # Figures of the specification, to its four decimals.
    for dim, level in ((2, 26.2476), (3, 30.3775)):
        assert abs(float(linear_level(10_000, dim, 1.0, np.log(10_000))) - level) < 1e-4


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("x64", [False, True])
def test_least_squares_agree_with_a_fresh_fit(x64):
    """Before and after the rows span, after 3,000 more of them that favour one; with and without regularisation."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((6, 4))
    rows[1] = -2 * rows[0]  # inside the span of those before it, as is rows[4]
    rows[4] = rows[0] + rows[2]
    # All of the first rows, each often, then nearly all pulls on one.
    order = np.concatenate([[0, 1, 2, 0, 3, 4, 5], rng.choice(6, 3000, p=[0.98, *[0.004] * 5])])
    rewards = rng.standard_normal(len(order))
    # Rounding of the rows is amplified by the design's condition, below 1e3 here; eps^0.7 leaves room for it.
    with jax.enable_x64(x64):
        kind = jnp.result_type(float)
        tolerance = float(jnp.finfo(kind).eps) ** 0.7
        x, y = (jnp.asarray(a, kind) for a in (rows[order], rewards))
        for prior in (None, 0.5):

            def step(estimate, pull):
                after = estimator.update(estimate, *pull)
                return after, (after, after.inverse)

            play = jax.jit(lambda x, y, p=prior: jax.lax.scan(step, estimator.init(4, p), (x, y))[1])
            out, inverse = jax.device_get(play(x, y))
            for n in (1, 2, 3, 4, 5, 6, 7, len(order)):
                pulled, paid = rows[order[:n]], rewards[:n]
                matrix = pulled.T @ pulled + (prior or 0.0) * np.eye(4)
                fresh, values = np.linalg.pinv(matrix, rcond=1e-10), np.linalg.eigvalsh(matrix)
                now = jax.tree.map(lambda leaf, n=n: leaf[n - 1], out)
                np.testing.assert_allclose(inverse[n - 1], fresh, rtol=tolerance, atol=tolerance * fresh.max())
                np.testing.assert_allclose(now.theta, fresh @ (pulled.T @ paid), rtol=tolerance, atol=tolerance)
                logdet = np.log(values[values > 1e-9 * values.max()]).sum()
                np.testing.assert_allclose(now.logdet, logdet, rtol=tolerance, atol=tolerance)
                if prior is None:
                    span = np.linalg.pinv(pulled) @ pulled
                    np.testing.assert_allclose(now.outside, np.eye(4) - span, atol=tolerance)
                    assert now.rank == np.linalg.matrix_rank(pulled)
                    assert now.rank < 4 or not now.outside.any()
                    inside = np.linalg.norm(rows - rows @ span, axis=1) < 1e-9
                    np.testing.assert_array_equal(estimator.residuals(now, jnp.asarray(rows, kind)) == 0, inside)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("sets", "probabilities", "regret", "error"),
    [(FIXED, [1.0], 118.0, 3.0), (BOUNDED, [0.8, 0.2], 8.5, 0.4)],
    ids=["fixed", "bounded"],
)
def test_lin_ucb_has_the_regret_of_an_independent_program(sets, probabilities, regret, error):
    """Its 200 runs against our 2,000, within three standard errors of the difference: false alarm 0.3 % each."""
    world = linear_contextual(sets, np.array(probabilities), np.array([1.0, 0.0]))
    algorithm = lin_ucb(sets, horizon=10_000)
    record = simulate_cell(lambda _: (algorithm, world), {}, horizon=10_000, num_runs=2000, seed=11)
    ours = np.sqrt(record.variance[-1] / 2000)
    assert ours < error / 2
    assert abs(record.mean[-1] - regret) < 3 * np.hypot(error, ours)
    assert record.outcome.max() <= 1


def test_classes_of_data_are_a_linear_instance():
    datasets = pytest.importorskip("sklearn.datasets")
    environment = linear_contextual_classes("wine", num_contexts=178, num_components=13)
    truth = environment.truth.parameters()
    features, theta = environment.known()["features"], truth["theta"]
    assert features.shape == (178, 3, 42) and np.linalg.matrix_rank(features.reshape(-1, 42)) == 42
    np.testing.assert_array_equal(truth["probabilities"], np.full(178, 1 / 178))
    # All rows, in the order drawn: regression on all components tells the three cultivars apart.
    order = np.random.default_rng(0).choice(178, 178, replace=False)
    assert ((features * theta).sum(2).argmax(1) == datasets.load_wine().target[order]).mean() > 0.98
    assert features[0, 0, 0] == 1 and not features[0, 0, 14:].any() and not features[0, 1, :14].any()


def test_what_is_known_is_apart_from_what_is_true():
    environment = linear_contextual(CHANGING, (0.3, 0.7), np.array([1.0, 0.0, 1.0]), mask=MASK, sigma=2.0)
    known = environment.known()
    assert set(known) == {"features", "mask", "sigma", "theta_norm"}
    assert set(environment.truth.parameters()) == {"theta", "probabilities"}
    assert known["theta_norm"] == 2**0.5 and known["sigma"] == 2.0
