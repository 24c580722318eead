"""What a file of `save_session` holds becomes a session again, after it has been checked."""

from dataclasses import replace
from itertools import repeat
from typing import Any

import jax
import numpy as np

from jaxbandit.base.contract import action_of
from jaxbandit.decide.sessions.pulls import EXPIRED, OUTSIDE, TOLD, WAITS, WITHDRAWN
from jaxbandit.decide.sessions.rewards import Totals, longer, values_of
from jaxbandit.decide.sessions.rule_programs import counts_of
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.rounds import fit
from jaxbandit.support.types import Json, PyTree

NUMBERS = ("first", "given", "expired")  # of the open batch, in plain data
EARLY_NUMBERS = ("size", "issued", "entered")  # in files of versions that stored the open batch in another way
BATCH = "opened"  # name of the open batch in files
ARRAYS = ("asked", "rounds", "actions", "status", "values", "spare", "spare_values")
HISTORIES = {"history": np.float64, "arms": np.int32, "rounds": np.int32, "outside": np.int64}


def filled(fresh: Session, about: Json, arrays: dict[str, np.ndarray]) -> Session:
    """Return the session of these arrays; raise a ValueError if they are not those of one session of the rule."""
    early = "entered" in about
    if early:
        about, arrays = _renewed(fresh, about, arrays)
    programs, before, sets = fresh.programs, fresh.batch, fresh.programs.set_size is not None
    first, given, expired = numbers = tuple(about[name] for name in NUMBERS)
    taken = set()

    def take(name: str, like: Any, length: int | None = None, nan: bool = False) -> np.ndarray:
        like, found = np.asarray(like), arrays.get(name, np.zeros((0, 0)))
        shape = like.shape if length is None else (length, *like.shape[1:])
        require(name, found.dtype == like.dtype and found.shape == shape, f"must be {like.dtype}{list(shape)}")
        require(name, nan or like.dtype.kind != "f" or "state" in name or np.isfinite(found).all(), "must be finite")
        taken.add(name)
        return found

    def tree(name: str, like: PyTree) -> PyTree:
        leaves, structure = jax.tree.flatten(like)
        return jax.tree.unflatten(structure, [take(f"{name}.{i}", leaf) for i, leaf in enumerate(leaves)])

    def size(name: str) -> int:
        return len(np.atleast_1d(arrays.get(name, np.zeros(0))))

    require("stopped", isinstance(about["stopped"], bool), "must be true or false")
    require("context", about.get("context") is None, "must be null, because the rule takes none")
    plan, n, stopped = tree("plan", before.plan), size(f"{BATCH}.status"), about["stopped"]
    drawn_sets = sets and plan is None and n > 0
    likes = {name: getattr(before, name) for name in ARRAYS}
    likes |= {"actions": np.zeros((0, programs.num_arms), bool)} if drawn_sets else {}
    lengths = dict.fromkeys(("actions", "status", "values"), n) | {"asked": programs.num_arms}
    lengths |= {name: size(f"{BATCH}.{name}") for name in ("rounds", "spare")}
    lengths["spare_values"] = lengths["spare"]
    batch = {name: take(f"{BATCH}.{name}", likes[name], lengths[name], name == "values") for name in ARRAYS}
    status, values, rounds = batch["status"], batch["values"], batch["rounds"]
    told, known = (status == TOLD) | (status == OUTSIDE), first - expired
    require("status", np.isin(status, (WAITS, WITHDRAWN, TOLD, OUTSIDE, EXPIRED)).all(), "must be known")
    require("status", not n or status[0] < TOLD, "must begin with a pull without a reward")
    require("values", np.array_equal(np.isnan(values), ~told), "must be those that were told")

    counts = counts_of(plan)
    rows = programs.num_arms if counts is None else len(counts)
    for name in ("actions", "spare"):
        require(name, batch[name].dtype == bool or _inside(batch[name], rows), "must be actions of the rule")
    if counts is not None and not stopped:
        require("spare", (np.bincount(batch["spare"], minlength=rows) < counts).any(), "must not cover the plan")

    history, outside = take("history", np.zeros(0), first, nan=True), take("outside", np.zeros(0, int), size("outside"))
    missing, low, high = np.isnan(history), *fit.limits(fresh.rule.rewards)
    rewards = np.concatenate([history[~missing], values[told], batch["spare_values"]])
    require("rewards", ((rewards >= low) & (rewards <= high)).all(), f"must be in [{low:g}, {high:g}]")
    require("rewards", np.isfinite(rewards).all(), "must be finite")
    require("history", missing.sum() == expired, f"must have {expired} pulls without a reward")
    require("outside", _inside(outside, first) and (np.diff(outside) > 0).all(), "must be ids that increase")
    totals = Totals(*(take(f"totals.{name}", like) for name, like in fresh.totals._asdict().items()))
    whole = (totals.counts >= 0).all() and (sets or totals.counts.sum() == known)
    require("totals.counts", whole, f"must be {known} pulls")
    arms = take("arms", np.zeros(0, np.int32), 0 if sets else first)
    if not sets and not (early and (arms < 0).any()):
        require("arms", _inside(arms, programs.num_arms), "must be arms")
        pulls = np.bincount(arms[~missing], minlength=programs.num_arms)
        require("arms", np.array_equal(pulls, totals.counts), "must be those of the pulls of each arm")
    past = take("rounds", np.zeros(0, np.int32), given if programs.arm_dtype is not None else 0)
    require(
        "rounds", early or (_inside(past, about["round"]) and (np.diff(past, prepend=0) > 0).all()), "must increase"
    )
    number = 0 if sets else first + n - len(outside) - int((status == OUTSIDE).sum())
    require("asked", (batch["asked"] >= 0).all() and batch["asked"].sum() == number, f"must be {number} pulls")

    closed = take("closed", fresh.closed)
    if plan is not None:
        require("rounds", not len(rounds) and given == 0, "must be those of pulls that are chosen one by one")
        require("round", 1 <= about["round"] <= first + 1, f"must be in [1, {first + 1}]")
    else:
        require("given", max(first - len(rounds), 0) <= given <= first, "must be pulls that have entered")
        require("rounds", (np.diff(rounds, prepend=0) > 0).all(), "must increase")
        chosen = given + len(rounds) - first  # of the open pulls; the others were told from outside
        require(
            "rounds",
            not n or stopped or (status == OUTSIDE).tolist() == [i >= chosen for i in range(n)],
            "must be open pulls",
        )
        least = max([first + n - len(outside) - int((status == OUTSIDE).sum()), *rounds[-1:].tolist()]) + 1
        require("round", least <= about["round"] < 2**31, f"must be at least {least}")
    reported = known + int(told.sum())
    require("told", about.get("told", reported) == reported, f"must be {reported}")
    state = tree("state", fresh.state)
    decision = programs.decision(state)
    require("stopped", bool(decision.stopped) == stopped, f"must be {bool(decision.stopped)}")
    same = jax.tree.map(np.array_equal, jax.tree.map(np.asarray, decision.plan), plan)
    require("plan", stopped or all(jax.tree.leaves(same)), "must be that of the rule")
    require("the file", taken == arrays.keys(), "must hold no other array")
    session = replace(
        fresh,
        state=state,
        batch=before._replace(plan=plan, **dict(zip(NUMBERS, numbers, strict=True)), **batch),
        totals=totals,
        history=longer((), history),
        arms=() if sets else longer((), arms),
        rounds=longer((), past),
        outside=longer((), outside),
        closed=closed,
        round=about["round"],
        stopped=stopped,
    )
    return _with_choices(session)


