"""Decisions between variants from a log of visitors: A/B/n tests that may be looked at at any time."""
