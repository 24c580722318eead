"""Transductive identification: pulls of some arms, the best of other candidates; error, first phase, T*, refusals."""

import math
import tomllib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusals
from results_by_hand import stopping
from scipy.stats import binom
from small_experiment import written

import jaxbandit as jb
from jaxbandit.algorithms import lingape, rage, ucb1
from jaxbandit.decide.sessions.rule_programs import RulePrograms
from jaxbandit.engine.rounds import fit
from jaxbandit.environments import gaussian, linear
from jaxbandit.lab.experiments.truth import warnings_of
from jaxbandit.lab.specs import spec
from jaxbandit.running.instances import instances_of
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.compare import why_unpaired
from jaxbandit.running.truth import truth_of

pytestmark = pytest.mark.quickly_compiled

ARMS, THETA = np.eye(2), np.array([1.0, 0.3])
ITEMS = np.array([[-1.0, 0.0], [0.8, -0.6], [1.0, 0.0], [0.6, 0.8], [1.0, 0.0]])  # the third and fifth are the best
TIED = np.array([[1.0, 0.0], [0.7, 1.0], [0.0, 0.0]])
MEANS = [-1.0, 0.62, 1.0, 0.84, 1.0]
WORLD = linear(ARMS, THETA, candidates=ITEMS, sigma=0.5)
RULE = rage(ARMS, candidates=ITEMS, sigma=0.5, delta=0.1)


@pytest.mark.slow
@pytest.mark.statistical
def test_the_error_is_at_most_delta():
    """Of 200 runs, 45 errors or more have a probability below 1e-6 at an error rate of delta = 0.1."""
    result = jb.identify(RULE, WORLD, num_runs=200, seed=3)
    found = result.arrays["recommendation"]
    assert found.shape == (200, 1) and result.outcomes()["stopped"] == 200
    wrong = ~np.isin(found[:, 0], (2, 4))
    assert binom.sf(wrong.sum() - 1, 200, 0.1) > 1e-6
    np.testing.assert_array_equal(result.errors(), wrong)
    np.testing.assert_allclose(result.arrays["shortfall"], 1.0 - np.array(MEANS)[found[:, 0]], atol=1e-12)
    assert result.truth["means"] == [1.0, 0.3]  # of the arms, which are pulled
    np.testing.assert_allclose(result.truth["candidates"], MEANS, rtol=1e-15)
    assert result.arrays["pulls"].shape == (200, 2)


def test_the_first_phase_of_one_difference_is_known():
    """One direction y, since the third repeats the second, and orthonormal arms: w_a = |y_a| / |y|_1, rho = |y|_1^2."""
    items = [[0.6, 0.8], [1.0, 0.0], [1.0, 0.0]]
    with jax.enable_x64(True):
        make = jax.jit(lambda key: rage(ARMS, candidates=items, sigma=0.5, delta=0.1).init(key))
        state = make(jax.random.key(0))
    np.testing.assert_allclose(state.weights, [1 / 3, 2 / 3], rtol=1e-6)
    # 8 (2^2)^2 sigma^2 rho (1 + r) log(m^2 / delta)
    assert int(state.length) == math.ceil(8 * 16 * 0.25 * 1.2**2 * 1.1 * math.log(9 / 0.1))
    assert state.active.tolist() == [True, True, False] and state.counts.shape == (2,)


def test_the_characteristic_time_is_that_of_the_candidates():
    """The hardest is y = (0.4, -0.8) of gap 0.16, alone: T* = 2 sigma^2 |y|_1^2 / gap^2; means that tie have none."""
    for size, items in ((2, ITEMS[:4]), (1, ITEMS)):  # the fifth is the third again
        time = linear(size * ARMS, THETA, candidates=items, sigma=0.5).truth.characteristic_time()
        np.testing.assert_allclose(time, 0.5 * (1.2 / size / 0.16) ** 2, rtol=1e-6)
    assert linear(ARMS, THETA, candidates=TIED, sigma=0.5).truth.characteristic_time() == math.inf
    assert linear(ARMS, THETA, candidates=ITEMS, noise="sign").truth.characteristic_time is None


