"""The context that is given to `ask`, checked and in the form that the rule takes."""

from typing import Any

import jax
import numpy as np

from jaxbandit.base.contract import Algorithm, Arms, Environment, Offer
from jaxbandit.decide.sessions.asks import Asks, as_given, unstack
from jaxbandit.decide.sessions.forms import form_of
from jaxbandit.engine.rounds import contexts
from jaxbandit.engine.rounds.step import ContractError
from jaxbandit.support import checks, domains
from jaxbandit.support.types import PyTree

NUMBERS = "biuf"  # kinds of arrays that a context may have


def checked_context(rule: Algorithm, asks: Asks, context: PyTree) -> PyTree:
    """Return a context as NumPy arrays; raise a ValueError of one line if it is none that the rule takes."""
    given = _Given(rule.arms, "context", ())
    taken = jax.tree.map(np.array, _taken(rule, given, context))
    _require_form(asks, given.name, taken)
    return taken


def checked_contexts(rule: Algorithm, asks: Asks, several: PyTree) -> list[PyTree]:
    """Return each of several contexts as NumPy arrays; errors as for one."""
    offered, leaves = isinstance(several, Offer), jax.tree.leaves(several)
    first = several.available if offered else several if rule.arms and _declared(rule.arms) else (leaves or [0])[0]
    n = len(first) if hasattr(first, "__len__") else 0
    if not n:
        raise ValueError("contexts must be several, with a leading axis of at least one; give a single as context")
    given = _Given(rule.arms, "contexts", (n,))
    rows = unstack(_taken(rule, given, several), n)
    _require_form(asks, given.name, rows[0])
    return rows


def require_offers(rule: Algorithm, offer: Offer) -> None:
    """Raise a ValueError of one line unless the rule takes such an `Offer`, and uses it."""
    session = Environment(lambda key: (), lambda *given: 0.0, observe=lambda state, noise: offer, name="the session")
    try:
        reason = contexts.ignored(rule, session)
    except ContractError as error:
        reason = f"{rule.name or 'the rule'} takes no Offer ({error})"
    if reason:
        raise ValueError(f"{reason}")


class _Given:
    """What is given, how errors call it, and its leading axes."""

    def __init__(self, arms: Arms | None, name: str, lead: tuple[int, ...]):
        self.arms, self.name, self.lead = arms, name, lead

    def floats(self, name: str, value: Any) -> np.ndarray:
        """Return the floats that the rule declares, float64."""
        assert self.arms is not None and self.arms.context is not None
        wanted = (*self.lead, *self.arms.context)
        try:
            array = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be numbers, float{list(wanted)}") from None
        if array.shape != wanted:
            rows = ", a row per arm" if len(self.arms.context) == 2 else " shared by the arms"
            shown = ["n", *self.arms.context] if self.lead else list(wanted)
            raise ValueError(f"{name} has shape {_list(array.shape)}, must be {_list(shown)}{rows}")
        return _finite(name, array)

    def index(self, value: Any) -> Any:
        """Return the index of an action set, or several."""
        assert self.arms is not None and self.arms.num_contexts is not None
        index = domains.integer(0, self.arms.num_contexts - 1)
        if not self.lead:
            return np.int32(checks.take(self.name, value, index))
        indices = checks.of_list(domains.several(index, "a list of indices of action sets"))
        return np.array(checks.take(self.name, value, indices), np.int32)

    def available(self, value: Any) -> np.ndarray:
        """Return which arms are available."""
        num_arms = 0 if self.arms is None else self.arms.num_arms
        array, wanted = np.asarray(value), (*self.lead, num_arms)
        if array.dtype != bool or array.shape != wanted:
            shown = _list(["n", num_arms] if self.lead else wanted)
            got = f"{array.dtype}{_list(array.shape)}"
            raise ValueError(f"{self.name}: available is {got}, must be bool{shown}")
        if not (some := array.any(axis=-1)).all():
            place = f"{self.name}[{int(np.argmin(some))}]" if self.lead else self.name
            raise ValueError(f"{place}: no arm is available, must be at least one")
        return array

    def own(self, value: Any) -> PyTree:
        """Return the context of a rule that declares none, whatever it is made of."""

        def leaf(x: Any) -> np.ndarray:
            array = np.asarray(x)
            if array.dtype.kind not in NUMBERS or array.shape[: len(self.lead)] != self.lead:
                raise ValueError(f"{self.name} has a part {array.dtype}{_list(array.shape)}, must be numbers"
                                 + f" with a leading axis of {self.lead[0]}" * bool(self.lead))  # fmt: skip
            return _finite(self.name, array.astype(np.float64) if array.dtype.kind == "f" else array)

        # A list of numbers is an array, as it is for rules that declare their context.
        plain = isinstance(value, list) and all(isinstance(x, int | float) for x in jax.tree.leaves(value))
        return leaf(value) if plain else jax.tree.map(leaf, value)


def _taken(rule: Algorithm, given: _Given, value: Any) -> PyTree:
    arms, name = rule.arms, given.name
    if arms is not None and arms.available and not isinstance(value, Offer):
        needs = f"{rule.name or 'the rule'} needs to know which arms are available"
        raise ValueError(f"{name} must be an Offer(available, features): {needs}")
    if isinstance(value, Offer):
        return Offer(given.available(value.available), _features(given, f"{name}: features", value.features))
    return _features(given, name, value)


def _features(given: _Given, name: str, value: Any) -> PyTree:
    arms = given.arms
    if arms is not None and arms.context is not None:
        return given.floats(name, value)
    if arms is not None and arms.num_contexts is not None:
        return given.index(value)
    return given.own(value)


def _require_form(asks: Asks, name: str, context: PyTree) -> None:
    """Raise a ValueError if the context has another form than those of the asks before."""
    if asks.example is None:
        return
    before = as_given(asks.example.context)
    if form_of(context) != form_of(before):
        raise ValueError(f"{name} = {_said(context)}, must be {_said(before)} like those of the asks before")


def _said(context: PyTree) -> str:
    leaves = ", ".join(f"{x.dtype}{_list(x.shape)}" for x in jax.tree.leaves(context))
    return f"Offer({leaves})" if isinstance(context, Offer) else leaves


def _list(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _declared(arms: Arms) -> bool:
    return arms.context is not None or arms.num_contexts is not None


def _finite(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(f"{name}{_list(at) if at else ''} = {array[tuple(at)]}, must be finite")
    return array
