"""`duel_race`: how often its choice is wrong, and how many duels it takes, beside a fixed number of duels of each pair.

Six arms are judged by pairs until the rule stops; one duel in ten is a draw. The usual way judges each pair 20 times,
and takes the arm that has won most.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit as jb

ARMS, DELTA, DRAWS, REPETITIONS = 6, 0.05, 0.1, 300
EACH = 20  # duels of each pair, the usual way
LONGEST = 100_000  # batches of a run


def worlds() -> dict[str, tuple[np.ndarray, float]]:
    """Return the probabilities with which the row wins if there is no draw, float64[ARMS, ARMS], and epsilon."""
    skill = np.array([0.0, 0.2, 0.4, 0.5, 0.6, 0.9])
    ranked = 1 / (1 + np.exp(-2 * (skill[:, None] - skill)))
    narrow = np.full((ARMS, ARMS), 0.5)
    narrow[5], narrow[:, 5] = 0.6, 0.4
    cycle = ranked.copy()
    for one, other in ((5, 4), (4, 3), (3, 5)):
        cycle[one, other], cycle[other, one] = 0.7, 0.3
    for p in (narrow, cycle):
        np.fill_diagonal(p, 0.5)
    even = np.full((ARMS, ARMS), 0.5)
    twins = narrow.copy()
    twins[4], twins[:, 4] = narrow[5], narrow[:, 5]
    twins[4:, 4:] = 0.5
    return {
        "ranked": (ranked, 0.0),
        "one arm wins .6, others even": (narrow, 0.0),
        "cycle of the best three": (cycle, 0.0),
        "two win .6, epsilon .1": (twins, 0.1),
        "all even, epsilon .1": (even, 0.1),
    }


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each world; `quick` makes a tenth of the repetitions."""
    return [of_world(name, *world, REPETITIONS // 10 if quick else REPETITIONS) for name, world in worlds().items()]


def of_world(name: str, p: np.ndarray, epsilon: float, repetitions: int) -> dict[str, Any]:
    """Return how often the rule and the usual way are right, and what they cost."""
    pairs = jb.duel_pairs(ARMS)
    chance, rule = p[pairs[:, 0], pairs[:, 1]], jb.duel_race(ARMS, delta=DELTA, epsilon=epsilon)
    scores, row = p.sum(axis=1), {"world": name, "runs": repetitions, "cycles": 0, "right": 0, "wrong": 0}
    mean, ahead = (1 - DRAWS) * chance + DRAWS / 2, (1 - DRAWS) * (scores[:, None] - scores) / (ARMS - 1)
    least = ((1 - DRAWS) * p + DRAWS / 2).min(axis=1)
    best = np.flatnonzero(least > 0.5 - epsilon if epsilon else scores >= scores.max() - 1e-9).tolist()
    ahead = ahead[pairs[:, 0], pairs[:, 1]]
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), repetitions)
        states = jax.device_get(jax.jit(jax.vmap(lambda key: _played(rule, jnp.asarray(chance), key)))(keys))
    for i in range(repetitions):
        outside = (mean < states.low[i]) | (mean > states.high[i])
        outside |= (ahead < states.lead_low[i]) | (ahead > states.lead_high[i])
        known = jb.duel_certificate(jb.session(rule).but(state=jax.tree.map(lambda x, i=i: x[i], states)))
        row["cycles"] += bool(known.cycle)
        right = known.winner in best
        row["right"] += right
        row["wrong"] += (known.winner is not None and not right) or bool(outside.any())
    duels = states.duels.sum(axis=1)
    row |= {"duels": float(duels.mean()), "most": int(duels.max())}
    rng, usual = np.random.default_rng(0), 0
    for _ in range(repetitions):
        draws = rng.binomial(EACH, DRAWS, len(pairs))
        wins = rng.binomial(EACH - draws, chance) + draws / 2
        total = np.bincount(pairs[:, 0], wins, ARMS) + np.bincount(pairs[:, 1], EACH - wins, ARMS)
        usual += int(np.argmax(total)) in best
    return row | {"usual": usual}


def _played(rule: jb.Algorithm, chance: jax.Array, key: jax.Array) -> Any:
    """Return the last state of a run."""
    batch: Any = rule.batch
    stop: Any = rule.stop

    def more(carry: tuple) -> jax.Array:
        return ~stop(carry[1]) & (carry[0] < LONGEST)

    def step(carry: tuple) -> tuple:
        round, state = carry
        wins, draws = jax.random.uniform(jax.random.fold_in(key, round), (2, len(chance)))
        plan = batch.plan(state)
        won = jnp.where(draws < DRAWS, 0.5, (wins < chance).astype(float))
        return round + 1, batch.absorb(state, plan, jnp.where(plan > 0, won, 0.0))

    return jax.lax.while_loop(more, step, (0, rule.init(key)))[1]


def table(found: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    usual = EACH * ARMS * (ARMS - 1) // 2
    lines = [f"of {found[0]['runs']} repetitions, {ARMS} arms, delta {DELTA}; the usual way has {usual} duels"]
    lines.append(f"{'world':<30}{'right':>7}{'wrong':>7}{'cycles':>8}{'duels':>9}{'at most':>9}{'usual way right':>17}")
    for row in found:
        counts = "".join(f"{row[name]:>{width}}" for name, width in (("right", 7), ("wrong", 7), ("cycles", 8)))
        lines.append(f"{row['world']:<30}{counts}{row['duels']:>9,.0f}{row['most']:>9,}{row['usual']:>17}")
    return "\n".join(lines)
