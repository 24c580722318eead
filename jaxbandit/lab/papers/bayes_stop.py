"""FIESTA's rule for a fixed confidence (Moss, Moore, Leslie, Rayson, ACL 2019), for its reproduction and for audits.

It does not bound the error probability, because it is evaluated after every pull and scores are not Gaussian; so it is
not among the algorithms of the library. A TOML file names it "jaxbandit.lab.papers.bayes_stop:bayes_stop".
"""

import functools
import math
from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from jaxbandit.base.arguments import SeveralArms
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Arms, Promise
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key, Scalar

FIRST = 3  # initial pulls of each arm
DRAWS = 128  # largest number of draws from the posterior that are searched for a challenger of the leader
_NODES = np.arange(-40, 41) / 4  # nodes of the trapezoidal rule in s, where t = sinh(s)


class BayesStopState(NamedTuple):
    """Statistics of the rewards of each arm."""

    pulls: Array  # int32[], total number of pulls
    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms]
    squares: Array  # float[num_arms], sums of squared deviations from the mean


class Noise(NamedTuple):
    """All randomness of a round."""

    coin: Array  # float[]
    uniforms: Array  # float[2, DRAWS + 1, num_arms], in (0, 1)


HalfDelta = Annotated[Scalar, Arg(number(0, 0.5, open_low=True, open_high=True), "1 minus the posterior probability")]


@functools.partial(checked, maker=True)
def bayes_stop(
    num_arms: SeveralArms, *, sampling: Literal["top_two", "uniform"] = "top_two", delta: HalfDelta = 0.05
) -> Algorithm:
    """Return FIESTA's rule, which stops when an arm is the best with posterior probability at least 1 - delta.

    After n pulls with empirical mean m and variance v (with divisor n), the posterior of an arm's mean is that of m +
    sqrt(v / (n - 2)) t, where t has Student's distribution with n - 2 degrees of freedom. The probability that an arm
    is the best is computed by quadrature, whereas the authors' code estimates it from 100,000 draws for each arm.

    The guarantee of an error probability of at most delta is not proved.

    Args:
      sampling: "top_two" pulls the best arm of a draw from the posterior or, with probability 1/2, the best arm of the
        first further draw in which another arm is the best. "uniform" pulls every arm once per round, as in the paper,
        and evaluates the stopping rule after each round. Static.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1].

    Source: Moss, Moore, Leslie, Rayson (2019), FIESTA: fast identification of state-of-the-art models using adaptive
    bandit algorithms, ACL.
    """

    def init(key: Key) -> BayesStopState:
        zeros = jnp.zeros(num_arms)
        return BayesStopState(jnp.zeros((), jnp.int32), jnp.zeros(num_arms, jnp.int32), zeros, zeros)

    def noise(key: Key) -> Noise:
        # The uniforms are odd multiples of 2^-24, hence never 0.
        words = jax.random.bits(key, (2 * (DRAWS + 1) * num_arms + 1,), jnp.uint32) >> 9
        uniforms = (as_float(words.astype(jnp.int32)) + 0.5) * 2.0**-23
        return Noise(uniforms[0], uniforms[1:].reshape(2, DRAWS + 1, num_arms))

    def select(noise: Noise, state: BayesStopState, context: None) -> Array:
        turn = state.pulls % num_arms
        if sampling == "uniform":
            return turn
        freedom, scale = _posterior(state)
        u, v = noise.uniforms
        # Student's distribution is drawn by Bailey's polar method (1994), which is exact for any degrees of freedom.
        radius = jnp.sqrt(freedom[None] * jnp.expm1(-2 * jnp.log(u) / freedom[None]))
        draws = state.means[None] + scale[None] * radius * jnp.cos(2 * math.pi * v)
        best = jnp.argmax(draws, axis=1).astype(jnp.int32)
        leader = best[0]
        others = best != leader
        second = argmax(jnp.where(jnp.arange(num_arms, dtype=jnp.int32) == leader, -jnp.inf, draws[0]))
        challenger = jnp.where(jnp.any(others), get_at(best, argmax(others)), second)
        chosen = jnp.where(noise.coin < 0.5, leader, challenger)
        return jnp.where(state.pulls < FIRST * num_arms, turn, chosen)

    def update(state: BayesStopState, context: None, action: Array, reward: Array) -> BayesStopState:
        count, mean = get_at(state.counts, action) + 1, get_at(state.means, action)
        moved = mean + (reward - mean) / as_float(count)
        square = get_at(state.squares, action) + (reward - mean) * (reward - moved)
        return BayesStopState(
            state.pulls + 1,
            set_at(state.counts, action, count),
            set_at(state.means, action, moved),
            set_at(state.squares, action, square),
        )

    def stop(state: BayesStopState) -> Array:
        sure = probability_best(state) >= 1 - as_float(delta)
        enough = state.pulls >= FIRST * num_arms
        return sure & (enough & (state.pulls % num_arms == 0) if sampling == "uniform" else enough)

    return Algorithm(
        init=init,
        noise=noise,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: argmax(state.means)[None],
        stop=stop,
        promise=Promise(delta, proved=False),
        arms=Arms(num_arms),
        name="bayes_stop",
    )


def probability_best(state: BayesStopState) -> Array:
    """Return the posterior probability that the arm with the largest empirical mean is the best, float[].

    That of any other arm is at most 1/2. It is an integral by the trapezoidal rule; each arm has at least 3 pulls.
    """
    freedom, scale = _posterior(state)
    best = argmax(state.means)
    own = get_at(freedom, best)
    t, steps = np.sinh(_NODES), np.cosh(_NODES) / 4
    log_density = -(own + 1) / 2 * jnp.log1p(as_float(t**2) / own)
    weights = jnp.exp(log_density) * as_float(steps)
    place = get_at(state.means, best) + get_at(scale, best) * as_float(t)
    z = (place[:, None] - state.means[None]) / jnp.maximum(scale, jnp.finfo(scale.dtype).tiny)[None]
    tail = _tail(jnp.abs(z), freedom[None])
    below = jnp.where(z > 0, 1 - tail, tail)
    below = jnp.where(jnp.arange(state.means.size, dtype=jnp.int32)[None] == best, 1.0, below)
    return jnp.sum(weights * jnp.prod(below, axis=1)) / jnp.sum(weights)


def _tail(t: Array, freedom: Array) -> Array:
    """P(T > t) of Student's distribution for t >= 0, to 2e-5: exact for 1 and 2 degrees of freedom; Hill (1970)."""
    t = jnp.minimum(t, 1e10)
    a = freedom - 0.5
    y, b = a * jnp.log1p(t * t / freedom), 48 * a * a
    terms = (((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b) + y + 3
    many = ndtr(-jnp.sqrt(y) * (1 + terms / b))
    one, two = jnp.arctan2(1.0, t) / math.pi, (1 - t / jnp.sqrt(2 + t * t)) / 2
    return jnp.where(freedom == 1, one, jnp.where(freedom == 2, two, many))


def _posterior(state: BayesStopState) -> tuple[Array, Array]:
    """The degrees of freedom and the scale of the posterior of each arm."""
    n = as_float(jnp.maximum(state.counts, FIRST))
    return n - 2, jnp.sqrt(state.squares / n / (n - 2))
