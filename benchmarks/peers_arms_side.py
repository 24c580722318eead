"""The half of `peers` for plain arms that runs where a peer is installed: Python 3.9 or later, NumPy and the peer.

`python peers_arms_side.py PEER IN.npz OUT.npz`, where PEER is SMPyBandits, mabwiser, coba or vowpalwabbit. It does not
import jaxbandit. Arm a pays in round t of run r if number [t, a] of the generator with seed r is below its mean.
"""

import contextlib
import importlib.metadata
import io
import sys
import time

import numpy as np

RUNS = 5, 1_000  # at least and at most


def main(peer, given_path, found_path):
    """Play every rule of a peer, and write the regrets of its runs and the microseconds of a round."""
    with np.load(given_path) as file:
        given = {key: file[key] for key in ("means", "horizon", "seconds")}
    found, rules = {}, {"SMPyBandits": smpybandits, "mabwiser": mabwiser, "coba": coba, "vowpalwabbit": vowpalwabbit}
    names, whole = [], peer == "coba"
    for name, make in rules[peer](given):
        found |= {f"{len(names)}/{key}": value for key, value in measure(make, given, whole).items()}
        names.append(name)
        print(name, found[f"{len(names) - 1}/values"].mean(), found[f"{len(names) - 1}/us"], file=sys.stderr)
    version = f"{importlib.metadata.version(peer)} on Python {sys.version.split()[0]}, NumPy {np.__version__}"
    np.savez(found_path, names=np.array(names), version=version, **found)


def measure(make, given, whole):
    """Return the sums of gaps of as many runs as fit into the time, and the microseconds a round of the fastest."""
    means, horizon = given["means"], int(given["horizon"])
    regrets, times, runs = [], [], RUNS[0]
    while len(regrets) < runs:
        seed = len(regrets)
        paid = (np.random.default_rng(seed).random((horizon, len(means))) < means).astype(float)
        actions, seconds = make(seed, paid) if whole else play(*make(seed), paid)
        regrets.append(float((means.max() - means[actions]).sum()))
        times.append(seconds)
        if len(regrets) == RUNS[0]:  # decided once, so that it does not depend on the regrets
            runs = int(np.clip(float(given["seconds"]) / np.median(times), *RUNS))
    return {"values": np.array(regrets), "us": 1e6 * min(times) / horizon}


def play(choose, learn, paid):
    """Return the arms of a rule that is asked and told in turns, and the seconds that all rounds took."""
    actions = np.zeros(len(paid), int)
    begin = time.perf_counter()
    for t, row in enumerate(paid):
        actions[t] = arm = choose()
        learn(arm, row[arm])
    return actions, time.perf_counter() - begin


def smpybandits(given):
    """Yield names, and functions of a seed that return how to choose and how to learn."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # it says what it lacks
        from SMPyBandits import Policies  # pyright: ignore[reportMissingImports]

    def maker(factory):
        def make(seed):
            np.random.seed(seed)  # noqa: NPY002 # the peer draws from it
            policy = factory(len(given["means"]))
            policy.startGame()
            return policy.choice, policy.getReward

        return make

    for name in ("UCB", "klUCB", "Thompson"):
        yield f"`{name}`", maker(getattr(Policies, name))


def mabwiser(given):
    """Yield the same. A rule must be fitted before it is asked: it gets a reward of each arm, in rounds that count."""
    from mabwiser.mab import MAB, LearningPolicy  # pyright: ignore[reportMissingImports]

    arms = list(range(len(given["means"])))

    def maker(policy):
        def make(seed):
            rule, first = MAB(arms, policy, seed=seed), []

            def choose():
                return rule.predict() if len(first) == len(arms) else len(first)

            def learn(arm, reward):
                if len(first) < len(arms):
                    first.append(reward)
                    if len(first) == len(arms):
                        rule.fit(arms, first)
                else:
                    rule.partial_fit([arm], [reward])

            return choose, learn

        return make

    yield "`UCB1(alpha=1)`", maker(LearningPolicy.UCB1(alpha=1))
    yield "`ThompsonSampling()`", maker(LearningPolicy.ThompsonSampling())
    yield "`EpsilonGreedy(epsilon=0.1)`", maker(LearningPolicy.EpsilonGreedy(epsilon=0.1))


def coba(given):
    """Yield names, and functions of a seed and rewards that play its own experiment loop."""
    from coba import Environments, Experiment, SequentialCB  # pyright: ignore[reportMissingImports]
    from coba.learners import BanditEpsilonLearner, BanditUCBLearner  # pyright: ignore[reportMissingImports]

    arms = list(range(len(given["means"])))

    def maker(learner):
        def make(seed, paid):
            rows = paid.tolist()
            world = Environments.from_lambda(
                len(rows), lambda _: None, lambda *_: arms, lambda t, _, action: rows[t][action]
            )
            begin = time.perf_counter()
            done = Experiment(world, learner(seed), evaluator=SequentialCB(["action"])).run(quiet=True)
            seconds = time.perf_counter() - begin
            return np.array([row["action"] for row in done.interactions.to_dicts()]), seconds

        return make

    yield "`BanditUCBLearner()` in an `Experiment`", maker(lambda seed: BanditUCBLearner(seed=seed))
    yield (
        "`BanditEpsilonLearner(epsilon=0.05)` in an `Experiment`",
        maker(lambda seed: BanditEpsilonLearner(epsilon=0.05, seed=seed)),
    )


def drawn(pmf, rng):
    """Return an action, drawn with the probabilities that it was given."""
    return min(int(np.searchsorted(np.cumsum(pmf), rng.random(), side="right")), len(pmf) - 1)


def vowpalwabbit(given):
    """Yield the same as for rules that are asked and told: an action is a feature of its own."""
    from vowpalwabbit import Workspace  # pyright: ignore[reportMissingImports]

    arms = range(len(given["means"]))
    plain = [f"|a {arm}" for arm in arms]

    def maker(explore):
        def make(seed):
            model, rng = (
                Workspace(f"--cb_explore_adf {explore} --quiet --random_seed {seed}"),
                np.random.default_rng(seed),
            )
            chance = [0.0]

            def choose():
                pmf = model.predict(plain)
                arm = drawn(pmf, rng)
                chance[0] = pmf[arm]
                return arm

            def learn(arm, reward):
                told = f"0:{1 - reward}:{chance[0]} {plain[arm]}"
                model.learn([told if each == arm else text for each, text in enumerate(plain)])

            return choose, learn

        return make

    # The constant is a feature that all arms share: without it, the last two have a tenth of the regret.
    for explore in ("--epsilon 0.05", "--squarecb", "--regcbopt --noconstant", "--bag 5 --noconstant"):
        yield f"`--cb_explore_adf {explore}`", maker(explore)


if __name__ == "__main__":
    main(*sys.argv[1:])
