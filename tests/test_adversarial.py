"""Adversarial algorithms and their worlds: probabilities against closed forms, laws, regret, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import adversarial as reference
from refusals import refusals

import jaxbandit as jb
from jaxbandit import bounds
from jaxbandit.algorithms.adversarial.drawing import draw, draw_noise
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.environments.non_stationary.constrained_adversary import phase_starts
from jaxbandit.theory.estimators import loss_sums
from jaxbandit.theory.solvers.tsallis import tsallis_probabilities

pytestmark = pytest.mark.slow


def play(rule, world, **options):
    return simulate_cell(lambda _: (rule, world), (), **options)


# To eight places, from an independent program: L, eta = 1, p.
LOSSES, PROBABILITIES = ([3.0, 0.0, 1.0, 10.0, 250.0], [0.12389862, 0.55611082, 0.29505718, 0.02487073, 6.264863e-5])


def test_tsallis_probabilities_are_those_of_a_bracketed_root():
    rng, found = np.random.default_rng(0), jax.jit(jax.vmap(tsallis_probabilities))
    with jax.enable_x64(True):
        np.testing.assert_allclose(found(jnp.array([LOSSES]) / 2)[0], PROBABILITIES, rtol=0, atol=6e-9)
        for num_arms, error in ((1, 0), (2, 1e-12), (8, 1e-11), (150, 1e-9)):
            sums = rng.exponential(10 ** rng.uniform(-3, 4, (20, 1)), (20, num_arms))
            sums -= sums.min(1, keepdims=True)
            expected = [reference.tsallis(row, 1.0) for row in sums]
            np.testing.assert_allclose(found(jnp.asarray(sums) / 2), expected, rtol=0, atol=error)


def test_tsallis_probabilities_in_float32_stay_finite_and_sum_to_one():
    distances = np.array([[0.0, 1e30, np.inf], [0.0, 0.0, 0.0], [1e-30, 0.0, 1e-3], [5e5, 0.0, 5e6]], np.float32)
    p = np.asarray(jax.jit(jax.vmap(tsallis_probabilities))(distances))
    np.testing.assert_allclose(p.sum(1, dtype=float), 1, rtol=0, atol=3e-7)
    np.testing.assert_allclose(p[0], [1, 0, 0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(p[1], 1 / 3, rtol=1e-6)
    np.testing.assert_allclose(p[3, [0, 2]], [1 / 5e5**2, 1 / 5e6**2], rtol=1e-5)  # u is beside d what 1 is beside 5e5


def test_sums_of_losses_in_float32_are_those_of_float64_after_ten_million_rounds():
    """A plain float32 sum of 5e6 takes 0.5 for each 0.3: it would be half as large again after 10^7 more."""
    start, rounds, steps = 5e6, 10_000_000, np.array([0.3, 0.1, 1e-3])

    @jax.jit
    def end(steps):
        losses = loss_sums.LossSums(jnp.full(3, start), jnp.zeros(3))
        return jax.lax.fori_loop(0, rounds, lambda _, total: loss_sums.add(total, steps), losses)

    found = end(jnp.asarray(steps, jnp.float32))
    assert found.sums.dtype == np.float32
    total = np.asarray(found.sums, float) + np.asarray(found.rest, float)
    # 0.3 in float32 is off by 4e-8 of it, and each addend is rounded once more.
    np.testing.assert_allclose(total, start + rounds * steps, rtol=2e-7)
    np.testing.assert_allclose(loss_sums.above_least(found), total - total.min(), rtol=1e-7)


def test_an_arm_is_drawn_where_its_interval_says_the_most_likely_one_last():
    p = jnp.array([0.25, 0.5, 0.0, 0.25 - 1e-9, 1e-9])
    edges = [(0.0, 0), (0.2499, 0), (0.25, 3), (0.4999, 3), (0.5, 1), (0.9999999, 1), (1.0, 1)]
    drawn = jax.jit(jax.vmap(lambda u: draw(u, p)))(jnp.array([u for u, _ in edges]))
    np.testing.assert_array_equal(drawn, [arm for _, arm in edges])
    rare = jax.jit(draw)(jnp.float32(3e-9), jnp.array([1e-9, 1.0, 5e-9, 0.0]))
    assert rare == 2  # summed up near 0, where float32 has such numbers
    assert jax.jit(draw)(jnp.float32(0.3), jnp.ones(1)) == 0


def test_uniforms_are_finer_than_a_word_near_zero():
    """20,000 uniforms: mean and variance within five standard errors (false alarm 1e-6); small ones on no grid."""
    u = np.asarray(jax.jit(jax.vmap(draw_noise))(jax.random.split(jax.random.key(3), 20_000)), float)
    assert u.min() > 0 and u.max() <= 1
    assert abs(u.mean() - 0.5) < 5 / np.sqrt(12 * 20_000)
    assert abs(u.var() - 1 / 12) < 5 / np.sqrt(180 * 20_000)
    small = np.sort(u)[:10] * 2.0**33
    assert (np.abs(small - np.rint(small)) > 1e-3).any()


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("estimate", ["importance", "reduced_variance"])
def test_estimates_of_losses_are_unbiased(estimate):
    """The mean over the arm drawn, exactly: the sum over arms of p times the estimate is the vector of losses."""
    losses, rule = np.array([0.3, 0.9, 0.0, 1.0]), jb.algorithms.tsallis_inf(4, estimate=estimate)

    @jax.jit
    def mean(losses):
        # The 40th round: eta^2 = 0.4 parts the arms, of which one is likely.
        start = rule.init(jax.random.key(0))
        state = start._replace(round=jnp.int32(40), losses=start.losses._replace(sums=jnp.array([0.0, 1.0, 9.0, 30.0])))
        uniforms = (jnp.arange(4000).astype(float) + 0.5) / 4000
        choices = jax.vmap(lambda u: rule.select(u, state, None))(uniforms)
        after = jax.vmap(lambda c: rule.update(state, None, c, 1 - losses[c.action]))(choices)
        first = jax.vmap(lambda arm: jnp.argmax(choices.action == arm))(
            jnp.arange(4, dtype=jnp.int32)
        )  # a draw of each arm
        estimates = (after.losses.sums - state.losses.sums[None])[first]
        return choices.info.divisor[first] @ estimates, choices.action, choices.info.baseline

    with jax.enable_x64(True):
        found, actions, baseline = mean(jnp.asarray(losses))
    assert len(np.unique(actions)) == 4
    np.testing.assert_allclose(found, losses, rtol=0, atol=1e-12)
    if estimate == "reduced_variance":
        np.testing.assert_array_equal(baseline[0], [0.5, 0, 0, 0])


def test_phases_of_the_constrained_adversary():
    assert phase_starts().dtype == np.int32
    starts = phase_starts().astype(np.int64)
    expected = [1, 3, 7, 14, 26, 46, 78, 130, 214, 349, 565, 911, 1465, 2352, 3772, 6044, 9680, 15498]
    assert starts[: len(expected) + 1].tolist() == [0, *expected]
    assert starts[-1] < 2**31 <= starts[-1] + (8 * (starts[-1] - starts[-2]) + 4) // 5


@pytest.mark.quickly_compiled
def test_means_of_the_constrained_adversary():
    """Arm 0 wins in every even phase and loses 7 of 8 rounds of an odd one; the others win 7 of 8, then never."""
    world = jb.environments.constrained_adversary(3)
    assert world.regret is not None
    regret = world.regret

    @jax.jit
    def chances(round):
        state = world.init(jax.random.key(0))._replace(round=round)
        uniforms = (jnp.arange(64).astype(float) + 0.5) / 64
        wins = jax.vmap(lambda arm: jax.vmap(lambda u: world.reward(state, None, arm, u))(uniforms).mean())(
            jnp.arange(3)
        )
        return wins, jax.vmap(lambda arm: regret(state, None, arm))(jnp.arange(3))

    for round, phase in ((0, 0), (1, 1), (2, 1), (3, 2), (13, 3), (14, 4), (15497, 17), (15498, 18)):
        wins, gaps = chances(jnp.int32(round))
        np.testing.assert_allclose(wins, [0.125, 0, 0] if phase % 2 else [1, 0.875, 0.875])
        np.testing.assert_allclose(gaps, [0, 0.125, 0.125])


def losses_at(round):
    parity = (round % 2).astype(float)
    return jnp.stack([parity, 1 - parity, jnp.full((), 0.25)])


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("given", ["table", "function"])
def test_regret_of_a_table_by_hand(given):
    """Every arm's loss of every round is known, so both regrets follow from the actions that were played."""
    horizon, table = 40, np.random.default_rng(1).random((45, 3))
    if given == "function":
        table = np.array([[r % 2, 1 - r % 2, 0.25] for r in range(45)])
    world, rule = jb.environments.loss_table(table if given == "table" else losses_at), jb.algorithms.exp3(3)
    result = play(rule, world, horizon=horizon, num_runs=2, checkpoints=[7], hindsight=True, precision="float64")
    assert result.regret is not None and result.hindsight is not None
    with jax.enable_x64(True):
        rollout = jax.jit(lambda run: jb.rollout(jb.run_key(0, run), rule, world, horizon))
        for run in range(2):
            actions = np.asarray(rollout(run).actions)
            for place, n in enumerate((7, 40)):
                own = table[np.arange(n), actions[:n]].sum()
                np.testing.assert_allclose(result.regret[run, place], own - table[:n].min(1).sum(), atol=1e-12)
                np.testing.assert_allclose(result.hindsight[run, place], own - table[:n].sum(0).min(), atol=1e-12)


