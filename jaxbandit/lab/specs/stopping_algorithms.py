"""The registered algorithms that stop by their own rule or when their budget is spent. New ones are added here."""

from collections.abc import Mapping
from typing import Any

from jaxbandit.lab.specs.entry import Entry, named


def _exploration(name: str, summary: str, *arguments: str, file: str = "", **more: Any) -> Entry:
    module = f"jaxbandit.algorithms.exploration.{file or name}"
    return Entry(name, module, summary, arguments, kind="identify", **more)


def _fixed_budget(name: str, summary: str, *arguments: str) -> Entry:
    module = f"jaxbandit.algorithms.fixed_budget.{name}"
    return Entry(name, module, summary, ("num_arms", *arguments), kind="identify")


def _best_arm(name: str, summary: str, *arguments: str, file: str = "") -> Entry:
    module = f"jaxbandit.algorithms.best_arm.{file or name}"
    return Entry(name, module, summary, ("num_arms", *arguments), kind="identify")


def combinatorial(name: str, summary: str, *arguments: str, **more: Any) -> Entry:
    """Return the entry of an algorithm that pulls sets of k arms and observes the reward of each member."""
    module = f"jaxbandit.algorithms.combinatorial.{name}"
    return Entry(name, module, summary, ("num_arms", "k", *arguments), **more)


# What the four static full-bandit algorithms share: the support and the allocation, then the guarantee and when the
# stopping rule is evaluated.
_SUPER_ARMS = ("num_arms", "k", "support", "num_sets", "support_seed", "sets", "allocation", "weights")
_LOOKS = ("delta", "epsilon", "sigma", "schedule", "grid")
_LISTS: dict[str, Any] = {"concrete": ("sets", "weights")}

# The minimal representations of all pairs of arms are exact if the features are concrete.
_OPTIMIZED: dict[str, Any] = {"concrete": ("features",), "concrete_rule": "optimized"}

