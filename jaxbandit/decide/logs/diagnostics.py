"""What the weights of a policy say about a log: how many rows count, and whether its propensities can be right."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.decide.logs.estimates import effective_rows
from jaxbandit.decide.logs.log import Log
from jaxbandit.theory.betting_interval import betting_interval

ALARM = 4.0  # modulus of z beyond which propensities are said not to belong to the log
CERTAIN = 1 - 6.334e-5  # the confidence of a normal interval of 4 standard errors
TOP = 0.01  # share of the rows with the largest weights


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What the weights w = e/p of a policy on a log are like.

    The mean of w and, for each arm k, of 1{a = k}/p is 1 if propensities are right and each arm can be pulled in all
    rows; where the log says otherwise, it is the share of what can be pulled. A z is the distance from that in standard
    errors, NaN if all rows are equal and differ from it.
    """

    ess: float  # effective sample size (sum w)^2/sum w^2
    largest_weight: float  # of the rows
    mean_weight: float
    mean_weight_z: float
    arm_means: np.ndarray  # float64[num_arms], of 1{a = k}/p
    arm_z: np.ndarray  # float64[num_arms]
    never_pulled: tuple[int, ...]  # arms that no row has and that the policy takes
    never_pulled_mass: float  # mean probability with which it takes them
    unsupported_rows: int | None  # in which the policy takes arms of logging probability 0; None if it is not known
    unsupported_mass: float | None  # mean probability with which it does, which bounds the bias in units of the range
    top_share: float  # of sum w, in the largest 1 % of the rows

    alarms: tuple[str, ...]  # what cannot be right with these propensities, in sentences
    wrong: bool  # whether it is certain that they are wrong, and not only doubtful

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostics as plain data."""
        plain = dict(vars(self))
        plain |= {"arm_means": self.arm_means.tolist(), "arm_z": self.arm_z.tolist()}
        return plain | {"never_pulled": list(self.never_pulled), "alarms": list(self.alarms)}


def diagnose(log: Log, chances: np.ndarray, weight: np.ndarray, bound: float | None = None) -> Diagnostics:
    """Return the diagnostics of a policy.

    Args:
      log: the rows, with propensities.
      chances: float64[n, num_arms], the probabilities of the policy.
      weight: float64[n], its weights.
      bound: the largest weight of any context and arm; None if it is unknown.
    """
    n, arms = chances.shape
    assert log.propensity is not None
    possible = None if log.probabilities is None else log.probabilities > 0
    if possible is None:
        rows, mass, expected = None, None, np.ones(n)
        reachable = np.ones((n, arms), bool) if log.available is None else log.available
    else:
        beyond = np.where(possible, 0.0, chances).sum(axis=1)
        rows, mass, expected = int((beyond > 0).sum()), float(beyond.mean()), 1 - beyond
        reachable = possible
    pulled = np.bincount(log.action, minlength=arms)
    means, z, alarms = np.zeros(arms), np.full(arms, np.nan), _Alarms()
    weight_z = alarms.look("w", weight, expected, largest(log, chances) if bound is None else bound)
    for k in np.flatnonzero(pulled):
        inverse, own = np.where(log.action == k, 1 / log.propensity, 0.0), np.arange(arms) == k
        means[k] = inverse.mean()
        z[k] = alarms.look(f"1{{a = {k}}}/p", inverse, reachable[:, k], largest(log, np.tile(own, (n, 1))))
    never = np.flatnonzero((pulled == 0) & (chances.max(axis=0) > 0))
    top = np.sort(weight)[::-1][: max(round(TOP * n), 1)]
    total = float(weight.sum())
    return Diagnostics(
        ess=effective_rows(weight),
        largest_weight=float(weight.max()),
        mean_weight=float(weight.mean()),
        mean_weight_z=weight_z,
        arm_means=means,
        arm_z=z,
        never_pulled=tuple(never.tolist()),
        never_pulled_mass=float(chances[:, never].sum(axis=1).mean()),
        unsupported_rows=rows,
        unsupported_mass=mass,
        top_share=float(top.sum()) / total if total else 0.0,
        alarms=alarms.sentences(possible is None),
        wrong=any(certain for _, _, certain in alarms.found),
    )


def largest(log: Log, chances: np.ndarray) -> float | None:
    """Return the largest weight that a policy could have in a row of the log; None if nothing is known of it.

    If neither the probabilities of all arms nor the least one are known, those of the rows are taken, unless a rule
    wrote the log that learned: it becomes surer, so that what it hardly ever does is in no row.
    """
    if log.probabilities is not None:
        possible = log.probabilities > 0
        return float(np.divide(chances, log.probabilities, out=np.zeros(chances.shape), where=possible).max())
    if log.least_propensity is None and log.adaptive:
        return None
    assert log.propensity is not None
    return float(chances.max() / (log.least_propensity or log.propensity.min()))


class _Alarms:
    """Means that are too far from what they must be.

    A z of modulus above 4 is an alarm. If few rows have large weights, and by chance too few of them are in the log, z
    is so low too often: in 4 of 100 logs of 500 rows with an ESS of 13. So it is certain only if the betting interval
    with the same error probability says the same, given the largest value that could have been in the log. Without
    one, only a mean that is too large is certain: cut at the largest that was seen, it would be larger still.
    """

    def __init__(self) -> None:
        self.found: list[tuple[float, str, bool]] = []

    def look(self, name: str, values: np.ndarray, expected: np.ndarray, most: float | None) -> float:
        """Return the z of the mean of nonnegative values, of which none exceeds `most`, and remember an alarm."""
        z = _z(values - expected)
        if abs(z) > ALARM:
            top = max(float(values.max()), 1.0, most or 0.0)
            found, right = betting_interval(values / top, CERTAIN), float(expected.mean())
            certain = found.low * top > right or (most is not None and found.high * top < right)
            self.found.append((z, f"the mean of {name} is {values.mean():.3g}, z = {z:.1f}", certain))
        return z

    def sentences(self, unsupported: bool) -> tuple[str, ...]:
        """Return what is wrong, at most three means; `unsupported`: arms may have the logging probability 0."""
        if not self.found:
            return ()
        certain = any(sure for _, _, sure in self.found)
        verb = "do not" if certain else "may not"
        worst = sorted(self.found, key=lambda each: (not each[2], -abs(each[0])))[:3]
        lines = "; ".join(line for _, line, _ in worst)
        why = "" if certain else "; few rows with large weights look like this too"
        other = ", or in some rows an arm could not be pulled" if unsupported and worst[0][0] < 0 else ""
        return (f"propensities {verb} belong to this log{other}: {lines}{why}",)


def _z(excess: np.ndarray) -> float:
    """Return the mean in standard errors; 0 if all rows are 0, NaN if they are equal and not 0."""
    mean, se = float(excess.mean()), float(excess.std(ddof=1)) / len(excess) ** 0.5
    if np.all(excess == excess[0]) or se == 0:
        return 0.0 if abs(mean) < 1e-12 else np.nan
    return mean / se
