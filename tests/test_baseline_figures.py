"""Mean regret of baselines after 10^4 rounds, as an independent program found it: some cells of the benchmark."""

import pytest

from benchmarks.baselines_cells import cells, compared

CELLS = {
    "ucb_tuned": "nine",
    "kl_ucb_plus": "rare",
    "kl_ucb_plus_plus": "nine",
    "kl_ucb_switch": "rare",
    "ada_ucb": "nine",
    "oc_ucb": "nine",
    "boltzmann_gumbel": "five",
    "kl_ucb, gaussian": "two",
    "imed, poisson": "poisson",
    "thompson, gaussian": "nine",
    "etc_bai": "two",
    "lb_sda": "nine",
    "giro": "rare",
}


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", CELLS)
def test_mean_regret(name):
    """Both means are random: 4 standard errors of the difference, a false alarm in 16,000."""
    cell = next(cell for cell in cells()[name] if cell[0] == CELLS[name])
    found = compared(name, cell, 150)
    assert abs(found["off"]) <= 4, found
