"""Our half of `peers`: the same problems, with values, times and words of the same form as those of a peer."""

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks import peers_worlds as worlds
from jaxbandit.engine.driver.simulate import simulate_cell

DIM = worlds.DIM + 1  # with the column of ones
AT_ONCE = 100  # runs of a contextual rule
REPEATS = 3
EACH = 1  # of the rules of a problem, every so many are measured


def arms(means: np.ndarray, horizon: int, runs: int) -> list[dict[str, Any]]:
    """Return a row for each rule: regrets, microseconds of a round of one run, and of each of many at once."""
    k = len(means)
    rules = {
        "`ucb1_auer`, the `UCB` and `UCB1` above": jb.algorithms.ucb1_auer(k),
        "`ucb_tuned`": jb.algorithms.ucb_tuned(k),
        "`kl_ucb`": jb.algorithms.kl_ucb(k),
        "`thompson`": jb.algorithms.thompson(k),
        "`epsilon_greedy(epsilon=0.05)`": jb.algorithms.epsilon_greedy(k, epsilon=0.05),
    }
    rows = []
    for name, rule in list(rules.items())[::EACH]:
        us, _ = fastest(rule, jb.environments.bernoulli(means), horizon, 1)
        many, regrets = fastest(rule, jb.environments.bernoulli(means), horizon, runs)
        rows.append({"ran": name, "values": regrets, "us": us, "us of many": many})
        print(name, regrets.mean(), us, many, file=sys.stderr)
    return rows


def fastest(rule: jb.Algorithm, world: jb.Environment, rounds: int, runs: int) -> tuple[float, np.ndarray]:
    """Return the least microseconds of a round of a run, without compiling, and the regrets of all runs."""

    def make(_: Any) -> tuple[jb.Algorithm, jb.Environment]:  # one function, so that a repeat does not compile again
        return rule, world

    times, regrets = [], []
    for i in range(REPEATS):
        cell = simulate_cell(make, {}, horizon=rounds, num_runs=runs, first_run=i * runs, checkpoints=[rounds])
        times.append(1e6 * cell.run_seconds / (runs * rounds))
        regrets.append(np.asarray(cell.regret)[:, -1])
    return min(times), np.concatenate(regrets)


def contexts(given: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return a row for each rule: a session is asked and told in turns, as the peers are."""
    without: dict[str, Any] = {"intercept": False}  # the contexts have a column of ones
    rules = {
        "`lin_ucb_disjoint(alpha=1)`": jb.algorithms.lin_ucb_disjoint(worlds.ARMS, DIM, **without),
        "`lin_ucb_disjoint(alpha=0.25)`": jb.algorithms.lin_ucb_disjoint(worlds.ARMS, DIM, alpha=0.25, **without),
        "`lin_ts_disjoint(sigma=1)`": jb.algorithms.lin_ts_disjoint(worlds.ARMS, DIM, **without),
        "`lin_ts_disjoint(sigma=0.5)`": jb.algorithms.lin_ts_disjoint(worlds.ARMS, DIM, sigma=0.5, **without),
    }
    table = jb.environments.rewards_table(with_ones(given["contexts"][0]), given["rewards"][0])
    rows = []
    for name, rule in list(rules.items())[::EACH]:
        plays = [session_play(rule, i, given["contexts"][i], given["rewards"][i]) for i in range(len(given["means"]))]
        regrets = np.array([gaps(means, play[0]) for means, play in zip(given["means"], plays, strict=True)])
        many, _ = fastest(rule, table, given["means"].shape[1], AT_ONCE)
        us = 1e6 * min(seconds for _, seconds in plays)
        rows.append({"ran": name, "values": regrets, "us": us, "us of many": many})
        print(name, regrets.mean(), us, many, file=sys.stderr)
    return rows


def session_play(rule: jb.Algorithm, seed: int, x: np.ndarray, rewards: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the arms of a session in a world, and the mean of the seconds of an `ask` and a `tell`."""
    session, actions, times = jb.session(rule, seed=seed), np.zeros(len(x), int), []
    for t, row in enumerate(with_ones(x)):
        begin = time.perf_counter()
        session, pulls = jb.ask(session, context=row)
        actions[t] = arm = int(pulls.arm[0])
        session = jb.tell(session, pulls.id, [rewards[t, arm]])
        times.append(time.perf_counter() - begin)
    return actions, statistics.fmean(times[5:])  # without those that compile


def with_ones(x: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((len(x), 1)), x], axis=1)


def gaps(means: np.ndarray, actions: np.ndarray) -> float:
    """Return the sum over the rounds of a world of the best mean less that of the action."""
    return float((means.max(axis=1) - means[np.arange(len(means)), actions]).sum())


def grid(repetitions: int) -> list[dict[str, Any]]:
    """Return a row for each search: choices, claims, fits, seconds, and what it said in the first repetition."""
    from sklearn.svm import SVC

    from jaxbandit.sklearn import BanditSearchCV

    def bandit(**settings: Any) -> Callable[..., tuple]:
        def run(x: np.ndarray, y: np.ndarray, seed: int) -> tuple:
            done = BanditSearchCV(SVC(), worlds.GRID, **settings)
            done.set_params(random_state=seed if "cv" not in settings else None)
            done.fit(x, y)
            fits = int(done.cv_results_["n_splits"].sum())
            return done.best_params_, done.best_score_, fits, done.certificate_.known

        return run

    searches = {
        "`BanditSearchCV(cv=5)`, 20 configurations": bandit(cv=5),
        "`BanditSearchCV(epsilon=0.01)`, the same 20, random splits": bandit(epsilon=0.01),
        "`BanditSearchCV(max_fits=100)`, the same": bandit(max_fits=100),
        "`search` with `tpe`, continuous, 100 fits": search,
    }
    rows = []
    for name, run in list(searches.items())[::EACH]:
        found, said = [], ""
        for repetition in range(repetitions):
            x, y, *_ = worlds.digits(repetition)
            begin = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a budget too small for a race, which its words say too
                config, claim, fits, words = run(x, y, repetition)
            found.append((config["C"], config["gamma"], claim, fits, time.perf_counter() - begin))
            said = said or words
        rows.append({"ran": name, "rows": np.array(found), "said": said})
        print(name, rows[-1]["rows"].mean(axis=0), said, file=sys.stderr)
    return rows


def search(x: np.ndarray, y: np.ndarray, seed: int) -> tuple:
    """Choose by `search` over the continuous ranges; a training is a random split, as those of `BanditSearchCV`."""
    from sklearn.model_selection import train_test_split
    from sklearn.svm import SVC

    def train(seed: int, config: dict) -> float:
        seen, new, of_seen, of_new = train_test_split(x, y, test_size=0.2, random_state=seed, stratify=y)
        return float(SVC(**config).fit(seen, of_seen).score(new, of_new))

    space = {name: jb.space.loguniform(values[0], values[-1]) for name, values in worlds.GRID.items()}
    found = jb.search(train, space, "tpe", seed=seed, budget=100, execution=jb.Execution(progress=False))
    SVC(**found.best_config).fit(x, y)  # as the others do in the end
    known = found.certificate.known
    return found.best_config, float(found.table["mean"][found.index]), 100, known
