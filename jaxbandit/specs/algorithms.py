"""The registered algorithms as plain data. To add one: a line here.

A test holds the arguments written here equal to the factory's own signature.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from jaxbandit.specs.entry import Entry, named


def _algorithm(name: str, summary: str, *arguments: str, file: str = "") -> Entry:
    return Entry(name, f"jaxbandit.algorithms.regret.{file or name}", summary, ("num_arms", *arguments))


def _non_stationary(name: str, summary: str, *arguments: str, **more: Any) -> Entry:
    module = f"jaxbandit.algorithms.non_stationary.{name}"
    return Entry(name, module, summary, ("num_arms", *arguments), **more)


def _adversarial(name: str, summary: str, *arguments: str) -> Entry:
    return Entry(name, f"jaxbandit.algorithms.adversarial.{name}", summary, ("num_arms", *arguments))


def _linear(name: str, summary: str, *arguments: str) -> Entry:
    return Entry(name, f"jaxbandit.algorithms.regret.{name}", summary, ("features", "mask", *arguments))


def _exploration(name: str, summary: str, *arguments: str, file: str = "", **more: Any) -> Entry:
    module = f"jaxbandit.algorithms.exploration.{file or name}"
    return Entry(name, module, summary, arguments, kind="identify", **more)


def _combinatorial(name: str, summary: str, *arguments: str, **more: Any) -> Entry:
    module = f"jaxbandit.algorithms.combinatorial.{name}"
    return Entry(name, module, summary, ("num_arms", "k", *arguments), **more)


def _fixed_budget(name: str, summary: str, *arguments: str) -> Entry:
    module = f"jaxbandit.algorithms.fixed_budget.{name}"
    return Entry(name, module, summary, ("num_arms", *arguments), kind="identify")


def _best_arm(name: str, summary: str, *arguments: str, file: str = "") -> Entry:
    module = f"jaxbandit.algorithms.best_arm.{file or name}"
    return Entry(name, module, summary, ("num_arms", *arguments), kind="identify")


# What the four static full-bandit algorithms share: support and allocation, then the promise and the looks.
_SUPER_ARMS = ("num_arms", "k", "support", "num_sets", "support_seed", "sets", "allocation", "weights")
_LOOKS = ("delta", "epsilon", "sigma", "schedule", "grid")
_LISTS: dict[str, Any] = {"concrete": ("sets", "weights")}

# The least representations of all pairs are exact where the features are concrete.
_OPTIMIZED: dict[str, Any] = {"concrete": ("features",), "concrete_rule": "optimized"}

ALGORITHMS: Mapping[str, Entry] = named(
    _algorithm("uniform", "a uniformly random arm each round"),
    _algorithm("epsilon_greedy", "the best arm so far, a random one with probability epsilon", "epsilon"),
    _algorithm("ucb", "argmax of P1(d), the optimistic mean within a semi-distance", "distance", "c"),
    _algorithm("ucb1", "UCB of the squared distance, Auer et al. 2002", "c", file="ucb"),
    _algorithm("ucb1_auer", "UCB1 as printed, mean + sqrt(2 log t / N), Auer et al. 2002", file="ucb"),
    _algorithm("ucboost", "the least of several closed-form UCB indices, Liu et al. 2018", "distances", "c"),
    _algorithm("ucboost_eps", "UCBoost within eps of kl-UCB, Algorithm 3", "eps", "c", file="ucboost"),
    _algorithm("ucboost_lb", "the other approximation of kl-UCB, Algorithm 4", "eps", "c", file="ucboost"),
    _algorithm("kl_ucb", "UCB of the Bernoulli relative entropy, Garivier and Cappe 2011", "c"),
    _algorithm("kl_ucb_empirical", "kl-UCB of the empirical law, Cappe et al. 2013", "num_atoms", "c"),
    _algorithm("ucb_v", "UCB with empirical variances, Audibert et al. 2009", "zeta", "c"),
    _algorithm("moss", "minimax optimal UCB, Audibert and Bubeck 2009; anytime without horizon", "horizon"),
    _algorithm("thompson", "Thompson sampling, Beta posterior", "prior_alpha", "prior_beta"),
    _algorithm("bayes_ucb", "posterior quantile 1 - 1/t, Kaufmann et al. 2012", "prior_alpha", "prior_beta"),
    _algorithm("imed", "indexed minimum empirical divergence, Honda and Takemura 2015"),
    _algorithm("dmed", "deterministic minimum empirical divergence, Honda and Takemura 2010"),
    _non_stationary(
        "d_ucb",
        "UCB of discounted rewards, Garivier and Moulines 2011",
        *("discount", "index", "xi", "bound", "horizon", "num_changes"),
    ),
    _non_stationary(
        "sw_ucb",
        "UCB of the rewards in a sliding window, Garivier and Moulines 2011",
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
        "UCB restarted when halves of a window differ, Cao et al. 2019",
        *("window", "index", "threshold", "gamma", "xi", "horizon", "num_changes"),
        concrete=("threshold",),
    ),
    _non_stationary("oracle_restart", "kl-UCB told when the means change, an oracle", "starts", truth=("starts",)),
    _combinatorial("cucb", "the k arms of largest index, each reward seen, Chen et al. 2013", "index", "c"),
    _combinatorial(
        "combinatorial_thompson",
        "the k largest posterior draws, each reward seen, Wang and Chen 2018",
        *("prior_alpha", "prior_beta"),
    ),
    _combinatorial("escb", "the team of largest index, few teams, Combes et al. 2015", "c"),
    Entry(
        "batched_elimination",
        "jaxbandit.algorithms.feedback.batched_elimination",
        "BaSE, arms dropped at the ends of batches, Gao et al. 2019",
        ("num_arms", "horizon", "grid", "num_batches", "radius", "gamma"),
    ),
    _adversarial("exp3", "exponential weights on estimated losses, Auer et al. 2002", "rate", "horizon", "eta"),
    _adversarial("exp3_ix", "EXP3 with implicit exploration, Neu 2015", "rate", "horizon", "eta"),
    _adversarial(
        "exp3_s", "EXP3 for a best arm that changes, Auer et al. 2002", "horizon", "num_changes", "alpha", "gamma"
    ),
    _adversarial("tsallis_inf", "optimal in both worlds, Zimmert and Seldin 2021", "estimate", "eta"),
    _linear(
        "lin_ucb",
        "optimism on known action sets, radius of OAM's paper or of OFUL",
        *("horizon", "variant", "c", "delta", "sigma", "theta_norm", "regularization"),
    ),
    _linear(
        "lin_ts",
        "linear Thompson sampling, the posterior or with the proved radius",
        *("horizon", "variant", "delta", "sigma"),
    ),
    _linear("greedy", "the arm that least squares say is best"),
    _linear(
        "oam",
        "optimal allocation matching, Hao et al. 2020",
        *("horizon", "epsilon", "schedule", "exploit_if", "budget", "force", "spanner", "c", "zeta", "sigma"),
    ),
    _linear(
        "oam_practical",
        "OAM that explores when optimism does, at a level for the horizon",
        *("horizon", "c", "budget", "zeta", "sigma"),
    ),
    _linear(
        "ossb",
        "the lower bound's allocation tracked, Combes et al. 2017",
        *("epsilon", "gamma", "estimator", "zeta", "sigma"),
    ),
    _exploration(
        "gifa",
        "the gap-index family with every part open, Reda et al. 2021",
        *("features", "candidates", "index", "leader", "rule", "stop", "threshold", "initial_pulls"),
        *("m", "delta", "epsilon", "sigma", "regularization", "theta_norm", "ties"),
        **_OPTIMIZED,
    ),
    _exploration(
        "lucb",
        "the m best arms without features, Kalyanakrishnan et al. 2012",
        *("num_arms", "m", "rule", "threshold", "delta", "epsilon", "sigma", "ties"),
        file="presets",
    ),
    _exploration(
        "ugape",
        "the m best arms without features, Gabillon et al. 2012",
        *("num_arms", "m", "threshold", "delta", "epsilon", "sigma", "ties"),
        file="presets",
    ),
    _best_arm(
        "kl_lucb",
        "the m best arms of a one-parameter family, Kaufmann and Kalyanakrishnan 2013",
        *("m", "family", "threshold", "delta", "epsilon", "sigma"),
    ),
    _best_arm(
        "kl_racing",
        "a race whose intervals drop arms, Kaufmann and Kalyanakrishnan 2013",
        *("family", "threshold", "drop", "delta", "sigma", "grid"),
    ),
    _best_arm(
        "chernoff_racing",
        "a race whose likelihood ratios drop arms, Garivier and Kaufmann 2016",
        *("family", "threshold", "drop", "delta", "sigma", "grid"),
    ),
    _best_arm(
        "successive_elimination",
        "a race of sub-Gaussian arms, Even-Dar et al. 2006",
        *("delta", "sigma", "grid"),
        file="kl_racing",
    ),
    _best_arm(
        "lil_ucb",
        "optimism until one arm has most of the pulls, Jamieson et al. 2014",
        *("variant", "delta", "sigma"),
    ),
    _best_arm(
        "paired_race",
        "a race by the differences of a round's rewards, Gaussian of unknown variances, ours",
        *("delta", "epsilon"),
    ),
    _best_arm("student_race", "a race by t intervals of Gaussian arms of unknown variances", "delta"),
    _best_arm(
        "kim_nelson",
        "a race for gaps of epsilon and more, KN and KN++, Kim and Nelson 2001",
        *("epsilon", "variant", "independent", "first_rounds", "delta"),
    ),
    _best_arm(
        "bernstein_race",
        "a race by empirical Bernstein intervals of bounded rewards, Mnih et al. 2008",
        *("bound", "delta", "low", "high"),
    ),
    _best_arm(
        "betting_race",
        "a race by bets on the differences of bounded rewards, after Waudby-Smith and Ramdas 2024",
        *("delta", "low", "high"),
    ),
    _best_arm(
        "track_and_stop",
        "the optimal shares of pulls tracked, Garivier and Kaufmann 2016",
        *("tracking", "growth", "family", "threshold", "delta", "sigma"),
    ),
    _best_arm(
        "top_two",
        "a leader against a challenger, Russo 2016, Jourdan et al. 2022",
        *("leader", "challenger", "beta", "adaptive", "family", "threshold", "delta", "sigma"),
    ),
    _exploration(
        "lingape",
        "the best arm of linear means, Xu et al. 2017",
        *("features", "rule", "threshold", "delta", "epsilon", "sigma", "regularization", "theta_norm", "ties"),
        file="presets",
        **_OPTIMIZED,
    ),
    _exploration(
        "m_lingape",
        "the m best arms of linear means, Reda et al. 2021",
        *("features", "m", "rule", "threshold", "delta", "epsilon", "sigma", "regularization", "theta_norm", "ties"),
        file="presets",
        **_OPTIMIZED,
    ),
    _exploration(
        "lingifa",
        "the m best arms of linear means by one index an arm, Reda et al. 2021",
        *("features", "m", "rule", "index", "stop", "threshold"),
        *("delta", "epsilon", "sigma", "regularization", "theta_norm", "ties"),
        file="presets",
    ),
    _exploration(
        "xy_static",
        "the design fixed for all differences of arms, Soare et al. 2014",
        *("features", "delta", "sigma", "grid"),
        file="static_designs",
    ),
    _exploration(
        "g_static",
        "the design fixed for all arms, Soare et al. 2014",
        *("features", "delta", "sigma", "grid"),
        file="static_designs",
    ),
    _exploration(
        "xy_adaptive",
        "designs for the arms left, phase by phase, Soare et al. 2014",
        *("features", "delta", "sigma", "alpha", "retest"),
    ),
    _exploration(
        "xy_oracle",
        "the design of one who knows theta, Soare et al. 2014",
        *("features", "theta", "delta", "sigma", "grid"),
        truth=("theta",),
    ),
    _exploration(
        "rage", "designs for the arms left, halving gaps, Fiez et al. 2019", "features", "delta", "sigma", "rounding"
    ),
    _exploration(
        "lin_game",
        "a learner of arms against nature, Degenne et al. 2020",
        *("features", "delta", "sigma", "regularization", "theta_norm", "threshold"),
    ),
    _exploration(
        "lazy_track_and_stop",
        "tracks the optimal design at rare estimates, Jedra and Proutiere 2020",
        *("features", "delta", "sigma", "slack", "threshold"),
    ),
    _exploration(
        "saqm",
        "the k best arms from sums of k, approximate quadratic maximisation, Kuroki et al. 2019",
        *(*_SUPER_ARMS, "alpha", "fixed_alpha", *_LOOKS),
        **_LISTS,
    ),
    _exploration(
        "sa_foa",
        "the k best arms from sums of k, first-order approximation, no guarantee, Kuroki et al. 2019",
        *(*_SUPER_ARMS, "anchors", "eps_factor", *_LOOKS),
        **_LISTS,
    ),
    _exploration(
        "icb",
        "the k best arms from sums of k, an interval an arm, Kuroki et al. 2019",
        *(*_SUPER_ARMS, "radius", "decision_class", *_LOOKS),
        **_LISTS,
    ),
    _exploration(
        "exhaustive",
        "the k best arms from sums of k, all super-arms scored, Kuroki et al. 2019",
        *(*_SUPER_ARMS, *_LOOKS),
        **_LISTS,
    ),
    _exploration(
        "adaptive_full_bandit",
        "the k best arms from sums of k, super-arms chosen by what is in doubt, ours",
        *(
            "num_arms",
            "k",
            "num_sets",
            "support_seed",
            "choices",
            "bound",
            "explore",
            "grid",
            "delta",
            "epsilon",
            "sigma",
        ),
    ),
    _combinatorial(
        "clucb",
        "the k best arms from teams whose members' rewards are seen, Chen et al. 2014",
        *("threshold", "delta", "epsilon"),
        kind="identify",
    ),
    _fixed_budget("budgeted_race", "a race that its budget may end", "rule", "epsilon", "delta", "budget"),
    _fixed_budget(
        "sequential_halving", "halves the arms until m are left, Karnin et al. 2013", "m", "budget", "reading"
    ),
    _fixed_budget(
        "successive_rejects", "drops arms one by one, Audibert et al. 2010, Bubeck et al. 2013", "m", "budget"
    ),
    _fixed_budget(
        "ucb_e", "an upper bound with a fixed amount of exploration, Audibert et al. 2010", "budget", "a", "c", "h1"
    ),
    _fixed_budget("ugape_b", "UGapE with a budget, Gabillon et al. 2012", "m", "budget", "a"),
    _fixed_budget("uniform_allocation", "every arm as often, then the largest means", "m", "budget"),
)


def super_arms() -> Callable[..., Any]:
    """Import and return what draws the support of the full-bandit algorithms, for what is computed of it alone."""
    return importlib.import_module("jaxbandit.algorithms.exploration.super_arms").super_arms
