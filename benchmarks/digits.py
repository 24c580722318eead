"""The training in the benchmarks of tuning: a 64-32-10 network on the digits of scikit-learn, 200 steps of SGD."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import jaxbandit as jb
from jaxbandit.support.types import Array, Key

STEPS, BATCH, HIDDEN = 200, 64, 32


@functools.cache
def data() -> tuple[np.ndarray, ...]:
    """Return images and labels for training, then those for the score."""
    from sklearn.datasets import load_digits

    images, labels = map(np.asarray, load_digits(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = (images[order] / 16).astype(np.float32), labels[order].astype(np.int32)
    return images[:1297], labels[:1297], images[1297:], labels[1297:]


def logits(weights: Any, x: Array) -> Array:
    return jnp.maximum(x @ weights["w"] + weights["b"], 0) @ weights["v"] + weights["c"]


def train(key: Key, config: Any) -> Array:
    """Return the accuracy on held-out images; the seed determines the initial weights and the batches."""
    images, labels, others, theirs = map(jnp.asarray, data())
    first, second, third = jax.random.split(key, 3)
    weights = {
        "w": config["init"] * jax.random.normal(first, (64, HIDDEN)) / 8,
        "b": jnp.zeros(HIDDEN),
        "v": config["init"] * jax.random.normal(second, (HIDDEN, 10)) / HIDDEN**0.5,
        "c": jnp.zeros(10),
    }
    optimizer = optax.sgd(config["lr"], momentum=config["momentum"])

    def loss(weights: Any, x: Array, y: Array) -> Array:
        return optax.softmax_cross_entropy_with_integer_labels(logits(weights, x), y).mean()

    def step(carry: Any, places: Array) -> tuple[Any, None]:
        weights, state = carry
        slopes = jax.grad(loss)(weights, images[places], labels[places])
        updates, state = optimizer.update(slopes, state, weights)
        return (optax.apply_updates(weights, updates), state), None

    places = jax.random.randint(third, (STEPS, BATCH), 0, len(labels))
    (weights, _), _ = jax.lax.scan(step, (weights, optimizer.init(weights)), places)
    return (logits(weights, others).argmax(-1) == theirs).mean()


def space(count: int) -> dict[str, np.ndarray]:
    """Return configurations drawn at random."""
    laws = {
        "lr": jb.space.loguniform(1e-3, 1.0),
        "momentum": jb.space.uniform(0.0, 0.99),
        "init": jb.space.uniform(0.5, 2.0),
    }
    return jb.space.random_configs(jax.random.key(1), count, **laws)
