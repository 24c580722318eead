"""LinGame in NumPy in d-dimensional form, recomputed every round, with one AdaHedge learner per answer.

`streams[a, k]` is the reward of the k-th pull of arm a. `ties`: actions to take if they are optimal up to rounding.
"""

import math

import numpy as np

TIE = 1e-7  # weights are exponentials of gains of size 100, with errors of about 1e-12 each and below 1e-9 in sums


class AdaHedge:
    def __init__(self, num_arms):
        self.losses, self.mix_gap = np.zeros(num_arms), 0.01

    def weights(self):
        rate = math.log(len(self.losses)) / self.mix_gap
        w = np.exp(-rate * (self.losses - self.losses.min()))
        return w / w.sum()

    def incur(self, loss):
        rate, w = math.log(len(self.losses)) / self.mix_gap, self.weights()
        mixed = loss.min() - math.log(w @ np.exp(-rate * (loss - loss.min()))) / rate
        self.losses += loss
        self.mix_gap += max(w @ loss - mixed, 0.0)


def play(streams, features, ties, *, delta, sigma, regularization, theta_norm, threshold):
    """Actions until it stops, and the recommended arm."""
    num_arms, dim = features.shape
    learners = [AdaHedge(num_arms) for _ in range(num_arms)]
    pulls, sums, targets, actions = np.zeros(num_arms, int), np.zeros(num_arms), np.ones(num_arms), []
    for t in range(len(ties) + 1):
        if t < num_arms:
            arm = t
        else:
            V = regularization * np.eye(dim) + features.T @ (pulls[:, None] * features)
            theta = np.linalg.solve(V, features.T @ sums)
            best = int(np.argmax(features @ theta))
            others = [i for i in range(num_arms) if i != best]
            if threshold == "heuristic":
                beta = math.log((math.log(t) + 1) / delta)
            else:
                L2 = max(x @ x for x in features)
                growth = dim / 2 * math.log(1 + t * L2 / (regularization * dim))
                beta = (
                    math.sqrt(math.log(1 / delta) + growth) + math.sqrt(regularization / 2) * theta_norm / sigma
                ) ** 2

            def closest(i, V, theta=theta, best=best):
                """The nearest parameter, in the norm of V, for which arm i is as good as the best."""
                y = features[best] - features[i]
                direction = np.linalg.solve(V, y)
                return theta - (y @ theta) / (y @ direction) * direction

            def distance(parameter, V, theta=theta):
                return (theta - parameter) @ V @ (theta - parameter)

            if min(distance(closest(i, V), V) for i in others) / (2 * sigma**2) >= beta:
                return np.array(actions), best
            learner = learners[best]
            w = learner.weights()
            V_w = features.T @ (w[:, None] * features) + regularization / t * np.eye(dim)
            alternative = min((closest(i, V_w) for i in others), key=lambda p: distance(p, V_w))
            spread = np.array([math.sqrt(2 * math.log(t) * (x @ np.linalg.solve(V, x))) for x in features])
            gains = (np.abs(features @ (theta - alternative)) / sigma + spread) ** 2 / 2
            learner.incur(-np.minimum(gains, math.log(t)))
            targets += w
            behind = targets - pulls
            arm = int(np.argmax(behind))
            if behind[ties[t]] > behind[arm] - TIE:
                arm = ties[t]
        sums[arm] += streams[arm, pulls[arm]]
        pulls[arm] += 1
        actions.append(arm)
    return np.array(actions), None
