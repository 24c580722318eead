"""Our rules for contexts and our values of policies beside MABWiser, coba and Open Bandit Pipeline (OBP).

`python -m benchmarks contextual_peers --peers PYTHON --write` takes interpreters in whose environments the peers are
installed; the option may be repeated. Each peer runs in a process of its own and gets arrays. One that none of the
interpreters has is said to be missing.
"""

import functools
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxbandit as jb
from benchmarks import contextual_peers_logs as logs
from benchmarks import peers_shared
from benchmarks.contextual_peers_side import numpy_play
from jaxbandit.base.contract import action_of
from jaxbandit.engine.driver.simulate import simulate_cell

SIDE = Path(__file__).with_name("contextual_peers_side.py")
PEERS = ("mabwiser", "coba", "obp")
LAMBDAS, ALPHA, PRODUCTS = (1.0, 0.25, 4.0), 1.0, 300  # rows of coba's model of products of contexts and arms
LOGS, REPLAYS = 200, 10


def main(argv: Sequence[str]) -> int:
    """Measure, print and perhaps write the table; return the exit status."""
    return peers_shared.command("contextual_peers", __doc__, measure, table, argv)


def measure(quick: bool, interpreters: Sequence[str]) -> dict[str, Any]:
    """Return what each peer found, None if it is missing, beside ours."""
    rows, runs = (60, 2) if quick else (1797, 40)
    x, labels = logs.digits(0, rows)
    plays = [session_play(digits_rule(alpha=ALPHA, regularization=lam), x, labels) for lam in LAMBDAS]
    history = np.array([choices for choices, _ in plays])
    given = {"x": x, "labels": labels, "alpha": ALPHA}
    short = min(PRODUCTS, rows)
    products = np.einsum("ab,td->tabd", np.eye(10), x[:short]).reshape(short, 10, -1)
    shared = session_play(
        jb.algorithms.lin_ucb_shared(10, products.shape[2], alpha=ALPHA, intercept=False), products, labels[:short]
    )
    peer = functools.partial(peers_shared.answer, interpreters, SIDE)
    drawn = {name: logs.draw(name, 3 if quick else LOGS, 60 if quick else 0) for name in logs.CELLS}
    replayed = logs.replayed(2 if quick else REPLAYS)
    return {
        "labels": labels, "history": history, "shared": shared[0],
        "seconds": {
            "numpy": numpy_play(x, labels, ALPHA, 1.0)[1], "session": plays[0][1], "shared session": shared[1],
            "jitted": jitted_seconds(digits_rule(), x, labels),
            "shared jitted": jitted_seconds(
                jb.algorithms.lin_ucb_shared(10, 620, intercept=False), products, labels[:short]
            ),
            "runs": runs_seconds(runs),
        },
        "runs": runs,
        "mabwiser": peer("mabwiser", given | {"lams": np.array(LAMBDAS), "history": history}),
        "coba": peer("coba", given | {"x": x[:short], "labels": labels[:short], "history": shared[0][None]}),
        "logs": {name: logs.ours(name, each) for name, each in drawn.items()},
        "replay": logs.replays(replayed),
        "obp": peer("obp", logs.arrays(drawn, replayed)),
    }  # fmt: skip


def digits_rule(**options: Any) -> jb.Algorithm:
    """Return LinUCB for the digits, whose rows begin with a one."""
    return jb.algorithms.lin_ucb_disjoint(10, 62, intercept=False, **options)


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
        arm = int(action_of(select(None, state, context)))
        state = jax.block_until_ready(update(state, context, np.int32(arm), np.float32(arm == label)))
        times.append(time.perf_counter() - begin)
    return statistics.fmean(times[5:])


def runs_seconds(runs: int) -> float:
    """Return the seconds of a round of a run of `simulate`, without compiling: each run has an order of its own."""
    pair = digits_rule(), jb.environments.classes("digits")
    found = simulate_cell(lambda _: pair, {}, horizon=1797, num_runs=runs, checkpoints=[1797], keep=())
    return found.run_seconds / (runs * 1797)


def table(found: dict[str, Any]) -> str:
    """Return what was found as text."""
    seconds, labels, history = found["seconds"], found["labels"], found["history"]
    lines = [f"{name}: {'missing' if found[name] is None else found[name]['version']}" for name in PEERS]
    lines += ["", f"LinUCB with alpha = 1 on {len(labels):,} rows of digits: choices on the same history, own rewards"]
    lines += [f"{'':<34}{'equal':>14}{'our reward':>12}{'its reward':>12}"]
    if (peer := found["mabwiser"]) is not None:
        for i, lam in enumerate(LAMBDAS):
            equal = int((peer[f"choices {i}"] == history[i])[1:].sum())
            both = [int((each == labels).sum()) for each in (history[i], peer[f"own {i}"])]
            lines.append(
                f"{f'MABWiser, l2_lambda = {lam:g}':<34}{_of(equal, len(labels) - 1)}{both[0]:>12}{both[1]:>12}"
            )
    if (peer := found["coba"]) is not None:
        few = labels[: len(found["shared"])]
        both = [int((each == few).sum()) for each in (found["shared"], peer["own"])]
        lines.append(
            f"{'coba, ax: 620 products':<34}{_of(int(peer['agrees'].sum()), len(few))}{both[0]:>12}{both[1]:>12}"
        )
    lines += ["", "Time of a decision and its update, and over that of a NumPy loop with d = 62 in the same process"]
    lines += [f"{'':<46}{'us':>9}{'/ NumPy':>10}"]
    times = [
        ("a model for each arm, d = 62: MABWiser", found["mabwiser"], "seconds 0"),
        ("  ours, a session's ask and tell (float64)", seconds, "session"),
        ("  ours, compiled select and update", seconds, "jitted"),
        (f"  ours, a round of a run of {found['runs']}", seconds, "runs"),
        ("one model, d = 620: coba", found["coba"], "seconds"),
        ("  ours, a session's ask and tell (float64)", seconds, "shared session"),
        ("  ours, compiled select and update", seconds, "shared jitted"),
    ]
    for name, side, key in times:
        if side is not None:
            lines.append(f"{name:<46}{1e6 * float(side[key]):>9.1f}{float(side[key] / side['numpy']):>10.2f}")
    return "\n".join([*lines, *logs.lines(found)])


def _of(count: int, total: int) -> str:
    return f"{f'{count:,} of {total:,}':>14}"
