"""identify with a budget: results of that kind, their numbers, files, figures and comparisons; experiments in TOML."""

import dataclasses
import functools
import json
import math
import warnings
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxbandit as jb
from jaxbandit.base.contract import Outcome
from jaxbandit.engine.layout import compiled
from jaxbandit.lab.cli.command_line import main
from jaxbandit.running.plotting.style import labels
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.report import table
from jaxbandit.support.refusals import RunsLeftOut

pytestmark = pytest.mark.quickly_compiled

ROWS = np.array([[0.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.0, 0.0, 0.75], [0.5, 0.25, 0.5]])
MEANS = ROWS.mean(0)  # 0.375, 0.5625, 0.5625: two are best, and both right
BUDGETS, RUNS = [4, 8, 31], 300


# Section 7 of the specification, 7 to 10, of arms in a random order: error, its standard error, pulls.
ABM1, ABM5 = [0.5, *[0.4] * 19], [0.5, *(0.5 - 0.025 * i for i in range(2, 16))]
FIGURES = {
    "7": (
        jb.algorithms.successive_rejects,
        lambda: jb.environments.bernoulli(ABM1, permute=True),
        2000,
        0.1830,
        0.0027,
        1989,
    ),
    "8": (
        jb.algorithms.sequential_halving,
        lambda: jb.environments.bernoulli(ABM5, permute=True),
        4000,
        0.0203,
        0.0010,
        3990,
    ),
    "9": (jb.algorithms.sequential_halving, lambda: jb.environments.fiesta(permute=True), 120, 0.1066, 0.0015, 114),
    "10": (jb.algorithms.uniform_allocation, lambda: jb.environments.fiesta(permute=True), 228, 0.1201, 0.0016, 228),
}


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES)
def test_figures_of_other_programs(figure):
    """Within four standard errors of both sides: false alarms 6e-5 each."""
    rule, make, budget, error, se, pulls = FIGURES[figure]
    environment = make()
    result = jb.identify(rule(environment.arms.num_arms, budget=budget), environment, num_runs=10000)
    found = result.error()
    assert abs(found.value - error) < 4 * math.hypot(found.se, se)
    assert round(result.samples().mean()) == pulls
    if figure == "7":  # the gaps are known, in whatever order the arms are
        assert "means" not in result.truth and result.hardness() == pytest.approx((2000, 2000))


def rejects():
    """A factory of three arms."""
    return functools.partial(jb.algorithms.successive_rejects, 3)


@functools.cache
def played():
    """Successive Rejects on a table at three budgets."""
    return jb.identify(rejects(), jb.environments.table(ROWS).named("rows"), budget=BUDGETS, num_runs=RUNS)


@pytest.mark.slow
def test_a_list_of_budgets_is_a_result_each_of_one_compilation(compilations):
    results = played()
    assert [r.budget for r in results] == BUDGETS and all(isinstance(r, BudgetResult) for r in results)
    factory, world = rejects(), jb.environments.table(ROWS)
    compiled.forget()
    compilations.clear()
    again = jb.identify(factory, world, budget=8, num_runs=RUNS)
    once = list(compilations)
    jb.identify(factory, world, budget=BUDGETS, num_runs=RUNS)
    assert compilations == once == ["first", "advance"]
    for name, array in again.arrays.items():
        np.testing.assert_array_equal(array, results[1].arrays[name])


