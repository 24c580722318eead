"""Comparison: pairing used where it holds and only there, and coverage of its interval."""

from typing import Any

import numpy as np
import pytest
from results_by_hand import noisy, result
from scipy import stats

from jaxbandit.base.contract import Outcome
from jaxbandit.running.results.compare import compare
from jaxbandit.running.results.places import compare_places
from jaxbandit.running.results.saving import save, save_cell

pytestmark = pytest.mark.quickly_compiled


def test_paired_equals_scipy_and_is_sharper_than_welch():
    a, b = noisy(10.0, seed=1, algorithm="a"), noisy(10.5, seed=2, algorithm="b")
    paired = compare(a, b)
    theirs = stats.ttest_rel(a.arrays["regret"][:, 2].astype(float), b.arrays["regret"][:, 2].astype(float))
    np.testing.assert_allclose((paired.low, paired.high), theirs.confidence_interval(0.95), rtol=1e-9)
    assert paired.paired
    assert paired.verdict == "lower"
    shown = f"[{paired.low:.2f}, {paired.high:.2f}], lower (95 % interval, {paired.runs} pairs of runs)"
    assert str(paired).startswith("regret at round 1") and str(paired).endswith(shown)
    assert compare(b, a).verdict == "higher"
    other = compare(a, noisy(10.5, seed=2, algorithm="b", precision="float64"))
    assert not other.paired
    assert other.verdict == "undecided"
    assert other.high - other.low > 3 * (paired.high - paired.low)  # the common chance, sd 5 against 1, is not removed


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"seed": 1}, "seeds differ: 7, 1"),
        ({"instance": "other"}, "instances differ: it, other"),
        ({"truth": {"means": [0.2, 0.5, 0.9]}}, "instances differ"),
        ({"precision": "float64"}, "precisions differ: float32, float64"),
        ({"regret": None}, "no per-run data: it/b"),
    ],
)
def test_unpaired_says_why(changes, reason):
    rows = np.random.default_rng(0).normal(5, 1, (30, 3))
    c = compare(result(rows), result(rows + 1, algorithm="b", **changes))
    assert not c.paired
    assert reason in c.reason
    assert c.difference == pytest.approx(-1, abs=1e-6)
    assert c.to_json()["reason"] == c.reason and f"unpaired: {c.reason})" in str(c)


def test_runs_pair_up_to_the_shorter():
    rows = np.random.default_rng(0).normal(5, 1, (30, 3))
    c = compare(result(rows), result(rows[:10] + 2, algorithm="b"))
    assert c.paired
    assert c.runs == 10
    assert c.difference == pytest.approx(-2, abs=1e-6)
    assert c.mean_a == pytest.approx(rows[:10, 2].mean(), rel=1e-6)
    assert "reason" not in c.to_json()


def test_checkpoint_is_the_last_shared_or_the_one_asked_for():
    rows = np.random.default_rng(0).normal(5, 1, (9, 3))
    a, b = result(rows, checkpoints=(1, 10, 100)), result(rows, checkpoints=(1, 10, 50))
    assert compare(a, b).at == 10
    assert compare(a, b, at=1).at == 1
    with pytest.raises(ValueError, match="no checkpoint at 100"):
        compare(a, b, at=100)


def test_an_integer_in_a_float_is_a_round_and_a_fraction_is_said():
    rows = np.random.default_rng(0).normal(5, 1, (9, 3))
    a, b = result(rows, checkpoints=(1, 10, 1000)), result(rows + 1, checkpoints=(1, 10, 1000))
    assert compare(a, b, at=10.0).at == 10  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="no checkpoint at 500"):
        compare(a, b, at=500.0)  # pyright: ignore[reportArgumentType]
    assert compare(a, b, fraction=0.02).at == 10
    cases: list[Any] = [{"fraction": 1000.0}, {"at": 0.5}, {"at": 10, "fraction": 0.1}]
    for wrong in cases:
        with pytest.raises(ValueError, match="compare: ") as error:
            compare(a, b, **wrong)
        assert "\n" not in str(error.value)


def test_pairs_count_where_both_runs_do():
    rows = np.random.default_rng(0).normal(5, 1, (30, 3))
    broken = rows.copy()
    broken[3] = np.nan
    a = result(broken, outcome=np.where(np.arange(30) == 3, Outcome.NONFINITE, 0))
    b = result(rows + 2, algorithm="b", outcome=np.where(np.arange(30) == 7, Outcome.OUT_OF_RANGE, 0))
    c = compare(a, b)
    assert (c.paired, c.runs, c.left_out, c.to_json()["left_out"]) == (True, 28, 2, 2)
    assert c.difference == pytest.approx(-2, abs=1e-6)
    assert "left_out" not in compare(b, b).to_json() or compare(b, b).left_out == 1
    other = compare(a, result(rows + 2, algorithm="b", seed=1))
    assert (other.paired, other.left_out) == (False, 1)


