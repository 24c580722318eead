"""The paired race for the m best arms, with a least number of rounds, with rounded rewards and where rewards tie."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import unknown_variance as reference

import jaxbandit as jb
from jaxbandit.algorithms.best_arm.claims import decided
from jaxbandit.theory.comparisons import achieved

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

NUM_ARMS, ROUNDS = 6, 150
RNG = np.random.default_rng(5)
NOISE = RNG.normal(size=(ROUNDS, NUM_ARMS)) * [0.1, 0.3, 0.2, 0.4, 0.1, 0.3] + RNG.normal(size=(ROUNDS, 1))
MEANS = np.array([0.0, 0.9, 0.3, 0.6, 1.2, 0.3])
SHIFTED = MEANS + NOISE
TIED = np.repeat(SHIFTED[:, [4, 1, 2]], 2, 1)[:, [0, 2, 1, 3, 4, 5]]  # three pairs of equal arms
BEHIND = np.round(NOISE[:, :1] * 32) / 32 + np.array([0.5, 0.25, 0.25, 0.75, 0.25, 0.0])  # nothing but constants
CASES = {  # rewards, delta, epsilon, min_pulls, resolution
    "plain": (SHIFTED, 0.1, 0.0, 1.0, 0.0),
    "epsilon": (SHIFTED, 0.05, 0.2, 1.0, 0.0),
    "another order": (SHIFTED[:, ::-1], 0.2, 0.05, 1.0, 0.0),
    "min_pulls": (SHIFTED, 0.1, 0.3, 40.0, 0.0),
    "rounded": (np.round(SHIFTED * 8) / 8, 0.1, 0.6, 1.0, 0.125),
    "rounded, no tolerance": (np.round(SHIFTED * 16) / 16, 0.1, 0.0, 1.0, 0.0625),
    "ties": (TIED, 0.1, 0.0, 1.0, 0.0),
    "constants": (BEHIND, 0.1, 0.0, 1.0, 0.0),
    "constants, min_pulls": (BEHIND, 0.1, 0.0, 17.0, 0.0),
    "constants, resolution": (BEHIND, 0.1, 0.1, 1.0, 0.06),
    "never": (SHIFTED, 0.1, 0.0, 151.0, 0.0),
}


def play(m):
    """Of each case the arms pulled in each round, whether it had stopped before it, what is recommended and left."""

    @jax.jit
    @jax.vmap
    def run(rows, delta, epsilon, min_pulls, resolution):
        rule = jb.algorithms.paired_race(
            NUM_ARMS, m=m, delta=delta, epsilon=epsilon, min_pulls=min_pulls, resolution=resolution
        )

        def body(state, row):
            plan = rule.batch.plan(state)
            seen = plan, rule.stop(state), rule.recommend(state), rule.survivors(state)
            return rule.batch.absorb(state, plan, jnp.where(plan > 0, row, 0.0)), seen

        state, seen = jax.lax.scan(body, rule.init(jax.random.key(0)), rows)
        last = rule.batch.plan(state), rule.stop(state), rule.recommend(state), rule.survivors(state)
        return jax.tree.map(lambda many, one: jnp.concatenate([many, one[None]]), seen, last)

    with jax.enable_x64(True):
        return jax.tree.map(
            np.asarray, run(*(jnp.asarray(np.stack(part)) for part in zip(*CASES.values(), strict=True)))
        )


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_same_rounds_and_same_arms_as_the_reference(m):
    plans, stopped, recommended, survivors = play(m)
    ends = {}
    for c, (name, (rows, *options)) in enumerate(CASES.items()):
        rounds, arms = reference.paired_top(rows, m, *options)
        end = ends[name] = len(rounds)
        assert [np.flatnonzero(plan).tolist() for plan in plans[c, :end]] == rounds, name
        assert (plans[c, :end] <= 1).all() and not stopped[c, :end].any()
        assert stopped[c, end] == (arms is not None)
        if arms is not None:
            means = {a: rows[: sum(a in each for each in rounds), a].mean() for a in arms}
            assert recommended[c, end].tolist() == sorted(arms, key=lambda a: (-means[a], a))
            assert np.flatnonzero(survivors[c, end]).tolist() == sorted(arms)
        for n in range(end):
            assert survivors[c, n][rounds[n]].all() and survivors[c, n][recommended[c, n]].all()
    assert ends["never"] == ROUNDS and all(ends[name] < ROUNDS for name in list(CASES)[:5])
    first = next(n for n in range(1, 99) if reference.squared_radius(n, 0.1 / (m * (NUM_ARMS - m))) < np.inf)
    assert ends["constants"] == first <= ends["constants, resolution"]
    assert m != 3 or first < ends["constants, resolution"]  # there the third and the fourth arm tie
    assert ends["constants, min_pulls"] == 17 and ends["min_pulls"] >= 40


def test_arms_decided_by_claims_are_those_in_every_order_that_agrees_or_in_none():
    """Of all sets of k arms those that no better arm is outside of, for 200 random orders of 5 or 6 arms."""
    rng = np.random.default_rng(1)
    run = jax.jit(decided)
    for _ in range(200):
        places, undecided = rng.integers(1, 5), rng.permutation(6) != 0
        order = rng.permutation(6)
        claims = (order[:, None] < order) & (rng.random((6, 6)) < rng.choice([0.15, 0.4]))
        some = np.flatnonzero(undecided)
        sets = [np.flatnonzero([(code >> i) & 1 for i in range(6)]) for code in range(64)]
        sets = [chosen for chosen in sets if len(chosen) == places and np.isin(chosen, some).all()]
        agree = [s for s in sets if not any(claims[i, j] for j in s for i in np.setdiff1d(some, s))]
        counts = np.bincount(np.concatenate(agree), minlength=6)
        accepted, rejected = map(np.asarray, run(jnp.asarray(claims), jnp.asarray(undecided), jnp.int32(places)))
        np.testing.assert_array_equal(accepted, undecided & (counts == len(agree)))
        np.testing.assert_array_equal(rejected, undecided & (counts == 0))


@pytest.mark.parametrize("num_arms", [2, 3, 6, 7])
def test_the_longest_chain_of_claims_decides_about_all_arms(num_arms):
    """Each arm is only known to be better than the next one."""
    claims = np.eye(num_arms, k=1, dtype=bool)
    for m in range(1, num_arms):
        best = np.arange(num_arms) < m
        accepted, rejected = decided(jnp.asarray(claims), jnp.ones(num_arms, bool), jnp.int32(m))
        np.testing.assert_array_equal(accepted, best)
        np.testing.assert_array_equal(rejected, ~best)
        if m > 1:
            comparison = Claims(num_arms, list(zip(*np.nonzero(claims), strict=True)))
            np.testing.assert_array_equal(achieved.excluded(comparison, m), ~best)
            assert achieved.achieved_epsilon(comparison, np.arange(m)) == 0


@pytest.mark.parametrize(("rounds", "price"), [(10, 0.0081), (20, 0.0055), (32, 0.0048)])
def test_equal_arms_of_rounded_rewards_end_when_the_resolution_allows_it(rounds, price):
    """U - c = .0081, .0055, .0048 after 10, 20, 32 rounds, as specified for 12 arms and rewards in 360ths."""
    rewards = np.tile(np.round(360 * np.linspace(0.7, 0.9, rounds))[:, None] / 360, 12)

    @jax.jit
    def stopped(epsilon):
        rule = jb.algorithms.paired_race(12, epsilon=epsilon, resolution=1 / 360)

        def absorb(state, row):
            return rule.batch.absorb(state, rule.batch.plan(state), row), None

        return rule.stop(jax.lax.scan(absorb, rule.init(jax.random.key(0)), jnp.asarray(rewards))[0])

    with jax.enable_x64(True):
        assert not stopped(jnp.float64(price - 0.00005)) and stopped(jnp.float64(price + 0.00005))


def test_a_certificate_of_a_race_for_several_arms_states_at_most_its_epsilon():
    """Its claims are a part of those by which the achieved epsilon is computed, with the same chains."""
    rng = np.random.default_rng(0)
    rule = jb.algorithms.paired_race(8, m=3, delta=0.05, epsilon=0.1)
    for _ in range(5):
        session = jb.session(rule, paired=True)
        while not session.stopped:
            session, pulls = jb.ask(session)
            row = np.arange(8) * -0.15 + np.linspace(0.1, 0.5, 8) * rng.normal(size=8)
            session = jb.tell(session, pulls.id, row[pulls.arm])
        found = jb.certificate(session)
        assert found.stopped and found.guarantee.m == 3 and found.achieved <= 0.1
        assert found.promise.startswith("the recommended arms are the 3 best or within 0.1 of them with")
        assert found.survivors.sum() == 3 and found.survivors[found.recommendation].all()


class Claims:
    """A comparison of which only the claims are known: arm i exceeds arm l by at least 1, or by at least -2."""

    def __init__(self, num_arms, pairs):
        self.num_arms, self.pairs = num_arms, pairs

    def claims(self):
        found = np.zeros((self.num_arms, self.num_arms), bool)
        for better, worse in self.pairs:
            found[worse, better] = True
        return found

    def upper(self, arm):
        return np.where(self.claims()[:, arm], -1.0, 2.0)


@pytest.mark.parametrize(
    ("pairs", "out", "price"),
    [
        ([], [], 2.0),
        ([(0, 2), (2, 3), (3, 4), (1, 3)], [3, 4], 2.0),  # arm 2 may be better than arm 1
        ([(0, 2), (2, 3), (3, 4), (1, 2)], [2, 3, 4], 0.0),  # each of 0 and 1 exceeds three, by chains
        ([(0, 2), (2, 3), (3, 4), (0, 1)], [3, 4], 2.0),  # arm 0 is one of the best, arm 1 or arm 2 the other
        ([(0, 1), (1, 0)], [], 2.0),  # a circle of false claims says nothing of a third arm
    ],
)
def test_chains_of_claims_for_the_two_best_of_five(pairs, out, price):
    comparison = Claims(5, pairs)
    assert np.flatnonzero(achieved.excluded(comparison, 2)).tolist() == out
    assert achieved.achieved_epsilon(comparison, [0, 1]) == price
    assert pairs or achieved.achieved_epsilon(comparison, [3, 4]) == price


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"m": 3}, "paired_race: m = 3, must be an integer in [1, 2]"),
        ({"m": 0}, "paired_race: m = 0, must be an integer in [1, 2]"),
    ],
)
def test_refusals(arguments, refused):
    with pytest.raises(ValueError) as error:
        jb.algorithms.paired_race(3, **arguments)
    assert refused in str(error.value)


GAUSSIAN = jb.environments.gaussian(-0.1 * np.arange(12), sigma=np.linspace(0.1, 0.5, 12))
TOP = {  # pulls as specified, with their standard error; noise that all arms share changes nothing
    "recorded, common rows": (jb.environments.fiesta(rows="common"), [0.005], [(1062, 27)]),
    "recorded": (jb.environments.fiesta(), [0.005, 0.01], [(2522, 60), (1011, 19)]),
    "gaussian": (GAUSSIAN, [0.0, 0.05], [(423, 10), (312, 6)]),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", TOP)
def test_pulls_for_the_three_best_as_specified(name):
    """Within three standard errors; one seed in 300 would fail in one of the five. No run may be wrong.

    A tenth more or less is noticed.
    """
    environment, epsilons, figures = TOP[name]
    found = jb.sweep(partial(jb.algorithms.paired_race, 12, m=3), environment, {"epsilon": epsilons}, num_runs=60)
    for result, (mean, error) in zip(found, figures, strict=True):
        samples = result.samples()
        assert abs(samples.mean() - mean) < 3 * np.hypot(error, samples.std() / 60**0.5), (samples.mean(), mean)
        assert not result.errors().any()


@pytest.mark.statistical
def test_pulls_with_a_least_number_of_rounds_as_specified():
    """Within three standard errors, which for 29 and 49 rounds are small: every run ends a few rounds after them."""
    figures = {1: (189, 3), 14: (205, 2), 29: (353, 1), 49: (588, 1)}
    rule, environment = partial(jb.algorithms.paired_race, 12, epsilon=0.01), jb.environments.fiesta(rows="common")
    found = jb.sweep(rule, environment, {"min_pulls": list(figures)}, num_runs=100)
    for result, (mean, error) in zip(found, figures.values(), strict=True):
        samples = result.samples()
        assert abs(samples.mean() - mean) < 3 * np.hypot(error, samples.std() / 10), (samples.mean(), mean)
