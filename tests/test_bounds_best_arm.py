"""T* of unrelated arms against SciPy and closed forms, and the line that it makes in figures of samples."""

import numpy as np
import pytest
from scipy import optimize

from jaxbandit.lab.experiments.truth import truth_of
from jaxbandit.lab.specs import spec
from jaxbandit.theory.bounds import best_arm_lower_bound, characteristic_time

pytestmark = pytest.mark.slow

DIVERGENCE = {
    "bernoulli": lambda x, y: x * np.log(x / y) + (1 - x) * np.log((1 - x) / (1 - y)),
    "gaussian": lambda x, y: (x - y) ** 2 / 2,
    "poisson": lambda x, y: y - x + x * np.log(x / y),
    "exponential": lambda x, y: x / y - 1 - np.log(x / y),
}


def least_rate(shares, means, divergence):
    """The least information on a pull that tells the first arm from another."""
    first, others = shares[0], shares[1:]
    middle = (first * means[0] + others * means[1:]) / (first + others)
    return np.min(first * divergence(means[0], middle) + others * divergence(means[1:], middle))


@pytest.mark.parametrize("family", DIVERGENCE)
def test_characteristic_time_is_the_best_of_all_shares(family):
    means, divergence = np.array([0.7, 0.5, 0.3]), DIVERGENCE[family]

    def worse(angles):
        shares = np.exp([0.0, *angles])
        return -np.log(least_rate(shares / shares.sum(), means, divergence))

    best = optimize.minimize(worse, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert characteristic_time(means, family=family) == pytest.approx(np.exp(best.fun), rel=2e-5)  # it stalls at a kink


def test_two_gaussian_arms_of_unequal_noise():
    """Pulls in proportion to the standard deviations: T* is 2 (s_1 + s_2)^2 / gap^2."""
    assert characteristic_time([1.0, 0.5], family="gaussian", sigma=[0.3, 0.9]) == pytest.approx(2 * 1.2**2 / 0.25)
    assert characteristic_time([1.0, 0.5], family="gaussian", sigma=0.3) == pytest.approx(8 * 0.09 / 0.25)
    assert characteristic_time([0.5, 0.5, 0.1]) == np.inf


def test_lower_bound():
    means = [0.5, 0.45, 0.43, 0.4]
    assert best_arm_lower_bound(means, delta=0.1) == pytest.approx(989.7921 * np.log(1 / 0.24), rel=1e-6)
    assert best_arm_lower_bound(means, delta=0.5) == 0
    for more, words in (
        ({"delta": 2.0}, "delta = 2.0, must be a number in (0, 1)"),
        ({"delta": 0.1, "sigma": [1.0, 2.0]}, "sigma has 2 entries, must have 4, one per arm, or be a number"),
        ({"delta": 0.1, "sigma": [1.0] * 4}, "sigma has 4 entries, must be a number if family = 'bernoulli'"),
        ({"delta": 0.1, "family": "beta"}, "family = 'beta', must be one of"),
    ):
        with pytest.raises(ValueError) as caught:
            best_arm_lower_bound(means, **more)
        assert words in str(caught.value) and "\n" not in str(caught.value)


INSTANCES = {  # and their T*, None where no line is drawn
    "coins": ({"type": "bernoulli", "means": [0.4, 0.43, 0.45, 0.5], "permute": True}, 989.7921),
    "unequal": ({"type": "gaussian", "means": [1, 0.5], "sigma": [0.3, 0.9]}, 11.52),
    "counts": ({"type": "poisson", "means": [2, 1.5, 1]}, 59.38627),
    "beta": ({"type": "beta", "alpha": [1, 2], "beta": [2, 2]}, None),
    "scores": ({"type": "fiesta"}, None),
    "tied": ({"type": "poisson", "means": [1, 1]}, None),
}


def test_the_line_in_figures():
    tables = [table | {"name": name} for name, (table, _) in INSTANCES.items()]
    data = {"kind": "identify", "runs": 1, "instance": tables, "algorithm": [{"type": "paired_race"}]}
    for item in spec.parse(data, "x.toml").instances:
        found, expected = truth_of(item, "identify", best_arm=True).get("characteristic_time"), INSTANCES[item.name][1]
        assert found == (None if expected is None else pytest.approx(expected, rel=1e-6)), item.name
