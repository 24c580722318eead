"""Arms that are user-article pairs, as in LinGapE (Xu, Honda and Sugiyama 2018), Section 7.2 and Appendix A.

The features of a pair are all products of the six features of the user and the six of the article, the first of which
is the constant 1, so x is in R^36.
"""

import numpy as np

_BATCH = 1 << 16  # number of pairs whose 36 products are held in memory at once


def products(user: np.ndarray, article: np.ndarray) -> np.ndarray:
    """Return float64[n, 36], whose entry 6 i + j is the product of the user's feature i and the article's feature j."""
    return (user[:, :, None] * article[:, None, :]).reshape(len(user), -1)


def ridge(user: np.ndarray, article: np.ndarray, reward: np.ndarray, penalty: float) -> np.ndarray:
    """Return float64[36], the minimizer over theta of sum (reward - x' theta)^2 + penalty theta' theta."""
    size = user.shape[1] * article.shape[1]
    gram, moment = penalty * np.eye(size), np.zeros(size)
    for start in range(0, len(user), _BATCH):
        part = slice(start, start + _BATCH)
        x = products(user[part], article[part])
        gram += x.T @ x
        moment += x.T @ reward[part]
    return np.linalg.solve(gram, moment)


def choose(where: str, means: np.ndarray, num_arms: int, min_gap: float, rng: np.random.Generator) -> np.ndarray:
    """Return the indices of num_arms random entries of `means`, one of which, at a random place, is best by min_gap.

    The best arm is the best of num_arms random entries, among those that exceed enough other entries by min_gap. The
    other arms are random ones among these other entries.
    """
    order = rng.permutation(len(means))
    num_below = np.searchsorted(np.sort(means), means - min_gap, side="right")
    most = int(num_below.max(initial=0))
    if most < num_arms - 1:
        reason = f"none of {len(means)} pairs is {min_gap:g} above more than {most} others"
        raise ValueError(f"{where}: num_arms = {num_arms}, must be at most {most + 1}: {reason}")
    eligible = order[num_below[order] >= num_arms - 1][:num_arms]
    best = eligible[np.argmax(means[eligible])]
    below = order[means[order] <= means[best] - min_gap]
    return np.insert(below[: num_arms - 1], rng.integers(num_arms), best)
