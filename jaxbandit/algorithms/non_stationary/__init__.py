"""Algorithms for changing means: they forget, detect changes, or are told about them. One factory function per name."""
