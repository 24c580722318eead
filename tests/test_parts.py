"""Parts of a cell: whatever way its runs are divided, their parts join to the bytes of the cell played at once."""

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.engine.driver import parts
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.running.structures import program_of

pytestmark = pytest.mark.quickly_compiled
PAIR = program_of(jb.algorithms.epsilon_greedy(3, epsilon=0.1), jb.environments.bernoulli([0.2, 0.5, 0.4]))
STOPPING = program_of(jb.algorithms.lucb(3), jb.environments.gaussian([0.0, 1.0, 0.2]))
CELLS = {
    "regret": lambda **given: simulate_cell(*PAIR, horizon=300, checkpoints=[7, 300], **given),
    "means alone": lambda **given: simulate_cell(*PAIR, horizon=300, checkpoints=[7, 300], keep=(), **given),
    "stopping": lambda **given: identify_cell(*STOPPING, max_rounds=400, **given),
}
COSTS = ("compile_seconds", "run_seconds", "run_steps", "lane_steps", "sums", "identity")


def played(cell, *ranges):
    found = [(first, CELLS[cell](first_run=first, num_runs=end - first)) for first, end in ranges]
    sent = [parts.encoded(parts.part_of(record, first)) for first, record in found]
    return [parts.decoded(data, f"part {i}") for i, data in enumerate(sent)]


def content(record):
    arrays = {name: value for name, value in vars(record).items() if name not in COSTS}
    return {k: (v.dtype.str, v.shape, v.tobytes()) if isinstance(v, np.ndarray) else v for k, v in arrays.items()}


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_parts_join_to_the_bytes_of_the_whole(cell):
    whole = CELLS[cell](num_runs=150)
    some = played(cell, (100, 150), (0, 1), (1, 100))
    again = parts.joined(parts.in_order(some, cell))
    assert content(again) == content(whole)
    assert again.identity == whole.identity


@pytest.fixture(scope="module")
def two():
    return played("regret", (0, 64), (64, 100))


@pytest.mark.slow
def test_gaps_and_overlaps_are_found(two):
    assert parts.gaps(two, 0, 100) == [] and parts.gaps(two, 0, 103) == [(100, 103)]
    assert parts.gaps(two[1:], 0, 100) == [(0, 64)] and parts.gaps(two[:1], 10, 50) == []
    with pytest.raises(ValueError, match=r"^it/ucb1: runs 64 to 99 are in both part 1 and part 1; leave"):
        parts.in_order([*two, two[1]], "it/ucb1")


def other(part, **changes):
    return part._replace(where="other", about={**part.about, "identity": {**part.about["identity"], **changes}})


def test_parts_of_other_machines_join_only_as_mixed(two):
    fleet = [two[0], other(two[1], jax="0.1", program="x", processor="y")]
    with pytest.raises(
        ValueError, match=r"^part 0 and other: not of one kind: processor \w+ and y; jax .* and 0\.1; .*--mixed$"
    ):
        parts.joined(fleet)
    assert [line.split()[0] for line in parts.joined(fleet, mixed=True).identity["mixed"]] == ["processor", "jax"]
    for mixed in (False, True):
        with pytest.raises(ValueError, match="seed 0, here 1; leave one of them out"):
            parts.joined([two[0], other(two[1], seed=1)], mixed=mixed)
        with pytest.raises(ValueError, match=r"the program .* differs; leave one of them out"):
            parts.joined([two[0], other(two[1], program="x")], mixed=mixed)


def test_a_damaged_part_is_named(two):
    data = parts.encoded(two[0])
    for wrong in (data[:-30], b"", data.replace(b'"stopped": 64', b'"stopped": 63')):
        with pytest.raises(ValueError, match=r"^here: not a whole part"):
            parts.decoded(wrong, "here")
