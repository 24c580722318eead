"""sweep: many values in one compilation, each with the bytes that it has alone, and over vectors too."""

import functools
import inspect
import signal
import sys
import threading
import time
import typing

import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Outcome
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.running import options, truth
from jaxbandit.running.results import names
from jaxbandit.support.refusals import RunsLeftOut

MEANS = [0.2, 0.5, 0.6]
WORLD = jb.environments.bernoulli(MEANS)
NOISY = jb.environments.gaussian(MEANS, sigma=1.0)
SMALL = {"horizon": 150, "num_runs": 5, "seed": 4}
ONE = jb.Execution(workers=1)
FEATURES = [[1.0, 0.2], [0.3, 1.0], [0.7, 0.7]]

REGRET = {
    "ucb1": (functools.partial(jb.algorithms.ucb1, 3), WORLD, {"c": [0.0, 1.0, 3.0] * 3}),
    "kl_ucb": (functools.partial(jb.algorithms.kl_ucb, 3), WORLD, {"c": [0.0, 1.0, 3.0] * 3}),
    "gaussian": (functools.partial(jb.algorithms.kl_ucb, 3, family="gaussian"), NOISY, {"sigma": [1.0, 1.5, 2.0] * 3}),
    "epsilon": (functools.partial(jb.algorithms.epsilon_greedy, 3), WORLD, {"epsilon": [0.0, 0.1, 1.0] * 3}),
    "thompson": (
        functools.partial(jb.algorithms.thompson, 3),
        WORLD,
        {"prior_alpha": [0.5, 1.0, 2.0] * 3, "prior_beta": [1.0, 2.0, 3.0] * 3},
    ),
    "lin_ucb": (functools.partial(jb.algorithms.lin_ucb, FEATURES, horizon=150), NOISY, {"sigma": [1.0, 1.5, 2.0] * 3}),
}


def content(result):
    return {name: (x.dtype.str, x.shape, x.tobytes()) for name, x in result.arrays.items()}


def same(some, others):
    assert [content(r) for r in some] == [content(r) for r in others]


def alone(factory, world, values, i, **options):
    (result,) = jb.sweep(factory, world, {name: [column[i]] for name, column in values.items()}, **options)
    return result