@pytest.mark.slow
def test_numbers_are_those_of_the_runs():
    for result in played():
        arrays = result.arrays
        assert (arrays["outcome"] == Outcome.STOPPED).all() and result.counted == RUNS and not result.left_out
        assert (arrays["pulls"].sum(1) == arrays["samples"]).all() and (arrays["samples"] <= result.budget).all()
        wrong = arrays["recommendation"][:, 0] == 0  # the other two tie
        rate = stats.binomtest(int(wrong.sum()), RUNS)
        content = result.content()
        error, regret = content["error"], content["simple_regret"]
        assert (error["rate"], error["runs"]) == (wrong.mean(), RUNS)
        np.testing.assert_allclose([error["low"], error["high"]], rate.proportion_ci(method="exact"))
        short = wrong * (0.5625 - 0.375)
        # Only two values are possible, so that the interval is that of the rate, up to the saddlepoint approximation.
        low, high = (0.1875 * end for end in rate.proportion_ci(method="exact"))
        ours = [regret["mean"], regret["low"], regret["high"]]
        np.testing.assert_allclose(ours, [short.mean(), low, high], rtol=2e-4)
        assert content["left"]["mean"] == result.budget - arrays["samples"].mean()
        assert "hardness" not in content  # two best arms: both are infinite
        assert result.lower_bound() is None and f"with {result.budget} pulls" in repr(result)
    assert played()[0].error().value > played()[2].error().value


@pytest.mark.slow
def test_a_rule_for_two_arms_errs_where_one_of_them_is_not_among_the_best():
    [result] = jb.identify(
        functools.partial(jb.algorithms.successive_rejects, 3, m=2),
        jb.environments.table(ROWS),
        budget=[5],
        num_runs=RUNS,
    )
    named = result.arrays["recommendation"]
    wrong = (named == 0).any(1)
    assert named.shape == (RUNS, 2) and 0 < wrong.sum() < RUNS and result.error().value == wrong.mean()
    np.testing.assert_allclose(result.shortfalls(), wrong * (0.5625 - 0.375))
    gap = 0.5625 - 0.375
    assert result.hardness() == pytest.approx((3 / gap**2, 3 / gap**2))  # of either best arm alone they are infinite


@pytest.mark.slow
def test_without_an_error_simple_regret_has_the_rates_upper_end():
    rows = np.array([[0.0, 1.0], [0.1, 0.9]])
    result = jb.identify(jb.algorithms.uniform_allocation(2, budget=6), jb.environments.table(rows), num_runs=50)
    error, regret = result.error(), result.simple_regret()
    assert error.value == 0 == regret.value == regret.low
    assert regret.high == pytest.approx(error.high * 0.9) and error.high == pytest.approx(1 - 0.025 ** (1 / 50))
    gap = 0.95 - 0.05
    assert result.content()["hardness"] == pytest.approx({"h1": 2 / gap**2, "h2": 2 / gap**2})
    for means, drawn in (([0.05, 0.95], ["exp(-T / H2),  H1 = 2.5, H2 = 2.5"]), ([0.5, 0.55], [])):
        lines = dataclasses.replace(result, truth={"means": means}).plot().lines
        assert [line.get_label() for line in lines if "H2" in str(line.get_label())] == drawn


@pytest.mark.slow
def test_files_frames_comparisons_and_figures(tmp_path):
    results = played()
    results.save(tmp_path / "kept")
    read = jb.load(tmp_path / "kept")
    assert [type(r) for r in read] == [BudgetResult] * 3 and read.to_json() == results.to_json()
    document = json.loads((tmp_path / "kept" / "summary.json").read_text())
    assert (document["kind"], document["cells"][1]["budget"]) == ("budget", 8)
    assert [cell["name"] for cell in document["cells"]] == [f"rows/successive_rejects?budget={b}" for b in BUDGETS]
    frame = read.to_dataframe()
    assert frame["budget"].tolist() == BUDGETS and frame["error"].tolist() == [r.error().value for r in results]
    found = jb.compare(results[0], results[2])
    wrong = [r.arrays["recommendation"][:, 0] == 0 for r in results]
    assert (found.quantity, found.paired, found.runs) == ("error", True, RUNS)
    assert found.difference == pytest.approx(wrong[0].mean() - wrong[2].mean())
    assert found.se == pytest.approx(stats.sem(wrong[0].astype(float) - wrong[2]))
    stopping = jb.identify(jb.algorithms.lucb(3, delta=0.9), jb.environments.table(ROWS), num_runs=2, max_rounds=9)
    with pytest.raises(ValueError, match=r"of kind budget, .* of kind identify; must be of the same kind"):
        jb.compare(results[0], stopping)
    text = table(list(results)).splitlines()
    assert [line.split()[2] for line in text[2:5]] == ["4", "8", "31"] and text[2].startswith(
        "rows      successive_rejects "
    )
    ax = results.plot()
    [curve] = [line for line in ax.lines if line.get_label() == "successive_rejects"]
    assert curve.get_xdata().tolist() == BUDGETS and ax.get_yscale() == "log"
    np.testing.assert_array_equal(curve.get_ydata(), [r.error().value for r in results])
    assert jb.plot(results[0], what="simple_regret").get_ylabel() == "simple regret"
    with pytest.raises(ValueError, match=r'^plot: what = "samples", must be one of error, simple_regret$'):
        jb.plot(results, what="samples")


