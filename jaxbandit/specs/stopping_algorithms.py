"""The registered algorithms that stop: by their own rule, or when their budget is spent. To add one: a line here."""

from collections.abc import Mapping
from typing import Any

from jaxbandit.specs.entry import Entry, named


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
    """Return the entry of an algorithm that pulls teams of arms and sees each member's reward."""
    module = f"jaxbandit.algorithms.combinatorial.{name}"
    return Entry(name, module, summary, ("num_arms", "k", *arguments), **more)


# What the four static full-bandit algorithms share: support and allocation, then the promise and the looks.
_SUPER_ARMS = ("num_arms", "k", "support", "num_sets", "support_seed", "sets", "allocation", "weights")
_LOOKS = ("delta", "epsilon", "sigma", "schedule", "grid")
_LISTS: dict[str, Any] = {"concrete": ("sets", "weights")}

# The least representations of all pairs are exact where the features are concrete.
_OPTIMIZED: dict[str, Any] = {"concrete": ("features",), "concrete_rule": "optimized"}

STOPPING: Mapping[str, Entry] = named(
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
        file="linear_top_m",
        **_OPTIMIZED,
    ),
    _exploration(
        "lingifa",
        "the m best arms of linear means by one index an arm, Reda et al. 2021",
        *("features", "m", "rule", "index", "stop", "threshold"),
        *("delta", "epsilon", "sigma", "regularization", "theta_norm", "ties"),
        file="linear_top_m",
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
    combinatorial(
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