# The code that users run adds up over lanes in `lin_ucb` and searches roots in `kl_ucb`.
QUICKLY = [
    pytest.param(name, marks=pytest.mark.quickly_compiled) for name in REGRET if name not in ("lin_ucb", "kl_ucb")
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lin_ucb", "kl_ucb", *QUICKLY])
def test_a_value_has_the_bytes_that_it_has_alone(name):
    factory, world, values = REGRET[name]
    single = [alone(factory, world, values, i, **SMALL, execution=ONE) for i in range(3)] * 3
    for workers in (1, 2, 3):
        found = jb.sweep(factory, world, values, **SMALL, execution=jb.Execution(workers=workers))
        same(found, single)
        assert [r.params for r in found] == [{k: v[i] for k, v in values.items()} for i in range(9)]
    assert len({content(r)["regret"] for r in single}) > 1  # the values make a difference


@pytest.mark.slow
def test_values_of_runs_that_stop():
    rule, world = functools.partial(jb.algorithms.lucb, 2, sigma=0.5), jb.environments.gaussian([1.0, 0.0], sigma=0.5)
    values, options = {"delta": [0.3, 0.1, 0.05] * 3}, {"num_runs": 6, "seed": 1}
    single = [alone(rule, world, values, i, **options, execution=ONE) for i in range(3)] * 3
    found = jb.sweep(rule, world, values, **options, execution=jb.Execution(workers=2))
    same(found, single)
    assert [r.guarantee["delta"] for r in found] == values["delta"]


@pytest.mark.slow
def test_means_of_an_instance_are_swept_as_vectors():
    rows = np.array([[0.2, 0.8], [0.5, 0.4], [0.9, 0.1]])

    def both(means, c):
        return jb.algorithms.ucb1(2, c=c), jb.environments.bernoulli(means)

    found = jb.sweep(both, None, {"means": rows, "c": [0.0, 1.0, 3.0]}, **SMALL, execution=jb.Execution(workers=2))
    assert [r.params for r in found] == [{"means": rows[i].tolist(), "c": [0.0, 1.0, 3.0][i]} for i in range(3)]
    assert [r.truth["means"] for r in found] == rows.tolist()
    for i, c in enumerate([0.0, 1.0, 3.0]):
        single = jb.simulate(jb.algorithms.ucb1(2, c=c), jb.environments.bernoulli(rows[i]), **SMALL)
        np.testing.assert_array_equal(found[i].arrays["pulls"], single.arrays["pulls"])
        gap = abs(rows[i, 0] - rows[i, 1])
        worse = found[i].arrays["pulls"][:, np.argmin(rows[i])]
        np.testing.assert_allclose(found[i].arrays["regret"][:, -1], gap * worse, rtol=1e-5)  # of float32
    same(found, [alone(both, None, {"means": rows, "c": [0.0, 1.0, 3.0]}, i, **SMALL) for i in range(3)])
    lists = jb.sweep(both, None, {"means": rows.tolist(), "c": (0, 1, 3)}, **SMALL)
    same(found, lists)


@pytest.mark.slow
def test_matrices_of_features_are_swept():
    rows = np.array([FEATURES, np.roll(FEATURES, 1, axis=0)])

    def rule(features):
        return jb.algorithms.lin_ucb(features, horizon=150)

    found = jb.sweep(rule, NOISY, {"features": rows}, **SMALL)
    same(found, [alone(rule, NOISY, {"features": rows}, i, **SMALL) for i in range(2)])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[0.1, 0.2], [0.3]], r"values of means = \[\[0.1, 0.2\], \[0.3\]\], must be a list of numbers, or of arrays"),
        (["a", "b"], "values of means = .* must be a list of numbers"),
        ("ab", "values of means = 'ab', must be a list of numbers"),
        ([None], "must be a list of numbers"),
    ],
)
def test_what_is_no_list_of_numbers_is_refused_in_one_line(given, said):
    with pytest.raises(ValueError, match=said) as error:
        jb.sweep(
            lambda means: (jb.algorithms.ucb1(2), jb.environments.bernoulli(means)), None, {"means": given}, **SMALL
        )
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_instances_are_swept_for_an_algorithm_as_for_its_factory():
    means = {"means": [[0.2, 0.6], [0.5, 0.1]]}
    rules = jb.algorithms.ucb1(2, c=2.0), functools.partial(jb.algorithms.ucb1, 2, c=2.0)
    found = [jb.sweep(rule, jb.environments.bernoulli, means, **SMALL) for rule in rules]
    assert [content(x) for x in found[0]] == [content(x) for x in found[1]]


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (jb.algorithms.ucb1(2), "'c', must be arguments of the factory: none, or of the environment: means, permute$"),
        ([jb.algorithms.ucb1(2)], r"^sweep: factory is a list, must be a function such as partial\(kl_ucb, 9\)$"),
    ],
)
def test_what_has_no_such_argument_is_refused_in_one_line(factory, said):
    with pytest.raises(ValueError, match=said):
        jb.sweep(factory, jb.environments.bernoulli, {"c": [1.0]}, **SMALL)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"horizon": 9, "num_rus": 2},
            r"^sweep: num_rus is no argument, must be one of .*; did you mean 'num_runs'\?$",
        ),
        ({"horizn": 9, "num_runs": 2}, r"^sweep: horizn is no argument, .*; did you mean 'horizon'\?$"),
        ({"num_runs": 2, "max_round": 5}, r"^sweep: max_round is no argument, .*; did you mean 'max_rounds'\?$"),
        (
            {"horizon": 9, "num_runs": 2, "max_rounds": 5},
            "^sweep: max_rounds is an argument of runs that stop by a rule",
        ),
        ({"num_runs": 2, "hindsight": True}, "^sweep: hindsight is an argument of a fixed horizon; give horizon, or"),
        ({"horizon": 9}, "^sweep: num_runs is missing"),
        ({"num_runs": 2, "budget": 5}, "^sweep: budget is no argument"),
        ({"horizon": 9, "num_runs": 2, "results": 5}, "^sweep: results is no argument"),
    ],
)
def test_a_wrong_option_is_refused_in_the_name_of_sweep(options, said):
    with pytest.raises(TypeError, match=said) as error:
        jb.sweep(functools.partial(jb.algorithms.ucb1, 3), WORLD, {"c": [1.0]}, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("verb", "kind", "own"),
    [(jb.simulate, options.SimulateOptions, "horizon"), (jb.identify, options.IdentifyOptions, "budget")],
)
def test_the_options_are_those_of_the_verb(verb, kind, own):
    arguments = inspect.signature(verb).parameters.values()
    named = {x.name: x.annotation for x in arguments if x.kind is inspect.Parameter.KEYWORD_ONLY and x.name != own}
    hints = typing.get_type_hints(verb)
    assert set(named) == set(kind.__annotations__) == set(typing.get_type_hints(kind))
    assert all(hint == hints[name] for name, hint in typing.get_type_hints(kind).items())


@pytest.mark.slow
def test_a_sweep_without_a_horizon_has_the_bytes_of_identify():
    rule, world = functools.partial(jb.algorithms.lucb, 2, sigma=0.5), jb.environments.gaussian([1.0, 0.0], sigma=0.5)
    for how in ({}, {"horizon": None, "precision": None}):
        (found,) = jb.sweep(rule, world, {"delta": [0.1]}, num_runs=6, seed=1, **how)
        single = jb.identify(rule(delta=0.1), world, num_runs=6, seed=1)
        assert found.arrays["pulls"].tobytes() == single.arrays["pulls"].tobytes()


