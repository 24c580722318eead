"""The command `evaluate`, which says what policies would have earned on the rows of a log."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, UseAppendAction, arg

from jaxbandit.lab.cli import streams
from jaxbandit.lab.cli.endings import bad_input

if TYPE_CHECKING:
    from jaxbandit.decide.logs.log import Log

WHERE = "--policy"
# Options that are arguments of `read_log` as they are.
READ = tuple("format action reward cost propensity num_arms rewards least_propensity adaptive".split())


@dataclass(frozen=True)
class Evaluate:
    """Estimate what policies would have earned on the rows of a log that another policy wrote."""

    log: Annotated[Positional[Path], arg(metavar="LOG")]
    """CSV file with a line of names and one row for each decision, in the order in which they were taken; or a file of
    another --format."""
    policy: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="[NAME=]POLICY")] = ()
    """uniform; arm:LABEL, always this arm; column:NAME, a column with the arm that the policy takes; column:P0,P1,..,
    columns with the probability of each arm; or module:function, a Python function from the context of a row to the
    probabilities of all arms, or to a dictionary of probabilities by label. Repeatable; default: uniform."""
    format: Literal["columns", "jsonl", "vw", "dsjson"] = "columns"
    """Format of LOG: columns, a CSV file; jsonl, a JSON object in each line; vw or dsjson of Vowpal Wabbit, which say
    themselves where everything is, and have costs."""
    action: Annotated[str, arg(metavar="COLUMN")] = "action"
    """Column with the arm that was pulled: a number or a word."""
    reward: Annotated[str, arg(metavar="COLUMN")] = "reward"
    """Column with the rewards: numbers, yes and no, or true and false."""
    cost: Annotated[str | None, arg(metavar="COLUMN")] = None
    """Column with costs, in place of rewards, which are their negatives."""
    propensity: Annotated[str | None, arg(metavar="COLUMN")] = None
    """Column with the probability with which the action was taken. Without it there are no intervals."""
    context: Annotated[tuple[str, ...], arg(metavar="COLUMN ..")] = ()
    """Columns with the numbers that describe the decision; for the model and for functions. features: all of vw and
    dsjson."""
    probabilities: Annotated[tuple[str, ...], arg(metavar="COLUMN ..")] = ()
    """Columns with the probability with which each arm would have been taken, if they are known, instead of
    --propensity."""
    available: Annotated[tuple[str, ...], arg(metavar="COLUMN ..")] = ()
    """Columns that say of each arm whether it could be taken; default: all could."""
    arms: Annotated[tuple[str, ...], arg(metavar="LABEL ..")] = ()
    """Labels of all arms, in the order of columns with an entry for each arm; default: the actions that LOG has."""
    num_arms: Annotated[int | None, arg(metavar="K")] = None
    """Number of arms, if their labels are 0 to K - 1, also of those that no row has."""
    rewards: Annotated[tuple[float, float] | None, arg(metavar="LOW HIGH")] = None
    """The least and the largest possible reward; default: 0 1, and for costs -1 0."""
    least_propensity: Annotated[float | None, arg(metavar="P")] = None
    """A number below which no propensity ever is, whatever the context; with it the betting interval is proved."""
    largest_weight: Annotated[float | None, arg(metavar="W")] = None
    """The largest probability of a policy over that of logging, of any context and arm; instead of
    --least-propensity."""
    adaptive: bool = False
    """The log was written by a rule that learned from it."""
    clip: Annotated[float, arg(metavar="M")] = 10.0
    """The largest weight of the clipped estimate."""
    confidence: Annotated[float, arg(metavar="C")] = 0.95
    """Confidence level of the intervals."""
    html: Annotated[Path | None, arg(metavar="FILE", aliases=("-o",))] = None
    """Also write a page of HTML, in one file. An existing report is replaced; any other file is kept, with an error."""
    json: bool = False
    """Print one JSON document instead of the text."""

    def __call__(self) -> int:
        """Evaluate, and print the result."""
        from jaxbandit.decide.logs.evaluate import evaluate
        from jaxbandit.decide.logs.formats import FEATURES
        from jaxbandit.decide.logs.read_log import read_log
        from jaxbandit.support.refusals import refuse

        with bad_input():
            given: dict[str, Any] = {name: getattr(self, name) for name in READ}
            given |= {name: list(getattr(self, name)) or None for name in ("probabilities", "available", "arms")}
            context = FEATURES if self.context == (FEATURES,) else list(self.context) or None
            log = read_log(self.log, context=context, **given)
            policies = {}
            for text in self.policy or ("uniform",):
                name, policy = _named(text)
                if not name:
                    refuse(f"{WHERE} {text}", " has no name, must be POLICY or NAME=POLICY")
                if name in policies:
                    refuse(f"{WHERE} {text}", f" is the second policy {name!r}, must have a name of its own, NAME=..")
                policies[name] = _policy(self.log, policy, log)
            result = evaluate(
                log, policies, largest_weight=self.largest_weight, clip=self.clip, confidence=self.confidence
            )
            return streams.answer(result, f"Off-policy evaluation: {self.log.name}", as_json=self.json, html=self.html)


def _named(given: str) -> tuple[str, str]:
    """Return the name of a policy and what it is."""
    name, equals, policy = given.partition("=")
    return (name.strip(), policy) if equals else (given, given)


def _policy(path: Path, given: str, log: "Log") -> Any:
    """Return a policy as `evaluate` takes it; a name such as uniform stays a name, which it knows."""
    from jaxbandit.support.refusals import nearest, wrong

    kind, colon, rest = given.partition(":")
    if kind == "column" and colon:
        return _columns(path, rest.split(","), log)
    if kind == "arm" or given == "uniform":
        return given
    if not colon:
        wrong(WHERE, given, f"uniform, arm:LABEL, column:NAME or module:function{nearest(given, ['uniform'])}")
    return _function(given)


def _columns(path: Path, names: list[str], log: "Log") -> Any:
    """Return probabilities from one column with the arm that is taken, or from a column for each arm."""
    import numpy as np

    from jaxbandit.decide.logs.arms import actions_of
    from jaxbandit.decide.logs.log import check_chances
    from jaxbandit.support.columns import read_columns
    from jaxbandit.support.refusals import refuse

    if len(names) not in (1, log.num_arms):
        refuse(f"{WHERE} column:{','.join(names)}", f" names {len(names)} columns, must name 1, with the arm that the "
               f"policy takes, or {log.num_arms}, with the probability of each arm")  # fmt: skip
    table = read_columns(str(path), path, names)
    if len(names) == 1:
        return np.eye(log.num_arms)[actions_of(table.cells[names[0]], table.place(names[0]), log.arms, None)[1]]
    found = np.stack([table.numbers(name, "a number") for name in names], axis=1)
    check_chances(found, None, table.place(", ".join(names)))
    return found


def _function(reference: str) -> Callable[[Any], Any]:
    """Return the function that a reference names, whose errors are raised as those of the user's code."""
    from jaxbandit.lab.specs import references
    from jaxbandit.support.refusals import BadInput, refuse

    try:
        found = references.find(reference)[2]
    except BadInput as error:
        refuse(f"{WHERE} {reference}", f": {error}")
    if not callable(found):
        wanted = "a function from a context to the probabilities of the arms"
        refuse(f"{WHERE} {reference}", f": is a {type(found).__name__}, must be {wanted}")
    return lambda context: references.call(WHERE, reference, lambda: found(context))