STOPPING: Mapping[str, Entry] = named(
    _exploration(
        "gifa",
        "the gap-index family, with every component to be chosen, Reda et al. 2021",
        *("features", "candidates", "index", "leader", "rule", "stop", "threshold", "initial_pulls"),
        *("m", "delta", "epsilon", "sigma", "regularization", "theta_norm", "ties"),
        **_OPTIMIZED,
    ),
    _exploration(
        "lucb",
        "LUCB, the m best arms without features, Kalyanakrishnan et al. 2012",
        *("num_arms", "m", "rule", "threshold", "delta", "epsilon", "sigma", "ties"),
        file="presets",
    ),
    _exploration(
        "ugape",
        "UGapE, the m best arms without features, Gabillon et al. 2012",
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
        "eliminates arms by confidence intervals, Kaufmann and Kalyanakrishnan 2013",
        *("family", "threshold", "drop", "delta", "sigma", "grid"),
    ),
    _best_arm(
        "chernoff_racing",
        "eliminates arms by likelihood ratios, Garivier and Kaufmann 2016",
        *("family", "threshold", "drop", "delta", "sigma", "grid"),
    ),
    _best_arm(
        "successive_elimination",
        "eliminates sub-Gaussian arms, Even-Dar et al. 2006",
        *("delta", "sigma", "grid"),
        file="kl_racing",
    ),
    _best_arm(
        "lil_ucb",
        "UCB that stops when one arm has most of the pulls, Jamieson et al. 2014",
        *("variant", "delta", "sigma"),
    ),
    _best_arm(
        "paired_race",
        "eliminates arms by paired differences of rewards, Gaussian with unknown variances, original to jaxbandit",
        *("delta", "epsilon"),
    ),
    _best_arm("student_race", "eliminates Gaussian arms with unknown variances by t intervals", "delta"),
    _best_arm(
        "kim_nelson",
        "KN and KN++, for gaps of at least epsilon, Kim and Nelson 2001",
        *("epsilon", "variant", "independent", "first_rounds", "delta"),
    ),
    _best_arm(
        "bernstein_race",
        "eliminates arms with bounded rewards by empirical Bernstein intervals, Mnih et al. 2008",
        *("bound", "delta", "low", "high"),
    ),
    _best_arm(
        "betting_race",
        "eliminates arms with bounded rewards by betting, after Waudby-Smith and Ramdas 2024",
        *("delta", "low", "high"),
    ),
    _best_arm(
        "track_and_stop",
        "tracks the optimal proportions of pulls, Garivier and Kaufmann 2016",
        *("tracking", "growth", "family", "threshold", "delta", "sigma"),
    ),
    _best_arm(
        "top_two",
        "compares a leader with a challenger, Russo 2016, Jourdan et al. 2022",
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
        file="linear_top_m",
        **_OPTIMIZED,
    ),
    _exploration(
        "lingifa",
        "the m best arms of linear means, with one index per arm, Reda et al. 2021",
        *("features", "m", "rule", "index", "stop", "threshold"),
        *("delta", "epsilon", "sigma", "regularization", "theta_norm", "ties"),
        file="linear_top_m",
    ),
    _exploration(
        "xy_static",
        "a fixed design for all differences of arms, Soare et al. 2014",
        *("features", "delta", "sigma", "grid"),
        file="static_designs",
    ),
    _exploration(
        "g_static",
        "a fixed design for all arms, Soare et al. 2014",
        *("features", "delta", "sigma", "grid"),
        file="static_designs",
    ),
    _exploration(
        "xy_adaptive",
        "designs for the remaining arms, phase by phase, Soare et al. 2014",
        *("features", "delta", "sigma", "alpha", "retest"),
    ),
    _exploration(
        "xy_oracle",
        "an oracle, the optimal design for the true theta, Soare et al. 2014",
        *("features", "theta", "delta", "sigma", "grid"),
        truth=("theta",),
    ),
    _exploration(
        "rage",
        "designs for the remaining arms, with gaps halved in each phase, Fiez et al. 2019",
        "features",
        "delta",
        "sigma",
        "rounding",
    ),
    _exploration(
        "lin_game",
        "a game between a learner and nature, Degenne et al. 2020",
        *("features", "delta", "sigma", "regularization", "theta_norm", "threshold"),
    ),
    _exploration(
        "lazy_track_and_stop",
        "tracks the optimal design, which is recomputed rarely, Jedra and Proutiere 2020",
        *("features", "delta", "sigma", "slack", "threshold"),
    ),
    _exploration(
        "saqm",
        "the k best arms from sums of k, approximate quadratic maximization, Kuroki et al. 2019",
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
        "the k best arms from sums of k, an interval for each arm, Kuroki et al. 2019",
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
        "the k best arms from sums of k, super-arms chosen adaptively, original to jaxbandit",
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
    combinatorial(
        "clucb",
        "semi-bandits, the set of k arms with the largest sum, Chen et al. 2014",
        *("threshold", "delta", "epsilon"),
        kind="identify",
    ),
    _fixed_budget(
        "budgeted_race",
        "a race that stops by its own rule or when its budget is spent",
        "rule",
        "epsilon",
        "delta",
        "budget",
    ),
    _fixed_budget(
        "sequential_halving", "halves the arms until m are left, Karnin et al. 2013", "m", "budget", "reading"
    ),
    _fixed_budget(
        "successive_rejects", "eliminates arms one by one, Audibert et al. 2010, Bubeck et al. 2013", "m", "budget"
    ),
    _fixed_budget(
        "ucb_e",
        "an upper confidence bound with a fixed amount of exploration, Audibert et al. 2010",
        "budget",
        "a",
        "c",
        "h1",
    ),
    _fixed_budget("ugape_b", "UGapE for a fixed budget, Gabillon et al. 2012", "m", "budget", "a"),
    _fixed_budget(
        "uniform_allocation",
        "a baseline, pulls every arm equally often and recommends the m largest means",
        "m",
        "budget",
    ),
)