def test_a_value_that_its_factory_refuses_is_found_before_the_first_round():
    reports = []
    how = Execution(progress=reports.append)
    with pytest.raises(ValueError, match="c = -1"):
        jb.sweep(functools.partial(jb.algorithms.ucb1, 3), WORLD, {"c": [1.0, -1.0]}, **SMALL, execution=how)
    assert not reports


def scaled(scale):
    """Rewards that are not finite at scale = 0."""
    base = jb.environments.bernoulli(MEANS)

    def reward(state, context, action, noise):
        return base.reward(state, context, action, noise) * jnp.where(scale == 0, jnp.nan, 1.0)

    return jb.algorithms.ucb1(3), base._replace(reward=reward)


@pytest.mark.slow
def test_a_value_that_fails_leaves_the_others_as_they_are():
    values = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    with pytest.warns(RunsLeftOut, match=r"\?scale=0: 5 of 5 runs"):
        found = jb.sweep(scaled, None, {"scale": values}, **SMALL, max_failed=1.0, execution=jb.Execution(workers=2))
    good = alone(scaled, None, {"scale": values}, 0, **SMALL)
    for value, result in zip(values, found, strict=True):
        if value:
            assert content(result) == content(good)
        else:
            assert (result.arrays["outcome"] == Outcome.NONFINITE).all()
    with pytest.raises(ValueError, match=r"\?scale=0: 5 of 5 runs left out: not finite; max_failed = 0.1"):
        jb.sweep(scaled, None, {"scale": values}, **SMALL, execution=jb.Execution(workers=2))


class Enough(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("how", ["error", "ctrl-C"])
def test_a_sweep_that_was_interrupted_is_resumed(how, tmp_path):
    rule, values = functools.partial(jb.algorithms.ucb1, 3), {"c": np.linspace(0, 3, 12)}
    whole = jb.sweep(rule, WORLD, values, **SMALL, execution=jb.Execution(workers=2))
    kept = jb.Execution(workers=2, directory=tmp_path)
    lock, seen = threading.Lock(), []

    def stop(news):
        with lock:
            seen.append(news.run_steps)
            if len(seen) == 14:
                if how == "error":
                    raise Enough
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        if len(seen) >= 14:
            time.sleep(0.2)  # for the main thread to hear of it

    with pytest.raises(Enough if how == "error" else KeyboardInterrupt):
        jb.sweep(rule, WORLD, values, **SMALL, execution=kept._replace(progress=stop, chunk=64))
    assert sorted(x.name for x in tmp_path.iterdir())[:2] == ["000", "001"]
    assert len(seen) < 3 * 12  # the threads end before all chunks of all values, how soon depends on the load
    before, rest = sum(seen), []

    def count(news):
        rest.append(news.run_steps)

    again = jb.sweep(rule, WORLD, values, **SMALL, execution=kept._replace(progress=count))
    same(again, whole)
    assert before + sum(rest) == 12 * 5 * 150  # no round is played twice
    more = {"c": [*values["c"], 4.0]}
    rest.clear()
    last = jb.sweep(rule, WORLD, more, **SMALL, execution=kept._replace(progress=count))
    same(last[:12], whole)
    assert sum(rest) == 5 * 150


@pytest.mark.slow
def test_one_bar_for_all_values(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    jb.sweep(
        functools.partial(jb.algorithms.ucb1, 3),
        WORLD,
        {"c": np.linspace(0, 3, 9)},
        **SMALL,
        execution=jb.Execution(workers=2, progress=True),
    )
    shown = capsys.readouterr().err
    assert "9 values: compiling" in shown and "ucb1" not in shown.lower()


@pytest.mark.slow
def test_the_truth_of_an_environment_is_computed_once(monkeypatch):
    asked = []

    def init(key):
        asked.append(key)
        return WORLD.init(key)

    truth._means_of_object.cache_clear()
    world = WORLD._replace(init=init)
    jb.sweep(functools.partial(jb.algorithms.ucb1, 3), world, {"c": np.linspace(0, 3, 2)}, **SMALL)
    few = len(asked)
    jb.sweep(functools.partial(jb.algorithms.ucb1, 3), world, {"c": np.linspace(0, 3, 40)}, **SMALL)
    assert len(asked) < few + 10


@pytest.mark.slow
def test_names_of_many_results_take_linear_time(monkeypatch):
    results = jb.sweep(functools.partial(jb.algorithms.ucb1, 3), WORLD, {"c": np.linspace(0, 3, 4)}, **SMALL)
    looked = []

    class Params(dict):
        def get(self, *given):
            looked.append(given)
            return super().get(*given)

    for result in results:
        object.__setattr__(result, "params", Params(result.params))
    assert names.algorithms(results * 50)[:4] == ["ucb1?c=0", "ucb1?c=1", "ucb1?c=2", "ucb1?c=3"]
    assert len(looked) <= 2 * 200
