"""The registered environments as plain data. To add one, add an entry here.

A test checks that the arguments listed here are those of the factory's signature.
"""

from collections.abc import Mapping
from typing import Any

from jaxbandit.lab.specs.entry import Entry, named


def _environment(name: str, summary: str, *arguments: str, **more: Any) -> Entry:
    return Entry(name, "jaxbandit.environments", summary, arguments, **more)


ENVIRONMENTS: Mapping[str, Entry] = named(
    _environment("bernoulli", "rewards 0 or 1", "means", "permute", regret_constant="bernoulli_regret_constant"),
    _environment(
        "gaussian",
        "normal rewards, with one standard deviation for all arms or one for each",
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
        concrete=("means",),  # so that the gaps are computed in float64 and rounded once
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
        "rewards 0 or 1, means that oscillate",
        *("num_arms", "center", "amplitude", "period"),
    ),
    _environment(
        "restless_bernoulli",
        "rewards 0 or 1, means that follow a reflected random walk, drawn anew in each run",
        *("num_arms", "sigma", "low", "high", "means"),
    ),
    _environment("loss_table", "a table of the losses of every round and arm, fixed in advance", "losses"),
    _environment(
        "constrained_adversary",
        "rewards 0 or 1, means that jump together while their gaps stay constant",
        "num_arms",
        "gap",
    ),
    _environment("poisson", "Poisson rewards", "means", "permute"),
    _environment("exponential", "exponential rewards", "means", "permute"),
    _environment("beta", "Beta rewards", "alpha", "beta", concrete=("alpha", "beta")),
    _environment(
        "crowd",
        "crowd workers whose answers are right or wrong (six data sets)",
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
        "a pull of k arms, of which only the sum of rewards is observed",
        *("means", "k", "noise", "sigma", "blocks", "decision_class"),
        described=True,
    ),
    _environment(
        "full_bandit_random",
        "full_bandit with random means and a gap after the k-th",
        *("num_arms", "k", "gap", "instance_seed", "sigma"),
        described=True,
    ),
    _environment(
        "semi_bandit", "a pull of k arms, of which each reward, 0 or 1, is observed", "means", "k", described=True
    ),
    _environment(
        "table",
        "recorded rewards, rows drawn with replacement",
        *("rewards", "features", "sigma", "rows", "permute"),
        described=True,
        concrete=("rewards", "features"),
    ),
    _environment(
        "fiesta",
        "recorded F1 scores of models for sentiment analysis",
        *("models", "rows", "permute"),
        described=True,
    ),
    _environment(
        "hpo_table",
        "recorded validation scores of neural network configurations",
        *("dataset", "num_arms", "instance_seed", "rows", "permute"),
        described=True,
    ),
    _environment(
        "linear",
        "means linear in the features, Gaussian noise or rewards -1 and 1",
        *("features", "theta", "noise", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "linear_contextual",
        "an action set with linear means for each context",
        *("action_sets", "probabilities", "theta", "mask", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "linear_contextual_random",
        "linear_contextual with theta drawn on the unit sphere in each run",
        *("action_sets", "probabilities", "mask", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "linear_contextual_classes",
        "a scikit-learn data set, with rows as contexts and classes as arms",
        *("dataset", "num_contexts", "num_components", "instance_seed", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "soare",
        "the canonical basis and an arm at a small angle to the best one",
        *("dim", "angle", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "top_m_classic",
        "the instance of soare for the m best arms",
        *("num_arms", "m", "angle", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "linear_random",
        "linear arms with random features of norm 1",
        *("num_arms", "dim", "instance_seed", "normalization", "sigma"),
        described=True,
        gaussian=True,
    ),
    _environment(
        "r6a_like",
        "synthetic clicks in the form of the R6A log",
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
