"""Regret bounds against closed forms, hand-worked numbers and an independent quadrature."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from jaxbandit.theory.bounds.regret import (
    bernoulli_kl,
    bernoulli_regret_constant,
    beta_regret_constant,
    exponential_regret_constant,
    gaussian_kl,
    gaussian_regret_constant,
    k_inf,
    poisson_regret_constant,
    regret_lower_bound,
    table_regret_constant,
)
from jaxbandit.theory.solvers.families import family


def close(got, expected, rtol=1e-12, atol=0.0):
    return bool(np.isclose(got, expected, rtol=rtol, atol=atol))  # NumPy's own atol would hide small numbers


def test_bernoulli_kl_by_hand():
    # kl(1/2, 1/4) = 1/2 log 2 + 1/2 log(2/3); kl(1/4, 1/2) = 1/4 log(1/2) + 3/4 log(3/2).
    assert close(bernoulli_kl(0.5, 0.25), 0.5 * np.log(4 / 3), rtol=1e-15)
    assert close(bernoulli_kl(0.25, 0.5), 0.75 * np.log(3) - np.log(2), rtol=1e-14)
    assert close(bernoulli_kl(0.0, 0.75), np.log(4), rtol=1e-15)
    assert close(bernoulli_kl(1.0, 0.75), np.log(4 / 3), rtol=1e-15)


CONSTANTS = {
    "bernoulli": bernoulli_regret_constant,
    "gaussian": gaussian_regret_constant,
    "poisson": poisson_regret_constant,
    "exponential": exponential_regret_constant,
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_divergences_of_bounds_are_those_of_the_rules(name):
    """Bounds are NumPy, because a figure compiles nothing; the rules' divergences are JAX, and cancel less."""
    means = np.array([0.9, 0.2, 0.35, 0.899])
    with jax.enable_x64(True):
        divergences = np.asarray(family(name).kl(jnp.asarray(means[1:]), jnp.full(3, means[0])))
    assert close(CONSTANTS[name](means), np.sum((means[0] - means[1:]) / divergences), rtol=1e-9)


def test_bernoulli_kl_edges():
    for p in (0.0, 0.3, 1.0):
        assert bernoulli_kl(p, p) == 0
    assert bernoulli_kl(0.3, 1.0) == bernoulli_kl(0.3, 0.0) == np.inf
    assert bernoulli_kl(0.0, 1.0) == bernoulli_kl(1.0, 0.0) == np.inf


def test_bernoulli_kl_keeps_its_digits_near_equality():
    for p in (1e-3, 0.3, 0.999):
        gap = 1e-8 * p * (1 - p)
        quadratic = (p + gap - p) ** 2 / (2 * p * (1 - p))  # the next term is 1e-8 of it
        assert close(bernoulli_kl(p, p + gap), quadratic, rtol=2e-6)


def test_bernoulli_constant_by_hand():
    # Gaps 1/4 and 1/2 below 3/4: kl(1/2, 3/4) = 1/2 log(4/3), kl(1/4, 3/4) = 1/2 log 3.
    expected = 0.25 / (0.5 * np.log(4 / 3)) + 0.5 / (0.5 * np.log(3))
    assert close(bernoulli_regret_constant([0.25, 0.75, 0.5]), expected, rtol=1e-14)


def test_bernoulli_constant_edges():
    assert bernoulli_regret_constant([0.2, 1.0, 0.0]) == 0  # one failure tells an arm from mean 1
    assert close(bernoulli_regret_constant([0.0, 0.5]), 0.5 / np.log(2), rtol=1e-14)
    assert bernoulli_regret_constant([0.0, 0.0]) == bernoulli_regret_constant([0.4]) == 0
    # Ties at the top, also those that rounding parts, add nothing.
    once = bernoulli_regret_constant([0.1, 0.3])
    assert bernoulli_regret_constant([0.1, 0.3, 0.3]) == once
    assert 0.1 * 3 != 0.3
    assert close(bernoulli_regret_constant([0.1, 0.3, 0.1 * 3]), once, rtol=1e-12)


