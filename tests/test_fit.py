"""Policies learned from a log: against NumPy, on rows whose actions the rule did not choose, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest
from reference import contextual_linear as reference

import jaxbandit as jb
from jaxbandit.base.contract import Choice, Chosen, Replan

pytestmark = pytest.mark.quickly_compiled
N, K, D = 120, 3, 2
RNG = np.random.default_rng(1)
CONTEXT, ACTION = RNG.normal(size=(N, D)), RNG.integers(0, K, N)
REWARD = np.clip(0.5 + 0.2 * CONTEXT[:, 0] * (ACTION - 1) + 0.1 * RNG.normal(size=N), 0, 1)
CHANCE = RNG.uniform(0.2, 0.9, N)


def log_of(**more):
    given = {"context": CONTEXT, "action": ACTION, "reward": REWARD, "propensity": CHANCE, "num_arms": K}
    return jb.read_log(**(given | more))


LOG = log_of()
EARLY, LATE = LOG[: N // 2], LOG[N // 2 :]
GREEDY = jb.algorithms.ridge_greedy(K, (D,))


def test_a_linear_rule_learns_from_all_rows_as_ridge_regression_does():
    arms, rows = reference.Arms(False, K, D + 1, 1.0), reference.with_ones(CONTEXT)
    for i in range(N // 2):
        arms.add(ACTION[i], rows[i], REWARD[i])
    policy = jb.fit(GREEDY, EARLY)
    expected = [np.argmax(arms.estimates(np.stack([x] * K))[0]) for x in rows[N // 2 :]]
    np.testing.assert_array_equal(policy.on_log(LATE), np.eye(K)[expected])
    assert len(set(expected)) > 1 and policy.state.counts.tolist() == arms.pulls.tolist()
    theta = np.einsum("aij,aj->ai", np.linalg.inv(arms.matrix), arms.moment)
    np.testing.assert_allclose(policy.state.models.theta, theta, rtol=1e-9)  # rounding of 60 updates


def counting(replan=None, chosen=True):
    """A rule that sums what update is given: rewards of each arm, probabilities, and the rows since a replan."""

    def update(state, context, action, reward):
        arm, chance = (action.action, action.info.probability) if chosen else (action, 0.0)
        return state[0].at[arm].add(reward), state[1] + chance, state[2] + context[1], state[3] + 1, state[4]

    def select(noise, state, context):
        arm = jnp.where(context[0] > 0, 1, 0).astype(jnp.int32)
        return Choice(arm, Chosen(jnp.ones(()))) if chosen else arm

    zero, number = jnp.zeros, lambda: jnp.zeros((), jnp.int32)
    return jb.Algorithm(
        lambda key: (zero(K), zero(()), zero(()), number(), number()), select, update,
        arms=jb.Arms(K, context=(D,)), replan=replan, name="counting",
    )  # fmt: skip


def test_each_row_reaches_update_once_with_its_context_arm_reward_and_propensity():
    sums, chances, contexts, rows, _ = jb.fit(counting(), LOG).state
    np.testing.assert_allclose(sums, np.bincount(ACTION, REWARD, K), rtol=1e-12)
    np.testing.assert_allclose([chances, contexts], [CHANCE.sum(), CONTEXT[:, 1].sum()], rtol=1e-12)
    assert rows == N


def test_a_replan_is_applied_before_the_row_when_it_is_due():
    due = Replan(lambda state: state[3] == 7, lambda state: (*state[:3], state[3] * 0, state[4] + 1))
    state = jb.fit(counting(due, chosen=False), LOG).state
    assert (state[3], state[4]) == (N - 7 * ((N - 1) // 7), (N - 1) // 7)


def scores_by_hand(log):
    """Each row by the ridge regressions, one for each arm, of the other rows whose number differs mod 3."""
    rows, fold, scores = reference.with_ones(log.context), np.arange(len(log)) % 3, np.zeros((len(log), K))
    for i in range(len(log)):
        for a in range(K):
            own = (fold != fold[i]) & (log.action == a)
            matrix = np.matmul(rows[own].T, rows[own]) + np.eye(D + 1)
            scores[i, a] = np.linalg.solve(matrix, np.matmul(rows[own].T, log.reward[own])) @ rows[i]
        scores[i, log.action[i]] += (log.reward[i] - scores[i, log.action[i]]) / log.propensity[i]
    return scores


class Recorded:
    """A regression that keeps what it is given, and prefers the arms in the order 1, 2, 0."""

    def fit(self, x, y):
        self.x, self.y = x, y

    def predict(self, x):
        return np.tile([0.0, 2.0, 1.0], (len(x), 1))


def test_a_regression_is_given_the_doubly_robust_scores():
    given = Recorded()
    policy = jb.fit(given, log_of(reward=4 * REWARD - 2, rewards=(-2, 2)))
    assert not hasattr(given, "x"), "a copy is trained"
    np.testing.assert_array_equal(policy.regression.x, CONTEXT)
    np.testing.assert_allclose(policy.regression.y, scores_by_hand(LOG), rtol=1e-9, atol=1e-12)  # rewards in [0, 1]
    offered = RNG.random((N, K)) < 0.5
    offered[np.arange(N), ACTION] = True
    other = log_of(available=offered, propensity=np.full(N, 0.5))
    expected = np.where(offered[:, 1], 1, np.where(offered[:, 2], 2, 0))
    np.testing.assert_array_equal(policy.on_log(other), np.eye(K)[expected])


def test_the_linear_policy_is_least_squares_of_the_scores():
    rows = reference.with_ones(CONTEXT)
    early, late = rows[: N // 2], rows[N // 2 :]
    coefficients = np.linalg.solve(np.matmul(early.T, early) + np.eye(D + 1), np.matmul(early.T, scores_by_hand(EARLY)))
    expected = np.argmax(np.matmul(late, coefficients), axis=1)
    np.testing.assert_array_equal(jb.fit("linear", EARLY).on_log(LATE), np.eye(K)[expected])
    assert len(set(expected.tolist())) > 1


@pytest.mark.parametrize("learner", [GREEDY, "linear"])
def test_a_policy_is_not_evaluated_on_rows_that_it_learned_from_unless_it_is_said(learner):
    policy = jb.fit(learner, EARLY)
    assert jb.evaluate(LATE, policy).only.name == getattr(learner, "name", learner)
    with pytest.raises(ValueError, match=r"trained on 60 of these 120 rows, on which its value is too high"):
        jb.evaluate(LOG, policy)
    assert jb.evaluate(LOG, jb.fit(learner, EARLY, in_sample=True)).num_rows == N


@pytest.mark.parametrize(
    ("learner", "more", "message"),
    [
        (
            jb.algorithms.exp3(K),
            {"context": None},
            r"^fit: exp3 learns from what it knows of its own choice.*jb.replay",
        ),
        (jb.algorithms.exp3(K), {}, r"^fit: exp3 ignores the context"),
        (jb.algorithms.ridge_greedy(4, (D,)), {}, "^fit: ridge_greedy is made for num_arms 4, the log has num_arms 3"),
        (jb.algorithms.ridge_greedy(K, (3,)), {}, r"^fit: ridge_greedy needs contexts float\[3\], the log has"),
        (counting(), {"propensity": None}, "the state of counting has NaN after the rows and the log has no prop"),
        ("linear", {"propensity": None}, "^fit: the log has no propensities, which the doubly robust scores of linear"),
        ("linear", {"context": None}, "^fit: the log has no contexts"),
        ("tree", {}, r"^fit: learner = .*tree.*, must be an algorithm, \"linear\", or a regression with fit and pred"),
        (3, {}, "^fit: learner = 3, must be an algorithm"),
    ],
)
def test_what_cannot_be_learned_is_refused(learner, more, message):
    with pytest.raises(ValueError, match=message):
        jb.fit(learner, log_of(**more))


def test_a_log_of_other_arms_is_refused():
    policy = jb.fit("linear", EARLY)
    with pytest.raises(
        ValueError, match=r"^fit: linear was learned for the arms \[0, 1, 2\], the log has \[0, 1, 2, 3\]"
    ):
        jb.evaluate(log_of(num_arms=4, reward=1 - REWARD), policy)
    with pytest.raises(ValueError, match=r"^fit: log = 3, must be a Log"):
        jb.fit("linear", 3)  # pyright: ignore[reportArgumentType]
