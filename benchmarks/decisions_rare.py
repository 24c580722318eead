"""The cells of `decisions` about rare events: what the rule for normal differences misses, and what seeing it costs."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks import decisions_searches as searches
from benchmarks import decisions_worlds as worlds
from benchmarks.decisions_cells import Cell, mean, share
from benchmarks.decisions_worlds import World
from jaxbandit.decide.tuning import allocation
from jaxbandit.decide.tuning.criterion import Criterion
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.theory.comparisons.outliers import outlier

DELTA = 0.05
NORMAL = Criterion(DELTA, 0.01)
BETS = replace(NORMAL, score_range=(0.0, 1.0))
RIVAL = {0.06: ((0.709, 0.016), (0.418, 0.017), (0.184, 0.014), (0.089, 0.010)),
         0.10: ((0.531, 0.018), (0.229, 0.015), (0.046, 0.007), (0.008, 0.003)),
         0.20: ((0.273, 0.016), (0.046, 0.007), (0.003, 0.002), (0.0, 0.001))}  # fmt: skip
ROWS = 500
WARNED = {
    (0.06, 1): 0.01, (0.06, 14): 0.04, (0.06, 29): 0.16, (0.06, 49): 0.39, (0.10, 1): 0.01, (0.10, 14): 0.01,
    (0.10, 29): 0.03,
}  # fmt: skip


def rare(runs: int) -> Iterator[Cell]:
    """Yield how often a rival that sometimes fails is chosen, and the prices of not choosing it."""
    for rate, stated in RIVAL.items():
        world = worlds.failing_rival(rate)
        right = world.means > world.means.max() - 0.005
        for low, expected in zip((1, 14, 29, 49), stated, strict=True):
            wrong, warned = [], []
            for each in searches.chunks(world, runs, ROWS, 0.1, 10, low, 0.005):
                searches.play(each, world.means, searches.race, ROWS, 0)
                n = each.counts.max(axis=1)
                chosen = ~right[each.best] & (n < ROWS)  # a longer race has seen so many failures that it is right
                wrong.append(chosen)
                warned += [_remarked(each, run, n[run]) for run in np.flatnonzero(chosen).tolist()]
            name = f"failures {rate:g}, min_trainings {low}"
            yield share("a failing rival is chosen", name, np.concatenate(wrong), *expected)
            if (rate, low) in WARNED:
                p = WARNED[rate, low]
                error = math.sqrt(p * (1 - p) / (800 * expected[0]))
                yield share("the remark, in wrong runs", name, np.array(warned), p, error)
    for rate, stated in ((0.06, ((2250, 91), (533, 83))), (0.10, ((1555, 22), (300, 28)))):
        world = worlds.failing_rival(rate)
        for name, own, expected in (("bets", BETS, stated[0]), ("normal", NORMAL, stated[1])):
            rng, wrong, pulls = np.random.default_rng(11), [], []
            for _ in range(20):
                seen, cost = _raced(replace(own, epsilon=0.005), world, rng, 3000)
                wrong.append(world.means.max() - world.means[seen.recommended(np.ones(5, bool))] > 0.005)
                pulls.append(cost)
            yield mean("pulls, a failing rival", f"failures {rate:g}, {name}", np.array(pulls), *expected)
            if name == "bets":
                yield share("a failing rival is chosen", f"failures {rate:g}, bets", np.array(wrong), 0.05)
    for name, own, stated in (
        ("no minimum", NORMAL, (189, 3)),
        ("min_trainings 14", replace(NORMAL, min_trainings=14), (205, 2)),
        ("min_trainings 29", replace(NORMAL, min_trainings=29), (353, 1)),
        ("min_trainings 49", replace(NORMAL, min_trainings=49), (588, 1)),
        ("bets", BETS, (2283, 22)),
    ):
        rng, number = np.random.default_rng(12), min(runs, 20 if name == "bets" else 300)
        pulls = [_raced(own, worlds.fiesta(), rng, 1500)[1] for _ in range(number)]
        yield mean("pulls, FIESTA, common rows, epsilon .01", name, np.array(pulls), *stated)
    rng = np.random.default_rng(13)
    for name, own, wrong_stated, pulls_stated in (
        ("median", replace(NORMAL, quantile=0.5), (0.0, None), (22, 1)), ("mean", NORMAL, (0.967, 0.023), (169, 112))
    ):  # fmt: skip
        wrong, pulls = [], []
        for _ in range(60):
            seen, cost = _raced(replace(own, epsilon=0.05), worlds.pauses(), rng, 4000)
            wrong.append(seen.recommended(np.ones(2, bool)) != (1 if own.quantile else 0))
            pulls.append(cost)
        yield share("rare pauses: wrong choice", name, np.array(wrong), wrong_stated[0] or DELTA, wrong_stated[1])
        yield mean("rare pauses: pulls", name, np.array(pulls), *pulls_stated)


def _remarked(each: searches.Searches, run: int, n: int) -> bool:
    rivals = [i for i in np.flatnonzero(~each.excluded[run]) if i != each.best[run]]
    scores = each.scores[run, :n]
    return any(outlier(scores[:, i] - scores[:, each.best[run]], len(rivals)) is not None for i in rivals)


def _raced(criterion: Criterion, world: World, rng: np.random.Generator, rows: int) -> tuple[Evidence, int]:
    seen = searches.evidence(criterion, len(world.means))
    steps = allocation.race(seen, np.ones(seen.count, bool))
    return seen, searches.search(seen, steps, world.draw(rng, rows), (rows - 1) * 2)


ALARMS = {
    "Gaussian": (0.011, 0.010, 0.010, 0.010),
    "accuracies of 360": (0.015, 0.009, 0.014, 0.020),
    "FIESTA, independent": (0.007, 0.005, 0.009, 0.001),
    "FIESTA, common rows": (0.033, 0.073, 0.126, 0.050),
}


def remarks(runs: int) -> Iterator[Cell]:
    """Yield how often the differences of the best from those that are left are said not to be normal."""
    rates = np.linspace(0.9, 0.85, 12)
    laws = {
        "Gaussian": World(np.zeros(12), lambda rng, n: rng.normal(size=(n, 12))),
        "accuracies of 360": World(rates, lambda rng, n: rng.binomial(360, rates, (n, 12)) / 360),
        "FIESTA, independent": worlds.fiesta(False),
        "FIESTA, common rows": worlds.fiesta(),
    }
    for name, world in laws.items():
        for n, stated in zip((10, 20, 50, 200), ALARMS[name], strict=True):
            said = []
            for each in searches.chunks(world, runs, n, DELTA, 14):
                each.counts[:] = n
                each.look()
                said += [_remarked(each, run, n) for run in range(each.runs)]
            error = math.sqrt(stated * (1 - stated) / 2000)
            yield share("the remark, 12 arms after n rounds", f"{name}, n = {n}", np.array(said), stated, error)
