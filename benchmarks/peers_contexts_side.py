"""The half of `peers` for contexts that runs where a peer is installed: Python 3.9 or later, NumPy and the peer.

`python peers_contexts_side.py PEER IN.npz OUT.npz`, where PEER is mabwiser, coba, vowpalwabbit or contextualbandits. It
does not import jaxbandit. Every rule meets the same worlds: the same contexts, and the same reward of each arm in them.
"""

import importlib.metadata
import sys
import time
import warnings

import numpy as np
from peers_arms_side import drawn


def main(peer, given_path, found_path):
    """Play every rule of a peer, and write the regrets of its worlds and the microseconds of a decision."""
    with np.load(given_path) as file:
        given = dict(file)
    peers = {"mabwiser": mabwiser, "coba": coba, "vowpalwabbit": vowpalwabbit, "contextualbandits": contextualbandits}
    found, names = {}, []
    for name, rule in peers[peer](given["means"].shape[2]):
        found |= {f"{len(names)}/{key}": value for key, value in measure(rule, given).items()}
        names.append(name)
        print(name, found[f"{len(names) - 1}/values"].mean(), found[f"{len(names) - 1}/us"], file=sys.stderr)
    version = f"{importlib.metadata.version(peer)} on Python {sys.version.split()[0]}, NumPy {np.__version__}"
    np.savez(found_path, names=np.array(names), version=version, **found)


def measure(rule, given):
    """Return the sum of gaps in every world, and the microseconds of a decision and its update in the fastest."""
    regrets, times = [], []
    for i, means in enumerate(given["means"]):
        actions, seconds = rule(i, given["contexts"][i], given["rewards"][i])
        regrets.append(float((means.max(axis=1) - means[np.arange(len(means)), actions]).sum()))
        times.append(seconds / len(means))
    return {"values": np.array(regrets), "us": 1e6 * min(times)}


def turns(make):
    """Return a rule that plays a world: it is asked for an arm and told the reward in turns."""

    def rule(seed, contexts, rewards):
        choose, learn = make(seed)
        actions = np.zeros(len(contexts), int)
        begin = time.perf_counter()
        for t, x in enumerate(contexts):
            actions[t] = arm = choose(x)
            learn(x, arm, rewards[t, arm])
        return actions, time.perf_counter() - begin

    return rule


def mabwiser(num_arms):
    """Yield rules. The context has a column of ones, because its models have no intercept."""
    from mabwiser.mab import MAB, LearningPolicy  # pyright: ignore[reportMissingImports]

    arms = list(range(num_arms))

    def maker(policy):
        def make(seed):
            rule, fitted = MAB(arms, policy, seed=seed), []

            def choose(x):
                return rule.predict([[1.0, *x]]) if fitted else 0

            def learn(x, arm, reward):
                (rule.partial_fit if fitted else rule.fit)([arm], [reward], [[1.0, *x]])
                fitted.append(True)

            return choose, learn

        return turns(make)

    yield "`LinUCB(alpha=1)`", maker(LearningPolicy.LinUCB(alpha=1.0))
    yield "`LinUCB(alpha=0.25)`", maker(LearningPolicy.LinUCB(alpha=0.25))
    yield "`LinTS(alpha=1)`", maker(LearningPolicy.LinTS(alpha=1.0))
    yield "`LinTS(alpha=0.25)`", maker(LearningPolicy.LinTS(alpha=0.25))


def contextualbandits(num_arms):
    """Yield rules: with the defaults, and as its documentation advises, with a smaller alpha and a prior."""
    from contextualbandits.online import LinTS, LinUCB  # pyright: ignore[reportMissingImports]

    warnings.simplefilter("ignore")

    def maker(factory, **settings):
        def make(seed):
            rule = factory(num_arms, random_state=seed + 1, **settings)

            def learn(x, arm, reward):
                rule.partial_fit(x[None], np.array([arm]), np.array([reward]))

            return lambda x: int(rule.predict(x[None])[0]), learn

        return turns(make)

    yield "`LinUCB(alpha=1)`", maker(LinUCB, alpha=1.0)
    yield (
        "`LinUCB(alpha=0.25, beta_prior='auto', ucb_from_empty=False)`, as advised",
        maker(LinUCB, alpha=0.25, beta_prior="auto", ucb_from_empty=False),
    )
    yield "`LinTS(v_sq=1)`", maker(LinTS, v_sq=1.0)
    yield (
        "`LinTS(v_sq=0.25, sample_from='ci', beta_prior='auto')`, smaller as advised",
        maker(LinTS, v_sq=0.25, sample_from="ci", beta_prior="auto"),
    )


def coba(num_arms):
    """Yield rules that play in its own experiment loop."""
    from coba import Environments, Experiment, SequentialCB  # pyright: ignore[reportMissingImports]
    from coba.learners import LinTSLearner, LinUCBLearner  # pyright: ignore[reportMissingImports]

    arms = [tuple(row) for row in np.eye(num_arms).tolist()]

    def maker(learner):
        def rule(seed, contexts, rewards):
            shown, paid = [tuple(x) for x in contexts.tolist()], rewards.tolist()
            world = Environments.from_lambda(
                len(shown), lambda t: shown[t], lambda *_: arms, lambda t, _, arm: paid[t][arms.index(arm)]
            )
            begin = time.perf_counter()
            done = Experiment(world, learner(seed), evaluator=SequentialCB(["action"])).run(quiet=True)
            seconds = time.perf_counter() - begin
            return np.array([arms.index(tuple(row["action"])) for row in done.interactions.to_dicts()]), seconds

        return rule

    yield "`LinUCBLearner(alpha=1)` in an `Experiment`", maker(lambda seed: LinUCBLearner(seed=seed))
    yield "`LinUCBLearner(alpha=0.25)` in an `Experiment`", maker(lambda seed: LinUCBLearner(alpha=0.25, seed=seed))
    yield "`LinTSLearner(v=1)` in an `Experiment`", maker(lambda seed: LinTSLearner(seed=seed))
    yield "`LinTSLearner(v=0.0625)` in an `Experiment`", maker(lambda seed: LinTSLearner(v=0.0625, seed=seed))


def vowpalwabbit(num_arms):
    """Yield rules on products of the context and the action, as text. Its costs are in [0, 1]: 1 - reward."""
    from vowpalwabbit import Workspace  # pyright: ignore[reportMissingImports]

    def maker(explore):
        def make(seed):
            settings = f"--cb_explore_adf {explore} --interactions ax --ignore_linear x --quiet --random_seed {seed}"
            model, rng, chance = Workspace(settings), np.random.default_rng(seed), [0.0]

            def shared(x):
                return "shared |x " + " ".join(f"{i}:{value:.6f}" for i, value in enumerate(x.tolist()))

            def choose(x):
                pmf = model.predict([shared(x), *(f"|a {arm}" for arm in range(num_arms))])
                arm = drawn(pmf, rng)
                chance[0] = pmf[arm]
                return arm

            def learn(x, arm, reward):
                told = (f"0:{1 - reward}:{chance[0]} " if each == arm else "" for each in range(num_arms))
                model.learn([shared(x), *(f"{label}|a {each}" for each, label in enumerate(told))])

            return choose, learn

        return turns(make)

    for explore in ("--epsilon 0.05", "--squarecb", "--regcbopt"):
        yield f"`--cb_explore_adf {explore}`", maker(explore)


if __name__ == "__main__":
    main(*sys.argv[1:])
