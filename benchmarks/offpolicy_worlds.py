"""The worlds of `offpolicy`: contexts, mean rewards, a policy, and a logging policy, with the policy's true value."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import jaxbandit as jb

NUM_ARMS, NUM_CONTEXTS = 5, 8


class Drawn(NamedTuple):
    """A log, and the policy's probabilities of each row."""

    log: jb.Log
    policy: np.ndarray  # float64[n, num_arms]


class World(NamedTuple):
    """A law of logs, and what is to be estimated from them."""

    value: float  # of the policy
    bound: float  # W
    draw: Callable[[np.random.Generator, int], Drawn]


def frac(x: np.ndarray) -> np.ndarray:
    """Return the fractional part."""
    return x - np.floor(x)


def _eight() -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return mean rewards, the policy and the logging policies, float64[8, 5] each."""
    x, a = np.arange(NUM_CONTEXTS)[:, None], np.arange(NUM_ARMS)
    mean = 0.1 + 0.8 * frac((5 * x + a + 1) * np.sqrt(2))
    policy = 0.02 + 0.9 * (a == (3 * x + 1) % NUM_ARMS)
    score = np.exp(3 * frac((3 * x + 2 * a + 1) * np.sqrt(3)))
    logging = {
        "uniform": np.full((NUM_CONTEXTS, NUM_ARMS), 0.2),
        "softmax": score / score.sum(axis=1, keepdims=True),
        "peaked": 0.02 + 0.9 * (a == (2 * x) % NUM_ARMS),
    }
    return mean, policy, logging


MEAN, POLICY, LOGGING = _eight()


def eight(logging: str, scale: float = 1.0) -> World:
    """Return the world of eight contexts and five arms, whose rewards are 0 or 1, with mean rewards times `scale`."""
    chances = LOGGING[logging]

    def draw(rng: np.random.Generator, n: int) -> Drawn:
        x = rng.integers(0, NUM_CONTEXTS, n)
        action = drawn_arms(rng, chances[x])
        reward = (rng.random(n) < scale * MEAN[x, action]).astype(float)
        return Drawn(jb.read_log(context=x / 7, action=action, reward=reward, probabilities=chances[x]), POLICY[x])

    value = scale * float((POLICY * MEAN).sum(axis=1).mean())
    return World(value, float((POLICY / chances).max()), draw)


def fixed(rows: int = 2000) -> Drawn:
    """Return the log that is drawn without chance, by fractional parts, with peaked logging."""
    t = np.arange(1, rows + 1)
    x = np.floor(NUM_CONTEXTS * frac(t * np.sqrt(2))).astype(int)
    chances = LOGGING["peaked"][x]
    action = (frac(t * np.sqrt(3))[:, None] <= np.cumsum(chances, axis=1)).argmax(axis=1)
    reward = (frac(t * np.sqrt(5)) < MEAN[x, action]).astype(float)
    return Drawn(jb.read_log(context=x / 7, action=action, reward=reward, probabilities=chances), POLICY[x])


def drawn_arms(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    """Return an arm for each row, by its probabilities float64[n, num_arms]."""
    cumulative = np.cumsum(chances, axis=1)
    return (rng.random(len(chances))[:, None] * cumulative[:, -1:] <= cumulative).argmax(axis=1)


def vectors(num_arms: int = 10, dim: int = 4) -> World:
    """Return a world of normal contexts: a softmax rule logs, the policy is epsilon-greedy, a curve gives clicks."""
    theta = np.sin(1 + 3 * np.arange(num_arms)[:, None] + 7 * np.arange(dim))
    floor = 0.1 / num_arms  # of every logging probability

    def mean(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(1.5 - (x @ theta.T) ** 2))

    def policy(x: np.ndarray) -> np.ndarray:
        chances = np.full((len(x), num_arms), 0.05 / num_arms)
        chances[np.arange(len(x)), (x @ theta.T).argmax(axis=1)] += 0.95
        return chances

    def logging(x: np.ndarray) -> np.ndarray:
        score = np.exp(x @ np.cos(theta).T)
        return floor + 0.9 * score / score.sum(axis=1, keepdims=True)

    def draw(rng: np.random.Generator, n: int) -> Drawn:
        x = rng.normal(size=(n, dim))
        chances = logging(x)
        action = drawn_arms(rng, chances)
        reward = (rng.random(n) < mean(x)[np.arange(n), action]).astype(float)
        log = jb.read_log(context=x, action=action, reward=reward, probabilities=chances)
        return Drawn(log, policy(x))

    many = np.random.default_rng(1).normal(size=(1_000_000, dim))
    return World(float((policy(many) * mean(many)).sum(axis=1).mean()), (0.95 + 0.05 / num_arms) / floor, draw)


def revenue(num_arms: int = 6) -> World:
    """Return a world without contexts: one in 20 buys, for an amount up to 100 that is skewed; arms may be missing."""
    share, amount = 0.02 + 0.012 * np.arange(num_arms), 30 - 2.0 * np.arange(num_arms)
    grid = (np.arange(200_000) + 0.5) / 200_000
    levels = [np.minimum(100.0, -a * np.log(grid)) for a in amount]  # exponential, cut off at 100
    mean = share * np.array([level.mean() for level in levels])

    def policy(offered: np.ndarray) -> np.ndarray:  # the best of the available arms by an outdated guess
        guess = np.where(offered, frac(np.arange(num_arms) * np.sqrt(7)), -1.0)
        chances = 0.2 * offered / offered.sum(axis=1, keepdims=True)
        chances[np.arange(len(offered)), guess.argmax(axis=1)] += 0.8
        return chances

    def draw(rng: np.random.Generator, n: int) -> Drawn:
        offered = rng.random((n, num_arms)) < 0.6
        offered[np.arange(n), rng.integers(0, num_arms, n)] = True
        weight = offered * (1 + np.arange(num_arms))
        chances = weight / weight.sum(axis=1, keepdims=True)
        action = drawn_arms(rng, chances)
        paid = np.minimum(100.0, rng.exponential(amount[action]))
        reward = np.where(rng.random(n) < share[action], paid, 0.0)
        log = jb.read_log(
            action=action, reward=reward, probabilities=chances, available=offered, rewards=(0, 100),
            least_propensity=1 / 21,
        )  # fmt: skip
        return Drawn(log, policy(offered))

    rng = np.random.default_rng(2)
    offered = rng.random((1_000_000, num_arms)) < 0.6
    offered[np.arange(len(offered)), rng.integers(0, num_arms, len(offered))] = True
    return World(float((policy(offered) @ mean).mean()), 21.0, draw)


def learner(arms: int = 2, greedy: float = 0.98) -> World:
    """Return the log of a rule that learned: the leader by (S + 1)/(N + 2) gets .98, both means are 1/2; arm 0."""

    def draw(rng: np.random.Generator, n: int) -> Drawn:
        wins, pulls = np.zeros(arms), np.zeros(arms)
        coin, reward = rng.random(n), (rng.random(n) < 0.5).astype(float)
        action, chance = np.zeros(n, int), np.zeros(n)
        for i in range(n):
            leader = int(np.argmax((wins + 1) / (pulls + 2)))
            arm = leader if coin[i] < greedy else 1 - leader
            action[i], chance[i] = arm, greedy if arm == leader else 1 - greedy
            wins[arm] += reward[i]
            pulls[arm] += 1
        log = jb.read_log(
            action=action, reward=reward, propensity=chance, num_arms=arms, least_propensity=1 - greedy, adaptive=True
        )
        policy = np.zeros((n, arms))
        policy[:, 0] = 1.0
        return Drawn(log, policy)

    return World(0.5, 1 / (1 - greedy), draw)