def test_bernoulli_constant_of_the_nine_arms():
    # The UCBoost paper's first scenario, by the textbook formula.
    p, q = np.arange(1, 9) / 10, 0.9
    kl = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    assert close(bernoulli_regret_constant(np.arange(1, 10) / 10), np.sum((q - p) / kl), rtol=1e-12)


def test_gaussian_constant():
    assert gaussian_kl(1.0, 3.0, 2.0) == 0.5
    assert close(gaussian_regret_constant([0.0, 1.0, 0.5, 1.0], 0.5), 2 * 0.25 * (1 / 1 + 1 / 0.5))
    assert gaussian_regret_constant([-3.0]) == 0
    # As sigma doubles, four times the pulls.
    assert close(gaussian_regret_constant([0.0, 1.0], 2.0), 4 * gaussian_regret_constant([0.0, 1.0], 1.0))


def divergence(law, other):
    """The Kullback-Leibler divergence between two laws of scipy.stats, by summation or quadrature."""
    if hasattr(law, "logpmf"):
        k = np.arange(200)
        return float(np.sum(law.pmf(k) * (law.logpmf(k) - other.logpmf(k))))
    return integrate.quad(lambda x: law.pdf(x) * (law.logpdf(x) - other.logpdf(x)), 0, 60, epsabs=1e-13)[0]


@pytest.mark.parametrize(
    ("constant", "law"),
    [(poisson_regret_constant, stats.poisson), (exponential_regret_constant, lambda mean: stats.expon(scale=mean))],
    ids=["poisson", "exponential"],
)
def test_constants_of_poisson_and_exponential_arms(constant, law):
    means = np.array([0.5, 2.0, 1.9, 2.0, 1.0])
    expected = sum((2.0 - mean) / divergence(law(mean), law(2.0)) for mean in (0.5, 1.9, 1.0))
    assert close(constant(means), expected, rtol=1e-9)  # that of the quadrature
    assert constant([0.7]) == constant([0.7, 0.7]) == 0
    variance = 2.0 if constant is poisson_regret_constant else 4.0
    gap = 1e-7  # so near, the divergence is gap^2 / (2 variance), up to 1e-7 of it
    assert close(constant([2.0 - gap, 2.0]), 2 * variance / gap, rtol=1e-6)


def test_a_poisson_arm_that_never_rewards_is_told_by_one_reward():
    assert close(poisson_regret_constant([0.0, 3.0]), 1.0)  # the divergence is the mean of the best arm
    assert poisson_regret_constant([0.0, 0.0]) == 0
    with pytest.raises(ValueError, match="exponential_regret_constant: means"):
        exponential_regret_constant([0.0, 1.0])


@pytest.mark.parametrize("unit", [1e-10, 1e10])
def test_the_gaussian_constant_scales_with_the_unit_of_rewards(unit):
    """Gaps are ties beside the means, not beside 1: 0.3 - 0.1 - 0.2 is one, a gap of 1e-10 of means of 1e-10 is not."""
    means = np.array([0.1 + 0.2, 0.3, 0.1])
    expected = 2 / 0.2 * unit
    np.testing.assert_allclose(gaussian_regret_constant(means * unit, sigma=unit), expected, rtol=1e-9)


def test_k_inf_of_two_points_is_the_bernoulli_kl():
    for p in (0.0, 0.1, 0.5, 0.89):
        for mean in (0.1, 0.5, 0.9, 0.999):
            expected = bernoulli_kl(p, mean) if p < mean else 0.0
            assert close(k_inf([0.0, 1.0], [1 - p, p], mean), expected, rtol=1e-9, atol=1e-14)


def test_k_inf_of_one_point():
    # A constant reward x can only gain mean by mass 1 - (1 - mean) / (1 - x) moved to 1.
    assert close(k_inf([0.25], [1.0], 0.75), np.log(3), rtol=1e-12)
    assert k_inf([0.25], [1.0], 0.25) == 0
    assert k_inf([0.25], [1.0], 1.0) == np.inf


