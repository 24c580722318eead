"""A session that is told the rewards that the engine draws takes the engine's actions and stops where it stops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from parts import ALGORITHMS, SETS, SHARES, THETA, pair
from xla_options import QUICKLY, of_every_program

import jaxbandit as jb
from jaxbandit.base.batches import SetPulls
from jaxbandit.decide.sessions.rule_programs import counts_of
from jaxbandit.engine.layout import compiled
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds import step as rounds

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
SEED, RUN = 3, 5
ROUNDS, BATCHES, MOST = 80, 12, 20_000  # most that are compared: of single pulls, of batches, of pulls in these
# One of each frame that algorithms are built on, and each way to draw and to plan.
FRAMES = (
    "ucb1 paired_race thompson epsilon_greedy lin_ts oam dmed lingape lil_ucb top_two track_and_stop "
    "lazy_track_and_stop kl_racing xy_static xy_adaptive icb adaptive_full_bandit sequential_halving"
).split()


def engine(algorithm, environment, batches):
    """Yield (action or plan, feedback or sums, context) of the engine's run, in float64, until it stops."""
    with jax.enable_x64(True):
        words = keys.run_words(jb.run_key(SEED, RUN))
        world, state = jax.jit(lambda w: rounds.begin(algorithm, environment, w, "threefry4x32"))(words)

        @jax.jit
        def step(world, state, t):
            replan = algorithm.replan
            if replan is not None:
                state = jax.lax.cond(replan.due(state), replan.apply, lambda same: same, state)
            stopped = rounds.stops(algorithm, state)
            if batches:
                noise = rounds.draw_batch(environment, words, t, "threefry4x32")
                after, sums, _ = rounds.play_batch(algorithm, environment, world, state, noise)
                return stopped, world, after, algorithm.batch.plan(state), sums, None
            noise = rounds.draw(algorithm, environment, words, t, "threefry4x32")
            played = rounds.play(algorithm, environment, world, state, noise)
            return stopped, played.world, played.state, played.action, played.feedback, played.context

        for t in range(1, 10**9):
            stopped, world, state, *found = step(world, state, jnp.int32(t))
            if stopped:
                return
            yield jax.tree.map(np.asarray, found)


def with_sum(total, count):
    """So many rewards that add up to `total` without rounding, in [0, 1] where that is possible."""
    if total == int(total) and 0 <= total <= count:
        return [1.0] * int(total) + [0.0] * (count - int(total))
    return [float(total)] + [0.0] * (count - 1)


def take_the_engines_pulls(algorithm, environment):
    """Return how many steps were compared, and whether both stopped after them."""
    batches = rounds.plays_batches(algorithm, environment)
    s = jb.session(algorithm, seed=SEED, run=RUN)
    assert (s.programs.kind == "batch") == batches
    compared, pulls_so_far = 0, 0
    for pulled, feedback, context in engine(algorithm, environment, batches):
        if compared == (BATCHES if batches else ROUNDS) or pulls_so_far > MOST:
            return compared, s.stopped
        assert not s.stopped, f"the session stops after {compared} steps, the engine does not"
        if not batches:
            s, pulls = jb.ask(s, context=context)
            np.testing.assert_array_equal(pulls.arm[0], pulled)
            s = jb.tell(s, pulls.id, [feedback])
        else:
            counts = pulled.counts if isinstance(pulled, SetPulls) else pulled
            arms = np.repeat(pulled.sets if isinstance(pulled, SetPulls) else np.arange(len(counts)), counts, axis=0)
            s, pulls = jb.ask(s, limit=int(counts_of(s.pulls.plan).sum()))
            np.testing.assert_array_equal(pulls.arm, arms)
            rewards = np.concatenate([with_sum(x, int(n)) for x, n in zip(feedback, counts, strict=True) if n])
            s = jb.tell(s, pulls.id, rewards)
        compared, pulls_so_far = compared + 1, pulls_so_far + len(pulls.id)
    assert s.stopped, f"the engine stops after {compared} steps, the session does not"
    assert len(jb.ask(s)[1].id) == 0
    return compared, True


@pytest.mark.parametrize("name", FRAMES)
def test_a_session_takes_the_engines_pulls_and_stops_with_it(name):
    compared, _ = take_the_engines_pulls(*pair(name))
    assert compared >= 2


def test_a_session_takes_the_engines_pulls_in_contexts():
    environment = jb.environments.linear_contextual(SETS, SHARES, THETA)
    compared, _ = take_the_engines_pulls(jb.algorithms.lin_ucb(SETS, horizon=ROUNDS), environment)
    assert compared == ROUNDS


if __name__ == "__main__":  # all that are registered: a minute or two
    jax.config.update("jax_disable_most_optimizations", True)
    of_every_program(QUICKLY)
    compiled.MORE_OPTIONS.update(QUICKLY)
    for name in ALGORITHMS:
        if pair(name)[0].arms.members:  # a session tells one number a pull
            continue
        print(name, *take_the_engines_pulls(*pair(name)), flush=True)
