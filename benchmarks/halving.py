"""The benchmark of halving: accuracy on digits at equal numbers of steps, against Optuna's Hyperband and random search.

A search tunes the learning rate, momentum, weight decay and scale of the initial weights of a 64-32-10 network. Every
search may spend the steps of one Hyperband with 81 steps and eta 3. Its choice is then trained again, and evaluated on
images that no search has seen.
"""

import functools
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit as jb
from benchmarks.columns import table as table_of
from jaxbandit.decide.tuning import trainings
from jaxbandit.theory import intervals

MOST, ETA = 81, 3
RUNGS = (1, 3, 9, 27, 81)
INNER = 5  # steps of SGD in one step of a training
IMAGES = 64  # in one step of SGD
SPACE = {
    "lr": jb.space.loguniform(1e-3, 10.0),
    "momentum": jb.space.uniform(0.0, 0.99),
    "decay": jb.space.loguniform(1e-6, 1e-1),
    "scale": jb.space.loguniform(1e-2, 10.0),
}
ANEW = 1000  # the seeds of the new trainings begin here
Images = Callable[[], dict[str, tuple[jax.Array, jax.Array]]]  # images and labels by part


@functools.cache
def digits() -> dict[str, tuple[jax.Array, jax.Array]]:
    """Return images and labels in a fixed split: 1,000 to train, 397 to choose by, 400 to evaluate the choice."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    parts = np.split(order, [1000, 1397])
    pairs = {
        n: (jnp.asarray(x[p] / 16, jnp.float32), jnp.asarray(y[p], jnp.int32))
        for n, p in zip("abc", parts, strict=True)
    }
    return {"train": pairs["a"], "validation": pairs["b"], "test": pairs["c"]}


def logits(weights: Any, x: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(x @ weights["w1"] + weights["b1"][None])
    return hidden @ weights["w2"] + weights["b2"][None]


@functools.cache
def trainee(part: str = "validation", data: Images = digits) -> jb.Trainee:
    """Train by SGD with momentum; the score is the accuracy on a part of the images, which `data` returns."""
    images, labels = data()["train"]

    def loss(weights: Any, at: jax.Array) -> jax.Array:
        said = jax.nn.log_softmax(logits(weights, images[at]))
        return -jnp.mean(jnp.take_along_axis(said, labels[at][:, None], 1))

    def init(key: Any, config: Any) -> Any:
        first, second = jax.random.split(key)
        weights = {
            "w1": config["scale"] * jax.random.normal(first, (64, 32)),
            "b1": jnp.zeros(32),
            "w2": jax.random.normal(second, (32, 10)) / 32**0.5,
            "b2": jnp.zeros(10),
        }
        return weights, jax.tree.map(jnp.zeros_like, weights)

    def step(state: Any, key: Any, config: Any) -> Any:
        def one(i: Any, state: Any) -> Any:
            weights, speed = state
            at = jax.random.randint(jax.random.fold_in(key, i), (IMAGES,), 0, len(images))
            slope = jax.grad(loss)(weights, at)
            speed = jax.tree.map(
                lambda v, g, w: config["momentum"] * v + g + config["decay"] * w, speed, slope, weights
            )
            return jax.tree.map(lambda w, v: w - config["lr"] * v, weights, speed), speed

        return jax.lax.fori_loop(0, INNER, one, state)

    def score(state: Any, config: Any) -> Any:
        x, y = data()[part]
        found = logits(state[0], x)
        right = jnp.mean((jnp.argmax(found, -1) == y).astype(jnp.float32))
        return jnp.where(jnp.all(jnp.isfinite(found)), right, jnp.nan)

    return jb.Trainee(init, step, score)


def sample(key: Any, n: int) -> Any:
    return jb.space.random_configs(key, n, **SPACE)


def steps_of(result: Any) -> int:
    """Return the steps that a search has spent, each training up to the last rung at which it was scored."""
    last: dict[tuple[int, int], int] = {}
    for config, seed, steps in zip(
        *(result.history[name].tolist() for name in ("config", "seed", "steps")), strict=True
    ):
        last[config, seed] = max(steps, last.get((config, seed), 0))
    return sum(last.values())


Search = Callable[[int, int], tuple[dict[str, float], int]]  # (seed, steps allowed) -> configuration, steps spent


def hyperband(seed: int, budget: int) -> tuple[Any, int]:
    found = jb.hyperband(trainee(), sample, max_steps=MOST, eta=ETA, seed=seed)
    return found.best_config, steps_of(found)


def halving(seed: int, budget: int) -> tuple[Any, int]:
    """Search by halving, with as many configurations as the budget allows if each begins with one step."""

    def cost(n: int) -> int:
        return sum(max(n // ETA**i, 1) * (b - a) for i, (a, b) in enumerate(zip([0, *RUNGS], RUNGS, strict=False)))

    n = max(n for n in range(1, budget) if cost(n) <= budget)
    configs = sample(jax.random.key(seed), n)
    found = jb.successive_halving(trainee(), configs, min_steps=1, max_steps=MOST, eta=ETA, seed=seed)
    return found.best_config, steps_of(found)


def random_search(seed: int, budget: int) -> tuple[Any, int]:
    """Search by as many complete trainings as the budget allows; the best on the images to choose by."""
    configs = sample(jax.random.key(seed), budget // MOST)
    found = jb.successive_halving(trainee(), configs, min_steps=MOST, max_steps=MOST, seed=seed)
    return found.best_config, steps_of(found)


def optuna_search(seed: int, budget: int, sampler: str = "random") -> tuple[Any, int]:
    """Search by Optuna's Hyperband pruner; a trial that would exceed the budget is pruned at its last rung before."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler}
    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=MOST, reduction_factor=ETA)
    study = optuna.create_study(direction="maximize", sampler=samplers[sampler](seed=seed), pruner=pruner)
    root, spent = trainings.root(seed), 0

    def objective(trial: Any) -> float:
        nonlocal spent
        config = {
            "lr": trial.suggest_float("lr", 1e-3, 10.0, log=True),
            "momentum": trial.suggest_float("momentum", 0.0, 0.99),
            "decay": trial.suggest_float("decay", 1e-6, 1e-1, log=True),
            "scale": trial.suggest_float("scale", 1e-2, 10.0, log=True),
        }
        columns = {name: np.array([value]) for name, value in config.items()}
        programs = trainings.programs(trainee(), columns, 1)
        who = np.array([trial.number], np.uint32), np.zeros(1, np.uint32)
        state, done, value = programs.init(who, columns, root), 0, 0.0
        for rung in RUNGS:
            if spent + rung - done > budget:
                study.stop()
                raise optuna.TrialPruned
            state = programs.advance(state, who, columns, root, np.int32(done), np.int32(rung))
            spent, done = spent + rung - done, rung
            value = float(programs.score(state, columns)[0])
            if not np.isfinite(value):
                raise optuna.TrialPruned
            trial.report(value, rung)
            if rung < MOST and trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective)  # until the budget stops it
    return study.best_params, spent


