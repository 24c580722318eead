"""The rules that SMPyBandits and we both have, with the same parameters, and the reasons where their regrets differ.

Its parameters are those with which its formula is ours, not its defaults, unless there are none.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import jaxbandit as jb
from benchmarks import baseline_peers_rules as rules
from benchmarks.baseline_peers_rules import HORIZON, K

H = {"horizon": HORIZON}
RATE = float(np.sqrt(2 * np.log(K) / (HORIZON * K)))


WHY = {  # why theirs differs, with its formula
    "etc_gap(.5, 1)": (
        "in the first K floor(4 / gap^2 log(T gap^2 / 4)) rounds a random arm without the last one, `randint(0, K "
        "- 1)`, which here is the best; then the arm with the largest SUM of rewards."
    ),
    "etc_sprt(.1, .5)": (
        "after a sweep, t rounds, it commits if (t / 2) D >= log(T gap^2), where D is the best mean less the "
        "WORST and the factor gap of the likelihood ratio is missing; it has no sigma."
    ),
    "etc_bai(.5)": (
        "it commits if D >= sqrt(4 log(T / t) / t), again with the worst arm in D, and t counts the rounds of all arms."
    ),
    "epsilon_first(.1)": (
        "random rounds t <= epsilon T never take the last arm, `randint(0, K - 1)`, and the others take the "
        "largest SUM of rewards; the mean is computed and not used."
    ),
    "epsilon_greedy(.1)": "the same two, with probability epsilon.",
    "epsilon_decreasing(.1, .2)": "the same two, with probability min(1, 22.5 / t) in both libraries.",
    "softmax(.1)": "its means are S / (N + 1).",
    "softmax, decreasing": "its means are S / (N + 1). Some runs keep a wrong arm, hence the wide intervals.",
    "ucb_tuned": "m + sqrt(log t / N V), V = s^2 + sqrt(2 log t / N), without min(1/4, V).",
    "kl_ucb(gaussian, .5)": "m + sqrt(2 v log t / N) with v = 1e-4, the tolerance in the place of the variance.",
    "kl_ucb_switch(T)": "it plays kl-UCB, whose indices of all arms it inherits; its own index is never called.",
    "kl_ucb_switch": "the same.",
    "imed": (
        "argmin N mu* + log N, mu* the best mean: the minimizer of kl(m, y) over y >= mu* takes the place of the "
        "minimum. The arm with the fewest pulls is next, and the regret that of playing in turn."
    ),
    "thompson(gaussian, 1)": "N(m, 1 / N^2) in place of N(m, 1 / N): the variance is passed as the standard deviation.",
    "bayes_ucb(gaussian, 1)": (
        "the product of two functions that invert the normal law for its parameters; the second is asked for a "
        "probability of 1 and returns nan, so that every arm is drawn at random."
    ),
    "oc_ucb(1.1)": "it plays UCB1, m + sqrt(2 log t / N), whose indices of all arms it inherits.",
    "exp3": (
        "weights exp(g / K sum of r / p) mixed with g of uniform draws, g = min(1 / K, sqrt(log K / (t K))): "
        "Auer's form for gains with the learning rate of the form for losses as g, so that it learns K times more "
        "slowly."
    ),
    "exp3(T)": "the same with g = sqrt(2 log K / (T K)).",
    "exp3_plus_plus": (
        "equal here, but not EXP3++: the mixture is (1 - e) w + e, normalized, with e = sqrt(log K / (t K)) / 2 "
        "for all arms; the exploration by gaps is computed nowhere that counts."
    ),
    "tsallis_inf": (
        "w = (x - L)^-2 t with the x at which they sum to 1, found by minimizing (sum - 1)^2 without the "
        "condition x < min L, so that it may end at another root or at none."
    ),
    "ucb(h)": (
        "(1 - d / 2) sqrt(m) + (1 - m) (d - d^2 / 4), d = log t / N, or m itself if d is large: the square is "
        "inside. That the means nearly agree is chance: some runs keep a wrong arm."
    ),
    "ucb(t)": (
        "math domain error: 0 log 0 at m = 0. The formula has 0 there and random ties, which many indices of 1 make "
        "frequent; in ours the lowest arm wins them, here a bad one."
    ),
    "ucboost": "the least of the bounds bq, lb, and h with the square inside.",
}


class Pair(NamedTuple):
    """One of our rules, the policy of SMPyBandits, and what it plays if that differs."""

    name: str
    ours: jb.Algorithm
    policy: str
    arguments: Mapping[str, Any] = MappingProxyType({})  # a list is a kind and a name, see the other half
    formula: rules.Formula | str | None = None  # a string is the name of another pair: what ours plays there
    runs: int = 1_000  # of the formula


PAIRS = [
    Pair("uniform", jb.algorithms.uniform(K), "Uniform"),
    Pair("etc(39)", jb.algorithms.etc(K, 39), "ETC_FixedBudget", H | {"gap": 0.5}),
    Pair(
        "etc_gap(.5, 1)", jb.algorithms.etc_gap(K, gap=0.5, horizon=HORIZON), "ETC_KnownGap", H | {"gap": 0.5},
        rules.epsilons(lambda t: float(t <= 66 * K)),
    ),
    Pair(
        "etc_sprt(.1, .5)", jb.algorithms.etc_sprt(K, gap=0.1, sigma=0.5, horizon=HORIZON),
        "ETC_SPRT", H | {"gap": 0.1},
        rules.sweeps(lambda t, d: t / 2 * d >= np.log(HORIZON * 0.1**2)),
    ),
    Pair(
        "etc_bai(.5)", jb.algorithms.etc_bai(K, sigma=0.5, horizon=HORIZON), "ETC_BAI", H,
        rules.sweeps(lambda t, d: d >= np.sqrt(4 * np.log(HORIZON / t) / t)),
    ),
    Pair(
        "epsilon_first(.1)", jb.algorithms.epsilon_first(K, horizon=HORIZON, epsilon=0.1),
        "EpsilonFirst", H | {"epsilon": 0.1},
        rules.epsilons(lambda t: float(t <= 0.1 * HORIZON)),
    ),
    Pair(
        "epsilon_greedy(.1)", jb.algorithms.epsilon_greedy(K, epsilon=0.1), "EpsilonGreedy", {"epsilon": 0.1},
        rules.epsilons(lambda t: 0.1),
    ),
    Pair(
        "epsilon_decreasing(.1, .2)", jb.algorithms.epsilon_decreasing(K, c=0.1, d=0.2),
        "EpsilonDecreasing", {"epsilon": 22.5},
        rules.epsilons(lambda t: 22.5 / max(1, t)),
    ),
    Pair(
        "softmax(.1)", jb.algorithms.softmax(K, temperature=0.1), "Softmax", {"temperature": 0.1},
        rules.index(lambda rng, t, n, m: m * n / (n + 1) / 0.1 + rng.gumbel(size=n.shape)),
    ),
    Pair(
        "softmax, decreasing", jb.algorithms.softmax(K, schedule="decreasing"), "SoftmaxDecreasing", {},
        rules.index(lambda rng, t, n, m: m * n / (n + 1) / np.sqrt(np.log(K) / (t * K)) + rng.gumbel(size=n.shape)),
    ),
    Pair("boltzmann_gumbel(.5)", jb.algorithms.boltzmann_gumbel(K, c=0.5), "BoltzmannGumbel", {"C": 0.5}),
    Pair("ucb1_auer", jb.algorithms.ucb1_auer(K), "UCB"),
    Pair("ucb1", jb.algorithms.ucb1(K), "UCB_sq"),
    Pair("ucb_alpha(1)", jb.algorithms.ucb_alpha(K, alpha=1.0), "UCBalpha", {"alpha": 1}),
    Pair("ucb_tuned", jb.algorithms.ucb_tuned(K), "UCBVtuned", {}, rules.index(rules.tuned)),
    Pair("ucb_v(1, 1)", jb.algorithms.ucb_v(K, zeta=1.0, c=1.0), "UCBV"),
    Pair("moss(T)", jb.algorithms.moss(K, horizon=HORIZON), "MOSSH", H),
    Pair("moss", jb.algorithms.moss(K), "MOSSAnytime", {"alpha": 1.35}),
    Pair("kl_ucb", jb.algorithms.kl_ucb(K), "klUCB"),
    Pair("kl_ucb(3)", jb.algorithms.kl_ucb(K, c=3.0), "klUCBloglog", {"c": 3}),
    Pair(
        "kl_ucb(gaussian, .5)", jb.algorithms.kl_ucb(K, family="gaussian", sigma=0.5), "klUCB",
        {"klucb": ["family", "Gaussian"]},
        rules.index(lambda rng, t, n, m: m + np.sqrt(2 * 1e-4 * np.log(t) / n)),
    ),
    Pair("kl_ucb_plus", jb.algorithms.kl_ucb_plus(K), "klUCBPlus"),
    Pair("kl_ucb_plus(T)", jb.algorithms.kl_ucb_plus(K, horizon=HORIZON), "klUCBHPlus", H),
    Pair("kl_ucb_plus_plus(T)", jb.algorithms.kl_ucb_plus_plus(K, horizon=HORIZON), "klUCBPlusPlus", H),
    Pair("kl_ucb_switch(T)", jb.algorithms.kl_ucb_switch(K, horizon=HORIZON), "klUCBswitch", H, "kl_ucb"),
    Pair("kl_ucb_switch", jb.algorithms.kl_ucb_switch(K), "klUCBswitchAnytime", {}, "kl_ucb"),
    Pair(
        "imed", jb.algorithms.imed(K), "IMED", {},
        rules.index(lambda rng, t, n, m: -(n * np.nanmax(m, axis=1, keepdims=True) + np.log(n))),
    ),
    Pair("dmed", jb.algorithms.dmed(K), "DMEDPlus"),
    Pair("thompson", jb.algorithms.thompson(K), "Thompson"),
    Pair(
        "thompson(gaussian, 1)", jb.algorithms.thompson(K, family="gaussian", sigma=1.0), "Thompson",
        {"posterior": ["posterior", "Gauss"]},
        rules.index(
            lambda rng, t, n, m: np.where(n > 0, m, 0) + rng.standard_normal(n.shape) / np.maximum(n, 1), first=False
        ),
    ),
    Pair("bayes_ucb", jb.algorithms.bayes_ucb(K), "BayesUCB"),
    Pair(
        "bayes_ucb(gaussian, 1)", jb.algorithms.bayes_ucb(K, family="gaussian", sigma=1.0), "BayesUCB",
        {"posterior": ["posterior", "Gauss"]}, "uniform",
    ),
    Pair("ada_ucb", jb.algorithms.ada_ucb(K, horizon=HORIZON), "UCBdagger", H),
    Pair("oc_ucb(1.1)", jb.algorithms.oc_ucb(K, eta=1.1), "OCUCB", {"eta": 1.1}, "ucb1_auer"),
    Pair("besa", jb.algorithms.besa(K), "BESA"),
    Pair("phe(1.1)", jb.algorithms.phe(K), "PHE", {"perturbation_scale": 1.1}),
    Pair(
        "exp3", jb.algorithms.exp3(K), "Exp3Decreasing", {},
        rules.weights(lambda t: rules.exponential_rate(t) / K, rules.exponential_rate, gains=True),
    ),
    Pair(
        "exp3(T)", jb.algorithms.exp3(K, rate="fixed", horizon=HORIZON), "Exp3WithHorizon", H,
        rules.weights(lambda t: RATE / K, lambda t: RATE, gains=True),
    ),
    Pair(
        "exp3_plus_plus", jb.algorithms.exp3_plus_plus(K), "Exp3PlusPlus", {},
        rules.weights(rules.half_rate, lambda t: K * rules.half_rate(t) / (1 + (K - 1) * rules.half_rate(t)), False),
    ),
    Pair("tsallis_inf", jb.algorithms.tsallis_inf(K), "TsallisInf", {}, rules.tsallis, 60),
    Pair("ucb(bq)", jb.algorithms.ucb(K, distance="bq"), "UCB_bq"),
    Pair("ucb(h)", jb.algorithms.ucb(K, distance="h"), "UCB_h", {}, rules.index(rules.hellinger)),
    Pair("ucb(lb)", jb.algorithms.ucb(K, distance="lb"), "UCB_lb"),
    Pair("ucb(t)", jb.algorithms.ucb(K, distance="t"), "UCB_t", {}, rules.index(rules.tangent)),
    Pair("ucboost", jb.algorithms.ucboost(K), "UCBoost", {"set_D": 3}, rules.index(rules.boosted)),
    Pair("ucboost_eps", jb.algorithms.ucboost_eps(K), "UCBoostEpsilon"),
]  # fmt: skip
