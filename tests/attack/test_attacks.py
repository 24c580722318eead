"""Attacks on files, directories, arguments and processes: each is refused in one line or changes nothing."""

import os

import pytest

from .attacks import ATTACKS
from .outcomes import attempt
from .workshop import Workshop

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
SEED = 0


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    made = Workshop(tmp_path_factory.mktemp("attacks"))
    yield made
    made.close()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack(attack, workshop, request):
    """Longer, with other tries and a table: `python -m tests.attack --tries 1000 --write`."""
    if attack.name.startswith("hostile names"):
        workshop.browser = request.getfixturevalue("browser") if _chromium() else None
    most = attack.tries if attack.most is None else attack.most(workshop)
    tally = attempt(attack, workshop, SEED, range(min(attack.tries, most)))
    assert tally.tries > 0
    assert not tally.failures, "\n".join(tally.failures)


def _chromium():
    from conftest import CHROMIUM

    return CHROMIUM is not None and os.path.exists(CHROMIUM)


def test_a_failure_is_seen(tmp_path):
    """The harness itself: an attack that breaks a promise is a failure, with the words that repeat it."""
    from .outcomes import REFUSED, Attack, Failure, Hang, watched

    def one(workshop, number, chance):
        if number == 1:
            raise Failure("other numbers")
        if number == 2:
            raise KeyError("x")
        if number == 3:
            raise Hang
        return REFUSED

    tally = attempt(Attack("an attack", one, 5), None, 7, range(5))
    assert (tally.tries, tally.refused, tally.harmless, len(tally.failures)) == (5, 2, 0, 3)
    assert "--only 'an attack' --seed 7 --number 1: other numbers" in tally.failures[0]
    with pytest.raises(Hang), watched(0.01):
        while True:
            pass
