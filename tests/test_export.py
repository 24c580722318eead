"""An exported model makes the same choices in the JavaScript of the recipe as in jaxbandit."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import jaxbandit as jb

pytestmark = pytest.mark.quickly_compiled
RECIPE = Path(__file__).parent.parent / "docs" / "recipes" / "another_language.md"
A = jb.algorithms
K, D = 4, 3
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node.js is not installed, which serves the exported model")
ASKED = """
import { readFileSync } from "node:fs";
import { probabilities } from "./serve.mjs";
const { model, contexts, available } = JSON.parse(readFileSync(0));
console.log(JSON.stringify(contexts.map((x, i) => probabilities(model, x, available?.[i]))));
"""


def served(tmp_path, model, contexts, available=None):
    """The probabilities by the code of the recipe, float64[n, K]."""
    [code] = re.findall(r"^```js\n(.*?)^```$", RECIPE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "serve.mjs").write_text(code, encoding="utf-8")
    (tmp_path / "asked.mjs").write_text(ASKED, encoding="utf-8")
    given = {"model": model, "contexts": contexts.tolist()}
    given |= {} if available is None else {"available": available.tolist()}
    command = [str(NODE), str(tmp_path / "asked.mjs")]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=120, check=True)
    return np.array(json.loads(done.stdout))


def exported(tmp_path, model):
    jb.export(tmp_path / "model.json", model)
    return json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))


def learned(rule, rewards=60, arms=K):
    """A session after some rewards, of the first arms only, and of one that was asked for is missing."""
    session, rng = jb.session(rule, seed=1), np.random.default_rng(5)
    contexts = rng.normal(size=(rewards, *rule.arms.context))
    for x in contexts:
        offer = jb.Offer(np.arange(K) < arms, x)
        session, pulls = jb.ask(session, context=offer if arms < K else x)
        session = jb.tell(session, pulls.id, float(rng.random() < 0.3 + 0.1 * pulls.arm[0]))
    return session


CONTEXTS = np.random.default_rng(7).normal(size=(1_000, K, D))
AVAILABLE = np.random.default_rng(8).random((1_000, K)) < 0.6
AVAILABLE[np.arange(1_000), np.arange(1_000) % K] = True


@needs_node
@pytest.mark.parametrize(
    ("rule", "arms"),
    [
        (A.lin_ucb_disjoint(K, D, alpha=0.7), K),
        (A.lin_ucb_disjoint(K, D, alpha=0.7), 3),
        (A.lin_ucb_shared(K, D, alpha=0.4, intercept=False), K),
        (A.logistic_ucb(K, (D,), alpha=1.5), K),
        (A.ridge_greedy(K, (D,)), K),
        (A.ridge_epsilon(K, (D,), epsilon=0.2), 2),
        (A.ridge_softmax(K, (K, D), temperature=0.3), K),
        (A.logistic_softmax(K, (D,), temperature=0.3, intercept=False), 3),
    ],
    ids=lambda x: x.name if isinstance(x, jb.Algorithm) else x,
)
def test_a_server_in_javascript_makes_the_same_choices(rule, arms, tmp_path):
    """With fewer arms there were no others before, and now some are available."""
    session = learned(rule, arms=arms)
    contexts = CONTEXTS if len(rule.arms.context) == 2 else CONTEXTS[:, 0]
    available = AVAILABLE if arms < K else None
    p = served(tmp_path, exported(tmp_path, session), contexts, available)
    pulls = jb.ask(session, contexts=contexts if available is None else jb.Offer(available, contexts))[1]
    mine = p[np.arange(1_000), pulls.arm]
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    if pulls.propensity is None:
        np.testing.assert_array_equal(mine, 1)
    else:
        np.testing.assert_allclose(mine, pulls.propensity, rtol=1e-9)
        assert len(np.unique(mine.round(6))) > 1


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize(
    "rule",
    [
        A.lin_ts_disjoint(K, D, sigma=0.5),
        A.lin_ts_shared(K, D, sigma=2.0),
        A.logistic_ts(K, (D,), scale=0.8),
    ],
    ids=lambda x: x.name,
)
def test_a_model_that_is_drawn_has_the_same_shares(rule, tmp_path):
    """Five standard errors of a difference of shares: false alarms in 3e-6 of all seeds, of 12 shares."""
    session, n = learned(rule), 10_000
    x = CONTEXTS[0] if len(rule.arms.context) == 2 else CONTEXTS[0, 0]
    p = served(tmp_path, exported(tmp_path, session), np.broadcast_to(x, (n, *x.shape)))
    assert set(np.unique(p)) == {0, 1}
    wanted = jb.shares(session, context=x, draws=50_000)
    assert np.sum(wanted > 0.02) >= 2
    assert np.all(abs(p.mean(axis=0) - wanted) <= 5 * np.sqrt((wanted * (1 - wanted) + 1e-4) * (1 / n + 1 / 50_000)))


@pytest.mark.slow
@needs_node
def test_a_session_without_contexts_is_served_by_its_shares(tmp_path):
    session = jb.tell_outside(jb.session(A.thompson(3), seed=1), [0, 0, 1, 1, 2, 2], [1, 1, 0, 1, 0, 0])
    model = exported(tmp_path, jb.close_arms(session, 2))
    rng = np.random.default_rng(0)
    wanted = np.mean(rng.beta(3, 1, 10**6) > rng.beta(2, 2, 10**6))
    assert abs(model["shares"][0] - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / 100_000)
    assert model["shares"][2] == 0 and abs(sum(model["shares"]) - 1) < 1e-12
    np.testing.assert_array_equal(served(tmp_path, model, np.zeros((2, 1))), [model["shares"]] * 2)
    session, pulls = jb.ask(jb.session(A.ucb1(3)))
    assert exported(tmp_path, session)["shares"] == [1, 0, 0] and pulls.arm == 0


def test_before_the_first_reward_untried_arms_come_first(tmp_path):
    model = exported(tmp_path, jb.session(A.ridge_softmax(K, (D,))))
    assert model["untried"] == [0, 1, 2, 3] and model["root"] is None and model["temperature"] == 0.1
    assert exported(tmp_path, jb.session(A.ridge_softmax(K, (K, D))))["untried"] == []
    model = exported(tmp_path, jb.session(A.lin_ucb_disjoint(K, D, intercept=False)))
    assert model["untried"] == [] and model["intercept"] is False and model["context"] == [D]


@pytest.mark.slow
@needs_node
def test_policies_that_fit_learned_are_exported_too(tmp_path):
    rng, n = np.random.default_rng(3), 400
    contexts, arms = rng.normal(size=(n, D)), rng.integers(K, size=n)
    given = {"context": contexts, "action": arms, "reward": (rng.random(n) < 0.2 * (1 + arms)) * 1.0}
    log = jb.read_log(**given, propensity=np.full(n, 1 / K), num_arms=K)
    early, late = log[: n // 2], log[n // 2 :]
    for learner in (A.lin_ucb_disjoint(K, D), A.ridge_softmax(K, (D,), temperature=0.2), "linear"):
        policy = jb.fit(learner, early)
        p = served(tmp_path, exported(tmp_path, policy), contexts[n // 2 :])
        if isinstance(learner, str) or learner.name == "lin_ucb_disjoint":
            np.testing.assert_array_equal(p, policy.on_log(late))
        else:
            session = jb.session(learner).but(state=policy.state)
            pulls = jb.ask(session, contexts=contexts[n // 2 :])[1]
            np.testing.assert_allclose(p[np.arange(n // 2), pulls.arm], pulls.propensity, rtol=1e-9)
    log = jb.read_log(action=arms, reward=given["reward"], num_arms=K)
    plain = jb.fit(A.ucb1(K), log, in_sample=True)
    assert exported(tmp_path, plain)["shares"] == plain.on_log(log)[0].tolist() == [0, 0, 0, 1]


@jb.declare(question="regret", setting="contexts")
def ridge_greedy(num_arms: jb.contract.arguments.NumArms) -> jb.Algorithm:
    """A rule of somebody else with the name of ours."""
    return A.ridge_softmax(num_arms, (D,))


def undefined():
    session = jb.session(A.lin_ucb_disjoint(K, D))
    models = session.state.models
    return session.but(state=session.state._replace(models=models._replace(theta=np.full((K, D + 1), np.nan))))


class Regression:
    def fit(self, x, scores):
        self.mean = scores.mean(axis=0)

    def predict(self, x):
        return np.tile(self.mean, (len(x), 1))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda log: jb.session(A.lin_ucb_hybrid(np.eye(K), D)), "export: lin_ucb_hybrid has no form"),
        (
            lambda log: jb.session(A.lin_ucb_shared(K, D, variant="oful", delta=0.1)),
            "of the variant 'oful' has",
        ),
        (lambda log: jb.session(A.lin_ts_shared(K, D, variant="theory", delta=0.1)), "of the variant 'theory'"),
        (lambda log: jb.session(A.logistic_ts(K, (D,), variant="diagonal")), "of the variant 'diagonal'"),
        (lambda log: jb.session(A.lin_ucb_disjoint(K, D)._replace(stop=lambda s: s.round > 9)), "has no form"),
        (lambda log: jb.session(ridge_greedy(K)), "ridge_softmax has no form"),
        (lambda log: undefined(), "theta of lin_ucb_disjoint is not finite"),
        (lambda log: jb.session(A.lin_ucb(np.stack([np.eye(3)] * 2), horizon=9)), "lin_ucb has no form"),
        (lambda log: jb.session(A.paired_race(K, delta=0.1, epsilon=0.1)), "paired_race plans batches"),
        (lambda log: jb.fit(Regression(), log), 'a policy of Regression has no form .* must be fitted by "linear"'),
        (lambda log: A.ucb1(K), "model = .*, must be a session, or a policy"),
    ],
)
def test_a_model_without_such_a_form_is_refused_in_a_line(model, message, tmp_path):
    n = 40
    given = {"context": np.ones((n, D)), "action": np.arange(n) % K, "reward": np.arange(n) % 2 * 1.0}
    log = jb.read_log(**given, propensity=np.full(n, 1 / K), num_arms=K)
    with pytest.raises(ValueError, match=message) as error:
        jb.export(tmp_path / "model.json", model(log))
    assert "\n" not in str(error.value) and not (tmp_path / "model.json").exists()
