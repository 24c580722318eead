"""The benchmark of a service misses what its log misses."""

import json

import numpy as np
import pytest

import jaxbandit as jb
from benchmarks import service

pytestmark = pytest.mark.quickly_compiled


def test_what_was_acknowledged_and_is_not_in_the_log_is_counted(tmp_path):
    load, rule = service.Load(), jb.algorithms.lin_ucb_disjoint(3, service.DIM)
    with jb.session_directory(tmp_path, rule) as store:
        for i in range(6):
            x = np.random.default_rng(i).normal(size=service.DIM).astype(np.float32).astype(float)
            pulls = store.ask(context=x)
            load.asked[i] = int(pulls.arm[0]), x.tolist()
            if i % 2:
                store.tell(pulls.id, i / 8)
                load.told[i] = i / 8
    log = tmp_path / "log.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    assert service.lost(load, log) == 0
    log.write_text("".join(lines[:-1]), encoding="utf-8")  # without the last reward
    assert service.lost(load, log) == 1
    log.write_text("".join(lines[:-2]), encoding="utf-8")  # nor its ask
    assert service.lost(load, log) == 2
    load.told[1] = 0.5
    load.asked[0] = 1 + load.asked[0][0], load.asked[0][1]
    load.asked[2] = load.asked[2][0], load.asked[3][1]
    assert service.lost(load, log) == 5
    assert json.loads(lines[0])["ask"] == [0]
