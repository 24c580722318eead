"""The paper of adversarial algorithms: its figures are experiments that are accepted, its claims name their cells."""

import itertools

import pytest

from jaxbandit.lab.papers import figure_experiments, paper, verdict
from jaxbandit.lab.papers.measures import Quantity
from jaxbandit.lab.specs.spec import parse

DATA, ABOUT, SOURCE = paper._read("adversarial")
FIGURES = figure_experiments.figures_of(ABOUT)


@pytest.mark.parametrize("figure", FIGURES)
def test_each_figure_is_an_experiment(figure):
    for chosen in (FIGURES[figure], FIGURES[figure].hurried()):
        experiment = parse(figure_experiment := figure_experiments.experiment(DATA, chosen), SOURCE)
        assert experiment.horizon == figure_experiment["horizon"] and experiment.hindsight
        assert len(list(experiment.cells())) == len(chosen.algorithms)
    fixed = [cell for cell in experiment.cells() if cell.algorithm.arguments.get("rate") == "fixed"]
    assert all(cell.arguments["horizon"] == experiment.horizon for cell in fixed)


def test_each_claim_and_number_is_of_a_cell():
    cells = {c for f in FIGURES.values() for c in itertools.product(f.instances, f.algorithms)}
    for claim in ABOUT["claim"]:
        for check in verdict.checks_of(claim):
            named = [side for side in (check.left, check.right) if isinstance(side, Quantity)]
            assert named and all((side.instance, side.algorithm) in cells for side in named)
    for entry in ABOUT["published"]:
        names = entry["algorithm"] if isinstance(entry["algorithm"], list) else [entry["algorithm"]]
        assert all((entry["instance"], name) in cells for name in names)
