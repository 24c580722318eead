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
PROBLEM_DATA = ("num_arms",)  # what only the instance can fill: never written under [[algorithm]]


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
    public: tuple[str, ...] = ()  # environments: arguments that an algorithm may know
    concrete: tuple[str, ...] = ()  # arrays that the factory computes with in NumPy: one compilation a value
    regret_constant: str | None = None  # environments: function of jaxbandit.bounds.regret, fed by name

    def factory(self) -> Callable[..., Any]:
        """Import and return the factory."""
        return getattr(importlib.import_module(self.module), self.attribute or self.name)

    def parameters(self) -> dict[str, Parameter]:
        """Return the factory's arguments by name, in order; imports it."""
        return _parameters(self.factory())


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


def _environment(name: str, summary: str, *arguments: str, **more: Any) -> Entry:
    return Entry(name, f"jaxbandit.environments.{name}", summary, arguments, **more)


def _named(*entries: Entry) -> Mapping[str, Entry]:
    return types.MappingProxyType({entry.name: entry for entry in entries})


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
)

ENVIRONMENTS: Mapping[str, Entry] = _named(
    _environment("bernoulli", "rewards 0 or 1", "means", regret_constant="bernoulli_regret_constant"),
    _environment(
        "gaussian",
        "normal rewards of one known standard deviation",
        "means",
        "sigma",
        public=("sigma",),
        regret_constant="gaussian_regret_constant",
    ),
    _environment("beta", "Beta rewards", "alpha", "beta", concrete=("alpha", "beta")),
    _environment(
        "crowd",
        "crowd workers, right or wrong (six data sets)",
        "dataset",
        "feedback",
        regret_constant="bernoulli_regret_constant",
    ),
    _environment(
        "table",
        "recorded rewards, rows drawn with replacement",
        "rewards",
        "features",
        public=("features",),
        concrete=("rewards", "features"),
    ),
)