def test_nothing_to_compare_is_one_line(tmp_path):
    rows = np.full((5, 3), np.nan)
    nothing, some = result(rows, outcome=[Outcome.NONFINITE] * 5), result(np.ones((5, 3)), algorithm="b")
    for pair in ((nothing, some), (some, result(rows, outcome=[Outcome.NONFINITE] * 5, seed=1))):
        with pytest.raises(ValueError, match=r"have 0 valid .*, must have at least 2") as error:
            compare(*pair)
        assert "\n" not in str(error.value)
    large = result(np.full((5, 3), 3e38), algorithm="c", mean=np.full(3, 1e300), variance=np.full(3, np.inf), seed=1)
    with pytest.raises(ValueError, match="have no finite interval"):
        compare(some, large)
    with pytest.raises(ValueError, match=r"^compare: b is a list, must be one result of simulate or identify$"):
        compare(some, [some])


def test_too_few_skewed_differences_are_said_beside_the_interval():
    """One run of ten is apart: Cochran's rule asks for 25 times the squared skewness, which is 8/3 by hand."""
    rows = np.random.default_rng(0).normal(5, 1, (10, 3))
    rare = np.repeat(np.arange(10.0) == 9, 3).reshape(10, 3)
    few = compare(result(rows + 1000 * rare), result(rows, algorithm="b"))
    assert few.doubt == few.to_json()["doubt"] == "skewed (2.7), the interval is right from 178 pairs on"
    assert str(few).endswith(f"(95 % interval, 10 pairs of runs, {few.doubt})")
    assert compare(result(rows), result(rows + 1000 * rare, algorithm="b")).doubt.startswith("skewed (-2.7)")
    apart = compare(result(rows + 1000 * rare), result(rows, algorithm="b", seed=1))
    assert not apart.paired and apart.doubt == "it/kl is skewed (2.7), the interval is right from 178 runs on"
    many = compare(result(np.tile(rows + 1000 * rare, (18, 1))), result(np.tile(rows, (18, 1)), algorithm="b"))
    assert not many.doubt and "doubt" not in many.to_json()


@pytest.mark.slow
@pytest.mark.statistical
def test_paired_interval_coverage():
    """1,000 intervals of 90 %: misses are binomial(1000, 0.1). False alarm: 1e-4 by the exact two-sided test."""
    rng = np.random.default_rng(3)
    misses = 0
    for _ in range(1000):
        common, own = rng.normal(0, 3, 12), rng.normal(0, 1, (2, 12))
        final = common + own + [[1], [0]]
        a, b = (result(np.stack([x] * 3, axis=1), algorithm=name) for name, x in zip("ab", final, strict=True))
        c = compare(a, b, confidence=0.9)
        misses += not c.low <= 1 <= c.high
    assert stats.binomtest(misses, 1000, 0.1).pvalue > 1e-4


def test_directories(tmp_path):
    for i, name in enumerate(("kl", "ucb")):
        save_cell(tmp_path / "a", i, noisy(10 + i, seed=i, algorithm=name))
    save_cell(tmp_path / "b", 0, noisy(10.5, seed=5, algorithm="kl"))
    found = compare_places(tmp_path / "a", tmp_path / "b")
    assert [(c.a, c.b) for c in found.comparisons] == [("it/kl", "it/kl")]
    assert found.only_a == ("it/ucb",)
    assert found.only_b == ()
    assert found.comparisons[0].verdict == "lower"
    assert "lower" in str(found)
    assert "200 pairs" in str(found)
    assert "only in" in str(found)
    assert found.to_json()["comparisons"][0]["difference"] == pytest.approx(-0.5, abs=1e-4)


def test_any_two_results_by_name(tmp_path):
    swept = [noisy(10 + c, seed=int(c), algorithm="kl", params={"c": c}) for c in (0.0, 3.0)]
    save(swept, tmp_path / "a")
    save([noisy(10.5, seed=5, algorithm="ucb")], tmp_path / "b")
    (c,) = compare_places(f"{tmp_path}/a/it/kl?c=3", f"{tmp_path}/b/it/ucb").comparisons
    assert (c.a, c.b, c.verdict) == ("it/kl?c=3", "it/ucb", "higher")
    (c,) = compare_places(f"{tmp_path}/a/it/kl?c=0.0", f"{tmp_path}/a/it/kl?c=3").comparisons
    assert (c.a, c.b, c.verdict, c.runs) == ("it/kl?c=0", "it/kl?c=3", "lower", 200)
    assert len(compare_places(f"{tmp_path}/b/it/ucb", tmp_path / "a").comparisons) == 2
    for wrong, said in (("a/it/kl", "names 2 results, must name one of it/kl.c=0, it/kl.c=3"), ("c/it/kl", "no dir")):
        with pytest.raises(ValueError, match=said):
            compare_places(f"{tmp_path}/{wrong}", tmp_path / "b")
    assert compare(*swept).a == "it/kl?c=0"


def test_directories_of_two_single_algorithms(tmp_path):
    save_cell(tmp_path / "a", 0, noisy(10.0, seed=0, algorithm="kl"))
    save_cell(tmp_path / "b", 0, noisy(12.0, seed=5, algorithm="ucb"))
    (c,) = compare_places(tmp_path / "a", tmp_path / "b").comparisons
    assert (c.a, c.b, c.verdict) == ("it/kl", "it/ucb", "lower")


def test_directories_with_nothing_in_common(tmp_path):
    save_cell(tmp_path / "a", 0, noisy(10.0, algorithm="kl"))
    save_cell(tmp_path / "b", 0, noisy(12.0, algorithm="kl", instance="other"))
    with pytest.raises(ValueError, match=r"nothing in common.*it/kl.*other/kl"):
        compare_places(tmp_path / "a", tmp_path / "b")
