"""Algorithms for adversarial losses, whose guarantees assume nothing about how the losses arise."""
