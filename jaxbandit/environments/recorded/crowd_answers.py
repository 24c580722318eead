"""A team of crowd workers on one task, from their recorded answers: correct answers coincide on easy tasks.

Data: DIR/answer.csv (question_id, and one answer per worker) and DIR/truth.csv (question_id, truth), as in
github.com/garfieldpigljy/CrowdLabelwithTextContent (commit 6716cff, CC BY 4.0); cite "Hyper Questions" (CIKM 2017, doi
10.1145/3132847.3132971). `crowd` has the same means and independent workers.
"""

import functools
from pathlib import Path
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import Count
from jaxbandit.base.batches import BatchRewards, SetPulls
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.combinatorial.full_bandit import FullBanditState, from_members
from jaxbandit.environments.combinatorial.semi_bandit import by_members
from jaxbandit.environments.stationary.binomial import binomial
from jaxbandit.support import checks, csv_rows
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Key


@declare(settings=({"k": 2}, {"k": 2, "blocks": "normal"}, {"k": 2, "feedback": "semi"}))
def crowd_answers(
    path: str | Path,
    *,
    k: Count = 10,
    feedback: Literal["full", "semi"] = "full",
    blocks: Literal["exact", "normal"] = "exact",
) -> Environment:
    """Teams of crowd workers on one task, from recorded answers.

    Each pull draws one recorded task uniformly, with replacement. The members' rewards are their recorded answers to
    that task, 1 for a correct one, so the members of a team are dependent.

    Args:
      path: directory with answer.csv and truth.csv; static.
      k: number of workers in a team.
      feedback: "full" shows the number of correct answers of the team; "semi" also shows whose answers were correct.
      blocks: how the sum of a team over a batch of pulls is drawn with full-bandit feedback. "exact" draws how often
        each task occurred (multinomial), which is slow. "normal" draws a normal number with the same mean and variance,
        which is correct in the limit of many pulls.

    Returns:
      An Environment with actions bool[num_arms], k of them True, and rewards float[], as `full_bandit`. Its noise is
      the task, int32[], as in `table`; that of a batch is a key. Batches require that the super-arms are listed, that
      is, an algorithm's support "random" or "given". With semi-bandit feedback the rewards are float[num_arms] as in
      `semi_bandit`, and there are no batches.

    Source:
      The data are those of Li, Baba and Kashima (2017), Hyper questions: unsupervised targeting of a few experts in
      crowdsourcing, CIKM.
    """
    right = read_answers(path)
    num_tasks, num_arms = right.shape
    checks.take("k", k, integer(1, num_arms - 1))
    apart = right - right.mean(axis=0)
    covariance = np.matmul(apart.T, apart) / num_tasks

    def noise(key: Key) -> Array:
        return jax.random.randint(key, (), 0, num_tasks, jnp.int32)

    def each(state: FullBanditState, context: None, action: Array, noise: Array) -> Array:
        answers = jax.lax.dynamic_index_in_dim(as_float(right), noise, 0, keepdims=False)
        return jnp.where(action, answers, 0.0)

    def reward(state: FullBanditState, context: None, action: Array, noise: Array) -> Array:
        return jnp.sum(each(state, context, action, noise))

    def sums(state: FullBanditState, pulls: SetPulls, noise: Key) -> Array:
        if pulls.sets is None:
            raise ValueError('workers are dependent, so super-arms must be listed: use support = "random"')
        x, n = as_float(pulls.sets), as_float(pulls.counts)
        if blocks == "normal":
            mean = jnp.sum(x * state.means[None], 1)
            variance = jnp.sum(jnp.sum(x[:, :, None] * as_float(covariance)[None], 1) * x, 1)
            return n * mean + jnp.sqrt(n * jnp.maximum(variance, 0.0)) * jax.random.normal(noise, n.shape)
        scores = jnp.sum(x[:, None] * as_float(right)[None], 2)  # [sets, tasks]

        def draw(task: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            left, total = carry
            chance = jnp.broadcast_to(1 / as_float(num_tasks - task), left.shape)
            times = binomial(jax.random.fold_in(noise, task), left.astype(int), chance)
            score = jax.lax.dynamic_index_in_dim(scores, task, 1, keepdims=False)
            return left - times, total + times * score

        left, total = jax.lax.fori_loop(0, num_tasks - 1, draw, (n, jnp.zeros_like(n)))
        return total + left * scores[:, -1]

    members = from_members(right.mean(axis=0), k, "normal")
    if feedback == "semi":
        return by_members(members, k)._replace(noise=noise, reward=each)
    batch = BatchRewards(lambda key: key, sums)
    return members._replace(noise=noise, reward=reward, batch=batch, known=lambda: {"sigma": float(k)})


def read_answers(path: str | Path) -> np.ndarray:
    """Return which answers are correct, float64[tasks, workers], from DIR/answer.csv and DIR/truth.csv."""
    if not isinstance(path, str | Path):
        raise ValueError(f"crowd_answers: path = {path!r}, must be a directory with answer.csv and truth.csv")
    return _read(str(path))


@functools.lru_cache(maxsize=8)
def _read(path: str | Path) -> np.ndarray:
    answers, truth = (_rows(Path(path) / name) for name in ("answer.csv", "truth.csv"))
    known = {row[0]: row[1] for row in truth}
    for row in answers:
        if row[0] not in known:
            raise ValueError(f"crowd_answers: path = {path!r}: truth.csv has no task {row[0]!r} of answer.csv")
    return np.array([[answer == known[row[0]] for answer in row[1:]] for row in answers], np.float64)


def _rows(path: Path) -> list[list[str]]:
    where = f"crowd_answers: path: {str(path)!r}"
    rows = [[cell.strip() for cell in row] for _, row in csv_rows.read(where, path, "the files of a task") if any(row)]
    if len(rows) < 2:
        raise ValueError(f"{where} contains no task")
    if len(rows[0]) < 2:
        raise ValueError(f"{where} has 1 column, must have at least 2")
    return rows[1:]
