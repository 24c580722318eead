"""Neural-linear in NumPy: a network whose gradients are written out, Adam, and ridge on its last hidden layer.

Which root of P multiplies the normals is a convention, that of the rows in the order of their places in the buffer.
"""

import numpy as np
from reference.logistic import Online, thompson


class Ridge(Online):
    """Linear least squares with penalty `prior`."""

    def update(self, x, y):
        residual = y - x @ self.theta
        self.grow(x, 1.0)
        self.theta = self.theta + np.linalg.solve(self.hessian, x) * residual


class Adam:
    """Kingma and Ba (2015), Algorithm 1."""

    def __init__(self, rate):
        self.rate, self.t, self.first, self.second = rate, 0, None, None

    def step(self, weights, gradients):
        if self.t == 0:
            self.first, self.second = ([np.zeros_like(w) for w in weights] for _ in range(2))
        self.t += 1
        for i, g in enumerate(gradients):
            self.first[i] = 0.9 * self.first[i] + 0.1 * g
            self.second[i] = 0.999 * self.second[i] + 0.001 * g * g
            first, second = self.first[i] / (1 - 0.9**self.t), self.second[i] / (1 - 0.999**self.t)
            weights[i] = weights[i] - self.rate * first / (np.sqrt(second) + 1e-8)


class Network:
    """Weights W_1, b_1, .., W_L, b_L of rectified linear layers, and outputs, whose last row may be a constant's."""

    def __init__(self, weights):
        self.weights = [np.array(w) for w in weights]

    def layers(self, x):
        found = [x]
        for i in range(0, len(self.weights) - 1, 2):
            found.append(np.maximum(found[-1] @ self.weights[i] + self.weights[i + 1], 0))
        if len(self.weights[-1]) > found[-1].shape[-1]:
            found[-1] = np.concatenate([found[-1], np.ones((*found[-1].shape[:-1], 1))], axis=-1)
        return found

    def gradients(self, x, arms, y):
        """Of the mean squared error of the output for the arm that was pulled."""
        layers, outputs, rows = self.layers(x), self.weights[-1], np.arange(len(x))
        error = np.zeros((len(x), outputs.shape[1]))
        error[rows, arms] = 2 * ((layers[-1] @ outputs)[rows, arms] - y) / len(x)
        found, back = [layers[-1].T @ error], error @ outputs.T
        for i in range(len(self.weights) - 3, -1, -2):
            back = (back * (layers[i // 2 + 1] > 0))[:, : len(self.weights[i + 1])]
            found = [layers[i // 2].T @ back, back.sum(0), *found]
            back = back @ self.weights[i].T
        return found


def play(contexts, rewards, masks, noise, weights, minibatches, sigma, rate, buffer, every):
    """Actions; `minibatches(rounds)` are the places in the buffer of the training after so many rounds."""
    num_arms, shared = rewards.shape[1], contexts.ndim == 3
    network, adam, rows, arms, paid, actions = Network(weights), Adam(rate), {}, {}, {}, []

    def fresh():
        dim = network.weights[-1].shape[0]
        return [Ridge(dim, sigma**2)] * num_arms if shared else [Ridge(dim, sigma**2) for _ in range(num_arms)]

    models = fresh()
    for t, context in enumerate(contexts):
        if t > 0 and t % every == 0:
            for places in minibatches(t):
                x, a, y = (np.array([table[i] for i in places]) for table in (rows, arms, paid))
                adam.step(network.weights, network.gradients(x, 0 * a if shared else a, y))
            models = fresh()
            for i in sorted(rows):
                models[arms[i]].update(network.layers(rows[i])[-1], paid[i])
        x = context if shared else np.repeat(context[None], num_arms, 0)
        phi = network.layers(x)[-1]
        scores = thompson(sigma)(t, phi, models, noise[t])
        arm = int(np.argmax(np.where(masks[t], scores, -np.inf)))
        models[arm].update(phi[arm], rewards[t, arm])
        rows[t % buffer], arms[t % buffer], paid[t % buffer] = x[arm], arm, rewards[t, arm]
        actions.append(arm)
    return np.array(actions)