def test_bounds_by_hand():
    """K = 8 and T = 10^5: 4 sqrt(8 10^5) + 1 = 3578.7; and K T = 4 10^4, whose logarithm is 10.5966."""
    np.testing.assert_allclose(bounds.tsallis_inf_regret_bound(8, [1e5, 50]), [3578.70876, 81], rtol=1e-8)
    found = bounds.tsallis_inf_regret_bound(8, [50], estimate="reduced_variance")
    np.testing.assert_allclose(found, [2 * 20 + 80 * np.log(50) + 16])
    np.testing.assert_allclose(bounds.exp3_regret_bound(4, [1e4]), [470.964], atol=1e-3)
    np.testing.assert_allclose(bounds.exp3_regret_bound(4, [1e4], rate="fixed"), [333.022], atol=1e-3)
    np.testing.assert_allclose(
        bounds.exp3_s_regret_bound(4, [1e4]), 2 * np.sqrt(1.7182818 * 4e4 * (2 * 10.596635 + 2.7182818)), rtol=1e-6
    )


BAD = {
    "above 1": (
        lambda: jb.environments.loss_table([[0.1, 0.2], [0.3, 1.5]]),
        "loss_table: losses[1, 1] = 1.5, must be in [0, 1]",
    ),
    "NaN": (lambda: jb.environments.loss_table([[0.1, np.nan]]), "loss_table: losses[0, 1] = nan, must be in [0, 1]"),
    "no arm": (
        lambda: jb.environments.loss_table(np.zeros((3, 0))),
        "loss_table: losses has shape (3, 0), must have a column",
    ),
    "a vector": (lambda: jb.environments.loss_table([0.1, 0.2]), "loss_table: losses has shape (2,), must have 2 axes"),
    "one number": (
        lambda: jb.environments.loss_table(lambda r: jnp.zeros(())),
        "loss_table: losses returns float32[], must return",
    ),
    "integers": (
        lambda: jb.environments.loss_table(lambda r: r + jnp.arange(3)),
        "losses returns int32[3], must return",
    ),
    "no horizon": (
        lambda: jb.algorithms.exp3(3, rate="fixed"),
        'exp3: horizon = None, must be given for rate = "fixed"',
    ),
    "horizon": (
        lambda: jb.simulate(jb.algorithms.exp3(2), jb.environments.loss_table([[0.1, 0.2]]), horizon=2, num_runs=1),
        "simulate: horizon = 2, must be at most 1, the environment's number of rounds",
    ),
    "rollout": (
        lambda: jb.rollout(
            jax.random.key(0, impl="threefry4x32"), jb.algorithms.exp3(2), jb.environments.loss_table([[0.1, 0.2]]), 3
        ),
        "rollout: horizon = 3, must be at most 1",
    ),
    "wide rewards": (
        lambda: jb.simulate(jb.algorithms.exp3(2), jb.environments.gaussian([0.1, 0.2]), horizon=2, num_runs=1),
        "exp3 is made for rewards in [0, 1], but gaussian has rewards",
    ),
}


