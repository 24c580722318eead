"""The only file that lists concrete parts: algorithms and environments as plain data, imported on demand.

To add one: a line here. A test holds the arguments written here equal to the factory's own signature.
"""

import functools
import importlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["array", "scalar", "integer", "boolean", "choice", "choices", "static"]
PROBLEM_DATA = ("num_arms", "theta")  # what only the instance can fill: never written under [[algorithm]]
KNOWABLE = (
    "num_arms",
    "features",
    "mask",
    "sigma",
    "theta_norm",
    "m",
    "k",
)  # what an algorithm may know of an instance


@dataclass(frozen=True)
class Parameter:
    """One argument of a factory, as its signature shows it."""

    name: str
    kind: Kind  # "array" and "scalar" are traced, the others static
    required: bool
    default: Any = None
    choices: tuple[str, ...] = ()
    optional: bool = False  # None is allowed

    @property
    def traced(self) -> bool:
        """Whether a value can change without a new compilation."""
        return self.kind in ("array", "scalar")


@dataclass(frozen=True)
class Entry:
    """A registered factory: what a listing shows, and where to import it from."""

    name: str
    module: str
    summary: str
    arguments: tuple[str, ...] = ()
    attribute: str = ""  # default: the name
    kind: str = "simulate"  # algorithms: the kind of experiment that they are for
    truth: tuple[str, ...] = ()  # algorithms: the truth that a declared oracle is given
    public: tuple[str, ...] = ()  # environments: arguments that an algorithm may know
    described: bool = False  # environments: `describe_NAME` beside the factory says what is known of an instance
    gaussian: bool = False  # environments: Gaussian noise of one sigma, unless `noise` says otherwise
    concrete: tuple[str, ...] = ()  # arrays that the factory computes with in NumPy: one compilation a value
    concrete_rule: str = ""  # algorithms: only with this `rule`
    regret_constant: str | None = None  # environments: function of jaxbandit.bounds.regret, fed by name

    def factory(self) -> Callable[..., Any]:
        """Import and return the factory."""
        return getattr(importlib.import_module(self.module), self.attribute or self.name)

    def kind_names(self) -> tuple[str, ...]:
        """Return the names of the kinds of rounds that an algorithm counts; none for most."""
        return getattr(importlib.import_module(self.module), "KINDS", ())

    def parameters(self) -> dict[str, Parameter]:
        """Return the factory's arguments by name, in order; imports it."""
        return _parameters(self.factory())

    def description(self) -> Callable[..., dict[str, Any]] | None:
        """Import and return what tells of an instance from the factory's arguments; None where nothing does."""
        return getattr(importlib.import_module(self.module), f"describe_{self.name}") if self.described else None

    def traced(self, given: Mapping[str, Any]) -> set[str]:
        """Return which of the arguments given can change without a new compilation."""
        still = self.concrete if not self.concrete_rule or given.get("rule") == self.concrete_rule else ()
        parameters = self.parameters()
        return {k for k, v in given.items() if parameters[k].traced and v is not None and k not in still}


@functools.cache
def _parameters(factory: Callable[..., Any]) -> dict[str, Parameter]:
    hints = typing.get_type_hints(factory)
    return {
        name: _parameter(name, hints.get(name, Any), p.default)
        for name, p in inspect.signature(factory).parameters.items()
    }


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    members = set(typing.get_args(annotation)) if union else {annotation}
    optional = type(None) in members
    members -= {type(None)}
    required = default is inspect.Parameter.empty
    kind, choices = _kind(members)
    return Parameter(name, kind, required, None if required else default, choices, optional)


def _kind(members: set[Any]) -> tuple[Kind, tuple[str, ...]]:
    import jax

    if jax.Array in members:
        return ("scalar" if float in members else "array"), ()
    if len(members) != 1:
        return "static", ()
    (only,) = members
    origin, arguments = typing.get_origin(only), typing.get_args(only)
    if only is int or only is bool:
        return ("integer" if only is int else "boolean"), ()
    if origin is Literal:
        return "choice", arguments
    if origin in (tuple, list) or (inspect.isclass(origin) and issubclass(origin, typing.Iterable)):
        inner = arguments[0] if arguments else None
        return "choices", typing.get_args(inner) if typing.get_origin(inner) is Literal else ()
    return "static", ()


def _algorithm(name: str, summary: str, *arguments: str, file: str = "") -> Entry:
    return Entry(name, f"jaxbandit.algorithms.regret.{file or name}", summary, ("num_arms", *arguments))


def _linear(name: str, summary: str, *arguments: str) -> Entry:
    return Entry(name, f"jaxbandit.algorithms.regret.{name}", summary, ("features", "mask", *arguments))


def _exploration(name: str, summary: str, *arguments: str, file: str = "", **more: Any) -> Entry:
    module = f"jaxbandit.algorithms.exploration.{file or name}"
    return Entry(name, module, summary, arguments, kind="identify", **more)


def _environment(name: str, summary: str, *arguments: str, **more: Any) -> Entry:
    return Entry(name, f"jaxbandit.environments.{name}", summary, arguments, **more)


def _named(*entries: Entry) -> Mapping[str, Entry]:
    return types.MappingProxyType({entry.name: entry for entry in entries})


# What the four static full-bandit algorithms share: support and allocation, then the promise and the looks.
_SUPER_ARMS = ("num_arms", "k", "support", "num_sets", "support_seed", "sets", "allocation", "weights")
_LOOKS = ("delta", "epsilon", "sigma", "schedule", "grid")
_LISTS: dict[str, Any] = {"concrete": ("sets", "weights")}

# The least representations of all pairs are exact where the features are concrete.
_OPTIMIZED: dict[str, Any] = {"concrete": ("features",), "concrete_rule": "optimized"}

ALGORITHMS: Mapping[str, Entry] = _named(
    _algorithm("uniform", "a uniformly random arm each round"),
    _algorithm("epsilon_greedy", "the best arm so far, a random one with probability epsilon", "epsilon"),
    _algorithm("ucb", "argmax of P1(d), the optimistic mean within a semi-distance", "distance", "c"),
    _algorithm("ucb1", "UCB of the squared distance, Auer et al. 2002", "c", file="ucb"),
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
)

ENVIRONMENTS: Mapping[str, Entry] = _named(
    _environment("bernoulli", "rewards 0 or 1", "means", regret_constant="bernoulli_regret_constant"),
    _environment(
        "gaussian",
        "normal rewards of one known standard deviation",
        "means",
        "sigma",
        public=("sigma",),
        gaussian=True,
        regret_constant="gaussian_regret_constant",
    ),
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
        *("path", "k", "blocks"),
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
    _environment(
        "table",
        "recorded rewards, rows drawn with replacement",
        *("rewards", "features", "sigma"),
        described=True,
        concrete=("rewards", "features"),
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
    ),
    _environment(
        "r6a",
        "arms fitted to a Yahoo! R6A click log",
        *("path", "num_arms", "instance_seed", "min_gap", "penalty", "sigma"),
        described=True,
    ),
)


def super_arms() -> Callable[..., Any]:
    """Import and return what draws the support of the full-bandit algorithms, for what is computed of it alone."""
    return importlib.import_module("jaxbandit.algorithms.exploration.super_arms").super_arms