def test_the_simple_regret_is_that_of_candidates_and_the_regret_that_of_arms():
    for x64 in (True, False):
        with jax.enable_x64(x64):
            state = WORLD.init(jax.random.key(0))
            short = [float(WORLD.simple_regret(state, jnp.array([i], jnp.int32))) for i in range(5)]
            np.testing.assert_allclose(short, 1.0 - np.array(MEANS), atol=1e-6)
            np.testing.assert_allclose(WORLD.regret(state, None, jnp.int32(1)), 0.7, rtol=1e-6)
    known = WORLD.known()
    np.testing.assert_array_equal(known["candidates"], ITEMS)
    np.testing.assert_array_equal(known["features"], ARMS)
    assert "candidates" not in linear(ARMS, THETA).known() and "candidates" not in truth_of(linear(ARMS, THETA))


def test_a_recommendation_is_judged_by_the_decimals_of_the_candidates():
    """0.4 - 0.3 in float64 is more than 0.1; the means of the arms say nothing of it."""
    truth = {"means": [0.9, 0.0], "candidates": [0.3, 0.4, 0.2]}
    told = {"truth": truth, "params": {"epsilon": 0.1}, "precision": "float64"}
    r = stopping([5] * 3, shortfall=[0.4 - 0.3, 0.0, 0.4 - 0.2], **told)
    assert r.errors().tolist() == [False, False, True] and r.means() == [0.9, 0.0]
    unknown = stopping([5] * 2, shortfall=[0.0, 0.2], **{**told, "truth": {"means": [0.9, 0.0], "candidates": []}})
    assert unknown.errors().tolist() == [False, True]
    (line,) = [line for line in jb.plot(r, what="gap").get_lines() if len(line.get_xdata())]
    np.testing.assert_allclose(line.get_xdata(), 0.1)
    fixed = BudgetResult(**vars(r))
    assert fixed.hardness() is None  # that of arms is of no use
    assert fixed.simple_regret().high <= 0.4 - 0.2 + 1e-12  # within the candidates' largest gap
    assert why_unpaired(r, stopping([5] * 3, **told)) == ""
    other = stopping([5] * 3, **{**told, "truth": {**truth, "candidates": [0.3, 0.4]}})
    assert why_unpaired(r, other) == "instances differ: it, it"


def test_candidates_whose_means_nobody_knows_are_unknown():
    drawn = jb.drawn(linear, features=ARMS, theta=lambda key: jax.random.normal(key, (2,)), candidates=ITEMS)
    assert truth_of(drawn)["candidates"] == [] and drawn.arms.num_candidates == 5
    short = drawn.simple_regret(state := drawn.init(jax.random.key(1)), jnp.array([0], jnp.int32))
    means = ITEMS @ np.asarray(state.arguments["theta"])
    np.testing.assert_allclose(short, means.max() - means[0], rtol=1e-5)
    assert set(instances_of(drawn, seed=0, num_runs=2, precision="float32")) == {"drawn/theta"}  # no gap of arms


@pytest.mark.slow
def test_it_conforms():
    rows = np.array([[1.0, 0.1], [-0.5, 0.9], [0.7, 0.5]])
    make = lambda n, **more: rage(rows[:n], candidates=ITEMS, **more)  # noqa: E731
    jb.check_algorithm(make, num_arms=3, traced={"delta": [0.1, 0.3]})
    jb.check_environment(WORLD)


def experiment(*algorithms, items=ITEMS[:4]):
    world = {"type": "linear", "features": ARMS.tolist(), "theta": THETA.tolist(), "sigma": 0.5}
    world |= {"candidates": items.tolist()}
    return written("identify", world, [{"type": name} for name in algorithms], name="other", runs=20)


