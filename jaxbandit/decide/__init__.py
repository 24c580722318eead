"""Decisions about real rewards: sessions, tuning, and adapters for other libraries."""
