"""Bounds of differences of means for all sample sizes at once, against their formulas and the probability promised."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from jaxbandit.theory.comparisons import achieved
from jaxbandit.theory.comparisons.arms import ArmBounds, normal_arms
from jaxbandit.theory.comparisons.betting import STAKES, BoundedDifferences, log_mixture, mixture_upper
from jaxbandit.theory.comparisons.outliers import outlier
from jaxbandit.theory.comparisons.pairs import PairedDifferences, radius, smallest_sample

NAN = math.nan


def radius_by_hand(n, log_alpha):
    """r_n from the formulas, with c2 from Lambert's W; infinite if nothing is known."""
    c2 = 20 / (-special.lambertw(-math.exp(-(1 - 2 * log_alpha)), -1).real - 1)
    s = math.sqrt(c2 / (n + c2))
    log_a2 = math.log(2) + log_alpha - math.log1p(math.exp(log_alpha) * s)
    z = -math.expm1((2 * log_a2 + math.log(c2 / (n + c2))) / n) * (n + c2)
    return math.sqrt(z / (n - z)) if n >= 2 and z < n else math.inf


def normal_by_hand(differences, log_alpha, min_size=1, resolution=0.0):
    """The least bound over all prefixes of at least `min_size`."""
    bounds = [math.inf]
    for n in range(max(min_size, 2), len(differences) + 1):
        r, part = radius_by_hand(n, log_alpha), differences[:n]
        if r < math.inf:
            bounds.append(part.mean() + resolution + (part.std() + resolution) * r)
    return min(bounds)


def wealth_by_hand(differences, mean):
    """The mixture of products for the whole sample."""
    shares = [1 / ((j + 1) * (j + 2)) for j in range(16)]
    stakes = [0.98 * 2 ** (-j / 2) for j in range(16)]
    products = [math.prod(1 + g * (mean - d) / (1 - mean) for d in differences) for g in stakes]
    return sum(w * p for w, p in zip(shares, products, strict=True)) / sum(shares)


def common(samples, one, other, first=0):
    """The differences of two arms from row `first` to the first gap."""
    n = min(len(samples[one]), len(samples[other]))
    apart = np.asarray(samples[one][first:n], float) - np.asarray(samples[other][first:n], float)
    gaps = np.flatnonzero(np.isnan(apart))
    return apart[: gaps[0]] if len(gaps) else apart


def drawn(gap=0.05, lengths=(30, 12, 25, 0, 30, 7)):
    """Scores in [0, 0.8] of arms with different numbers of rows, and two gaps."""
    rng = np.random.default_rng(3)
    table = rng.normal(0.2 + gap * np.arange(6), 0.06, (30, 6)) + rng.normal(0, 0.08, (30, 1))
    table = np.clip(table, 0, 0.8)
    samples = [table[:n, i].copy() for i, n in enumerate(lengths)]
    samples[2][20], samples[4][9] = NAN, NAN
    return samples


K = 6
FIRST = np.maximum.outer([0, 0, 0, 2, 5, 5], [0, 0, 0, 2, 5, 5])  # rows of newcomers that count
LEVELS = np.log(0.05 / 5 / 2.0 ** np.maximum.outer([0, 0, 0, 1, 2, 2], [0, 0, 0, 1, 2, 2]))
CASES = {
    "plain": {"log_alpha": math.log(0.01)},
    "later rows at other levels": {"log_alpha": LEVELS, "first": FIRST},
    "min_size": {"log_alpha": math.log(0.01), "min_size": 11},
    "all": {"log_alpha": LEVELS, "first": FIRST, "min_size": 6},
}


