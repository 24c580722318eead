"""A small instance of every registered algorithm, with an environment that it can be played on, and of environments."""

import numpy as np

from jaxbandit.environments.combinatorial.full_bandit import full_bandit
from jaxbandit.environments.combinatorial.semi_bandit import semi_bandit
from jaxbandit.environments.linear_arms.linear import linear
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.beta import beta
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS

FEATURES = np.array([[1.0, 0.1], [-0.5, 0.9], [0.7, 0.5]])
THETA = np.array([1.0, 0.2])
# What is required of a factory, or chosen: all super-arms are listed, so that their number is small.
ARGUMENTS = {"num_arms": 3, "k": 2, "features": FEATURES, "theta": THETA, "horizon": 60, "support": "all"}
ARGUMENTS |= {"starts": (0, 10)}  # of an oracle that is told when means change
ARGUMENTS |= {"budget": 40, "a": 1.0, "epsilon": 0.1}  # of a rule that is given a budget, of an indifference zone
SETS = np.stack([FEATURES, FEATURES[::-1] / 2])
SHARES = np.array([0.25, 0.75])
MEANS = [0.2, 0.5, 0.6]
INSTANCES = {  # several of a name where they draw differently
    "bernoulli": [{"means": MEANS}],
    "gaussian": [{"means": MEANS}, {"means": MEANS, "sigma": [1.0, 0.2, 0.5], "permute": True}],
    "piecewise_bernoulli": [{"means": [MEANS, MEANS[::-1]], "starts": [0, 10]}],
    "piecewise_gaussian": [{"means": [MEANS, MEANS[::-1]], "starts": [0, 10], "sigma": 0.5}],
    "sinusoidal_bernoulli": [{"num_arms": 3, "period": 7.5}],
    "restless_bernoulli": [{"num_arms": 3, "sigma": 0.3}, {"num_arms": 3, "means": MEANS}],
    "loss_table": [{"losses": np.linspace(0, 1, 180).reshape(60, 3)[::-1]}],
    "constrained_adversary": [{"num_arms": 3}],
    "poisson": [{"means": [0.0, 2.5, 60.0]}],
    "exponential": [{"means": MEANS}],
    "beta": [{"alpha": [1.0, 2.0], "beta": [2.0, 2.0]}, {"alpha": [0.1, 2.0], "beta": [2.0, 2.0]}],
    "crowd": [{"dataset": "it"}, *({"dataset": "it", "feedback": feedback, "k": 10} for feedback in ("full", "semi"))],
    "crowd_answers": [{"k": 2}, {"k": 2, "blocks": "normal"}, {"k": 2, "feedback": "semi"}],
    "full_bandit": [
        {"means": MEANS, "k": 2, "noise": noise, "blocks": blocks}
        for noise, blocks in (("gaussian", "exact"), ("bernoulli", "exact"), ("bernoulli", "normal"))
    ],
    "full_bandit_random": [{"num_arms": 3, "k": 2, "gap": 0.3}],
    "semi_bandit": [{"means": MEANS, "k": 2}],
    "table": [{"rewards": np.array([[0.0, 0.5], [1.0, 0.25], [0.5, 0.0]])}],
    "fiesta": [{"models": ("atae", "tdlstm"), "permute": True}],
    "hpo_table": [{"dataset": "australian", "num_arms": 3}],
    "linear": [{"features": FEATURES, "theta": THETA / 2, "noise": noise} for noise in ("gaussian", "sign")],
    "linear_contextual": [{"action_sets": SETS, "probabilities": SHARES, "theta": THETA}],
    "linear_contextual_random": [{"action_sets": SETS, "probabilities": SHARES}],
    "linear_contextual_classes": [{"dataset": "wine"}],
    "soare": [{"dim": 3, "angle": 0.1}],
    "top_m_classic": [{"num_arms": 3, "m": 1, "angle": 0.1}],
    "linear_random": [{"num_arms": 3, "dim": 2}],
    "r6a_like": [{"num_arms": 3}],
}
NOT_HERE = ("r6a",)  # it needs the log, and is `linear` with sign noise


def algorithm(name, **more):
    """An algorithm of its required arguments."""
    entry = ALGORITHMS[name]
    required = {p.name for p in entry.parameters().values() if p.required} | {"support", "a"} & set(entry.arguments)
    if "num_changes" in entry.arguments:  # its hyperparameters follow from the horizon
        required.add("horizon")
    return entry.factory()(**({k: v for k, v in ARGUMENTS.items() if k in required} | more))


def pair(name, **more):
    """An algorithm and an environment that it can be played on."""
    entry, own = ALGORITHMS[name], algorithm(name, **more)
    if "features" in entry.arguments:
        return own, linear(FEATURES, THETA)
    if own.arms.members:
        return own, semi_bandit(MEANS, own.arms.set_size)
    if own.arms.set_size is not None:
        return own, full_bandit(MEANS, own.arms.set_size)
    return own, (beta([1.0, 2.0, 3.0], [2.0, 2.0, 1.0]) if entry.kind == "simulate" else bernoulli(MEANS))


def environments(answers):
    """(name, environment) of every registered one; `answers` is a directory for crowd_answers."""
    assert INSTANCES.keys() | set(NOT_HERE) == ENVIRONMENTS.keys(), "an environment is not in the table"
    (answers / "truth.csv").write_text("task,label\na,1\nb,2\nc,1\n")
    (answers / "answer.csv").write_text("task,x,y,z\na,1,2,1\nb,2,2,1\nc,2,1,1\n")
    for name, instances in INSTANCES.items():
        more = {"path": str(answers)} if name == "crowd_answers" else {}
        for arguments in instances:
            yield name, ENVIRONMENTS[name].factory()(**more, **arguments)