@pytest.mark.slow
def test_files_take_candidates_from_the_instance(tmp_path):
    (tmp_path / "other.toml").write_text(experiment("rage"))
    [result] = jb.run(tmp_path / "other.toml", tmp_path / "out")
    assert result.errors().sum() == 0 and set(result.arrays["recommendation"].ravel()) == {2}
    bound = 0.5 * (1.2 / 0.16) ** 2 * math.log(1 / (2.4 * 0.05))
    np.testing.assert_allclose(result.to_json()["samples"]["lower_bound"], bound, rtol=1e-6)
    [audited] = jb.audit(tmp_path / "other.toml", runs=20)
    assert audited.truth["candidates"] == result.truth["candidates"]


def test_a_rule_for_arms_is_refused_before_a_file_is_played(tmp_path):
    (tmp_path / "other.toml").write_text(experiment("lingape"))
    said = "lingape recommends an arm, but linear judges one of 4 candidates: give both the same candidates"
    with pytest.raises(ValueError, match=said) as caught:
        jb.run(tmp_path / "other.toml", tmp_path / "out")
    assert "\n" not in str(caught.value) and not (tmp_path / "out" / "summary.json").exists()


def test_a_tie_of_candidates_is_warned_of_unless_they_are_alike():
    for items, number in ((ITEMS, 0), (TIED, 1)):
        lines = warnings_of(spec.parse(tomllib.loads(experiment("rage", items=items)), "other.toml"))
        assert len(lines) == number
    assert "the candidates of rank 1 and 2 are tied at 1, so that no rule with a guarantee stops" in lines[0]


def test_regret_may_be_played_where_recommendations_are_of_candidates():
    fit.check_pair(ucb1(2), WORLD, any_rewards=True)
    fit.check_recommendations(RULE, WORLD)
    fit.check_recommendations(RULE, WORLD._replace(simple_regret=None, arms=None))  # nobody judges


REFUSALS = {
    "no candidates here": (
        lambda: jb.identify(RULE, linear(ARMS, THETA, sigma=0.5), num_runs=2),
        "rage recommends one of 5 candidates, but linear judges an arm: give both the same candidates",
    ),
    "other candidates": (
        lambda: jb.run_until_stop(jax.random.key(0), RULE, linear(ARMS, THETA, candidates=ITEMS[:4], sigma=0.5), 9),
        "rage recommends one of 5 candidates, but linear judges one of 4 candidates: give both the same candidates",
    ),
    "arms that nobody declares": (
        lambda: fit.check_recommendations(RULE, gaussian([0.0, 1.0], sigma=0.5)._replace(arms=None)),
        "rage recommends one of 5 candidates, but gaussian judges an arm",
    ),
    "a rule for arms": (
        lambda: jb.identify(lingape(ARMS, sigma=0.5, theta_norm=2.0), WORLD, num_runs=2),
        "lingape recommends an arm, but linear judges one of 5 candidates: give both the same candidates",
    ),
    "a session": (
        lambda: RulePrograms(RULE),
        "session: rage recommends one of 5 candidates, must recommend an arm; use run_until_stop",
    ),
    "columns of a rule": (
        lambda: rage(ARMS, candidates=np.ones((3, 3))),
        "rage: candidates has rows of 3 numbers, must have 2, as rows of features",
    ),
    "columns of a world": (
        lambda: linear(ARMS, THETA, candidates=np.ones((3, 1))),
        "linear: candidates has rows of 1 numbers, must have 2, as rows of features",
    ),
    "one": (lambda: rage(ARMS, candidates=ITEMS[:1]), "rage: candidates has 1 entries, must have at least 2"),
    "none": (lambda: linear(ARMS, THETA, candidates=[]), "linear: candidates has shape (0,), must have 2 axes"),
    "not finite": (
        lambda: rage(ARMS, candidates=[[1.0, math.nan], [0.0, 1.0]]),
        "rage: candidates[0, 1] = nan, must be ",
    ),
}


test_refusals = refusals(REFUSALS)
