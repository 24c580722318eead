"""Bounds of linear pure exploration: classical sums on the canonical basis, the papers' formulas by loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit.theory.bounds.exploration import (
    complexity_constants,
    linear_complexity,
    lingape_sample_bound,
    sample_lower_bound,
    top_m_gaps,
)
from jaxbandit.theory.solvers.l1 import l1_table, representations

# Six arms and six axes everywhere, some of them zero: one program for each function.
CANONICAL = np.eye(6)
SOARE = np.vstack([np.eye(6)[:5], [np.cos(0.1), np.sin(0.1), 0, 0, 0, 0]])
MEANS = np.array([0.3, 1.0, 0.5, 0.8, 0.5, -0.2])


def random_instances(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        x = np.hstack([rng.normal(size=(6, 4)), np.zeros((6, 2))])
        x /= np.linalg.norm(x, axis=1)[:, None]
        yield x, x[:, 0]


def gaps_by_hand(means, m):
    order = sorted(means, reverse=True)
    return [mean - order[m] if mean >= order[m - 1] else order[m - 1] - mean for mean in means]


def close(got, expected, rtol=1e-12):
    return bool(np.isclose(got, expected, rtol=rtol, atol=0))


def test_gaps():
    with jax.enable_x64(True):
        for m in range(1, 6):
            np.testing.assert_allclose(top_m_gaps(MEANS, m), gaps_by_hand(MEANS, m), rtol=1e-12)
        np.testing.assert_allclose(top_m_gaps(MEANS, 1), [0.7, 0.2, 0.5, 0.2, 0.5, 1.2], rtol=1e-12)


@pytest.mark.quickly_compiled
def test_classical_bandits():
    # Canonical basis: w* of e_i - e_j is 1 and -1, so rho = 4 (the paper's Section 6.2).
    gaps = np.array([0.7, 0.2, 0.5, 0.2, 0.5, 1.2])
    found = linear_complexity(CANONICAL, MEANS)
    assert close(found.lingape, np.sum(2 * 9 / gaps**2))
    assert close(found.oracle, 4 / 0.2**2)
    others = np.delete(gaps, 1)
    assert close(found.oracle_sum, np.sum(4 / others**2))
    # Kaufmann et al.: the least sum of w with (1/w_1 + 1/w_i) / gap_i^2 <= 1.
    first = np.geomspace(1 / 0.2**2 * 1.0001, 1e4, 200_001)
    least = first + np.sum(1 / (others[:, None] ** 2 - 1 / first), 0)
    assert close(found.design, least.min(), rtol=1e-7)  # the grid's error is the square of its step
    epsilon = 0.6
    found = linear_complexity(CANONICAL, MEANS, epsilon=epsilon)
    assert close(found.lingape, np.sum(2 / np.maximum(epsilon, (epsilon + gaps) / 3) ** 2))
    constants = complexity_constants(CANONICAL, MEANS, m=1, epsilon=epsilon, sigma=0.5)
    assert close(constants.lucb, 2 * np.sum(np.maximum(epsilon / 2, gaps) ** -2.0))
    assert close(constants.ugape, 2 * np.sum(np.maximum(epsilon, (epsilon + gaps) / 2) ** -2.0))
    third = np.maximum(epsilon, (epsilon + gaps) / 3)
    assert close(constants.m_lingape_1, np.sum(third**-2))
    assert close(constants.m_lingape_2, np.sum(third**-2) / 4)


@pytest.mark.slow
def test_papers_formulas_by_loops():
    for x, means in random_instances(3):
        table = l1_table(x)
        arms = range(len(means))
        for m, epsilon in ((1, 0.0), (1, 0.1), (2, 0.05)):
            gaps = gaps_by_hand(means, m)

            def denominator(i, j, gaps=gaps, epsilon=epsilon):
                return max(epsilon, (epsilon + gaps[i]) / 3, (epsilon + gaps[j]) / 3) ** 2

            size = np.abs(table)
            topm = sum(max(size[i, j, a] / denominator(i, j) for i in arms for j in arms) for a in arms)
            assert close(complexity_constants(x, means, m=m, epsilon=epsilon).m_lingape_2, topm)
            if m > 1:
                continue
            # Equation 13 with p* of (10) and rho of (21).
            rho = size.sum(-1) ** 2
            share = size / np.where(rho > 0, size.sum(-1), 1)[..., None]
            ours = sum(max(share[i, j, k] * rho[i, j] / denominator(i, j) for i in arms for j in arms) for k in arms)
            found = linear_complexity(x, means, epsilon=epsilon, table=table)
            assert close(found.lingape, ours)
            best = int(np.argmax(means))
            ratios = [rho[best, i] / (means[best] - means[i]) ** 2 for i in arms if i != best]
            assert close(found.oracle, max(ratios)) and close(found.oracle_sum, sum(ratios))


def test_soare():
    # rho_6 / gap_6^2 = (1 - cos + sin)^2 / (2 (1 - cos))^2; the other four are (1 + 1)^2 / 2^2 = 1.
    found = linear_complexity(SOARE, 2 * SOARE[:, 0])
    gap = 2 * (1 - np.cos(0.1))
    hard = ((1 - np.cos(0.1) + np.sin(0.1)) / gap) ** 2
    assert close(found.oracle, hard, rtol=1e-9)
    assert close(found.oracle_sum, hard + 4, rtol=1e-9)


@pytest.mark.slow
def test_theorem_3_and_the_oracles_order():
    strict = []
    for x, means in random_instances(20):
        found = linear_complexity(x, means)
        strict.append((found.oracle < 0.999 * found.design, found.design < 0.999 * found.oracle_sum))
        # The solvers' certified gap, 1e-7 at most, allows for equality (one direction decides).
        assert found.oracle <= found.design * (1 + 1e-7) and found.design <= found.oracle_sum * (1 + 1e-7)
        assert found.lingape <= 72 * found.oracle_sum
        constants = complexity_constants(x, means, m=2)
        assert constants.m_lingape_1 >= constants.ugape >= constants.lucb
    assert np.all(np.any(strict, axis=0))


@pytest.mark.slow
def test_lower_bound():
    # Two arms that matter: T* = 8 sigma^2 / gap^2, half the pulls on each, up to 8e-6 of it for the others.
    means = np.array([0.25, 0, -1e5, -1e5, -1e5, -1e5])
    two = sample_lower_bound(CANONICAL, means, delta=0.05, sigma=3.0)
    assert close(two, np.log(1 / 0.12) * 8 * 9 / 0.25**2, rtol=1e-5)
    assert sample_lower_bound(CANONICAL, means, delta=0.5) == 0
    complexity = linear_complexity(SOARE, 2 * SOARE[:, 0])
    bound = sample_lower_bound(SOARE, 2 * SOARE[:, 0], delta=0.05)
    assert close(bound, np.log(1 / 0.12) * 2 * complexity.design, rtol=1e-7)


def test_sample_bound_solves_its_equation():
    delta, sigma, regularization, norm = 0.05, 0.5, 2.0, 2.0
    means = 2 * SOARE[:, 0]
    more = {"delta": delta, "sigma": sigma, "regularization": regularization, "theta_norm": norm}
    for epsilon in (0.0, 0.3):
        complexity = linear_complexity(SOARE, means, epsilon=epsilon).lingape
        n = lingape_sample_bound(SOARE, means, epsilon=epsilon, **more)

        def right(n, complexity=complexity):
            # Equation 3 with det(A) <= (lambda + n L^2 / d)^d, L = 1, d = 6.
            log_ratio = 6 / 2 * np.log(1 + n / (6 * regularization))
            radius = sigma * np.sqrt(2 * (log_ratio + np.log(1 / delta))) + np.sqrt(regularization) * norm
            return complexity * radius**2 + 6

        assert close(right(n), n, rtol=1e-9) and right(2 * n) < 2 * n
    # Below Theorem 2's closed form (16), where its condition on lambda holds.
    complexity = linear_complexity(SOARE, means).lingape
    union = np.log(36 / delta)
    assert 2 * sigma**2 / norm**2 * union >= 0.1
    half = 4 * complexity * sigma**2
    most = 2 * np.sqrt(half**2 * 6 / 0.1 + (2 * half * union + 6) ** 2)
    theorem = 2 * half * union + 6 + half * 6 * np.log(1 + most**2 / (0.1 * 6))
    assert lingape_sample_bound(SOARE, means, **{**more, "regularization": 0.1}) < theorem


@pytest.mark.quickly_compiled
def test_ties():
    tied = np.array([0.3, 1.0, 0.5, 1.0, 0.5, -0.2])
    found = linear_complexity(CANONICAL, tied)
    assert found.lingape == found.oracle == found.oracle_sum == found.design == np.inf
    assert np.all(np.array(complexity_constants(CANONICAL, tied, m=1)) == np.inf)
    assert np.all(np.isfinite(complexity_constants(CANONICAL, tied, m=1, epsilon=0.1)))
    assert sample_lower_bound(CANONICAL, tied, delta=0.1) == np.inf
    assert lingape_sample_bound(CANONICAL, tied, delta=0.1) == np.inf


def test_concrete_numbers_are_float64_whatever_the_scope():
    found = linear_complexity(jnp.asarray(SOARE, jnp.float32), jnp.asarray(2 * SOARE[:, 0], jnp.float32))
    assert all(isinstance(x, np.ndarray) and x.dtype == np.float64 for x in found)


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_traced_equals_concrete():
    def every(x, means):
        table = representations(x)
        return (
            table,
            complexity_constants(x, means, m=2, epsilon=0.01),
            linear_complexity(x, means, epsilon=0.01, table=table),
            lingape_sample_bound(x, means, delta=0.1, epsilon=0.01, table=table),
        )

    x, means = map(np.stack, zip(*random_instances(5), strict=True))
    with jax.enable_x64(True):
        table, constants, complexity, bound = jax.jit(jax.vmap(every))(x, means)
        deltas = jax.vmap(lambda delta: sample_lower_bound(x[0], means[0], delta=delta))(jnp.array([0.01, 0.1]))
    for i in range(5):
        np.testing.assert_allclose(table[i], l1_table(x[i]), atol=1e-9)
        for batch, one in (
            (constants, complexity_constants(x[i], means[i], m=2, epsilon=0.01)),
            (complexity, linear_complexity(x[i], means[i], epsilon=0.01)),
            ((bound,), (lingape_sample_bound(x[i], means[i], delta=0.1, epsilon=0.01),)),
        ):
            np.testing.assert_allclose([value[i] for value in batch], one, rtol=1e-7)
    for delta, value in zip((0.01, 0.1), deltas, strict=True):
        assert close(value, sample_lower_bound(x[0], means[0], delta=delta), rtol=1e-7)


REFUSED = {
    "complexity_constants: m = 6, must be an integer in [1, 5]": lambda: complexity_constants(SOARE, MEANS, m=6),
    "complexity_constants: epsilon = -0.1, must be a number in [0, inf)": lambda: complexity_constants(
        SOARE, MEANS, m=1, epsilon=-0.1
    ),
    "complexity_constants: sigma = 0.0, must be a number in (0, inf)": lambda: complexity_constants(
        SOARE, MEANS, m=1, sigma=0.0
    ),
    "linear_complexity: means has 2 entries, must have one for each of 6 arms": lambda: linear_complexity(
        SOARE, [1.0, 2.0]
    ),
    "linear_complexity: features has 1 entries, must have at least 2": lambda: linear_complexity([[1.0]], [1.0]),
    "sample_lower_bound: delta = 1.0, must be a number in (0, 1)": lambda: sample_lower_bound(SOARE, MEANS, delta=1.0),
    "lingape_sample_bound: regularization = 0.0, must be a number in (0, inf)": lambda: lingape_sample_bound(
        SOARE, MEANS, delta=0.1, regularization=0.0
    ),
    "lingape_sample_bound: theta_norm = -1.0, must be a number in [0, inf)": lambda: lingape_sample_bound(
        SOARE, MEANS, delta=0.1, theta_norm=-1.0
    ),
}


@pytest.mark.parametrize("line", REFUSED)
def test_refusals(line):
    with pytest.raises(ValueError) as refused:
        REFUSED[line]()
    assert str(refused.value) == line
