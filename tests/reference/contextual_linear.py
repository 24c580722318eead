"""Linear rules on a context of floats in NumPy, with all matrices inverted in each round; and worlds without chance.

Contexts are [rounds, dim] with a model for each arm, or [rounds, num_arms, dim] with one model; rewards and the masks
`available` are [rounds, num_arms].
"""

import numpy as np
from scipy.special import ndtri

PRIMES = np.array([p for p in range(2, 260) if all(p % q for q in range(2, p))])


def frac(x):
    return x - np.floor(x)


def quasi(rounds, first, number):
    """frac(t sqrt q) for t = 1, 2, .. and `number` primes q from the one numbered `first`."""
    return frac(np.arange(1, rounds + 1)[:, None] * np.sqrt(PRIMES[first : first + number]))


def vector_world(rounds, num_arms=5, dim=4):
    """Contexts, mean rewards, rewards, and normals [rounds, num_arms]."""
    contexts = 2 * quasi(rounds, 0, dim) - 1
    theta = np.sin(1 + 3 * np.arange(num_arms)[:, None] + 7 * np.arange(dim)) / 2
    means = np.matmul(contexts, theta.T)
    rewards = means + quasi(rounds, dim, num_arms) - 0.5
    return contexts, means, rewards, ndtri(quasi(rounds, 40, num_arms))


def matrix_world(rounds, num_arms=5, dim=4):
    """Contexts, mean rewards and rewards."""
    contexts = quasi(rounds, 0, num_arms * dim).reshape(rounds, num_arms, dim) - 0.5
    means = np.matmul(contexts, np.cos(1 + 2 * np.arange(dim)))
    return contexts, means, means + quasi(rounds, 20, num_arms) - 0.5


def mask(rounds, num_arms=5):
    t, a = np.arange(1, rounds + 1)[:, None], np.arange(num_arms)
    return (t * (a + 2) % 7 >= 3) | (a == t % 5)


def check(actions):
    t = np.arange(1, len(actions) + 1)
    return int(np.sum(actions * ((t - 1) % 997 + 1)))


class Arms:
    """The design matrices and moments: one pair for each arm, or one for all."""

    def __init__(self, shared, num_arms, dim, regularization):
        self.shared, self.regularization = shared, regularization
        count = 1 if shared else num_arms
        self.matrix = np.stack([regularization * np.eye(dim)] * count)
        self.moment = np.zeros((count, dim))
        self.pulls = np.zeros(num_arms, int)

    def estimates(self, rows):
        """x' theta and sqrt(x' V^-1 x) of each arm, given its row."""
        inverse = np.linalg.inv(self.matrix)
        theta = np.einsum("mij,mj->mi", inverse, self.moment)
        own = np.zeros(len(rows), int) if self.shared else np.arange(len(rows))
        widths = [np.sqrt(x @ inverse[m] @ x) for m, x in zip(own, rows, strict=True)]
        return np.array([x @ theta[m] for m, x in zip(own, rows, strict=True)]), np.array(widths)

    def add(self, arm, x, reward):
        m = 0 if self.shared else arm
        self.pulls[arm] += 1
        self.matrix[m] += np.outer(x, x)
        self.moment[m] += reward * x


def play(contexts, rewards, decide, regularization=1.0, available=None):
    """Actions and the probabilities of `decide(t, arms, rows, available)`, which returns an arm and its probability."""
    rounds, num_arms = rewards.shape
    arms = Arms(contexts.ndim == 3, num_arms, contexts.shape[-1], regularization)
    available = np.ones_like(rewards, bool) if available is None else available
    played = []
    for t in range(rounds):
        rows = contexts[t] if arms.shared else np.stack([contexts[t]] * num_arms)
        arm, probability = decide(t, arms, rows, available[t])
        arms.add(arm, rows[arm], rewards[t, arm])
        played.append((arm, probability))
    actions, probabilities = zip(*played, strict=True)
    return np.array(actions), np.array(probabilities)


def with_ones(contexts):
    """The contexts with the constant 1 behind each row."""
    return np.concatenate([contexts, np.ones((*contexts.shape[:-1], 1))], axis=-1)


def best(scores, available):
    return int(np.argmax(np.where(available, scores, -np.inf))), 1.0


def drawn(probabilities, u):
    arm = int(np.argmax(u < np.cumsum(probabilities)))
    return arm, probabilities[arm]


def ucb(alpha):
    def decide(t, arms, rows, available):
        mean, width = arms.estimates(rows)
        return best(mean + alpha * width, available)

    return decide


def oful(sigma, theta_norm, delta):
    def decide(t, arms, rows, available):
        mean, width = arms.estimates(rows)
        prior, dim = arms.regularization, rows.shape[1]
        grown = np.linalg.slogdet(arms.matrix[0])[1] - dim * np.log(prior)
        radius = sigma * np.sqrt(grown + 2 * np.log(1 / delta)) + np.sqrt(prior) * theta_norm
        return best(mean + radius * width, available)

    return decide


def thompson(scale, normals):
    """With a normal for each arm and round, [rounds, num_arms]."""

    def decide(t, arms, rows, available):
        mean, width = arms.estimates(rows)
        return best(mean + scale * width * normals[t], available)

    return decide


def candidates(arms, rows, available):
    """With a model for each arm, the available ones that were never pulled; if there are none, all that are best."""
    new = available & (arms.pulls == 0)
    if new.any() and not arms.shared:
        return new
    scores = np.where(available, arms.estimates(rows)[0], -np.inf)
    return scores == scores.max()


def epsilon_greedy(epsilon, uniforms):
    def decide(t, arms, rows, available):
        greedy = candidates(arms, rows, available)
        return drawn(epsilon * available / available.sum() + (1 - epsilon) * greedy / greedy.sum(), uniforms[t])

    return decide


def softmax(temperature, uniforms):
    def decide(t, arms, rows, available):
        weights = np.exp(np.where(available, arms.estimates(rows)[0], -np.inf) / temperature)
        if not arms.shared and (available & (arms.pulls == 0)).any():
            weights = 1.0 * candidates(arms, rows, available)
        return drawn(weights / weights.sum(), uniforms[t])

    return decide


def hybrid(contexts, rewards, arm_features, alpha=1.0, regularization=1.0):
    """Actions of LinUCB by joint ridge regression on (vec(x f_a'), 0 .. x .. 0)."""
    (num_arms, products), dim = arm_features.shape, contexts.shape[1]
    products *= dim
    blocks = np.zeros((len(rewards), num_arms, products + num_arms * dim))
    for a in range(num_arms):
        blocks[:, a, :products] = np.einsum("ti,j->tij", contexts, arm_features[a]).reshape(len(rewards), -1)
        blocks[:, a, products + a * dim : products + (a + 1) * dim] = contexts
    return play(blocks, rewards, ucb(alpha), regularization)[0]
