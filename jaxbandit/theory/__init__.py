"""Mathematics without an engine: solvers, estimators, bounds and confidence intervals."""
