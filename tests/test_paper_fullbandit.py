"""Reproduction of Kuroki et al. (2019): its data, what its instances tell, the tables in which nothing is pulled."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from results_by_hand import stopping

from jaxbandit.algorithms.exploration.super_arms import uniform_inverse
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.lab.papers import figure_experiments, own_instances, paper, verdict
from jaxbandit.lab.papers.tables import computed, full_bandit_costs, full_bandit_figures
from jaxbandit.lab.specs import source, spec
from jaxbandit.running.results.base import ResultSet

pytestmark = pytest.mark.quickly_compiled

ABOUT = source.read(source.embedded_files()["fullbandit"])
PAPER = ABOUT["paper"]
WORKERS = {"IT": 36, "Medicine": 45, "Chinese": 50, "Pokemon": 55, "English": 63, "Science": 111}
TABLE_2 = {  # ICB, SAQM, SA-FOA, thousands of samples
    "IT": (46658, 68328, 3421),
    "Medicine": (73337, 86252, 3493),
    "Chinese": (105214, 110504, 4949),
    "Pokemon": (20943, 91423, 3050),
    "English": (118587, 131512, 9313),
    "Science": (362558, 291773, 15611),
}


def _data():
    data = dict(ABOUT)
    own_instances.add_instances(data, PAPER, None)
    return data


def test_numbers_are_those_of_table_2():
    found = {(e["instance"], e["algorithm"]): e["value"] for e in PAPER["published"]}
    rules = ("ICB", "SAQM", "SA-FOA")
    assert found == {(i, a): 1000 * v for i, row in TABLE_2.items() for a, v in zip(rules, row, strict=True)}


def test_table_2_is_played_as_its_readings_say():
    figure = figure_experiments.figures_of(PAPER)["table2"]
    parts = own_instances.parts(figure_experiments.experiment(_data(), figure))
    assert list(parts) == list(WORKERS)
    (cell, *_) = spec.parse(parts["IT"], "fullbandit.toml").cells()
    told = {key: cell.arguments[key] for key in ("k", "sigma", "epsilon", "delta", "num_sets", "radius")}
    assert told == {"k": 10, "sigma": 10.0, "epsilon": 0.5, "delta": 0.05, "num_sets": 81, "radius": "prop1"}
    for name, part in parts.items():
        assert [table["num_sets"] for table in part["algorithm"]] == [round(2.25 * WORKERS[name])] * 3
        assert "tell" not in part["instance"][0]


def test_instances_that_tell_the_same_are_one_experiment():
    instances = [{"name": n, "type": "t"} | more for n, more in (("a", {}), ("b", {"tell": {"x": 1}}), ("c", {}))]
    parts = own_instances.parts({"name": "e", "instance": instances, "algorithm": [{"name": "r", "x": 0}]})
    assert {key: [i["name"] for i in part["instance"]] for key, part in parts.items()} == {"a": ["a", "c"], "b": ["b"]}
    assert [part["algorithm"][0]["x"] for part in parts.values()] == [0, 1]
    assert list(own_instances.parts({"name": "e", "instance": instances[:1], "algorithm": []})) == [""]


def test_verdicts_follow_the_data_not_the_paper():
    def judged(table):
        cells = [
            stopping(np.linspace(0.99, 1.01, 50) * 1000 * value, None, None, rule, name, max_rounds=10**12)
            for name, row in table.items()
            for rule, value in zip(("ICB", "SAQM", "SA-FOA"), row, strict=True)
        ]
        claims = [c for c in PAPER["claim"] if c["id"] in ("t2.1", "t2.2", "t2.3")]
        return [c["verdict"] for c in verdict.judge(claims, ResultSet("x", tuple(cells)))]

    assert judged(TABLE_2) == ["agrees"] * 3
    assert judged(TABLE_2 | {"Science": (2, 3, 4)}) == ["disagrees", "disagrees", "agrees"]
    assert judged(TABLE_2 | {"IT": (3, 2, 1)}) == ["agrees", "agrees", "disagrees"]


@pytest.mark.parametrize(
    ("dataset", "expected"), [("it", (28858e3, 3893e3, 23865e3)), ("pokemon", (39935e3, 1480e3, 9973e3))]
)
def test_costs_without_noise_are_an_independent_programs(dataset, expected):
    """Uniform on all teams, sigma = 10, epsilon = 0.5: SAQM with alpha 0.9, ICB with either radius."""
    means = full_bandit_costs._means(dataset)
    inverse = uniform_inverse(len(means), 10)
    found = full_bandit_costs.noiseless(means, inverse, 10, epsilon=0.5, sigma=10.0, alphas={"fixed": 0.9})
    ours = [found[name] for name in ("fixed", "ICB, lemma 1", "ICB")]
    np.testing.assert_allclose(ours, expected, rtol=0.01)  # theirs are of a grid of ratio 1.01
    assert 20_000 < found["printed"] / found["fixed"] < 27_000  # the printed rule: some 23,000 times


def test_first_order_never_passes_the_optimum_and_mostly_reaches_nine_tenths():
    n, k, width = 7, 3, 0.3
    rng = np.random.default_rng(2)
    sets = np.array([[i in c for i in range(n)] for c in itertools.combinations(range(n), k)])
    ratios = []
    with jax.enable_x64(True):
        program = jax.jit(functools.partial(full_bandit_figures.first_order, k=k))
        for _ in range(30):
            support = sets[rng.permutation(len(sets))[:20]].astype(float)
            matrix, theta = np.linalg.inv(support.T @ support / 20), rng.normal(size=n)
            anchors = sets[rng.integers(0, len(sets), n)]
            ours = float(program(jnp.asarray(matrix), jnp.asarray(theta), width, jnp.asarray(anchors)))
            best = np.isin(np.arange(n), np.argsort(-theta)[:k])
            rivals = sets[(sets != best).any(1)].astype(float)
            apart = rivals - best
            values = rivals @ theta + width * np.sqrt(np.einsum("mi,ij,mj->m", apart, matrix, apart))
            assert ours <= values.max() + 1e-9
            assert np.abs(values - ours).min() < 1e-9  # the value of some set
            ratios.append(values.max() - ours)
    assert np.median(ratios) < 1e-9  # with seven anchors of 35 sets it finds the best rival more often than not


def test_claims_on_shares_from_below():
    rows = [
        {"variant": "a", "what": "share", "rate": 0.95, "low": low, "high": 0.99, "confidence": 0.9}
        for low in (0.91, 0.8)
    ]
    claim = {"id": "x", "table": "t", "variant": "a", "value": 0.9, "relation": "above"}
    judged = [computed.judge([claim], [{"name": "t", "rows": [row]}])[0]["verdict"] for row in rows]
    assert judged == ["agrees", "undecided"]
    below = computed.judge([claim | {"relation": "below"}], [{"name": "t", "rows": rows[:1]}])[0]
    assert below["verdict"] == "disagrees"


@pytest.mark.slow
def test_alpha_decides_how_long_saqm_takes(tmp_path):
    found = paper.reproduce("fullbandit", "alpha", out=tmp_path, runs=20, execution=Execution(progress=False))
    assert found.summary == read_json(tmp_path / "summary.json", storage.RECOMPUTE)
    verdicts = {(c["id"], c.get("reading")): c["verdict"] for c in found.summary["claims"]}
    # Hundreds of times between Theorem 1 and the certified alpha; 8 % between that and 0.9, where a run has sd 4 %.
    assert verdicts == {("3.5", None): "agrees", ("3.6", None): "agrees"}
    assert (tmp_path / "alpha.png").stat().st_size > 10_000


@pytest.mark.slow
def test_tables_alone(tmp_path):
    found = paper.reproduce("fullbandit", "table1", out=tmp_path, execution=Execution(progress=False))
    (table,) = found.summary["complexity"]
    assert [row["verdict"] for row in table["rows"]] == ["agrees"] * 6
    assert found.summary["cells"] == []
