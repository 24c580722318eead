"""The half of `baseline_peers` that runs where SMPyBandits is installed: Python 3.10 or later and the peer.

`python baseline_peers_side.py SMPyBandits IN.npz OUT.npz`. It does not import jaxbandit.
"""

import contextlib
import importlib.metadata
import io
import json
import sys
import time

import numpy as np

RUNS = 5, 1_000  # at least and at most


def main(given_path, found_path):
    """Play every policy that is asked for, and write the regrets and the microseconds of a round."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # it says what it lacks
        from SMPyBandits import Policies  # pyright: ignore[reportMissingImports]
    with np.load(given_path) as file:
        given = dict(file)
    found = {}
    for name, policy, arguments in zip(given["names"], given["policies"], given["arguments"], strict=True):
        factory = getattr(Policies, str(policy))
        values = {key: _value(Policies, value) for key, value in json.loads(str(arguments)).items()}
        np.random.seed(0)  # noqa: NPY002 # the peer draws from it
        try:
            regrets, seconds = play(lambda f=factory, v=values: f(len(given["means"]), **v), given)
        except Exception as error:  # a policy that fails on the default problem is a result
            found[f"{name}/error"] = f"{type(error).__name__}: {error}"
            continue
        found |= {f"{name}/regrets": regrets, f"{name}/us": 1e6 * seconds / int(given["horizon"])}
        print(name, len(regrets), regrets.mean(), file=sys.stderr)
    versions = (importlib.metadata.version(name) for name in ("SMPyBandits", "numpy", "scipy"))
    found["version"] = "{} on Python {}, NumPy {}, SciPy {}".format(next(versions), sys.version.split()[0], *versions)
    np.savez(found_path, **found)


def _value(policies, value):
    """Return an argument: a list is the name of a posterior, or of a family of rewards whose upper bound is meant."""
    if not isinstance(value, list):
        return value
    kind, name = value
    return getattr(policies, name) if kind == "posterior" else policies.klucb_mapping[name]


def play(make, given):
    """Return the sums of gaps of as many runs as fit into the time, and the median of their seconds."""
    means, horizon = given["means"], int(given["horizon"])
    gaps, rng = means.max() - means, np.random.default_rng(1)
    regrets, times, runs = [], [], RUNS[0]
    while len(regrets) < runs:
        policy = make()
        policy.startGame()
        uniforms, regret = rng.random(horizon), 0.0
        begin = time.perf_counter()
        for uniform in uniforms:
            arm = policy.choice()
            policy.getReward(arm, float(uniform < means[arm]))
            regret += gaps[arm]
        times.append(time.perf_counter() - begin)
        regrets.append(regret)
        if len(regrets) == RUNS[0]:  # decided once, so that it does not depend on the regrets
            runs = int(np.clip(float(given["seconds"]) / np.median(times), *RUNS))
    return np.array(regrets), float(np.median(times))


if __name__ == "__main__":
    main(*sys.argv[2:])
