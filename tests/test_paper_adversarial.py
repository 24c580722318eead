"""The paper of adversarial algorithms: its TOML is played, and its claims and numbers are read."""

import pytest

import jaxbandit as jb

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]


def test_the_paper_is_played_and_judged_at_a_small_size(tmp_path):
    found = jb.reproduce("adversarial", runs=2, horizon=300, out=tmp_path / "out", progress=False)
    cells = {(c["instance"], c["algorithm"]): c for c in found.summary["cells"]}
    assert len(cells) == 17
    pulls = cells["constrained", "tsallis_inf"]["pulls"]["mean"]
    regret = cells["constrained", "tsallis_inf"]["regret"]["mean"][-1]
    assert abs(regret - 0.125 * (300 - pulls[0])) < 1e-4  # arm 0 is better by 1/8 in every round
    assert {claim["id"] for claim in found.summary["claims"]} == set("123456789")
    assert all((tmp_path / "out" / path).exists() for path in found.figures)