@pytest.mark.parametrize("resolution", [0.0, 0.01])
@pytest.mark.parametrize("case", CASES)
def test_pairs_are_bounded_as_by_hand(case, resolution):
    own, samples = CASES[case], drawn()
    pairs = PairedDifferences(K, **own, resolution=resolution)
    pairs.enter(samples)
    levels, first = (np.broadcast_to(own.get(name, 0), (K, K)) for name in ("log_alpha", "first"))
    finite = 0
    for one, other in itertools.permutations(range(K), 2):
        apart = common(samples, one, other, first[one, other])
        expected = normal_by_hand(apart, levels[one, other], own.get("min_size", 1), resolution)
        assert pairs.bounds[one, other] == pytest.approx(expected, rel=1e-9, abs=1e-12), (one, other)
        assert pairs.upper(other)[one] == pairs.bounds[one, other]
        assert pairs.sizes[one, other] == len(apart)
        finite += expected < math.inf
    assert finite >= 4 and np.all(np.diag(np.stack([pairs.upper(i) for i in range(K)])) == 0)
    assert np.array_equal(pairs.means, -pairs.means.T)
    np.testing.assert_array_equal(pairs.claims(), pairs.bounds < 0)
    np.testing.assert_array_equal(pairs.excluded(), (pairs.bounds < 0).any(axis=1))


@pytest.mark.parametrize("case", CASES)
def test_bounded_scores_are_compared_as_by_hand(case):
    width = 0.8
    own, samples = CASES[case], drawn(gap=0.15)
    pairs = BoundedDifferences(K, own["log_alpha"], width, **{k: v for k, v in own.items() if k != "log_alpha"})
    pairs.enter(samples)
    levels, first = (np.broadcast_to(own.get(name, 0), (K, K)) for name in ("log_alpha", "first"))
    low = own.get("min_size", 1)
    for one, other in itertools.permutations(range(K), 2):
        apart = common(samples, one, other, first[one, other]) / width
        wealth = [wealth_by_hand(apart[:n], 0.0) for n in range(low, len(apart) + 1)]
        assert pairs.claims()[one, other] == (max(wealth, default=0) >= math.exp(-levels[one, other])), (one, other)
        assert pairs.sizes[one, other] == len(apart)
        expected = width * mixture_upper(apart, math.exp(levels[one, other]), min_size=low)
        assert pairs.upper(other)[one] == pytest.approx(expected, rel=1e-12)
    assert pairs.claims().any() and not pairs.claims().all()
    np.testing.assert_array_equal(pairs.excluded(), pairs.claims().any(axis=1))


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-4])
@pytest.mark.parametrize("kind", ["narrow", "two values", "wide"])
def test_bound_of_bets_is_the_least_mean_with_enough_wealth(kind, alpha):
    rng = np.random.default_rng(5)
    differences = {
        "narrow": rng.normal(-0.3, 0.05, 40),
        "two values": rng.choice([-1.0, 1.0], 60),
        "wide": rng.uniform(-1, 1, 50),
    }[kind]
    for low in (1, 25):
        bound = mixture_upper(differences, alpha, min_size=low)
        prefixes = [differences[:n] for n in range(low, len(differences) + 1)]
        assert -1 < bound < 1
        assert max(wealth_by_hand(part, bound) for part in prefixes) >= (1 - 1e-9) / alpha
        assert max(wealth_by_hand(part, bound - 1e-9) for part in prefixes) < 1 / alpha


def test_long_samples_with_few_values_are_looked_at_from_time_to_time():
    rng = np.random.default_rng(6)
    differences = rng.choice([-1.0, 0.0, 1.0], 1500, p=[0.2, 0.7, 0.1])
    logs = np.log1p(STAKES * (0.0 - differences[:, None]))  # of bets against a mean of at least 0
    exact = log_mixture(np.cumsum(logs, axis=0))
    assert np.exp(exact[20]) == pytest.approx(wealth_by_hand(differences[:21], 0.0), rel=1e-12)
    bound = mixture_upper(differences, 0.01)
    by_row = mixture_upper(differences + 1e-12 * rng.random(1500), 0.01)  # all values differ: every prefix is looked at
    assert by_row - 1e-9 <= bound <= by_row + 0.01 and bound < 0
    alone = mixture_upper(differences, 0.01, min_size=1500)  # the whole sample is always looked at
    assert bound <= alone < 1
    assert wealth_by_hand(differences, alone) == pytest.approx(100, rel=1e-6)
    assert mixture_upper(differences, 0.01, min_size=1501) == 1


