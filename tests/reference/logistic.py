"""Contextual rules for logistic means in NumPy, with the covariances as matrices that are inverted anew.

`contexts` is [rounds, dim], a vector with a model for each arm, or [rounds, arms, dim], rows with one model.
`rewards[t, a]` is what arm a would pay, `masks[t, a]` whether it may be pulled.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit


class Online:
    """One Newton step of the Laplace posterior for each row. The root of P is F <- F (I - c a a') with a = F'x."""

    def __init__(self, dim, prior):
        self.theta, self.root, self.hessian = np.zeros(dim), np.eye(dim) / np.sqrt(prior), prior * np.eye(dim)

    def width(self, x):
        return np.sqrt(x @ np.linalg.solve(self.hessian, x))

    def draw(self, z):
        return self.theta + self.root @ z

    def update(self, x, y):
        p = expit(x @ self.theta)
        self.grow(x, p * (1 - p))
        self.theta = self.theta + np.linalg.solve(self.hessian, x) * (y - p)

    def grow(self, x, weight):
        self.hessian = self.hessian + weight * np.outer(x, x)
        a = np.sqrt(weight) * self.root.T @ x
        size = np.sqrt(1 + a @ a)  # c = (1 - 1 / size) / |a|^2
        self.root = self.root - np.outer(self.root @ a, a) / (size * (1 + size))
        assert np.allclose(self.root @ self.root.T @ self.hessian, np.eye(len(x)), atol=1e-8)


class Diagonal:
    """Chapelle and Li (2011), Algorithm 3, with one row at a time."""

    def __init__(self, dim, prior):
        self.theta, self.precision = np.zeros(dim), np.full(dim, prior)

    def width(self, x):
        return np.sqrt(np.sum(x**2 / self.precision))

    def draw(self, z):
        return self.theta + z / np.sqrt(self.precision)

    def update(self, x, y):
        score, spread = x @ self.theta, np.sum(x**2 / self.precision)
        c = brentq(lambda c: c - y + expit(score + c * spread), y - 1, y, xtol=1e-15)
        self.theta = self.theta + c * x / self.precision
        p = expit(x @ self.theta)
        self.precision = self.precision + x**2 * p * (1 - p)


class Glm(Online):
    """Widths of linear least squares, and theta by Newton's method over all rows when `fit` is called."""

    def __init__(self, dim, prior):
        super().__init__(dim, prior)
        self.prior, self.rows, self.rewards = prior, [], []

    def update(self, x, y):
        self.grow(x, 1.0)
        self.rows.append(x)
        self.rewards.append(y)

    def fit(self):
        x, y, theta = np.array(self.rows), np.array(self.rewards), np.zeros(len(self.theta))
        for _ in range(100 if self.rows else 0):
            p = expit(x @ theta)
            hessian = (x.T * (p * (1 - p))) @ x + self.prior * np.eye(len(theta))
            step = np.linalg.solve(hessian, x.T @ (y - p) - self.prior * theta)
            theta = theta + step
            if np.max(np.abs(step)) < 1e-12:
                break
        self.theta = theta


def ucb(alpha):
    """theta'x plus alpha widths."""
    return lambda t, rows, models, noise: np.array(
        [x @ m.theta + alpha * m.width(x) for x, m in zip(rows, models, strict=True)]
    )


def thompson(scale):
    """Scores at a drawn theta, or drawn scores with a model for each arm."""

    def score(t, rows, models, noise):
        if models[0] is models[-1]:
            return rows @ models[0].draw(scale * noise)
        return np.array([x @ m.theta + scale * z * m.width(x) for x, m, z in zip(rows, models, noise, strict=True)])

    return score


def inverse_cdf(probabilities, u):
    """The smallest arm whose cumulative probability exceeds u, and its probability."""
    arm = int(np.flatnonzero(u * probabilities.sum() < np.cumsum(probabilities))[0])
    return arm, probabilities[arm]


def epsilon_greedy(epsilon):
    def choose(scores, available, u):
        best = available & (scores == scores[available].max())
        return inverse_cdf(epsilon * available / available.sum() + (1 - epsilon) * best / best.sum(), u)

    return choose


def softmax(temperature):
    def choose(scores, available, u):
        best = available & (scores == scores[available].max())
        if np.isinf(scores[best]).any():
            return inverse_cdf(best / best.sum(), u)
        weights = np.where(available, np.exp((scores - scores[best][0]) / temperature), 0.0)
        return inverse_cdf(weights / weights.sum(), u)

    return choose


def largest(scores, available, u):
    """The lowest available arm with the largest score."""
    return int(np.argmax(np.where(available, scores, -np.inf))), 1.0


def fits_after(rounds, every):
    """Whether theta is computed from this number of rounds: each of the first hundred, then every some rounds."""
    return rounds <= 100 or (rounds - 100) % every == 0


def play(kind, contexts, rewards, masks, noise, score, choose=largest, prior=1.0, intercept=True, every=1, random=0):
    """Actions and their probabilities."""
    num_arms, shared, played = rewards.shape[1], contexts.ndim == 3, []
    dim, pulls = contexts.shape[-1] + intercept, np.zeros(num_arms, int)
    models = [kind(dim, prior)] * num_arms if shared else [kind(dim, prior) for _ in range(num_arms)]
    for t, context in enumerate(contexts):
        rows = context if shared else np.repeat(context[None], num_arms, 0)
        rows = np.concatenate([rows, np.ones((num_arms, 1))], 1) if intercept else rows
        scores = noise[t] if t < random else score(t, rows, models, noise[t])
        if choose is not largest and not shared:  # arms without rewards come first
            scores = np.where(pulls == 0, np.inf, scores)
        arm, probability = choose(scores, masks[t], noise[t])
        pulls[arm] += 1
        models[arm].update(rows[arm], rewards[t, arm])
        if kind is Glm and fits_after(t + 1, every):
            for model in set(models):
                model.fit()
        played.append((arm, probability))
    arms, probabilities = zip(*played, strict=True)
    return np.array(arms), np.array(probabilities)
