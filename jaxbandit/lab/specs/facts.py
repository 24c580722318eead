"""What is known about each registered algorithm apart from its signature, read from facts.toml without JAX."""

import functools
import tomllib
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Question = Literal["regret", "confidence", "budget"]
Setting = Literal["arms", "changing", "adversarial", "batches", "features", "semi-bandit", "full-bandit"]

QUESTIONS: Mapping[Question, str] = types.MappingProxyType(
    {
        "regret": "Earn as much as possible over a fixed number of rounds",
        "confidence": "Find the best at a given error rate, with as few pulls as possible",
        "budget": "Find the best with a given number of pulls",
    }
)
SETTINGS: Mapping[Setting, str] = types.MappingProxyType(
    {
        "arms": "arms without features",
        "changing": "arms whose means change",
        "adversarial": "losses that an adversary chooses",
        "batches": "rewards that are observed only at the ends of batches",
        "features": "arms with features and linear means",
        "semi-bandit": "teams of k arms, each member's reward is observed",
        "full-bandit": "teams of k arms, only the sum of their rewards is observed",
    }
)


@dataclass(frozen=True)
class Facts:
    """Properties to compare algorithms by, for K arms, d dimensions, T rounds, Y changes of the means, teams of k."""

    question: Question  # what it optimizes
    setting: Setting  # what it plays on
    rewards: str  # what it assumes about the rewards and their noise
    guarantee: str  # what is proved, for the default arguments unless it specifies others
    cost: str  # elementary operations per round
    memory: str  # numbers that a run keeps from round to round
    finds: Literal["", "1", "m", "k"] = ""  # how many arms it recommends; "" if it is for regret


@functools.cache
def facts() -> Mapping[str, Facts]:
    """Return the facts about every registered algorithm by its name.

    Raises:
      ValueError: the file has an unknown question, setting or number of arms.
    """
    tables = tomllib.loads(Path(__file__).with_name("facts.toml").read_text(encoding="utf-8"))
    found = {name: Facts(**table) for name, table in tables.items()}
    for name, known in found.items():
        if known.question not in get_args(Question) or known.setting not in get_args(Setting):
            raise ValueError(f"{name}: question = {known.question!r} or setting = {known.setting!r} is unknown")
        if known.finds not in ("", "1", "m", "k"):
            raise ValueError(f"{name}: finds = {known.finds!r}, must be '', '1', 'm' or 'k'")
    return types.MappingProxyType(found)
