"""Which cases of a test belong to the quick tier."""

import pytest


def a_few(cases, number=3):
    """All of the cases of one argument; so many of them, evenly spaced, are quick, and the others are marked slow."""
    cases = list(cases)
    step = -(-len(cases) // number)
    return [pytest.param(case, marks=[pytest.mark.slow] if i % step else []) for i, case in enumerate(cases)]