SEARCHES: dict[str, Search] = {
    "hyperband": hyperband,
    "successive_halving": halving,
    "random search": random_search,
    "Optuna, Hyperband, random": optuna_search,
    "Optuna, Hyperband, TPE": functools.partial(optuna_search, sampler="tpe"),
}


def judged(config: dict[str, float], seed: int, times: int) -> float:
    """Return the mean accuracy of new complete trainings on unseen images."""
    columns = {name: np.array([config[name]]) for name in SPACE}
    found = jb.successive_halving(
        trainee("test"), columns, min_steps=MOST, max_steps=MOST, repeats=times, seed=ANEW + seed
    )
    return float(found.table["mean"][0])


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each search: accuracy of its choices over repetitions, steps and processor time in seconds."""
    times, anew = (2, 2) if quick else (20, 10)
    budget = hyperband(0, 0)[1]
    found: dict[str, list[tuple[float, int, float]]] = {name: [] for name in SEARCHES}
    for seed in range(times):
        for name, search in SEARCHES.items():
            begin = time.process_time()
            config, spent = search(seed, budget)
            seconds = time.process_time() - begin
            found[name].append((judged(config, seed, anew), spent, seconds))
            print(f"{seed}: {name}: {found[name][-1][0]:.4f}, {spent} steps, {seconds:.1f} s", file=sys.stderr)
    first = np.array([accuracy for accuracy, *_ in found["hyperband"]])
    rows = []
    for name, runs in found.items():
        accuracy = np.array([run[0] for run in runs])
        mean, beside = intervals.student_of(accuracy, limits=(0, 1)), intervals.Interval(0, 0, 0, 0)
        if name != "hyperband":  # which is compared with itself
            beside = intervals.student_of(accuracy - first, limits=(-1, 1))
        rows.append(
            {
                "search": name,
                "repetitions": times,
                "accuracy": [mean.value, mean.low, mean.high],
                "least": float(accuracy.min()),
                "beside": [beside.value, beside.low, beside.high],
                "steps": [min(run[1] for run in runs), max(run[1] for run in runs)],
                "seconds": statistics.median(run[2] for run in runs),
            }
        )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    return table_of(
        rows,
        f"digits, {rows[0]['repetitions']} repetitions -> {{search}} | accuracy -> {{accuracy[0]:.4f}}"
        "| 95 % interval -> [{accuracy[1]:.4f}, {accuracy[2]:.4f}] | worst -> {least:.4f}"
        "| minus hyperband -> {beside[0]:.4f} | 95 % interval -> [{beside[1]:.4f}, {beside[2]:.4f}]"
        "| steps -> {steps[0]}-{steps[1]} | CPU s -> {seconds:.2f}",
    )
