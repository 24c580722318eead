"""Every paper's TOML file: its figures are experiments, what it says is of their cells, and choices have reasons."""

import itertools

import pytest

from jaxbandit.lab.papers import figure_experiments, open_readings, own_instances, paper, verdict
from jaxbandit.lab.papers.measures import Quantity
from jaxbandit.lab.specs import source, spec

PAPERS = [name for name, path in source.embedded_files().items() if "paper" in source.read(path)]
CHOICES = {"margin", "factor", "within", "at"}  # of a claim, for which the paper has no number


def read(name):
    data = dict(source.read(source.embedded_files()[name]))
    about = data.pop("paper")
    missing = own_instances.add_instances(data, about, None)
    return data, about, missing


@pytest.mark.slow
@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PAPERS)
def test_a_figure_is_an_experiment_of_its_cells(name, quick):
    data, about, missing = read(name)
    figures, _ = own_instances.split(figure_experiments.figures_of(about), missing, "", quick=quick)
    run, _ = figure_experiments.experiments(figures, quick=quick)
    for figure in run:
        parts = own_instances.parts(figure_experiments.experiment(data, figure))
        for part in (some := [spec.parse(part, name) for part in parts.values()]):
            assert part.runs == (figure.runs or data["runs"]) and part.budget == tuple(figure.budget)
            told = {cell.arguments["horizon"] for cell in part.cells() if "horizon" in cell.arguments}
            assert told <= {part.horizon}
        cells = {(cell.instance.name, cell.algorithm.name) for part in some for cell in part.cells()}
        assert cells == {*itertools.product(figure.instances, figure.algorithms)}


@pytest.mark.parametrize("name", PAPERS)
def test_what_is_said_is_of_a_cell_and_choices_have_reasons(name):
    data, about, _ = read(name)
    horizons = {}
    for figure in figure_experiments.figures_of(about).values():
        for cell in itertools.product(figure.instances, figure.algorithms):
            rounds = {each.horizon or data.get("horizon") for each in (figure, figure.hurried())}
            horizons.setdefault(cell, set()).update(rounds)
    instances = {table["name"] for table in [*data["instance"], *about.get("instance", [])]}
    assert instances == {instance for instance, _ in horizons}
    assert {table["name"] for table in data["algorithm"]} == {algorithm for _, algorithm in horizons}
    ids = [claim["id"] for kind in ("claim", "share") for claim in about.get(kind, [])]
    assert len(ids) == len(set(ids))
    quantities = verdict.QUANTITIES[data["kind"]]
    for claim in open_readings.each_reading(about):
        stated = not CHOICES & claim.keys() or "at least five" in claim["text"]  # the factor of the text
        assert "verdict" not in claim and claim.get("quantity", quantities[0]) in quantities
        assert stated or claim["reason"], claim
        sides = [side for check in verdict.checks_of(claim) for side in (check.left, check.right)]
        named = [side for side in sides if isinstance(side, Quantity)]
        assert named, claim
        for side in named:
            of = {side.algorithm, side.minus, side.over} - {""}
            if claim.get("quantity") == "guarantee":  # of a distance, and not of an algorithm
                of = {data["algorithm"][0]["name"]}
            assert {(side.instance, algorithm) for algorithm in of} <= horizons.keys(), claim
    for entry in own_instances.one_each(about.get("published", [])):
        rounds = horizons[entry["instance"], entry["algorithm"]]
        assert entry.get("horizon") in {None, *rounds}, entry
    assert all(item["text"] and item["reason"] for item in about.get("untested", []))
    assert name != "adversarial" or data["hindsight"]  # its bounds are on the regret against the best fixed arm


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (("oan",), {}, r"paper = 'oan'.*did you mean 'oam'"),
        (("ucboost", "d"), {}, r"figure = 'd', must be one of a, b, c"),
        (("oam", "3"), {}, r"figure = '3', must be one of 1, 2, 3-left, 3-right, 4-left, 4-right"),
        (("oam", "4-left"), {"quick": True}, r"figure 4-left: available only without --quick"),
        (("lingape",), {"horizon": 100}, r"horizon = 100, only papers with a fixed horizon take one"),
    ],
)
def test_what_is_not_there_is_refused(given, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        paper.reproduce(*given, **options)