test_bad_input_is_one_line = refusals(BAD)


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("loss", [np.nan, 1.5])
def test_losses_of_a_function_that_go_wrong_count_in_no_mean(loss):
    """In the 20th round the loss of every arm is no loss."""
    world = jb.environments.loss_table(lambda r: jnp.where(r == 20, loss, 0.5) * jnp.ones(2))
    result = play(jb.algorithms.tsallis_inf(2), world, horizon=30, num_runs=3)
    expected = jb.contract.Outcome.NONFINITE if np.isnan(loss) else jb.contract.Outcome.OUT_OF_RANGE
    assert (result.outcome == expected).all()


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("rule", [jb.algorithms.exp3, jb.algorithms.exp3_ix, jb.algorithms.tsallis_inf])
def test_probabilities_that_vanish_leave_a_run_finite(rule):
    """A learning rate so large that one arm has all the probability: the others' are 0 in float32, no divisor is."""
    world = jb.environments.loss_table(np.tile([[0.0, 1.0, 1.0]], (300, 1)))
    result = play(rule(3, eta=1e30), world, horizon=300, num_runs=4)
    assert (result.outcome == jb.contract.Outcome.STOPPED).all() and (result.recommendation == 0).all()


@pytest.mark.quickly_compiled
def test_one_arm_is_always_pulled():
    for rule in (
        jb.algorithms.exp3(1),
        jb.algorithms.exp3_ix(1),
        jb.algorithms.exp3_s(1, horizon=9),
        jb.algorithms.tsallis_inf(1),
    ):
        result = play(rule, jb.environments.bernoulli([0.5]), horizon=9, num_runs=2)
        assert (result.pulls == 9).all() and result.mean[-1] == 0


SHORT = """
name = "short"
kind = "simulate"
runs = 2
horizon = 3

[[instance]]
name = "table"
type = "loss_table"
losses = [[0.0, 1.0], [1.0, 0.0]]

[[algorithm]]
name = "exp3"
type = "exp3"
"""


def test_a_file_with_a_table_that_is_too_short_is_refused_before_anything_runs(tmp_path, capsys):
    from jaxbandit.lab import cli

    (tmp_path / "short.toml").write_text(SHORT)
    assert cli.main(["run", str(tmp_path / "short.toml"), "--out", str(tmp_path / "out")]) == 2
    assert "horizon = 3, must be at most 2, the environment's number of rounds" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
