"""Figures of results, and the style that they share."""
