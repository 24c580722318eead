"""The cost of a changing environment: processor time of a run-step where means are constant, jump and wander.

Regret is computed from the pulls if means are constant, and summed round by round if they change; regret in hindsight
needs K more sums. Each figure is the least processor time of a few repeats, so that other work has little effect.
"""

import time
from typing import Any

import jaxbandit as jb

HORIZON, RUNS, REPEATS = 5_000, 2_048, 3
JUMPS = [[0.3, 0.5, 0.9], [0.3, 0.2, 0.9], [0.3, 0.2, 0.1], [0.7, 0.2, 0.1], [0.7, 0.5, 0.1]]
STARTS = [0, 1_000, 2_000, 3_000, 4_000]
RULES = {"ucb1": jb.algorithms.ucb1, "kl_ucb": jb.algorithms.kl_ucb}


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each rule and number of arms: nanoseconds per run-step in each environment."""
    rows = []
    for name in ["ucb1"] if quick else RULES:
        for copies in (1,) if quick else (1, 3):
            means, num_arms = [row * copies for row in JUMPS], 3 * copies
            rule, jumps, wander = (
                RULES[name](num_arms),
                jb.environments.piecewise_bernoulli(means, STARTS),
                jb.environments.restless_bernoulli,
            )
            row: dict[str, Any] = {"rule": name, "arms": num_arms}
            row["still"] = _nanoseconds(rule, jb.environments.bernoulli(means[0]))
            row["jumps"] = _nanoseconds(rule, jumps)
            row["jumps, hindsight"] = _nanoseconds(rule, jumps, hindsight=True)
            row["wanders"] = _nanoseconds(rule, wander(num_arms))
            rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    names = [name for name in rows[0] if name not in ("rule", "arms")]
    lines = ["processor nanoseconds per run-step", f"{'rule':10s}{'arms':>6s}" + "".join(f"{n:>18s}" for n in names)]
    lines += [f"{row['rule']:10s}{row['arms']:6d}" + "".join(f"{row[n]:18.1f}" for n in names) for row in rows]
    return "\n".join(lines)


def _nanoseconds(rule: jb.Algorithm, world: jb.Environment, **more: Any) -> float:
    def once() -> float:
        begun = time.process_time()
        jb.simulate(
            rule,
            world,
            horizon=HORIZON,
            num_runs=RUNS,
            **more,
            keep=(),
            execution=jb.Execution(workers=1, progress=False),
        )
        return time.process_time() - begun

    once()  # compiles
    return 1e9 * min(once() for _ in range(REPEATS)) / (HORIZON * RUNS)