def test_nothing_is_known_without_rows():
    assert mixture_upper(np.zeros(0), 0.05) == 1
    for pairs in (PairedDifferences(3, math.log(0.05)), BoundedDifferences(3, math.log(0.05), 2.0)):
        pairs.enter([[], [1.0], [0.5]])
        pairs.enter([[], [1.0], [0.5]])
        assert not pairs.excluded().any() and not pairs.claims().any()
        assert pairs.upper(0)[0] == 0 and pairs.sizes.max() == 1
        assert achieved.achieved_epsilon(pairs, [1]) == (math.inf if isinstance(pairs, PairedDifferences) else 2.0)
    alone = PairedDifferences(1, 0.0)
    alone.enter([[1.0, 2.0]])
    assert achieved.achieved_epsilon(alone, [0]) == 0 and not alone.excluded().any()


def test_bets_are_looked_at_from_the_smallest_size_on():
    for size, claimed in ((19, False), (20, True)):
        pairs = BoundedDifferences(2, math.log(0.05), 1.0, min_size=20)
        pairs.enter([np.zeros(size), np.ones(size)])
        assert pairs.excluded().tolist() == [claimed, False]
        assert (pairs.upper(1)[0] < 0) == claimed


@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True])
def test_any_order_of_entering_gives_the_same_bytes(bounded):
    samples = [list(sample) for sample in drawn(gap=0.15)]
    own = {"first": FIRST, "min_size": 3}

    def fresh():
        return BoundedDifferences(K, LEVELS, 1.0, **own) if bounded else PairedDifferences(K, LEVELS, **own)

    at_once = fresh()
    at_once.enter(samples)
    rng = np.random.default_rng(1)
    for step in (1, 5):
        pairs, lengths = fresh(), np.zeros(K, int)
        while any(n < len(sample) for n, sample in zip(lengths, samples, strict=True)):
            lengths[rng.integers(K)] += step
            pairs.enter([sample[:n] for n, sample in zip(lengths, samples, strict=True)])
        for arm in range(K):
            assert pairs.upper(arm).tobytes() == at_once.upper(arm).tobytes()
        assert pairs.claims().tobytes() == at_once.claims().tobytes()


def test_a_gap_that_is_filled_is_as_if_it_had_never_been():
    samples = [list(sample) for sample in drawn()]
    full = [list(sample) for sample in samples]
    full[2][20] = full[4][9] = 0.5
    late, at_once = PairedDifferences(K, -4.0), PairedDifferences(K, -4.0)
    late.enter(samples)
    before = late.bounds.copy()
    late.enter(full)
    at_once.enter(full)
    assert late.bounds.tobytes() == at_once.bounds.tobytes()
    assert np.all(late.bounds <= before) and np.any(late.bounds < before)


def test_an_effect_of_the_seed_on_all_arms_changes_nothing():
    samples = [sample for sample in drawn() if len(sample) > 10]
    seeds = np.random.default_rng(2).normal(0, 10, 30)
    one, other = PairedDifferences(4, -4.0), PairedDifferences(4, -4.0)
    one.enter(samples)
    other.enter([sample + seeds[: len(sample)] for sample in samples])
    np.testing.assert_allclose(one.bounds, other.bounds, rtol=1e-8)


# r_n, n0 and the prices of levels and ties as the derivation of these bounds states them, to the digits printed.
RADII = {
    (12, 10): 1.8999, (12, 20): 0.9742, (12, 50): 0.5541, (12, 100): 0.3853, (12, 400): 0.1959,
    (2, 10): 1.1748, (2, 100): 0.2992, (128, 10): 2.9555, (128, 100): 0.4583,
}  # fmt: skip


def test_radii_and_first_sizes_are_those_of_the_literature():
    for (arms, n), expected in RADII.items():
        found = radius(np.float64(n), math.log(0.05 / (arms - 1)))
        assert found == pytest.approx(expected, abs=6e-5)
        assert found == pytest.approx(radius_by_hand(n, math.log(0.05 / (arms - 1))), rel=1e-10)
    first = {2: 6, 4: 6, 8: 7, 12: 7, 32: 8, 128: 8, 1000: 9}
    assert {k: smallest_sample(achieved.log_level(0.05, k)) for k in first} == first
    assert radius(np.float64(1), math.log(0.5)) == math.inf


