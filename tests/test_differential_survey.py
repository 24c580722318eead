"""Equal arms, round by round, between the baselines of a survey in float64 and NumPy on the same rewards and numbers.

Where two scores agree to 1e-6, rounding or the accuracy of an inversion decides, and the reference goes on with our
arm; quantiles of Student's t and of gamma distributions are right to 1e-5 of their size.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import play
from reference import survey_turns as turns
from reference.survey import SCORES
from tiers import a_few

import jaxbandit as jb
from jaxbandit.algorithms.regret.kl_ucb_plus import doubly_logarithmic
from jaxbandit.base.contract import action_of

pytestmark = pytest.mark.quickly_compiled
K, T, SEEDS = 5, 300, 2
RNG = np.random.default_rng(11)
MEANS = np.linspace(0.3, 0.7, K)
REWARDS = {
    "coin": (RNG.random((SEEDS, T, K)) < MEANS).astype(float),
    "real": MEANS + RNG.normal(size=(SEEDS, T, K)),
    "poisson": RNG.poisson(3 * MEANS, (SEEDS, T, K)).astype(float),
    "exponential": RNG.exponential(3 * MEANS, (SEEDS, T, K)),
}
gaussian, poisson, exponential = ({"family": name} for name in ("gaussian", "poisson", "exponential"))
INDICES = [  # rule, rewards, reference and its arguments
    (jb.algorithms.softmax(K), "coin", "softmax", {}, 1e-6),
    (jb.algorithms.softmax(K, schedule="decreasing"), "coin", "softmax decreasing", {}, 1e-6),
    (jb.algorithms.boltzmann_gumbel(K, c=0.3), "real", "boltzmann_gumbel", {"c": 0.3}, 1e-6),
    (jb.algorithms.ucb_tuned(K), "coin", "ucb_tuned", {}, 1e-6),
    (jb.algorithms.ucb_alpha(K, alpha=1.7), "coin", "ucb_alpha", {"alpha": 1.7}, 1e-6),
    (jb.algorithms.kl_ucb(K, c=3.0, **gaussian, sigma=0.5), "real", "kl_ucb",
     {"c": 3.0, **gaussian, "sigma": 0.5}, 1e-6),
    (jb.algorithms.kl_ucb(K, **poisson), "poisson", "kl_ucb", poisson, 1e-6),
    (jb.algorithms.kl_ucb(K, **exponential), "exponential", "kl_ucb", exponential, 1e-6),
    (jb.algorithms.kl_ucb_plus(K, c=7.0), "coin", "kl_ucb_plus", {"c": 7.0}, 1e-6),
    (jb.algorithms.kl_ucb_plus(K, horizon=T), "coin", "kl_ucb_plus", {"horizon": T}, 1e-6),
    (jb.algorithms.kl_ucb_plus_plus(K, horizon=T), "coin", "kl_ucb_plus_plus", {"horizon": T}, 1e-6),
    (jb.algorithms.kl_ucb_plus(K, **gaussian, sigma=0.5), "real", "kl_ucb_plus", {**gaussian, "sigma": 0.5}, 1e-6),
    (jb.algorithms.kl_ucb_plus(K, **exponential), "exponential", "kl_ucb_plus", exponential, 1e-6),
    (jb.algorithms.kl_ucb_plus_plus(K, horizon=T, **gaussian, sigma=0.5), "real", "kl_ucb_plus_plus",
     {"horizon": T, **gaussian, "sigma": 0.5}, 1e-6),
    (jb.algorithms.kl_ucb_plus_plus(K, horizon=T, **poisson), "poisson", "kl_ucb_plus_plus",
     {"horizon": T, **poisson}, 1e-6),
    (jb.algorithms.kl_ucb_switch(K, horizon=32 * K), "coin", "kl_ucb_switch", {"horizon": 32 * K}, 1e-6),
    (jb.algorithms.kl_ucb_switch(K), "coin", "kl_ucb_switch", {}, 1e-6),
    (jb.algorithms.imed(K, **gaussian, sigma=0.5), "real", "imed", {**gaussian, "sigma": 0.5}, 1e-6),
    (jb.algorithms.imed(K, **poisson), "poisson", "imed", poisson, 1e-6),
    (jb.algorithms.imed(K, **exponential), "exponential", "imed", exponential, 1e-6),
    (jb.algorithms.thompson(K, **gaussian, sigma=0.5), "real", "thompson", {**gaussian, "sigma": 0.5}, 1e-6),
    (jb.algorithms.thompson(K, **poisson), "poisson", "thompson", poisson, 1e-3),
    (jb.algorithms.thompson(K, **exponential), "exponential", "thompson", exponential, 1e-3),
    (jb.algorithms.bayes_ucb(K, **gaussian, sigma=0.5), "real", "bayes_ucb", {**gaussian, "sigma": 0.5}, 1e-6),
    (jb.algorithms.bayes_ucb(K, **poisson), "poisson", "bayes_ucb", poisson, 1e-3),
    (jb.algorithms.bayes_ucb(K, **exponential), "exponential", "bayes_ucb", exponential, 1e-3),
    (jb.algorithms.thompson_gaussian_ag(K), "coin", "thompson_gaussian_ag", {}, 1e-6),
    (jb.algorithms.thompson_gaussian_unknown(K), "real", "thompson_gaussian_unknown", {}, 1e-3),
    (jb.algorithms.thompson_gaussian_unknown(K, alpha=0.3), "real", "thompson_gaussian_unknown", {"alpha": 0.3}, 1e-3),
    (jb.algorithms.bayes_ucb_gaussian_unknown(K), "real", "bayes_ucb_gaussian_unknown", {}, 1e-4),
    (jb.algorithms.ada_ucb(K, horizon=T, sigma=0.5), "real", "ada_ucb", {"horizon": T, "sigma": 0.5}, 1e-6),
    (jb.algorithms.oc_ucb(K, eta=2.0, rho=0.6, sigma=0.5), "real", "oc_ucb",
     {"eta": 2.0, "rho": 0.6, "sigma": 0.5}, 1e-6),
    (jb.algorithms.phe(K), "coin", "phe", {}, 1e-12),
    (jb.algorithms.phe(K, a=2.0), "coin", "phe", {"a_": 2.0}, 1e-12),
    (jb.algorithms.giro(K), "coin", "giro", {}, 1e-12),
    (jb.algorithms.giro(K, a=0.5), "coin", "giro", {"a_": 0.5}, 1e-12),
    (jb.algorithms.raw_ucb(K, horizon=T), "real", "raw_ucb", {}, 1e-6),
    (jb.algorithms.robust_ucb(K, moment=1.0, horizon=T), "real", "robust_ucb", {"moment": 1.0}, 1e-6),
    (jb.algorithms.robust_ucb(K, moment=0.01, horizon=T, estimator="median of means"), "real", "robust_ucb median",
     {"moment": 0.01}, 1e-6),
]  # fmt: skip


@pytest.mark.parametrize("case", a_few(INDICES, 4), ids=lambda case: f"{case[2]} {case[3]}")
def test_indices(case):
    rule, world, name, given, close = case
    arms, _, _, noise, *_ = play(lambda: rule, REWARDS[world])
    differ = 0
    for seed in range(SEEDS):
        x = [np.zeros(0) for _ in range(K)]
        for t in range(1, T + 1):
            arm = int(arms[seed, t - 1])
            scores = SCORES[name](x, t, None if noise is None else noise[seed, t - 1], **given)
            best = int(np.argmax(scores))
            if arm != best:
                assert scores[arm] >= scores[best] - close * max(1, abs(scores[best])), (seed, t, scores, arm)
                differ += 1
            x[arm] = np.append(x[arm], REWARDS[world][seed, t - 1, arm])
    assert differ <= 12, differ  # of 600 rounds


def log_ratio(gap, sigma, horizon):
    return max(math.log(horizon * gap**2 / sigma**2), 0.0)


TURNS = {
    "etc": (jb.algorithms.etc(K, 7), "real", lambda noise: turns.commits(K, lambda n, lead: n >= 7)),
    "etc_gap": (
        jb.algorithms.etc_gap(K, gap=0.8, horizon=T, sigma=0.5),
        "real",
        lambda noise: turns.commits(K, lambda n, lead: n >= math.ceil(math.log(T * 0.64) / 0.64)),
    ),
    "etc_sprt": (
        jb.algorithms.etc_sprt(K, gap=0.2, horizon=T, sigma=0.7),
        "real",
        lambda noise: turns.commits(K, lambda n, lead: 0.2 * n * lead >= 0.49 * log_ratio(0.2, 0.7, T)),
    ),
    "etc_bai": (
        jb.algorithms.etc_bai(K, horizon=T, sigma=0.4),
        "real",
        lambda noise: turns.commits(K, lambda n, lead: lead >= math.sqrt(0.64 * max(math.log(T / (2 * n)), 0) / n)),
    ),
    "epsilon_first": (
        jb.algorithms.epsilon_first(K, horizon=T, epsilon=0.1),
        "real",
        lambda noise: turns.explores(K, lambda t: float(t <= 30), noise),
    ),
    "epsilon_decreasing": (
        jb.algorithms.epsilon_decreasing(K, c=0.3, d=0.3),
        "real",
        lambda noise: turns.explores(K, lambda t: 0.3 * K / (0.09 * t), noise),
    ),
    "besa": (jb.algorithms.besa(K), "coin", lambda noise: turns.besa(K, noise)),
    "besa of three": (jb.algorithms.besa(3), "coin", lambda noise: turns.besa(3, noise)),
    "lb_sda": (jb.algorithms.lb_sda(K, horizon=T), "coin", lambda noise: turns.sda(K, None)),
    "lb_sda with a memory": (
        jb.algorithms.lb_sda(K, horizon=T, memory=6),
        "coin",
        lambda noise: turns.sda(K, None, memory=6),
    ),
    "lb_sda on floats": (jb.algorithms.lb_sda(K, horizon=T), "real", lambda noise: turns.sda(K, None)),
    "rb_sda": (jb.algorithms.rb_sda(K, horizon=T), "coin", lambda noise: turns.sda(K, noise)),
    "exp3_plus_plus": (jb.algorithms.exp3_plus_plus(K), "coin", lambda noise: turns.exp3_plus_plus(K, noise)),
    "exp3_plus_plus with gaps": (
        jb.algorithms.exp3_plus_plus(K, alpha=0.01, beta=0.1),
        "coin",
        lambda noise: turns.exp3_plus_plus(K, noise, alpha=0.01, beta=0.1),
    ),
    "swa": (jb.algorithms.swa(K, window=9), "real", lambda noise: turns.swa(K, 9)),
}


@pytest.mark.parametrize("name", a_few(TURNS))
def test_turns(name):
    rule, world, reference = TURNS[name]
    num_arms = rule.arms.num_arms
    rewards = REWARDS[world][:, :, :num_arms]
    arms, _, _, noise, *_ = play(lambda: rule, rewards)
    for seed in range(SEEDS):
        other = reference(None if noise is None else jax.tree.map(lambda x, seed=seed: x[seed], noise))
        expected = [next(other)]
        for t in range(T - 1):
            expected.append(other.send(rewards[seed, t, expected[-1]]))
        assert arms[seed].tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["raw_ucb", "rb_sda", "robust_ucb"])
def test_a_run_for_which_there_is_no_room_is_refused(rule):
    """These rules keep every reward; one more than they have room for would make all that follows wrong."""
    algorithm = getattr(jb.algorithms, rule)(2, horizon=5, **({"moment": 1.0} if rule == "robust_ucb" else {}))
    world, message = (
        jb.environments.bernoulli([0.2, 0.8]),
        r"= 6, must be at most 5, the rounds for which the algorithm keeps",
    )
    jb.simulate(algorithm, world, horizon=5, num_runs=2)
    with pytest.raises(ValueError, match="horizon " + message):
        jb.simulate(algorithm, world, horizon=6, num_runs=2)
    with pytest.raises(ValueError, match="rollout: horizon " + message):
        jb.rollout(jax.random.key(0), algorithm, world, horizon=6)
    session = jb.session(algorithm, seed=0)
    for _ in range(5):
        session, pulls = jb.ask(session)
        session = jb.tell(session, pulls.id, [1.0])
    with pytest.raises(ValueError, match=f"ask: {rule} keeps the rewards of 5 pulls, and this would be pull 6"):
        jb.ask(session)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        jb.algorithms.etc(1, 1),
        jb.algorithms.etc_gap(1, gap=0.01, horizon=1),
        jb.algorithms.etc_sprt(1, gap=0.01, horizon=1, sigma=0.01),
        jb.algorithms.etc_bai(1, horizon=1, sigma=0.01),
        jb.algorithms.phe(1, a=0.01),
        jb.algorithms.giro(1, a=0.01),
        jb.algorithms.besa(1),
        jb.algorithms.lb_sda(1, horizon=1, memory=1),
        jb.algorithms.rb_sda(1, horizon=1),
        jb.algorithms.kl_ucb_plus(1, horizon=1),
        jb.algorithms.kl_ucb_plus_plus(1, horizon=1),
        jb.algorithms.kl_ucb_switch(1, horizon=1),
        jb.algorithms.raw_ucb(1, horizon=1, alpha=0.01, sigma=0.01),
        jb.algorithms.swa(1, 1),
        jb.algorithms.robust_ucb(1, moment=0.01, horizon=1),
    ],
    ids=lambda rule: rule.name,
)
def test_the_smallest_arguments_are_allowed(rule):
    """One arm and one round: the arm is pulled, and its reward is taken."""
    state = rule.init(jax.random.key(0))
    choice = rule.select(rule.noise(jax.random.key(1)), state, None)
    assert int(action_of(choice)) == 0
    assert np.asarray(rule.pulls(rule.update(state, None, choice, jnp.asarray(1.0)))).tolist() == [1]


def test_the_level_of_kl_ucb_plus_plus():
    """log+(y (1 + log+(y)^2)): 0 up to y = 1, and by hand beyond."""
    found = doubly_logarithmic(jnp.log(jnp.array([0.2, 1.0, 2.0, np.e])))
    expected = [0.0, 0.0, np.log(2 * (1 + np.log(2) ** 2)), 1 + np.log(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    "rule",
    [jb.algorithms.thompson(1), jb.algorithms.phe(1), jb.algorithms.giro(1), jb.algorithms.besa(1)],
    ids=lambda rule: rule.name,
)
def test_a_reward_between_0_and_1_is_a_success_with_that_probability(rule):
    """Within 4 standard errors of 0.3 among 4,000: a false alarm in 16,000."""

    def success(key):
        state = rule.init(key)
        choice = rule.select(rule.noise(key), state, None)
        return rule.update(state, None, choice, jnp.asarray(0.3)).successes[0]

    share = np.mean(jax.jit(jax.vmap(success))(jax.random.split(jax.random.key(8, impl="threefry4x32"), 4_000)))
    assert share == pytest.approx(0.3, abs=4 * math.sqrt(0.21 / 4_000))
