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

    kind: str  # "Condorcet": the winner beats every other arm; "Borda": it wins most on average; or "undecided"
    winner: int | None
    cycle: tuple[int, ...]  # arms each of which beats the next one, and the last one the first; () if none is known
    names: tuple[str, ...]
    duels: np.ndarray  # int64[num_arms, num_arms]
    wins: np.ndarray  # float64[num_arms, num_arms], share of duels that the row has won; NaN without one
    order: Order
    delta: float
    notes: tuple[str, ...]
    contradiction: str  # what the data contradict, after which nothing is claimed; "" if nothing

    @property
    def words(self) -> str:
        """What is known, in a sentence."""
        if self.contradiction:
            return self.contradiction
        sure = f", with probability at least {1 - self.delta:g}"
        if self.kind == "Condorcet" and self.winner is not None:
            return f"{self.names[self.winner]} beats each of the {len(self.names) - 1} others (Condorcet winner){sure}"
        if not self.cycle:
            left = ", ".join(self.names[i] for i in np.flatnonzero(self.order.candidates))
            return f"undecided: not known to be beaten by another one: {left}"
        links = zip(self.cycle, (*self.cycle[1:], self.cycle[0]), strict=True)
        around = ", ".join(f"{self.names[i]} beats {self.names[j]}" for i, j in links)
        none = f"no one beats all others: there is a cycle, {around}"
        if self.winner is not None:
            return f"{self.names[self.winner]} wins most on average (Borda winner); {none}{sure}"
        left = ", ".join(self.names[i] for i in np.flatnonzero(self.order.leaders))
        return f"undecided, which one wins most on average: {left}; {none}{sure}"

    def describe(self, *, detail: bool = False) -> Document:
        """Return what is known, and the arms."""
        k, rows, data = self.order, [], []
        for i, name in enumerate(self.names):
            known = {"beats": np.flatnonzero(k.beats[i]), "beaten by": np.flatnonzero(k.beats[:, i])}
            shown = [", ".join(self.names[j] for j in others) for others in known.values()]
            ends = f"[{number(k.borda_low[i])}, {number(k.borda_high[i])}]"
            rows.append((name, f"{self.duels[i].sum():,}", *shown, ends))
            data.append({"name": name, "duels": int(self.duels[i].sum()), "beats": known["beats"].tolist()})
            data[-1] |= {"borda_low": float(k.borda_low[i]), "borda_high": float(k.borda_high[i])}
        table = Table(("arm", "duels", "beats", "beaten by", "wins on average"), rows, right=(1,))
        content = {"schema": 1, "kind": self.kind, "winner": self.winner, "cycle": self.cycle, "words": self.words}
        content |= {"delta": self.delta, "arms": data, "notes": self.notes, "assumptions": (ASSUMPTION,)}
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
    wins, duels, low, high, level = map(np.asarray, state)
    count = round((1 + (1 + 8 * len(wins)) ** 0.5) / 2)
    names = tuple(f"arm {i}" for i in range(count)) if names is None else tuple(map(str, names))
    if len(names) != count:
        raise ValueError(f"names has {len(names)} entries, must have one for each of {count} arms")
    first, second = duel_pairs(count).T
    known, number_of = order_of(low, high, count), np.zeros((count, count), np.int64)
    number_of[first, second] = number_of[second, first] = duels
    matrix = np.full((count, count), np.nan)
    with np.errstate(invalid="ignore"):
        share = wins / duels
    matrix[first, second], matrix[second, first] = share, 1 - share
    pairs = [f"the duels of {names[i]} and {names[j]}" for i, j in zip(first, second, strict=True)]
    changed = changes(samples(session) or [], names=pairs, what="outcomes")
    found = "bounds of a pair at two times exclude each other" if (low > high).any() else changed.contradiction
    said, delta = contradiction(found=found), float(level) * len(wins)
    kind, winner, cycle = "undecided", None, ()
    if said:
        known = order_of(np.zeros(len(wins)), np.ones(len(wins)), count)
    elif not known.candidates.any():
        cycle = _cycle(known.beats)
        if known.leaders.sum() == 1:
            kind, winner = "Borda", int(np.argmax(known.leaders))
    elif (best := known.beats.sum(axis=1) == count - 1).any():
        kind, winner = "Condorcet", int(np.argmax(best))
    return DuelCertificate(kind, winner, cycle, names, number_of, matrix, known, delta, changed.remarks, said)


def _cycle(beats: np.ndarray) -> tuple[int, ...]:
    """Return arms each of which beats the next one, and the last one the first, if every arm is beaten."""
    path = [0]
    while (before := int(np.argmax(beats[:, path[-1]]))) not in path:
        path.append(before)
    return tuple(reversed(path[path.index(before) :]))
