"""Algorithms that find the best of arms that say nothing of each other, at a given confidence; one factory a name.

A factory shadows the submodule of the same name here: for what else a module holds, import from its full path.
"""
