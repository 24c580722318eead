"""`python -m benchmarks devices`: memory of four devices at the sizes of a GPU, measured and predicted.

The devices are one CPU, which a flag of XLA splits into four in a separate process; their memory is that of the host.
"""

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

NUM_ARMS = 9
DEVICES = 4
RUNS = 1 << 17
MARKS = 20  # rounds recorded
ROUNDS = 1000  # enough for the devices to play at the same time
PLAYS = 3  # the largest memory of these is reported
MIB = 2**20


def main(argv: Sequence[str]) -> int:
    """Play both engines in a process with four devices, print a row for each as JSON and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks devices", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"default {RUNS}")
    asked = parser.parse_args(argv)
    if os.environ.get("JAX_NUM_CPU_DEVICES") != str(DEVICES):
        environment = os.environ | {"JAX_NUM_CPU_DEVICES": str(DEVICES), "JAX_PLATFORMS": "cpu"}
        environment["NPROC"] = str(DEVICES)  # threads of XLA; with fewer, some devices wait for others
        command = [sys.executable, "-m", "benchmarks.devices", "--runs", str(asked.runs)]
        return subprocess.run(command, env=environment, check=False).returncode
    for row in (_simulate(asked.runs), _identify(asked.runs)):
        print(json.dumps(row), flush=True)
    return 0


def _simulate(runs: int) -> dict[str, Any]:
    import jax
    import numpy as np

    from jaxbandit.algorithms import ucb1
    from jaxbandit.engine.driver.execution import Execution
    from jaxbandit.engine.driver.simulate import simulate_cell
    from jaxbandit.engine.driver.tile_loop import TileLoop
    from jaxbandit.engine.layout import sizes
    from jaxbandit.engine.rounds.single import SingleRun
    from jaxbandit.environments import bernoulli

    sizes.PLATFORMS = {"cpu": sizes.ACCELERATOR}
    means = np.linspace(0.1, 0.9, NUM_ARMS)

    def make(means: Any) -> Any:
        return ucb1(NUM_ARMS), bernoulli(means)

    def play(rounds: int) -> Any:
        marks = [rounds * (i + 1) // MARKS for i in range(MARKS)]
        all_devices = Execution(devices=jax.devices())
        return simulate_cell(make, means, horizon=rounds, num_runs=runs, checkpoints=marks, execution=all_devices)

    program = TileLoop(SingleRun(make, np.asarray(means, np.float32), "threefry4x32"), MARKS, "cpu")
    lanes = sizes.tile("cpu", sizes.UNKNOWN, program.run_bytes, runs, 1, DEVICES)
    kept = runs * (1 + 4 * MARKS + 4 * NUM_ARMS)  # as lab/experiments/forecast.py counts it
    # The rows of a tile are copied to the host and from there into the results. The noise of the last block is freed by
    # then, but the allocator of a CPU keeps its pages: measured step by step, the process does not become smaller.
    return _row("simulate", lanes, lanes * program.run_bytes + 2 * kept, lambda: play(MARKS), lambda: play(ROUNDS))


def _identify(runs: int) -> dict[str, Any]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    from jaxbandit.algorithms import lucb
    from jaxbandit.engine.driver.execution import Execution
    from jaxbandit.engine.driver.identify import identify_cell
    from jaxbandit.engine.driver.lane_loop import LaneLoop
    from jaxbandit.engine.layout import sizes
    from jaxbandit.engine.rounds.stopping import StoppingRun
    from jaxbandit.environments import bernoulli

    sizes.PLATFORMS = {"cpu": sizes.ACCELERATOR}
    means = np.linspace(0.1, 0.9, NUM_ARMS)

    def make(means: Any) -> Any:
        return lucb(NUM_ARMS), bernoulli(means)

    def play(rounds: int) -> Any:
        all_devices = Execution(devices=jax.devices())
        return identify_cell(make, means, num_runs=runs, max_rounds=rounds, execution=all_devices)

    with jax.enable_x64(True):
        program = LaneLoop(StoppingRun(make, jnp.asarray(means), "threefry4x32"), "cpu")
        lanes = sizes.lanes("cpu", sizes.UNKNOWN, program.run_bytes, runs, DEVICES) * DEVICES
        carried = lanes * program.run_bytes
    kept = runs * (16 + 4 * NUM_ARMS)  # as lab/experiments/forecast.py counts it
    # A call's slots are copied to the host before the runs that ended are taken out of them.
    return _row("identify", lanes, carried + 2 * kept, lambda: play(1), lambda: play(ROUNDS))


def _row(name: str, lanes: int, predicted: int, first: Any, play: Any) -> dict[str, Any]:
    """Play once to compile, then again to measure the largest memory."""
    import jax

    first()
    measured = 0
    for _ in range(PLAYS):
        before = _settled()
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # reset the peak
        play()
        measured = max(measured, _status("VmHWM") - before)
    return {
        "play": name,
        "devices": len(jax.devices()),
        "side_by_side": lanes,
        "predicted": predicted,
        "measured": measured,
    }


def _settled() -> int:
    """Return the bytes of this process after freed memory has been returned to the system."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return _status("VmRSS")


def _status(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
