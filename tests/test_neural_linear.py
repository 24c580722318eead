"""Neural-linear: linear Thompson sampling while nothing is trained, and as its NumPy reference with training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import neural_linear as reference

from jaxbandit.algorithms.contextual import neural_linear as module
from jaxbandit.algorithms.contextual.lin_ts_disjoint import lin_ts_disjoint
from jaxbandit.algorithms.contextual.lin_ts_shared import lin_ts_shared
from jaxbandit.algorithms.contextual.neural_linear import hidden_units, neural_linear
from jaxbandit.base.contract import Offer
from jaxbandit.support.numerics import product

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

ROUNDS, ARMS, DIM = 120, 3, 4


def world(shared, masked):
    """Contexts, rewards of every arm and masks; the means bend in the context."""
    rng = np.random.default_rng(1)
    contexts = rng.standard_normal((ROUNDS, ARMS, DIM) if shared else (ROUNDS, DIM))
    theta = np.sin(1 + np.arange(ARMS * DIM)).reshape(ARMS, DIM)
    rewards = np.sum(contexts * theta if shared else contexts[:, None] * theta, -1) ** 2
    rewards += 0.3 * rng.standard_normal(rewards.shape)
    masks = rng.random((ROUNDS, ARMS)) < 0.6 if masked else np.ones((ROUNDS, ARMS), bool)
    masks[np.arange(ROUNDS), np.arange(ROUNDS) % ARMS] = True
    return contexts, rewards, masks


def played(algorithm, contexts, rewards, masks, masked):
    """The first state, the noise, the actions and the last state."""

    @jax.jit
    def run(contexts, rewards, masks, keys):
        def body(state, step):
            row, reward, available, noise = step
            if algorithm.replan is not None:
                due = algorithm.replan.due(state)
                state = jax.lax.cond(due, algorithm.replan.apply, lambda same: same, state)
            context = Offer(available, row) if masked else row
            arm = algorithm.select(noise, state, context)
            return algorithm.update(state, context, arm, reward[arm]), arm

        own, start = jax.vmap(algorithm.noise)(keys), algorithm.init(keys[0])
        end, actions = jax.lax.scan(body, start, (contexts, rewards, masks, own))
        return start, own, actions, end

    keys = jax.random.split(jax.random.key(5), len(contexts))
    return jax.device_get(run(jnp.asarray(contexts), jnp.asarray(rewards), jnp.asarray(masks), keys))


@pytest.mark.parametrize(("shared", "masked"), [(True, False), (False, True)])
def test_without_training_it_is_linear_thompson_sampling_on_the_hidden_layer(shared, masked):
    """Byte by byte, the posterior included, operation by operation: compiled together, others would be contracted."""
    contexts, rewards, masks = (x[:8] for x in world(shared, masked))
    with jax.enable_x64(True), jax.disable_jit():
        rule = neural_linear(ARMS, contexts.shape[1:], hidden=(6, 5), sigma=0.4, steps=0, intercept=False)
        start, _, actions, end = played(rule, contexts, rewards, masks, masked)
        phi = hidden_units(start.network, jnp.asarray(contexts.reshape(-1, DIM)), product)
        linear = (lin_ts_shared if shared else lin_ts_disjoint)(ARMS, 5, sigma=0.4, intercept=False)
        seen = np.asarray(phi).reshape(*contexts.shape[:-1], 5)
        _, _, expected, last = played(linear, seen, rewards, masks, masked)
    assert rule.replan is None and len(np.unique(actions)) > 1
    np.testing.assert_array_equal(actions, expected)
    jax.tree.map(np.testing.assert_array_equal, end.policy, last)


@pytest.mark.parametrize(("shared", "intercept"), [(True, True), (False, True), (False, False)])
def test_plays_as_its_reference(shared, intercept):
    """Two hidden layers, a buffer that forgets, and four trainings."""
    contexts, rewards, masks = world(shared, not shared)
    hyper = {"sigma": 0.4, "learning_rate": 0.02, "buffer": 70, "every": 25}
    more = {"hidden": (6, 5), "intercept": intercept}
    steps, size = 12, 8
    with jax.enable_x64(True):
        rule = neural_linear(ARMS, contexts.shape[1:], steps=steps, batch_size=size, **more, **hyper)
        start, noise, actions, end = played(rule, contexts, rewards, masks, not shared)

        def minibatches(rounds):
            key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(start.words), impl=module.KIND), rounds)
            return np.asarray(jax.random.randint(key, (steps, size), 0, min(rounds, 70), jnp.int32))

        layers = [w for pair in zip(start.network.weights, start.network.biases, strict=True) for w in pair]
        weights = [*layers, start.network.outputs]
        own = {"rate" if name == "learning_rate" else name: value for name, value in hyper.items()}
        expected = reference.play(contexts, rewards, masks, noise, weights, minibatches, **own)
    np.testing.assert_array_equal(actions, expected)
    assert len(np.unique(actions)) == ARMS and int(end.trained) == 100
    np.testing.assert_array_equal(end.policy.counts, np.bincount(expected, minlength=ARMS))


def test_first_weights_have_their_variance_and_differ_between_runs():
    """He et al. (2015): 2 / inputs; 4 standard errors of a variance of 5,000 normals, a false alarm in 5,000 tests."""
    networks = [module.random_network(jax.random.key(i), (100, 50), 100) for i in range(2)]
    for network in networks:
        for weights, variance in ((network.weights[0], 2 / 100), (network.outputs, 1 / 50)):
            assert abs(np.var(np.asarray(weights)) / variance - 1) < 4 * np.sqrt(2 / 5000)
        assert not np.any(network.biases[0])
    assert not np.array_equal(networks[0].outputs, networks[1].outputs)


def test_arguments_are_checked():
    for hidden in ((), 5, (0,), (3, 2.5)):
        with pytest.raises(ValueError, match=r"^neural_linear: hidden"):
            neural_linear(2, (3,), hidden=hidden)
    for name, value in [("sigma", 0.0), ("learning_rate", 0.0), ("buffer", 0), ("every", 0), ("steps", -1)]:
        with pytest.raises(ValueError, match=f"^(neural_linear|lin_ts_disjoint): {name} = "):
            neural_linear(2, (3,), **{name: value})
    with pytest.raises(ValueError, match=r"^neural_linear: batch_size = 0"):
        neural_linear(2, (3,), batch_size=0)
