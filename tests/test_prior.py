"""Instances drawn from a prior: bytes of each run's instance alone, closed forms, refusals, and results by run.

False alarms: 6e-7 for each statistical test.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import jaxbandit as jb
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.environments import bernoulli, gaussian, linear, piecewise_gaussian
from jaxbandit.lab.specs import spec
from jaxbandit.running.instances import instances_of
from jaxbandit.running.truth import truth_of
from jaxbandit.support import numerics

pytestmark = pytest.mark.quickly_compiled


def uniform(shape, low=0.0, high=1.0):
    return lambda key: jax.random.uniform(key, shape, minval=low, maxval=high)


TWO = jb.drawn(bernoulli, means=uniform((2,)))
NOISY = jb.drawn(gaussian, means=uniform((3,)), sigma=uniform((), 0.1, 0.5))
RULES = {bernoulli: jb.algorithms.ucb1(2), gaussian: jb.algorithms.kl_ucb(3, family="gaussian")}
SMALL = {"horizon": 80, "seed": 3, "precision": "float32"}
NAMES = ("regret", "pulls", "recommendation", "outcome")


@functools.cache
def played(factory):
    """Two hundred runs of either environment."""
    world = TWO if factory is bernoulli else NOISY
    return jb.simulate(RULES[factory], world, num_runs=200, allow=["rewards"], **SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("factory", [bernoulli, gaussian])
def test_200_instances_are_one_compilation_and_each_run_has_the_bytes_of_its_instance_alone(factory, compilations):
    found = played(factory)
    assert sorted(compilations) == ["advance", "finish", "start"]  # side by side
    drawn = {name: found.arrays[f"drawn/{name}"] for name in (TWO if factory is bernoulli else NOISY).truth.prior.names}
    assert len(np.unique(drawn["means"])) == drawn["means"].size

    def make(given):
        return RULES[factory], factory(**given)

    for run in (0, 1, 64, 199):
        instance = {name: values[run] for name, values in drawn.items()}
        alone = simulate_cell(make, instance, num_runs=1, first_run=run, any_rewards=True, **SMALL)
        for name in NAMES:
            assert getattr(alone, name)[0].tobytes() == found.arrays[name][run].tobytes(), (run, name)


@pytest.mark.slow
def test_two_arguments_are_drawn_independently_of_each_other():
    found = played(gaussian)
    means, sigmas = (found.arrays[f"drawn/{name}"] for name in ("means", "sigma"))
    assert means.shape == (200, 3) and sigmas.shape == (200,)
    share = (sigmas - 0.1) / 0.4  # of the interval from which sigma is drawn
    assert np.abs(means - share[:, None]).min(axis=0).max() < 0.05 < np.abs(means - share[:, None]).max()
    assert abs(np.corrcoef(means[:, 0], share)[0, 1]) < 0.35  # five standard errors of 200 pairs


@pytest.mark.slow
def test_results_say_what_each_run_has_drawn_and_show_no_truth_of_one_instance(tmp_path):
    found = played(bernoulli)
    means = found.arrays["drawn/means"]
    np.testing.assert_array_equal(found.arrays["gap"], np.abs(means[:, 0] - means[:, 1]))
    assert found.truth == {"prior": ["means"]} and found.prior == ("means",) and found.lower_bound() is None
    assert repr(found).startswith("ucb1 on bernoulli: Bayesian regret ")
    assert found.to_json()["prior"] == ["means"]
    assert "bernoulli: means are over instances of which each run draws means" in str(found.describe())
    gaps = means.max(axis=1, keepdims=True) - means
    regret = (found.arrays["pulls"] * gaps).sum(axis=1)
    np.testing.assert_allclose(found.arrays["regret"][:, -1], regret, rtol=1e-5, atol=1e-5)  # of float32
    found.save(tmp_path / "result")
    (again,) = jb.load(tmp_path / "result")
    assert again.prior == ("means",) and again.arrays["drawn/means"].tobytes() == means.tobytes()


def test_what_is_drawn_is_not_known_and_the_rest_is():
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    world = jb.drawn(linear, features=features, theta=lambda key: jax.random.normal(key, (2,)), sigma=0.5)
    assert world.known().keys() == {"features", "sigma"} and world.known()["sigma"] == 0.5
    assert NOISY.known() == {} and NOISY.rewards.sigma is None and NOISY.rewards.family == "gaussian"
    assert TWO.rewards == bernoulli([0.1, 0.2]).rewards and TWO.arms == bernoulli([0.1, 0.2]).arms
    for environment in (world, NOISY, TWO):
        truth = environment.truth
        assert truth.regret_constant is truth.characteristic_time is truth.rates is None and not truth.parameters()
    assert world.truth.dim == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        NOISY,
        jb.drawn(piecewise_gaussian, means=[[0.1, 0.5], [0.5, 0.1]], starts=[0, 3], sigma=uniform((), 0.1, 0.2)),
        jb.drawn(functools.partial(jb.environments.knapsack, costs=[0.5, 0.2], budget=40.0), rewards=uniform((2,))),
        jb.drawn(functools.partial(jb.environments.cascade, k=2), weights=uniform((4,))),
        jb.drawn(functools.partial(jb.environments.full_bandit, k=2), means=uniform((4,))),
    ],
    ids=["gaussian", "piecewise", "knapsack", "cascade", "teams"],
)
def test_an_environment_that_is_drawn_keeps_the_contract(world):
    jb.check_environment(world)


@pytest.mark.statistical
def test_the_mean_of_the_better_of_two_uniform_means_is_two_thirds():
    drawn = instances_of(TWO, seed=5, num_runs=10_000, precision="float32")
    best, se = drawn["drawn/means"].max(axis=1), np.sqrt(1 / 18 / 10_000)  # the variance of the larger of two uniforms
    assert abs(best.mean() - 2 / 3) < 5 * se
    assert stats.kstest(drawn["drawn/means"].ravel(), "uniform").pvalue > 6e-7


def bayesian_regret_of_thompson(rounds):
    """The Bayesian regret of Thompson sampling of two arms with uniform priors, by the law of its counts.

    Given its counts a run chooses arm 1 with the posterior probability that it is better, and sees a reward with the
    posterior mean as its probability.
    """

    @functools.cache
    def second_is_better(s, f, t, g):
        a, b = stats.beta(1 + s, 1 + f), stats.beta(1 + t, 1 + g)
        return integrate.quad(lambda x: b.pdf(x) * a.cdf(x), 0, 1)[0]

    law, earned = {(0, 0, 0, 0): 1.0}, 0.0
    for _ in range(rounds):
        after = {}
        for counts, chance in law.items():
            second = second_is_better(*counts)
            for arm, chosen in ((0, 1 - second), (1, second)):
                s, f = counts[2 * arm : 2 * arm + 2]
                for place, share in ((2 * arm, (1 + s) / (2 + s + f)), (2 * arm + 1, (1 + f) / (2 + s + f))):
                    there = tuple(count + (i == place) for i, count in enumerate(counts))
                    after[there] = after.get(there, 0.0) + chance * chosen * share
                earned += chance * chosen * (1 + s) / (2 + s + f)
        law = after
    return rounds * 2 / 3 - earned


@pytest.mark.slow
@pytest.mark.statistical
def test_the_bayesian_regret_of_thompson_and_of_uniform_pulls_is_that_of_the_exact_law():
    options = {"horizon": 8, "num_runs": 40_000, "seed": 11}
    for rule, exact in (
        (jb.algorithms.thompson(2), bayesian_regret_of_thompson(8)),
        (jb.algorithms.uniform(2), 8 * (2 / 3 - 1 / 2)),
    ):
        regret = jb.simulate(rule, TWO, **options).regret
        assert abs(regret.value - exact) < 5 * regret.se
        assert regret.se < 0.02 * exact  # narrow enough to tell the two rules apart


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"means": [0.1, 0.2]}, r"^drawn: no argument is drawn; give a function of a key, such as means=lambda key"),
        ({"means": [0.1], "permute": lambda key: True}, "^drawn: permute of bernoulli is static and cannot be drawn"),
        ({"means": uniform((2, 2))}, r"^drawn: bernoulli: means has shape \(2, 2\), must have 1 axes"),
    ],
)
def test_a_prior_that_cannot_be_traced_is_refused_in_one_line(arguments, said):
    with pytest.raises(ValueError, match=said) as error:
        jb.drawn(bernoulli, **arguments)
    assert "\n" not in str(error.value)


def test_arguments_that_are_used_in_python_cannot_be_drawn():
    with pytest.raises(ValueError, match="alpha of beta is static and cannot be drawn, and neither can its other"):
        jb.drawn(jb.environments.beta, alpha=uniform((2,)), beta=[1.0, 2.0])


def test_a_factory_that_uses_numpy_is_refused_in_one_line():
    with pytest.raises(ValueError, match=r"^drawn: the factory uses what is drawn in Python or NumPy; write") as error:
        jb.drawn(lambda means: bernoulli(np.sort(np.array(means))), means=uniform((2,)))
    assert "\n" not in str(error.value)


def test_noise_that_depends_on_what_is_drawn_is_refused():
    def loud(scale):
        return bernoulli([0.1, 0.2])._replace(noise=lambda key: scale * jax.random.normal(key))

    with pytest.raises(ValueError, match=r"^drawn: the noise depends on what is drawn, .*; scale it in reward$"):
        jb.drawn(loud, scale=uniform(()))


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        (
            uniform((2,), 0.0, 1.01),
            r"^simulate: run \d+ draws what its factory refuses: bernoulli: means\[[01]\] = 1.0",
        ),
        (
            uniform((2,), -0.01, 1.0),
            r"^simulate: run \d+ draws what its factory refuses: bernoulli: means\[[01]\] = -0.0",
        ),
        (
            lambda key: jnp.where(jax.random.uniform(key, (2,)) < 0.01, jnp.nan, 0.5),
            r"^simulate: run \d+ draws what its factory refuses: bernoulli: means\[[01]\] = nan",
        ),
    ],
    ids=["high", "low", "nan"],
)
def test_a_rare_draw_that_the_factory_refuses_is_found_before_the_first_round(prior, said, compilations):
    world = jb.drawn(bernoulli, means=prior)
    with pytest.raises(ValueError, match=said) as error:
        jb.simulate(RULES[bernoulli], world, num_runs=1000, **SMALL)
    assert "\n" not in str(error.value) and not compilations


def test_runs_beyond_the_first_4096_have_draws_of_their_own():
    options = {"seed": 3, "precision": "float32"}
    every = instances_of(TWO, num_runs=4100, **options)["drawn/means"]
    last = instances_of(TWO, num_runs=4, first_run=4096, **options)["drawn/means"]
    assert every.shape == (4100, 2) and every[4096:].tobytes() == last.tobytes() and len(np.unique(last)) == 8
    assert not {*last.ravel()} & {*every[:4].ravel()}


def test_even_a_prior_of_one_instance_shows_no_truth():
    alike = jb.drawn(bernoulli, means=lambda key: numerics.as_float(np.array([0.1, 0.2])))
    assert truth_of(alike) == {"prior": ["means"]}


@pytest.mark.slow
def test_runs_that_stop_have_an_error_rate_over_the_prior():
    apart = jb.drawn(
        bernoulli, means=lambda key: jnp.stack([0.1 + 0.2 * jax.random.uniform(key), numerics.as_float(0.8)])
    )
    found = jb.identify(jb.algorithms.kl_lucb(2, delta=0.1), apart, num_runs=100)
    assert found.error().value <= 0.1 and found.prior == ("means",) and found.guarantee["delta"] == 0.1
    np.testing.assert_allclose(found.arrays["gap"], 0.8 - found.arrays["drawn/means"][:, 0], rtol=1e-6)
    assert found.arrays["gap"].min() > 0.49


@pytest.mark.slow
def test_a_grid_of_instances_has_the_bytes_of_the_factory_of_pairs():
    rows = [[0.2, 0.8], [0.5, 0.4]]
    options = {"horizon": 80, "num_runs": 5, "seed": 4}
    grid = jb.sweep(functools.partial(jb.algorithms.ucb1, 2), bernoulli, {"means": rows, "c": [1.0, 3.0]}, **options)

    def both(means, c):
        return jb.algorithms.ucb1(2, c=c), bernoulli(means)

    pairs = jb.sweep(both, None, {"means": rows, "c": [1.0, 3.0]}, **options)
    for mine, other in zip(grid, pairs, strict=True):
        assert mine.params == other.params and mine.truth == other.truth
        assert all(mine.arrays[name].tobytes() == other.arrays[name].tobytes() for name in other.arrays)
    partial = jb.sweep(
        functools.partial(jb.algorithms.ucb1, 2), functools.partial(bernoulli), {"means": rows}, **options
    )
    assert [r.truth["means"] for r in partial] == rows


@pytest.mark.parametrize(
    ("factory", "values", "said"),
    [
        (functools.partial(jb.algorithms.kl_ucb, 2), {"sigma": [1.0]}, "sigma is an argument of both the factory and"),
        (functools.partial(jb.algorithms.ucb1, 2), {"mean": [[0.1, 0.2]]}, "of the environment: means, sigma, permute"),
    ],
)
def test_a_name_that_both_or_neither_take_is_refused_in_one_line(factory, values, said):
    with pytest.raises(ValueError, match=f"^sweep: .*{said}") as error:
        jb.sweep(factory, functools.partial(gaussian), values, horizon=9, num_runs=2)
    assert "\n" not in str(error.value)


def test_instances_are_not_swept_on_an_executor():
    with pytest.raises(ValueError, match=r"^sweep: with an executor, means of the environment cannot be swept"):
        jb.sweep(
            functools.partial(jb.algorithms.ucb1, 2),
            bernoulli,
            {"means": [[0.1, 0.2]]},
            horizon=9,
            num_runs=2,
            execution=jb.Execution(executor=object()),
        )


TOML = {
    "kind": "simulate",
    "runs": 50,
    "horizon": 80,
    "seed": 3,
    "instance": [{"type": "bernoulli", "means": {"prior": "uniform", "low": 0.0, "high": 1.0, "shape": [2]}}],
    "algorithm": [{"type": "ucb1"}],
}


def with_prior(**prior):
    return TOML | {"instance": [{"type": "bernoulli", "means": prior}]}


@pytest.mark.slow
def test_a_prior_in_toml_is_the_one_in_python(tmp_path):
    experiment = spec.parse(TOML, "bayes.toml")
    assert spec.parse(experiment.to_dict(), "bayes.toml") == experiment
    (tmp_path / "bayes.toml").write_text(experiment.to_toml())
    assert spec.load(tmp_path / "bayes.toml").instances == experiment.instances
    (found,) = jb.run(tmp_path / "bayes.toml", tmp_path / "out")
    assert found.prior == ("means",)
    for name in ("drawn/means", "gap", "regret", "pulls"):
        assert found.arrays[name].tobytes() == played(bernoulli).arrays[name][:50].tobytes()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (with_prior(prior="gamma"), r"means.prior = \"gamma\", must be one of beta, normal, uniform"),
        (with_prior(prior="beta", a=0, b=1, shape=[2]), r"means.a = 0, must be a number in \(0, inf\)"),
        (with_prior(prior="beta", a=1, shape=[2]), r"means.b: missing, must be a number in"),
        (with_prior(prior="uniform", low=1, high=1, shape=[2]), "means.high = 1.0, must be larger than low = 1.0"),
        (with_prior(prior="normal", mean=0, sd=1, shape=[0]), r"means.shape.*0.*integer >= 1"),
        (with_prior(prior="normal", mean=0, sd=1, size=[3]), "means.size.*shape"),
        (
            TOML | {"algorithm": [{"type": "ucb1", "c": {"prior": "uniform", "low": 0, "high": 1}}]},
            r"algorithm\[0\].c = .*, cannot be drawn: only an \[\[instance\]\] can",
        ),
        (
            TOML | {"instance": [{"type": "linear_random", "num_arms": {"prior": "uniform"}, "dim": 2}]},
            r"instance\[0\].num_arms = .*, cannot be drawn, because it is static",
        ),
    ],
)
def test_a_wrong_prior_in_toml_is_refused_in_one_line(given, said):
    with pytest.raises(ValueError, match=said) as error:
        spec.parse(given, "bayes.toml")
    assert "\n" not in str(error.value)


def test_a_prior_in_toml_that_draws_what_is_refused_ends_before_the_first_round(tmp_path, compilations):
    given = with_prior(prior="normal", mean=0.5, sd=1.0, shape=[2])
    (tmp_path / "bayes.toml").write_text(spec.parse(given, "bayes.toml").to_toml())
    with pytest.raises(
        ValueError, match=r"^bernoulli: run \d+ draws what its factory refuses: bernoulli: means"
    ) as error:
        jb.run(tmp_path / "bayes.toml", tmp_path / "out")
    assert "\n" not in str(error.value) and not compilations


@pytest.mark.slow
def test_the_laws_of_the_families_in_toml():
    key = jax.random.key(0)
    for family, parameters, law in (
        ("beta", {"a": 2.0, "b": 3.0}, stats.beta(2, 3)),
        ("normal", {"mean": 2.0, "sd": 3.0}, stats.norm(2, 3)),
        ("uniform", {"low": 2.0, "high": 3.0}, stats.uniform(2, 1)),
    ):
        table = {"type": "gaussian", "means": {"prior": family, **parameters, "shape": [500]}}
        (instance,) = spec.parse(TOML | {"instance": [table], "allow": ["rewards"]}, "bayes.toml").instances
        values = np.asarray(instance.arguments["means"](key))
        assert stats.kstest(values, law.cdf).pvalue > 6e-7


def test_regret_against_the_gap_averages_runs_of_similar_gaps(axes):
    found = played(bernoulli)
    jb.plot([found], axes, what="gap")
    (line,) = [x for x in axes.get_lines() if x.get_label() == "ucb1"]
    order = np.argsort(found.arrays["gap"], kind="stable").reshape(10, 20)
    np.testing.assert_allclose(line.get_xdata(), found.arrays["gap"][order].astype(float).mean(1))
    np.testing.assert_allclose(line.get_ydata(), found.arrays["regret"][order, -1].astype(float).mean(1))
    assert axes.get_ylabel() == "regret after 80 rounds"


@pytest.mark.slow
def test_a_grid_is_a_curve_for_each_algorithm_and_value(axes):
    rows = [[0.2, 0.8], [0.5, 0.4], [0.2, 0.8]]
    values = {"means": rows, "c": [1.0, 1.0, 3.0]}
    grid = jb.sweep(functools.partial(jb.algorithms.ucb1, 2), bernoulli, values, horizon=80, num_runs=5, seed=4)
    jb.plot(grid[:2], axes, what="gap")
    (line,) = [x for x in axes.get_lines() if x.get_label() == "ucb1"]
    np.testing.assert_allclose(line.get_xdata(), [0.1, 0.6])
    np.testing.assert_allclose(line.get_ydata(), [grid[i].regret.value for i in (1, 0)], rtol=1e-6)
    assert axes.get_legend() is not None
    figure = jb.plot(grid, what="gap")
    assert {"ucb1 (c = 1.0)", "ucb1 (c = 3.0)"} <= {x.get_label() for x in figure.get_lines()}


@pytest.mark.slow
def test_a_figure_against_a_gap_that_is_not_known_is_refused(axes):
    unknown = bernoulli([0.1, 0.5])
    found = jb.simulate(
        RULES[bernoulli], unknown._replace(truth=unknown.truth._replace(means=None)), num_runs=5, **SMALL
    )
    with pytest.raises(ValueError, match='what = "gap": bernoulli/ucb1: its means or single runs are not known'):
        jb.plot(found, axes, what="gap")
    with pytest.raises(ValueError, match="bands, only for regret; leave it out"):
        jb.plot(played(bernoulli), axes, what="gap", bands="95 %")


def test_titles_say_that_regret_is_bayesian(axes):
    jb.plot([played(bernoulli)], axes)
    assert axes.get_title(loc="left") == "bernoulli: mean Bayesian regret of 200 runs, 95 % bands"
