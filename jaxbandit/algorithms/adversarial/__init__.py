"""Algorithms for adversarial losses, whose guarantees assume nothing about how the losses arise.

In this package a factory shadows the submodule of the same name. To import anything else that such a module defines,
use the module's full path.
"""
