"""Every registered algorithm has the same bytes with loops compiled whole and without, compiled here or kept before.

`python tests/equal_bytes.py` (or with names after it) plays each in four processes that share one cache of compiled
programs: whole and without, then both again from what the first two have kept. Exit status 0: all the same.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
from parts import ALGORITHMS, SETS, SHARES, THETA, horizon_of, pair

import jaxbandit as jb
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout import whole_loops
from jaxbandit.engine.rounds import step as rounds

RUNS, HORIZON, MOST = 70, 200, 2_000  # more runs than the lanes of one vector; a stopping rule is cut off at MOST
CONTEXTS = "lin_ucb with contexts"


def without_whole_loops():
    """From now on this process compiles loops as XLA does by itself."""
    whole_loops.ALLOWED = False


def digest(name):
    """A digest of every array that some runs of an algorithm leave."""
    if name == CONTEXTS:
        both = jb.algorithms.lin_ucb(SETS, horizon=HORIZON), jb.environments.linear_contextual(SETS, SHARES, THETA)
    else:
        both = pair(name, **horizon_of(name, HORIZON))
    if rounds.plays_batches(*both) or (name in ALGORITHMS and ALGORITHMS[name].kind == "identify"):
        found = identify_cell(lambda _: both, {}, num_runs=RUNS, max_rounds=MOST)
    else:
        found = simulate_cell(lambda _: both, {}, horizon=HORIZON, num_runs=RUNS)
    arrays = {key: value for key, value in vars(found).items() if isinstance(value, np.ndarray)}
    assert len(arrays) > 3
    whole = hashlib.sha256()
    for key, array in sorted(arrays.items()):
        whole.update(f"{key} {array.dtype} {array.shape}".encode() + array.tobytes())
    return whole.hexdigest()


def main(names):
    ways = {"whole": [], "without": ["--without"], "whole, kept": [], "without, kept": ["--without"]}
    found, kept = {}, {}
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        for way, option in ways.items():
            command = [sys.executable, __file__, "--play", *option, *names]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            found[way] = json.loads(done.stdout)
            kept[way] = len(list(Path(cache).glob("*-cache")))
            print(f"{way}: {len(found[way])} algorithms, {kept[way]} programs kept", flush=True)
    wrong = [name for name in names if len({found[way][name] for way in ways}) > 1]
    print(f"other bytes: {', '.join(wrong)}" if wrong else "the same bytes in all")
    assert kept["without, kept"] == kept["whole, kept"] == kept["without"] >= kept["whole"], kept
    assert whole_loops.BY_XLA or kept["without"] > kept["whole"], kept  # each way has programs of its own
    return bool(wrong)


if __name__ == "__main__":
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    asked = [argument for argument in sys.argv[1:] if argument not in options] or [*ALGORITHMS, CONTEXTS]
    if "--play" not in options:
        sys.exit(main(asked))
    if "--without" in options:
        without_whole_loops()
    digests = {}
    for each in asked:
        digests[each] = digest(each)
        jax.clear_caches()
    print(json.dumps(digests))
