"""Our rules for contexts and our values of policies beside MABWiser, coba and Open Bandit Pipeline (OBP).

`python -m benchmarks contextual_peers --peers PYTHON --write` takes interpreters in whose environments the peers are
installed; the option may be repeated. Each peer runs in a process of its own and gets arrays. One that none of the
interpreters has is said to be missing.
"""

import argparse
import functools
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxbandit as jb
from benchmarks import machine, offpolicy_worlds, results_file
from benchmarks.contextual_peers_side import numpy_play
from jaxbandit.decide.logs.reward_models import cross_fitted
from jaxbandit.environments import data_sets

SIDE = Path(__file__).with_name("contextual_peers_side.py")
PEERS = ("mabwiser", "coba", "obp")
LAMBDAS, ALPHA, PRODUCTS = (1.0, 0.25, 4.0), 1.0, 300  # rows of coba's model of products of contexts and arms
ESTIMATORS = ("IPS", "SNIPS", "DR")
LOGS, REPLAYED = 200, 10_000  # rows of a log that is replayed


def main(argv: Sequence[str]) -> int:
    """Measure, print and perhaps write the table; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks contextual_peers", description=__doc__)
    parser.add_argument("--peers", action="append", default=[], metavar="PYTHON", help="an interpreter that has peers")
    parser.add_argument("--quick", action="store_true", help="fewer rows and logs")
    parser.add_argument("--write", action="store_true", help="write the table into RESULTS.md")
    asked = parser.parse_args(argv)
    if asked.write and asked.quick:
        parser.error("quick = True with write, must be without: what is written is measured in full")
    text = table(measure(asked.quick, asked.peers))
    print(text)
    if asked.write:
        results_file.write("contextual_peers", machine.text(machine.machine()), text)
    return 0


def measure(quick: bool, interpreters: Sequence[str]) -> dict[str, Any]:
    """Return what each peer found, None if it is missing, beside ours."""
    rows, logs = (60, 3) if quick else (1797, LOGS)
    x, labels = digits(0, rows)
    plays = [session_play(jb.lin_ucb_disjoint(10, 62, alpha=ALPHA, regularization=lam), x, labels) for lam in LAMBDAS]
    history = np.array([choices for choices, _ in plays])
    given = {"x": x, "labels": labels, "alpha": ALPHA}
    short = min(PRODUCTS, rows)
    products = np.einsum("ab,td->tabd", np.eye(10), x[:short]).reshape(short, 10, -1)
    shared = session_play(jb.lin_ucb_shared(10, products.shape[2], alpha=ALPHA), products, labels[:short])
    peer = functools.partial(_peer, interpreters)
    drawn = {name: [cell(i) for i in range(logs)] for name, cell in cells(quick).items()}
    replayed = [offpolicy_worlds.eight("peaked").draw(np.random.default_rng([3, i]), REPLAYED) for i in range(logs)]
    logged = _arrays(drawn)
    logged |= {f"replay {key}": np.array([getattr(d.log, key) for d in replayed[:20]]) for key in _KEYS[1:]}
    return {
        "labels": labels, "history": history, "shared": shared[0],
        "seconds": {
            "numpy": numpy_play(x, labels, ALPHA, 1.0)[1], "session": plays[0][1], "shared session": shared[1],
            "jitted": jitted_seconds(jb.lin_ucb_disjoint(10, 62), x, labels),
            "shared jitted": jitted_seconds(jb.lin_ucb_shared(10, 620), products, labels[:short]),
            "runs": runs_seconds(2 if quick else 40),
        },
        "mabwiser": peer("mabwiser", given | {"lams": np.array(LAMBDAS), "history": history}),
        "coba": peer("coba", given | {"x": x[:short], "labels": labels[:short], "history": shared[0][None]}),
        "logs": {name: ours(each) for name, each in drawn.items()},
        "replay": replays([d.log for d in replayed[:20]]),
        "obp": peer("obp", logged),
    }  # fmt: skip


def _peer(interpreters: Sequence[str], name: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arrays of a peer, of the first interpreter that has it."""
    for python in interpreters:
        probe = f"import importlib.util as u; raise SystemExit(u.find_spec({name!r}) is None)"
        if subprocess.run([python, "-c", probe], check=False).returncode:
            continue
        with tempfile.TemporaryDirectory() as folder:
            np.savez(Path(folder) / "in.npz", **given)
            command = [python, str(SIDE), name, "in.npz", "out.npz"]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            with np.load(Path(folder) / "out.npz") as file:
                return dict(file)
    return None


