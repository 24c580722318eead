"""`simulate`, `identify` and `sweep`; results, their figures, and the executors that play runs elsewhere."""
