"""The half of `contextual_peers` that runs where a peer is installed: Python 3.9 or later, NumPy and the peer.

`python contextual_peers_side.py PEER IN.npz OUT.npz`, where PEER is mabwiser, coba or obp. It does not import
jaxbandit. `numpy_play` is the yardstick of both halves.
"""

import importlib.metadata
import io
import sys
import time
from contextlib import redirect_stderr, suppress

import numpy as np


def numpy_play(x, labels, alpha, lam):
    """Play LinUCB with a model for each arm; return choices int[n], and seconds a decision with its update."""
    num_arms, dim = labels.max() + 1, x.shape[1]
    inverse, theta = np.stack([np.eye(dim) / lam] * num_arms), np.zeros((num_arms, dim))
    choices = np.zeros(len(x), int)
    begin = time.perf_counter()
    for t, row in enumerate(x):
        choices[t] = arm = int(np.argmax(theta @ row + alpha * np.sqrt((np.matmul(inverse, row) * row).sum(axis=1))))
        w = inverse[arm] @ row
        scale = 1 / (1 + row @ w)
        theta[arm] += w * ((float(arm == labels[t]) - row @ theta[arm]) * scale)
        inverse[arm] -= np.outer(w, w * scale)
    return choices, (time.perf_counter() - begin) / len(x)


def mabwiser(given):
    """Return, for each l2_lambda, its choices on our history and on its own; it must be fitted before it predicts."""
    from mabwiser.mab import MAB, LearningPolicy  # pyright: ignore[reportMissingImports]

    x, labels = given["x"], given["labels"]
    found = {}
    for i, lam in enumerate(given["lams"]):
        forced, own = (MAB(list(range(10)), LearningPolicy.LinUCB(float(given["alpha"]), float(lam))) for _ in "ab")
        history = given["history"][i]
        for rule in (forced, own):
            rule.fit([history[0]], [float(history[0] == labels[0])], x[:1])
        choices, mine = history.copy(), history.copy()
        for t in range(1, len(x)):
            choices[t] = forced.predict(x[t : t + 1])
            forced.partial_fit([history[t]], [float(history[t] == labels[t])], x[t : t + 1])
        begin = time.perf_counter()
        for t in range(1, len(x)):
            mine[t] = own.predict(x[t : t + 1])
            own.partial_fit([mine[t]], [float(mine[t] == labels[t])], x[t : t + 1])
        found |= {f"choices {i}": choices, f"own {i}": mine}
        found[f"seconds {i}"] = (time.perf_counter() - begin) / (len(x) - 1)
    return found


def coba(given):
    """Return whether our choice is among its best ones at each row of our history, its own choices, and its time.

    Its LinUCB has one model of products of features, with lambda = 1; it draws among arms that tie.
    """
    from coba.learners import LinUCBLearner  # pyright: ignore[reportMissingImports]

    x, labels, history = [tuple(row) for row in given["x"].tolist()], given["labels"], given["history"][0]
    arms = [tuple(row) for row in np.eye(10).tolist()]
    forced, own = (LinUCBLearner(alpha=float(given["alpha"]), features=["ax"]) for _ in "ab")
    agrees, mine = np.zeros(len(x), bool), np.zeros(len(x), int)
    for t, row in enumerate(x):
        agrees[t] = forced.score(row, arms, arms[history[t]]) > 0
        forced.learn(row, arms[history[t]], float(history[t] == labels[t]), 1.0)
    begin = time.perf_counter()
    for t, row in enumerate(x):
        action, probability = own.predict(row, arms)
        mine[t] = arms.index(action)
        own.learn(row, action, float(mine[t] == labels[t]), probability)
    return {"agrees": agrees, "own": mine, "seconds": (time.perf_counter() - begin) / len(x)}


def obp(given):
    """Return the values and intervals of each log, [logs, 3] of IPS, SNIPS and DR, and replays of Thompson sampling.

    DR's value is with our predictions of rewards, its interval with the model and the settings of OBP's quickstart.
    """
    found = {}
    for cell in [name[:-2] for name in given if name.endswith("/x")]:
        log = {key: given[f"{cell}/{key}"] for key in ("x", "action", "reward", "propensity", "policy", "q")}
        begin = time.perf_counter()
        rows = [_obp_log({key: value[i] for key, value in log.items()}) for i in range(len(log["x"]))]
        found[f"{cell}/seconds"] = (time.perf_counter() - begin) / len(rows)
        found[f"{cell}/value"] = np.array([row[0] for row in rows])
        found[f"{cell}/ends"] = np.array([row[1] for row in rows])
    return {**found, **(_obp_replays(given) if "replay action" in given else {})}


def _obp_log(log):
    from obp import ope  # pyright: ignore[reportMissingImports]
    from sklearn.linear_model import LogisticRegression

    policy = log["policy"][:, :, None]
    rows = {"reward": log["reward"], "action": log["action"], "pscore": log["propensity"], "action_dist": policy}
    q = log["q"][:, :, None]
    both = (ope.InverseProbabilityWeighting(), {}), (ope.SelfNormalizedInverseProbabilityWeighting(), {})
    value = [rule.estimate_policy_value(**rows, **more) for rule, more in both]
    value.append(ope.DoublyRobust().estimate_policy_value(**rows, estimated_rewards_by_reg_model=q))
    model = ope.RegressionModel(n_actions=policy.shape[1], base_model=LogisticRegression(C=100, max_iter=1000))
    fitted = None
    with suppress(ValueError):  # of a fold without a reward of 1, which its classifier refuses
        fitted = model.fit_predict(
            context=log["x"], action=log["action"], reward=log["reward"], n_folds=3, random_state=12345
        )
    ends = []
    for rule, more in (*both, (ope.DoublyRobust(), {"estimated_rewards_by_reg_model": fitted})):
        if more.get("estimated_rewards_by_reg_model", 0) is None:
            ends.append([np.nan, np.nan])
            continue
        interval = rule.estimate_interval(**rows, **more, n_bootstrap_samples=1000, random_state=12345)
        ends.append([interval["95.0% CI (lower)"], interval["95.0% CI (upper)"]])
    return value, ends


def _obp_replays(given):
    from obp.ope import ReplayMethod  # pyright: ignore[reportMissingImports]
    from obp.policy import BernoulliTS  # pyright: ignore[reportMissingImports]
    from obp.simulator import run_bandit_simulation  # pyright: ignore[reportMissingImports]

    value, used = [], []
    for i, action in enumerate(given["replay action"]):
        rows = {"action": action, "reward": given["replay reward"][i], "pscore": given["replay propensity"][i]}
        rows |= {"position": None, "context": np.zeros((len(action), 1)), "n_rounds": len(action)}
        with redirect_stderr(io.StringIO()):  # its progress bar
            chosen = run_bandit_simulation(rows, BernoulliTS(n_actions=5, random_state=i))
        used.append(float((chosen[np.arange(len(action)), action, 0] == 1).sum()))
        value.append(ReplayMethod().estimate_policy_value(rows["reward"], action, chosen))
    return {"replay value": np.array(value), "replay used": np.array(used)}


if __name__ == "__main__":
    peer, given_path, found_path = sys.argv[1:]
    with np.load(given_path) as file:
        arrays = dict(file)
    result = {"mabwiser": mabwiser, "coba": coba, "obp": obp}[peer](arrays)
    result["numpy"] = numpy_play(arrays["x"], arrays["labels"], 1.0, 1.0)[1] if "x" in arrays else np.nan
    result["version"] = f"{importlib.metadata.version(peer)} on Python {sys.version.split()[0]}, NumPy {np.__version__}"
    np.savez(found_path, **result)
