"""Greedy linear policy: the arm with the largest x' theta_hat, by ordinary least squares; it never explores."""

from jaxbandit.algorithms.regret import action_sets
from jaxbandit.algorithms.regret.linear_policy import LinearState, linear_policy
from jaxbandit.base.arguments import FeatureSets, Mask
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.types import Array, PyTree
from jaxbandit.theory.estimators import recursive_least_squares as estimator


@declare(question="regret", cost="O(K d + d^2)", memory="O(K + d^2)")
def greedy(features: FeatureSets, *, mask: Mask | None = None) -> Algorithm:
    """The arm with the largest least-squares estimate.

    The arm with the largest x' theta_hat is pulled, with the ordinary least-squares estimate. Initial pulls continue
    until the arms pulled span R^dim. The policy is a baseline that shows what exploration is worth.

    Guarantee: None: it may settle on a worse arm.

    Returns:
      An Algorithm with contexts int32[] in [0, num_contexts), or none, actions int32[] in [0, num_arms) and rewards
      float[]. It recommends the arm pulled most, numbered num_arms * m + a for arm a of context m.

    Raises:
      ValueError: features is not finite, the mask leaves a set empty, every set has one arm, or the arms do not span
        R^dim.

    Source:
      The initial pulls are those of Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual
      bandit, AISTATS, Algorithm 1.
    """
    sets = action_sets.action_sets(features, mask, spanning=True)

    def score(noise: PyTree, state: LinearState, context: Array | None) -> Array:
        return estimator.means(state.estimate, action_sets.round_rows(sets, context))

    return linear_policy(sets, score, regularization=None)
