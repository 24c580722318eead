"""Algorithms that minimize regret, one factory function per name."""
