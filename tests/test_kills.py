"""Killed at random instants and resumed elsewhere; two processes in one directory; signals wherever they find us."""

import pytest
from kills import stress

KILLS = 4  # `python tests/kills.py --count 100` for more


@pytest.mark.slow
def test_killed_by_three_signals_and_resumed_elsewhere(tmp_path):
    report = stress(tmp_path, KILLS)
    assert report["killed by"].total() == KILLS
