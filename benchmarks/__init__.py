"""How fast the library is, beside C, NumPy and other solvers in the same process, and beside another of its revisions.

`python -m benchmarks` from the repository; no part of the installed package.
"""
