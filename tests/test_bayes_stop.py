"""FIESTA's rule: the posterior probability against SciPy, and the arms that a top-two draw gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import jaxbandit as jb
from jaxbandit.lab.papers.bayes_stop import BayesStopState, bayes_stop, probability_best

pytestmark = pytest.mark.quickly_compiled

COUNTS = np.array([3, 4, 30, 5])  # 1, 2, 28 and 3 degrees of freedom
MEANS = np.array([0.62, 0.63, 0.655, 0.6])
SQUARES = np.array([0.002, 0.001, 0.02, 0.004])


def state(means=MEANS):
    return BayesStopState(jnp.int32(COUNTS.sum()), jnp.int32(COUNTS), jnp.asarray(means), jnp.asarray(SQUARES))


def laws(means=MEANS):
    return [stats.t(n - 2, m, np.sqrt(s / n / (n - 2))) for n, m, s in zip(COUNTS, means, SQUARES, strict=True)]


@pytest.mark.parametrize("shift", [0.0, 0.05])
def test_probability_of_the_best_arm(shift):
    means = MEANS + np.array([shift, 0, 0, 0])
    posterior, best = laws(means), int(np.argmax(means))
    others = [law for i, law in enumerate(posterior) if i != best]

    def weighted(u):  # over the levels of the best arm's law
        return np.prod([law.cdf(posterior[best].ppf(u)) for law in others])

    expected = integrate.quad(weighted, 0, 1, limit=200)[0]
    with jax.enable_x64(True):
        assert float(jax.jit(probability_best)(state(means))) == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
@pytest.mark.statistical
def test_arms_of_a_top_two_draw():
    """Half the pulls go to an arm drawn by its probability to be the best, half to one drawn from the others'.

    False-alarm rate 1e-4: chi squared on arms, of probabilities from 4e5 draws of SciPy's Student laws.
    """
    rule, number = bayes_stop(4), 20_000
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), number)
        arms = jax.jit(jax.vmap(lambda key: rule.select(rule.noise(key), state(), None)))(keys)
    drawn = np.stack([law.rvs(400_000, random_state=i) for i, law in enumerate(laws())])
    best = np.bincount(drawn.argmax(0), minlength=4) / 400_000
    second = best * (np.sum(best / (1 - best)) - best / (1 - best))
    expected = (best + second) / 2
    found = np.bincount(np.asarray(arms), minlength=4)
    assert stats.chisquare(found, expected / expected.sum() * number).pvalue > 1e-4


@pytest.mark.slow
def test_runs_stop_at_the_best_arm():
    found = jb.identify(
        bayes_stop(3), jb.environments.gaussian([0.0, 0.3, 3.0], sigma=0.3), num_runs=20, max_rounds=200
    )
    assert found.samples().min() >= 9 and not found.censored
    assert (found.arrays["recommendation"] == 2).all() and found.guarantee["proved"] is False
    found = jb.identify(
        bayes_stop(3, sampling="uniform"),
        jb.environments.gaussian([0.0, 0.3, 0.4], sigma=0.3),
        num_runs=20,
        max_rounds=600,
    )
    assert found.samples().max() > 9 and (found.samples() % 3 == 0).all()  # the paper's rounds of all arms


def test_refusals():
    with pytest.raises(ValueError, match=r"bayes_stop: delta = 0\.7, must be a number in"):
        bayes_stop(3, delta=0.7)
    with pytest.raises(ValueError, match="sampling = 'uniformly', must be one of top_two, uniform"):
        bayes_stop(3, sampling="uniformly")  # type: ignore