def test_k_inf_is_the_least_divergence():
    # The primal problem by a general solver: a law on the atoms and on 1 with the mean asked for.
    atoms, weights, mean = np.array([0.0, 0.2, 0.6, 0.7]), np.array([0.4, 0.3, 0.2, 0.1]), 0.5

    def divergence(law):
        return np.sum(special.rel_entr(weights, law[:4]))

    start = np.append(0.5 * weights, 0.5)
    support = np.append(atoms, 1.0)
    primal = optimize.minimize(
        divergence,
        start,
        method="SLSQP",
        bounds=[(1e-9, 1.0)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda law: law.sum() - 1},
            {"type": "ineq", "fun": lambda law: law @ support - mean},
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert primal.success
    assert close(k_inf(atoms, weights, mean), primal.fun, rtol=1e-6)


def test_beta_constant_against_its_closed_form_and_quadrature():
    # Best mean 9/11. For Beta(a, 2), E 1/(1 - X) = a + 1, and while (a + 1) 2/11 < 1 the maximiser is s = 1, where
    # E log((1 - X) / (2/11)) = digamma(2) - digamma(a + 2) - log(2/11).
    best = 9 / 11
    for a in (1, 4, 5, 8):

        def dual(s, a=a):
            def integrand(x):
                return stats.beta.pdf(x, a, 2) * np.log1p(-s * (x - best) / (1 - best))

            return -integrate.quad(integrand, 0, 1)[0]

        closed = special.digamma(2) - special.digamma(a + 2) - np.log(2 / 11)
        if (a + 1) * 2 / 11 < 1:
            expected = closed
        else:
            expected = -optimize.minimize_scalar(dual, bounds=(0, 1), method="bounded").fun
            assert expected > closed + 1e-4
        constant = beta_regret_constant([a, 9.0], [2.0, 2.0])
        assert close(constant, (best - a / (a + 2)) / expected, rtol=1e-7)


def test_beta_constant_is_below_the_bernoulli_one():
    alpha, beta = np.arange(1.0, 10.0), np.full(9, 2.0)
    assert 0 < beta_regret_constant(alpha, beta) < bernoulli_regret_constant(alpha / (alpha + beta))
    assert beta_regret_constant([1.0, 2.0], [1.0, 2.0]) == 0  # equal means
    # Two masses near 0 and 1: in the limit of small shapes a Beta law is a Bernoulli law.
    small = beta_regret_constant([0.3e-3, 0.6e-3], [0.7e-3, 0.4e-3])
    assert close(small, bernoulli_regret_constant([0.3, 0.6]), rtol=2e-2)


def test_table_constant():
    zero_one = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert close(table_regret_constant(zero_one), bernoulli_regret_constant([0.25, 0.75]), rtol=1e-9)
    assert table_regret_constant([[0.5, 1.0]]) == 0


def test_regret_lower_bound():
    np.testing.assert_allclose(regret_lower_bound(2.0, np.array([1, 10, 10**9])), [0, 2 * np.log(10), 18 * np.log(10)])


REFUSALS = {
    "mean above 1": (lambda: bernoulli_regret_constant([0.1, 1.1]), "means[1] = 1.1, must be in [0, 1]"),
    "mean NaN": (lambda: gaussian_regret_constant([np.nan]), "means[0] = nan"),
    "sigma": (lambda: gaussian_regret_constant([0.0], 0.0), "sigma = 0.0, must be a number in (0, inf)"),
    "alpha": (lambda: beta_regret_constant([0.0], [1.0]), "alpha[0] = 0.0"),
    "lengths": (lambda: beta_regret_constant([1.0, 1.0], [1.0]), "beta has shape (1,), must have alpha's"),
    "table": (lambda: table_regret_constant([[0.0, -1.0]]), "rewards[0, 1] = -1.0, must be in [0, 1]"),
    "weights": (lambda: k_inf([0.0, 1.0], [0.5, 0.6], 0.5), "sum 1.1, must have"),
    "mean": (lambda: k_inf([0.0, 1.0], [0.5, 0.5], 1.5), "mean = 1.5, must be a number in [0, 1]"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    call, message = REFUSALS[case]
    with pytest.raises(ValueError) as refusal:
        call()
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
