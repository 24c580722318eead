"""Bounds of the mean of any variable with a variance, for all sample sizes at once, in the limit of large samples.

Nothing is stated before a sample has at least 1,000 numbers, 100 of them other than the commonest one, and 355 times
the squared skewness. A later large number must be able to widen a bound, so only the present one counts.

Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2021), "Time-uniform central limit theory and asymptotic
confidence sequences"; docs/mathematics.md. benchmarks/results/decisions.md has how often it is wrong.
"""

import numpy as np

FEWEST = 1000  # numbers, m
FEWEST_UNCOMMON = 100  # of them, other than the commonest one
PER_SKEW = 355  # numbers for each unit of the squared skewness
_TIGHT = FEWEST * np.log(FEWEST)  # sample size at which the bounds are about as narrow as they can be
_ROUNDING = 1e-12  # of the largest modulus: a standard deviation below it may be that of rounding errors


def radius(n: np.ndarray, log_alpha: float) -> np.ndarray:
    """Return r such that mean + r sd is a one-sided bound of the mean, float64[...], for sample sizes n >= 1.

    `log_alpha` is the log of the probability with which a bound may be wrong at some sample size, in the limit.
    """
    rho2 = (1 - 2 * log_alpha + np.log1p(-2 * log_alpha)) / _TIGHT
    reach = n * rho2 + 1
    return np.sqrt(2 * reach / rho2 * np.logaddexp(0.0, np.log(reach) / 2 - np.log(2) - log_alpha)) / n


def moments(values: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, standard deviation and squared skewness of the first numbers of a sample, float64[looks].

    `sizes` are how many of them, int64[looks] >= 1; the squared skewness is inf where the numbers do not vary.
    """
    if not len(sizes):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    center = values.mean()
    apart = values - center
    scale = 2.0 ** min(max(int(np.frexp(np.abs(apart).max())[1]), -1000), 1000)  # whose cubes are within float64
    apart = apart / scale
    first, second, third = (np.cumsum(apart**power)[sizes - 1] / sizes for power in (1, 2, 3))
    variance = np.maximum(second - first**2, 0.0)
    varies = scale * np.sqrt(variance) > _ROUNDING * np.maximum.accumulate(np.abs(values))[sizes - 1]
    skewness = (third - 3 * first * second + 2 * first**3) / np.where(varies, variance, 1.0) ** 1.5
    return center + scale * first, scale * np.sqrt(variance), np.where(varies, skewness**2, np.inf)


def uncommon(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return how many of the first numbers of a sample are other than the commonest of them, int64[looks]."""
    _, first, places = np.unique(values, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[places]  # of distinct ones, in the order in which they come
    return np.array([size - np.bincount(number[:size]).max() for size in sizes.tolist()], np.int64)


def suffices(sizes: np.ndarray, uncommon_numbers: np.ndarray, skew2: np.ndarray) -> np.ndarray:
    """Return where bounds are stated, bool[looks].

    `uncommon_numbers` are those other than the commonest one, the fewest of all samples that are compared.
    """
    return np.asarray((sizes >= FEWEST) & (uncommon_numbers >= FEWEST_UNCOMMON) & (sizes >= PER_SKEW * skew2))
