"""Combinatorial Thompson sampling for sets of k arms: Wang and Chen (2018), Algorithm 1, with Beta posteriors."""

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.base.arguments import PriorAlpha, PriorBeta, SeveralArms, TeamSize
from jaxbandit.base.contract import Algorithm, Arms, Choice, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Successes
from jaxbandit.theory.solvers.beta import beta_shape, draw_logits, draw_noise


@declare(question="regret", setting="semi-bandit", rewards="0 or 1", cost="O(K k), one Beta draw an arm", memory="O(K)")
def combinatorial_thompson(
    num_arms: SeveralArms, *, k: TeamSize, prior_alpha: PriorAlpha = 1.0, prior_beta: PriorBeta = 1.0
) -> Algorithm:
    """Semi-bandits, the k arms with the largest posterior draws, Wang and Chen 2018.

    The means of the arms have independent Beta(prior_alpha, prior_beta) priors. Each round draws a mean for every arm
    from its posterior and pulls the k arms with the largest draws. A member's reward strictly between 0 and 1 is
    replaced by a Bernoulli draw with that success probability.

    Guarantee: With the uniform prior, logarithmic regret for independent arms (Wang and Chen 2018).

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, and rewards float[num_arms] with those of the members in
      [0, 1] and 0 elsewhere. It recommends the k arms pulled most, int32[k].

    Source:
      Wang and Chen (2018), Thompson sampling for combinatorial semi-bandits, ICML, Algorithm 1.
    """

    def noise(key: Key) -> tuple[Array, Array]:
        """Random words, uint32[num_arms], and a uniform number per arm for the Bernoulli draws."""
        coins = jax.random.uniform(jax.random.fold_in(key, num_arms), (num_arms,))  # the words use the numbers below
        return draw_noise(key, num_arms), coins

    def select(noise: tuple[Array, Array], state: Successes, context: None) -> Choice:
        words, coins = noise
        failures = state.counts - state.successes
        shape = beta_shape(as_float(prior_alpha) + as_float(state.successes), as_float(prior_beta) + as_float(failures))
        draws = lax.optimization_barrier(draw_logits(words, lax.optimization_barrier(shape)))
        return Choice(teams.largest(draws, k), coins)

    def update(state: Successes, context: None, choice: Choice, reward: Array) -> Successes:
        team, coins = choice
        success = (team & (coins < reward)).astype(jnp.int32)
        return Successes(state.counts + team.astype(jnp.int32), state.successes + success)

    return Algorithm(
        init=lambda key: estimator.no_successes(num_arms),
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: teams.ranked(as_float(state.counts), k),
        noise=noise,
        arms=Arms(num_arms, k, members=True),
        rewards=Rewards(0.0, 1.0),
    )
