"""Equal actions, round by round, between each index policy in float64 and its NumPy reference on the same rewards.

Arms with as many pulls and successes tie, and rounding decides: where two indices agree to 1e-9 (empirical KL-UCB:
1e-7, the reference's own precision) the reference takes our action, which must then be the lowest of equal arms.
"""

import numpy as np
import player
import pytest
from player import made
from reference import kl_ucb as reference_kl_ucb
from reference import kl_ucb_empirical as reference_empirical
from reference import ucb as reference_ucb
from reference import ucboost as reference_ucboost
from tiers import a_few

from jaxbandit.algorithms.regret.kl_ucb import kl_ucb
from jaxbandit.algorithms.regret.kl_ucb_empirical import kl_ucb_empirical
from jaxbandit.algorithms.regret.ucb import ucb, ucb1
from jaxbandit.algorithms.regret.ucboost import ucboost, ucboost_eps, ucboost_lb

pytestmark = pytest.mark.quickly_compiled

NUM_ARMS, ROUNDS, SEEDS = 5, 400, 2
LAWS = ["edges", "bernoulli", "tied", "beta"]
CASES = [
    *[(ucb, reference_ucb.play, {"distance": d}, {"c": 0.0}) for d in ("sq", "bq", "h", "lb", "t", "kl")],
    (ucb1, lambda rewards, **h: reference_ucb.play(rewards, "sq", **h), {}, {"c": 3.0}),
    (ucboost, reference_ucboost.play_ucboost, {}, {"c": 0.0}),
    (ucboost, reference_ucboost.play_ucboost, {"distances": ("sq", "t", "kl")}, {"c": 3.0}),
    (ucboost_eps, reference_ucboost.play_ucboost_eps, {}, {"eps": 0.01, "c": 0.0}),
    (ucboost_eps, reference_ucboost.play_ucboost_eps, {}, {"eps": 0.2, "c": 3.0}),
    (ucboost_lb, reference_ucboost.play_ucboost_lb, {}, {"eps": 0.01, "c": 0.0}),
    (ucboost_lb, reference_ucboost.play_ucboost_lb, {}, {"eps": 0.1, "c": 3.0}),
    (kl_ucb, reference_kl_ucb.play, {}, {"c": 0.0}),
    (kl_ucb, reference_kl_ucb.play, {}, {"c": 3.0}),
    (kl_ucb_empirical, reference_empirical.play, {"num_atoms": 2}, {"c": 0.0}),
    (kl_ucb_empirical, reference_empirical.play, {"num_atoms": 5}, {"c": 3.0}),
]


def rewards_of(law):
    rng = np.random.default_rng(11)
    if law == "beta":
        return rng.beta(np.linspace(1, 3, NUM_ARMS), 2, (SEEDS, ROUNDS, NUM_ARMS))
    means = {"bernoulli": [0.9, 0.5, 0.5, 0.1, 0.02], "edges": [0.0, 1.0, 1.0, 0.3, 0.0], "tied": [0.5] * NUM_ARMS}
    return (rng.random((SEEDS, ROUNDS, NUM_ARMS)) < means[law]).astype(float)


def ours(factory, static, traced, rewards):
    return player.play(made(factory, NUM_ARMS, **static), rewards, **traced).actions


@pytest.mark.parametrize(
    "case",
    a_few(range(len(CASES)), 4),
    ids=["-".join([f.__name__, *map(str, s.values()), *map(str, t.values())]) for f, _, s, t in CASES],
)
def test_same_actions(case):
    """Of all laws and seeds, side by side; where the reference is slow, in the first 150 rounds."""
    factory, play, static, traced = CASES[case]
    rewards = np.concatenate([rewards_of(law) for law in LAWS])
    actions = ours(factory, static, traced, rewards)
    shown = 150 if factory in (kl_ucb_empirical, ucboost_eps) else ROUNDS
    actions, rewards = actions[:, :shown], rewards[:, :shown]
    np.testing.assert_array_equal(actions, play(rewards, **static, **traced, ties=actions))


def test_exact_ties_go_to_the_lowest_arm():
    rewards = np.zeros((len(LAWS) * SEEDS, ROUNDS, NUM_ARMS))  # of the shape that is compiled anyway
    for factory, play, static, traced in CASES[:1] + CASES[5:8]:
        mine = ours(factory, static, traced, rewards)[0, :30]
        np.testing.assert_array_equal(mine, play(rewards[0, :30], **static, **traced), err_msg=factory.__name__)
