"""`python -m benchmarks.tuning_quality fiesta|digits`: whether tuned choices keep their guarantee, and what they cost.

fiesta: sweeps of `tune` with recorded F1 scores as a black box, compared with the rule simulated on the same table.
digits: one certified choice among networks, evaluated with new seeds, and the same guarantee by uniform allocation.
"""

import argparse
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxbandit as jb
from benchmarks import digits
from jaxbandit.environments.recorded.fiesta import recorded_scores
from jaxbandit.theory.intervals import clopper_pearson, student_of
from jaxbandit.theory.solvers import student

DELTA = 0.05
SIMULATED = 100  # sweeps on the scores of new seeds
MOST_ROUNDS = 600
FRESH = 1_000_003  # seed of the trainings that evaluate a choice


def fiesta(sweeps: int) -> dict[str, Any]:
    """Return the errors and trainings of sweeps, in which the search sees the scores one by one."""
    scores = recorded_scores()
    names = list(scores)
    recorded = np.stack([scores[name] for name in names], axis=1)
    means = recorded.mean(axis=0)

    def train(key: Any, config: Any) -> float:
        row = np.random.default_rng(np.asarray(jax.random.key_data(key))).integers(len(recorded))
        return float(recorded[row, names.index(config["model"])])

    rule = jb.algorithms.paired_race(len(names), delta=DELTA)
    errors, pulls = 0, []
    start = time.perf_counter()
    for sweep in range(sweeps):
        found = jb.tune(train, jb.space.grid(model=names), rule, seed=sweep)
        errors += bool(means[found.index] < means.max())
        pulls.append(len(found.history["id"]))
        if sweep % 50 == 49:
            print(f"{sweep + 1} sweeps, {time.perf_counter() - start:.0f} s, {np.mean(pulls):.1f}", file=sys.stderr)
    simulated = jb.identify(rule, jb.environments.fiesta(rows="common"), num_runs=10_000, seed=1)
    theirs = student_of(simulated.samples())
    rate, ours = clopper_pearson(errors, sweeps), student_of(pulls)
    apart = (ours.value - theirs.value) / np.hypot(ours.se, theirs.se)
    return {
        "sweeps": sweeps,
        "errors": errors,
        "rate": [rate.low, rate.high],
        "trainings": [ours.value, ours.se],
        "simulated": [theirs.value, theirs.se],
        "standard errors apart": float(apart),
    }


def digits_choice(count: int, epsilon: float, fresh: int) -> dict[str, Any]:
    """Return a certified choice, all configurations evaluated with new seeds, and the cost of uniform allocation."""
    space = digits.space(count)
    start, cpu = time.perf_counter(), time.process_time()
    found = jb.tune(
        digits.train, space, goal=jb.Goal(delta=DELTA, epsilon=epsilon), execution=jb.Execution(progress=True)
    )
    took = time.perf_counter() - start, time.process_time() - cpu
    print(found, file=sys.stderr)
    judged = jb.tune(
        digits.train,
        space,
        jb.algorithms.uniform_allocation(count, budget=fresh * count),
        seed=FRESH,
        execution=jb.Execution(progress=True),
    )
    means, chosen = judged.table["mean"], found.index
    matrix = np.empty((fresh, count))
    matrix[judged.history["seed"], judged.history["config"]] = judged.history["score"]
    best = int(np.argmax(means))
    first = found.history["batch"] == 0
    single = int(found.history["config"][first][np.argmax(found.history["score"][first])])
    rounds = int(found.history["seed"].max()) + 1
    race, uniform = simulated(matrix, epsilon)
    apart = student_of(matrix[:, best] - matrix[:, chosen])
    return {
        "configurations": count,
        "epsilon": epsilon,
        "trainings": len(found.history["id"]),
        "rounds": rounds,
        "seconds": took,
        "chosen": [chosen, float(means[chosen])],
        "best of fresh seeds": [best, float(means[best])],
        "shortfall": [float(apart.value), float(apart.low), float(apart.high)],
        "best single score": [single, float(found.history["score"][first].max()), float(means[single])],
        "simulated on the fresh scores": SIMULATED,
        "trainings of the race": [float(race.mean()), float(race.std() / SIMULATED**0.5)],
        "trainings of uniform allocation": [float(uniform.mean()), float(uniform.std() / SIMULATED**0.5)],
        "times fewer": [float(uniform.mean() / race.mean()), float(np.median(uniform / race))],
    }


def simulated(matrix: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the trainings of the race and of uniform allocation with its bounds, on rows drawn with replacement."""
    rule = jb.algorithms.paired_race(matrix.shape[1], delta=DELTA, epsilon=epsilon)
    race = jb.identify(
        rule,
        jb.environments.table(matrix, rows="common"),
        num_runs=SIMULATED,
        seed=2,
        execution=jb.Execution(progress=False),
    ).samples()
    chance, rounds = np.random.default_rng(2), []
    for _ in range(SIMULATED):
        drawn = matrix[chance.integers(len(matrix), size=MOST_ROUNDS)]
        rounds.append(uniform_rounds(drawn, epsilon) or MOST_ROUNDS)
    return np.asarray(race, float), matrix.shape[1] * np.asarray(rounds, float)


def uniform_rounds(scores_: np.ndarray, epsilon: float) -> int | None:
    """Return the rounds after which the bounds of `paired_race` certify a simple regret of at most epsilon.

    Args:
      scores_: float[rounds, configurations], those of a round share a seed.
      epsilon: the simple regret allowed.
    """
    rounds, count = scores_.shape
    with jax.enable_x64(True):
        log_alpha = jnp.log(DELTA / (count - 1))
        c2 = student.default_c2(log_alpha)
        n = jnp.arange(1.0, rounds + 1)
        radius = np.asarray(lax.map(lambda n: student.squared_radius(n, student.one_sided(n, log_alpha, c2), c2), n))
    for n in range(3, rounds + 1):
        means = scores_[:n].mean(axis=0)
        leader = int(np.argmax(means))
        apart = scores_[:n, leader : leader + 1] - scores_[:n]
        spread = np.delete(apart, leader, axis=1)
        if not np.isfinite(radius[n - 1]) or not spread.var(axis=0).all():
            continue
        if (spread.mean(axis=0) - np.sqrt(spread.var(axis=0) * radius[n - 1]) > -epsilon).all():
            return n
    return None


def main() -> int:
    """Run the named part and print its result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning_quality", description=__doc__)
    parser.add_argument("part", choices=("fiesta", "digits"))
    parser.add_argument("--sweeps", type=int, default=1000, help="of fiesta")
    parser.add_argument("--configs", type=int, default=256, help="of digits")
    parser.add_argument("--epsilon", type=float, default=0.005, help="of digits")
    parser.add_argument("--fresh", type=int, default=200, help="number of new seeds that evaluate the choice (digits)")
    asked = parser.parse_args()
    found = fiesta(asked.sweeps) if asked.part == "fiesta" else digits_choice(asked.configs, asked.epsilon, asked.fresh)
    for name, value in found.items():
        print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
