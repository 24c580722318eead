"""What the files of a session say about it without its rule, for those who read them and run no code of it."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.sessions.stored import CERTIFICATE, Book, Stored, book_of, read
from jaxbandit.support.refusals import BadInput


class Summary(NamedTuple):
    """A session as far as its files tell."""

    certificate: Certificate  # only pulls and means, computed from the log, unless `current`
    num_told: int
    pending: list[int]  # ids
    current: bool  # whether the certificate of the last close is that of the log as it is


def summary_of(path: Path) -> Summary:
    """Return what the directory of a session tells; raise a ValueError of one line if a file of it is damaged."""
    stored = read(path)
    return summary(stored, book_of(stored))


def summary(stored: Stored, book: Book) -> Summary:
    """Return what is stored of a session, with its events entered in a book."""
    pending = sorted(book.waits)
    try:
        if stored.certified:
            content = stored.closed
            certificate = Certificate.from_json(content["certificate"])
            if len(certificate.pulls) != stored.about["identity"]["num_arms"] or content["told"] != len(book.rewards):
                raise ValueError("it is of another session")
            return Summary(certificate, len(book.rewards), content["pending_ids"], True)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"
        where = stored.path if stored.log == stored.path else stored.path / CERTIFICATE
        raise BadInput(f"{where}: holds no certificate ({reason}); delete it") from None
    return Summary(_from_log(stored, book), len(book.rewards), pending, False)


def _from_log(stored: Stored, book: Book) -> Certificate:
    """The pulls and means of the rewards in the log; of sets of arms, and with contexts, arms have no mean."""
    num_arms = stored.about["identity"]["num_arms"]
    single = not any(event.contextual for event in book.events) and not any(isinstance(a, list) for a in book.arms)
    pulls, sums = np.zeros(num_arms, np.int64), np.zeros(num_arms)
    for id_, reward in book.rewards.items():
        arms = book.arms[id_]
        pulls[arms] += 1
        sums[arms] += reward
    rows = [{"arm": arm, "pulls": count} for arm, count in enumerate(pulls.tolist())]
    rule = stored.about["identity"]["rule"] or "an algorithm"
    bare = Certificate.from_json({"rule": rule, "stopped": False, "arms": rows, "assumptions": []})
    means = np.where(pulls > 0, sums / np.maximum(pulls, 1), np.nan)
    return replace(bare, means=means) if single else bare
