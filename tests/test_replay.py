"""Replay on logged data: against a loop in NumPy, against the online value, and its words."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Offer
from jaxbandit.decide.logs.replay import _chances

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
N, K = 300, 3
RNG = np.random.default_rng(0)
ACTION, REWARD = RNG.integers(0, K, N), RNG.random(N)


def log_of(**more):
    return jb.read_log(**({"action": ACTION, "reward": REWARD, "num_arms": K} | more))


UNIFORM = log_of()


def ucb(num_arms, replan=None):
    """mean + sqrt(log n / (2 N)), n pulls so far; an Offer's arms that are not available are left out."""

    def select(noise, state, context):
        sums, counts = state[0], state[1].astype(state[0].dtype)
        width = jnp.sqrt(jnp.log(jnp.maximum(counts.sum(), 1.0)) / (2 * jnp.maximum(counts, 1.0)))
        index = jnp.where(counts > 0, sums / jnp.maximum(counts, 1.0) + width, jnp.inf)
        index = jnp.where(context.available, index, -jnp.inf) if isinstance(context, Offer) else index
        return jnp.argmax(index).astype(jnp.int32)

    return jb.Algorithm(
        init=lambda key: (jnp.zeros(num_arms), jnp.zeros(num_arms, jnp.int32), jnp.zeros((), jnp.int32)),
        select=select,
        update=lambda s, context, arm, reward: (s[0].at[arm].add(reward), s[1].at[arm].add(1), s[2]),
        pulls=lambda state: state[1],
        arms=jb.Arms(num_arms),
        replan=replan,
        name="ucb",
    )


RULE = ucb(K)


def by_hand(action, reward, horizon, available=None):
    """The same in a loop: rewards and pulls of the accepted rows, and how many rows were looked at."""
    sums, counts, rewards = np.zeros(K), np.zeros(K), []
    for i in range(len(action)):
        with np.errstate(divide="ignore", invalid="ignore"):
            index = sums / counts + np.sqrt(np.log(max(counts.sum(), 1)) / (2 * counts))
        index[counts == 0] = np.inf
        if available is not None:
            index[~available[i]] = -np.inf
        arm = int(np.argmax(index))
        if arm == action[i]:
            sums[arm] += reward[i]
            counts[arm] += 1
            rewards.append(reward[i])
        if len(rewards) == horizon:
            break
    return np.array(rewards), counts.astype(int).tolist(), i + 1


def test_a_replay_in_the_order_of_the_log_is_that_of_a_loop():
    rewards, pulls, rows = by_hand(ACTION, REWARD, 60)
    result = jb.replay(RULE, UNIFORM, num_runs=2, horizon=60, order="as_is", checkpoints=[1, 10])
    assert result.arrays["checkpoints"].tolist() == [1, 10, 60] and result.measure == "feedback"
    expected = np.cumsum(rewards)[[0, 9, 59]] / [1, 10, 60]
    np.testing.assert_allclose(result.arrays["feedback"], [expected] * 2, rtol=1e-12)
    assert result.arrays["pulls"].tolist() == [pulls] * 2 and result.arrays["rows"].tolist() == [rows] * 2
    assert result.run_steps == 2 * rows and result.outcomes()["stopped"] == 2


def test_masks_and_contexts_reach_the_rule():
    available = RNG.random((N, K)) < 0.6
    available[np.arange(N), ACTION] = True
    log = jb.read_log(action=ACTION, reward=REWARD, available=available, propensity=np.full(N, 0.5))
    rewards, pulls, rows = by_hand(ACTION, REWARD, 60, available)
    result = jb.replay(RULE, log, num_runs=1, horizon=60, order="as_is", checkpoints=[60])
    assert (result.arrays["pulls"][0].tolist(), result.arrays["rows"][0]) == (pulls, rows)
    assert result.arrays["feedback"][0, 0] == pytest.approx(rewards.mean(), rel=1e-12)
    offered = available.sum(axis=1)
    chances, least = _chances(jb.read_log(action=ACTION, reward=REWARD, available=available, num_arms=K))
    assert least == 1 / offered.max() and (chances == least * offered).all()
    context = RNG.normal(size=(N, 2))
    told = RULE._replace(
        select=lambda noise, state, context: jnp.where(context[0] < context[1], 1, 0).astype(jnp.int32),
        arms=jb.Arms(K, context=(2,)), name="told",
    )  # fmt: skip
    match = np.where(context[:, 0] < context[:, 1], 1, 0) == ACTION
    log = jb.read_log(context=context, action=ACTION, reward=REWARD, num_arms=K)
    result = jb.replay(told, log, num_runs=1, horizon=int(match.sum()), order="as_is", checkpoints=[])
    assert result.arrays["feedback"][0, -1] == pytest.approx(REWARD[match].mean(), rel=1e-12)
    assert result.arrays["rows"][0] == np.flatnonzero(match)[-1] + 1


