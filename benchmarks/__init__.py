"""Measures the library against C, NumPy and other solvers in the same process, and against another of its revisions.

Run `python -m benchmarks` from the repository. The installed package does not contain it.
"""
