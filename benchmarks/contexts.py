"""The cost of a round of each rule on a context of floats, beside NumPy.

First come the sizes of the experiments of the guide on contexts, with the defaults of each rule: K = 10 and d = 8 with
a vector that all arms share and a model for each arm, K = 20 and d = 10 with a row for each arm and one model. Larger
sizes follow for rules that differ in their work. Contexts are drawn by linear_vectors and linear_matrix, or with
rewards 0 and 1 by logistic_vectors and logistic_matrix.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks import beside_numpy
from benchmarks.beside_numpy import Case
from benchmarks.contextual_loops import Rule, epsilon, greedy, half_ucb, play, softmax, thompson, ucb

VECTORS, MATRICES = (10, 8), (20, 10)  # K, d
LARGE_VECTORS, LARGE_MATRICES = ((10, 62), (100, 20)), ((20, 62), (1000, 20))
LARGE = ("lin_ucb_disjoint", "lin_ucb_hybrid", "lin_ucb_shared", "lin_ts_shared", "ridge_greedy")
FEATURES = 4  # of an arm, for hybrid models
ROUNDS, RUNS = 1_000, 256

Pair = tuple[jb.Algorithm, Rule | None]


def rules(num_arms: int, shape: tuple[int, ...], rounds: int = ROUNDS) -> dict[str, Pair]:
    """Return each rule for contexts of this shape, and what NumPy plays; None if NumPy plays nothing."""
    shared, dim = len(shape) == 2, shape[-1]
    plain: dict[str, Any] = {"intercept": False}  # as what NumPy plays
    arms = np.cos(np.arange(num_arms * FEATURES).reshape(num_arms, FEATURES)) / 2
    own: dict[str, Pair] = {
        "lin_ucb_disjoint": (jb.algorithms.lin_ucb_disjoint(num_arms, dim, **plain), Rule(ucb)),
        "lin_ts_disjoint": (jb.algorithms.lin_ts_disjoint(num_arms, dim, **plain), Rule(thompson)),
        "lin_ucb_hybrid": (jb.algorithms.lin_ucb_hybrid(arms, dim, **plain), None),
    }
    one: dict[str, Pair] = {
        "lin_ucb_shared": (jb.algorithms.lin_ucb_shared(num_arms, dim, **plain), Rule(ucb)),
        "lin_ts_shared": (jb.algorithms.lin_ts_shared(num_arms, dim, **plain), Rule(greedy, draws=True)),
    }
    return {
        **(one if shared else own),
        "ridge_greedy": (jb.algorithms.ridge_greedy(num_arms, shape, **plain), Rule(greedy)),
        "ridge_epsilon": (jb.algorithms.ridge_epsilon(num_arms, shape, **plain), Rule(epsilon)),
        "ridge_softmax": (jb.algorithms.ridge_softmax(num_arms, shape, **plain), Rule(softmax)),
        "neural_linear": (jb.algorithms.neural_linear(num_arms, shape, **plain), None),
        "logistic_ts": (
            jb.algorithms.logistic_ts(num_arms, shape),
            Rule(greedy if shared else thompson, "logistic", draws=shared),
        ),
        "logistic_ucb": (jb.algorithms.logistic_ucb(num_arms, shape), Rule(ucb, "logistic")),
        "logistic_greedy": (jb.algorithms.logistic_greedy(num_arms, shape), Rule(greedy, "logistic")),
        "logistic_epsilon": (jb.algorithms.logistic_epsilon(num_arms, shape), Rule(epsilon, "logistic")),
        "logistic_softmax": (jb.algorithms.logistic_softmax(num_arms, shape), Rule(softmax, "logistic")),
        "ucb_glm": (jb.algorithms.ucb_glm(num_arms, shape, horizon=rounds), Rule(half_ucb, "likelihood")),
    }


def case(name: str, both: Pair, num_arms: int, shape: tuple[int, ...], runs: int, rounds: int) -> Case:
    """Return the case of a rule."""
    algorithm, rule = both
    shared, dim = len(shape) == 2, shape[-1]
    logistic = algorithm.rewards is not None and bool(algorithm.rewards.high == 1.0)
    kinds = (
        (jb.environments.logistic_vectors, jb.environments.linear_vectors),
        (jb.environments.logistic_matrix, jb.environments.linear_matrix),
    )
    environment = kinds[shared][not logistic](num_arms=num_arms, dim=dim)
    loop = None if rule is None else _loop(rule, num_arms, shape, logistic)
    size = f"K = {num_arms}, d = {'K x ' if shared else ''}{dim}"
    return Case(name, size, algorithm, environment, loop, runs, rounds)


def cases(quick: bool) -> Iterator[Case]:
    """Yield all cases."""
    for (num_arms, dim), shared in ((VECTORS, False), (MATRICES, True)):
        shape = (num_arms, dim) if shared else (dim,)
        for name, both in rules(num_arms, shape).items():
            # A training of neural_linear takes seconds on 256 runs, and Newton's method all rows of K models.
            runs = 64 if name in ("neural_linear", "ucb_glm") else RUNS
            yield case(name, both, num_arms, shape, runs, ROUNDS)
            if quick:
                break
    for sizes, shared in () if quick else ((LARGE_VECTORS, False), (LARGE_MATRICES, True)):
        for num_arms, dim in sizes:
            shape = (num_arms, dim) if shared else (dim,)
            for name, both in rules(num_arms, shape).items():
                if name in LARGE:
                    yield case(name, both, num_arms, shape, 64, 200)


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each rule and size; progress goes to stderr."""
    return [beside_numpy.measure_case(each) for each in cases(quick)]


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    return beside_numpy.table("contexts of floats", rows)


def _loop(rule: Rule, num_arms: int, shape: tuple[int, ...], logistic: bool) -> Callable[[int], float]:
    """Return the NumPy loop; with a constant for logistic models, as ours have."""

    def loop(rounds: int) -> float:
        contexts = np.random.default_rng(0).normal(size=(rounds, *shape)) / np.sqrt(shape[-1])
        if logistic:
            contexts = np.concatenate([contexts, np.ones((*contexts.shape[:-1], 1))], -1)
        return play(rule, contexts, num_arms).seconds

    return loop
