"""Domains: one set of checks for arguments of Python and keys of TOML files, and tables of keys."""

import math

import numpy as np
import pytest

from jaxbandit.lab.specs import keys, session, spec
from jaxbandit.lab.specs.keys import Key
from jaxbandit.support import checks, domains
from jaxbandit.support.refusals import BadInput

INSIDE = [
    (domains.integer(1, 3), 3, 3),
    (domains.integer(1), np.int64(7), 7),
    (domains.number(0, 1), 1, 1.0),
    (domains.number(), np.float32(0.5), 0.5),
    (domains.choice(("a", "b")), "b", "b"),
    (domains.choice((1, 2)), 2, 2),
    (domains.several(domains.integer(0), "a list", increasing=True), [0, 4], (0, 4)),
    (domains.several(domains.integer(0), "a list", empty=True), [], ()),
    (domains.one_or_several(domains.integer(0), "numbers"), 4, (4,)),
    (domains.one_or_several(domains.integer(0), "numbers"), [4, 4], (4, 4)),
]


@pytest.mark.parametrize("domain, value, taken", INSIDE)
def test_a_value_inside_is_taken(domain, value, taken):
    found = domains.check("here", value, domain)
    assert found == taken and type(found) is type(taken)


OUTSIDE = [
    (domains.integer(3, 3), 4, "here = 4, must be an integer in [3, 3]"),
    (domains.integer(1, 3), 4, "here = 4, must be an integer in [1, 3]"),
    (domains.integer(1, 20_000), 1e4, "here = 10000.0, must be an integer in [1, 20000]; write 10_000"),
    (domains.integer(1), 1e3, "here = 1000.0, must be an integer >= 1; write 1_000"),
    (domains.integer(1), 1e300, "here = 1e+300, must be an integer >= 1"),
    (domains.integer(1), 0.0, "here = 0.0, must be an integer >= 1"),
    (domains.integer(1, 20_000), 1.5, "here = 1.5, must be an integer in [1, 20000]"),
    (domains.integer(1, 20_000), 1e6, "here = 1000000.0, must be an integer in [1, 20000]"),
    (domains.integer(1), True, "here = true, must be an integer >= 1"),
    (domains.integer(1), np.True_, "here = True, must be an integer >= 1"),
    (domains.choice((1, 2)), 3, "here = 3, must be one of 1, 2"),
    (domains.choice(("a",)), np.ones(2), "must be one of a"),
    (domains.integer(2, 1), 2, "here = 2, must be at least 2, and here at most 1: the problem is too small"),
    (domains.number(0, 1, open_high=True), 1, "here = 1, must be a number in [0, 1)"),
    (domains.number(), math.inf, "here = inf, must be a finite number"),
    (domains.number(), 10**400, "here = an integer of 1329 bits, must be a finite number"),
    (domains.number(), "1", 'here = "1", must be a finite number'),
    (domains.number(), [1.0], "here = [1.0], must be a finite number"),
    (domains.choice(("one", "two")), "twa", 'here = "twa", must be one of one, two; did you mean \'two\'?'),
    (domains.BOOLEAN, 1, "here = 1, must be true or false"),
    (domains.several(domains.number(), "a list"), [], "here = [], must be a list"),
    (domains.several(domains.number(), "a list"), [1, "x"], 'here[1] = "x", must be a finite number'),
    (domains.several(domains.several(domains.integer(0), "a list"), "lists"), [[0], [-1]], "here[1][0] = -1, must be"),
    (domains.several(domains.number(), "a list", distinct=True), [1, 1.0], "[1] = 1.0, must be different from the"),
    (domains.several(domains.number(), "a list", increasing=True), [1, 1], "here[1] = 1, must be greater than 1.0"),
    (domains.one_or_several(domains.integer(0), "numbers"), 1.5, "here = 1.5, must be an integer >= 0"),
]  # fmt: skip


@pytest.mark.parametrize("domain, value, message", OUTSIDE, ids=[case[2] for case in OUTSIDE])
def test_a_value_outside_is_refused_in_one_line(domain, value, message):
    with pytest.raises(BadInput) as caught:
        domains.check("here", value, domain)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_python_and_toml_say_the_same_of_a_value():
    """Only the class of the error and the way to write the value differ."""
    with pytest.raises(ValueError) as python:
        checks.take("f: c", "tow", domains.choice(("one", "two")))
    with pytest.raises(BadInput) as toml:
        domains.check("f: c", "tow", domains.choice(("one", "two")))
    assert type(python.value) is ValueError
    assert str(python.value).replace("'tow'", '"tow"') == str(toml.value)


def test_a_table_of_keys():
    table = {
        "kind": Key(domains.choice(("a", "b"))),
        "low": Key(domains.integer(0), 2),
        "high": Key(lambda found: domains.integer(found["low"]), lambda found: 2 * found["low"]),
        "only": Key(domains.BOOLEAN, True, kind="b"),
    }
    assert keys.read("x: ", {"kind": "a"}, table) == {"kind": "a", "low": 2, "high": 4}
    assert keys.read("x: ", {"kind": "b", "low": 3}, table) == {"kind": "b", "low": 3, "high": 6, "only": True}
    for data, message in (
        ({}, "x: kind: missing, must be one of a, b"),
        ({"kind": "a", "high": 1}, "x: high = 1, must be an integer >= 2"),
        ({"kind": "a", "only": True}, 'x: only = true: only for kind = "b"; leave it out'),
        ({"kind": "a", "lwo": 1}, "x: lwo: unknown key, must be one of kind, low, high, only; did you mean 'low'?"),
    ):
        with pytest.raises(BadInput) as caught:
            keys.read("x: ", data, table)
        assert str(caught.value) == message


@pytest.mark.parametrize("table", [spec.KEYS, session.KEYS])
def test_a_default_is_a_value_of_its_domain(table):
    skipped = (None, (), keys.REQUIRED)
    plain = {name: key for name, key in table.items() if not callable(key.default) and key.default not in skipped}
    assert len(plain) >= 2
    for name, key in plain.items():
        assert isinstance(key.domain, domains.Domain)
        assert domains.check(name, key.default, key.domain) == key.default
