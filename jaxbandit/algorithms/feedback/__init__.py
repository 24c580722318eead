"""Wrappers that change when an algorithm receives its feedback, and algorithms made for batches."""
