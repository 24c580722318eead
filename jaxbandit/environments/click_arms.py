"""Arms of user-article pairs, as in LinGapE (Xu, Honda and Sugiyama 2018), Section 7.2 and appendix A.

A pair's features are all products of a user's and an article's six, the constant 1 first among them: x in R^36.
"""

import numpy as np

_BATCH = 1 << 16  # pairs whose 36 products are in memory at once


def products(user: np.ndarray, article: np.ndarray) -> np.ndarray:
    """Return float64[n, 36], entry 6 i + j the product of the user's i-th and the article's j-th feature."""
    return (user[:, :, None] * article[:, None, :]).reshape(len(user), -1)


def ridge(user: np.ndarray, article: np.ndarray, reward: np.ndarray, penalty: float) -> np.ndarray:
    """Return float64[36], argmin over theta of sum (reward - x' theta)^2 + penalty ||theta||^2."""
    size = user.shape[1] * article.shape[1]
    gram, moment = penalty * np.eye(size), np.zeros(size)
    for start in range(0, len(user), _BATCH):
        part = slice(start, start + _BATCH)
        x = products(user[part], article[part])
        gram += x.T @ x
        moment += x.T @ reward[part]
    return np.linalg.solve(gram, moment)


def choose(where: str, means: np.ndarray, num_arms: int, min_gap: float, rng: np.random.Generator) -> np.ndarray:
    """Return the places of num_arms random entries of `means` of which one, anywhere, is best by min_gap.

    The best is the best of num_arms random entries, among those that lie min_gap above enough others; the other arms
    are random ones of these others.
    """
    order = rng.permutation(len(means))
    num_below = np.searchsorted(np.sort(means), means - min_gap, side="right")
    most = int(num_below.max(initial=0))
    if most < num_arms - 1:
        found = f"of {len(means)} pairs none is {min_gap:g} above more than {most}"
        raise ValueError(f"{where}: num_arms = {num_arms}, must be at most {most + 1}: {found}")
    eligible = order[num_below[order] >= num_arms - 1][:num_arms]
    best = eligible[np.argmax(means[eligible])]
    below = order[means[order] <= means[best] - min_gap]
    return np.insert(below[: num_arms - 1], rng.integers(num_arms), best)
