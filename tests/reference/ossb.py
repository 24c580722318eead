"""OSSB, from Algorithm 1 of Combes, Magureanu and Proutiere (2017), for linear arms, recomputed in every round.

It makes the same choices as the library: the initial pulls of OAM, the lazy allocation, several action sets, and c = 0
for the best arms.
"""

import numpy as np
from reference.oam import START, TIE, Pulls, allocate, gaps_of, lowest

LEAST = "least_squares"
EXPLOIT, ESTIMATE, EXPLORE = 1, 2, 3


def play(
    features, sets, contexts, rewards, larger, *, epsilon=0.0, gamma=0.0, estimator="least_squares", zeta=0.1, sigma=1.0
):
    """Arms and kinds of the rounds; the arguments are those of oam.play."""
    seen, sums, explored, solved, record = Pulls(features), {}, 0, None, []
    for t, m in enumerate(contexts, 1):
        rows, arms = features[m], sets[m]
        if len(seen.rows) < features.shape[2]:
            arm, kind = seen.start(rows, arms), START
        else:
            if estimator == LEAST:
                means = features @ np.linalg.solve(seen.gram, seen.target)
            else:
                own = lambda x: sums.get(tuple(x), 0.0) / max(seen.of(x), 1)  # noqa: E731
                means = np.array([[own(x) for x in table] for table in features])
            logdet = np.linalg.slogdet(seen.gram)[1]
            if solved is None or logdet >= solved + np.log1p(zeta) - TIE:
                solved, c = logdet, allocate(features, gaps_of(means, sets), 2 * sigma**2, larger)
            n = {a: seen.of(rows[a]) for a in arms}
            need = {a: c[m, a] * (1 + gamma) * np.log(t) for a in arms}
            if all(n[a] >= need[a] * (1 - TIE) for a in arms):
                arm, kind = lowest(means[m], arms), EXPLOIT
            else:
                explored += 1
                few = min(arms, key=lambda a, n=n: n[a])
                if n[few] <= epsilon * explored:
                    arm, kind = few, ESTIMATE
                else:
                    arm, kind = lowest({a: -n[a] / need[a] if need[a] > 0 else -np.inf for a in arms}, arms), EXPLORE
        reward = rewards[t - 1][m][arm]
        sums[tuple(rows[arm])] = sums.get(tuple(rows[arm]), 0.0) + reward
        seen.add(rows[arm], reward)
        record.append((arm, kind))
    return record