def digits(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the contexts of `jb.classes("digits")`, float64[rows, 62], and the classes, in a random order."""
    columns, labels = data_sets.load("digits", "digits")
    order = np.random.default_rng(seed).permutation(len(columns))[:rows]
    return data_sets.with_ones(columns)[order], labels[order].astype(int)


def session_play(rule: jb.Algorithm, x: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the choices of a session, which is float64, and the seconds of an `ask` and a `tell`."""
    session, choices, times = jb.session(rule), [], []
    for context, label in zip(x, labels, strict=True):
        begin = time.perf_counter()
        session, pulls = jb.ask(session, context=context)
        arm = int(pulls.arm[0])
        session = jb.tell(session, pulls.id, [float(arm == label)])
        choices.append(arm)
        times.append(time.perf_counter() - begin)
    return np.array(choices), statistics.fmean(times[5:])  # without those that compile


def jitted_seconds(rule: jb.Algorithm, x: np.ndarray, labels: np.ndarray) -> float:
    """Return the seconds of a decision and its update, float32, as two compiled calls from Python."""
    select, update = jax.jit(rule.select), jax.jit(rule.update)
    state, times = rule.init(jax.random.key(0)), []
    for context, label in zip(x.astype(np.float32), labels, strict=True):
        begin = time.perf_counter()
        arm = int(jb.action_of(select(None, state, context)))
        state = jax.block_until_ready(update(state, context, np.int32(arm), np.float32(arm == label)))
        times.append(time.perf_counter() - begin)
    return statistics.fmean(times[5:])


def runs_seconds(runs: int) -> float:
    """Return the seconds of a round of a run of `simulate`, without compiling: each run has an order of its own."""
    found = jb.simulate(
        jb.lin_ucb_disjoint(10, 62), jb.classes("digits"), horizon=1797, num_runs=runs, progress=False, per_run=False
    )
    return found.run_seconds / (runs * 1797)


_KEYS = ("x", "action", "reward", "propensity")


def cells(quick: bool) -> dict[str, Callable[[int], offpolicy_worlds.Drawn]]:
    """Return, by name, what draws a log with a number."""

    def drawing(world: offpolicy_worlds.World, rows: int, seed: int) -> Callable[[int], offpolicy_worlds.Drawn]:
        return lambda i: world.draw(np.random.default_rng([seed, i]), 60 if quick else rows)

    eight = offpolicy_worlds.eight
    return {
        "peaked 500": drawing(eight("peaked"), 500, 1),
        "peaked 5,000": drawing(eight("peaked"), 5000, 2),
        "rare 500": drawing(eight("peaked", 0.04), 500, 3),
        "digits 2,000": drawing(digits_world(), 2000, 4),
    }


VALUES = {"peaked 500": offpolicy_worlds.eight("peaked").value, "rare 500": 0.04 * offpolicy_worlds.eight("peaked").value}


@functools.cache
def digits_world() -> offpolicy_worlds.World:
    """Return rows of digits drawn with replacement: a good classifier is the policy, a bad one with .2 chance logs."""
    x, labels = digits(1, 1797)

    def classifier(rows: int, greedy: float) -> np.ndarray:
        scores = x @ np.linalg.lstsq(x[:rows], np.eye(10)[labels[:rows]], rcond=None)[0]
        return (1 - greedy) / 10 + greedy * np.eye(10)[scores.argmax(axis=1)]

    policy, logging = classifier(1797, 0.9), classifier(40, 0.8)

    def draw(rng: np.random.Generator, n: int) -> offpolicy_worlds.Drawn:
        row = rng.integers(0, len(x), n)
        action = offpolicy_worlds.drawn_arms(rng, logging[row])
        reward = (action == labels[row]).astype(float)
        log = jb.read_log(context=x[row], action=action, reward=reward, probabilities=logging[row])
        return offpolicy_worlds.Drawn(log, policy[row])

    value = float(policy[np.arange(len(x)), labels].mean())
    return offpolicy_worlds.World(value, float((policy / logging).max()), draw)
