"""Results made by hand for tests, through the engine's record."""

from typing import Any

import numpy as np

from jaxbandit.engine.driver.records import Identified, Record
from jaxbandit.running.cell import stopping_result
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult

MEANS = [0.1, 0.5, 0.9]


def record(rows: Any, checkpoints: Any = (1, 10, 100), **changes: Any) -> Record:
    """What the engine records of regret given per run, [runs, checkpoints]; a run that went wrong counts in no mean."""
    regret = np.asarray(rows, np.float32)
    runs = len(regret)
    outcome = np.asarray(changes.get("outcome", np.zeros(runs)), np.int8)
    double = regret.astype(np.float64)[outcome == 0]
    pulls = np.arange(3 * runs, dtype=np.int32).reshape(runs, 3)
    spread = len(double) > 1
    fields: dict[str, Any] = {
        "checkpoints": np.asarray(checkpoints, np.int64),
        "regret": regret,
        "mean": double.mean(axis=0) if len(double) else np.full(regret.shape[1], np.nan),
        "variance": double.var(axis=0, ddof=1) if spread else np.full(regret.shape[1], np.nan),
        "measure": "regret",
        "counted": len(double),
        "pulls": pulls,
        "pulls_mean": pulls[outcome == 0].mean(axis=0) if len(double) else np.full(3, np.nan),
        "recommendation": np.full(runs, 2, np.int32),
        "outcome": outcome,
        "compile_seconds": 0.5,
        "run_seconds": 0.006,
        "run_steps": 1000,
        "devices": ["cpu"],
        "identity": {},
    }
    return Record(**(fields | changes | {"outcome": outcome}))


def result(
    rows: Any,
    algorithm: str = "kl",
    instance: str = "it",
    checkpoints: Any = (1, 10, 100),
    params: dict[str, Any] | None = None,
    seed: int = 7,
    precision: str = "float32",
    truth: dict[str, Any] | None = None,
    any_rewards: bool = False,
    **changes: Any,
) -> RegretResult:
    """Result of such a record."""
    return RegretResult.from_record(
        record(rows, checkpoints, **changes),
        instance=instance,
        algorithm=algorithm,
        params=params or {},
        seed=seed,
        precision=precision,
        truth={"means": MEANS, "regret_constant": 2.0} if truth is None else truth,
        any_rewards=any_rewards,
    )


def noisy(
    mean: float, runs: int = 200, spread: float = 1.0, seed: int = 0, shared: int = 0, **more: Any
) -> RegretResult:
    """Result of runs with final regret near `mean`; equal `shared` seeds give correlated runs."""
    own = np.random.default_rng(seed).normal(0, spread, runs)
    common = np.random.default_rng(shared).normal(0, 5.0, runs)
    final = mean + own - own.mean() + common
    return result(np.stack([0.1 * final, 0.5 * final, final], axis=1), **more)


def stopping(
    samples: Any,
    outcome: Any = None,
    shortfall: Any = None,
    algorithm: str = "kl",
    instance: str = "it",
    params: dict[str, Any] | None = None,
    max_rounds: int = 1000,
    m: int = 1,
    batches: Any = None,
    **changes: Any,
) -> StoppingResult:
    """Result of runs that stopped after `samples` pulls, two thirds of them of arm 0; arm 0 is recommended."""
    runs = len(samples)
    n = np.asarray(samples, np.int64)
    found = Identified(
        samples=n,
        outcome=np.zeros(runs, np.int8) if outcome is None else np.asarray(outcome, np.int8),
        recommendation=np.tile(np.arange(m, dtype=np.int32), (runs, 1)),
        shortfall=np.zeros(runs) if shortfall is None else np.asarray(shortfall, np.float64),
        pulls=np.stack([2 * n // 3, n - 2 * n // 3], axis=1).astype(np.int32),
        compile_seconds=0.5,
        run_seconds=0.006,
        run_steps=int(n.sum()),
        lane_steps=2 * int(n.sum()),
        identity={},
        devices=["cpu"],
        batches=batches,
    )
    labels = {"seed": 7, "precision": "float64", "truth": {"means": [0.9, 0.5]}, "warnings": ()} | changes
    params = {"delta": 0.05, "epsilon": 0.1} if params is None else params
    told = {"epsilon": 0.0, "m": m} | {k: v for k, v in params.items() if k in ("delta", "epsilon", "proved")}
    return stopping_result(
        found, told, instance=instance, algorithm=algorithm, params=params, max_rounds=max_rounds, **labels
    )
