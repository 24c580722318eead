"""A session: one run of an algorithm that decides about real rewards, as an immutable value.

It is a function of (rule, seed, run) and of its events: `changes.apply` returns the session after one more.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import jax
import numpy as np

from jaxbandit.base.arguments import RunNumber, RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.parameters import Arg
from jaxbandit.decide.logs.log import Log
from jaxbandit.decide.logs.read_log import read_log
from jaxbandit.decide.sessions.asks import Asks, no_asks
from jaxbandit.decide.sessions.events import Event, Events
from jaxbandit.decide.sessions.ledger import Ledger, no_pulls
from jaxbandit.decide.sessions.rewards import LARGEST, Totals, no_totals
from jaxbandit.decide.sessions.rows import MOST_DRAWS, rows_of
from jaxbandit.decide.sessions.rule_programs import RulePrograms, rule_programs
from jaxbandit.engine.rounds import fit
from jaxbandit.support import checks
from jaxbandit.support.document import Document, Facts, Table, as_html, fold
from jaxbandit.support.domains import integer, number
from jaxbandit.support.types import PyTree

MOST_ARMS = 50  # largest number of arms in a table


@dataclass(frozen=True, eq=False)
class Session:
    """One run with an ask-and-tell interface, as returned by `session`. It is immutable.

    It is a registered pytree, whose static part holds the rule with its compiled functions, the seed and the options.
    """

    programs: RulePrograms
    seed: int
    run: int
    paired: bool
    on_failure: float | None
    events: Events  # that have led here, with which it is saved
    words: np.ndarray  # uint32[words], key words of the algorithm's random draws
    state: PyTree  # the algorithm's state after the rewards that it has received
    stopped: bool
    round: int  # number of the next choice, or of the next batch, counted from 1
    totals: Totals
    pulls: Ledger | Asks  # asks if there are contexts
    closed: np.ndarray  # bool[num_arms], the arms that are not to be pulled
    sole: bool = False  # whether nobody else holds `state`, so that with contexts the next one may take its buffers

    @property
    def rule(self) -> Algorithm:
        """The algorithm of the session."""
        return self.programs.algorithm

    @property
    def num_arms(self) -> int:
        """Number of arms."""
        return self.programs.num_arms

    @property
    def recommendation(self) -> np.ndarray | None:
        """The arms that the rule recommends, int32[m], without those that are closed; None if there are none.

        A rule recommends none with contexts.
        """
        if self.contextual and self.rule.recommend is None:
            return None
        arms = self.programs.recommendation(self.state)
        if arms is None or not self.closed.any():
            return arms
        arms = arms[~self.closed[arms]]
        return arms if len(arms) else None

    @property
    def survivors(self) -> np.ndarray | None:
        """The arms that have not been eliminated, bool[num_arms]; None if the rule eliminates none."""
        return self.programs.survivors(self.state)

    @property
    def counts(self) -> np.ndarray:
        """Number of pulls of each arm before the first pull without a reward, in order of ids, int64[num_arms].

        With contexts those of all pulls that have a reward.
        """
        return self.totals.counts.copy()

    @property
    def end(self) -> int:
        """The id of the next new pull."""
        return self.pulls.end

    @property
    def num_told(self) -> int:
        """Number of pulls whose rewards have been reported."""
        return self.pulls.num_told

    @property
    def pending(self) -> np.ndarray:
        """Ids of the pulls that were asked for and neither have a reward nor were withdrawn or expired, int64[...]."""
        return self.pulls.pending

    @property
    def contextual(self) -> bool:
        """Whether each ask has a context."""
        return isinstance(self.pulls, Asks)

    def but(self, **changes: Any) -> "Session":
        """The session with other values of some fields."""
        after = object.__new__(Session)  # a third of the time of `dataclasses.replace`
        after.__dict__.update(self.__dict__, **changes)
        return after

    def with_event(self, event: Event) -> "Session":
        """The session with one more event, which has led to it."""
        return self.but(events=self.events.more(event))

    @checked
    def log(
        self,
        *,
        rewards: tuple[float, float] | None = None,
        least_propensity: float | None = None,
        propensity_draws: Annotated[int, Arg(integer(1, MOST_DRAWS))] | None = None,
    ) -> Log:
        """Return the pulls that have a reward as logged data, in order of ids, to evaluate other policies on them.

        The propensity of a pull is `info.probability` of the rule's `Choice`: the exact probability, given the state
        and the context, with which an `Offer` has made it 0 for arms that were not available. Other rules have none,
        unless `propensity_draws` is given.

        Args:
          rewards: the least and the largest possible reward. Default: those that the rule declares, or 0 and 1.
          least_propensity: a number below which no propensity of any context and arm is, such as epsilon / num_arms.
          propensity_draws: number m of draws from which the propensity of a rule without `info.probability` is
            estimated: (c + 1) / (m + 1), where c of m fresh draws in the state and the context of the pull are its
            action. An inverse propensity estimate with it is too small by a factor of at least 1 - (1 - p)^(m + 1) for
            an action of probability p. The rule is played again, which takes m selections for each pull.

        Returns:
          A Log with `adaptive` set; contexts are float64[n, ..], and of an index float64[n, 1].

        Raises:
          ValueError: fewer than two pulls have a reward, actions are sets of arms, a context is made of several
            arrays, or a reward is outside the range.
        """
        least, most = rewards or self.programs.limits
        limits = (least, most) if math.isfinite(most - least) else (0.0, 1.0)
        if isinstance(self.pulls, Asks):
            run = self.seed, self.run
            return rows_of(self.programs, run, self.pulls, limits, least_propensity, propensity_draws)
        if propensity_draws is not None:
            raise ValueError("propensity_draws must be left out: the session has no contexts")
        if self.programs.set_size is not None:
            raise ValueError(f"{self.rule.name or 'the rule'} acts on sets of arms, must act on single arms")
        arms, values = self.pulls.rows()
        arms = np.concatenate([arms, self.pulls.actions.astype(np.int32)])
        values = np.concatenate([values, self.pulls.values])
        known = ~np.isnan(values)
        options = {"num_arms": self.num_arms, "rewards": limits, "least_propensity": least_propensity}
        return read_log(action=arms[known], reward=values[known], adaptive=True, **options)

    @property
    def _concrete(self) -> bool:
        """Whether the session holds numbers; JAX may trace it or map over it."""
        return isinstance(self.stopped, bool | np.bool_) and isinstance(self.totals.counts, np.ndarray)

    def __repr__(self) -> str:
        name = f"Session of {self.rule.name or 'an algorithm'}"
        if not self._concrete:
            return f"<{name}: its arrays are being traced>"
        stopped = "stopped" if self.stopped else f"{len(self.pending)} pending"
        return f"<{name}: {self.num_told} pulls told, {stopped}>"

    def _repr_html_(self) -> str:
        """A table of the arms with pulls and mean rewards; of sets and with contexts, arms have no mean."""
        if not self._concrete:
            return as_html(Document(repr(self)))
        arms = self.recommendation
        recommended = set() if arms is None else set(np.ravel(arms).tolist())
        single, means = self.programs.set_size is None and not self.contextual, self.totals.means.tolist()
        shown = np.argsort(-self.counts, kind="stable")[:MOST_ARMS].tolist()
        rows = [
            (
                str(arm),
                f"{self.counts[arm]:,}",
                f"{means[arm]:.4g}" if single and np.isfinite(means[arm]) else "",
                "yes" if arm in recommended else "",
            )
            for arm in sorted(shown)
        ]
        notes = ["jb.certificate(session) returns the intervals of the means and the guarantee of the recommendation"]
        if self.contextual:
            notes = ["with contexts no arm is the best one: session.log() returns the rows, which evaluate a policy"]
        if self.num_arms > MOST_ARMS:
            notes.insert(0, f"the {MOST_ARMS} arms pulled most, of {self.num_arms:,}")
        table = Table(("arm", "pulls", "mean", "recommended"), rows, right=range(3), notes=notes)
        details = fold("details", Facts({"seed": self.seed, "run": self.run}))
        return as_html(Document(repr(self), [table, details]))


STATIC = ("programs", "seed", "run", "paired", "on_failure", "events", "sole")
ARRAYS = ("words", "state", "stopped", "round", "totals", "pulls", "closed")
jax.tree_util.register_dataclass(Session, ARRAYS, STATIC)


@checked
def session(
    rule: Algorithm, *, seed: RunSeed = 0, run: RunNumber = 0, paired: bool = False, on_failure: float | None = None
) -> Session:
    """Return the session of a rule before its first pull.

    The rule's random draws are those of run `run` of `simulate` and `identify` with this seed. If the session is told
    the rewards that they draw in float64, it takes the same actions. It always computes in float64.

    Args:
      rule: any Algorithm whose rewards are single numbers, with or without a guarantee.
      seed: seed of the rule's random draws and of `pull_keys`.
      paired: whether `pull_keys` gives all arms the same key at the same index (common random numbers).
      on_failure: the number that replaces a reward that is not finite or of modulus above 1e150. With None, such a
        reward raises an error.

    Raises:
      ValueError: the rule cannot be used in a session.
    """
    programs = rule_programs(rule)
    if rule.arms is not None and rule.arms.members:
        raise ValueError(
            f"{rule.name or 'the rule'} expects the reward of each member of a set, but a session takes one "
            "number per pull; give a rule for single arms, or for sums"
        )
    if on_failure is not None:
        low, high = fit.limits(rule.rewards)
        low, high = max(low, -LARGEST), min(high, LARGEST)
        on_failure = checks.take("on_failure", on_failure, number(low, high))
    if paired and programs.set_size is not None:
        raise ValueError("paired = True, must be False: pulls of sets of arms cannot share random draws")
    words, decision = programs.begin(seed, run)
    static = programs, seed, run, bool(paired), on_failure, Events()
    arms = programs.num_arms
    pulls = no_asks(arms) if programs.needs_context else no_pulls(decision, arms)
    return Session(*static, words, decision.state, decision.stopped, 1, no_totals(arms), pulls, np.zeros(arms, bool))


def samples(session: Session) -> list[np.ndarray] | None:
    """Return the rewards of each arm in the order of their pulls, num_arms arrays float64[n_arm].

    Those that were told from outside are included. Pulls that expired are left out; if the session is `paired`, so are
    the later ones of the same arm, because those of other arms would be at another place. None if pulls are sets of
    arms, or if there are contexts.
    """
    if session.programs.set_size is not None or isinstance(session.pulls, Asks):
        return None
    arms, values = session.pulls.rows()
    order = np.argsort(arms, kind="stable")
    rows = np.split(values[order], np.cumsum(np.bincount(arms, minlength=session.num_arms))[:-1])
    if not session.pulls.expired:
        return rows
    holes = [np.isnan(row) for row in rows]
    left_out = map(np.logical_or.accumulate, holes) if session.paired else holes
    return [row[~hole] for row, hole in zip(rows, left_out, strict=True)]
