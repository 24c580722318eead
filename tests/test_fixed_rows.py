"""Least squares on a fixed matrix of features: sums over the dimension, what a round carries on, its drift."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import lin_ucb as reference_lin_ucb

from jaxbandit.algorithms.regret.lin_ucb import lin_ucb
from jaxbandit.base.contract import Replan
from jaxbandit.support.numerics import weighted_sum
from jaxbandit.theory.estimators import fixed_rows
from jaxbandit.theory.estimators import recursive_least_squares as estimator

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

NEVER = Replan(lambda state: jnp.zeros((), bool), lambda state: state)


def unit_vectors(num_arms, dim, seed):
    drawn = np.random.default_rng(seed).standard_normal((num_arms, dim))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize("number", [3, 9, 25, 32, 37])  # unrolled, a reduction, turns with a remainder and without
@pytest.mark.parametrize("axis", [0, 1])
def test_weighted_sums_of_one_run_and_of_many(axis, number):
    rng = np.random.default_rng(0)
    shape = (number, 5) if axis == 0 else (5, number)
    matrices, weights = rng.standard_normal((4, *shape)), rng.standard_normal((4, number))
    with jax.enable_x64(True):
        one = weighted_sum(jnp.asarray(matrices[0]), jnp.asarray(weights[0]), axis)
        for mapped in ((0, 0), (None, 0), (0, None)):
            given = [jnp.asarray(x if m == 0 else x[0]) for x, m in zip((matrices, weights), mapped, strict=True)]
            found = jax.vmap(lambda a, b: weighted_sum(a, b, axis), mapped)(*given)
            left, right = (np.broadcast_to(x, (4, *x.shape[-n:])) for x, n in zip(given, (2, 1), strict=True))
            expected = np.einsum("rki,rk->ri" if axis == 0 else "rik,rk->ri", left, right)
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(one, weights[0] @ matrices[0] if axis == 0 else matrices[0] @ weights[0], atol=1e-13)


def played(rows, rewards, prior, horizon, x64):
    """Arms, and means and variances before each round, of UCB with radius 1 that carries them; with replans."""
    kind = jnp.float64 if x64 else jnp.float32

    @jax.jit
    def run(rows, rewards):
        first = estimator.init(rows.shape[1], prior)

        def body(carry, reward):
            estimate, known = carry
            known = jax.lax.cond(
                fixed_rows.due(known, estimate), lambda: fixed_rows.renew(known, estimate, rows), lambda: known
            )
            arm = jnp.argmax(known.means + jnp.sqrt(known.variances)).astype(jnp.int32)
            if prior is None:  # the first rows span
                arm = jnp.where(estimate.rank < rows.shape[1], estimate.rank, arm)
            after = fixed_rows.update(known, estimate, rows, arm, rows[arm], reward)
            return (estimator.update(estimate, rows[arm], reward), after), (arm, known)

        return jax.lax.scan(body, (first, fixed_rows.init(first, rows)), rewards)[1]

    with jax.enable_x64(x64):
        return jax.device_get(run(jnp.asarray(rows, kind), jnp.asarray(rewards[:horizon], kind)))


def fitted(rows, rewards, prior, arms):
    """Variances and means of all rows by a fresh fit of these pulls."""
    x = rows[arms]
    inverse = np.linalg.inv((prior or 0.0) * np.eye(rows.shape[1]) + x.T @ x)
    return ((rows @ inverse) * rows).sum(1), rows @ (inverse @ (x.T @ rewards[: len(arms)]))


@pytest.mark.parametrize(("dim", "num_arms", "horizon"), [(20, 60, 2_500), (20, 300, 10_000), (100, 300, 3_000)])
@pytest.mark.parametrize("prior", [1.0, None])
@pytest.mark.parametrize("x64", [False, True])
def test_what_is_carried_does_not_drift(x64, prior, dim, num_arms, horizon):
    """Beside fresh fits, in float64: 6e-11 of a variance is specified after 10^4 rounds, 5 times that allowed.

    In float32 a variance may be wrong by some roundings of what it was when it was computed last, and is then right to
    1e-5; a mean by 3e-5 widths. What is specified is 7.5e-7 and 1e-6 at the end, for a regularized estimate.
    """
    rows = unit_vectors(num_arms, dim, 1).astype(np.float32).astype(np.float64)
    rewards = np.random.default_rng(2).standard_normal(horizon).astype(np.float32).astype(np.float64)
    arms, known = played(rows, rewards, prior, horizon, x64)
    begun = 0 if prior else dim
    anew = np.flatnonzero(known.left == known.gap)
    anew = anew[anew >= begun]
    if x64:
        np.testing.assert_array_equal(anew, [begun])  # never again
    else:
        gaps = np.minimum(dim * 2 ** np.arange(20), 1000)
        expected = begun + np.concatenate([[0], np.cumsum(gaps)])
        np.testing.assert_array_equal(anew, expected[expected < horizon])
    for n in [begun + 1, *anew[1:] - 1, *anew[1:], horizon - 1]:
        last = anew[anew <= n][-1]
        variances, means = fitted(rows, rewards, prior, arms[:n])
        before = fitted(rows, rewards, prior, arms[:last])[0] if last else (rows**2).sum(1) / prior
        lost = np.abs(known.variances[n] - variances)
        if x64:
            assert (lost <= 3e-10 * variances + 1e-13 * before).all()
        else:
            assert (lost <= 1e-5 * variances + 4e-6 * before).all()
        assert (np.abs(known.means[n] - means) <= (3e-10 if x64 else 3e-5) * np.sqrt(variances)).all()


def plays(algorithm, means, normals, contexts, x64):
    """Arms of one run with replans, whose reward is means[context, arm] + the round's normal."""
    kind = jnp.float64 if x64 else jnp.float32
    single = means.shape[0] == 1

    @jax.jit
    def run(means, normals, contexts):
        def body(state, step):
            normal, context = step
            state = jax.lax.cond(algorithm.replan.due(state), algorithm.replan.apply, lambda same: same, state)
            seen = None if single else context
            arm = algorithm.select(None, state, seen)
            return algorithm.update(state, seen, arm, means[context, arm] + normal), arm

        return jax.lax.scan(body, algorithm.init(jax.random.key(0)), (normals, contexts))[1]

    with jax.enable_x64(x64):
        return np.asarray(run(jnp.asarray(means, kind), jnp.asarray(normals, kind), jnp.asarray(contexts, jnp.int32)))


