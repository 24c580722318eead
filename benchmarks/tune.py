"""The benchmark of tuning: trainings side by side against the same trainings one by one, and the engine's own share."""

import sys
import time
from typing import Any

import jax
import numpy as np

import jaxbandit as jb
from benchmarks import digits

AIM_RATIO, AIM_SHARE = 20.0, 0.02
REPEATS = 3
SIZES = 1, 4, 16, 64


def measure(quick: bool) -> dict[str, Any]:
    """Return the seconds for one seed of each configuration, played three ways; progress goes to stderr."""
    count = 64 if quick else 2048
    space = digits.space(count)
    rule = jb.algorithms.uniform_allocation(count, budget=count)
    rows = []
    for size in (None, *SIZES):
        jb.tune(digits.train, space, rule, execution=jb.Execution(batch=size))  # compiles
        found = min((_tuned(space, rule, size) for _ in range(1 if quick else REPEATS)), key=lambda row: row["seconds"])
        rows.append(found)
        print(f"tune, batch {found['batch']}: {found['seconds']:.2f} s, CPU {found['cpu']:.2f} s", file=sys.stderr)
    alone = _one_by_one(space, count)
    print(f"one by one: {alone['seconds']:.2f} s, CPU {alone['cpu']:.2f} s", file=sys.stderr)
    return {"count": count, "tune": rows, "one_by_one": alone, "flops": _flops(space)}


def _tuned(space: dict[str, np.ndarray], rule: Any, size: int | None) -> dict[str, Any]:
    cpu = time.process_time()
    found = jb.tune(digits.train, space, rule, execution=jb.Execution(batch=size))
    cpu, seconds = time.process_time() - cpu, found.seconds
    share = 1 - seconds["trainings"] / seconds["total"]
    return {"batch": size or "by memory", "seconds": seconds["total"], "cpu": cpu, "share": share}


def _one_by_one(space: dict[str, np.ndarray], count: int) -> dict[str, Any]:
    """Train one by one: each training is a call of one compiled program that is waited for."""
    train = jax.jit(digits.train)
    root = jax.random.key(0, impl="threefry2x32")
    key = jax.random.fold_in(root, 0)
    configs = [{name: np.float32(column[i]) for name, column in space.items()} for i in range(count)]
    train(key, configs[0]).block_until_ready()
    wall, cpu = time.perf_counter(), time.process_time()
    for config in configs:
        train(key, config).block_until_ready()
    return {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def _flops(space: dict[str, np.ndarray]) -> float:
    """Return the floating-point operations of one training's matrix products: forward, and twice as many backward."""
    return 3 * 2 * digits.STEPS * digits.BATCH * digits.HIDDEN * (64 + 10) + 2 * 500 * digits.HIDDEN * (64 + 10)


def table(found: dict[str, Any]) -> str:
    """Return the comparison as text."""
    alone, count = found["one_by_one"], found["count"]
    title = f"{count} trainings, digits 64-32-10"
    lines = [f"{title:34s}{'seconds':>9s}{'CPU s':>9s}{'times':>7s}{'goal':>6s}{'own share':>11s}{'goal':>7s}"]
    for row in found["tune"]:
        name = f"tune, batch {row['batch']}"
        ratio = alone["seconds"] / row["seconds"]
        own = f"{row['share']:11.2%}{AIM_SHARE:7.0%}"
        lines.append(f"{name:34s}{row['seconds']:9.2f}{row['cpu']:9.2f}{ratio:7.2f}{AIM_RATIO:6.0f}{own}")
    rate = found["flops"] * count / alone["cpu"] / 1e9
    lines.append(f"{'one by one':34s}{alone['seconds']:9.2f}{alone['cpu']:9.2f}")
    lines.append(f"one by one, a core does {rate:.1f} GFLOP/s of matrix products")
    return "\n".join(lines)
