"""What the weights of a policy say about a log: how many rows count, and whether its propensities can be right."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.decide.logs.estimates import effective_rows
from jaxbandit.decide.logs.log import Log

ALARM = 4.0  # modulus of z beyond which propensities are said not to belong to the log
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

    @property
    def alarms(self) -> tuple[str, ...]:
        """What cannot be right with these propensities, in sentences."""
        found = []
        if abs(self.mean_weight_z) > ALARM:
            found.append(f"the mean weight is {self.mean_weight:.3g}, z = {self.mean_weight_z:.1f}")
        beyond = [int(k) for k in np.flatnonzero(np.abs(self.arm_z) > ALARM)]
        worst = sorted(beyond, key=lambda k: -abs(self.arm_z[k]))[:3]
        found += [f"the mean of 1{{a = {k}}}/p is {self.arm_means[k]:.3g}, z = {self.arm_z[k]:.1f}" for k in worst]
        return (f"propensities do not belong to this log: {'; '.join(found)}",) if found else ()

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostics as plain data."""
        plain = dict(vars(self))
        plain |= {"arm_means": self.arm_means.tolist(), "arm_z": self.arm_z.tolist()}
        return plain | {"never_pulled": list(self.never_pulled)}


def diagnose(log: Log, chances: np.ndarray, weight: np.ndarray) -> Diagnostics:
    """Return the diagnostics of a policy.

    Args:
      log: the rows, with propensities.
      chances: float64[n, num_arms], the probabilities of the policy.
      weight: float64[n], its weights.
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
    means, z = np.zeros(arms), np.full(arms, np.nan)
    for k in np.flatnonzero(pulled):
        inverse = np.where(log.action == k, 1 / log.propensity, 0.0)
        means[k], z[k] = inverse.mean(), _z(inverse - reachable[:, k])
    never = np.flatnonzero((pulled == 0) & (chances.max(axis=0) > 0))
    largest = np.sort(weight)[::-1][: max(round(TOP * n), 1)]
    total = float(weight.sum())
    return Diagnostics(
        ess=effective_rows(weight),
        largest_weight=float(weight.max()),
        mean_weight=float(weight.mean()),
        mean_weight_z=_z(weight - expected),
        arm_means=means,
        arm_z=z,
        never_pulled=tuple(never.tolist()),
        never_pulled_mass=float(chances[:, never].sum(axis=1).mean()),
        unsupported_rows=rows,
        unsupported_mass=mass,
        top_share=float(largest.sum()) / total if total else 0.0,
    )


def _z(excess: np.ndarray) -> float:
    """Return the mean in standard errors; 0 if all rows are 0, NaN if they are equal and not 0."""
    mean, se = float(excess.mean()), float(excess.std(ddof=1)) / len(excess) ** 0.5
    if np.all(excess == excess[0]) or se == 0:
        return 0.0 if abs(mean) < 1e-12 else np.nan
    return mean / se
