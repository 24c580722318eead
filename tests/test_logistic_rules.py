"""Logistic rules: what they refuse, what they say they need, and UCB-GLM's first rounds and history."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from jaxbandit.algorithms.contextual.logistic_greedy import logistic_epsilon, logistic_greedy, logistic_softmax
from jaxbandit.algorithms.contextual.logistic_ts import logistic_ts
from jaxbandit.algorithms.contextual.logistic_ucb import logistic_ucb
from jaxbandit.algorithms.contextual.ucb_glm import ucb_glm
from jaxbandit.base.contract import Arms, Offer, Rewards

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

RULES = {
    logistic_ts: {"regularization": 0.0, "scale": -0.1, "variant": "full", "intercept": 1},
    logistic_ucb: {"regularization": 0.0, "alpha": -0.1, "intercept": 1},
    ucb_glm: {"regularization": -1.0, "alpha": -0.1, "every": 0, "random_rounds": -1, "horizon": 0, "intercept": 1},
    logistic_greedy: {"regularization": 0.0, "intercept": "no"},
    logistic_epsilon: {"regularization": 0.0, "epsilon": 1.1, "intercept": 1},
    logistic_softmax: {"regularization": 0.0, "temperature": 0.0, "intercept": 1},
}


@pytest.mark.parametrize("factory", RULES, ids=lambda factory: factory.__name__)
def test_arguments_are_checked(factory):
    name, more = factory.__name__, {"horizon": 50} if factory is ucb_glm else {}
    for argument, value in RULES[factory].items():
        with pytest.raises(ValueError, match=f"^{name}: {argument} = "):
            factory(3, (2,), **(more | {argument: value}))
    for shape in ((), (0,), (2, 4), (3, 4, 5), 4, (2.0,)):
        with pytest.raises(ValueError, match=f"^{name}: shape = "):
            factory(3, shape, **more)
    with pytest.raises(ValueError, match=f"^{name}: num_arms = 0"):
        factory(0, (2,), **more)


@pytest.mark.parametrize("factory", RULES, ids=lambda factory: factory.__name__)
@pytest.mark.parametrize("shape", [(2,), (3, 2)])
def test_the_constant_is_not_part_of_the_context(factory, shape):
    """What is declared, what is accepted and what an error names is the context without the constant."""
    rule = factory(3, shape, **({"horizon": 50} if factory is ucb_glm else {}))
    assert rule.arms == Arms(3, context=shape) and rule.rewards == Rewards(0.0, 1.0)
    state, noise = jax.eval_shape(rule.init, jax.random.key(0)), jax.eval_shape(rule.noise, jax.random.key(0))

    def played(context):
        return jax.eval_shape(rule.select, noise, state, context)

    row = jax.ShapeDtypeStruct(shape, jnp.float32)
    played(row)
    played(Offer(jax.ShapeDtypeStruct((3,), bool), row))
    wrong = jax.ShapeDtypeStruct((*shape[:-1], 3), jnp.float32)
    with pytest.raises(ValueError) as caught:
        played(wrong)
    assert str(shape) in str(caught.value) and str(wrong.shape) in str(caught.value)


def test_the_first_rounds_of_ucb_glm_are_uniform_over_the_available_arms():
    """A chi-squared test of 4,000 draws at level 1e-4."""
    rule = ucb_glm(4, (2,), horizon=50, random_rounds=3)
    available, row = jnp.array([True, False, True, True]), jnp.array([0.3, -1.0])
    state = rule.init(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 4000)

    @jax.jit
    def arms(state):
        return jax.vmap(lambda key: rule.select(rule.noise(key), state, Offer(available, row)))(keys)

    def at(t):
        return state._replace(policy=state.policy._replace(round=jnp.int32(t)))

    for t in (1, 3):
        counts = np.bincount(arms(at(t)), minlength=4)
        assert counts[1] == 0 and stats.chisquare(counts[[0, 2, 3]]).pvalue > 1e-4
    assert np.all(arms(at(4)) == 0)  # all scores tie, and the lowest arm wins
    assert ucb_glm(4, (2,), horizon=50).noise(keys[0]) is None


@pytest.mark.parametrize("shared", [True, False])
def test_a_run_beyond_the_horizon_keeps_the_last_rounds(shared):
    """Theta after 95 rounds with room for 40 is the maximum for the last 40, at which the gradient is 0."""
    rng, rounds, room = np.random.default_rng(3), 95, 40
    rule = ucb_glm(2, (2, 3) if shared else (3,), horizon=room, every=10, intercept=False)
    contexts, rewards = rng.standard_normal((rounds, *rule.arms.context)), rng.integers(0, 2, (rounds, 2)) * 1.0

    @jax.jit
    def run(contexts, rewards):
        def body(state, step):
            row, reward = step
            state = jax.lax.cond(rule.replan.due(state), rule.replan.apply, lambda same: same, state)
            arm = rule.select(None, state, row)
            return rule.update(state, row, arm, reward[arm]), arm

        state, arms = jax.lax.scan(body, rule.init(jax.random.key(0)), (contexts, rewards))
        return rule.replan.apply(state), rule.replan.due(state), arms

    with jax.enable_x64(True):
        state, due, arms = jax.device_get(run(contexts, rewards))
    assert due and int(state.fitted) == rounds
    last = np.arange(rounds - room, rounds)
    for arm in (None,) if shared else (0, 1):
        own = last if shared else last[arms[last] == arm]
        x = contexts[own, arms[own]] if shared else contexts[own]
        theta = state.policy.models.theta if shared else state.policy.models.theta[arm]
        gradient = x.T @ (rewards[own, arms[own]] - expit(x @ theta)) - theta
        assert len(own) > 5 and np.max(np.abs(gradient)) < 1e-9