@pytest.mark.slow
def test_runs_that_go_wrong_or_pull_too_much_count_in_no_number():
    world = jb.environments.table(ROWS)

    def reward(state, context, action, noise):  # NaN where a run meets the last row first
        return jnp.where(noise == 3, jnp.nan, 1.0) * world.reward(state, context, action, noise)

    rule = jb.algorithms.uniform_allocation(3, budget=3)
    with pytest.warns(RunsLeftOut, match="not finite"):
        result = jb.identify(rule, world._replace(reward=reward, batch=None), num_runs=RUNS, max_failed=1.0)
    bad = result.outcomes()["nonfinite"]
    assert abs(bad / RUNS - (1 - 0.75**3)) < 5 * math.sqrt(0.25 / RUNS)  # false alarms: 6e-7
    assert result.counted == RUNS - bad == result.content()["error"]["runs"] == len(result.errors())
    assert result.content()["simple_regret"]["runs"] == result.counted
    assert f"{result.counted} of {RUNS}" in table([result]) and f"{bad} of {RUNS} runs left out" in repr(result)
    greedy = jb.algorithms.uniform_allocation(3, budget=8)._replace(budget=3)
    with pytest.warns(RunsLeftOut, match="5 of 5 runs left out: asked for more than the budget"):
        result = jb.identify(greedy, world, num_runs=5)
    assert "error" not in result.content() and result.counted == 0 and "no valid run" in repr(result)


@pytest.mark.statistical
@pytest.mark.slow
def test_the_error_of_two_arms_is_that_of_two_binomials():
    """Ties go to the lowest arm. False alarms: 1e-4 in all, at most."""
    runs = 20000
    for means in ([0.5, 0.4], [0.4, 0.5]):
        factory = functools.partial(jb.algorithms.sequential_halving, 2)
        results = jb.identify(factory, jb.environments.bernoulli(means), budget=[20, 41, 2000], num_runs=runs)
        for result in results:
            n = result.budget // 2
            first, second = (stats.binom(n, mean).pmf(np.arange(n + 1)) for mean in means)
            right = (first * np.cumsum(second)).sum()  # arm 0 has as many or more
            exact = 1 - right if means[0] > means[1] else right
            interval = result.error(1 - 1e-4 / 6)
            assert interval.low <= exact <= interval.high


