"""Linear Thompson sampling in NumPy: "theory" of Agrawal and Goyal (2013) and "heuristic", the posterior of N(0, I).

Which root of V^-1 multiplies the normals is a convention: F <- F (I - c a a') with a = F' x.
"""

import numpy as np
from reference import linear


def play(sets, contexts, rewards, normals, variant="heuristic", delta=None, sigma=1.0):
    n, d = len(contexts), sets[0].shape[1]
    delta = 1 / n if delta is None else delta
    prior = sigma**2 if variant == "heuristic" else 1.0
    root = np.eye(d) / np.sqrt(prior)

    def score(t, rows, theta_hat, matrix, pulled):
        nonlocal root
        if pulled:
            a = root.T @ pulled[-1]
            root = root @ (np.eye(d) - (1 - 1 / np.sqrt(1 + a @ a)) / (a @ a) * np.outer(a, a))
        assert np.allclose(root @ root.T @ matrix, np.eye(d), atol=1e-8)
        v = sigma * np.sqrt(9 * d * np.log(t / delta)) if variant == "theory" else sigma
        return rows @ (theta_hat + v * root @ normals[t - 1])

    return linear.play(sets, contexts, rewards, score, prior, starts=False)
