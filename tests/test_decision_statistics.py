"""Statements about searches: how often they are false, and what budgets achieve, against what is known of them.

Each test fails with probability below 0.002 if what it tests is right. Errors of stated numbers are those of their
simulations.
"""

import numpy as np
import pytest
from scipy import stats

from benchmarks import decisions, decisions_cells, decisions_parts, decisions_rare, decisions_searches, decisions_worlds
from benchmarks.decisions_searches import ALLOCATIONS, Searches, chunks, joined, play
from jaxbandit.decide.tuning import allocation
from jaxbandit.decide.tuning.criterion import Criterion
from jaxbandit.theory.comparisons.achieved import log_level
from jaxbandit.theory.comparisons.pairs import PairedDifferences

pytestmark = pytest.mark.statistical
DELTA = 0.05


def near(cells):
    """Whether all cells agree with what is stated, within 3.5 standard errors, and within limits."""
    assert cells
    return [c for c in cells if decisions.distance(c) > 3.5 or (decisions.distance(c) < -3.5 and not c.at_most)] == []


def test_tables_of_bounds_are_those_of_pairs():
    """No chance: the fast searches see the bounds that searches of the library see."""
    world, rng = decisions_worlds.fiesta(), np.random.default_rng(0)
    scores = np.stack([world.draw(rng, 60) for _ in range(2)])
    fast = Searches(scores, DELTA)
    counts = rng.integers(0, 61, 12)
    fast.pull(np.zeros((2, 12), bool))
    fast.counts[:] = counts
    fast.look()
    for run in range(2):
        pairs = PairedDifferences(12, log_level(DELTA, 12))
        pairs.enter([scores[run, :n, i] for i, n in enumerate(counts)])
        np.testing.assert_allclose(fast.upper[run], np.stack([pairs.upper(i) for i in range(12)], axis=1), atol=1e-9)
        np.testing.assert_array_equal(fast.excluded[run], pairs.excluded())


@pytest.mark.parametrize("rule", ALLOCATIONS)
def test_statements_of_every_allocation_hold_at_the_worst_time(rule):
    world = decisions_worlds.gaussian(6)
    parts = [play(each, world.means, ALLOCATIONS[rule], 250, 1) for each in chunks(world, 400, 120, DELTA, 2)]
    wrong = joined(parts)
    assert stats.binom.sf(wrong.any_arm.sum() - 1, 400, DELTA) > 0.001
    assert not np.any(wrong.ever & ~wrong.any_arm) and not np.any(wrong.random_time & ~wrong.ever)


def test_statements_would_be_false_if_the_bounds_were_those_of_one_time():
    """The check sees errors: at a level of 0.8, and so with bounds that are hardly any, most runs have some."""
    world = decisions_worlds.gaussian(6)
    wrong = joined([play(each, world.means, ALLOCATIONS["uniform"], 250, 1) for each in chunks(world, 50, 60, 4.0, 2)])
    assert wrong.any_arm.mean() > 0.5


@pytest.mark.slow
def test_what_half_a_budget_for_fiesta_achieves():
    world = decisions_worlds.fiesta()
    for rule, stated in (("halving", 0.0244), ("uniform", 0.0023)):
        parts = [play(each, world.means, ALLOCATIONS[rule], 456, 5) for each in chunks(world, 120, 160, DELTA, 4)]
        assert near([decisions_cells.median("", rule, joined(parts).achieved, stated)])


@pytest.mark.slow
def test_growth_and_remarks_are_as_stated():
    cells = [cell for cell in decisions_parts.growth(30) if "pulls" not in cell.name or "at once" in cell.name]
    assert near(cells) and len(cells) == 5
    assert near([cell for cell in decisions_rare.remarks(100) if "common" not in cell.name])


# ---- budgets that end within a round, or before the first one


def searched(rule, world, budget, rng, arms):
    seen = decisions_searches.evidence(Criterion(DELTA, None), arms)
    spent = decisions_searches.search(seen, rule(seen), world.draw(rng, 120), budget)
    return seen, spent, world.means.max() - world.means[seen.recommended(np.ones(arms, bool))]


@pytest.mark.slow
def test_a_budget_that_ends_within_a_round_does_not_forget_the_other_arms():
    """The first arms of a round that was cut are no better than the last ones, of which one is the best."""
    world, rng = decisions_worlds.fiesta(), np.random.default_rng(1)
    everyone = np.ones(12, bool)
    regrets = [searched(lambda e: allocation.race(e, everyone), world, 244, rng, 12)[2] for _ in range(40)]
    assert np.mean(regrets) < 5e-4  # it is 5e-3 if the last arms are forgotten


@pytest.mark.slow
def test_halving_with_a_small_budget_uses_it():
    rng, everyone, regrets = np.random.default_rng(2), np.ones(128, bool), []
    world = decisions_worlds.smooth(rng, 128)
    _, spent, _ = searched(lambda e: allocation.halving(e, everyone.copy(), 100, 0), world, 100, rng, 128)
    assert spent == 100
    for run in range(30):
        world = decisions_worlds.smooth(rng, 128)
        _, spent, regret = searched(
            lambda e, s=run: allocation.halving(e, everyone.copy(), 640, s), world, 640, rng, 128
        )
        assert 560 < spent <= 640
        regrets.append(regret)
    stated = decisions_parts.REGRETS["smooth", 128, 5][0]
    assert near([decisions_cells.mean("", "halving", 1e4 * np.array(regrets), *stated[:2])])
