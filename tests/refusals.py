"""A test of calls that must be refused in one line."""

import pytest


def refusals(cases):
    """A test that each call of {case: (call, words)} raises a ValueError, whose one line has these words."""

    @pytest.mark.parametrize("case", cases)
    def test(case):
        call, words = cases[case]
        with pytest.raises(ValueError) as refusal:
            call()
        assert words in str(refusal.value) and "\n" not in str(refusal.value)

    return test
