"""Algorithms and environments as a notebook shows them: HTML tables that describe them in words."""

from typing import Any

from jaxbandit.base.markup import html_table, view


def algorithm(given: Any) -> str:
    """Return an HTML table that describes an Algorithm."""
    stops = given.stop is not None
    facts = {
        "actions": _actions(given.arms),
        "rewards it is designed for": _rewards(given.rewards),
        "stops": "when its budget is spent" if given.budget is not None else "by its own rule" if stops else "never",
        "guarantee": _guarantee(given.promise),
        "budget": "none" if given.budget is None else f"{_number(given.budget)} pulls",
        "pulls": "in batches" if given.batch is not None else "one at a time",
    }
    return view(repr(given), html_table((), facts.items()))


def environment(given: Any) -> str:
    """Return an HTML table that describes an Environment."""
    moving = "at known rounds" if given.schedule is not None else "every round" if given.transition else "never"
    facts = {
        "actions": _actions(given.arms),
        "rewards": _rewards(given.rewards),
        "means change": moving,
        "regret": "not known" if given.regret is None else "known",
        "identification": "not evaluated" if given.simple_regret is None else "evaluated by simple regret",
        "rounds": "any number" if given.length is None else f"at most {given.length:,}",
    }
    return view(repr(given), html_table((), facts.items()))


def _number(value: Any) -> str:
    """Return a number as text; one that is being traced, or an array, as JAX or NumPy prints it."""
    try:
        return f"{float(value):,.6g}"
    except TypeError:
        return str(value)


def _actions(arms: Any) -> str:
    if arms is None:
        return "not declared"
    said = f"one of {arms.num_arms:,} arms" if arms.set_size is None else f"{arms.set_size} of {arms.num_arms:,} arms"
    said += " with the reward of each of them" if arms.members else ""
    return said if arms.num_contexts is None else f"{said} in each of {arms.num_contexts:,} contexts"


def _rewards(rewards: Any) -> str:
    if rewards is None:
        return "not declared"
    said = [f"in [{_number(rewards.low)}, {_number(rewards.high)}]"]
    said += [] if rewards.sigma is None else [f"sub-Gaussian noise with sigma = {_number(rewards.sigma)}"]
    return ", ".join(said + ([] if rewards.family is None else [f"{rewards.family} family"]))


def _guarantee(promise: Any) -> str:
    if promise is None:
        return "none"
    arms = "the best arm" if promise.m == 1 else f"the {promise.m} best arms"
    said = f"{arms} up to epsilon = {_number(promise.epsilon)} with error rate at most delta = {_number(promise.delta)}"
    return said if promise.proved else f"{said} (heuristic: not proved)"
