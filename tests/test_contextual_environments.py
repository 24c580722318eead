"""Environments with contexts: laws of contexts and rewards against closed forms, gaps, tables, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusals
from scipy import stats

import jaxbandit as jb
from jaxbandit import environments as worlds
from jaxbandit.base.contract import Arms, Offer
from jaxbandit.engine.driver.tile_loop import TileLoop
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.environments import data_sets
from jaxbandit.running import sizes

pytestmark = pytest.mark.quickly_compiled

LEVEL = 1e-4  # of each statistical test, over all it looks at together (Bonferroni), with a fixed seed
ROUNDS = 4000
THETA = np.array([[1.0, 0.2, -0.3], [-0.5, 0.9, 0.1]])
TABLE = np.array([[1.0, 0.0, 0.5], [0.6, 0.8, 0.0], [0.0, -1.0, 0.25]])
CONTEXTS = np.array([[1.0, 0.5], [2.0, -0.5], [3.0, 0.25]])
REWARDS = np.array([[0.0, 1.0, 0.25], [0.5, 0.75, 0.0], [1.0, 0.0, 0.5]])
OFFERED = np.array([[True, False, True], [True, True, True], [False, True, False]])


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def played(environment, rounds=ROUNDS, seed=0):
    """Play one run: its first state; and of every round its context, and rewards and regrets of all arms."""
    keys = keys_of(rounds + 1, seed)
    arms = jnp.arange(environment.arms.num_arms, dtype=jnp.int32)
    world = jax.jit(environment.init)(keys[0])

    def one(state, key):
        noise = environment.noise(key)
        context = environment.observe(state, noise)
        paid = jax.vmap(lambda arm: environment.reward(state, context, arm, noise))(arms)
        missed = jax.vmap(lambda arm: environment.regret(state, context, arm))(arms)
        after = environment.transition(state, context, arms[0], noise) if environment.transition else state
        return after, (context, paid, missed)

    _, seen = jax.jit(lambda world, keys: jax.lax.scan(one, world, keys))(world, keys[1:])
    return world, *jax.device_get(seen)


def keys_of(number, seed):
    return jax.random.split(jax.random.key(seed, impl="threefry4x32"), number)


def uniform_on_the_sphere(rows, pieces):
    """Check rows in three dimensions: their norm is 1 and, by Archimedes, every coordinate is uniform in (-1, 1)."""
    np.testing.assert_allclose((rows**2).sum(-1), 1, rtol=1e-12)
    for j in range(3):
        assert stats.kstest(rows[..., j].ravel(), stats.uniform(-1, 2).cdf).pvalue > LEVEL / pieces


@pytest.mark.slow
@pytest.mark.parametrize("law", ["normal", "sphere"])
@pytest.mark.parametrize("kind", ["vectors", "matrix"])
def test_contexts_and_rewards_follow_their_laws(kind, law):
    """8 tests at most share LEVEL; a sphere in three dimensions has uniform coordinates."""
    if kind == "vectors":
        environment, shape, theta = worlds.linear_vectors(THETA, sigma=0.5, law=law), (3,), THETA
    else:
        environment, shape, theta = worlds.linear_matrix(THETA[0], 4, sigma=0.5, law=law), (4, 3), THETA[:1]
    assert environment.arms == Arms(len(theta) if kind == "vectors" else 4, context=shape)
    world, contexts, paid, missed = played(environment)
    np.testing.assert_array_equal(world.theta, theta if kind == "vectors" else theta[0])
    assert contexts.shape == (ROUNDS, *shape)
    rows = contexts.reshape(-1, 3)
    if law == "sphere":
        uniform_on_the_sphere(rows, 8)
        assert stats.pearsonr(contexts[:-1, ..., 0].ravel(), contexts[1:, ..., 0].ravel()).pvalue > LEVEL / 8
    else:
        for j in range(3):
            assert stats.kstest(rows[:, j], stats.norm(0, 3**-0.5).cdf).pvalue > LEVEL / 8
        assert stats.pearsonr(rows[:, 0], rows[:, 1]).pvalue > LEVEL / 8
    means = contexts @ theta.T if kind == "vectors" else contexts @ theta[0]
    np.testing.assert_allclose(missed, means.max(1, keepdims=True) - means, atol=1e-12)
    errors = paid - means
    np.testing.assert_allclose(errors, errors[:, :1].repeat(means.shape[1], 1), atol=1e-12)  # shared by the arms
    assert stats.kstest(errors[:, 0], stats.norm(0, 0.5).cdf).pvalue > LEVEL / 8
    assert stats.pearsonr(errors[:, 0], rows[:: len(rows) // ROUNDS, 0]).pvalue > LEVEL / 8


@pytest.mark.parametrize("kind", ["vectors", "matrix"])
def test_a_run_draws_its_theta_on_the_sphere_if_none_is_given(kind):
    make = {
        "vectors": lambda: worlds.linear_vectors(num_arms=2, dim=3),
        "matrix": lambda: worlds.linear_matrix(None, 2, dim=3),
    }
    environment = make[kind]()
    drawn = jax.jit(jax.vmap(environment.init))(keys_of(2000, 1)).theta
    assert drawn.shape == ((2000, 2, 3) if kind == "vectors" else (2000, 3))
    uniform_on_the_sphere(np.asarray(drawn), 3)
    assert environment.truth.parameters() == {}


@pytest.mark.slow
def test_every_row_of_a_table_is_drawn_as_often_and_gathered_exactly():
    """Three chi-squared tests share LEVEL."""
    pairs = np.stack([TABLE[:2], TABLE[1:]])
    for environment, entries in (
        (worlds.linear_vectors(THETA, law=TABLE), TABLE),
        (worlds.linear_matrix(THETA[0], 2, law=TABLE), TABLE),
        (worlds.linear_matrix(THETA[0], 2, law=pairs), pairs),
    ):
        world, contexts, _, _ = played(environment)
        np.testing.assert_array_equal(world.table, entries)
        drawn = contexts.reshape(-1, *entries.shape[1:])
        equal = (drawn[:, None] == entries[None]).reshape(len(drawn), len(entries), -1).all(2)
        assert (equal.sum(1) == 1).all()
        assert stats.chisquare(equal.sum(0)).pvalue > LEVEL / 3


def test_each_arm_draws_a_row_of_its_own_from_a_table_of_rows():
    environment = worlds.linear_matrix(THETA[0], 2, law=TABLE)
    _, contexts, _, _ = played(environment)
    first, second = ((contexts[:, a, None] == TABLE[None]).all(2).argmax(1) for a in (0, 1))
    counts = np.histogram2d(first, second, bins=3)[0]
    assert stats.chi2_contingency(counts).pvalue > LEVEL


@pytest.mark.parametrize("kind", ["vectors", "matrix"])
def test_logistic_rewards_have_the_probability_of_their_log_odds(kind):
    """On a table of three contexts; nine exact binomial tests at most share LEVEL."""
    if kind == "vectors":
        environment = worlds.logistic_vectors(THETA, slope=2.0, shift=-1.0, law=TABLE)
        means = 1 / (1 + np.exp(1 - 2 * TABLE @ THETA.T))
        rows = TABLE
    else:
        rows = np.stack([TABLE[:2], TABLE[1:]])
        environment = worlds.logistic_matrix(THETA[0], 2, slope=2.0, shift=-1.0, law=rows)
        means = 1 / (1 + np.exp(1 - 2 * rows @ THETA[0]))
    _, contexts, paid, missed = played(environment)
    assert set(np.unique(paid)) == {0.0, 1.0}
    for i, row in enumerate(rows):
        here = (contexts == row).reshape(ROUNDS, -1).all(1)
        np.testing.assert_allclose(missed[here], (means[i].max() - means[i])[None].repeat(here.sum(), 0), atol=1e-12)
        for a in range(2):
            won = int(paid[here, a].sum())
            assert stats.binomtest(won, int(here.sum()), means[i, a]).pvalue > LEVEL / 9


def test_quadratic_means_are_squares():
    environment = worlds.quadratic_vectors(THETA, sigma=0.1)
    _, contexts, paid, missed = played(environment)
    means = (contexts @ THETA.T) ** 2
    np.testing.assert_allclose(missed, means.max(1, keepdims=True) - means, atol=1e-12)
    assert stats.kstest((paid - means)[:, 1], stats.norm(0, 0.1).cdf).pvalue > LEVEL


@pytest.mark.slow
def test_moons_are_half_circles_and_their_arm_pays():
    """A binomial, two uniform and four normal tests share LEVEL."""
    _, points, paid, missed = played(worlds.moons(0.0))
    moon = paid.argmax(1)
    np.testing.assert_array_equal(paid, np.eye(2)[moon])
    np.testing.assert_array_equal(missed, 1 - paid)
    assert stats.binomtest(int(moon.sum()), ROUNDS, 0.5).pvalue > LEVEL / 7
    upper, lower = points[moon == 0], points[moon == 1]
    circle = np.stack([1 - lower[:, 0], 0.5 - lower[:, 1]], 1)  # mapped onto the upper one
    for arc in (upper, circle):
        np.testing.assert_allclose((arc**2).sum(1), 1, rtol=1e-12)
        assert stats.kstest(np.arctan2(arc[:, 1], arc[:, 0]), stats.uniform(0, np.pi).cdf).pvalue > LEVEL / 7
    _, noisy, again, _ = played(worlds.moons(0.3))
    np.testing.assert_array_equal(again, paid)  # the same draws, so that the difference is the noise
    for j in range(2):
        assert stats.kstest((noisy - points)[:, j], stats.norm(0, 0.3).cdf).pvalue > LEVEL / 7
    assert stats.pearsonr(*(noisy - points).T).pvalue > LEVEL / 7


@pytest.mark.slow
def test_digits_are_62_columns_of_norm_1_on_average_in_an_order_of_each_run():
    datasets = pytest.importorskip("sklearn.datasets")
    environment = worlds.classes("digits")
    assert environment.arms == Arms(10, context=(62,)) and environment.length == 1797
    world, contexts, paid, missed = played(environment, 1797)
    np.testing.assert_allclose(contexts[:, 0], 62**-0.5, rtol=1e-12)
    assert (contexts**2).sum(1).mean() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(contexts[:, 1:].mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(contexts[:, 1:].var(0), 1 / 62, rtol=1e-10)
    np.testing.assert_array_equal(np.sort(world.order), np.arange(1797))
    np.testing.assert_array_equal(paid.argmax(1), datasets.load_digits().target[world.order])
    np.testing.assert_array_equal(missed, 1 - paid)
    other = jax.jit(environment.init)(keys_of(1, 9)[0]).order
    assert (np.asarray(other) != np.asarray(world.order)).mean() > 0.99


@pytest.mark.parametrize(
    ("name", "shape"), [("iris", (150, 5, 3)), ("wine", (178, 14, 3)), ("breast_cancer", (569, 31, 2))]
)
def test_the_other_data_sets(name, shape):
    pytest.importorskip("sklearn")
    environment = worlds.classes(name)
    assert (environment.length, *environment.arms.context, environment.arms.num_arms) == shape


def test_classes_of_own_rows_are_arms_in_ascending_order():
    rows = np.column_stack([CONTEXTS, np.full(3, 0.1)])  # the last column does not vary
    environment = worlds.classes(rows, ["b", "c", "a"], order="as_is")
    _, contexts, paid, _ = played(environment, 3)
    np.testing.assert_array_equal(paid, np.eye(3)[[1, 2, 0]])
    scaled = (CONTEXTS - CONTEXTS.mean(0)) / CONTEXTS.std(0)
    np.testing.assert_allclose(contexts, np.column_stack([np.ones(3), scaled]) / 3**0.5, rtol=1e-12)
    _, plain, _, _ = played(worlds.classes(rows, [2, 3, 1], order="as_is", standardize=False), 3)
    np.testing.assert_array_equal(plain, rows)


def test_drawn_rows_are_uniform_and_do_not_end():
    environment = worlds.rewards_table(CONTEXTS, REWARDS, order="draw")
    assert environment.length is None
    _, contexts, paid, _ = played(environment)
    row = (contexts[:, None, 0] == CONTEXTS[None, :, 0]).argmax(1)
    np.testing.assert_array_equal(paid, REWARDS[row])
    counts = np.histogram2d(row[:-1], row[1:], bins=3)[0]
    assert stats.chisquare(counts.ravel()).pvalue > LEVEL


def test_a_table_of_rewards_pays_its_entry_and_the_regret_is_to_the_best_of_the_row():
    world, contexts, paid, missed = played(worlds.rewards_table(CONTEXTS, REWARDS), 3)
    np.testing.assert_array_equal(contexts, CONTEXTS[world.order])
    np.testing.assert_array_equal(paid, REWARDS[world.order])
    np.testing.assert_array_equal(missed, paid.max(1, keepdims=True) - paid)
    each = np.arange(18.0).reshape(3, 3, 2)
    environment = worlds.rewards_table(each, REWARDS, order="as_is")
    assert environment.arms.context == (3, 2) and environment.rewards[:2] == (0.0, 1.0)
    np.testing.assert_array_equal(played(environment, 3)[1], each)


@pytest.mark.parametrize("contexts", [CONTEXTS, None])
def test_with_a_mask_the_best_available_arm_counts(contexts):
    unknown = np.where(OFFERED, REWARDS, np.nan)  # what an unavailable arm would have paid need not be known
    environment = worlds.rewards_table(contexts, unknown, available=OFFERED.astype(int), order="as_is")
    assert environment.arms == Arms(3, context=None if contexts is None else (2,), available=True)
    _, offers, paid, missed = played(environment, 3)
    assert isinstance(offers, Offer)
    np.testing.assert_array_equal(offers.available, OFFERED)
    if contexts is None:
        assert offers.features is None
    else:
        np.testing.assert_array_equal(offers.features, CONTEXTS)
    best = np.array([0.25, 0.75, 0.0])
    np.testing.assert_array_equal(missed, np.where(OFFERED, best[:, None] - REWARDS, np.nan))
    np.testing.assert_array_equal(paid[OFFERED], REWARDS[OFFERED])
    assert np.isfinite(paid).all()


def test_tables_are_one_leaf_of_all_runs():
    def varies(environment):
        rule = jb.Algorithm(
            init=lambda key: jnp.zeros(()),
            select=lambda noise, state, context: (jnp.sum(context) > state).astype(jnp.int32),
            update=lambda state, context, action, reward: state,
        )
        return SingleRun(lambda arguments: (rule, environment), (), "threefry4x32").world_varies

    assert varies(worlds.linear_vectors(THETA, law=TABLE)) == worlds.linear_vectors(THETA).init(
        keys_of(1, 0)[0]
    )._replace(theta=False, table=False)
    for order, own in (("shuffle", (False, True)), ("draw", (True, None)), ("as_is", (False, None))):
        world = varies(worlds.classes(CONTEXTS, [0, 1, 1], order=order))
        assert not any(jax.tree.leaves(world.tables)) and (world.place, world.order) == own


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_the_noise_of_a_large_context_is_drawn_for_one_round_at_a_time(platform):
    def steps(num_arms, dim):
        environment = worlds.linear_matrix(None, num_arms, dim=dim)
        rule = jb.Algorithm(
            init=lambda key: jnp.zeros(()),
            select=lambda noise, state, context: jb.numerics.argmax(context[:, 0]),
            update=lambda state, context, action, reward: state,
        )
        run = SingleRun(lambda arguments: (rule, environment), (), "threefry4x32")
        return TileLoop(run, 1, platform=platform).block_steps

    # K d = 2^16. On a CPU it is played one run at a time, with the room of 64 runs for the noise of four rounds.
    assert steps(256, 256) == (4 if platform == "cpu" else 1)
    assert steps(2, 2) > 1


REFUSED = {
    "no theta": (
        lambda: worlds.linear_vectors(num_arms=3),
        "linear_vectors: dim = None, must be an integer >= 1, unless",
    ),
    "no arms": (lambda: worlds.linear_matrix(THETA[0]), "linear_matrix: num_arms = None, must be an integer >= 1"),
    "another dim": (
        lambda: worlds.logistic_vectors(THETA, dim=4),
        "logistic_vectors: dim = 4, must be 3, as theta has",
    ),
    "another num_arms": (lambda: worlds.linear_vectors(THETA, num_arms=3), "num_arms = 3, must be 2, as theta has it"),
    "no columns": (lambda: worlds.linear_vectors(np.zeros((2, 0))), "theta has shape (2, 0), must have at least one"),
    "a law": (
        lambda: worlds.linear_vectors(THETA, law="spere"),
        "law = 'spere', must be one of normal, sphere; did you",
    ),
    "no table": (
        lambda: worlds.linear_vectors(THETA, law=3),
        'law = 3, must be "normal", "sphere" or a table of 2 axes',
    ),
    "a table of others": (
        lambda: worlds.quadratic_vectors(THETA, law=CONTEXTS),
        "quadratic_vectors: law is a table of shape [3, 2], must be [rows, 3]",
    ),
    "a table of other arms": (
        lambda: worlds.linear_matrix(THETA[0], 4, law=TABLE[None]),
        "linear_matrix: law is a table of shape [1, 3, 3], must be [rows, 4, 3]",
    ),
    "a table without rows": (
        lambda: worlds.linear_vectors(THETA, law=TABLE[:0]),
        "law has 0 entries, must have at least",
    ),
    "a data set": (
        lambda: worlds.classes("digit"),
        "classes: data = 'digit', must be one of digits, iris, wine, breast",
    ),
    "its labels": (
        lambda: worlds.classes("iris", [0]),
        "classes: labels = [0], must be left out: data = 'iris' has its",
    ),
    "no labels": (lambda: worlds.classes(CONTEXTS), "classes: labels = None, must be the class of each row of data"),
    "few labels": (lambda: worlds.classes(CONTEXTS, [0, 1]), "classes: labels has shape [2], must have 3 entries"),
    "a label": (lambda: worlds.classes(CONTEXTS, [0, 1, np.nan]), "classes: labels has an entry that is not finite"),
    "one class": (lambda: worlds.classes(CONTEXTS, [2, 2, 2]), "classes: labels are all 2, must have at least two"),
    "a context": (lambda: worlds.classes(CONTEXTS * np.inf, [0, 1, 1]), "classes: data[0, 0] = inf, must be in"),
    "rows": (
        lambda: worlds.rewards_table(CONTEXTS[:2], REWARDS),
        "contexts has shape [2, 2], must be [3, dim] or [3, 3",
    ),
    "no arms at all": (
        lambda: worlds.rewards_table(None, REWARDS[:, :0]),
        "rewards has shape [3, 0], must have a column",
    ),
    "a mask": (
        lambda: worlds.rewards_table(None, REWARDS, available=OFFERED[:2]),
        "available has shape [2, 3], must be",
    ),
    "half a mask": (lambda: worlds.rewards_table(None, REWARDS, available=OFFERED / 2), "must be True and False, or 1"),
    "nobody": (
        lambda: worlds.rewards_table(None, REWARDS, available=OFFERED & [[True], [False], [True]]),
        "rewards_table: available[1] is all False, must leave an arm",
    ),
    "unknown where available": (
        lambda: worlds.rewards_table(None, np.where(OFFERED, np.nan, 0.5), available=OFFERED),
        "rewards_table: rewards[0, 0] = nan, must be in",
    ),
}


test_a_wrong_argument_is_refused_in_one_line = refusals(REFUSED)


@pytest.mark.slow
def test_permutations_that_do_not_fit_are_refused_and_draw_is_named(monkeypatch):
    environment = worlds.classes(np.arange(2000.0)[:, None], np.arange(2000) % 2)
    rule = jb.algorithms.lin_ucb_disjoint(2, 2)
    monkeypatch.setattr(sizes, "memory", lambda: 2_000_000)  # a quarter is 62 permutations of 8,000 bytes
    with pytest.raises(ValueError, match=r"^simulate: num_runs = 70: the state of classes takes .*order = \"draw\"$"):
        jb.simulate(rule, environment, horizon=2, num_runs=70)
    drawn = worlds.classes(np.arange(2000.0)[:, None], np.arange(2000) % 2, order="draw")
    assert jb.simulate(rule, drawn, horizon=2, num_runs=70).runs == 70
    with pytest.raises(ValueError, match=r"horizon = 2001, must be at most 2000"):
        jb.simulate(rule, environment, horizon=2001, num_runs=2)


def test_without_scikit_learn_a_data_set_says_what_to_install(monkeypatch):
    data_sets.load.cache_clear()
    monkeypatch.setattr(
        data_sets.importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError("no sklearn"))
    )
    with pytest.raises(
        ValueError, match=r"^classes: data = 'wine' comes with scikit-learn \(no sklearn\): pip install"
    ):
        worlds.classes("wine")


def test_the_norm_of_theta_is_known_to_rules_that_ask_for_it():
    """It is that of what is given, and 1 of what each run draws from the sphere."""
    assert float(jb.environments.linear_matrix([3.0, 4.0], 5).known()["theta_norm"]) == pytest.approx(5.0)
    assert float(jb.environments.linear_matrix(None, 5, dim=2).known()["theta_norm"]) == 1.0