def test_a_smaller_level_costs_a_few_rounds():
    n = np.arange(2.0, 100)
    rounds = [int(n[0.03 * radius(n, math.log(0.05 / share / 19)) < 0.02][0]) for share in (1, 2, 4, 20)]
    assert rounds == [40, 44, 48, 58]


def test_level_of_a_pair():
    assert achieved.log_level(0.1, 5) == pytest.approx(math.log(0.1 / 4))
    assert achieved.log_level(0.1, 12, 3) == pytest.approx(math.log(0.1 / 27))
    assert achieved.log_level(0.1, 1) == pytest.approx(math.log(0.1))


# ---- constant differences


def test_a_constant_difference_is_known_from_the_first_bound_on():
    noise = np.random.default_rng(0).normal(0.5, 0.1, 30)
    samples = [noise, noise.copy(), noise - 0.1, noise + 0.02]  # equal, worse and better
    for low, size in ((1, smallest_sample(math.log(0.01))), (14, 14)):
        pairs = PairedDifferences(4, math.log(0.01), min_size=low)
        pairs.enter([sample[: size - 1] for sample in samples])
        assert np.all(np.isinf(pairs.bounds[~np.eye(4, dtype=bool)]))
        pairs.enter([sample[:size] for sample in samples])
        np.testing.assert_allclose(pairs.upper(3)[:3], [-0.02, -0.02, -0.12], atol=1e-12)
        assert pairs.bounds[0, 1] == 0 == pairs.bounds[1, 0]
        assert pairs.excluded().tolist() == [True, True, True, False]
    tied = PairedDifferences(2, math.log(0.05))
    tied.enter(samples[:2])
    assert not tied.excluded().any() and achieved.achieved_epsilon(tied, [0]) == 0


def test_rounded_scores_that_differ_by_a_constant_have_a_bound():
    for n, expected in {10: 0.0081, 20: 0.0055, 32: 0.0048}.items():
        pairs = PairedDifferences(2, math.log(0.05 / 11), resolution=1 / 360)
        pairs.enter([np.full(n, 0.7), np.full(n, 0.5)])
        assert pairs.bounds[0, 1] - 0.2 == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize(("n", "expected"), [(60, 0.096), (600, 0.0101)])
def test_bounded_scores_that_never_differ(n, expected):
    alpha = 0.05 / 11
    bound = mixture_upper(np.zeros(n), alpha)
    assert bound == pytest.approx(expected, rel=0.01)
    assert bound > 1 - alpha ** (1 / n)  # no proof without other assumptions can be better


# ---- what is achieved


def test_bounds_of_arms_compare_as_by_hand():
    low, high = np.array([0.2, -math.inf, 0.5, 0.1, -math.inf]), np.array([0.4, 0.3, 0.9, math.inf, math.inf])
    arms = ArmBounds(low, high)
    assert arms.num_arms == 5
    for one, other in itertools.product(range(5), repeat=2):
        assert arms.claims()[one, other] == (high[one] < low[other])
        bound = arms.upper(other)[one]
        known = high[one] < math.inf and low[other] > -math.inf
        assert bound == (0 if one == other else high[one] - low[other] if known else math.inf)
    assert arms.excluded().tolist() == [True, True, False, False, False]
    assert achieved.achieved_epsilon(arms, [2]) == math.inf
    assert achieved.achieved_epsilon(ArmBounds(low[:3], high[:3]), [2]) == 0
    assert achieved.achieved_epsilon(ArmBounds(low[:3], high[:3]), [0]) == pytest.approx(0.7)


def test_bounds_of_normal_arms():
    rng = np.random.default_rng(4)
    samples = [rng.normal(size=n) for n in (0, 1, 5, 40)] + [np.full(40, 0.3)]
    n = np.array([len(sample) for sample in samples])
    means = np.array([sample.mean() if len(sample) else NAN for sample in samples])
    variances = np.array([sample.var() if len(sample) else NAN for sample in samples])
    low, high = normal_arms(n, means, variances, math.log(0.01))
    half = samples[3].std() * radius_by_hand(40, math.log(0.01))
    assert (low[3], high[3]) == pytest.approx((means[3] - half, means[3] + half))
    unknown = [0, 1, 2, 4]  # too few, and a constant, of which nothing is known
    assert np.all(low[unknown] == -math.inf) and np.all(high[unknown] == math.inf)


