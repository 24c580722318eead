"""The rules that SMPyBandits and we both have, with the same parameters, and the reasons where their regrets differ.

Its parameters are those with which its formula is ours, not its defaults, unless there are none.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import jaxbandit as jb
from benchmarks import baseline_peers_rules as rules
from benchmarks.baseline_peers_rules import HORIZON, K

H = {"horizon": HORIZON}
RATE = float(np.sqrt(2 * np.log(K) / (HORIZON * K)))


WHY: dict[str, str] = tomllib.loads(Path(__file__).with_name("baseline_peers.toml").read_text(encoding="utf-8"))


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
