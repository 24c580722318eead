"""What a factory of algorithms or environments says about itself, once, in its own file: the decorator `declare`.

Lists, `show`, the tables of the documentation, TOML and the conformance tests read it, beside the docstring: its first
line is the summary of every list, the first paragraph of its Guarantee is that of the tables.
"""

import functools
import inspect
import types
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from jaxbandit.base.parameters import parameters_of

Question = Literal["regret", "confidence", "budget"]
Setting = Literal[
    "arms",
    "changing",
    "adversarial",
    "batches",
    "features",
    "contexts",
    "semi-bandit",
    "full-bandit",
    "dueling",
    "knapsack",
    "cascade",
]

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
        "contexts": "a context of floats in every round",
        "semi-bandit": "teams of k arms, each member's reward is observed",
        "full-bandit": "teams of k arms, only the sum of their rewards is observed",
        "dueling": "duels of two arms, only the winner is observed",
        "knapsack": "pulls that also cost, until a budget is spent",
        "cascade": "lists of k arms, the first that is clicked is observed",
    }
)

PLAIN = ("arms", "changing", "adversarial", "batches", "features")  # settings of one arm a round, whose reward is seen

TEAMS = ("semi-bandit", "full-bandit", "cascade")  # settings whose rules recommend k arms

Factory = TypeVar("Factory", bound=Callable[..., Any])
_ATTRIBUTE = "__declaration__"


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What is declared about a factory beside its signature and docstring; only algorithms have a question.

    K is the number of arms, d the dimension of the features, T the number of rounds, Y the number of changes of the
    means, and k the number of arms in a team. A guarantee holds for rewards as in `rewards`, independent between rounds
    unless an adversary chooses them, for exact arithmetic, and for the default arguments unless it specifies others. A
    gap is the difference between the best mean and that of an arm (of a team, where stated), and "asymptotically
    optimal" regret attains the lower bound of Lai and Robbins, or its counterpart for linear means, to first order.
    """

    question: Question | Literal[""] = ""  # algorithms: what it optimizes; "" for environments and wrappers
    setting: Setting = "arms"  # algorithms: what it plays on; left out, "features" if it has this argument
    rewards: str = "any"  # algorithms: what it assumes about the rewards and their noise
    finds: Literal["", "1", "m", "k"] = ""  # algorithms: how many arms it recommends, see `defaults_of`
    cost: str = ""  # algorithms: elementary operations per round, or per batch of pulls where it says so
    memory: str = ""  # algorithms: numbers that a run has from round to round
    truth: tuple[str, ...] = ()  # algorithms: the true parameters that an oracle is given
    concrete: tuple[str, ...] = ()  # arguments used in Python or NumPy, so that every value is compiled separately
    concrete_rule: str = ""  # algorithms: `concrete` applies with this `rule` only; "" means always
    # Traced arguments: values that conformance tests play, the first as the base of the others.
    tries: Mapping[str, tuple[object, ...]] = field(default_factory=dict, compare=False)
    # Other arguments (all of an environment) as conformance tests play them; each entry is complete.
    settings: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)

    @property
    def kind(self) -> str:
        """The kind of experiment that an algorithm is for, "simulate" or "identify"; "" for an environment."""
        return {"": "", "regret": "simulate"}.get(self.question, "identify")

    def concrete_in(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the arguments of which a call with these arguments compiles every value separately."""
        applies = not self.concrete_rule or arguments.get("rule") == self.concrete_rule
        return self.concrete if applies else ()


def declare(**fields: Any) -> Callable[[Factory], Factory]:
    """Declare, as a decorator, what is known about a factory of algorithms or environments.

    A call checks the arguments by their annotations, as `checked` says, and every refusal begins with the factory's
    name, which is also the name of what it returns without one. The docstring is completed by what annotations say, and
    so are `tries`.

    Args:
      **fields: those of `Declaration`. An algorithm declares at least its question ("regret", "confidence" or
        "budget"); an environment may declare nothing, as `@declare()`.

    Raises:
      TypeError: a field is unknown.
      ValueError: a question or setting is unknown, or a field names an argument that the factory does not have.
    """
    record = Declaration(**fields)
    allowed = {"question": (*QUESTIONS, ""), "setting": tuple(SETTINGS), "finds": ("", "1", "m", "k")}

    def attach(factory: Factory) -> Factory:
        from jaxbandit.base.calls import checked  # imports JAX, which lists of names do without

        where = factory.__name__
        for name, choices in allowed.items():
            if (value := getattr(record, name)) not in choices:
                raise ValueError(
                    f"{where}: declares {name} = {value!r}, must be one of {', '.join(map(repr, choices))}"
                )
        own = inspect.signature(factory).parameters
        for name in ("truth", "concrete", "tries"):
            for argument in getattr(record, name):
                if argument not in own:
                    raise ValueError(f"{where}: declares {name} of {argument!r}, must be one of {', '.join(own)}")
        known = replace(record, **defaults_of(fields, own))
        called = checked(factory, returns=_returns(known) if known.question else "", maker=True)
        tries = {name: p.arg.tries for name, p in parameters_of(called).items() if p.arg.tries}
        setattr(called, _ATTRIBUTE, replace(known, tries={**tries, **known.tries}))
        return called

    return attach


def defaults_of(fields: Mapping[str, Any], arguments: Container[str]) -> dict[str, Any]:
    """Return the setting and how many arms are found, which follow from an algorithm's arguments if not declared.

    A rule for teams recommends k arms, and one with a stopping rule or a budget m if it has this argument, else 1.
    """
    question = fields.get("question", "")
    setting = fields.get("setting", "features" if question and "features" in arguments else "arms")
    found = "" if question in ("", "regret") else "m" if "m" in arguments else "1"
    return {"setting": setting, "finds": fields.get("finds", "k" if setting in TEAMS else found)}


def _returns(record: Declaration) -> str:
    """Return what an algorithm returns, unless its setting has other actions or rewards than arms and numbers."""
    if record.setting not in PLAIN:
        return ""
    rewards = f" {record.rewards}" if record.rewards.startswith("in ") else ""
    found = f", and recommendations int32[{record.finds}]" if record.finds else ""
    return f"An Algorithm with actions int32[] in [0, num_arms) and rewards float[]{rewards}{found}."


def declaration_of(factory: Callable[..., Any]) -> Declaration | None:
    """Return what a factory, or that of a functools.partial, declares about itself; None if it declares nothing."""
    return getattr(factory.func if isinstance(factory, functools.partial) else factory, _ATTRIBUTE, None)
