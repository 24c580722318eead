"""The half of `peers` for the choice of a configuration that runs where a peer is installed: scikit-learn, and Optuna.

`python peers_grid_side.py PEER IN.npz OUT.npz`, where PEER is sklearn or optuna. It does not import jaxbandit.
"""

import importlib.metadata
import sys
import time
import warnings

import numpy as np

FITS = 100  # of Optuna: as many as the grid of 20 has on five folds


def main(peer, given_path, found_path):
    """Choose by every search in every repetition: the configuration, what it claims, its fits and its seconds."""
    with np.load(given_path) as file:
        given = dict(file)
    searches = {"sklearn": scikit_learn, "optuna": optuna}[peer](given["C"].tolist(), given["gamma"].tolist())
    found, said = {}, []
    for i, (name, search) in enumerate(searches):
        rows = []
        for repetition, (x, y) in enumerate(zip(given["x"], given["y"], strict=True)):
            begin = time.perf_counter()
            config, claim, fits, words = search(x, y, repetition)
            rows.append((config["C"], config["gamma"], claim, fits, time.perf_counter() - begin))
            if repetition == 0:
                said.append(words)
        found[f"{i}/rows"] = np.array(rows)
        print(name, found[f"{i}/rows"].mean(axis=0), file=sys.stderr)
    version = importlib.metadata.version("scikit-learn" if peer == "sklearn" else peer)
    found["version"] = f"{version} on Python {sys.version.split()[0]}, NumPy {np.__version__}"
    np.savez(found_path, names=np.array([name for name, _ in searches]), said=np.array(said), **found)


def scikit_learn(costs, gammas):
    """Return the searches, each refitted in the end, as they do by default."""
    from scipy.stats import loguniform
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV
    from sklearn.svm import SVC

    grid = {"C": costs, "gamma": gammas}
    laws = {"C": loguniform(costs[0], costs[-1]), "gamma": loguniform(gammas[0], gammas[-1])}
    drawn: dict = {"n_candidates": 20}
    warnings.simplefilter("ignore")  # of rungs on which classes are rare

    def maker(search):
        def run(x, y, seed):
            done = search(seed).fit(x, y)
            fits = done.n_splits_ * len(done.cv_results_["params"])
            spread = done.cv_results_["std_test_score"][done.best_index_]
            words = f"`best_score_` {done.best_score_:.3f}, `std_test_score` {spread:.3f}"
            return done.best_params_, done.best_score_, fits, words

        return run

    return [
        ("`GridSearchCV`, 20 configurations", maker(lambda seed: GridSearchCV(SVC(), grid))),
        (
            "`HalvingGridSearchCV`, the same 20",
            maker(lambda seed: HalvingGridSearchCV(SVC(), grid, random_state=seed)),
        ),
        (
            "`HalvingRandomSearchCV(n_candidates=20)`, continuous",
            maker(lambda seed: HalvingRandomSearchCV(SVC(), laws, **drawn, random_state=seed)),
        ),
    ]


def optuna(costs, gammas):
    """Return searches of the continuous ranges by the mean over five folds, with and without a pruner."""
    import optuna as peer
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC

    peer.logging.set_verbosity(peer.logging.ERROR)

    def maker(pruner):
        def run(x, y, seed):
            folds, fits = list(StratifiedKFold(5).split(x, y)), 0

            def objective(trial):
                nonlocal fits
                config = {
                    "C": trial.suggest_float("C", costs[0], costs[-1], log=True),
                    "gamma": trial.suggest_float("gamma", gammas[0], gammas[-1], log=True),
                }
                scores = []
                for step, (seen, new) in enumerate(folds):
                    scores.append(SVC(**config).fit(x[seen], y[seen]).score(x[new], y[new]))
                    fits += 1
                    if fits >= FITS:
                        trial.study.stop()
                    trial.report(float(np.mean(scores)), step)
                    if trial.should_prune():
                        raise peer.TrialPruned
                return float(np.mean(scores))

            sampler = peer.samplers.TPESampler(seed=seed)
            study = peer.create_study(direction="maximize", sampler=sampler, pruner=pruner())
            study.optimize(objective)
            SVC(**study.best_params).fit(x, y)  # as the others do in the end
            return study.best_params, study.best_value, fits, f"`best_value` {study.best_value:.3f}"

        return run

    return [
        ("`TPESampler`, continuous, 100 fits", maker(peer.pruners.NopPruner)),
        ("`TPESampler` and `MedianPruner`, the same", maker(peer.pruners.MedianPruner)),
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
