"""The model of a session or a policy as JSON, from which a server in any language makes the same choices."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit import algorithms
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.origin import origin_of
from jaxbandit.decide.logs.fit import ScorePolicy
from jaxbandit.decide.logs.policy_of import AlgorithmPolicy
from jaxbandit.decide.logs.reward_models import Ridge
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.decide.sessions.shares import shares
from jaxbandit.engine.storage import files
from jaxbandit.support import checks
from jaxbandit.support.types import Json, PyTree
from jaxbandit.support.version import __version__

DRAWS = 100_000  # for the shares of a rule without contexts
FIRST: Json = {"width": 0.0, "draw": 0.0, "choice": "first"}


def _by_width(given: Mapping[str, Any]) -> Json:
    return {**FIRST, "width": float(given["alpha"])}


def _by_draw(given: Mapping[str, Any]) -> Json:
    return {**FIRST, "draw": float(given["scale"] if "scale" in given else given["sigma"])}


def _by_epsilon(given: Mapping[str, Any]) -> Json:
    return {**FIRST, "choice": "any", "epsilon": float(given.get("epsilon", 0.0))}


def _by_softmax(given: Mapping[str, Any]) -> Json:
    return {**FIRST, "choice": "softmax", "temperature": float(given["temperature"])}


# What each of these rules does with its models, given its arguments.
LINEAR: dict[str, Callable[[Mapping[str, Any]], Json]] = {
    "lin_ucb_disjoint": _by_width,
    "lin_ucb_shared": _by_width,
    "logistic_ucb": _by_width,
    "lin_ts_disjoint": _by_draw,
    "lin_ts_shared": _by_draw,
    "logistic_ts": _by_draw,
    "ridge_greedy": _by_epsilon,
    "ridge_epsilon": _by_epsilon,
    "ridge_softmax": _by_softmax,
    "logistic_greedy": _by_epsilon,
    "logistic_epsilon": _by_epsilon,
    "logistic_softmax": _by_softmax,
}
PLAIN = ("alpha", "heuristic", "online")  # variants whose scores are those of the form


@checked
def export(path: str | Path, model: Session | AlgorithmPolicy | ScorePolicy) -> None:
    """Write what a rule does in its present state to a file of JSON, for a server in another language.

    The file is replaced atomically, so that a server may read it again at any time. The model in it does not learn.
    `rule` is the name of the rule, and `num_arms` the number K of its arms, counted from 0. With contexts, arm a has
    the row x: the context, or row a of it if `context`, its shape, has two entries; with `intercept`, 1 is appended.
    The model of the arm is number k = a, or 0 if there is one only. With F'x = `root[k]` x and z standard normal, drawn
    for each model, the score of the arm is

        x'theta[k] + width |F'x| + draw z'F'x,

    infinite if the arm is in `untried`, and minus infinite if it is not available in this round. `choice` says which
    arm is taken: "first", the lowest-numbered arm with the largest score; "any", with probability `epsilon` any
    available arm, else any with the largest score; "softmax", an arm with probability proportional to exp((score -
    largest score) / `temperature`). `root` is null where neither `width` nor `draw` needs it. Without contexts the file
    has `shares`, the probability of each arm, of a rule that draws estimated from 10^5 draws.

    Args:
      path: path of the file, which is replaced if it exists.
      model: a session, or a policy as `fit` or `policy_of` returns it. Its rule is one of lin_ucb_disjoint,
        lin_ucb_shared, logistic_ucb, lin_ts_disjoint, lin_ts_shared, logistic_ts, and those whose names begin with
        ridge_ or logistic_, with their default variants; or has no contexts, and decides on single pulls of single
        arms; or the policy was fitted by "linear".

    Raises:
      ValueError: the model has no such form.
    """
    if isinstance(model, ScorePolicy):
        content = _of_scores(model)
    elif isinstance(model, Session):
        content = _of_rule(model.rule, model.state) or _of_draws(model)
    elif isinstance(model, AlgorithmPolicy):
        content = _of_rule(model.algorithm, model.state) or _of_draws(session(model.algorithm).but(state=model.state))
    else:
        checks.wrong("model", model, "a session, or a policy as fit or policy_of returns it")
    about = {"format": "jaxbandit model", "version": 1, "jaxbandit": __version__}
    files.write_bytes(Path(path), (json.dumps({**about, **content}, allow_nan=False) + "\n").encode())


def _of_rule(rule: Algorithm, state: PyTree) -> Json | None:
    """The form of a rule with linear scores; None if it has no contexts, so that its shares are its form."""
    arms, found = rule.arms, origin_of(rule)
    name, given = ("", {}) if found is None else (found.factory.__name__, found.arguments)
    known = found is not None and name in LINEAR and found.factory is getattr(algorithms, name)
    if known and given.get("variant", "online") in PLAIN:
        assert arms is not None and arms.context is not None
        return _linear(rule, arms.context, LINEAR[name](given), given["intercept"], state)
    if arms is None or (arms.context is None and arms.num_contexts is None):
        return None
    variant = f" of the variant {given['variant']!r}" if known and "variant" in given else ""
    raise ValueError(
        f"{rule.name or 'the rule'}{variant} has no form that a file can hold, must be one of {', '.join(LINEAR)} in "
        "its default variant, or a rule without contexts"
    )


def _linear(rule: Algorithm, context: tuple[int, ...], form: Json, intercept: bool, state: Any) -> Json:
    models, shared = state.models, len(context) == 2
    theta, root, counts = (np.asarray(x) for x in (models.theta, models.root, state.counts))
    if not np.isfinite(theta).all():
        raise ValueError(f"theta of {rule.name} is not finite, so that it has no choice")
    needed = form["width"] > 0 or form["draw"] > 0
    return {
        "rule": rule.name,
        "num_arms": len(counts),
        "context": list(context),
        "intercept": bool(intercept),
        "theta": theta.reshape(-1, theta.shape[-1]).tolist(),
        # The rows of F', so that a row of it has a place in memory.
        "root": np.swapaxes(root.reshape(-1, *root.shape[-2:]), 1, 2).tolist() if needed else None,
        "untried": [] if shared or form["choice"] == "first" else np.flatnonzero(counts == 0).tolist(),
        **form,
    }


def _of_draws(session: Session) -> Json:
    """The shares of the arms of a rule without contexts."""
    found = shares(session, draws=DRAWS)
    return {"rule": session.rule.name, "num_arms": session.num_arms, "shares": found.tolist()}


def _of_scores(policy: ScorePolicy) -> Json:
    """The form of a linear regression of scores."""
    regression = policy.regression
    if not isinstance(regression, Ridge):
        raise ValueError(f'a policy of {policy.name} has no form that a file can hold, must be fitted by "linear"')
    theta = np.roll(regression.coefficients, -1, axis=0).T  # the constant stands last, as in the rules
    context = [theta.shape[1] - 1]
    return {
        "rule": policy.name,
        "num_arms": len(theta),
        "context": context,
        "intercept": True,
        "theta": theta.tolist(),
        "root": None,
        "untried": [],
        **FIRST,
    }
