"""Rules of a fixed budget against their NumPy references: the same rewards, the same batches and single pulls, the same
recommendation, at several budgets of one compilation; refusals of budgets.

Sums of 0 and 1, and counts, are exact, so that ties are ties in both. UCB-E's and UGapEb's indices are compared to 1e-9
on rewards without ties.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import play_streams
from reference import fixed_budget as reference
from reference import unknown_variance

import jaxbandit as jb
from jaxbandit.algorithms.fixed_budget import elimination

pytestmark = pytest.mark.quickly_compiled

MOST = 210
LAWS = {
    "tied": lambda rng, shape: (rng.random(shape) < 0.5).astype(float),
    "bernoulli": lambda rng, shape: (rng.random(shape) < np.linspace(0.7, 0.4, shape[0])[:, None]).astype(float),
    "normal": lambda rng, shape: rng.normal(size=shape) + np.linspace(-0.3, 0.3, shape[0])[:, None],
}


@functools.cache
def streams_of(num_arms, *laws):
    """float[laws, num_arms, MOST + 1]."""
    rng = np.random.default_rng(7)
    return np.stack([LAWS[law](rng, (num_arms, MOST + 1)) for law in laws])


def played(make, streams, budgets, batches=None):
    """Actions (-1 once it has stopped), or the pulls of so many batches, and recommendations: [budgets, laws, ...]."""

    def play(budget, stream):
        found = play_streams(make, stream, (batches or MOST) + 1, batches=bool(batches), budget=budget)
        assert found.stopped[-1]
        return found.done[:-1], found.recommended[-1]

    plays = [[play(budget, stream) for stream in streams] for budget in budgets]
    return tuple(np.array([[one[i] for one in some] for some in plays]) for i in range(2))


def rounds_agree(make, reference_of, num_arms, budgets, most_rounds):
    streams = streams_of(num_arms, *LAWS)
    together, named = played(make, streams, budgets, batches=most_rounds)
    singles, same = played(make, streams, budgets)
    np.testing.assert_array_equal(named, same)
    for i, budget in enumerate(budgets):
        for k, stream in enumerate(streams):
            rounds, arms = reference_of(stream, budget)
            assert sum(map(np.sum, rounds)) <= budget
            np.testing.assert_array_equal(together[i, k, : len(rounds)], rounds)
            assert (together[i, k, len(rounds) :] == -1).all()
            order = np.concatenate([np.flatnonzero(r > turn) for r in rounds for turn in range(r.max())])
            np.testing.assert_array_equal(singles[i, k, : len(order)], order)
            assert (singles[i, k, len(order) :] == -1).all()
            np.testing.assert_array_equal(named[i, k], np.ravel(arms))


@pytest.mark.parametrize(
    ("num_arms", "reading"),
    [(8, "round"), (5, "all"), *[pytest.param(*case, marks=pytest.mark.slow) for case in ((8, "all"), (5, "round"))]],
)
def test_sequential_halving(num_arms, reading):
    rule = functools.partial(jb.algorithms.sequential_halving, num_arms, reading=reading)
    wanted = functools.partial(reference.sequential_halving, reading=reading)
    rounds = math.ceil(math.log2(num_arms))
    rounds_agree(rule, wanted, num_arms, [num_arms * rounds, num_arms * rounds + 1, 100, 199], rounds)


@pytest.mark.parametrize("m", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_sequential_halving_of_several(m):
    """Of nine arms: 9, 5, 3, 2 and 9, 5; 5 is the second round's size for m = 2, and what is left for m = 5."""
    wanted = functools.partial(reference.sequential_halving, reading="all", m=m)
    rounds = {2: 3, 5: 1}[m]
    rounds_agree(functools.partial(jb.algorithms.sequential_halving, 9, m=m), wanted, 9, [9 * rounds, 110, 199], rounds)


def test_successive_rejects():
    # At 6 to 9 pulls some phases are empty.
    budgets = [6, 7, 9, 20, 112, 200]
    rounds_agree(functools.partial(jb.algorithms.successive_rejects, 5), reference.successive_rejects, 5, budgets, 4)


