"""How runs are played: one round of one run, the layout of many runs, the driver, and storage."""
