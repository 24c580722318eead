"""Random full-bandit instances of Kuroki et al. (2019), Section 5: a given gap between the k-th and (k+1)-th mean."""

import numpy as np

from jaxbandit.base.arguments import ClosedUnit, NonNegative, Seed, SeveralArms, TeamSize
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.combinatorial.full_bandit import full_bandit
from jaxbandit.support.types import ArrayLike


@declare(settings=({"num_arms": 3, "k": 2, "gap": 0.3},))
def full_bandit_random(
    num_arms: SeveralArms, k: TeamSize, gap: ClosedUnit, *, instance_seed: Seed = 0, sigma: NonNegative = 1.0
) -> Environment:
    """full_bandit with random means and a gap after the k-th.

    Return the instance number `instance_seed`, the same for all runs and seeds. The means of the k best arms are
    uniform on [0, 1], the next mean is `gap` below the smallest of them, and the others are uniform between -1 and that
    mean. The order of the arms is random too.

    Args:
      gap: difference between the k-th and the (k+1)-th mean, which is also the gap between the two best super-arms.
      instance_seed: number of the instance. Instances that differ only in the gap share all random draws.
      sigma: standard deviation of the Gaussian noise of a pull.

    Returns:
      An Environment with actions bool[num_arms], k of them True, and rewards float[], as `full_bandit`.

    Source:
      Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Polynomial-time algorithms for multiple-arm identification with
      full-bandit feedback, Neural Computation 32, Section 5.
    """
    rng = np.random.default_rng(instance_seed)
    top, rest, order = rng.random(k), rng.random(num_arms - k), rng.permutation(num_arms)
    next_best = top.min() - gap
    rest[0] = 1.0
    means = _concatenate(top, next_best * rest - (1 - rest))  # uniform on [-1, next_best]; the first is next_best
    return full_bandit(means[order], k, sigma=sigma)._replace(name="full_bandit_random")


def _concatenate(top: np.ndarray, rest: ArrayLike) -> ArrayLike:
    if isinstance(rest, np.ndarray):
        return np.concatenate([top, rest])
    import jax.numpy as jnp

    return jnp.concatenate([jnp.asarray(top, rest.dtype), rest])
