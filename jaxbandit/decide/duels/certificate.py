"""What the duels of a session say about the best arm: a Condorcet winner, or a cycle and a Borda winner."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxbandit.base.calls import checked
from jaxbandit.decide.core.wording import number
from jaxbandit.decide.duels.race import DuelState, Order, duel_pairs, order_of
from jaxbandit.decide.sessions.session import Session, samples
from jaxbandit.support.document import Describable, Document, Notes, Table
from jaxbandit.theory.comparisons.constancy import changes
from jaxbandit.theory.comparisons.contradiction import contradiction

ASSUMPTION = "the duels of a pair are independent of each other and alike, whichever arm is shown first"


@dataclass(frozen=True, eq=False)
class DuelCertificate(Describable):
    """Which arm is the best by judged pairs, and why; `str` returns it as text.

    With probability at least 1 - delta, everything here is right at all times at once.
    """

    # "Condorcet": the winner beats every other arm, or with an epsilon loses to none by more; "Borda": it wins most on
    # average, or less by at most epsilon; or "undecided".
    kind: str
    winner: int | None
    cycle: tuple[int, ...]  # arms each of which beats the next one, and the last one the first; () if none is known
    names: tuple[str, ...]
    duels: np.ndarray  # int64[num_arms, num_arms]
    wins: np.ndarray  # float64[num_arms, num_arms], share of duels that the row has won; NaN without one
    order: Order
    delta: float
    epsilon: float  # by how much the winner may be worse; 0 if it is the best
    notes: tuple[str, ...]
    contradiction: str  # what the data contradict, after which nothing is claimed; "" if nothing

    @property
    def words(self) -> str:
        """What is known, in a sentence."""
        if self.contradiction:
            return self.contradiction
        sure = f", with probability at least {1 - self.delta:g}"
        if self.kind == "Condorcet" and self.winner is not None:
            name, others = self.names[self.winner], len(self.names) - 1
            if self.epsilon:
                return (
                    f"{name} wins against each of the {others} others more than {0.5 - self.epsilon:g} of duels{sure}"
                )
            return f"{name} beats each of the {others} others (Condorcet winner){sure}"
        if not self.cycle:
            left = ", ".join(self.names[i] for i in np.flatnonzero(self.order.candidates))
            return f"undecided: not known to be beaten by another one: {left}"
        links = zip(self.cycle, (*self.cycle[1:], self.cycle[0]), strict=True)
        around = ", ".join(f"{self.names[i]} beats {self.names[j]}" for i, j in links)
        none = f"no one beats all others: there is a cycle, {around}"
        if self.winner is not None:
            most = (
                f"most on average, or at most {self.epsilon:g} less"
                if self.epsilon
                else "most on average (Borda winner)"
            )
            return f"{self.names[self.winner]} wins {most}; {none}{sure}"
        left = ", ".join(self.names[i] for i in np.flatnonzero(self.order.leaders))
        return f"undecided, which one wins most on average: {left}; {none}{sure}"

    def describe(self, *, detail: bool = False) -> Document:
        """Return what is known, and the arms."""
        k, rows, data = self.order, [], []
        low, high = ((x.sum(axis=1) - 0.5) / (len(self.names) - 1) for x in (k.low, k.high))
        for i, name in enumerate(self.names):
            known = {"beats": np.flatnonzero(k.beats[i]), "beaten by": np.flatnonzero(k.beats[:, i])}
            shown = [", ".join(self.names[j] for j in others) for others in known.values()]
            ends = f"[{number(low[i])}, {number(high[i])}]"
            rows.append((name, f"{self.duels[i].sum():,}", *shown, ends))
            data.append({"name": name, "duels": int(self.duels[i].sum()), "beats": known["beats"].tolist()})
            data[-1] |= {"borda_low": float(low[i]), "borda_high": float(high[i])}
        table = Table(("arm", "duels", "beats", "beaten by", "wins on average"), rows, right=(1,))
        content = {"schema": 1, "kind": self.kind, "winner": self.winner, "cycle": self.cycle, "words": self.words}
        content |= {
            "delta": self.delta,
            "epsilon": self.epsilon,
            "arms": data,
            "notes": self.notes,
            "assumptions": (ASSUMPTION,),
        }
        content |= {"contradiction": self.contradiction} if self.contradiction else {}
        assumed = Notes([ASSUMPTION], "assumptions that nobody has checked")
        blocks = [Notes([f"{int(self.duels.sum()) // 2:,} duels", *self.notes]), table, assumed]
        return Document(self.words, blocks, content)


@checked
def duel_certificate(session: Session, names: Sequence[str] | None = None) -> DuelCertificate:
    """Return what is known at this moment of the best arm of a session of `duel_race`.

    Args:
      session: the session. Duels of a batch that is not complete count once it is.
      names: names of the arms. Default: "arm 0", "arm 1", ...

    Raises:
      ValueError: the session has another rule, or there are not as many names as arms.
    """
    state = session.state
    if not isinstance(state, DuelState):
        raise ValueError(f"session is one of {session.rule.name or 'another rule'}, must be one of duel_race")
    state = DuelState._make(map(np.asarray, state))
    wins, duels, low, high = state.wins, state.duels, state.low, state.high
    count = round((1 + (1 + 8 * len(wins)) ** 0.5) / 2)
    names = tuple(f"arm {i}" for i in range(count)) if names is None else tuple(map(str, names))
    if len(names) != count:
        raise ValueError(f"names has {len(names)} entries, must have one for each of {count} arms")
    first, second = duel_pairs(count).T
    known, number_of = order_of(state, count), np.zeros((count, count), np.int64)
    number_of[first, second] = number_of[second, first] = duels
    matrix = np.full((count, count), np.nan)
    with np.errstate(invalid="ignore"):
        share = wins / duels
    matrix[first, second], matrix[second, first] = share, 1 - share
    pairs = [f"the duels of {names[i]} and {names[j]}" for i, j in zip(first, second, strict=True)]
    changed = changes(samples(session) or [], names=pairs, what="outcomes")
    crossed = (low > high).any() or (state.lead_low > state.lead_high).any()
    found = "bounds of a pair at two times exclude each other" if crossed else changed.contradiction
    said, delta = contradiction(found=found), float(state.level + state.lead_level) * len(wins)
    kind, winner, cycle, sure = "undecided", None, (), True  # `sure`: it is the best, and not within epsilon of it
    if said:
        nothing, one = np.zeros(len(wins)), np.ones(len(wins))
        known = order_of(state._replace(low=nothing, high=one, lead_low=-one, lead_high=one), count)
    else:
        cycle = () if known.candidates.any() else _cycle(known.beats)
        if known.weak_winners.any():
            least = np.where(known.weak_winners, (known.low + np.eye(count)).min(axis=1), 0.0)
            kind, winner, sure = "Condorcet", int(np.argmax(least)), least.max() > 0.5
        elif cycle and known.largest.any():
            behind = np.where(known.leaders & ~np.eye(count, dtype=bool), known.lead, np.inf).min(axis=1)
            kind, winner = "Borda", int(np.argmax(np.where(known.largest, behind, -np.inf)))
            sure = known.leaders.sum() == 1
    epsilon = 0.0 if sure else float(state.epsilon)
    return DuelCertificate(kind, winner, cycle, names, number_of, matrix, known, delta, epsilon, changed.remarks, said)


def _cycle(beats: np.ndarray) -> tuple[int, ...]:
    """Return arms each of which beats the next one, and the last one the first, if every arm is beaten."""
    path = [0]
    while (before := int(np.argmax(beats[:, path[-1]]))) not in path:
        path.append(before)
    return tuple(reversed(path[path.index(before) :]))
