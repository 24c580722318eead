"""Mathematics without an engine: solvers, estimators, bounds and confidence intervals.

A function whose docstring states the range of an argument raises a ValueError of one line if it is outside.
"""