def _renewed(fresh: Session, about: Json, arrays: dict[str, np.ndarray]) -> tuple[Json, dict[str, np.ndarray]]:
    """Return what a file of an early version holds, whose open batch had a size, as it is stored today."""
    programs, plan = fresh.programs, fresh.batch.plan
    first, (size, issued, entered) = about["first"], (about[name] for name in EARLY_NUMBERS)
    require("the batch", entered <= issued <= size, "must have entered <= issued <= size")
    old = {name: arrays[f"{BATCH}.{name}"] for name in ("base", "later", "values", "withdrawn", "sums", "squares")}
    rounds, choices = np.zeros(0, np.int64), np.zeros(0, np.int32)
    if plan is not None:
        leaves = [arrays[f"plan.{i}"] for i in range(len(jax.tree.leaves(plan)))]
        plan = jax.tree.unflatten(jax.tree.structure(plan), leaves)
        ends = np.cumsum(counts_of(plan), dtype=np.int64)
        require("the batch", size == (0 if about["stopped"] else ends[-1]), "must be the plan")
        choices = np.searchsorted(ends, np.arange(issued), side="right").astype(np.int32)
    elif size:
        state, structure = jax.tree.flatten(fresh.state)
        state = jax.tree.unflatten(structure, [arrays[f"state.{i}"] for i in range(len(state))])
        require("the batch", size == issued < 2**31, "must have been asked for")
        rounds = about["round"] + np.arange(size)
        selected = (programs.select(fresh.words, t, state, None) for t in rounds.tolist())
        choices = np.stack([np.asarray(action_of(choice)) for choice in selected])
    status = np.full(issued, WAITS, np.int8)
    values = np.full(issued, np.nan)
    status[old["withdrawn"]], status[old["later"]], values[old["later"]] = WITHDRAWN, TOLD, old["values"]
    single, past = programs.set_size is None, first + entered
    unknown = np.concatenate([np.full(first, -1), choices[:entered]]) if single else np.zeros(0)
    arms = arrays.get("arms", unknown.astype(np.int32))
    asked = old["base"] + np.bincount(choices, minlength=programs.num_arms) if single else np.zeros_like(old["base"])
    planned = slice(0, entered if plan is not None else 0)
    more = {"asked": asked, "rounds": rounds, "actions": choices[entered:], "status": status[entered:]}
    more |= {"values": values[entered:], "spare": choices[planned].astype(np.int32)}
    more |= {"spare_values": arrays["history"][first : first + planned.stop]}
    kept = {name: x for name, x in arrays.items() if not name.startswith(f"{BATCH}.")}
    past_rounds = np.full(first if programs.arm_dtype is not None else 0, -1, np.int32)
    kept |= {
        "arms": arms,
        "rounds": past_rounds,
        "outside": np.zeros(0, np.int64),
        "closed": np.zeros(programs.num_arms, bool),
    }
    numbers = {"first": past, "given": 0 if plan is not None else first, "expired": 0}
    numbers["round"] = about["round"] + len(rounds)
    return {**about, **numbers}, kept | {f"{BATCH}.{name}": x for name, x in more.items()}


def _inside(numbers: np.ndarray, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())


def require(name: str, holds: Any, what: str) -> None:
    """Raise a ValueError that says what must be, unless it holds."""
    if not holds:
        raise ValueError(f"{name} {what}")


def _with_choices(session: Session) -> Session:
    """The session with the choices of its open batch computed again; they are the only part that cannot be stored."""
    programs, batch = session.programs, session.batch
    rounds = batch.rounds.tolist()
    if programs.arm_dtype is not None:
        ids = np.arange(batch.given, batch.first, dtype=np.int64)
        arms = np.concatenate([values_of(session.arms, ids), batch.actions]).astype(int).tolist()
        made = (
            programs.with_arm(session.words, *pull) for pull in zip(rounds, repeat(session.state), arms, strict=False)
        )
        choices = tuple(made)
    else:
        choices = tuple(programs.select(session.words, t, session.state, None) for t in rounds)
    return replace(session, batch=batch._replace(choices=choices))