def test_bytes_do_not_depend_on_the_number_of_runs_and_runs_on_their_orders():
    few, many = (jb.replay(RULE, UNIFORM, num_runs=n, horizon=60, seed=4) for n in (2, 70))
    for name in ("feedback", "pulls", "rows"):
        assert few.arrays[name].tobytes() == many.arrays[name][:2].tobytes()
    assert len({row.tobytes() for row in many.arrays["feedback"]}) == 70
    other = jb.replay(RULE, UNIFORM, num_runs=2, horizon=60, seed=5)
    assert other.arrays["feedback"].tobytes() != few.arrays["feedback"].tobytes()


@pytest.mark.parametrize("order", ["shuffle", "bootstrap"])
def test_orders(order):
    """With one arm every row is accepted: a permutation has the sum of all rows in each run, and draws have not."""
    log = jb.read_log(action=np.zeros(N, int), reward=REWARD, num_arms=1)
    result = jb.replay(ucb(1), log, num_runs=40, horizon=N, order=order, checkpoints=[1, N // 2])
    first, half, whole = result.arrays["feedback"].T
    assert len(set(first.tolist())) > 30 and set(first.tolist()) <= set(REWARD.tolist()) and half.std() > 0
    same = np.abs(whole - REWARD.mean()) < 1e-12
    assert same.all() if order == "shuffle" else not same.any()
    assert abs(whole.mean() - REWARD.mean()) < 5 * REWARD.std() / np.sqrt(40 * N)


def test_runs_that_end_early_are_counted_and_left_out_of_the_means(tmp_path):
    """Of 300 rows a third is accepted: some runs reach 100, some do not."""
    result = jb.replay(RULE, UNIFORM, num_runs=70, horizon=100, seed=1)
    early = result.outcomes()["max_rounds"]
    assert 5 < early < 65 and result.counted == 70 - early
    reached = ~np.isnan(result.arrays["feedback"][:, -1])
    assert reached.sum() == result.counted and (result.arrays["rows"][~reached] == N).all()
    np.testing.assert_allclose(result.arrays["mean"], result.arrays["feedback"][reached].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        result.arrays["variance"], result.arrays["feedback"][reached].var(axis=0, ddof=1), rtol=1e-9
    )
    result.save(tmp_path / "r")
    [loaded] = jb.load(tmp_path / "r")
    for each in (result, loaded):
        line = repr(each)
        assert "\n" not in line and f"{early} of 70 runs left out: ended before the last checkpoint" in line
        assert "which is taken for one of a uniform policy because it has no propensities" in line
        assert any(
            "over orders and coins of one log of 300 rows, and says nothing about other" in x for x in each.notes()
        )
    assert jb.replay(RULE, UNIFORM, num_runs=70).outcomes()["max_rounds"] == 0  # the default horizon is reached


def test_rare_work_is_done_once_before_a_row_and_skipped_rows_change_nothing():
    """The state counts its replans, of which one is due after every pull of arm 0."""
    due = lambda s: s[1][0] > s[2]  # noqa: E731
    rule = ucb(K, jb.contract.Replan(due, lambda s: (s[0], s[1], s[2] + 1)))
    watched = rule._replace(
        select=lambda noise, s, context: jnp.where(s[2] == s[1][0], rule.select(noise, s, context), K - 1).astype(
            jnp.int32
        )
    )
    _rewards, pulls, rows = by_hand(ACTION, REWARD, 60)
    result = jb.replay(watched, UNIFORM, num_runs=3, horizon=60, order="as_is", checkpoints=[])
    assert result.arrays["pulls"].tolist() == [pulls] * 3 and result.arrays["rows"].tolist() == [rows] * 3


def test_a_run_whose_state_is_not_finite_is_left_out():
    def update(state, context, arm, reward):
        return (state[0].at[arm].add(jnp.where(state[1][0] == 5, jnp.nan, reward)), state[1].at[arm].add(1), state[2])

    result = jb.replay(RULE._replace(update=update), UNIFORM, num_runs=2, horizon=60)
    assert result.outcomes()["nonfinite"] == 2 and result.counted == 0


REFUSED = {
    "log": (lambda: jb.replay(RULE, REWARD, num_runs=2), "replay: log = .*, must be a Log"),
    "runs": (lambda: jb.replay(RULE, UNIFORM, num_runs=0), "num_runs = 0, must be an integer"),
    "horizon": (
        lambda: jb.replay(RULE, UNIFORM, num_runs=1, horizon=301),
        r"horizon = 301, must be an integer in \[1, 300\]",
    ),
    "order": (lambda: jb.replay(RULE, UNIFORM, num_runs=1, order="sorted"), "order = .*sorted"),
    "checkpoint": (lambda: jb.replay(RULE, UNIFORM, num_runs=1, horizon=9, checkpoints=[10]), r"checkpoints\[0\] = 10"),
    "no row": (lambda: jb.replay(RULE, UNIFORM, num_runs=1, horizon=9, checkpoints=[4, 0]), r"checkpoints\[1\] = 0"),
    "arms": (lambda: jb.replay(ucb(4), UNIFORM, num_runs=1), "ucb is made for .*4.*the log has .*3"),
    "no contexts": (
        lambda: jb.replay(jb.algorithms.lin_ucb_disjoint(K, 2), UNIFORM, num_runs=1),
        r"replay: lin_ucb_disjoint needs contexts float\[2\], the log has no contexts",
    ),
    "ignored": (
        lambda: jb.replay(RULE, log_of(context=RNG.random((N, 2))), num_runs=1),
        r"ucb ignores the context float\[2\] of the log: choose lin_ucb_disjoint; allow = \[\"context\"\]",
    ),
    "rewards": (
        lambda: jb.replay(jb.algorithms.ucb1(K), log_of(reward=3 * REWARD, rewards=(0, 3)), num_runs=1),
        "ucb1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_in_one_line(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message) as refusal:
        call()
    assert "\n" not in str(refusal.value)


def exact_log(logging, per_row):
    """A log without sampling noise: each context, arm and reward as often as it is expected, in random order."""
    q = 0.1 + 0.8 * np.modf((5 * np.arange(8)[:, None] + np.arange(5) + 1) * np.sqrt(2))[0]
    counts = np.rint(logging * per_row).astype(int)
    x, a = (np.repeat(grid.ravel(), counts.ravel()) for grid in np.meshgrid(np.arange(8), np.arange(5), indexing="ij"))
    rank = np.concatenate([(np.arange(n) + 0.5) / n for n in counts.ravel()])
    return a, (rank < q[x, a]).astype(float), logging[x, a]


@pytest.mark.statistical
def test_without_the_coin_a_log_that_is_not_uniform_is_biased_and_with_it_not():
    """500 accepted rows of UCB1, whose online mean reward is .5706 +- .0006; the figures are of another program.

    Rows are drawn with replacement from a log of exact frequencies, which is drawing from the logging policy itself.
    Each of five comparisons is false with probability 6e-5: four standard errors.
    """
    peaked = np.full((8, 5), 0.02) + 0.9 * np.eye(5)[2 * np.arange(8) % 5]
    action, reward, propensity = exact_log(peaked, 10_000)
    with_coin = jb.read_log(action=action, reward=reward, propensity=propensity, num_arms=5, least_propensity=0.02)
    without = jb.read_log(action=action, reward=reward, num_arms=5)
    action, reward, _ = exact_log(np.full((8, 5), 0.2), 10_000)
    uniform = jb.read_log(action=action, reward=reward, num_arms=5)
    rule, options = ucb(5), {"num_runs": 192, "horizon": 500, "order": "bootstrap", "checkpoints": [], "seed": 2}
    figures = {"with": (with_coin, 0.5733, 0.0016), "online": (with_coin, 0.5706, 0.0006)}
    figures |= {"without": (without, 0.7572, 0.0012), "uniform": (uniform, 0.5725, 0.0009)}
    results = {id(log): jb.replay(rule, log, **options) for log in (with_coin, without, uniform)}
    for name, (log, value, se) in figures.items():
        rewards = results[id(log)].arrays["feedback"][:, -1]
        error = np.hypot(se, rewards.std(ddof=1) / np.sqrt(len(rewards)))
        assert abs(rewards.mean() - value) < 4 * error, (name, rewards.mean(), error)
    rows = results[id(with_coin)].arrays["rows"]
    assert abs(rows.mean() - 500 / 0.02) < 4 * rows.std(ddof=1) / np.sqrt(len(rows))
