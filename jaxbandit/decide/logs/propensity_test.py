"""A test of whether the propensities of a log can be right, that is exact for every number of rows and any weights.

If they are right, the wealth of a bettor against them reaches 1/p with probability at most p, also if the logging
policy learned. Where the whole distribution p of the logging policy is known, a bettor multiplies by
exp(t f(a))/sum_k p_k exp(t f(k)) for a number f of each arm; else by 1 + s (X - 1) for numbers X >= 0 whose mean is at
most 1, so that only too large a mean speaks against the propensities.

Source: Ramdas, Grunwald, Vovk and Shafer (2023), "Game-theoretic statistics and safe anytime-valid inference".
"""

from typing import NamedTuple

import numpy as np

from jaxbandit.decide.logs.log import Log
from jaxbandit.support import special

STAKES = 0.5 ** np.arange(1, 25)  # s, shares of the wealth
TILTS = np.outer([1.0, -1.0], 0.5 ** np.arange(12)).ravel()  # t, of numbers f of the size of 1
COUNTS = np.concatenate(
    [TILTS, *np.outer([1.0, -1.0], 2.0 ** np.arange(1, 5))]
)  # of 0 and 1: rare arms need large ones


class Bet(NamedTuple):
    """What speaks against the propensities in one respect."""

    wealth: float  # log of the wealth of the bettor
    words: str  # what was found, and what is expected


def of_log(log: Log) -> list[list[Bet]]:
    """Return the evidence in how often each arm was taken, and in how often what is probable was done."""
    assert log.propensity is not None
    pulled = np.bincount(log.action, minlength=log.num_arms)
    if log.probabilities is not None:
        chances = np.minimum(log.probabilities, 1.0)  # rounded, they may be larger
        costs = np.stack([np.log1p(chances * np.expm1(t)).sum(axis=0) for t in COUNTS])
        wealth = _shared(COUNTS[:, None] * pulled - costs)
        words = [f"{n:,} rows have the arm {arm}, {x:,.4g} are expected"
                 for n, arm, x in zip(pulled, log.arms, chances.sum(axis=0), strict=True)]  # fmt: skip
        surprise = np.log(np.maximum(chances, 1e-300))
        found, right = -surprise[np.arange(len(log)), log.action].mean(), -(chances * surprise).sum(axis=1).mean()
        text = f"the mean of -log p is {found:.3g}, {right:.3g} is expected"
        return [_listed(wealth, words), [Bet(_tilted(log, surprise), text)]]
    reachable = np.full(log.num_arms, len(log)) if log.available is None else log.available.sum(axis=0)
    inverse = 1 / log.propensity
    gains = [np.bincount(log.action, np.log1p(s * (inverse - 1)) - np.log1p(-s), log.num_arms) for s in STAKES]
    wealth = _shared(np.stack(gains) + np.log1p(-STAKES)[:, None] * reachable)
    means = np.bincount(log.action, inverse, log.num_arms) / len(log)
    words = [f"the mean of 1{{a = {arm}}}/p is {x:.3g}, at most {most:.3g} is expected"
             for arm, x, most in zip(log.arms, means, reachable / len(log), strict=True)]  # fmt: skip
    likely = np.where(log.propensity > 0.5, inverse, 0.0)  # of one arm at most in each row
    text = f"the mean of 1{{p > 1/2}}/p is {likely.mean():.3g}, at most 1 is expected"
    return [_listed(wealth, words), [Bet(_bets(likely - 1), text)]]


def of_weights(log: Log, chances: np.ndarray, weight: np.ndarray, bound: float | None) -> list[Bet]:
    """Return the evidence in the weights of a policy; if W is unknown (None), a mean that is too small is none."""
    text = f"the mean of w is {weight.mean():.3g}, "
    if log.probabilities is not None:
        possible = log.probabilities > 0
        ratio = np.divide(chances, log.probabilities, out=np.zeros(chances.shape), where=possible)
        size = np.sqrt((ratio * chances * possible).sum(axis=1, keepdims=True))
        size[size == 0] = 1.0
        right = (chances * possible).sum(axis=1).mean()
        return [Bet(_tilted(log, ratio / size), f"{text}{right:.3g} is expected")]
    found = [Bet(_bets(weight - 1), f"{text}at most 1 is expected")]
    if bound is not None:
        small = f"{text}1 is expected if every arm can be pulled in all rows"
        found.append(Bet(_bets((1 - weight) / max(bound, 1.0)), small))
    return found


def probability(*evidence: list[Bet]) -> float:
    """Return p: right propensities look like these, or worse, with a probability of at most p."""
    shares = [_shared(np.array([each.wealth for each in some])) for some in evidence]
    return float(np.exp(min(-_shared(np.array(shares)), 0.0)))


def _bets(excess: np.ndarray) -> float:
    """Return the log of the wealth of bets on numbers >= -1 whose mean is at most 0."""
    return float(_shared(np.array([float(np.log1p(s * excess).sum()) for s in STAKES])))


def _tilted(log: Log, values: np.ndarray) -> float:
    """Return the log of the wealth of bets on values of arms, float64[n, num_arms]."""
    assert log.probabilities is not None
    taken, chances = values[np.arange(len(log)), log.action].sum(), log.probabilities
    costs = [np.sum(special.logsumexp(t * values, b=chances, axis=1)) for t in TILTS]
    return float(_shared(TILTS * taken - np.array(costs)))


def _listed(wealth: np.ndarray, words: list[str]) -> list[Bet]:
    return [Bet(float(x), text) for x, text in zip(wealth, words, strict=True)]


def _shared(wealth: np.ndarray) -> np.ndarray:
    """Return the log of the mean of wealths along the first axis, from their logs."""
    return special.logsumexp(wealth, axis=0) - np.log(len(wealth))
