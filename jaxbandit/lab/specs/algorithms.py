"""The registered algorithms as plain data. To add one, add an entry here, or in stopping_algorithms.py if it stops.

A test checks that the arguments listed here are those of the factory's signature.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from jaxbandit.lab.specs.entry import Entry, named
from jaxbandit.lab.specs.stopping_algorithms import STOPPING, combinatorial


def _algorithm(name: str, summary: str, *arguments: str, file: str = "") -> Entry:
    return Entry(name, f"jaxbandit.algorithms.regret.{file or name}", summary, ("num_arms", *arguments))


def _non_stationary(name: str, summary: str, *arguments: str, **more: Any) -> Entry:
    module = f"jaxbandit.algorithms.non_stationary.{name}"
    return Entry(name, module, summary, ("num_arms", *arguments), **more)


def _adversarial(name: str, summary: str, *arguments: str) -> Entry:
    return Entry(name, f"jaxbandit.algorithms.adversarial.{name}", summary, ("num_arms", *arguments))


def _linear(name: str, summary: str, *arguments: str) -> Entry:
    return Entry(name, f"jaxbandit.algorithms.regret.{name}", summary, ("features", "mask", *arguments))


ALGORITHMS: Mapping[str, Entry] = named(
    _algorithm("uniform", "a uniformly random arm in each round"),
    _algorithm(
        "epsilon_greedy", "the arm with the largest empirical mean, a random one with probability epsilon", "epsilon"
    ),
    _algorithm(
        "ucb", "the largest mean within a confidence radius of a semi-distance, Liu et al. 2018", "distance", "c"
    ),
    _algorithm("ucb1", "UCB with the squared distance, Auer et al. 2002", "c", file="ucb"),
    _algorithm("ucb1_auer", "UCB1 as published, mean + sqrt(2 log t / N), Auer et al. 2002", file="ucb"),
    _algorithm("ucboost", "the minimum of several closed-form UCB indices, Liu et al. 2018", "distances", "c"),
    _algorithm(
        "ucboost_eps", "approximates kl-UCB within eps, Liu et al. 2018, Algorithm 3", "eps", "c", file="ucboost"
    ),
    _algorithm(
        "ucboost_lb", "approximates kl-UCB by a lower bound, Liu et al. 2018, Algorithm 4", "eps", "c", file="ucboost"
    ),
    _algorithm("kl_ucb", "UCB with the Bernoulli relative entropy, Garivier and Cappe 2011", "c"),
    _algorithm("kl_ucb_empirical", "kl-UCB for the empirical distribution, Cappe et al. 2013", "num_atoms", "c"),
    _algorithm("ucb_v", "UCB with empirical variances, Audibert et al. 2009", "zeta", "c"),
    _algorithm("moss", "minimax optimal UCB, Audibert and Bubeck 2009; anytime without horizon", "horizon"),
    _algorithm("thompson", "Thompson sampling with a Beta posterior", "prior_alpha", "prior_beta"),
    _algorithm(
        "bayes_ucb", "the posterior quantile 1 - 1/t as index, Kaufmann et al. 2012", "prior_alpha", "prior_beta"
    ),
    _algorithm("imed", "indexed minimum empirical divergence, Honda and Takemura 2015"),
    _algorithm("dmed", "deterministic minimum empirical divergence, Honda and Takemura 2010"),
    _non_stationary(
        "d_ucb",
        "UCB with discounted rewards, Garivier and Moulines 2011",
        *("discount", "index", "xi", "bound", "horizon", "num_changes"),
    ),
    _non_stationary(
        "sw_ucb",
        "UCB with the rewards in a sliding window, Garivier and Moulines 2011",
        *("window", "index", "xi", "bound", "horizon", "num_changes"),
        concrete=("bound",),
    ),
    _non_stationary(
        "discounted_thompson",
        "Thompson sampling with discounted evidence, Raj and Kalyani 2017",
        *("discount", "horizon", "num_changes"),
    ),
    _non_stationary(
        "glr_klucb",
        "kl-UCB restarted by likelihood ratio tests, Besson et al. 2022",
        *("restart", "alpha", "delta", "scale", "test_every", "split_every", "marks", "horizon", "num_changes"),
    ),
    _non_stationary(
        "cusum_ucb",
        "UCB restarted by two-sided CUSUM tests, Liu et al. 2018",
        *("index", "alpha", "threshold", "epsilon", "min_pulls", "xi", "horizon", "num_changes"),
    ),
    _non_stationary(
        "m_ucb",
        "UCB restarted when the two halves of a window differ, Cao et al. 2019",
        *("window", "index", "threshold", "gamma", "xi", "horizon", "num_changes"),
        concrete=("threshold",),
    ),
    _non_stationary(
        "oracle_restart", "an oracle, kl-UCB that is told when the means change", "starts", truth=("starts",)
    ),
    combinatorial("cucb", "semi-bandits, the k arms with the largest indices, Chen et al. 2013", "index", "c"),
    combinatorial(
        "combinatorial_thompson",
        "semi-bandits, the k arms with the largest posterior draws, Wang and Chen 2018",
        *("prior_alpha", "prior_beta"),
    ),
    combinatorial("escb", "semi-bandits, the set of k arms with the largest index, Combes et al. 2015", "c"),
    Entry(
        "batched_elimination",
        "jaxbandit.algorithms.feedback.batched_elimination",
        "BaSE, eliminates arms at the ends of batches, Gao et al. 2019",
        ("num_arms", "horizon", "grid", "num_batches", "radius", "gamma"),
    ),
    _adversarial("exp3", "exponential weights on estimated losses, Auer et al. 2002", "rate", "horizon", "eta"),
    _adversarial("exp3_ix", "EXP3 with implicit exploration, Neu 2015", "rate", "horizon", "eta"),
    _adversarial(
        "exp3_s", "EXP3 for a best arm that changes, Auer et al. 2002", "horizon", "num_changes", "alpha", "gamma"
    ),
    _adversarial(
        "tsallis_inf",
        "Tsallis-INF, optimal for stochastic and for adversarial losses, Zimmert and Seldin 2021",
        "estimate",
        "eta",
    ),
    _linear(
        "lin_ucb",
        "linear UCB on known action sets, with the radius of the OAM paper or of OFUL",
        *("horizon", "variant", "c", "delta", "sigma", "theta_norm", "regularization"),
    ),
    _linear(
        "lin_ts",
        "linear Thompson sampling, from the posterior or with the radius of the regret bound",
        *("horizon", "variant", "delta", "sigma"),
    ),
    _linear("greedy", "the arm with the largest least-squares estimate"),
    _linear(
        "oam",
        "optimal allocation matching, Hao et al. 2020",
        *("horizon", "epsilon", "schedule", "exploit_if", "budget", "force", "spanner", "c", "zeta", "sigma"),
    ),
    _linear(
        "oam_practical",
        "OAM adapted to practical horizons, which explores when optimism does",
        *("horizon", "c", "budget", "zeta", "sigma"),
    ),
    _linear(
        "ossb",
        "tracks the allocation of the lower bound, Combes et al. 2017",
        *("epsilon", "gamma", "estimator", "zeta", "sigma"),
    ),
    *STOPPING.values(),
)


def super_arms() -> Callable[..., Any]:
    """Import and return the function that draws the support of the full-bandit algorithms."""
    return importlib.import_module("jaxbandit.algorithms.exploration.super_arms").super_arms
