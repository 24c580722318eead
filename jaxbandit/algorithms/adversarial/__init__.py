"""Algorithms for losses that an adversary may have chosen: their guarantees assume nothing of how losses arise.

A factory shadows the submodule of the same name here: for what else a module holds, import from its full path.
"""
