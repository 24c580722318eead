"""What an environment declares about its instance reaches results, tables and figures, under any name."""

import functools
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Truth
from jaxbandit.lab.experiments.truth import truth_of
from jaxbandit.lab.specs import references, spec
from jaxbandit.running import cell
from jaxbandit.running.results import report
from jaxbandit.running.truth import means_of
from jaxbandit.support.numerics import as_float

matplotlib.use("Agg")
pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
MEANS = [0.2, 0.5, 0.8]
SMALL = {"horizon": 200, "num_runs": 8}
CONSTANT = jb.bounds.bernoulli_regret_constant(MEANS)


class Coins(NamedTuple):
    """State of an environment of a user's own. Its field `means` is not what results call the means."""

    means: jax.Array  # the log odds
    chances: jax.Array


def coins(chances, declared=True):
    """Return Bernoulli arms that share no code with those of the package."""
    chances = np.array(chances)
    truth = Truth(
        means=lambda state: state.chances,
        regret_constant=lambda: jb.bounds.bernoulli_regret_constant(chances),
        characteristic_time=lambda: jb.bounds.characteristic_time(chances),
        parameters=lambda: {"theta": chances},
    )
    return jb.Environment(
        init=lambda key: Coins(as_float(np.log(chances / (1 - chances))), as_float(chances)),
        noise=jax.random.uniform,
        reward=lambda state, context, action, draw: as_float(draw < state.chances[action]),
        regret=lambda state, context, action: jnp.max(state.chances) - state.chances[action],
        simple_regret=lambda state, arms: jnp.max(state.chances) - jnp.min(state.chances[arms]),
        arms=jb.Arms(len(chances)),
        rewards=jb.Rewards(0.0, 1.0, sigma=0.5),
        known=lambda: {"sigma": 0.5},
        truth=truth if declared else Truth(),
    )


def bound_lines(result):
    """Return the lines of a figure that are labeled as lower bounds."""
    return [line for line in result.plot().get_lines() if "asymptotic slope" in str(line.get_label())]


@pytest.mark.parametrize(
    "environment",
    [jb.environments.bernoulli(MEANS), jb.environments.bernoulli(MEANS)._replace(name="gaussian"), coins(MEANS)],
)
def test_a_lower_bound_is_that_of_the_instance_under_any_name(environment):
    result = jb.simulate(jb.algorithms.ucb1(3), environment, **SMALL)
    assert result.truth == {"means": MEANS, "regret_constant": CONSTANT}
    lower = f"{CONSTANT * np.log(200):.1f}"
    table = report.table([result])
    assert "lower bound" in table and lower in table, table
    assert len(bound_lines(result)) == 1


def test_nothing_is_read_off_a_name_or_a_field_of_the_state():
    bare = jb.simulate(jb.algorithms.ucb1(3), coins(MEANS, declared=False)._replace(name="bernoulli"), **SMALL)
    assert bare.truth == {} and not bound_lines(bare)
    stopped = jb.identify(
        jb.algorithms.lucb(3, delta=0.5),
        jb.environments.bernoulli(MEANS)._replace(truth=Truth()),
        num_runs=2,
    )
    assert stopped.truth == {}


def test_runs_that_stop_have_the_lower_bound_that_is_declared():
    """Only of rules that promise the best arm, and not where it takes seconds."""
    lucb, time = functools.partial(jb.algorithms.lucb, 3, delta=0.05, sigma=0.5), jb.bounds.characteristic_time(MEANS)
    result, bound = jb.identify(lucb(), coins(MEANS), num_runs=2), time * np.log(1 / (2.4 * 0.05))
    assert result.to_json()["samples"]["lower_bound"] == pytest.approx(bound, rel=1e-6)
    assert f"lower bound on the mean  {bound:.1f}" in [line.get_label() for line in result.plot().get_lines()]

    def declared(rule, environment):
        return cell._truth_of_stops(environment, cell.guarantee_of(rule)).get("characteristic_time")

    bernoulli = jb.environments.bernoulli(MEANS)
    assert declared(lucb(), bernoulli) == declared(lucb(), jb.environments.bernoulli(MEANS, permute=True)) == time
    costly = coins(MEANS)._replace(truth=coins(MEANS).truth._replace(costly=True))
    for rule, other in ((lucb(), costly), (lucb(epsilon=0.1), bernoulli), (jb.algorithms.ucb1(3), bernoulli)):
        assert declared(rule, other) is None


def test_runs_with_their_own_order_of_the_arms_have_the_constant_too():
    result = jb.simulate(jb.algorithms.ucb1(3), jb.environments.bernoulli(MEANS, permute=True), **SMALL)
    assert result.truth == {"sorted_means": MEANS[::-1], "regret_constant": CONSTANT}


def test_a_constant_that_takes_seconds_is_left_to_experiments_and_to_those_who_ask():
    costly = coins(MEANS)
    costly = costly._replace(truth=costly.truth._replace(costly=True, dim=3))
    assert jb.simulate(jb.algorithms.ucb1(3), costly, **SMALL).truth == {"means": MEANS, "dim": 3}
    asked = jb.simulate(jb.algorithms.ucb1(3), costly._replace(truth=costly.truth._replace(costly=False)), **SMALL)
    assert asked.truth["regret_constant"] == CONSTANT


def test_the_same_words_declare_an_environment_in_an_experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("own_coins.py").write_text(f"from {__name__} import coins\n", encoding="utf-8")
    instance = {"type": "own_coins:coins", "name": "own", "chances": MEANS}
    told = {"type": f"{__name__}:asks", "name": "asks"}
    data = {"kind": "simulate", "runs": 1, "horizon": 9, "instance": [instance], "algorithm": [told]}
    experiment = spec.parse(data, "x.toml")
    [one] = experiment.cells()
    assert one.arguments == {"num_arms": 3, "sigma": 0.5}  # theta is hidden: `asks` may not know it
    assert truth_of(one.instance, "simulate") == {"means": MEANS, "regret_constant": CONSTANT}
    stopped = truth_of(one.instance, "identify", best_arm=True)
    assert stopped["characteristic_time"] == jb.bounds.characteristic_time(MEANS)
    references.entry.cache_clear()
    references.sources.cache_clear()


def asks(num_arms: int, *, sigma: float = 1.0, theta=None):
    assert theta is None
    return jb.algorithms.ucb1(num_arms, c=sigma)


def test_an_environment_made_of_another_one_has_its_own_truth():
    soare, crowd = jb.environments.soare(2, 0.1, sigma=2.0), jb.environments.crowd("it")
    assert soare.known()["theta_norm"] == 2.0 and soare.truth.parameters()["theta"].tolist() == [2.0, 0.0]
    assert soare.truth.dim == 2 and soare.truth.costly  # not the constant of unrelated Gaussian arms
    assert crowd.truth.regret_constant() == pytest.approx(
        jb.bounds.bernoulli_regret_constant(crowd.truth.means(crowd.init(jax.random.key(0)))), rel=1e-5
    )
    assert jb.environments.crowd("it", feedback="full").truth.regret_constant is None


def test_means_are_a_list_unless_they_depend_on_a_context_or_a_run():
    sets = np.array([[[1.0, 0.0], [0.0, 1.0]]] * 2)
    assert means_of(jb.environments.bernoulli(MEANS)) == MEANS
    assert means_of(jb.environments.bernoulli(MEANS, permute=True)) is None
    assert means_of(jb.environments.linear_contextual(sets, [0.5, 0.5], [1.0, 0.2])) is None
    assert means_of(jb.environments.piecewise_bernoulli([MEANS, MEANS[::-1]], [0, 10])) is None