class Claimed:
    """Bounds that are given."""

    def __init__(self, bounds):
        self.bounds, self.num_arms = np.array(bounds, float), len(bounds)

    def claims(self):
        return self.bounds < 0

    def excluded(self):
        return np.asarray(self.claims().any(axis=1))

    def upper(self, arm):
        return self.bounds[:, arm]


def test_more_than_m_arms_cannot_be_among_the_m_best():
    """Two pairs of arms that exceed each other: no three of the four can be the three best, and none is excluded."""
    bounds = np.zeros((4, 4))
    bounds[0, 1] = bounds[1, 0] = bounds[2, 3] = bounds[3, 2] = -1.0
    comparison = Claimed(bounds)
    assert not achieved.excluded(comparison, 3).any() and achieved.nobody_left(comparison, 3)
    assert achieved.achieved_epsilon(comparison, [0, 1, 2]) == math.inf
    assert not achieved.nobody_left(comparison, 2) and achieved.achieved_epsilon(comparison, [0, 1]) == 0


@pytest.mark.parametrize("m", [1, 2, 3])
def test_what_is_achieved_for_m_arms_is_as_by_hand(m):
    rng = np.random.default_rng(m)
    for _ in range(50):
        bounds = rng.normal(0.3, 0.5, (6, 6))
        np.fill_diagonal(bounds, 0)
        comparison = Claimed(bounds)
        below = bounds < 0  # for several arms, also by chains
        for middle in range(6) if m > 1 else ():
            below |= below[:, [middle]] & below[middle]
        np.fill_diagonal(below, False)
        out = (below.sum(axis=1) >= m).tolist()
        assert achieved.excluded(comparison, m).tolist() == out
        arms = rng.permutation(6)[:m]
        rivals = [i for i in range(6) if i not in arms and not out[i]]
        sure = [b for b in arms if m > 1 and below[:, b].sum() >= 6 - m]
        pairs = [(i, b) for i in rivals for b in arms if b not in sure and not (m > 1 and below[i, b])]
        best = [b for b in range(6) if below[:, b].sum() >= 6 - m]
        nobody = out.count(False) < m or len(best) > m
        if nobody:  # then no m arms are such that no other arm exceeds one of them
            sets = map(list, itertools.combinations(range(6), m))
            assert all(below[np.ix_(some, np.setdiff1d(range(6), some))].any() for some in sets)
        assert achieved.nobody_left(comparison, m) == nobody
        expected = math.inf if nobody else max([0.0] + [bounds[i, b] for i, b in pairs])
        assert achieved.achieved_epsilon(comparison, arms) == expected
    assert achieved.achieved_epsilon(comparison, 0) == achieved.achieved_epsilon(comparison, [0])


def test_recommended_has_the_largest_mean_of_those_with_the_most_scores():
    bounds = np.full((5, 5), math.inf)
    comparison = Claimed(bounds)
    everyone = np.ones(5, bool)
    counts, means = np.array([3, 9, 9, 9, 1]), np.array([0.9, 0.5, 0.7, 0.7, 1.0])
    assert achieved.recommendation(comparison, counts, means, everyone) == 2  # the lower of two equal ones
    assert (
        achieved.recommendation(comparison, np.array([3, 9, 8, 8, 7]), means, everyone) == 2
    )  # the last round was cut
    # A round that the budget has cut: arm 1 has had its turn, and is not better for it. Two scores fewer are a round.
    cut, better = np.array([3, 9, 8, 7, 1]), np.array([0.9, 0.5, 0.7, 0.8, 1.0])
    assert achieved.recommendation(comparison, cut, better, everyone) == 2
    bounds[2, 3] = -0.1
    assert achieved.recommendation(Claimed(bounds), counts, means, everyone) == 3
    assert achieved.recommendation(Claimed(bounds), counts, means, np.array([1, 0, 1, 0, 1], bool)) == 0
    bounds[:, 0] = bounds[0, :] = -0.1  # all are excluded: bounds were wrong, and something has to be recommended
    assert achieved.recommendation(Claimed(bounds), counts, means, everyone) == 2
    assert achieved.recommendation(comparison, np.zeros(5, int), np.full(5, NAN), everyone) == 0


