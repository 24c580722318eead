"""What single algorithms are told where all are measured on one instance of their question."""

from typing import Any

ARGUMENTS: dict[str, dict[str, Any]] = {
    "kim_nelson": {"epsilon": 0.1},
    "fixed_arm": {"arm": 7},
    "etc": {"pulls": 50},
    "etc_gap": {"gap": 0.1, "sigma": 0.5},
    "etc_sprt": {"gap": 0.1, "sigma": 0.5},
    "etc_bai": {"sigma": 0.5},
    "epsilon_decreasing": {"d": 0.1},
    "ada_ucb": {"sigma": 0.5},
    "oc_ucb": {"sigma": 0.5},
    "robust_ucb": {"moment": 0.25, "estimator": "median of means"},
    "swa": {"window": 151},
}
# Assumptions on rewards whose scale is not known.
UNKNOWN = ("Gaussian, variances unknown", "any law; the best p-quantile is found")
