"""Semi-bandit feedback: a pull names a set of k arms and shows the reward of each member, 0 or 1."""

from typing import Annotated

from jaxbandit.base.arguments import TeamSize
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.environments.combinatorial.full_bandit import FullBanditState, from_members
from jaxbandit.support.checks import arrays
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, ArrayLike


@declare(settings=({"means": (0.2, 0.5, 0.6), "k": 2},))
def semi_bandit(means: Annotated[ArrayLike, Arg(arrays(min_size=2, low=0, high=1))], k: TeamSize) -> Environment:
    """A pull of k arms, of which each reward, 0 or 1, is observed.

    A pull pays the sum of the rewards. `full_bandit` with Bernoulli noise is the same problem with the same noise, but
    shows only the sum.

    Args:
      means: float[num_arms] in [0, 1], with num_arms > k; traced.

    Returns:
      An Environment with actions bool[num_arms], k of them True, and rewards float[num_arms], 0 or 1 for each member
      and 0 for the other arms. The regret is the sum of the k largest means minus that of the members' means.
    """

    def reward(state: FullBanditState, context: None, action: Array, noise: Array) -> Array:
        return as_float(action & (noise < state.means))

    return by_members(from_members(means, k, "exact"), k)._replace(reward=reward)


def by_members(environment: Environment, k: int) -> Environment:
    """Return a full bandit as one that shows each member's reward in [0, 1]; the caller replaces its `reward`."""
    assert environment.arms is not None
    arms = Arms(environment.arms.num_arms, k, members=True)
    return environment._replace(batch=None, arms=arms, rewards=Rewards(0.0, 1.0, sigma=0.5))
