"""Which cases of a test belong to the quick tier, and lints of many names, which are one case each."""

import pytest


def a_few(cases, number=3):
    """All of the cases of one argument; so many of them, evenly spaced, are quick, and the others are marked slow."""
    cases = list(cases)
    step = -(-len(cases) // number)
    return [pytest.param(case, marks=[pytest.mark.slow] if i % step else []) for i, case in enumerate(cases)]


def offenders(check, names):
    """The names that `check` does not pass, each with the reason."""
    found = {}
    for name in names:
        try:
            check(name)
        except (Exception, pytest.fail.Exception) as error:  # which pytest.raises raises
            found[name] = f"{type(error).__name__}: {error}"
    return found