BAD = {
    "a rule without one": (
        lambda: jb.algorithms.lucb(3),
        {"budget": 9},
        "budget is given, but lucb takes none; leave it out",
    ),
    "a factory without one": (
        lambda: jb.algorithms.lucb,
        {"budget": 9},
        "budget is given, but lucb takes none; leave it out",
    ),
    "twice": (
        lambda: jb.algorithms.successive_rejects(3, budget=9),
        {"budget": 9},
        "budget is given, but successive_rejects already has one of 9 pulls; leave it out, or give the factory, "
        "such as functools.partial(successive_rejects, num_arms)",
    ),
    "no budget": (
        rejects,
        {},
        "algorithm = partial, must be an Algorithm; a factory needs a budget, such as budget = 1000",
    ),
    "duplicate": (rejects, {"budget": [9, 8, 9]}, "budget[2] = 9, must differ from the others"),
    "NaN": (rejects, {"budget": [9, math.nan]}, "budget[1] = nan, must be a whole number of pulls >= 1"),
    "half": (rejects, {"budget": 9.5}, "budget = 9.5, must be a whole number of pulls >= 1"),
    "text": (rejects, {"budget": "9"}, "budget = '9', must be a whole number of pulls >= 1"),
    "empty": (rejects, {"budget": []}, "budget = [], must be a number of pulls, or a list of them"),
    "max_rounds": (
        rejects,
        {"budget": 9, "max_rounds": 5},
        "max_rounds = 5, but budget = 9 ends every run; leave it out",
    ),
    "delta": (rejects, {"budget": 9, "delta": 0.1}, "delta = 0.1, but successive_rejects guarantees no error rate"),
    "says none": (
        lambda: lambda budget: jb.algorithms.successive_rejects(3, budget=budget)._replace(budget=None),
        {"budget": 9},
        "budget = 9, but successive_rejects declares no budget; it must set Algorithm.budget",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_python_refuses_in_one_line(case):
    make, options, message = BAD[case]
    with pytest.raises(ValueError, match=r"^identify: ") as caught:
        jb.identify(make(), jb.environments.table(ROWS), num_runs=2, **options)
    assert str(caught.value).startswith(f"identify: {message}") and "\n" not in str(caught.value)


def test_a_budget_too_small_for_the_rule_is_refused_before_anything_runs():
    with pytest.raises(ValueError, match=r"^successive_rejects: budget = 3, must be a whole number of pulls in \[4, "):
        jb.identify(rejects(), jb.environments.table(ROWS), budget=3, num_runs=2)


TOML = """
kind = "identify"
runs = 40
budget = [6, 12]
[[instance]]
name = "rows"
type = "table"
rewards = [[0.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.0, 0.0, 0.75], [0.5, 0.25, 0.5]]
[[algorithm]]
type = "ucb_e"
a = {sweep = [1.0, 4.0]}
"""


@pytest.mark.slow
def test_an_experiment_with_budgets_runs_grows_and_is_drawn(tmp_path, capsys):
    path, out = tmp_path / "b.toml", tmp_path / "out"
    path.write_text(TOML)
    assert main(["run", str(path), "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "budget"
    assert [cell["params"] for cell in document["cells"]] == [{"a": a, "budget": b} for a in (1, 4) for b in (6, 12)]
    assert {path.name for path in out.glob("*.png")} == {"error-rows.png", "simple_regret-rows.png"}
    python = jb.identify(
        functools.partial(jb.algorithms.ucb_e, 3, a=4.0), jb.environments.table(ROWS), budget=12, num_runs=40
    )
    np.testing.assert_array_equal(jb.load(out)[3].arrays["pulls"], python.arrays["pulls"])
    before = {cell.name: cell.read_bytes() for cell in out.glob("cell-*.npz")}
    path.write_text(TOML.replace("[6, 12]", "[6, 9, 12]"))
    assert main(["run", str(path), "--out", str(out)]) == 0
    assert all((out / name).read_bytes() == data for name, data in before.items())
    part = capsys.readouterr().out.split("\n\n")[0]  # of a table that is wider than 80 columns
    rows = [line.split()[1:3] for line in part.splitlines() if line.startswith("rows")]
    assert rows == [[f"ucb_e?a={a}", b] for a in (1, 4) for b in ("6", "9", "12")]
    path.write_text(TOML.replace("[6, 12]", "6"))
    assert main(["run", str(path), "--out", str(out)]) == 2
    assert "another experiment: budget 9 is only there" in capsys.readouterr().err


BAD_TOML = {
    "below K": ("[6, 12]", "[6, 2]", "algorithm[0].budget = 2, must be a whole number of pulls in [3, "),
    "duplicate": ("[6, 12]", "[6, 6]", "budget[1] = 6, must be different from the entry [0]"),
    "half": ("[6, 12]", "6.5", "budget = 6.5, must be an integer in [1, "),
    "NaN": ("[6, 12]", "[nan]", "budget[0] = nan, must be an integer in [1, "),
    "empty": ("[6, 12]", "[]", "budget = [], must be a number of pulls, or a list of them"),
    "beside max_rounds": (
        "runs = 40",
        "runs = 40\nmax_rounds = 9",
        "max_rounds = 9, must be left out, because budget ends all runs",
    ),
    "under algorithm": (
        "a = {",
        "budget = 9\na = {",
        "algorithm[0].budget = 9, cannot be set here: the experiment gives the budget",
    ),
    "for another": (
        '"ucb_e"\na = {sweep = [1.0, 4.0]}',
        '"lucb"',
        'algorithm[0].type = "lucb", takes no budget; leave',
    ),
    "missing": ("budget = [6, 12]\n", "", 'algorithm[0].type = "ucb_e", needs the experiment\'s budget; give budget'),
    "simulate": ('"identify"', '"simulate"\nhorizon = 9', 'budget = [6, 12]: only for kind = "identify"; leave it out'),
}


@pytest.mark.parametrize("case", BAD_TOML)
def test_toml_refuses_in_one_line(case, tmp_path, capsys):
    old, new, message = BAD_TOML[case]
    path = tmp_path / "bad.toml"
    assert old in TOML
    path.write_text(TOML.replace(old, new))
    with warnings.catch_warnings():
        assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"jaxbandit: {path}: {message}") and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_complexities_and_bounds():
    means = [0.4, 0.5, 0.1]
    assert jb.bounds.h1(means) == pytest.approx(2 / 0.1**2 + 1 / 0.4**2)
    assert jb.bounds.h2(means) == pytest.approx(max(2 / 0.1**2, 3 / 0.4**2))
    assert jb.bounds.h1([0.5, 0.5, 0.1]) == jb.bounds.h2([0.5, 0.5, 0.1]) == math.inf
    assert jb.bounds.h1(means, 2) == pytest.approx(2 / 0.3**2 + 1 / 0.4**2)
    assert jb.bounds.h2(means, 2) == pytest.approx(max(2 / 0.3**2, 3 / 0.4**2))
    level = 1 / 2 + 1 / 2 + 1 / 3
    wanted = 18 * math.exp(-(5000 - 3) / (8 * level * 2 / 0.3**2))
    assert jb.bounds.successive_rejects_error(means, 5000, 2) == pytest.approx(wanted)
    wanted = [3 * math.exp(-(t - 3) / (level * 200)) for t in (100, 5000)]
    np.testing.assert_allclose(jb.bounds.successive_rejects_error(means, [100, 5000]), wanted)
    wanted = 3 * math.log2(3) * math.exp(-5000 / (8 * 200 * math.log2(3)))
    assert jb.bounds.sequential_halving_error(means, 5000) == pytest.approx(wanted)
    wanted = math.exp(-33 * 0.1**2) + math.exp(-33 * 0.4**2)
    assert jb.bounds.uniform_allocation_error(means, 101) == pytest.approx(wanted)
    with pytest.raises(ValueError, match=r"^h1: means has 1 entries, must have at least 2$"):
        jb.bounds.h1([0.5])


def test_curves_of_one_rule_over_its_budgets_have_one_name():
    cells = [SimpleNamespace(algorithm="sr", params={"budget": b, "c": c}) for b in (10, 20) for c in (1, 2)]
    assert labels(cells, but="budget") == ["sr (c = 1)", "sr (c = 2)"] * 2
    assert labels(cells)[:2] == ["sr (budget = 10, c = 1)", "sr (budget = 10, c = 2)"]
