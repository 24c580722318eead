"""LinUCB in NumPy: "fn" of Hao et al. (2020), and "oful" of Abbasi-Yadkori et al. (2011), Theorem 2."""

import numpy as np
from reference import linear


def play(sets, contexts, rewards, variant="fn", c=1.0, delta=None, sigma=1.0, theta_norm=1.0, regularization=1.0):
    n, d = len(contexts), sets[0].shape[1]
    delta = 1 / n if delta is None else delta

    def score(t, rows, theta_hat, matrix, pulled):
        norms = np.sqrt(np.einsum("ki,ij,kj->k", rows, np.linalg.inv(matrix), rows))
        if variant == "fn":
            f = 2 * (1 + 1 / np.log(n)) * np.log(1 / delta) + c * d * np.log(d * np.log(n))
            return rows @ theta_hat + sigma * np.sqrt(f) * norms
        ratio = np.sqrt(np.linalg.det(matrix) / regularization**d)
        radius = sigma * np.sqrt(2 * np.log(ratio / delta)) + np.sqrt(regularization) * theta_norm
        return rows @ theta_hat + radius * norms

    starts = variant == "fn"
    return linear.play(sets, contexts, rewards, score, 0.0 if starts else regularization, starts)