@pytest.mark.parametrize("m", [2, *[pytest.param(m, marks=pytest.mark.slow) for m in (1, 4, 6)]])
def test_successive_accepts_and_rejects(m):
    """For m = 1 it is Successive Rejects."""
    wanted = functools.partial(reference.successive_accepts_and_rejects, m=m)
    rounds_agree(functools.partial(jb.algorithms.successive_rejects, 7, m=m), wanted, 7, [8, 9, 11, 40, 112, 205], 6)


def test_accepted_arms_are_those_of_the_largest_gap_in_a_hand_made_case():
    """Scores 9 5 4 3 0, two wanted: gaps 5 1 1 2 5. Of equal ones 0 is rejected first; 9 is accepted, 3, 4 not."""
    decide = jax.jit(elimination.surest_decided, static_argnums=4)
    scores, nobody = jnp.asarray([5.0, 9.0, 0.0, 4.0, 3.0]), jnp.zeros(5, bool)
    for number, left, accepted in ((4, [0, 1, 3, 4], []), (3, [0, 3, 4], [1]), (2, [0, 3], [1]), (1, [], [0, 1])):
        alive, found = decide(scores, ~nobody, nobody, jnp.int32(number), 2)
        assert np.flatnonzero(alive).tolist() == left and np.flatnonzero(found).tolist() == accepted


def test_the_targets_of_successive_rejects_are_those_of_exact_fractions():
    for num_arms in (2, 3, 8, 20, 41):
        with jax.enable_x64(True):
            table = jax.jit(
                lambda t, k=num_arms: jb.algorithms.successive_rejects(k, budget=t).init(jax.random.key(0)).schedule
            )
            # Of 8 arms 629 pulls give quotients that are whole, and rounded up in floating point.
            for budget in [*range(num_arms + 1, num_arms + 60), 629, 2000, 10**6, 10**9 + 7]:
                found = np.asarray(table(float(budget)))
                level = reference.Fraction(1, 2) + sum(reference.Fraction(1, i) for i in range(2, num_arms + 1))
                exact = [math.ceil(reference.Fraction(budget - num_arms) / (level * s)) for s in range(2, num_arms + 1)]
                np.testing.assert_array_equal(found[1:], exact)


def test_uniform_allocation():
    rule = functools.partial(jb.algorithms.uniform_allocation, 5, m=2)
    rounds_agree(rule, functools.partial(reference.uniform_allocation, m=2), 5, [5, 9, 100, 204], 1)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["paired_race", pytest.param("kim_nelson", marks=pytest.mark.slow)])
def test_budgeted_race(rule):
    """Some runs end by the race's own rule, some by the budget, which need not be a number of whole rounds."""
    options = {"delta": 0.3, "epsilon": 0.2 if rule == "kim_nelson" else 0.3}
    own = options | ({"variant": "kn", "independent": False, "first_rounds": 10} if rule == "kim_nelson" else {})
    wanted = functools.partial(reference.budgeted_race, rule=unknown_variance.RULES[rule], **own)
    made = functools.partial(jb.algorithms.budgeted_race, 4, rule=rule, **options)
    rounds_agree(made, wanted, 4, [4, 7, 61, 208], 104)
    ends = [sum(map(np.sum, wanted(stream, 208)[0])) for stream in streams_of(4, *LAWS)]
    assert min(ends) < 150 and max(ends) > 190


def test_ucb_e():
    streams, budgets = streams_of(5, "normal", "bernoulli"), [5, 40, 200]
    actions, named = played(functools.partial(jb.algorithms.ucb_e, 5, a=3.0), streams, budgets)
    same, _ = played(lambda budget: jb.algorithms.ucb_e(5, budget=budget, c=3 / budget, h1=1.0), streams, budgets)
    np.testing.assert_array_equal(actions, same)
    for i, budget in enumerate(budgets):
        for k, stream in enumerate(streams):
            expected, means = reference.ucb_e(stream, budget, 3.0, actions[i, k])
            np.testing.assert_array_equal(actions[i, k], [*expected, *[-1] * (MOST - budget)])
            assert means[named[i, k, 0]] >= means.max() - reference.NEAR


