"""Algorithms and environments as a notebook shows them: HTML tables that describe them in words."""

import inspect
from typing import Any

from jaxbandit.base.origin import origin_of
from jaxbandit.support.document import Document, Facts, as_html
from jaxbandit.support.refusals import python


def algorithm(value: Any) -> str:
    """Return an HTML table that describes an Algorithm."""
    stops = value.stop is not None
    facts = _arguments(value) | {
        "actions": _actions(value.arms),
        "rewards it is designed for": _rewards(value.rewards),
        "stops": "when its budget is spent" if value.budget is not None else "by its own rule" if stops else "never",
        "guarantee": _guarantee(value.promise),
        "budget": "none" if value.budget is None else f"{_number(value.budget)} pulls",
        "rounds": _rounds(value.length),
        "pulls": "in batches" if value.batch is not None else "one at a time",
    }
    return as_html(Document(repr(value), [Facts(facts)]))


def environment(value: Any) -> str:
    """Return an HTML table that describes an Environment."""
    moving = "at known rounds" if value.schedule is not None else "every round" if value.transition else "never"
    facts = _arguments(value) | {
        "actions": _actions(value.arms),
        "rewards": _rewards(value.rewards),
        "means change": moving,
        "regret": "not known" if value.regret is None else "known",
        "identification": "not evaluated" if value.simple_regret is None else "evaluated by simple regret",
        "rounds": _rounds(value.length),
    }
    return as_html(Document(repr(value), [Facts(facts)]))


def _arguments(value: Any) -> dict[str, str]:
    """Return the call that has made an algorithm or an environment, if it is known."""
    if (made := origin_of(value)) is None:
        return {}
    names = inspect.signature(made.factory).parameters
    parts = [f"{name}={_short(made.arguments[name])}" for name in names if name in made.arguments]
    return {"made by": f"{made.factory.__name__}({', '.join(parts)})"}


def _short(value: Any) -> str:
    """Return an argument as Python writes it, or the shape of an array."""
    shape = getattr(value, "shape", ())
    return f"{value.dtype}{list(shape)}" if shape else python(value)


def _rounds(length: int | None) -> str:
    return "any number" if length is None else f"at most {length:,}"


def _number(value: Any) -> str:
    """Return a number as text; one that is being traced, or an array, as JAX or NumPy prints it."""
    try:
        return f"{float(value):,.6g}"
    except TypeError:
        return str(value)


def _actions(arms: Any) -> str:
    if arms is None:
        return "not declared"
    text = f"one of {arms.num_arms:,} arms" if arms.set_size is None else f"{arms.set_size} of {arms.num_arms:,} arms"
    text += " with the reward of each of them" if arms.members else ""
    return text if arms.num_contexts is None else f"{text} in each of {arms.num_contexts:,} contexts"


def _rewards(rewards: Any) -> str:
    if rewards is None:
        return "not declared"
    parts = [f"in [{_number(rewards.low)}, {_number(rewards.high)}]"]
    parts += [] if rewards.sigma is None else [f"sub-Gaussian noise with sigma = {_number(rewards.sigma)}"]
    return ", ".join(parts + ([] if rewards.family is None else [f"{rewards.family} family"]))


def _guarantee(promise: Any) -> str:
    if promise is None:
        return "none"
    arms = "the best arm" if promise.m == 1 else f"the {promise.m} best arms"
    text = f"{arms} up to epsilon = {_number(promise.epsilon)} with error rate at most delta = {_number(promise.delta)}"
    return text if promise.proved else f"{text} (heuristic: not proved)"
