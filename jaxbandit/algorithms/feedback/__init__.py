"""Wrappers that change when an algorithm sees its feedback."""
