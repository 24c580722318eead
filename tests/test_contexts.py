"""A context of floats in every round: what both sides declare is compared before anything runs, and pulls are counted.

Each error is one line that says what was needed, what was given, and what to choose.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

NUM_ARMS, DIM = 3, 4
RUNS = {"horizon": 30, "num_runs": 3}


def world(context, *, observed=None, available=False, name="vectors", **more) -> jb.Environment:
    """An environment whose contexts are normal: floats of the shape `context`, or `observed`."""
    shape = context if observed is None else observed

    def observe(state, noise):
        floats = noise.reshape(shape) if shape else None
        return jb.Offer(jnp.ones(NUM_ARMS, bool), floats) if available else floats

    return jb.Environment(
        init=lambda key: (),
        noise=lambda key: jax.random.normal(key, (int(np.prod(shape or (1,))),)),
        observe=observe,
        reward=lambda state, context, action, noise: noise[0],
        regret=lambda state, context, action: jnp.zeros(()),
        name=name,
        **{"arms": jb.Arms(NUM_ARMS, context=context, available=available)} | more,
    )


def rule(context, *, name="rule", pulls=None, declares=True) -> jb.Algorithm:
    """Pull the arm with the largest of the first num_arms floats of the context."""

    def select(noise, state, context):
        floats = context.features if isinstance(context, jb.Offer) else context
        scores = jnp.ravel(floats)[:NUM_ARMS]
        if isinstance(context, jb.Offer):
            scores = jnp.where(context.available, scores, -jnp.inf)
        return jb.numerics.argmax(scores)

    arms = jb.Arms(NUM_ARMS, context=context) if declares else None
    return jb.Algorithm(init=lambda key: (), select=select, update=lambda *given: (), arms=arms, pulls=pulls, name=name)


def refused(algorithm, environment, **more) -> str:
    with pytest.raises(ValueError) as caught:
        jb.simulate(algorithm, environment, **RUNS, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


ACTION_SETS = np.random.default_rng(0).normal(size=(2, NUM_ARMS, 2))
WRONG = {
    "another kind": (
        rule((DIM,)),
        world((NUM_ARMS, DIM)),
        "rule is made for a context float[4] shared by the arms, vectors gives float[3, 4], a row per arm: choose "
        "lin_ucb_shared",
    ),
    "another size": (
        rule((DIM,)),
        world((5,)),
        "rule is made for a context float[4] shared by the arms, vectors gives float[5] shared by the arms: must be "
        "equal",
    ),
    "no context": (
        rule((DIM,)),
        jb.environments.bernoulli([0.1, 0.2, 0.3]),
        "rule needs a context float[4] in every round, bernoulli gives none",
    ),
    "an index": (
        rule((DIM,)),
        jb.environments.linear_contextual(ACTION_SETS, [0.5, 0.5], [1.0, 0.0]),
        "rule needs a context float[4] in every round, linear_contextual gives an index below 2",
    ),
    "floats for an index": (
        jb.algorithms.lin_ucb(ACTION_SETS, horizon=30),
        world((DIM,)),
        "lin_ucb needs an index below 2 in every round, the number of a known action set, vectors gives float[4]: "
        "choose lin_ucb_disjoint",
    ),
    "ignored, shared": (
        jb.algorithms.lin_ucb(ACTION_SETS[0], horizon=30),
        world((DIM,)),
        'lin_ucb ignores the context float[4] of vectors: choose lin_ucb_disjoint; allow = ["context"] plays it all '
        "the same",
    ),
    "ignored, a row per arm": (
        jb.algorithms.ucb1(NUM_ARMS),
        world((NUM_ARMS, DIM)),
        'ucb1 ignores the context float[3, 4] of vectors: choose lin_ucb_shared; allow = ["context"] plays it all the '
        "same",
    ),
    "ignored by a rule that declares nothing": (
        jb.algorithms.ucb1(NUM_ARMS)._replace(arms=None, name=""),
        world((DIM,)),
        'the algorithm ignores the context float[4] of vectors: choose lin_ucb_disjoint; allow = ["context"] plays it '
        "all the same",
    ),
    "ignored beside a mask": (
        jb.algorithms.ucb1(NUM_ARMS),
        world((DIM,), available=True),
        'ucb1 ignores the context float[4] of vectors: choose lin_ucb_disjoint; allow = ["context"] plays it all the '
        "same",
    ),
    "not as declared": (
        rule((DIM,)),
        world((DIM,), observed=(9,)),
        "vectors: observe returns float[9], Arms declares context (4,): must be float[4]",
    ),
    "no mask": (
        rule((DIM,)),
        world((DIM,), arms=jb.Arms(NUM_ARMS, context=(DIM,), available=True)),
        "vectors: observe returns float[4], Arms declares available, context (4,): must be Offer(bool[3], float[4])",
    ),
    "a mask that was not declared": (
        rule((DIM,)),
        world((DIM,), available=True, arms=jb.Arms(NUM_ARMS, context=(DIM,))),
        "vectors: observe returns Offer(bool[3], float[4]), Arms declares context (4,): must be float[4]",
    ),
    "undeclared and of another size": (
        rule((DIM,)),
        world((9,), arms=None),
        "rule needs a context float[4] in every round, vectors gives float[9]",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_context_that_does_not_fit_is_refused(case):
    algorithm, environment, message = WRONG[case]
    assert refused(algorithm, environment).removeprefix("simulate: ") == message


def test_a_rule_that_needs_a_mask_is_refused_without_one():
    needs = rule((DIM,))._replace(arms=jb.Arms(NUM_ARMS, context=(DIM,), available=True))
    assert "needs an Offer with the available arms" in refused(needs, world((DIM,)))


def test_others_refuse_what_simulate_refuses():
    with pytest.raises(ValueError, match="ucb1 ignores the context"):
        jb.rollout(jax.random.key(0), jb.algorithms.ucb1(NUM_ARMS), world((DIM,)), 5)
    with pytest.raises(ValueError, match="kl_lucb ignores the context"):
        jb.identify(jb.algorithms.kl_lucb(NUM_ARMS, delta=0.1), world((DIM,)), num_runs=3)
    with pytest.raises(ValueError, match="kl_lucb ignores the context"):
        jb.run_until_stop(jax.random.key(0), jb.algorithms.kl_lucb(NUM_ARMS, delta=0.1), world((DIM,)), 5)
    assert jb.rollout(
        jax.random.key(0), jb.algorithms.ucb1(NUM_ARMS), world((DIM,)), 5, allow=("context",)
    ).actions.shape == (5,)


def test_the_index_of_an_action_set_may_be_ignored():
    environment = jb.environments.linear_contextual(ACTION_SETS, [0.5, 0.5], [1.0, 0.0])
    found = jb.simulate(jb.algorithms.epsilon_greedy(NUM_ARMS), environment, **RUNS)
    assert found.counted == 3 and not found.any_context


@pytest.mark.parametrize("available", [False, True])
@pytest.mark.parametrize("declares", [False, True])
def test_the_engine_counts_pulls_of_arms_whatever_the_context(available, declares):
    """Without `Algorithm.pulls` the arms of the actions are counted; those of a rollout say how often."""
    algorithm, environment = rule((DIM,), declares=declares), world((DIM,), available=available)
    found = jb.simulate(algorithm, environment, **RUNS, seed=4)
    for run in range(3):
        actions = jb.rollout(jb.run_key(4, run), algorithm, environment, 30).actions
        np.testing.assert_array_equal(found.arrays["pulls"][run], np.bincount(actions, minlength=NUM_ARMS))


def test_toml_fills_the_shape_of_the_context_and_refuses_a_rule_that_ignores_it(tmp_path):
    text = """
    kind = "simulate"
    runs = 3
    horizon = 20
    [[instance]]
    type = "test_contexts:four_floats"
    [[algorithm]]
    type = "RULE"
    """
    (tmp_path / "plain.toml").write_text(text.replace("RULE", "test_contexts:of_dim"))
    found = jb.run(tmp_path / "plain.toml", tmp_path / "out")
    assert [result.algorithm for result in found] == ["of_dim"]
    (tmp_path / "blind.toml").write_text(text.replace("RULE", "ucb1"))
    with pytest.raises(ValueError, match=r"algorithm\[0\]: ucb1 ignores the context float\[4\] of vectors"):
        jb.run(tmp_path / "blind.toml", tmp_path / "blind")
    (tmp_path / "allowed.toml").write_text('allow = ["context"]\n' + text.replace("RULE", "ucb1"))
    assert jb.run(tmp_path / "allowed.toml", tmp_path / "allowed")[0].any_context


def four_floats() -> jb.Environment:
    """An environment with four floats as a context."""
    return world((DIM,))


def of_dim(num_arms: int, dim: int, shape: tuple[int, ...]) -> jb.Algorithm:
    """A rule whose three arguments only the environment can give."""
    assert (num_arms, dim, tuple(shape)) == (NUM_ARMS, DIM, (DIM,))
    return rule((dim,), name="of_dim")
