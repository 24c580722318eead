"""The logs of `contextual_peers`: drawn from known worlds, evaluated and replayed by us, and compared with OBP."""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks import offpolicy_worlds as worlds
from jaxbandit.decide.logs import estimates
from jaxbandit.decide.logs.reward_models import cross_fitted
from jaxbandit.environments import data_sets

KEYS = ("action", "reward", "propensity")
ESTIMATORS = ("IPS", "SNIPS", "DR")


def digits(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the contexts of `jb.environments.classes("digits")`, float64[rows, 62], and the classes, shuffled."""
    columns, labels = data_sets.load("digits", "digits")
    order = np.random.default_rng(seed).permutation(len(columns))[:rows]
    return data_sets.with_ones(columns)[order], labels[order].astype(int)


@functools.cache
def digits_world() -> worlds.World:
    """Return rows of digits drawn with replacement: a good classifier is the policy, one of 40 rows mostly logs."""
    x, labels = digits(1, 1797)

    def classifier(rows: int, greedy: float) -> np.ndarray:
        scores = x @ np.linalg.lstsq(x[:rows], np.eye(10)[labels[:rows]], rcond=None)[0]
        return (1 - greedy) / 10 + greedy * np.eye(10)[scores.argmax(axis=1)]

    policy, logging = classifier(1797, 0.9), classifier(40, 0.8)

    def draw(rng: np.random.Generator, n: int) -> worlds.Drawn:
        row = rng.integers(0, len(x), n)
        action = worlds.drawn_arms(rng, logging[row])
        reward = (action == labels[row]).astype(float)
        log = jb.read_log(context=x[row], action=action, reward=reward, probabilities=logging[row])
        return worlds.Drawn(log, policy[row])

    value = float(policy[np.arange(len(x)), labels].mean())
    return worlds.World(value, float((policy / logging).max()), draw)


CELLS: dict[str, tuple[Callable[[], worlds.World], int]] = {  # world, rows
    "peaked 500": (lambda: worlds.eight("peaked"), 500),
    "peaked 5,000": (lambda: worlds.eight("peaked"), 5000),
    "rare 500": (lambda: worlds.eight("peaked", 0.04), 500),
    "digits 2,000": (digits_world, 2000),
}


def draw(name: str, logs: int, rows: int = 0) -> list[worlds.Drawn]:
    """Return logs of a cell; 0 rows: as many as the cell has."""
    world, size = CELLS[name][0](), rows or CELLS[name][1]
    return [world.draw(np.random.default_rng([list(CELLS).index(name), i]), size) for i in range(logs)]


def replayed(logs: int) -> list[jb.Log]:
    """Return logs with peaked propensities for replay."""
    return [worlds.eight("peaked").draw(np.random.default_rng([9, i]), 10_000).log for i in range(logs)]


def arrays(drawn: dict[str, list[worlds.Drawn]], logs: list[jb.Log]) -> dict[str, np.ndarray]:
    """Return what OBP gets."""
    given = {f"replay {key}": np.array([getattr(log, key) for log in logs]) for key in KEYS}
    for name, each in drawn.items():
        given |= {f"{name}/{key}": np.array([getattr(d.log, key) for d in each]) for key in KEYS}
        given[f"{name}/x"] = np.array([d.log.context for d in each])
        given[f"{name}/policy"] = np.array([d.policy for d in each])
        given[f"{name}/q"] = np.array([cross_fitted(d.log, d.log.reward, None) for d in each])
    return given


def ours(name: str, drawn: list[worlds.Drawn]) -> dict[str, Any]:
    """Return our values and ends of the intervals of each log of a cell, and the seconds of `evaluate`."""
    world = CELLS[name][0]()
    begin = time.perf_counter()
    found = [jb.evaluate(d.log, d.policy, largest_weight=world.bound).only for d in drawn]
    seconds = (time.perf_counter() - begin) / len(drawn)
    chosen = [
        [next(e for e in each.estimates if e.estimator == wanted and e.interval == estimates.NORMAL) for each in found]
        for wanted in ESTIMATORS
    ]
    return {
        "truth": world.value,
        "seconds": seconds,
        "value": np.array([[e.value for e in each] for each in chosen]).T,
        "ends": np.array([[(e.low, e.high) for e in each] for each in chosen]).swapaxes(0, 1),
        "headline": np.array([(each.low, each.high) for each in found]),
    }


def replays(logs: list[jb.Log]) -> dict[str, float]:
    """Return the mean rewards of Thompson sampling by our replay, and as it would be online for as many rounds."""
    rule = jb.algorithms.thompson(worlds.NUM_ARMS)
    found = [jb.replay(rule, log, num_runs=20, horizon=150, seed=i, allow=("context",)) for i, log in enumerate(logs)]
    means = np.array([each.interval().value[-1] for each in found])
    return {"value": float(means.mean()), "se": float(means.std(ddof=1) / len(means) ** 0.5), "rows": 150}


def online(rounds: int) -> float:
    """Return the mean reward of Thompson sampling in this many rounds, if it chooses the actions itself."""
    means = worlds.MEAN.mean(axis=0)
    played = jb.simulate(
        jb.algorithms.thompson(len(means)),
        jb.environments.bernoulli(means),
        horizon=rounds,
        num_runs=2000,
        execution=jb.Execution(progress=False),
    )
    return float(means.max() - played.arrays["regret"][:, -1].mean() / rounds)


def lines(found: dict[str, Any]) -> list[str]:
    """Return the lines of the table."""
    obp, wanted = found["obp"], ("headline", *ESTIMATORS)
    lines = ["", "Share of logs whose interval of 95 % contains the truth, and mean width; seconds of a log"]
    lines += [f"{'cell, truth':<24}{'':<6}" + "".join(f"{name:>16}" for name in wanted) + f"{'s':>8}"]
    for name, own in found["logs"].items():
        ends = np.concatenate([own["headline"][:, None], own["ends"]], axis=1)
        lines.append(_row(f"{name}, {own['truth']:.4f}", "ours", ends, own))
        if obp is not None:
            theirs = np.concatenate([np.full((len(ends), 1, 2), np.nan), obp[f"{name}/ends"]], axis=1)
            lines.append(_row("", "OBP", theirs, {"truth": own["truth"], "seconds": float(obp[f"{name}/seconds"])}))
    if obp is not None:
        gaps = [np.abs(own["value"] - obp[f"{name}/value"]).max(axis=0) for name, own in found["logs"].items()]
        gap = np.max(gaps, axis=0)
        lines += ["", "Largest difference of the values, DR with our model of the rewards in both: " + _named(gap)]
        first = "peaked 500"
        own = found["logs"][first]
        lines += ["", f"The first log of {first}, truth {own['truth']:.4f}"]
        lines += [f"{'':<12}" + "".join(f"{name:>28}" for name in wanted)]
        ends = np.concatenate([own["headline"][:, None], own["ends"]], axis=1)[0]
        values = [own["value"][0, 2], *own["value"][0]]
        lines.append(f"{'ours':<12}" + "".join(_interval(v, *e) for v, e in zip(values, ends, strict=True)))
        rows = zip(obp[f"{first}/value"][0], obp[f"{first}/ends"][0], strict=True)
        lines.append(f"{'OBP':<12}{'':>28}" + "".join(_interval(v, *e) for v, e in rows))
    own = found["replay"]
    lines += [
        "",
        "Replay of Thompson sampling on peaked logs of 10,000 rows: mean reward, and online for as long",
    ]
    text = f"{own['value']:.3f} +- {own['se']:.3f}"
    lines.append(f"{'ours':<12}{text:>18} in {own['rows']:,} rounds, online {online(own['rows']):.3f}")
    if obp is not None:
        value, used = obp["replay value"], int(obp["replay used"].mean())
        text = f"{value.mean():.3f} +- {value.std(ddof=1) / len(value) ** 0.5:.3f}"
        lines.append(f"{'OBP':<12}{text:>18} in {used:,} rounds, online {online(used):.3f}")
    return lines


def _row(head: str, side: str, ends: np.ndarray, about: dict[str, Any]) -> str:
    cells = []
    for each in ends.swapaxes(0, 1):
        known = np.isfinite(each).all(axis=1)
        if not known.any():
            cells.append("")
            continue
        low, high = each[known].T
        share = f"{np.mean((low <= about['truth']) & (about['truth'] <= high)):.3f}, {np.mean(high - low):.3f}"
        failed = f" -{int((~known).sum())}" if 0 < known.sum() < len(known) else ""
        cells.append(share + failed)
    return f"{head:<24}{side:<6}" + "".join(f"{cell:>16}" for cell in cells) + f"{about['seconds']:>8.3f}"


def _named(gap: np.ndarray) -> str:
    return ", ".join(f"{name} {value:.1e}" for name, value in zip(ESTIMATORS, gap, strict=True))


def _interval(value: float, low: float, high: float) -> str:
    ends = f" [{low:.3f}, {high:.3f}]" if np.isfinite(low) else ", no interval"
    return f"{f'{value:.3f}{ends}':>28}"