@pytest.mark.parametrize(("num_contexts", "dim"), [(1, 12), (3, 12), (1, 9)])
@pytest.mark.parametrize("variant", ["fn", "oful"])
def test_actions_are_those_of_the_reference(variant, num_contexts, dim):
    """With one set, and with three sets in twelve dimensions; sets carry nothing while initial pulls are needed."""
    sets = unit_vectors(num_contexts * 15, dim, 4).reshape(num_contexts, 15, dim)
    rng, rounds = np.random.default_rng(5), 400
    normals, contexts, theta = rng.standard_normal(rounds), rng.integers(0, num_contexts, rounds), np.eye(dim)[0]
    algorithm = lin_ucb(sets if num_contexts > 1 else sets[0], horizon=rounds, variant=variant)
    carried = variant == "oful" or num_contexts == 1
    assert (algorithm.replan is not None) == carried
    algorithm = algorithm if carried else algorithm._replace(replan=NEVER)
    arms = plays(algorithm, sets @ theta, normals, contexts, True)
    expected = reference_lin_ucb.play(list(sets), contexts, [lambda x, z=z: x @ theta + z for z in normals], variant)
    np.testing.assert_array_equal(arms, expected)
    assert len(np.unique(arms)) > 3


@pytest.mark.parametrize(("dim", "num_arms", "rounds"), [(20, 300, 10_000), (100, 1000, 1_500)])
@pytest.mark.parametrize("x64", [False, True])
def test_actions_are_the_references_over_many_rounds(x64, dim, num_arms, rounds):
    """Of many arms in up to 10^4 rounds, beside float64 of these pulls solved anew every 100 rounds.

    An arm may be another one if its index is as good up to 1e-9 of it in float64, and 2e-5 in float32.
    """
    rows = unit_vectors(num_arms, dim, 1).astype(np.float32).astype(np.float64)
    normals, theta = (
        np.random.default_rng(2).standard_normal(rounds).astype(np.float32).astype(np.float64),
        np.eye(dim)[0],
    )
    algorithm = lin_ucb(rows, horizon=rounds, variant="oful", sigma=0.5)
    arms = plays(algorithm, (rows @ theta)[None], normals, np.zeros(rounds), x64)
    inverse, moment, logdet, other, worst = np.eye(dim), np.zeros(dim), 0.0, 0, 0.0
    means, variances = np.zeros(num_arms), np.ones(num_arms)
    for t, arm in enumerate(arms):
        index = means + (0.5 * np.sqrt(logdet + 2 * np.log(rounds)) + 1) * np.sqrt(variances)
        other += arm != np.argmax(index)
        worst = max(worst, 1 - index[arm] / index.max())
        column, den, reward = inverse @ rows[arm], 1 + variances[arm], (rows @ theta)[arm] + normals[t]
        common = rows @ column
        means, variances = means + common * (reward - means[arm]) / den, variances - common**2 / den
        inverse, moment, logdet = (
            inverse - np.outer(column, column) / den,
            moment + rows[arm] * reward,
            logdet + np.log(den),
        )
        if t % 100 == 99:
            inverse = np.linalg.inv(np.eye(dim) + rows[arms[: t + 1]].T @ rows[arms[: t + 1]])
            means, variances = rows @ (inverse @ moment), ((rows @ inverse) * rows).sum(1)
    print(f"dim {dim}, x64 {x64}: {other} other arms, worst {worst:.1e}")
    assert worst <= (1e-9 if x64 else 2e-5)
    # Indices that agree to 1e-9 are ties for both: each has that much rounding before the reference is solved anew.
    assert other <= (2 if x64 else 0.01 * rounds)
