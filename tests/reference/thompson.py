"""Thompson sampling in NumPy and SciPy: each arm's draw is its posterior's quantile at the level of the noise."""

import numpy as np
from scipy.special import logit
from scipy.stats import beta

CLOSE = 1e-4  # draws this close on the logit scale are tied, because the library's are not exactly SciPy's


def words_in(pairs):
    """The words in complex numbers, by NumPy: the first of all pairs, then the second."""
    words = np.ascontiguousarray(pairs).view(np.uint32).reshape(*np.shape(pairs), 2)
    return np.concatenate([words[..., 0], words[..., 1]], axis=-1)


def draw(word, a, b):
    """The logit of a draw by inversion, at a level of 31 bits; the sign of the word gives the side of 1/2."""
    centered = int(np.uint32(word).astype(np.int32)) + 0.5
    tail = abs(centered) / 2**32
    return logit(beta.ppf(tail, a, b)) if centered < 0 else -logit(beta.ppf(tail, b, a))


def play(rewards, words, coins, prior_alpha=1.0, prior_beta=1.0, ties=None):
    """A reward x counts as 1 if the uniform number is below x, else as 0.

    `ties`: actions to take if they are optimal up to CLOSE.
    """
    rounds, num_arms = rewards.shape
    a, b = np.full(num_arms, float(prior_alpha)), np.full(num_arms, float(prior_beta))
    actions = []
    for t in range(rounds):
        draws = [draw(words[t, k], a[k], b[k]) for k in range(num_arms)]
        arm = int(np.argmax(draws))
        if ties is not None and draws[ties[t]] >= draws[arm] - CLOSE:
            arm = int(ties[t])
        actions.append(arm)
        success = coins[t] < rewards[t, arm]
        a[arm] += success
        b[arm] += not success
    return np.array(actions)
