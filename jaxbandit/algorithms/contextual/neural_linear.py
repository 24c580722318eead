"""Neural-linear: Thompson sampling on the last hidden layer of a network that is trained every hundred rounds.

Riquelme, Tucker and Snoek (2018). The noise's scale is given and not drawn from its posterior, the regression has the
paper's prior, and only the last rows are kept. Between two trainings it is linear Thompson sampling on fixed features;
after one, the posterior is that of all rows that are kept.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.contextual import adam
from jaxbandit.algorithms.contextual.adam import Adam
from jaxbandit.algorithms.contextual.lin_ts_disjoint import lin_ts_disjoint
from jaxbandit.algorithms.contextual.lin_ts_shared import lin_ts_shared
from jaxbandit.algorithms.contextual.models import models, ridge
from jaxbandit.algorithms.contextual.policy import ContextualState, offered, written
from jaxbandit.base.arguments import Count, Intercept, NumArms, Positive, Shape, Sigma, Whole
from jaxbandit.base.contract import Action, Algorithm, Arms, Context, Offer, Replan, action_of
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import as_float, dot, get_at, product
from jaxbandit.support.types import Array, Key, PyTree

KIND = "threefry2x32"  # the generator of minibatches


class Network(NamedTuple):
    """Layers of rectified linear units, and linear outputs, with a constant if they have one more row than units."""

    weights: tuple[Array, ...]  # float[inputs, units] of each hidden layer
    biases: tuple[Array, ...]  # float[units]
    outputs: Array  # float[units, num_arms], or float[units, 1] with a row for each arm


class NeuralLinearState(NamedTuple):
    """What the round needs, and what the next training starts from."""

    policy: ContextualState
    network: Network
    optimizer: Adam
    rows: Array  # float[buffer, dim], of the arms that were pulled
    rewards: Array  # float[buffer]
    arms: Array  # int32[buffer], the output of the network that a row is for
    words: Array  # uint32[2], the key of the minibatches
    trained: Array  # int32[], the number of rounds before the last training


@declare(
    question="regret",
    setting="contexts",
    rewards="sub-Gaussian, scale given",
    cost="O(K h^2 + K d h) for h hidden units; a training every 100 rounds",
    memory="O(K h^2 + d h + B d), for B rows",
    tries={"learning_rate": (0.01, 0.001)},
    settings=({"shape": (2,), "hidden": (4,), "buffer": 16, "every": 20, "steps": 2, "batch_size": 4},),
)
def neural_linear(
    num_arms: NumArms,
    shape: Shape,
    *,
    hidden: tuple[int, ...] = (50,),
    sigma: Sigma = 1.0,
    learning_rate: Positive = 1e-3,
    buffer: Count = 4096,
    every: Count = 100,
    steps: Whole = 100,
    batch_size: Count = 64,
    intercept: Intercept = True,
) -> Algorithm:
    """Linear Thompson sampling on features that a network learns, Riquelme et al. 2018.

    The features phi(x) are the last hidden layer of a network, relu(W' x + b) for one layer. Each round is one of
    `lin_ts_disjoint` or `lin_ts_shared` on phi(x), with the prior N(0, I). Every `every` rounds the network is trained
    by Adam on minibatches of the last rows, with the squared loss of its output for the arm that was pulled, and the
    posterior is computed anew from these rows.

    Guarantee: None.

    Args:
      shape: shape of the context: (dim,) for a vector that all arms share, with a regression and an output of the
        network for each arm, or (num_arms, dim) for a row for each arm, with one of both.
      hidden: numbers of units of the hidden layers, integers >= 1; static. The last is the dimension of phi.
      sigma: standard deviation of the noise, in units of the rewards.
      learning_rate: learning rate of Adam.
      buffer: number of last rounds whose rows are kept. Others are forgotten at the next training.
      every: number of rounds between two trainings.
      steps: number of minibatches of a training. With 0 nothing is ever trained or forgotten, and the features remain
        those of the random network.
      batch_size: number of rows of a minibatch, which are drawn with replacement.
      intercept: whether a constant 1 is appended to phi, as in the paper; the network's outputs have it, too.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, actions int32[] in [0, num_arms) and rewards
      float[]. Its noise is that of the linear rule. It replans to train.

    Source:
      Riquelme, Tucker and Snoek (2018), Deep Bayesian bandits showdown, ICLR, Section 2, "NeuralLinear".
    """
    own = models(ridge, 1.0, num_arms, shape)
    num_arms, shape, shared = own.num_arms, own.shape, own.shared
    if not isinstance(hidden, tuple | list) or not hidden:
        raise ValueError(f"hidden = {hidden!r}, must be a tuple of at least one number of units")
    units = tuple(checks.take("hidden", count, integer(1)) for count in hidden)
    width = units[-1] + int(intercept)
    linear = (lin_ts_shared if shared else lin_ts_disjoint)(num_arms, width, sigma=sigma, intercept=False)
    regression = ridge(width, sigma * sigma)  # that of the linear rule

    def phi_of(network: Network, context: Context) -> Context:
        available, features = offered(shape, context)
        phi = hidden_units(network, features, product) if shared else hidden_units(network, features[None], product)[0]
        return phi if available is None else Offer(available, phi)

    def init(key: Key) -> NeuralLinearState:
        network = random_network(jax.random.fold_in(key, 1), (shape[-1], *units), 1 if shared else num_arms)
        if intercept:
            network = network._replace(outputs=jnp.pad(network.outputs, ((0, 1), (0, 0))))
        return NeuralLinearState(
            policy=linear.init(jax.random.fold_in(key, 2)),
            network=network,
            optimizer=adam.init(network),
            rows=jnp.zeros((buffer, shape[-1])),
            rewards=jnp.zeros(buffer),
            arms=jnp.zeros(buffer, jnp.int32),
            words=jax.random.bits(jax.random.fold_in(key, 3), (2,), jnp.uint32),
            trained=jnp.zeros((), jnp.int32),
        )

    def select(noise: PyTree, state: NeuralLinearState, context: Context) -> Action:
        return linear.select(noise, state.policy, phi_of(state.network, context))

    def update(state: NeuralLinearState, context: Context, selected: Action, reward: Array) -> NeuralLinearState:
        arm, features = action_of(selected), offered(shape, context)[1]
        x = lax.dynamic_index_in_dim(features, arm, 0, keepdims=False) if shared else features
        place = (state.policy.round - 1) % buffer
        return state._replace(
            policy=linear.update(state.policy, phi_of(state.network, context), selected, reward),
            rows=written(state.rows, place, x),
            rewards=written(state.rewards, place, as_float(reward)),
            arms=state.arms if shared else written(state.arms, place, arm),
        )

    def loss(network: Network, x: Array, arms: Array, rewards: Array) -> Array:
        outputs = dot(hidden_units(network, x, dot), network.outputs)
        return jnp.mean((jnp.take_along_axis(outputs, arms[:, None], 1)[:, 0] - rewards) ** 2)

    def posterior(phi: Array, state: NeuralLinearState, seen: Array) -> PyTree:
        """The models of the linear rule after the rows that are kept, each arm's in the order of their places."""

        def of(rows: Array, first: Array, end: Array) -> PyTree:
            def add(i: Array, one: PyTree) -> PyTree:
                row = get_at(rows, i)
                return regression.update(one, get_at(phi, row), get_at(state.rewards, row))

            return lax.fori_loop(first, end, add, regression.init())

        places = jnp.arange(buffer, dtype=jnp.int32)
        if shared:
            return of(places, jnp.zeros((), jnp.int32), seen)
        arms = jnp.where(places < seen, state.arms, num_arms)
        pulled = arms[None] == jnp.arange(num_arms, dtype=jnp.int32)[:, None]
        ends = jnp.cumsum(jnp.sum(pulled, 1, dtype=jnp.int32), dtype=jnp.int32)
        rows = jnp.argsort(arms, stable=True).astype(jnp.int32)
        return lax.map(lambda ends: of(rows, *ends), (jnp.concatenate([jnp.zeros(1, jnp.int32), ends[:-1]]), ends))

    def train(state: NeuralLinearState) -> NeuralLinearState:
        rounds = state.policy.round - 1
        seen = jnp.minimum(rounds, buffer)
        key = jax.random.fold_in(jax.random.wrap_key_data(state.words, impl=KIND), rounds)

        def step(carry: PyTree, places: Array) -> tuple[PyTree, None]:
            network, optimizer = carry
            gradient = jax.grad(loss)(network, state.rows[places], state.arms[places], state.rewards[places])
            return adam.update(network, optimizer, gradient, learning_rate), None

        places = jax.random.randint(key, (steps, batch_size), 0, seen, jnp.int32)
        network, optimizer = lax.scan(step, (state.network, state.optimizer), places)[0]
        models = posterior(hidden_units(network, state.rows, dot), state, seen)
        policy = state.policy._replace(models=models)
        return state._replace(policy=policy, network=network, optimizer=optimizer, trained=rounds)

    return linear._replace(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.policy.counts,
        replan=Replan(lambda state: state.policy.round - 1 - state.trained >= every, train) if steps else None,
        arms=Arms(num_arms, context=shape),
        name="neural_linear",
    )


def random_network(key: Key, sizes: tuple[int, ...], outputs: int) -> Network:
    """Return normal weights of variance 2 / inputs, and 1 / inputs for the outputs (He et al. 2015); biases are 0."""
    keys = [jax.random.fold_in(key, i) for i in range(len(sizes))]
    weights = [jax.random.normal(k, (a, b)) * (2 / a) ** 0.5 for k, a, b in zip(keys, sizes, sizes[1:], strict=False)]
    biases = [jnp.zeros(b) for b in sizes[1:]]
    last = jax.random.normal(keys[-1], (sizes[-1], outputs)) / sizes[-1] ** 0.5
    return Network(tuple(weights), tuple(biases), last)


def hidden_units(network: Network, x: Array, times: Callable[[Array, Array], Array]) -> Array:
    """Return phi(x) of each row of x, float[rows, dimension of phi], with `times` for products of matrices."""
    for weights, biases in zip(network.weights, network.biases, strict=True):
        x = jax.nn.relu(times(x, weights) + biases[None])
    constants = network.outputs.shape[0] - x.shape[1]  # 1 with an intercept, else 0
    return jnp.concatenate([x, jnp.ones((x.shape[0], constants), x.dtype)], axis=1)
