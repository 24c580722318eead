"""A small instance of every registered algorithm and environment, and an environment for each algorithm."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Arms, Environment, Rewards, action_of
from jaxbandit.base.declaration import declaration_of
from jaxbandit.environments.combinatorial.full_bandit import full_bandit
from jaxbandit.environments.combinatorial.semi_bandit import semi_bandit
from jaxbandit.environments.linear_arms.linear import linear
from jaxbandit.environments.other_settings.cascade import cascade
from jaxbandit.environments.other_settings.dueling import dueling
from jaxbandit.environments.other_settings.knapsack import knapsack
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.beta import beta
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS
from jaxbandit.support.numerics import get_at

FEATURES = np.array([[1.0, 0.1], [-0.5, 0.9], [0.7, 0.5]])
THETA = np.array([1.0, 0.2])
# What is required of a factory, or chosen: all super-arms are listed, so that their number is small.
ARGUMENTS = {"num_arms": 3, "k": 2, "features": FEATURES, "theta": THETA, "horizon": 60, "support": "all"}
ARGUMENTS |= {"dim": 2, "shape": (2,), "arm_features": FEATURES}  # of a context of floats
ARGUMENTS |= {"starts": (0, 10)}  # of an oracle that is told when means change
ARGUMENTS |= {"budget": 40, "a": 1.0, "epsilon": 0.1}  # of a rule that is given a budget, of an indifference zone
SETS = np.stack([FEATURES, FEATURES[::-1] / 2])
SHARES = np.array([0.25, 0.75])
MEANS = [0.2, 0.5, 0.6]


# What is about the engine or a wrapper, and not about formulas, is tested with these. By test_pitfalls.py they have
# every function and kind that a registered rule has, and every primitive, by the ranks of what it reads.
ONE_OF_EACH_FORM = (
    "ada_ucb adaptive_full_bandit batched_elimination bayes_ucb bayes_ucb_gaussian_unknown besa betting_race "
    "budgeted_race cascade_ucb clucb combinatorial_thompson d_lin_ucb dmed escb exp3 giro glr_klucb gp_ts lb_sda "
    "lin_game logistic_epsilon neural_linear oam_practical oracle_restart primal_dual_bwk quantile_race raw_ucb "
    "rucb sa_foa saqm sequential_halving thompson thompson_gaussian_unknown top_two track_and_stop ucb1 ucb_glm "
    "xy_adaptive"
).split()


def declared(entry):
    """What a registered factory declares, with what tests play of it."""
    return declaration_of(entry.factory())


def algorithm(name, **more):
    """An algorithm of its required arguments."""
    entry = ALGORITHMS[name]
    required = {p.name for p in entry.parameters().values() if p.required} | {"support", "a"} & set(entry.arguments)
    if "num_changes" in entry.arguments:  # its hyperparameters follow from the horizon
        required.add("horizon")
    given = {k: v for k, v in ARGUMENTS.items() if k in required}
    if missing := required - given.keys():  # arguments of this algorithm alone
        own = declared(entry)
        played = {k: some[0] for k, some in own.tries.items()} | dict(*own.settings[:1])
        given |= {k: played[k] for k in missing}
    if name == "neural_linear":  # a network that is quickly compiled and trained
        given |= declared(entry).settings[0]
    return entry.factory()(**(given | more))


def floats(arms):
    """Contexts of floats in the plane, and rewards in [0, 1] of which an arm's mean depends on its row."""
    num_arms, shape = arms.num_arms, arms.context

    def means(context):
        angles = jnp.arange(num_arms, dtype=context.dtype) * float(len(shape) == 1)  # a direction for each arm, or one
        directions = jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1)
        return jnp.clip(0.5 + (jnp.broadcast_to(context, directions.shape) * directions).sum(1) / 2, 0.0, 1.0)

    return Environment(
        init=lambda key: jnp.zeros(()),
        reward=lambda state, context, action, noise: (noise[1] < means(context)[action]).astype(context.dtype),
        noise=lambda key: (
            jax.random.uniform(jax.random.fold_in(key, 0), shape) - 0.5,
            jax.random.uniform(jax.random.fold_in(key, 1)),
        ),
        observe=lambda state, noise: noise[0],
        regret=lambda state, context, action: jnp.max(means(context)) - means(context)[action],
        arms=Arms(num_arms, context=shape),
        rewards=Rewards(0.0, 1.0),
        name="floats",
    )


def context_of(environment):
    """The shapes of an environment's context, None without contexts."""
    key = jax.random.key(0)
    return jax.eval_shape(lambda: environment.observe(environment.init(key), environment.noise(key)))


# An environment of K arms for the rules of a setting whose action or feedback only such an environment has.
WORLDS = {
    "dueling": lambda k: dueling(0.5 + 0.1 * np.sign(np.arange(k)[None] - np.arange(k)[:, None])),
    "knapsack": lambda k: knapsack(np.linspace(0.2, 0.8, k), np.linspace(0.1, 0.9, k), 40.0)._replace(
        regret=lambda state, context, arm: 0.8 - get_at(state.rewards, arm)  # so that there is something to record
    ),
    "cascade": lambda k: cascade(np.linspace(0.2, 0.8, k), 2),
}


def feedback_of(environment, context, choice):
    """The shapes of an environment's feedback on what an algorithm selects, which is given by its shapes."""

    def reward(key, context, choice):
        return environment.reward(environment.init(key), context, action_of(choice), environment.noise(key))

    return jax.eval_shape(reward, jax.random.key(0), context, choice)


def horizon_of(name, horizon):
    """The argument of a rule that has to know how long it is played, or keeps as many rewards, else none."""
    return {"horizon": horizon} if "horizon" in ALGORITHMS[name].arguments else {}


def pair(name, **more):
    """An algorithm and an environment that it can be played on."""
    entry, own = ALGORITHMS[name], algorithm(name, **more)
    if entry.setting in WORLDS:
        return own, WORLDS[entry.setting](3)
    if "features" in entry.arguments:
        return own, linear(FEATURES, THETA)
    if own.arms.context is not None:
        return own, floats(own.arms)
    if own.arms.members:
        return own, semi_bandit(MEANS, own.arms.set_size)
    if own.arms.set_size is not None:
        return own, full_bandit(MEANS, own.arms.set_size)
    return own, (beta([1.0, 2.0, 3.0], [2.0, 2.0, 1.0]) if entry.kind == "simulate" else bernoulli(MEANS))


def environments(answers, names=ENVIRONMENTS):
    """(name, environment) of every setting that is declared; `answers` is a directory for files."""
    (answers / "rows.csv").write_text("x,y,kind,u,v,a,b\n0.5,1,cat,1,0,1,1\n2,-1,dog,,1,no,yes\n1,0,cat,0.5,0.2,1,1\n")
    (answers / "truth.csv").write_text("task,label\na,1\nb,2\nc,1\n")
    (answers / "answer.csv").write_text("task,x,y,z\na,1,2,1\nb,2,2,1\nc,2,1,1\n")
    for name in names:
        files = {"crowd_answers": {"path": str(answers)}, "rows": {"file": str(answers / "rows.csv")}}
        more = files.get(name, {})
        for arguments in declared(ENVIRONMENTS[name]).settings:
            yield name, ENVIRONMENTS[name].build(more | arguments)