def test_no_bound_needs_a_chain_and_one_excluded_arm_may_exclude_another():
    bounds = np.full((3, 3), math.inf)
    np.fill_diagonal(bounds, 0)
    bounds[1, 0] = bounds[2, 1] = -0.1  # the best excludes arm 1, and arm 1 had excluded arm 2 before
    assert Claimed(bounds).excluded().tolist() == [False, True, True]
    assert achieved.achieved_epsilon(Claimed(bounds), [0]) == 0


# ---- outliers


def test_outliers_are_those_of_the_test_of_grubbs():
    rng = np.random.default_rng(8)
    for n, pairs in ((4, 1), (10, 11), (50, 3)):
        t = stats.t.isf(0.01 / (2 * n * pairs), n - 2)
        limit = (n - 1) / math.sqrt(n) * math.sqrt(t**2 / (n - 2 + t**2))
        seen = set()
        for size in np.concatenate([np.linspace(0, 9, 40), [100, 1e4, 1e6]]):
            x = rng.normal(size=n)
            x[n // 2] += size
            deviation = np.abs(x - x.mean()).max() / x.std(ddof=1)
            assert outlier(x, pairs) == (pytest.approx(deviation) if deviation > limit else None)
            seen.add(bool(deviation > limit))
        assert len(seen) == 2
    assert outlier(np.array([0.0, 0.0, 1e9]), 1) is None and outlier(np.zeros(20), 1) is None


# ---- the probability that is promised; each of these tests fails with probability below 0.001 if it is kept


def at_most(wrong, runs, delta):
    """Whether so many errors are compatible with a probability of at most delta."""
    return stats.binom.sf(wrong - 1, runs, delta) > 1e-3


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_all_bounds_of_the_best_arm_hold_at_all_times(delta):
    """Gaussian arms of unequal variances: the share of runs in which some bound of the best arm is ever wrong."""
    runs, arms, rows = 400, 12, 300
    rng = np.random.default_rng(11)
    sds = np.linspace(0.5, 2, arms)
    n = np.arange(1.0, rows + 1)
    r = radius(n, achieved.log_level(delta, arms))
    wrong = np.zeros(runs, bool)
    for run in range(runs):
        x = rng.normal(0, sds, (rows, arms))
        apart = x[:, :1] - x[:, 1:]
        means = np.cumsum(apart, axis=0) / n[:, None]
        variances = np.maximum(np.cumsum(apart**2, axis=0) / n[:, None] - means**2, 0)
        with np.errstate(invalid="ignore"):
            wrong[run] = np.any(means + np.sqrt(variances) * r[:, None] < 0)  # 0 infinite: nothing is known
    assert wrong.sum() > 0 and at_most(wrong.sum(), runs, delta)


@pytest.mark.statistical
def test_a_bet_on_rare_events_is_wrong_at_most_as_often_as_promised():
    """Outcomes of 0 and 1 at rate 0.05 in both arms, n <= 1,000, which come near the level: 0.03 of 0.05."""
    runs, rows, enough = 2000, 1000, -math.log(0.05)
    rng = np.random.default_rng(12)
    wrong = 0
    logs = {d: np.log1p(-STAKES * d) for d in (-1, 1)}
    for _ in range(runs):
        apart = (rng.random(rows) < 0.05).astype(int) - (rng.random(rows) < 0.05)
        moves = apart[apart != 0]
        wealth = np.cumsum(np.where(moves[:, None] > 0, logs[1], logs[-1]), axis=0)
        wrong += bool(np.any(log_mixture(wealth) >= enough)) if len(moves) else 0
    assert abs(wrong / runs - 0.031) < 3 * math.hypot(0.003, math.sqrt(0.031 * 0.969 / runs))