@pytest.mark.parametrize("m", [1, 2])
def test_ugape_b(m):
    streams, budgets = streams_of(5, "normal"), [5, 6, 40, 200]
    actions, named = played(functools.partial(jb.algorithms.ugape_b, 5, m=m, a=3.0), streams, budgets)
    for i, budget in enumerate(budgets):
        expected, arms = reference.ugape_b(streams[0], budget, 3.0, m)
        np.testing.assert_array_equal(actions[i, 0], [*expected, *[-1] * (MOST - budget)])
        np.testing.assert_array_equal(named[i, 0], arms)


def test_the_worst_are_dropped_the_highest_of_equal_ones_first():
    rng, drop = np.random.default_rng(3), jax.jit(elimination.worst_dropped)
    for n in (90, elimination.SORTED + 90):  # one after the other, and sorted
        scores = rng.integers(-2, 2, n).astype(np.float32)
        alive = rng.random(n) < 0.8
        for number in (1, 20, int(alive.sum()), n):
            order = [arm for arm in np.argsort(-scores, kind="stable") if alive[arm]]
            found = drop(jnp.asarray(scores), jnp.asarray(alive), jnp.int32(number))
            np.testing.assert_array_equal(np.flatnonzero(found), np.sort(order[:number]))


RULES = {
    "budgeted_race": (5, {"epsilon": 0.1}),
    "sequential_halving": (15, {}),  # five arms need three rounds
    "successive_rejects": (6, {}),
    "ucb_e": (5, {"a": 1.0}),
    "ugape_b": (5, {"a": 1.0}),
    "uniform_allocation": (5, {}),
}


@pytest.mark.parametrize("name", RULES)
def test_a_budget_that_is_none_is_refused_in_one_line(name):
    least, more = RULES[name]
    rule = functools.partial(getattr(jb.algorithms, name), 5, **more)
    assert rule(budget=least).budget == least and rule(budget=float(least)).name == name
    for bad in (least - 1, 0, -3, 100.5, math.nan, math.inf, 10**16, True, "100", None, [100]):
        with pytest.raises(ValueError, match=rf"^{name}: budget = .*, must be a whole number of pulls in \[{least}, "):
            rule(budget=bad)
    if name != "budgeted_race":  # it has no race of one arm
        with pytest.raises(ValueError, match=rf"^{name}: budget = True, "):  # though 1 would do
            getattr(jb.algorithms, name)(1, budget=True, **more)


def test_one_arm_is_recommended_without_a_pull():
    for name in ("sequential_halving", "successive_rejects", "uniform_allocation"):  # of m = 1, the default
        algorithm = getattr(jb.algorithms, name)(1, budget=10)
        state = algorithm.init(jax.random.key(0))
        assert bool(algorithm.stop(state)) and np.asarray(algorithm.recommend(state)).tolist() == [0]


def test_other_arguments_are_refused_in_one_line():
    with pytest.raises(ValueError, match=r"^ucb_e: neither a nor c given, must be either a or both of c and h1$"):
        jb.algorithms.ucb_e(5, budget=10)
    with pytest.raises(ValueError, match=r"^ucb_e: a, h1 given, must be either a or both of c and h1$"):
        jb.algorithms.ucb_e(5, budget=10, a=1.0, h1=2.0)
    for name in ("sequential_halving", "successive_rejects", "uniform_allocation"):
        with pytest.raises(ValueError, match=rf"^{name}: m = 5, must be an integer in \[1, 4\]$"):
            getattr(jb.algorithms, name)(5, budget=100, m=5)
    with pytest.raises(
        ValueError, match=r"^sequential_halving: reading = 'rounds', must be one of all, round; did you"
    ):
        jb.algorithms.sequential_halving(5, budget=100, reading="rounds")
