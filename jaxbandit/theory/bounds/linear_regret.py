"""Lower bounds on regret in linear (contextual) bandits: C log t for each instance, d sqrt(n) for the worst instance.

Hao, Lattimore and Szepesvari (2020), equations 3.5 and 3.6, and Lattimore and Szepesvari (2017): a policy whose regret
is o(t^a) on every instance, for every a > 0, has a regret of at least C log t asymptotically, with noise N(0, 1). The
minimax rate is that of Dani, Hayes and Kakade (2008), without its constant.
"""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbandit.base.arguments import Dim, Vector
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import arrays, axes
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, ArrayLike
from jaxbandit.theory.solvers.allocation import allocation

_TIE = 1e-9  # a gap below this fraction of the largest absolute mean counts as a tie, as in regret.py


class RegretConstant(NamedTuple):
    """C with its certificate: value - bound is the duality gap."""

    value: Array  # float[]
    bound: Array  # float[], certified lower bound on the smallest cost


ActionSets = Annotated[ArrayLike, Arg(lambda given: arrays(ndim=3 if axes(given["action_sets"]) == 3 else 2))]


@checked
def linear_regret_constant(action_sets: ActionSets, theta: Vector, *, mask: Any = None) -> RegretConstant:
    """Return C such that the regret is asymptotically at least C log t; 0 if the optimal arms span R^dim.

    `regret_lower_bound` of regret.py evaluates C log t. Concrete numbers give NumPy float64; traced ones, of one
    instance, follow the precision of the scope.

    Args:
      action_sets: float[K, d], the features of one set, or float[M, K, d], one set per context. Copies of a feature in
        several contexts are different arms.
      theta: float[d].
      mask: bool[K] or bool[M, K], False for padding, with at least one True per context; None means no padding.

    Source: Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS, equations
    3.5 and 3.6.
    """
    if action_sets.shape[-1] != theta.shape[0]:
        raise ValueError(
            f"theta has {theta.shape[0]} entries, must have one for each of {action_sets.shape[-1]} dimensions"
        )
    mask = np.ones(action_sets.shape[:-1], bool) if mask is None else mask
    if np.shape(mask) != action_sets.shape[:-1]:
        raise ValueError(f"mask has shape {np.shape(mask)}, must have {action_sets.shape[:-1]}")
    if not isinstance(mask, Tracer) and not np.all(np.any(mask, -1)):
        raise ValueError("mask leaves a context without an arm, must leave one or more")
    if any(isinstance(a, Tracer) for a in (action_sets, theta, mask)):
        return _constant(as_float(action_sets), as_float(theta), jnp.asarray(mask, bool))
    with jax.enable_x64(True):
        constant = _constant(as_float(action_sets), as_float(theta), jnp.asarray(mask, bool))
        return jax.tree.map(np.asarray, constant)


@jax.jit
def _constant(action_sets: Array, theta: Array, mask: Array) -> RegretConstant:
    means = jnp.sum(action_sets * theta.reshape(*(1,) * (action_sets.ndim - 1), -1), -1)
    best = jnp.max(jnp.where(mask, means, -jnp.inf), -1, keepdims=True)
    gaps = best - means
    gaps = jnp.where(gaps > _TIE * jnp.max(jnp.where(mask, jnp.abs(means), 0.0)), gaps, 0.0)
    cheapest = allocation(action_sets.reshape(-1, theta.shape[0]), gaps.ravel(), 2.0, mask=mask.ravel())
    return RegretConstant(cheapest.cost, cheapest.bound)


@checked
def minimax_linear_regret(dim: Dim, horizon: ArrayLike) -> np.ndarray:
    """Return d sqrt(n), the order of the smallest regret on the worst instance of dimension d, without its constant.

    Args:
      dim: dimension d.
      horizon: number of rounds n >= 0, one or several.
    """
    return dim * np.sqrt(np.asarray(horizon, np.float64))
