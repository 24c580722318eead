"""The registered environments as plain data. To add one: a line here.

A test holds the arguments written here equal to the factory's own signature.
"""

from collections.abc import Mapping
from typing import Any

from jaxbandit.specs.entry import Entry, named


def _environment(name: str, summary: str, *arguments: str, **more: Any) -> Entry:
    return Entry(name, f"jaxbandit.environments.{name}", summary, arguments, **more)


ENVIRONMENTS: Mapping[str, Entry] = named(
    _environment("bernoulli", "rewards 0 or 1", "means", "permute", regret_constant="bernoulli_regret_constant"),
    _environment(
        "gaussian",
        "normal rewards, one standard deviation or one an arm",
        "means",
        "sigma",
        "permute",
        described=True,
        gaussian=True,
        regret_constant="gaussian_regret_constant",
    ),
    _environment(
        "piecewise_bernoulli",
        "rewards 0 or 1, means that jump at given rounds",
        *("means", "starts"),
        described=True,
        concrete=("means",),  # whose gaps are rounded once, from float64
    ),
    _environment(
        "piecewise_gaussian",
        "normal rewards, means that jump at given rounds",
        *("means", "starts", "sigma"),
        described=True,
        gaussian=True,
        concrete=("means",),
    ),
    _environment(
        "sinusoidal_bernoulli",
        "rewards 0 or 1, means that go up and down",
        *("num_arms", "center", "amplitude", "period"),
    ),
    _environment(
        "restless_bernoulli",
        "rewards 0 or 1, means that wander between two walls, each run's its own",
        *("num_arms", "sigma", "low", "high", "means"),
    ),
    _environment("loss_table", "losses of every round and arm, fixed in advance", "losses"),
    _environment("constrained_adversary", "means that jump, gaps that do not", "num_arms", "gap"),
    _environment("poisson", "Poisson rewards", "means", "permute"),
    _environment("exponential", "exponential rewards", "means", "permute"),
    _environment("beta", "Beta rewards", "alpha", "beta", concrete=("alpha", "beta")),
    _environment(
        "crowd",
        "crowd workers, right or wrong (six data sets)",
        *("dataset", "feedback", "k", "blocks"),
        described=True,
        regret_constant="bernoulli_regret_constant",
    ),
    _environment(
        "crowd_answers",
        "teams of crowd workers on one task, from recorded answers",
        *("path", "k", "feedback", "blocks"),
        described=True,
    ),
    _environment(
        "full_bandit",
        "a pull names k arms and pays their sum",
        *("means", "k", "noise", "sigma", "blocks", "decision_class"),
        described=True,
    ),
    _environment(
        "full_bandit_random",
        "the same, random means with a gap after the k-th",
        *("num_arms", "k", "gap", "instance_seed", "sigma"),
        described=True,
    ),
    _environment("semi_bandit", "a pull names k arms and shows what each pays, 0 or 1", "means", "k", described=True),
    _environment(
        "table",
        "recorded rewards, rows drawn with replacement",
        *("rewards", "features", "sigma", "rows", "permute"),
        described=True,
        concrete=("rewards", "features"),
    ),
    _environment(
        "fiesta",
        "models for sentiment analysis, recorded F1 scores",
        *("models", "rows", "permute"),
        described=True,
    ),
    _environment(
        "hpo_table",
        "configurations of networks, recorded validation scores",
        *("dataset", "num_arms", "instance_seed", "rows", "permute"),
        described=True,
    ),
    _environment(
        "linear",
        "means linear in features, Gaussian noise or signs",
        *("features", "theta", "noise", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "linear_contextual",
        "an action set of linear means for each context",
        *("action_sets", "probabilities", "theta", "mask", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "linear_contextual_random",
        "the same, theta drawn on the sphere in each run",
        *("action_sets", "probabilities", "mask", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "linear_contextual_classes",
        "contexts are rows of scikit-learn's data, arms their classes",
        *("dataset", "num_contexts", "num_components", "instance_seed", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "soare",
        "the best arm beside one at a small angle to it",
        *("dim", "angle", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "top_m_classic",
        "the m best arms beside one at a small angle",
        *("num_arms", "m", "angle", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "linear_random",
        "random features of norm 1",
        *("num_arms", "dim", "instance_seed", "normalization", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "r6a_like",
        "made clicks of the shape of the R6A log",
        *("num_arms", "instance_seed", "min_gap", "sigma"),
        described=True,
        concrete=("min_gap",),
    ),
    _environment(
        "r6a",
        "arms fitted to a Yahoo! R6A click log",
        *("path", "num_arms", "instance_seed", "min_gap", "penalty", "sigma"),
        described=True,
        concrete=("min_gap", "penalty"),
    ),
)
