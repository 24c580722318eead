"""Crowd workers as arms: pulling a worker, or a team of workers, poses one task, and a correct answer has reward 1.

Data: github.com/garfieldpigljy/CrowdLabelwithTextContent at commit 6716cff (2024-09-25), license CC BY 4.0
(creativecommons.org/licenses/by/4.0); cite "Hyper Questions" (CIKM 2017, doi 10.1145/3132847.3132971). Modification:
the answers are reduced to the number of correct ones per worker, so that workers are independent here. `crowd_answers`
reads the answers themselves.
"""

from typing import Literal

import numpy as np

from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.combinatorial.full_bandit import full_bandit
from jaxbandit.environments.combinatorial.semi_bandit import semi_bandit
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.support import checks
from jaxbandit.support.domains import choice, integer

_ALIASES = {"itmanage": "it"}  # the name in the source of the data

# Data set -> number of tasks, and how many of them each worker answered correctly.
# fmt: off
_CORRECT = {
    "it": (25, (
        21, 10, 16, 12, 10, 7, 18, 13, 15, 9, 17, 12, 19, 15, 20, 14, 10, 15, 11, 13, 20, 16, 17, 7, 18, 20,
        13, 14, 7, 14, 6, 8, 8, 11, 14, 13,
    )),
    "medicine": (36, (
        22, 15, 12, 10, 9, 13, 22, 12, 17, 14, 11, 17, 16, 19, 27, 12, 12, 15, 29, 15, 22, 25, 19, 20, 33,
        23, 12, 10, 30, 13, 18, 28, 7, 21, 10, 17, 15, 12, 23, 12, 8, 7, 22, 13, 31,
    )),
    "chinese": (24, (
        6, 7, 12, 13, 3, 14, 10, 7, 12, 9, 13, 2, 11, 8, 6, 10, 13, 17, 6, 10, 11, 6, 14, 8, 7, 10, 12, 12,
        19, 12, 7, 9, 5, 6, 14, 18, 2, 10, 9, 6, 6, 5, 8, 2, 6, 7, 9, 7, 9, 4,
    )),
    "pokemon": (20, (
        6, 6, 1, 5, 6, 3, 1, 20, 0, 12, 18, 3, 3, 4, 3, 3, 1, 2, 2, 4, 5, 2, 6, 3, 12, 20, 6, 6, 1, 2, 3, 4,
        5, 3, 11, 19, 2, 2, 4, 4, 5, 6, 3, 2, 2, 2, 3, 2, 8, 14, 6, 2, 18, 2, 7,
    )),
    "english": (30, (
        20, 7, 8, 9, 19, 8, 6, 15, 6, 5, 6, 10, 5, 7, 5, 6, 7, 7, 6, 5, 7, 7, 5, 7, 17, 5, 7, 14, 6, 2, 2,
        4, 8, 12, 10, 10, 5, 5, 11, 8, 2, 4, 5, 4, 6, 4, 11, 7, 6, 7, 3, 7, 11, 8, 6, 5, 7, 21, 8, 10, 11,
        6, 6,
    )),
    "science": (20, (
        5, 10, 6, 4, 5, 5, 3, 2, 5, 6, 5, 8, 2, 7, 1, 8, 1, 6, 7, 8, 4, 5, 8, 7, 3, 2, 5, 4, 6, 14, 7, 9, 5,
        2, 7, 8, 4, 6, 9, 9, 8, 9, 2, 8, 5, 4, 10, 10, 3, 2, 5, 7, 2, 5, 8, 6, 8, 6, 7, 7, 1, 6, 4, 6, 7, 4,
        3, 8, 5, 4, 5, 11, 5, 3, 8, 17, 8, 5, 3, 10, 7, 8, 7, 10, 5, 10, 7, 3, 4, 9, 6, 2, 5, 3, 7, 2, 9, 9,
        2, 7, 5, 7, 3, 3, 4, 4, 9, 8, 8, 4, 4,
    )),
}
# fmt: on


@declare(
    settings=(
        {"dataset": "it"},
        {"dataset": "it", "feedback": "full", "k": 10},
        {"dataset": "it", "feedback": "semi", "k": 10},
    )
)
def crowd(
    dataset: Literal["it", "medicine", "chinese", "pokemon", "english", "science"] | str,
    *,
    feedback: Literal["single", "full", "semi"] = "single",
    k: int | None = None,
    blocks: Literal["exact", "normal"] = "exact",
) -> Environment:
    """Crowd workers whose answers are right or wrong (six data sets).

    Arm w answers correctly with probability equal to its recorded proportion of correct answers, independently of the
    other workers. The numbers of arms and tasks are: it 36 and 25; medicine 45 and 36; chinese 50 and 24; pokemon 55
    and 20; english 63 and 30; science 111 and 20.

    Args:
      dataset: name of the data set, in upper or lower case. "itmanage" is an alias of "it".
      feedback: "single" pulls one worker per round and observes that worker's reward. "full" pulls a team of k workers
        and observes only how many of them are correct. "semi" pulls a team and observes each member's reward.
      k: number of workers in a team, for full and semi-bandit feedback, an integer; None means 10. Static.
      blocks: how the sum of a team over a batch of pulls is drawn with full-bandit feedback, as in `full_bandit`.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}; with full-bandit feedback as
      `full_bandit` with Bernoulli noise, and with semi-bandit feedback as `semi_bandit`.

    Raises:
      ValueError: there is no such data set or feedback, or k is out of range or given with single feedback.

    Source:
      The data are those of Li, Baba and Kashima (2017), Hyper questions: unsupervised targeting of a few experts in
      crowdsourcing, CIKM.
    """
    means = _means(dataset)
    k = _team(feedback, k)
    if k is None:
        return bernoulli(means)._replace(name="crowd")
    checks.take("k", k, integer(1, len(means) - 1))
    if feedback == "semi":
        return semi_bandit(means, k)._replace(name="crowd")
    return full_bandit(means, k, noise="bernoulli", blocks=blocks)._replace(name="crowd")


def _means(dataset: str) -> np.ndarray:
    name = dataset.lower() if isinstance(dataset, str) else dataset
    checks.take("dataset", name, choice((*_CORRECT, *_ALIASES)))
    tasks, correct = _CORRECT[_ALIASES.get(name, name)]
    return np.array(correct) / tasks


def _team(feedback: str, k: int | None) -> int | None:
    if feedback == "single" and k is not None:
        raise ValueError(f"k = {k}, must be omitted with single feedback, where one worker is pulled")
    return None if feedback == "single" else (10 if k is None else k)
